use std::{path::Path, process::Command};

use super::super::{fixture::*, *};
use crate::git::objects::fixture::Files;

/// What the real git commits when `files` are written over a checkout of `base`, and `git add .` is run.
fn by_git(base: Files<'_>, files: Files<'_>, clear: bool) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let work = dir.path().join("work");
    std::fs::create_dir(&work).unwrap();
    let git = |args: &[&str]| {
        let output = Command::new("git")
            .args([
                "-c",
                "user.name=A",
                "-c",
                "user.email=a@b",
                "-c",
                "init.defaultBranch=main",
            ])
            .args(args)
            .current_dir(&work)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", dir.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    };
    let put = |files: Files<'_>| {
        for (path, content) in files {
            let path: &Path = &work.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
    };
    git(&["init", "-q"]);
    put(base);
    git(&["add", "-f", "."]);
    git(&["commit", "-q", "--allow-empty", "-m", "base"]);
    put(files);
    if clear {
        git(&["add", "."]);
        git(&["rm", "-rfq", "--ignore-unmatch", "."]);
    }
    git(&["add", "."]);
    git(&["commit", "-q", "--allow-empty", "-m", "change"]);
    git(&["ls-tree", "-r", "--name-only", "HEAD"])
        .lines()
        .map(str::to_owned)
        .collect()
}

fn by_us(base: Files<'_>, files: Files<'_>, clear: bool) -> Vec<String> {
    let bench = Bench::new(&["a"]);
    let mut ws = bench.with("a", base);
    for (at, content) in files {
        ws.write(&path("src").join(&path(at)), content.as_bytes(), None)
            .unwrap();
    }
    if clear {
        ws.clear(&path("src")).unwrap();
    }
    let head = match commit(&mut ws, "src").unwrap() {
        CommitOutcome::Made { id, .. } => id,
        CommitOutcome::NothingToCommit(head) => head.unwrap(),
    };
    bench
        .repo("a")
        .git(&["ls-tree", "-r", "--name-only", head.as_str()])
        .lines()
        .map(str::to_owned)
        .collect()
}

const BASE: Files<'static> = &[
    (
        ".gitignore",
        "*.tmp\n!keep.tmp\n/build/\nlogs/\n# comment\n\\#odd\ndoc/**/x\n",
    ),
    ("sub/.gitignore", "!a.tmp\nb.txt\n/only\n"),
    ("tracked.tmp", "1"),
    ("build/tracked", "1"),
    ("f", "1"),
];
const NEW: Files<'static> = &[
    ("f", "2"),
    ("tracked.tmp", "2"),
    ("build/tracked", "2"),
    ("x.tmp", "1"),
    ("keep.tmp", "1"),
    ("build/new", "1"),
    ("sub/build/new", "1"),
    ("sub/a.tmp", "1"),
    ("sub/c.tmp", "1"),
    ("sub/b.txt", "1"),
    ("sub/deep/b.txt", "1"),
    ("sub/only", "1"),
    ("sub/deep/only", "1"),
    ("b.txt", "1"),
    ("logs/keep.tmp", "1"),
    ("sub/logs/y", "1"),
    ("#odd", "1"),
    ("doc/x", "1"),
    ("doc/a/b/x", "1"),
    ("doc/a/y", "1"),
];

#[test]
fn a_commit_takes_what_git_add_takes() {
    let theirs = by_git(BASE, NEW, false);
    assert_eq!(by_us(BASE, NEW, false), theirs);
    assert!(
        theirs.contains(&"tracked.tmp".to_owned()) && !theirs.contains(&"x.tmp".to_owned()),
        "{theirs:?}"
    );
}

#[test]
fn clearing_removes_what_git_rm_removes() {
    let theirs = by_git(BASE, NEW, true);
    assert_eq!(by_us(BASE, NEW, true), theirs);
    assert!(
        theirs.contains(&"x.tmp".to_owned()),
        "ignored files outlive the clearing, and the .gitignore: {theirs:?}"
    );
}

#[test]
fn ignored_files_stay_in_the_workspace_and_out_of_the_change() {
    let bench = Bench::new(&["a"]);
    let mut ws = bench.with("a", &[(".gitignore", "*.tmp\n")]);
    let base = ws.state().mounts[0].base.clone();
    ws.write(&path("src/x.tmp"), b"1", None).unwrap();
    assert_eq!(
        commit(&mut ws, "src").unwrap(),
        CommitOutcome::NothingToCommit(base)
    );
    assert_eq!(ws.read(&path("src/x.tmp")).unwrap().unwrap().bytes, b"1");
    assert!(
        ws.change(crate::git::diff::Limits::default())
            .unwrap()
            .files
            .is_empty()
    );
    assert!(
        recorded(&ws).contains(&"r .gitignore".to_owned()),
        "it decided: {:?}",
        recorded(&ws)
    );
}

#[test]
fn what_is_kept_in_lfs_is_not_written() {
    let bench = Bench::new(&["a"]);
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
    let mut ws = bench.with(
        "a",
        &[
            (
                ".gitattributes",
                "[attr]big filter=lfs -text\n# *.txt filter=lfs\n*.bin filter=lfs diff=lfs\n\
                 ok.bin -filter\n\"a b\" filter=lfs\nlarge/** big\n*.txt text\n",
            ),
            ("sub/.gitattributes", "*.bin !filter\n"),
            ("in/copied.bin", "raw"),
        ],
    );
    for at in ["x.bin", "deep/x.bin", "a b", "large/y"] {
        let refused = ws
            .write(&path("src").join(&path(at)), b"raw", None)
            .unwrap_err();
        assert!(
            matches!(&refused, WorkspaceError::Lfs { path } if path == at),
            "{at}: {refused}"
        );
    }
    for at in ["ok.bin", "sub/x.bin", "f.txt", "x.bin.txt"] {
        ws.write(&path("src").join(&path(at)), b"raw", None)
            .unwrap();
    }
    ws.write(&path("src/p.bin"), pointer.as_bytes(), None)
        .unwrap();
    made(&mut ws, "src");
    ws.copy(&path("src/in"), &path("src/out"), &|_, _| true)
        .unwrap();
    assert!(
        matches!(commit(&mut ws, "src"), Err(WorkspaceError::Lfs { path }) if path == "out/copied.bin")
    );
}
