//! One promotion on a repository of 5,000 files and 2,000 commits, against clone, checkout, edit, commit and push by git.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

#[path = "../tests/large/mod.rs"]
mod large;
mod measure;
#[path = "../tests/support/mod.rs"]
mod support;

use std::time::Duration;

use measure::{measured, ms, ratio};
use support::{World, project, set_key, stage};

const FILES: usize = 5_000;
const COMMITS: usize = 2_000;
/// What is measured, after one that fills the mirror.
const PROMOTIONS: u32 = 20;
const BY_HAND: u32 = 3;
/// More of our own processor time for one promotion is too much.
const BAR: Duration = Duration::from_millis(50);

fn main() {
    let runtime = measure::runtime();
    let world = World::new();
    let repository = large::repository(&world, "mono", FILES, COMMITS);
    let steps = set_key(&repository, &large::file(4_321), "image.tag");
    world.apply(&(project("p") + &stage("p", "s", &steps)));
    let promote = |n: u32| {
        let freight = world.freight("p", &format!("1.0.{n}"));
        world.promote("p", "s", &freight);
    };
    promote(0);
    let connection = runtime.block_on(measure::join(&world));
    let (_, first) = measured(|| runtime.block_on(measure::execute(&world, &connection)));
    runtime.block_on(measure::leave(connection));

    (1..=PROMOTIONS).for_each(promote);
    let connection = runtime.block_on(measure::join(&world));
    let ((summary, counts), ours) =
        measured(|| runtime.block_on(measure::execute(&world, &connection)));
    let all = usize::try_from(PROMOTIONS).unwrap() + 1;
    assert_eq!(
        summary.phases.get("Succeeded"),
        Some(&all),
        "{:?}",
        summary.phases
    );
    runtime.block_on(measure::leave(connection));

    let ((), theirs) = measured(|| (0..BY_HAND).for_each(|n| by_hand(&world, &repository, n)));
    let own = ours.cpu.own / PROMOTIONS;
    let git = ours.cpu.children / PROMOTIONS;
    println!("promotion: clone, yaml-update, commit, push; {FILES} files, {COMMITS} commits");
    println!(
        "  tidewaiter, first     {:>7.0} ms  cpu {:>4.0} ms + git {:.0} ms",
        ms(first.time),
        ms(first.cpu.own),
        ms(first.cpu.children)
    );
    println!(
        "  tidewaiter, next      {:>7.0} ms  cpu {:>4.1} ms + git {:.1} ms  {:.1} commands, {:.1} fetches",
        ms(ours.time / PROMOTIONS),
        ms(own),
        ms(git),
        counts.commands as f64 / f64::from(PROMOTIONS),
        counts.fetches as f64 / f64::from(PROMOTIONS)
    );
    println!(
        "  git with a checkout   {:>7.0} ms  cpu {:>4.0} ms",
        ms(theirs.time / BY_HAND),
        ms(theirs.cpu.children / BY_HAND)
    );
    println!(
        "  ratio                 {:>7.1} times the processor time",
        ratio(own + git, theirs.cpu.children / BY_HAND)
    );
    println!(
        "  bar                   {:>7.0} ms own processor time: {}",
        ms(BAR),
        if own < BAR { "kept" } else { "BROKEN" }
    );
    assert!(cfg!(debug_assertions) || own < BAR, "{own:?}");
}

fn by_hand(world: &World, repository: &std::path::Path, n: u32) {
    let (bare, work) = (
        world.path().join(format!("hand{n}.git")),
        world.path().join(format!("hand{n}")),
    );
    let (bare_text, work_text) = (bare.display().to_string(), work.display().to_string());
    let from = repository.display().to_string();
    // The transport is what it would be over a network: no hard links.
    world.git(
        world.path(),
        &["clone", "-q", "--bare", "--no-local", &from, &bare_text],
    );
    world.git(&bare, &["worktree", "add", "-q", &work_text, "main"]);
    let file = work.join(large::file(1_234));
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(
        &file,
        text.replace("replicas: 3", &format!("replicas: 3\nn: {n}")),
    )
    .unwrap();
    world.git(&work, &["commit", "-q", "-a", "-m", "by hand"]);
    world.git(&work, &["push", "-q", &from, "HEAD:main"]);
}
