use super::{Rebased, access::Access, rebase};
use crate::git::{
    id::{CommitId, TreeId},
    objects::fixture::{Files, Repo, key},
    path::RepoPath,
};

/// One situation: what the base had, what our commits made of it, what the tip has.
struct Row<'a> {
    why: &'a str,
    base: Files<'a>,
    ours: &'a [Files<'a>],
    tip: Files<'a>,
    /// `r path` read, `l path` looked at, `w path` written, `c path` all of the base below it cleared.
    access: &'a [&'a str],
    then: Then<'a>,
}

enum Then<'a> {
    /// The files of each commit that is made on the tip.
    Onto(&'a [&'a [&'a str]]),
    NoOp,
    Stale(&'a [&'a str]),
}

use Then::{NoOp, Onto, Stale};

fn access(repo: &Repo, base: &TreeId, notes: &[&str]) -> Access {
    let mut access = Access::new();
    for note in notes {
        let (what, path) = note.split_once(' ').unwrap();
        let path: RepoPath = path.parse().unwrap();
        match what {
            "r" => access.read(&path),
            "l" => access.look(&path),
            "w" => access.write(&path),
            "c" => {
                let crate::git::tree::Found::Node(node) = repo.objects.find(base, &path).unwrap()
                else {
                    panic!()
                };
                access.write_all(&path, &node.tree_id().unwrap());
            }
            other => panic!("{other}"),
        }
    }
    let text = serde_json::to_string(&access).unwrap();
    assert_eq!(
        serde_json::from_str::<Access>(&text).unwrap(),
        access,
        "it is journalled"
    );
    access
}

fn check(row: &Row<'_>) {
    let repo = Repo::new();
    let base = repo.root(row.base);
    let mut chain: Vec<CommitId> = Vec::new();
    for (n, files) in row.ours.iter().enumerate() {
        let parent = chain.last().unwrap_or(&base);
        chain.push(repo.commit(Some(parent), &repo.tree(files), &format!("ours {n}"), 500));
    }
    let tip = repo.commit(Some(&base), &repo.tree(row.tip), "theirs", 900);
    let access = access(&repo, &repo.tree(row.base), row.access);
    let got = rebase(&repo.objects, &chain, Some(&base), &access, Some(&tip)).unwrap();
    match (&row.then, got) {
        (NoOp, got) => assert_eq!(got, Rebased::NoOp, "{}", row.why),
        (Stale(paths), got) => {
            assert_eq!(
                got,
                Rebased::Stale {
                    paths: paths.iter().map(|p| (*p).to_owned()).collect()
                },
                "{}",
                row.why
            );
        }
        (Onto(expected), Rebased::Onto(made)) => {
            let shown: Vec<_> = made.iter().map(|id| repo.show(id.as_str())).collect();
            assert_eq!(shown, *expected, "{}", row.why);
            let mut parent = tip;
            for id in made {
                let commit = repo.objects.commit(&id).unwrap();
                assert_eq!(
                    (commit.parents.as_slice(), commit.header),
                    (&[parent][..], Some(key())),
                    "{}",
                    row.why
                );
                assert_eq!(
                    (commit.author_time, commit.committer_time),
                    (500, 900),
                    "{}",
                    row.why
                );
                parent = id;
            }
            repo.git(&["update-ref", "refs/heads/main", parent.as_str()]);
            repo.git(&["fsck", "--strict"]);
        }
        (Onto(_), got) => panic!("{}: {got:?}", row.why),
    }
}

