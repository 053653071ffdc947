//! Fifty promotions onto one branch at once, against fifty processes that clone, pull --rebase and push with retries.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

mod measure;
#[path = "../tests/support/mod.rs"]
mod support;

use std::{
    path::Path,
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use measure::{measured, ms, ratio};
use support::{World, project, set_key, stage};

const N: usize = 50;
/// Kargo's git-push before its limit was raised, with pauses a hundredth of its own.
const ATTEMPTS: u32 = 10;
const FIRST_PAUSE: Duration = Duration::from_millis(10);

fn path(n: usize) -> String {
    format!("apps/a{n:02}/values.yaml")
}

fn seeded(world: &World) -> std::path::PathBuf {
    let files: Vec<(String, String)> = (0..N)
        .map(|n| (path(n), format!("tag: old   # of {n}\nother: {n}\n")))
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    world.repository("mono", &files)
}

fn main() {
    let runtime = measure::runtime();
    let world = World::new();
    let repository = seeded(&world);
    let mut objects = project("p");
    for n in 0..N {
        let steps = set_key(&repository, &path(n), "tag");
        objects.push_str(&stage("p", &format!("s{n:02}"), &steps));
    }
    world.apply(&objects);
    let freight = world.freight("p", "1.2.3");
    for n in 0..N {
        world.promote("p", &format!("s{n:02}"), &freight);
    }
    let connection = runtime.block_on(measure::join(&world));
    let ((summary, counts), ours) =
        measured(|| runtime.block_on(measure::execute(&world, &connection)));
    assert_eq!(
        summary.phases.get("Succeeded"),
        Some(&N),
        "{:?}",
        summary.phases
    );
    assert_eq!(world.commits(&repository), 1 + N);
    runtime.block_on(measure::leave(connection));

    let world = World::new();
    let repository = seeded(&world);
    let (pushes, failures) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let ((), theirs) = measured(|| {
        std::thread::scope(|scope| {
            for n in 0..N {
                let (world, repository, pushes, failures) =
                    (&world, &repository, &pushes, &failures);
                scope.spawn(move || {
                    if !promote(world, repository, n, pushes) {
                        failures.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
    });
    let (pushes, failures) = (pushes.into_inner(), failures.into_inner());
    println!("landing: {N} promotions to one branch");
    println!(
        "  tidewaiter            {:>7.0} ms  {:>4} pushes  {:>3} failures  cpu {:.0} ms + git {:.0} ms",
        ms(ours.time),
        counts.pushes,
        0,
        ms(ours.cpu.own),
        ms(ours.cpu.children)
    );
    println!(
        "  clone, rebase, push   {:>7.0} ms  {:>4} pushes  {:>3} failures  cpu git {:.0} ms",
        ms(theirs.time),
        pushes,
        failures,
        ms(theirs.cpu.children)
    );
    println!(
        "  ratio                 {:>7.1} times the time, {:.1} times the pushes",
        ratio(ours.time, theirs.time),
        pushes as f64 / counts.pushes as f64
    );
}

/// Clone, edit, commit; then pull --rebase and push until it is taken or the attempts are over.
fn promote(world: &World, repository: &Path, n: usize, pushes: &AtomicUsize) -> bool {
    let work = world.path().join(format!("work{n}"));
    let clone = [
        "clone",
        "-q",
        &repository.display().to_string(),
        &work.display().to_string(),
    ];
    if !git(world, world.path(), &clone) {
        return false;
    }
    let file = work.join(path(n));
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("old", "1.2.3")).unwrap();
    if !git(world, &work, &["commit", "-q", "-a", "-m", "set tag"]) {
        return false;
    }
    for attempt in 0..ATTEMPTS {
        pushes.fetch_add(1, Ordering::Relaxed);
        if git(world, &work, &["pull", "-q", "--rebase", "origin", "main"])
            && git(world, &work, &["push", "-q", "origin", "HEAD:main"])
        {
            return true;
        }
        std::thread::sleep(FIRST_PAUSE * 2_u32.pow(attempt.min(6)));
    }
    false
}

fn git(world: &World, at: &Path, args: &[&str]) -> bool {
    Command::new("git")
        .current_dir(at)
        .args(["-c", "user.name=Test", "-c", "user.email=test@example.com"])
        .args(args)
        .env("HOME", world.path().join("home"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .is_ok_and(|output| output.status.success())
}
