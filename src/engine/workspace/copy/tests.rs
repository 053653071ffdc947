use super::super::{fixture::*, *};
use crate::git::tree::Mode;

fn all(_: &RepoPath, _: bool) -> bool {
    true
}

#[test]
fn c67_what_a_copy_takes_along() {
    let bench = Bench::new(&["a", "b"]);
    let repo = bench.repo("a");
    let blob = repo.objects.write_blob(b"evil").unwrap();
    // An entry called `.git`, which only a hostile tree has.
    let tree = repo.tree(&[
        ("in/a.tmp", "1"),
        ("in/keep.tmp", "2"),
        ("*in/run", "3"),
        ("@in/link", "run"),
        ("in/sub/x.yaml", "4"),
        ("in/skip/deep/y", "5"),
    ]);
    let listed = repo.git(&["ls-tree", &format!("{tree}:in")]);
    let file = repo.dir.path().join("listing");
    std::fs::write(&file, format!("{listed}100644 blob {blob}\t.git\n")).unwrap();
    let evil = std::process::Command::new("git")
        .args(["mktree"])
        .current_dir(repo.path())
        .stdin(std::fs::File::open(&file).unwrap())
        .output()
        .unwrap();
    let evil: TreeId = String::from_utf8(evil.stdout)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let mut edits = Edits::new();
    edits.put(&path("in"), Some(Node::tree(&evil).unwrap()));
    let tree = repo.objects.edit(&tree, &edits).unwrap();

    let mut ws = bench.empty();
    bench
        .mount(&mut ws, "a", "src", Some(repo.commit(None, &tree, "m", 1)))
        .unwrap();
    let out = bench
        .repo("b")
        .root(&[("run", "old"), ("other", "stays"), ("sub/z", "stays")]);
    bench.mount(&mut ws, "b", "out", Some(out)).unwrap();
    let asked = std::cell::RefCell::new(Vec::new());
    let keep = |at: &RepoPath, dir: bool| {
        asked
            .borrow_mut()
            .push(format!("{at}{}", if dir { "/" } else { "" }));
        let tmp = at.to_string().ends_with(".tmp") && at.to_string() != "keep.tmp";
        !tmp && at.to_string() != "skip"
    };
    ws.copy(&path("./src/in"), &path("out"), &keep).unwrap();
    assert_eq!(
        asked.into_inner(),
        ["a.tmp", "keep.tmp", "run", "skip/", "sub/", "sub/x.yaml"]
    );
    let head = made(&mut ws, "out");
    assert_eq!(
        bench.repo("b").show(head.as_str()),
        [
            "100644 keep.tmp=2",
            "100644 other=stays",
            "100755 run=3",
            "100644 sub/x.yaml=4",
            "100644 sub/z=stays"
        ]
    );
    bench
        .repo("b")
        .git(&["update-ref", "refs/heads/main", head.as_str()]);
    bench.repo("b").git(&["fsck", "--strict"]);
}

#[test]
fn a_whole_directory_is_its_tree_again() {
    let bench = Bench::new(&["a", "b"]);
    let mut ws = bench.with("a", &[("in/x", "1"), ("in/d/y", "2")]);
    bench
        .mount(
            &mut ws,
            "b",
            "out",
            Some(bench.repo("b").root(&[("f", "1")])),
        )
        .unwrap();
    ws.copy(&path("src/in"), &path("src/new/place"), &all)
        .unwrap();
    ws.copy(&path("src/in"), &path("out/place"), &all).unwrap();
    ws.copy(&path("src/in"), &path("loose"), &all).unwrap();
    let id = |ws: &mut Workspace, at: &str| match ws.resolve(&path(at), true).unwrap().found {
        Found::Node(node) => node.tree_id().unwrap(),
        other => panic!("{at}: {other:?}"),
    };
    let original = id(&mut ws, "src/in");
    for at in ["src/new/place", "out/place", "loose"] {
        assert_eq!(id(&mut ws, at), original, "{at}");
    }
    let mut ws = bench.reopened(ws);
    assert_eq!(
        ws.read(&path("out/place/d/y")).unwrap().unwrap().bytes,
        b"2",
        "the objects came along"
    );
    assert_eq!(ws.read(&path("loose/d/y")).unwrap().unwrap().bytes, b"2");
}

