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

/// A tag, metadata and an alias, each by a step that is no commit.
fn effects(repository: &Path) -> String {
    format!(
        r#"- uses: git-clone
  as: clone
  config: {{repoURL: "{}", checkout: [{{branch: main, path: ./src}}]}}
- uses: git-tag
  as: tag
  config: {{path: ./src, tag: v1, message: first}}
- uses: git-push
  as: push
  config: {{path: ./src, tag: v1}}
- uses: set-metadata
  as: meta
  config:
    updates:
    - {{kind: Stage, name: "${{{{ ctx.stage }}}}", values: {{tag: v1}}}}
    - {{kind: Freight, name: "${{{{ ctx.targetFreight.name }}}}", values: {{tag: v1, commit: "${{{{ outputs.push.commit }}}}"}}}}
- uses: set-freight-alias
  as: alias
  config: {{name: "${{{{ ctx.targetFreight.name }}}}", alias: stable}}
"#,
        repository.display()
    )
}

#[test]
fn killed_between_a_tag_metadata_and_an_alias() {
    // What comes before the tag is the same as above.
    let mut at = 6;
    loop {
        let world = World::new();
        let repository = world.repository("mono", &[("a", "b\n")]);
        let hook = repository.join("hooks/update");
        std::fs::write(&hook, "#!/bin/sh\necho $1 >> updates\n").unwrap();
        let runs = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&hook, runs).unwrap();
        world.apply(&(project("p") + &stage("p", "s", &effects(&repository))));
        let freight = world.freight("p", "1.2.3");
        let name = world.promote("p", "s", &freight);
        let killed = run_and_die(&world, at);
        world.until_idle();
        let promotion = world.promotion(&name);
        assert_eq!(
            promotion["status"]["phase"], "Succeeded",
            "killed at {at}: {promotion:#}"
        );
        let updates = std::fs::read_to_string(repository.join("updates")).unwrap();
        assert_eq!(
            updates, "refs/tags/v1\n",
            "killed at {at}: the tag is pushed once"
        );
        let main = world.git(&repository, &["rev-parse", "main"]);
        assert_eq!(world.git(&repository, &["rev-parse", "v1^{commit}"]), main);
        let stored = world.get(&["freight", "-n", "p", &freight]);
        assert_eq!(stored["alias"], "stable", "killed at {at}");
        assert_eq!(
            stored["metadata"]["labels"]["kargo.akuity.io/alias"],
            "stable"
        );
        let wanted = serde_json::json!({"tag": "v1", "commit": main});
        assert_eq!(stored["status"]["metadata"], wanted, "killed at {at}");
        let own = world.get(&["stages", "-n", "p", "s"]);
        assert_eq!(own["status"]["metadata"]["tag"], "v1", "killed at {at}");
        if !killed {
            assert!(at > 20, "there are more boundaries than {at}");
            return;
        }
        at += 1;
    }
}