fn check_all(rows: &[Row<'_>]) {
    for row in rows {
        check(row);
    }
}

#[test]
fn what_others_did_elsewhere_is_kept() {
    check_all(&[
        Row {
            why: "another file changed",
            base: &[("a", "1"), ("b", "1")],
            ours: &[&[("a", "2"), ("b", "1")]],
            tip: &[("a", "1"), ("b", "9")],
            access: &["r a", "w a"],
            then: Onto(&[&["100644 a=2", "100644 b=9"]]),
        },
        Row {
            why: "siblings of what was read came, went and changed mode",
            base: &[("d/a", "1"), ("d/b", "1"), ("d/c", "1")],
            ours: &[&[("d/a", "2"), ("d/b", "1"), ("d/c", "1")]],
            tip: &[("d/a", "1"), ("*d/b", "1"), ("d/new", "1")],
            access: &["r d/a", "w d/a", "l d"],
            then: Onto(&[&["100644 d/a=2", "100755 d/b=1", "100644 d/new=1"]]),
        },
        Row {
            why: "both add files to a new directory",
            base: &[("a", "1")],
            ours: &[&[("a", "1"), ("n/x", "1")]],
            tip: &[("a", "1"), ("n/y", "1")],
            access: &["w n/x"],
            then: Onto(&[&["100644 a=1", "100644 n/x=1", "100644 n/y=1"]]),
        },
        Row {
            why: "a removal, while the directory got another file",
            base: &[("d/a", "1")],
            ours: &[&[]],
            tip: &[("d/a", "1"), ("d/b", "1")],
            access: &["w d/a"],
            then: Onto(&[&["100644 d/b=1"]]),
        },
        Row {
            why: "a mode change of ours, on content that stayed",
            base: &[("a", "1"), ("b", "1")],
            ours: &[&[("*a", "1"), ("b", "1")]],
            tip: &[("a", "1"), ("b", "2")],
            access: &["w a"],
            then: Onto(&[&["100755 a=1", "100644 b=2"]]),
        },
        Row {
            why: "the tip's tree is the base's again",
            base: &[("a", "1")],
            ours: &[&[("a", "2")]],
            tip: &[("a", "1")],
            access: &["r .", "w a"],
            then: Onto(&[&["100644 a=2"]]),
        },
        Row {
            why: "a chain keeps its commits",
            base: &[("a", "1"), ("z", "1")],
            ours: &[
                &[("a", "2"), ("z", "1")],
                &[("a", "3"), ("b", "1"), ("z", "1")],
            ],
            tip: &[("a", "1"), ("z", "2")],
            access: &["r a", "w a", "w b"],
            then: Onto(&[
                &["100644 a=2", "100644 z=2"],
                &["100644 a=3", "100644 b=1", "100644 z=2"],
            ]),
        },
        Row {
            why: "cleared and written anew: what others added survives",
            base: &[("old", "1"), ("keep", "1")],
            ours: &[&[("keep", "1"), ("new", "1")]],
            tip: &[("old", "1"), ("keep", "1"), ("added", "1")],
            access: &["c .", "w new", "w keep"],
            then: Onto(&[&["100644 added=1", "100644 keep=1", "100644 new=1"]]),
        },
        Row {
            why: "a file became a directory on our side only",
            base: &[("a", "1"), ("b", "1")],
            ours: &[&[("a/x", "1"), ("b", "1")]],
            tip: &[("a", "1"), ("b", "2")],
            access: &["w a", "w a/x"],
            then: Onto(&[&["100644 a/x=1", "100644 b=2"]]),
        },
    ]);
}

#[test]
fn what_is_there_already_is_dropped() {
    check_all(&[
        Row {
            why: "C38: the same edit on both sides, read or not",
            base: &[("a", "1")],
            ours: &[&[("a", "2")]],
            tip: &[("a", "2"), ("b", "1")],
            access: &["r a", "w a"],
            then: NoOp,
        },
        Row {
            why: "the same removal",
            base: &[("a", "1"), ("b", "1")],
            ours: &[&[("b", "1")]],
            tip: &[("b", "2")],
            access: &["w a"],
            then: NoOp,
        },
        Row {
            why: "one of two writes is there",
            base: &[("a", "1"), ("b", "1")],
            ours: &[&[("a", "2"), ("b", "2")]],
            tip: &[("a", "2"), ("b", "1")],
            access: &["w a", "w b"],
            then: Onto(&[&["100644 a=2", "100644 b=2"]]),
        },
        Row {
            why: "the first commit of a chain is there",
            base: &[("a", "1"), ("b", "1")],
            ours: &[&[("a", "2"), ("b", "1")], &[("a", "2"), ("b", "2")]],
            tip: &[("a", "2"), ("b", "1"), ("c", "1")],
            access: &["w a", "w b"],
            then: Onto(&[&["100644 a=2", "100644 b=2", "100644 c=1"]]),
        },
        Row {
            why: "the chain undid itself",
            base: &[("a", "1")],
            ours: &[&[("a", "2")], &[("a", "1")]],
            tip: &[("a", "1"), ("b", "1")],
            access: &["r a", "w a"],
            then: NoOp,
        },
        Row {
            why: "the tip has our whole tree",
            base: &[("a", "1")],
            ours: &[&[("a", "2"), ("n/x", "1")]],
            tip: &[("a", "2"), ("n/x", "1")],
            access: &["r .", "w a", "w n/x"],
            then: NoOp,
        },
    ]);
}

#[test]
fn anything_that_was_read_or_written_and_moved_is_stale() {
    check_all(&[
        Row {
            why: "the file itself",
            base: &[("a", "1")],
            ours: &[&[("a", "2")]],
            tip: &[("a", "3")],
            access: &["r a", "w a"],
            then: Stale(&["a"]),
        },
        Row {
            why: "only its mode",
            base: &[("a", "1")],
            ours: &[&[("a", "2")]],
            tip: &[("*a", "1")],
            access: &["w a"],
            then: Stale(&["a"]),
        },
        Row {
            why: "an input of what was rendered",
            base: &[("in", "1"), ("out", "1")],
            ours: &[&[("in", "1"), ("out", "2")]],
            tip: &[("in", "9"), ("out", "1")],
            access: &["r in", "w out"],
            then: Stale(&["in"]),
        },
        Row {
            why: "the tip removed what was read",
            base: &[("in", "1"), ("out", "1")],
            ours: &[&[("in", "1"), ("out", "2")]],
            tip: &[("out", "1")],
            access: &["r in", "w out"],
            then: Stale(&["in"]),
        },
        Row {
            why: "the tip moved what was read to another name",
            base: &[("in", "1"), ("out", "1")],
            ours: &[&[("in", "1"), ("out", "2")]],
            tip: &[("moved", "1"), ("out", "1")],
            access: &["r in", "w out"],
            then: Stale(&["in"]),
        },
        Row {
            why: "what was found absent is there now",
            base: &[("out", "1")],
            ours: &[&[("out", "2")]],
            tip: &[("opt", "1"), ("out", "1")],
            access: &["r opt", "w out"],
            then: Stale(&["opt"]),
        },
        Row {
            why: "a listed directory has another file",
            base: &[("d/a", "1"), ("out", "1")],
            ours: &[&[("d/a", "1"), ("out", "2")]],
            tip: &[("d/a", "1"), ("d/b", "1"), ("out", "1")],
            access: &["r d", "w out"],
            then: Stale(&["d"]),
        },
        Row {
            why: "the whole tree was listed",
            base: &[("a", "1"), ("out", "1")],
            ours: &[&[("a", "1"), ("out", "2")]],
            tip: &[("a", "9"), ("out", "1")],
            access: &["r .", "w out"],
            then: Stale(&["."]),
        },
        Row {
            why: "a directory that was looked at is a file",
            base: &[("d/a", "1"), ("out", "1")],
            ours: &[&[("d/a", "1"), ("out", "2")]],
            tip: &[("d", "1"), ("out", "1")],
            access: &["l d", "w out"],
            then: Stale(&["d"]),
        },
        Row {
            why: "we write into a directory that is a file at the tip",
            base: &[("d/a", "1")],
            ours: &[&[("d/a", "1"), ("d/b", "1")]],
            tip: &[("d", "1")],
            access: &["w d/b"],
            then: Stale(&["d/b"]),
        },
        Row {
            why: "we make a directory where the tip made a file",
            base: &[("z", "1")],
            ours: &[&[("z", "1"), ("d/b", "1")]],
            tip: &[("z", "1"), ("d", "1")],
            access: &["w d/b"],
            then: Stale(&["d/b"]),
        },
        Row {
            why: "we make a file where the tip made a directory",
            base: &[("z", "1")],
            ours: &[&[("z", "1"), ("d", "1")]],
            tip: &[("z", "1"), ("d/b", "1")],
            access: &["w d"],
            then: Stale(&["d"]),
        },
        Row {
            why: "we replaced a directory by a file; the tip put another file into it",
            base: &[("d/a", "1")],
            ours: &[&[("d", "1")]],
            tip: &[("d/a", "1"), ("d/b", "1")],
            access: &["w d"],
            then: Stale(&["d"]),
        },
        Row {
            why: "both add the same file with other content",
            base: &[("z", "1")],
            ours: &[&[("z", "1"), ("n", "1")]],
            tip: &[("z", "1"), ("n", "2")],
            access: &["w n"],
            then: Stale(&["n"]),
        },
        Row {
            why: "we removed what the tip edited",
            base: &[("a", "1"), ("z", "1")],
            ours: &[&[("z", "1")]],
            tip: &[("a", "2"), ("z", "1")],
            access: &["w a"],
            then: Stale(&["a"]),
        },
        Row {
            why: "we edited what the tip removed",
            base: &[("a", "1"), ("z", "1")],
            ours: &[&[("a", "2"), ("z", "1")]],
            tip: &[("z", "1")],
            access: &["w a"],
            then: Stale(&["a"]),
        },
        Row {
            why: "a write that changed nothing still asks for its result",
            base: &[("a", "1"), ("b", "1")],
            ours: &[&[("a", "1"), ("b", "2")]],
            tip: &[("a", "9"), ("b", "1")],
            access: &["w a", "w b"],
            then: Stale(&["a"]),
        },
        Row {
            why: "cleared and written as it was; the tip edited it",
            base: &[("a", "1"), ("d/b", "1"), ("d/c", "1")],
            ours: &[&[("a", "1"), ("d/b", "1")]],
            tip: &[("a", "1"), ("d/b", "9"), ("d/c", "1")],
            access: &["c ."],
            then: Stale(&["d/b"]),
        },
        Row {
            why: "one write is there, but it came of a read that is not what it was",
            base: &[("a", "1"), ("b", "1")],
            ours: &[&[("a", "2"), ("b", "2")]],
            tip: &[("a", "2"), ("b", "1")],
            access: &["r a", "w a", "w b"],
            then: Stale(&["a"]),
        },
        Row {
            why: "the tip is in the middle of our chain's history of a file",
            base: &[("a", "1"), ("z", "1")],
            ours: &[&[("a", "2"), ("z", "1")], &[("a", "3"), ("z", "2")]],
            tip: &[("a", "3"), ("z", "1")],
            access: &["w a", "w z"],
            then: Stale(&["a"]),
        },
    ]);
}

#[test]
fn an_unmoved_tip_takes_the_commits_as_they_are() {
    let repo = Repo::new();
    let base = repo.root(&[("a", "1")]);
    let ours = repo.commit(Some(&base), &repo.tree(&[("a", "2")]), "ours", 500);
    let run = |commits: &[CommitId], base, tip| {
        rebase(&repo.objects, commits, base, &Access::new(), tip).unwrap()
    };
    assert_eq!(
        run(std::slice::from_ref(&ours), Some(&base), Some(&base)),
        Rebased::Same
    );
    assert_eq!(run(std::slice::from_ref(&ours), None, None), Rebased::Same);
    assert_eq!(run(&[], Some(&base), Some(&ours)), Rebased::NoOp);
}

#[test]
fn a_new_branch_that_somebody_else_made_meanwhile_is_a_tip_like_any_other() {
    let repo = Repo::new();
    let first = repo.root(&[("ours", "1")]);
    let tip = repo.commit(None, &repo.tree(&[("theirs", "1")]), "theirs", 900);
    let access = access(&repo, &TreeId::empty(), &["w ours"]);
    let Rebased::Onto(made) = rebase(&repo.objects, &[first], None, &access, Some(&tip)).unwrap()
    else {
        panic!()
    };
    assert_eq!(
        repo.show(made[0].as_str()),
        ["100644 ours=1", "100644 theirs=1"]
    );
}

#[test]
fn an_object_that_is_gone_is_absent() {
    let repo = Repo::new();
    let base = repo.root(&[("a", "1")]);
    let ours = repo.commit(Some(&base), &repo.tree(&[("a", "2")]), "ours", 500);
    let unknown: CommitId = "00000000000000000000000000000000000000aa".parse().unwrap();
    assert!(
        rebase(
            &repo.objects,
            &[ours],
            Some(&base),
            &Access::new(),
            Some(&unknown)
        )
        .unwrap_err()
        .is_absent()
    );
}

#[test]
fn many_reads_are_kept_as_few_directories() {
    let mut access = Access::new();
    for n in 0..2000 {
        access.read(&format!("apps/a{n}/values.yaml").parse().unwrap());
    }
    access.read(&"other/x".parse().unwrap());
    let reads: Vec<_> = access.reads().map(ToString::to_string).collect();
    assert_eq!(reads, ["apps", "other/x"]);
    assert!(serde_json::to_string(&access).unwrap().len() < 100);
    let mut looks = Access::new();
    for n in 0..2000 {
        looks.look(&format!("apps/a{n}/values.yaml").parse().unwrap());
    }
    assert!(looks.reads().any(|path| path.to_string() == "apps") && looks.looks().count() <= 256);
}

#[test]
fn reading_what_was_written_here_is_no_read_of_the_base() {
    let mut access = Access::new();
    let path: RepoPath = "a".parse().unwrap();
    access.write(&path);
    access.read(&path);
    access.look(&path);
    assert_eq!((access.reads().count(), access.looks().count()), (0, 0));
    let mut other = Access::new();
    other.read(&path);
    other.write(&path);
    assert_eq!(other.reads().count(), 1, "read first, then written");
}
