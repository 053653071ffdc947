//! SIGKILL of the executor at every step boundary, then a second start: nothing happens twice, nothing is lost.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

mod support;

use std::{os::unix::process::ExitStatusExt, path::Path, path::PathBuf};

use support::{World, project, stage};

const BEFORE: &str = "image:\n  tag: old   # keep\nother: [1, 2]\n";
const AFTER: &str = "image:\n  tag: 1.2.3   # keep\nother: [1, 2]";

fn steps(repository: &Path) -> String {
    let whole = support::set_key(repository, "app/values.yaml", "image.tag");
    let (head, push) = whole.split_at(whole.find("- uses: git-push").unwrap());
    format!("{head}- uses: wait-for-approval\n  as: gate\n  config: {{minApprovals: 1}}\n{push}")
}

/// A promotion that waits for its first run.
fn prepared() -> (World, PathBuf, String) {
    let world = World::new();
    let repository = world.repository(
        "mono",
        &[("app/values.yaml", BEFORE), ("README.md", "hello\n")],
    );
    world.apply(&(project("p") + &stage("p", "s", &steps(&repository))));
    let freight = world.freight("p", "1.2.3");
    let name = world.promote("p", "s", &freight);
    (world, repository, name)
}

/// Runs the executor; killed at the boundary of that number, or to its end. True if it was killed.
fn run_and_die(world: &World, boundary: usize) -> bool {
    let output = world
        .command(&["run", "--until-idle"])
        .env("TIDEWAITER_CRASH_AT", boundary.to_string())
        .output()
        .unwrap();
    match output.status.signal() {
        Some(9) => true,
        None if output.status.success() => false,
        _ => panic!(
            "{:?}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        ),
    }
}

fn intent(world: &World, name: &str) -> Option<String> {
    let promotion = world.promotion(name);
    let commits =
        &promotion["status"]["state"]["tidewaiter.dev"]["steps"]["push"]["intent"]["commits"];
    Some(commits.as_array()?.last()?.as_str()?.to_owned())
}

/// What must hold at the end, whatever happened on the way.
fn check(world: &World, repository: &Path, name: &str, journalled: Option<&str>, at: usize) {
    let promotion = world.promotion(name);
    assert_eq!(
        promotion["status"]["phase"], "Succeeded",
        "killed at {at}: {promotion:#}"
    );
    assert_eq!(
        world.show(repository, "app/values.yaml"),
        AFTER,
        "killed at {at}"
    );
    assert_eq!(
        world.commits(repository),
        2,
        "killed at {at}: exactly one commit besides the seed"
    );
    let raw = world.git(repository, &["cat-file", "commit", "main"]);
    let uid = promotion["metadata"]["uid"].as_str().unwrap();
    assert!(
        raw.contains(&format!("\ntidewaiter {uid} ")),
        "killed at {at}: {raw}"
    );
    if let Some(id) = journalled {
        assert_eq!(
            world.git(repository, &["rev-parse", "main"]),
            id,
            "killed at {at}: the journalled commit is the one"
        );
    }
    let requests = world.get(&["requests", "-A"]);
    assert_eq!(
        requests["items"].as_array().unwrap().len(),
        1,
        "killed at {at}: asked once"
    );
    let approvals = world.get(&["approvals", "-A"]);
    assert_eq!(
        approvals["items"].as_array().unwrap().len(),
        1,
        "killed at {at}: answered once"
    );
    let pins = world.git(
        &mirror(world),
        &["for-each-ref", "--format=%(refname)", "refs/tidewaiter"],
    );
    assert_eq!(pins, "", "killed at {at}: nothing stays pinned");
}

fn mirror(world: &World) -> PathBuf {
    std::fs::read_dir(world.cluster().join("mirrors"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|e| e == "git") && !path.ends_with("scratch.git"))
        .unwrap()
}

fn approve(world: &World, name: &str) {
    // No executor runs: the answer is stored, and counted by the next one.
    let ran = world.run(&["approve", name, "-m", "yes\n🚀"]).exits(0);
    assert!(
        ran.stdout.contains("recorded") || ran.stdout.contains("approved"),
        "{}",
        ran.stdout
    );
}

#[test]
fn killed_on_the_way_to_the_gate() {
    let mut at = 1;
    loop {
        let (world, repository, name) = prepared();
        let killed = run_and_die(&world, at);
        world.until_idle();
        approve(&world, &name);
        world.until_idle();
        check(&world, &repository, &name, None, at);
        if !killed {
            assert!(at > 5, "there are more boundaries than {at}");
            return;
        }
        at += 1;
    }
}

#[test]
fn killed_on_the_way_from_the_gate() {
    let mut at = 1;
    loop {
        let (world, repository, name) = prepared();
        world.until_idle();
        approve(&world, &name);
        let killed = run_and_die(&world, at);
        let journalled = intent(&world, &name);
        world.until_idle();
        check(&world, &repository, &name, journalled.as_deref(), at);
        if !killed {
            assert!(at > 3, "there are more boundaries than {at}");
            return;
        }
        at += 1;
    }
}