#[test]
fn single_files_keep_their_mode() {
    let bench = Bench::new(&["a"]);
    let mut ws = bench.with(
        "a",
        &[("*run", "1"), ("@l", "run"), ("f", "2"), ("d/x", "3")],
    );
    ws.copy(&path("src/run"), &path("src/deep/run2"), &all)
        .unwrap();
    ws.copy(&path("src/l"), &path("src/f"), &all).unwrap();
    let seen = files(&mut ws);
    assert_eq!(
        seen[0..3],
        [
            "100644 src/d/x=3",
            "100755 src/deep/run2=1",
            "100755 src/f=1"
        ],
        "a link given as source is followed"
    );
    assert!(matches!(
        ws.copy(&path("src/run"), &path("src/d"), &all),
        Err(WorkspaceError::IsDirectory { .. })
    ));
    assert!(matches!(
        ws.copy(&path("src/d"), &path("src/f"), &all),
        Err(WorkspaceError::NotDirectory { .. })
    ));
    assert!(
        matches!(ws.copy(&path("src/none"), &path("x"), &all), Err(WorkspaceError::NotFound { path }) if path == "src/none")
    );
}

#[test]
fn a_copy_into_itself_is_refused() {
    let bench = Bench::new(&["a"]);
    let mut ws = bench.with("a", &[("d/x", "1"), ("@into", "d/e")]);
    for (from, to) in [
        ("src/d", "src/d"),
        ("src/d", "src/d/e"),
        ("src/d", "src/into"),
        (".", "out"),
        ("src", "src/n"),
    ] {
        let refused = ws.copy(&path(from), &path(to), &all);
        assert!(
            matches!(refused, Err(WorkspaceError::IntoItself { .. })),
            "{from} to {to}: {refused:?}"
        );
    }
    ws.copy(&path("src/d"), &path("src"), &all).unwrap();
    assert_eq!(
        ws.read(&path("src/x")).unwrap().unwrap().bytes,
        b"1",
        "upwards is fine"
    );
}

#[test]
fn directories_with_checkouts_in_them_are_copied_too() {
    let bench = Bench::new(&["a", "b"]);
    let mut ws = bench.empty();
    bench
        .mount(
            &mut ws,
            "a",
            "all/one",
            Some(bench.repo("a").root(&[("f", "1"), ("@l", "f")])),
        )
        .unwrap();
    bench
        .mount(
            &mut ws,
            "b",
            "all/two",
            Some(bench.repo("b").root(&[("*g", "2")])),
        )
        .unwrap();
    ws.write(&path("all/loose"), b"3", None).unwrap();
    ws.copy(&path("all"), &path("copied"), &|at, _| {
        at.to_string() != "two/none"
    })
    .unwrap();
    let copied: Vec<_> = files(&mut ws)
        .into_iter()
        .filter(|line| line.contains(" copied"))
        .collect();
    assert_eq!(
        copied,
        [
            "100644 copied/loose=3",
            "100644 copied/one/f=1",
            "100755 copied/two/g=2"
        ]
    );
    ws.write(&path("new/one/f"), b"9", None).unwrap();
    ws.copy(&path("new"), &path("all"), &all).unwrap();
    assert_eq!(
        ws.read(&path("all/one/f")).unwrap().unwrap().bytes,
        b"9",
        "into a checkout that lies below"
    );
}

#[test]
fn links_in_the_target_are_followed_inside_and_refused_outside() {
    let bench = Bench::new(&["a"]);
    let mut ws = bench.with(
        "a",
        &[
            ("in/f", "new"),
            ("in/d/x", "new"),
            ("out/real", "old"),
            ("@out/f", "real"),
            ("@out/d", "../other"),
        ],
    );
    ws.copy(&path("src/in"), &path("src/out"), &all).unwrap();
    let seen = files(&mut ws);
    for line in [
        "100644 src/out/real=new",
        "120000 src/out/f=real",
        "100644 src/other/x=new",
        "120000 src/out/d=../other",
    ] {
        assert!(seen.contains(&line.to_owned()), "{line}: {seen:?}");
    }
    let bad = bench
        .repo("a")
        .root(&[("in/a", "1"), ("in/f", "1"), ("@out/f", "/tmp/x")]);
    bench.mount(&mut ws, "a", "bad", Some(bad)).unwrap();
    let before = files(&mut ws);
    let refused = ws
        .copy(&path("bad/in"), &path("bad/out"), &all)
        .unwrap_err();
    assert!(
        matches!(&refused, WorkspaceError::Link { link, .. } if link == "bad/out/f"),
        "{refused}"
    );
    assert_eq!(
        files(&mut ws),
        before,
        "nothing was copied, not even what came first"
    );
}

#[test]
fn modes_of_overwritten_files_are_the_sources() {
    let bench = Bench::new(&["a"]);
    let mut ws = bench.with("a", &[("*in/f", "1"), ("out/f", "1")]);
    ws.copy(&path("src/in"), &path("src/out"), &all).unwrap();
    assert_eq!(
        ws.read(&path("src/out/f")).unwrap().unwrap().mode,
        Mode::Executable
    );
}
