use super::*;
use crate::git::objects::fixture::{Files, Repo};

fn between(repo: &Repo, old: Files<'_>, new: Files<'_>) -> FileChanges {
    diff(
        &repo.objects,
        &repo.tree(old),
        &repo.tree(new),
        Limits::default(),
    )
    .unwrap()
}

const OLD: Files<'static> = &[
    ("gone", "x\n"),
    ("mode", "m\n"),
    ("v.yaml", "a: 1\ntag: 2.3.0\nb: 2\n"),
    ("bin", "\0"),
    ("nl", "end"),
];
const NEW: Files<'static> = &[
    ("new/f", "y\nz\n"),
    ("*mode", "m\n"),
    ("v.yaml", "a: 1\ntag: 2.3.1\nb: 2\n"),
    ("bin", "\0\0"),
    ("nl", "end\n"),
];

#[test]
fn files_are_counted_as_git_counts_them() {
    let repo = Repo::new();
    let seen = between(&repo, OLD, NEW);
    let rows: Vec<_> = seen
        .files
        .iter()
        .map(|f| {
            let mode = |mode: Option<Mode>| mode.map_or("-", Mode::as_str);
            format!(
                "{} {}>{} +{} -{}{}",
                f.path,
                mode(f.old_mode),
                mode(f.mode),
                f.added,
                f.removed,
                if f.binary { " bin" } else { "" }
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            "bin 100644>100644 +0 -0 bin",
            "gone 100644>- +0 -1",
            "mode 100644>100755 +0 -0",
            "new/f ->100644 +2 -0",
            "nl 100644>100644 +1 -1",
            "v.yaml 100644>100644 +1 -1",
        ]
    );
    let (old, new) = (repo.tree(OLD), repo.tree(NEW));
    let numstat = repo.git(&[
        "diff",
        "--no-renames",
        "--numstat",
        old.as_str(),
        new.as_str(),
    ]);
    assert_eq!(
        numstat,
        "-\t-\tbin\n0\t1\tgone\n0\t0\tmode\n2\t0\tnew/f\n1\t1\tnl\n1\t1\tv.yaml\n"
    );
}

#[test]
fn the_text_is_a_patch_that_git_applies() {
    let repo = Repo::new();
    let without = |files: Files<'static>| {
        files
            .iter()
            .copied()
            .filter(|(path, _)| *path != "bin")
            .collect::<Vec<_>>()
    };
    let (old, new) = (without(OLD), without(NEW));
    let seen = between(&repo, &old, &new);
    let patch = repo.dir.path().join("patch");
    std::fs::write(&patch, &seen.text).unwrap();
    repo.git(&["read-tree", repo.tree(&old).as_str()]);
    repo.git(&["apply", "--cached", patch.to_str().unwrap()]);
    assert_eq!(
        repo.git(&["write-tree"]).trim(),
        repo.tree(&new).as_str(),
        "{}",
        seen.text
    );
    assert!(!seen.cut);
    assert!(
        seen.text.contains("-tag: 2.3.0\n+tag: 2.3.1\n"),
        "{}",
        seen.text
    );
}

#[test]
fn equal_changes_of_other_bases_have_equal_digests() {
    let repo = Repo::new();
    let pair = |old: Files<'_>, new: Files<'_>| between(&repo, old, new).digest;
    let plain = pair(&[("v", "tag: 1\n")], &[("v", "tag: 2\n")]);
    assert_eq!(plain.len(), 64);
    let moved = pair(
        &[("v", "a\nb\nc\nd\ne\ntag: 1\nz\n"), ("o", "1")],
        &[("v", "a\nb\nc\nd\ne\ntag: 2\nz\n"), ("o", "1")],
    );
    assert_eq!(plain, moved, "context and line numbers do not count");
    for (why, old, new) in [
        (
            "other content",
            &[("v", "tag: 1\n")][..],
            &[("v", "tag: 3\n")][..],
        ),
        (
            "other spacing",
            &[("v", "tag: 1\n")],
            &[("v", "  tag: 2\n")],
        ),
        (
            "other old content",
            &[("v", "tag: 0\n")],
            &[("v", "tag: 2\n")],
        ),
        ("other path", &[("w", "tag: 1\n")], &[("w", "tag: 2\n")]),
        ("other mode", &[("v", "tag: 1\n")], &[("*v", "tag: 2\n")]),
        (
            "no newline at the end",
            &[("v", "tag: 1\n")],
            &[("v", "tag: 2")],
        ),
        (
            "one file more",
            &[("v", "tag: 1\n")],
            &[("v", "tag: 2\n"), ("w", "")],
        ),
        ("as a new file", &[], &[("v", "tag: 2\n")]),
        ("binary", &[("v", "\0")], &[("v", "\0\0")]),
    ] {
        assert_ne!(plain, pair(old, new), "{why}");
    }
}

