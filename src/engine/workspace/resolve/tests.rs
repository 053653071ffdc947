use super::super::{fixture::*, *};

#[test]
fn links_are_followed_inside_the_workspace() {
    let bench = Bench::new(&["a", "b"]);
    let mut ws = bench.with(
        "a",
        &[
            ("d/f", "1"),
            ("@l", "d/f"),
            ("@dir", "./d"),
            ("@up/x", "../d/f"),
            ("@other", "../out/g"),
            ("@new", "d/made"),
        ],
    );
    bench
        .mount(
            &mut ws,
            "b",
            "out",
            Some(bench.repo("b").root(&[("g", "theirs")])),
        )
        .unwrap();
    for at in ["src/l", "src/dir/f", "src/up/x"] {
        assert_eq!(text(&mut ws, at).as_deref(), Some("1"), "{at}");
    }
    assert_eq!(
        text(&mut ws, "src/other").as_deref(),
        Some("theirs"),
        "across checkouts"
    );
    ws.write(&path("src/l"), b"2", None).unwrap();
    ws.write(&path("src/dir/n"), b"3", None).unwrap();
    ws.write(&path("src/other"), b"ours", None).unwrap();
    ws.write(&path("src/new"), b"4", None).unwrap();
    assert_eq!(ws.list(&path("src/dir")).unwrap().unwrap().len(), 3);
    assert!(
        ws.remove(&path("src/up/x")).unwrap(),
        "the link, not its target"
    );
    let all = files(&mut ws);
    for line in [
        "100644 src/d/f=2",
        "100644 src/d/n=3",
        "100644 out/g=ours",
        "100644 src/d/made=4",
        "120000 src/l=d/f",
    ] {
        assert!(all.contains(&line.to_owned()), "{line}: {all:?}");
    }
    ws.write(&path("src/l"), b"d/n", Some(Mode::Link)).unwrap();
    assert_eq!(
        text(&mut ws, "src/l").as_deref(),
        Some("3"),
        "a link is replaced by a link"
    );
}

#[test]
fn c65_links_that_lead_out_are_refused_and_outside_stays_as_it_was() {
    let bench = Bench::new(&["a"]);
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("outside.yaml");
    std::fs::write(&file, "a: 1\n").unwrap();
    let before = std::fs::metadata(&file).unwrap().modified().unwrap();
    let (to_file, to_dir) = (
        file.display().to_string(),
        outside.path().display().to_string(),
    );
    let mut ws = bench.with(
        "a",
        &[
            ("@values.yaml", &to_file),
            ("@dir", &to_dir),
            ("@up", "../../x"),
            ("@git", "../.git/config"),
            ("@ladder/a", "../../../etc/passwd"),
            ("@loop", "loop"),
            ("@ping", "pong"),
            ("@pong", "ping"),
            ("ok", "1"),
        ],
    );
    let state = ws.state().mounts[0].tree.clone();
    for (at, target) in [
        ("values.yaml", to_file.as_str()),
        ("dir/outside.yaml", &to_dir),
        ("dir/x", &to_dir),
        ("up", "../../x"),
        ("git", "../.git/config"),
        ("ladder/a", "../../../etc/passwd"),
    ] {
        let at = path("src").join(&path(at));
        for refused in [
            ws.read(&at).unwrap_err(),
            ws.write(&at, b"a: 2\n", None).unwrap_err(),
            ws.copy(&path("src/ok"), &at, &|_, _| true).unwrap_err(),
            ws.walk(&at).unwrap_err(),
        ] {
            let WorkspaceError::Link {
                link, target: seen, ..
            } = &refused
            else {
                panic!("{at}: {refused}")
            };
            assert!(
                at.below(&path(link)).is_some() && seen == target,
                "{refused}"
            );
        }
    }
    for at in ["src/loop", "src/ping", "src/loop/x"] {
        assert!(
            matches!(ws.read(&path(at)), Err(WorkspaceError::LinkLoop { .. })),
            "{at}"
        );
    }
    assert_eq!(ws.state().mounts[0].tree, state, "nothing was written");
    ws.clear(&path("src")).unwrap();
    made(&mut ws, "src");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "a: 1\n");
    assert_eq!(
        std::fs::metadata(&file).unwrap().modified().unwrap(),
        before
    );
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[test]
fn submodules_are_kept_and_have_no_files() {
    let bench = Bench::new(&["a"]);
    let repo = bench.repo("a");
    let sub = repo.root(&[]);
    let tree = repo.tree(&[("f", "1")]);
    repo.git(&["read-tree", tree.as_str()]);
    repo.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{sub},sub"),
    ]);
    let tree: TreeId = repo.git(&["write-tree"]).trim().parse().unwrap();
    let mut ws = bench.empty();
    bench
        .mount(&mut ws, "a", "src", Some(repo.commit(None, &tree, "m", 1)))
        .unwrap();
    assert_eq!(ws.kind(&path("src/sub")).unwrap(), Kind::Dir);
    assert_eq!(ws.list(&path("src/sub")).unwrap(), Some(vec![]));
    assert!(
        matches!(ws.write(&path("src/sub/x"), b"", None), Err(WorkspaceError::Submodule { path }) if path == "src/sub")
    );
    ws.write(&path("src/f"), b"2", None).unwrap();
    let head = made(&mut ws, "src");
    assert_eq!(
        repo.show(head.as_str()),
        ["100644 f=2".to_owned(), format!("160000 sub={sub}")]
    );
}
