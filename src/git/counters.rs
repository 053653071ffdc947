//! How much git did: what the console's Executor screen and the load tests read.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use serde::Serialize;

/// Counts shared by everything that runs git; clones count together.
#[derive(Clone, Debug, Default)]
pub struct Counters(Arc<Cells>);

#[derive(Debug, Default)]
struct Cells {
    commands: AtomicU64,
    fetches: AtomicU64,
    pushes: AtomicU64,
    commits_landed: AtomicU64,
    lost_races: AtomicU64,
    replays: AtomicU64,
    refusals: AtomicU64,
}

/// One moment's values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CounterSnapshot {
    /// Child processes of `git` started, the version check excepted.
    pub commands: u64,
    /// Those of them that were `git fetch`.
    pub fetches: u64,
    /// Those of them that were `git push`.
    pub pushes: u64,
    /// Commits that our pushes brought onto a branch.
    pub commits_landed: u64,
    /// Pushes that somebody else's push, or a held lock, made void.
    pub lost_races: u64,
    /// Times that a member ran its steps again instead of being rebased.
    pub replays: u64,
    /// Members that the server's rules turned away for good.
    pub refusals: u64,
}

impl Counters {
    pub(super) fn command(&self) {
        self.0.commands.fetch_add(1, Ordering::Relaxed);
    }
    pub(super) fn fetch(&self) {
        self.0.fetches.fetch_add(1, Ordering::Relaxed);
    }
    pub(super) fn push(&self) {
        self.0.pushes.fetch_add(1, Ordering::Relaxed);
    }
    pub(super) fn landed(&self, commits: usize) {
        self.0
            .commits_landed
            .fetch_add(commits as u64, Ordering::Relaxed);
    }
    pub(super) fn lost_race(&self) {
        self.0.lost_races.fetch_add(1, Ordering::Relaxed);
    }
    pub(super) fn replay(&self) {
        self.0.replays.fetch_add(1, Ordering::Relaxed);
    }
    pub(super) fn refusal(&self) {
        self.0.refusals.fetch_add(1, Ordering::Relaxed);
    }

    /// The values now. Each is exact; together they are not one instant's.
    pub fn snapshot(&self) -> CounterSnapshot {
        let of = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        CounterSnapshot {
            commands: of(&self.0.commands),
            fetches: of(&self.0.fetches),
            pushes: of(&self.0.pushes),
            commits_landed: of(&self.0.commits_landed),
            lost_races: of(&self.0.lost_races),
            replays: of(&self.0.replays),
            refusals: of(&self.0.refusals),
        }
    }
}