#[test]
fn the_digest_is_of_all_checkouts_in_any_order() {
    let repo = Repo::new();
    let (a, b, none) = (
        repo.tree(&[("a", "1\n")]),
        repo.tree(&[("b", "1\n")]),
        TreeId::empty(),
    );
    let digest = |parts: &[(&str, &TreeId)]| {
        let mut differ = Differ::new(Limits::default());
        for (prefix, tree) in parts {
            differ.add(&repo.objects, prefix, &none, tree).unwrap();
        }
        differ.finish().digest
    };
    assert_eq!(
        digest(&[("x/", &a), ("y/", &b)]),
        digest(&[("y/", &b), ("x/", &a)])
    );
    assert_ne!(
        digest(&[("x/", &a), ("y/", &b)]),
        digest(&[("x/", &b), ("y/", &a)])
    );
    assert_ne!(digest(&[("x/", &a)]), digest(&[]));
}

#[test]
fn long_changes_are_cut_and_marked_but_wholly_digested() {
    let repo = Repo::new();
    let long = |last: &str| {
        (0..20_000)
            .map(|n| format!("line {n}\n"))
            .collect::<String>()
            + last
    };
    let limits = Limits {
        files: 2,
        ..Limits::default()
    };
    let see = |last: &str| {
        let text = long(last);
        let new = repo.tree(&[("a", &text), ("b", "1"), ("c", "1"), ("d", "1")]);
        diff(&repo.objects, &TreeId::empty(), &new, limits).unwrap()
    };
    let seen = see("x\n");
    assert!(
        seen.cut && seen.text.len() <= 64 << 10 && seen.text.len() > 63 << 10,
        "{}",
        seen.text.len()
    );
    assert!(seen.text.ends_with(CUT_MARK));
    assert_eq!(
        (seen.files.len(), seen.more_files, seen.files[0].added),
        (2, 2, 20_001)
    );
    assert_eq!(seen.digest, see("x\n").digest);
    assert_ne!(
        seen.digest,
        see("y\n").digest,
        "what is past the cut counts"
    );
}

#[test]
fn large_files_and_submodules_are_compared_by_id() {
    let repo = Repo::new();
    let limits = Limits {
        file: 10,
        ..Limits::default()
    };
    let see = |content: &str| {
        diff(
            &repo.objects,
            &TreeId::empty(),
            &repo.tree(&[("a", content)]),
            limits,
        )
        .unwrap()
    };
    assert!(see("more than ten").files[0].binary);
    assert!(!see("ten").files[0].binary);
    assert_ne!(see("more than ten").digest, see("more than two").digest);
}

#[test]
fn a_file_that_became_a_directory_is_two_changes() {
    let repo = Repo::new();
    let seen = between(&repo, &[("a", "1\n")], &[("a/x", "1\n"), ("a/y", "2\n")]);
    let rows: Vec<_> = seen
        .files
        .iter()
        .map(|f| (f.path.as_str(), f.added, f.removed))
        .collect();
    assert_eq!(rows, [("a", 0, 1), ("a/x", 1, 0), ("a/y", 1, 0)]);
}

#[test]
fn paths_cannot_forge_lines() {
    let repo = Repo::new();
    let seen = between(&repo, &[], &[("a\n+++ b/real", "1\n")]);
    assert!(
        !seen.text.lines().any(|line| line == "+++ b/real"),
        "{}",
        seen.text
    );
}
