use super::{fixture::*, *};

#[test]
fn c25_an_edit_keeps_the_mode() {
    let bench = Bench::new(&["a"]);
    let mut ws = bench.with("a", &[("*run.yaml", "a: 1\n"), ("f.yaml", "b: 1\n")]);
    let base = ws.state().mounts[0].base.clone().unwrap();
    ws.write(&path("src/run.yaml"), b"a: 2\n", None).unwrap();
    ws.write(&path("./src/../src/f.yaml"), b"b: 2\n", None)
        .unwrap();
    let mut ws = bench.reopened(ws);
    let head = made(&mut ws, "src");
    assert_eq!(
        bench.repo("a").show(head.as_str()),
        ["100644 f.yaml=b: 2\n", "100755 run.yaml=a: 2\n"]
    );
    assert_eq!(
        bench
            .repo("a")
            .git(&["diff", "--summary", base.as_str(), head.as_str()]),
        ""
    );
    ws.write(&path("src/run.yaml"), b"a: 2\n", Some(Mode::File))
        .unwrap();
    assert_eq!(
        ws.read(&path("src/run.yaml")).unwrap().unwrap().mode,
        Mode::File,
        "asked for"
    );
}

#[test]
fn files_outside_checkouts_are_files_too() {
    let bench = Bench::new(&["a"]);
    let mut ws = bench.with("a", &[("f", "1")]);
    assert!(
        !bench.dir.path().join("scratch.git").exists(),
        "made only when needed"
    );
    ws.write(&path("values/x.yaml"), b"x", None).unwrap();
    let mut ws = bench.reopened(ws);
    assert_eq!(text(&mut ws, "values/x.yaml").as_deref(), Some("x"));
    let listed: Vec<_> = ws.list(&RepoPath::root()).unwrap().unwrap();
    let names: Vec<_> = listed.iter().map(|l| (l.name.as_str(), l.kind)).collect();
    assert_eq!(names, [("src", Kind::Dir), ("values", Kind::Dir)]);
    assert_eq!(files(&mut ws), ["100644 src/f=1", "100644 values/x.yaml=x"]);
    assert!(ws.remove(&path("values")).unwrap());
    assert!(!ws.remove(&path("values")).unwrap(), "gone already");
    assert_eq!(ws.kind(&path("values")).unwrap(), Kind::Absent);
}

#[test]
fn what_is_there_decides_what_can_be_done() {
    let bench = Bench::new(&["a"]);
    let mut ws = bench.with("a", &[("d/f", "1"), ("@l", "d/f")]);
    let table = [
        ("src", Kind::Dir),
        ("src/d", Kind::Dir),
        ("src/d/f", Kind::File),
        ("src/l", Kind::Link),
    ];
    for (at, kind) in table {
        assert_eq!(ws.kind(&path(at)).unwrap(), kind, "{at}");
    }
    for at in ["none", "src/none", "src/d/f/x"] {
        assert_eq!(ws.kind(&path(at)).unwrap(), Kind::Absent, "{at}");
        assert_eq!(ws.read(&path(at)).unwrap(), None, "{at}");
        assert_eq!(ws.list(&path(at)).unwrap(), None, "{at}");
    }
    let is_dir = |e: WorkspaceError, at: &str| {
        assert!(
            matches!(&e, WorkspaceError::IsDirectory { path } if path == at),
            "{e}"
        )
    };
    let is_file = |e: WorkspaceError, at: &str| {
        assert!(
            matches!(&e, WorkspaceError::NotDirectory { path } if path == at),
            "{e}"
        )
    };
    is_dir(ws.read(&path("src/d")).unwrap_err(), "src/d");
    is_dir(ws.write(&path("src/d"), b"", None).unwrap_err(), "src/d");
    is_dir(ws.write(&path("src"), b"", None).unwrap_err(), "src");
    is_dir(ws.write(&RepoPath::root(), b"", None).unwrap_err(), ".");
    is_file(ws.list(&path("src/d/f")).unwrap_err(), "src/d/f");
    is_file(
        ws.write(&path("src/d/f/x/y"), b"", None).unwrap_err(),
        "src/d/f",
    );
    assert!(matches!(
        commit(&mut ws, "src/d"),
        Err(WorkspaceError::NotCheckout { .. })
    ));
    assert!(matches!(
        ws.clear(&path("values")),
        Err(WorkspaceError::NotCheckout { .. })
    ));
}

