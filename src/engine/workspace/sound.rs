//! The promise behind the rebase, tried on programs made at random: what is put onto a moved tip is what the same
//! steps would have made there.

use super::{fixture::*, *};
use crate::git::{
    id::CommitId,
    objects::fixture::Repo,
    rebase::{Rebased, rebase},
};

/// A generator whose whole state is a number, so that a failure names the program that failed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn path(&mut self) -> &'static str {
        const PATHS: [&str; 12] = [
            "a", "b", "l", "d", "d/a", "d/b", "d/e", "d/e/a", "e", "e/a", "k/a", "k",
        ];
        PATHS[self.roll(PATHS.len())]
    }
}

/// One thing that a step does with the workspace.
#[derive(Debug)]
enum Op {
    Write(&'static str, &'static str, Option<Mode>),
    /// Writes something that follows from a file's content and mode.
    Render(&'static str, &'static str),
    /// Writes the names in a directory.
    Index(&'static str, &'static str),
    /// Writes what kind of thing is there.
    Look(&'static str, &'static str),
    Copy(&'static str, &'static str),
    Remove(&'static str),
}

fn op(dice: &mut Dice) -> Op {
    let (from, to) = (dice.path(), dice.path());
    match dice.roll(9) {
        0..=2 => Op::Write(
            to,
            ["1", "2"][dice.roll(2)],
            [None, None, Some(Mode::Executable)][dice.roll(3)],
        ),
        3 | 4 => Op::Render(from, to),
        5 => Op::Index(from, to),
        6 => Op::Look(from, to),
        7 => Op::Copy(from, to),
        _ => Op::Remove(to),
    }
}

/// Does it; what fails has no effect, as in a step whose errors are ignored.
fn run(ws: &mut Workspace, op: &Op) {
    let at = |text: &str| path("src").join(&path(text));
    let put = |to: &str, text: Result<String, WorkspaceError>, ws: &mut Workspace| {
        let text = text.unwrap_or_else(|_| "failed".into());
        let _ = ws.write(&at(to), text.as_bytes(), None);
    };
    match op {
        Op::Write(to, text, mode) => drop(ws.write(&at(to), text.as_bytes(), *mode)),
        Op::Render(from, to) => {
            let text = ws.read(&at(from)).map(|file| {
                file.map_or("none".into(), |f| {
                    format!("{}<{}>", f.mode, String::from_utf8_lossy(&f.bytes))
                })
            });
            put(to, text, ws);
        }
        Op::Index(from, to) => {
            let text = ws.list(&at(from)).map(|names| format!("{names:?}"));
            put(to, text, ws);
        }
        Op::Look(from, to) => {
            let text = ws.kind(&at(from)).map(|kind| format!("{kind:?}"));
            put(to, text, ws);
        }
        Op::Copy(from, to) => drop(ws.copy(&at(from), &at(to), &|_, _| true)),
        Op::Remove(to) => drop(ws.remove(&at(to))),
    }
}

/// A tree with some of the paths, a link among them.
fn tree(dice: &mut Dice, repo: &Repo, from: &TreeId, edits: usize) -> TreeId {
    let mut tree = from.clone();
    for _ in 0..edits {
        let at = dice.path();
        let mut one = Edits::new();
        let content = repo
            .objects
            .write_blob(["1", "2", "3"][dice.roll(3)].as_bytes())
            .unwrap();
        let target = repo
            .objects
            .write_blob(["d", "a", "d/a", "e/a"][dice.roll(4)].as_bytes())
            .unwrap();
        let node = match dice.roll(8) {
            0 | 1 => None,
            2 => Some(Node::leaf(Mode::Executable, &content).unwrap()),
            _ if at == "l" => Some(Node::leaf(Mode::Link, &target).unwrap()),
            _ => Some(Node::leaf(Mode::File, &content).unwrap()),
        };
        one.put(&path(at), node);
        tree = repo.objects.edit(&tree, &one).unwrap_or(tree);
    }
    tree
}

/// What the program makes of a commit: the workspace, with its changes committed in two commits.
fn result(bench: &Bench, base: &CommitId, ops: &[Op]) -> Workspace {
    let mut ws = bench.empty();
    bench
        .mount(&mut ws, "a", "src", Some(base.clone()))
        .unwrap();
    for (n, op) in ops.iter().enumerate() {
        run(&mut ws, op);
        if n + 1 == ops.len() / 2 || n + 1 == ops.len() {
            commit(&mut ws, "src").unwrap();
        }
    }
    ws
}

#[test]
fn what_is_rebased_is_what_a_replay_makes() {
    let bench = Bench::new(&["a"]);
    let repo = bench.repo("a");
    let (mut onto, mut stale, mut nothing) = (0, 0, 0);
    for seed in 0..600u64 {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let old = tree(&mut dice, repo, &TreeId::empty(), 9);
        let base = repo.commit(None, &old, "base", 1);
        let edits = 1 + dice.roll(3);
        let new = tree(&mut dice, repo, &old, edits);
        let tip = repo.commit(Some(&base), &new, "tip", 2);
        let ops: Vec<Op> = (0..2 + dice.roll(4)).map(|_| op(&mut dice)).collect();

        let ours = result(&bench, &base, &ops);
        let mount = &ours.state().mounts[0];
        let rebased = rebase(
            &repo.objects,
            &mount.commits,
            Some(&base),
            &mount.access,
            Some(&tip),
        )
        .unwrap();
        match rebased {
            Rebased::Onto(made) => {
                onto += 1;
                let again = result(&bench, &tip, &ops);
                let (ours, theirs) = (
                    repo.objects.tree_of(made.last()).unwrap(),
                    &again.state().mounts[0].tree,
                );
                assert!(
                    ours == *theirs,
                    "seed {seed}: {ops:?}\nbase {:?}\ntip {:?}\nrebased {:?}\nreplayed {:?}\naccess {:?}",
                    repo.show(old.as_str()),
                    repo.show(new.as_str()),
                    repo.show(ours.as_str()),
                    repo.show(theirs.as_str()),
                    mount.access
                );
            }
            Rebased::Stale { .. } => stale += 1,
            Rebased::NoOp | Rebased::Same => nothing += 1,
        }
    }
    assert!(
        onto > 100 && stale > 100 && nothing > 10,
        "too few of a kind: {onto} {stale} {nothing}"
    );
}