#[test]
fn what_steps_read_and_write_is_recorded_from_the_branchs_root() {
    let bench = Bench::new(&["a"]);
    let run = |job: &dyn Fn(&mut Workspace)| {
        let mut ws = bench.with("a", &[("d/f", "1"), ("@l", "d/f"), ("e/g", "1")]);
        job(&mut ws);
        recorded(&ws)
    };
    let all = &|_: &RepoPath, _| true;
    type Job<'a> = &'a dyn Fn(&mut Workspace);
    let table: [(&str, Job<'_>, &[&str]); 11] = [
        (
            "a read",
            &|ws| drop(ws.read(&path("src/d/f")).unwrap()),
            &["r d/f"],
        ),
        (
            "a read of nothing",
            &|ws| drop(ws.read(&path("src/x")).unwrap()),
            &["r x"],
        ),
        (
            "a read through a link",
            &|ws| drop(ws.read(&path("src/l")).unwrap()),
            &["r d/f", "r l"],
        ),
        (
            "a look",
            &|ws| assert_eq!(ws.kind(&path("src/d")).unwrap(), Kind::Dir),
            &["l d"],
        ),
        (
            "a listing",
            &|ws| drop(ws.list(&path("src/d")).unwrap()),
            &["r d"],
        ),
        (
            "a walk",
            &|ws| drop(ws.walk(&path("src")).unwrap()),
            &["r ."],
        ),
        (
            "a write",
            &|ws| ws.write(&path("src/d/f"), b"1", None).unwrap(),
            &["w d/f"],
        ),
        (
            "a removal of a directory",
            &|ws| assert!(ws.remove(&path("src/d")).unwrap()),
            &["r d", "w d"],
        ),
        (
            "a clearing",
            &|ws| ws.clear(&path("src")).unwrap(),
            &["b ."],
        ),
        (
            "a copy inside",
            &|ws| ws.copy(&path("src/d"), &path("src/n/m"), all).unwrap(),
            &["r d", "b n/m"],
        ),
        (
            "a write, then a read of it",
            &|ws| {
                ws.write(&path("src/n"), b"1", None).unwrap();
                ws.read(&path("src/n")).unwrap();
            },
            &["w n"],
        ),
    ];
    for (why, job, expected) in table {
        assert_eq!(run(job), *expected, "{why}");
    }
}

#[test]
fn a_mirror_that_is_gone_can_be_had_again() {
    let bench = Bench::new(&["a"]);
    let ws = bench.with("a", &[("f", "1")]);
    let state = ws.into_state();
    let Err(gone) = Workspace::open(state.clone(), &Bench::new(&[])) else {
        panic!()
    };
    assert!(
        gone.is_absent() && gone.to_string().contains("example.com/a.git"),
        "{gone}"
    );
    std::fs::remove_dir_all(bench.repo("a").path()).unwrap();
    assert!(
        Workspace::open(state, &bench).is_err_and(|gone| gone.is_absent()),
        "the folder was removed"
    );
}

#[test]
fn the_change_is_that_of_all_checkouts_and_a_step_is_what_it_did() {
    let bench = Bench::new(&["a", "b"]);
    let limits = crate::git::diff::Limits::default();
    let mut ws = bench.with("a", &[("f", "1\n")]);
    let start = ws.state().clone();
    ws.write(&path("src/f"), b"2\n", None).unwrap();
    let middle = ws.state().clone();
    bench
        .mount(
            &mut ws,
            "b",
            "out",
            Some(bench.repo("b").root(&[("g", "1\n")])),
        )
        .unwrap();
    ws.write(&path("out/h"), b"1\n", None).unwrap();
    ws.write(&path("loose"), b"1\n", None).unwrap();
    let names = |changes: &crate::git::diff::FileChanges| -> Vec<String> {
        changes
            .files
            .iter()
            .map(|f| format!("{} +{} -{}", f.path, f.added, f.removed))
            .collect()
    };
    assert_eq!(
        names(&ws.change(limits).unwrap()),
        ["src/f +1 -1", "out/h +1 -0"]
    );
    let between = |a, b| names(&changes_between(a, b, &bench, limits).unwrap());
    assert_eq!(between(&start, &middle), ["src/f +1 -1"]);
    assert_eq!(between(&middle, ws.state()), ["out/h +1 -0", "loose +1 -0"]);
    assert_eq!(
        between(&middle, &WorkspaceState::default()),
        ["src/f +0 -1"]
    );
    let digest = ws.change(limits).unwrap().digest;
    made(&mut ws, "src");
    assert_eq!(
        ws.change(limits).unwrap().digest,
        digest,
        "a commit changes no file"
    );
}

#[test]
fn a_bottomless_tree_is_left_alone_below_what_a_path_can_name() {
    let bench = Bench::new(&["a"]);
    let repo = bench.repo("a");
    let mut tree = repo.tree(&[("f", "1")]);
    for _ in 0..2100 {
        let mut edits = Edits::new();
        edits.put(&path("d"), Some(Node::tree(&tree).unwrap()));
        tree = repo.objects.edit(&TreeId::empty(), &edits).unwrap();
    }
    let head = repo.commit(None, &tree, "deep", 1);
    let mut ws = bench.empty();
    bench.mount(&mut ws, "a", "src", Some(head)).unwrap();
    // As much stack as a thread of the pool has.
    let job = std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(move || {
            assert_eq!(ws.walk(&path("src")).unwrap(), []);
            ws.copy(&path("src"), &path("copy"), &|_, _| true).unwrap();
            ws.clear(&path("src")).unwrap();
            assert!(commit(&mut ws, "src").unwrap_err().is_absent());
        });
    job.unwrap().join().unwrap();
}
