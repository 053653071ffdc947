use super::{fixture::*, *};
use crate::git::{objects::fixture::Repo, rebase::rebase};

fn text(workspace: &mut Workspace, at: &str) -> Option<String> {
    workspace.read(&path(at)).unwrap().map(|file| String::from_utf8(file.bytes).unwrap())
}

#[test]
fn c25_an_edit_keeps_the_mode() {
    let bench = Bench::new(&["a"]);
    let mut ws = bench.with("a", &[("*run.yaml", "a: 1\n"), ("f.yaml", "b: 1\n")]);
    let base = ws.state().mounts[0].base.clone().unwrap();
    ws.write(&path("src/run.yaml"), b"a: 2\n", None).unwrap();
    ws.write(&path("./src/../src/f.yaml"), b"b: 2\n", None).unwrap();
    let mut ws = bench.reopened(ws);
    let head = made(&mut ws, "src");
    assert_eq!(bench.repo("a").show(head.as_str()), ["100644 f.yaml=b: 2\n", "100755 run.yaml=a: 2\n"]);
    assert_eq!(bench.repo("a").git(&["diff", "--summary", base.as_str(), head.as_str()]), "");
    ws.write(&path("src/run.yaml"), b"a: 2\n", Some(Mode::File)).unwrap();
    assert_eq!(ws.read(&path("src/run.yaml")).unwrap().unwrap().mode, Mode::File, "asked for");
}

#[test]
fn c40_a_commit_without_a_change_is_the_head() {
    let bench = Bench::new(&["a"]);
    let mut ws = bench.with("a", &[("v.yaml", "tag: 1\n")]);
    let base = ws.state().mounts[0].base.clone();
    ws.write(&path("src/v.yaml"), b"tag: 1\n", None).unwrap();
    assert_eq!(commit(&mut ws, "src").unwrap(), CommitOutcome::NothingToCommit(base));
    assert!(ws.state().mounts[0].commits.is_empty());
    ws.write(&path("src/v.yaml"), b"tag: 2\n", None).unwrap();
    let head = made(&mut ws, "src");
    assert_eq!(commit(&mut ws, "./src/").unwrap(), CommitOutcome::NothingToCommit(Some(head)));
}

#[test]
fn commits_stack_and_git_accepts_them() {
    let bench = Bench::new(&["a"]);
    let mut ws = bench.with("a", &[("f", "1")]);
    let base = ws.state().mounts[0].base.clone().unwrap();
    ws.write(&path("src/f"), b"2", None).unwrap();
    let first = made(&mut ws, "src");
    ws.write(&path("src/d/g"), b"3", Some(Mode::Executable)).unwrap();
    let second = made(&mut ws, "src");
    assert_eq!(ws.state().mounts[0].commits, [first.clone(), second.clone()]);
    let repo = bench.repo("a");
    repo.git(&["update-ref", "refs/heads/main", second.as_str()]);
    repo.git(&["fsck", "--strict"]);
    assert_eq!(repo.git(&["rev-list", "main"]), format!("{second}\n{first}\n{base}\n"));
    let ids: Vec<_> = ws.state().pinned().into_iter().map(|pin| pin.id).collect();
    assert!(ids.contains(&second.to_string()) && ids.contains(&base.to_string()), "{ids:?}");
}

#[test]
fn a_branch_that_does_not_exist_starts_empty() {
    let bench = Bench::new(&["a"]);
    let mut ws = bench.empty();
    bench.mount(&mut ws, "a", "out", None).unwrap();
    assert_eq!(ws.kind(&path("out")).unwrap(), Kind::Dir);
    assert_eq!(ws.list(&path("out")).unwrap(), Some(vec![]));
    assert_eq!(commit(&mut ws, "out").unwrap(), CommitOutcome::NothingToCommit(None));
    ws.write(&path("out/f"), b"1", None).unwrap();
    let head = made(&mut ws, "out");
    assert_eq!(bench.repo("a").git(&["rev-list", "--parents", head.as_str()]).trim(), head.as_str(), "no parent");
    bench.repo("a").git(&["update-ref", "refs/heads/main", head.as_str()]);
    bench.repo("a").git(&["fsck", "--strict"]);
}

#[test]
fn files_outside_checkouts_are_files_too() {
    let bench = Bench::new(&["a"]);
    let mut ws = bench.with("a", &[("f", "1")]);
    assert!(!bench.dir.path().join("scratch.git").exists(), "made only when needed");
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
    let table = [("src", Kind::Dir), ("src/d", Kind::Dir), ("src/d/f", Kind::File), ("src/l", Kind::Link)];
    for (at, kind) in table {
        assert_eq!(ws.kind(&path(at)).unwrap(), kind, "{at}");
    }
    for at in ["none", "src/none", "src/d/f/x"] {
        assert_eq!(ws.kind(&path(at)).unwrap(), Kind::Absent, "{at}");
        assert_eq!(ws.read(&path(at)).unwrap(), None, "{at}");
        assert_eq!(ws.list(&path(at)).unwrap(), None, "{at}");
    }
    let is_dir = |e: WorkspaceError, at: &str| assert!(matches!(&e, WorkspaceError::IsDirectory { path } if path == at), "{e}");
    let is_file = |e: WorkspaceError, at: &str| assert!(matches!(&e, WorkspaceError::NotDirectory { path } if path == at), "{e}");
    is_dir(ws.read(&path("src/d")).unwrap_err(), "src/d");
    is_dir(ws.write(&path("src/d"), b"", None).unwrap_err(), "src/d");
    is_dir(ws.write(&path("src"), b"", None).unwrap_err(), "src");
    is_dir(ws.write(&RepoPath::root(), b"", None).unwrap_err(), ".");
    is_file(ws.list(&path("src/d/f")).unwrap_err(), "src/d/f");
    is_file(ws.write(&path("src/d/f/x/y"), b"", None).unwrap_err(), "src/d/f");
    assert!(matches!(commit(&mut ws, "src/d"), Err(WorkspaceError::NotCheckout { .. })));
    assert!(matches!(ws.clear(&path("values")), Err(WorkspaceError::NotCheckout { .. })));
}

#[test]
fn checkouts_do_not_overlap() {
    let bench = Bench::new(&["a", "b"]);
    let mut ws = bench.with("a", &[("f", "1")]);
    ws.write(&path("loose/x"), b"1", None).unwrap();
    for at in ["src", "src/inner", ".", "loose", "loose/x", "loose/x/y"] {
        let refused = bench.mount(&mut ws, "b", at, None).unwrap_err();
        assert!(matches!(refused, WorkspaceError::Occupied { .. }), "{at}: {refused}");
    }
    bench.mount(&mut ws, "b", "loose/y", None).unwrap();
    bench.mount(&mut ws, "a", "deep/er/z", None).unwrap();
    assert_eq!(ws.kind(&path("deep/er")).unwrap(), Kind::Dir);
    assert!(ws.write(&path("deep/er"), b"", None).is_err());
    let names: Vec<_> = ws.list(&path("loose")).unwrap().unwrap().into_iter().map(|l| l.name).collect();
    assert_eq!(names, ["x", "y"]);
    assert!(ws.remove(&path("deep")).unwrap(), "removing a directory forgets the checkouts in it");
    assert_eq!(ws.state().mounts.len(), 2);
    assert_eq!(ws.kind(&path("deep")).unwrap(), Kind::Absent);
    assert!(ws.remove(&RepoPath::root()).unwrap());
    assert_eq!(ws.state(), &WorkspaceState::default());
}

#[test]
fn links_are_followed_inside_the_workspace() {
    let bench = Bench::new(&["a", "b"]);
    let mut ws = bench.with(
        "a",
        &[("d/f", "1"), ("@l", "d/f"), ("@dir", "./d"), ("@up/x", "../d/f"), ("@other", "../out/g"), ("@new", "d/made")],
    );
    bench.mount(&mut ws, "b", "out", Some(bench.repo("b").root(&[("g", "theirs")]))).unwrap();
    for at in ["src/l", "src/dir/f", "src/up/x"] {
        assert_eq!(text(&mut ws, at).as_deref(), Some("1"), "{at}");
    }
    assert_eq!(text(&mut ws, "src/other").as_deref(), Some("theirs"), "across checkouts");
    ws.write(&path("src/l"), b"2", None).unwrap();
    ws.write(&path("src/dir/n"), b"3", None).unwrap();
    ws.write(&path("src/other"), b"ours", None).unwrap();
    ws.write(&path("src/new"), b"4", None).unwrap();
    assert_eq!(ws.list(&path("src/dir")).unwrap().unwrap().len(), 3);
    assert!(ws.remove(&path("src/up/x")).unwrap(), "the link, not its target");
    let all = files(&mut ws);
    for line in ["100644 src/d/f=2", "100644 src/d/n=3", "100644 out/g=ours", "100644 src/d/made=4", "120000 src/l=d/f"] {
        assert!(all.contains(&line.to_owned()), "{line}: {all:?}");
    }
    ws.write(&path("src/l"), b"d/n", Some(Mode::Link)).unwrap();
    assert_eq!(text(&mut ws, "src/l").as_deref(), Some("3"), "a link is replaced by a link");
}

#[test]
fn c65_links_that_lead_out_are_refused_and_outside_stays_as_it_was() {
    let bench = Bench::new(&["a"]);
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("outside.yaml");
    std::fs::write(&file, "a: 1\n").unwrap();
    let before = std::fs::metadata(&file).unwrap().modified().unwrap();
    let (to_file, to_dir) = (file.display().to_string(), outside.path().display().to_string());
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
            let WorkspaceError::Link { link, target: seen, .. } = &refused else { panic!("{at}: {refused}") };
            assert!(at.below(&path(link)).is_some() && seen == target, "{refused}");
        }
    }
    for at in ["src/loop", "src/ping", "src/loop/x"] {
        assert!(matches!(ws.read(&path(at)), Err(WorkspaceError::LinkLoop { .. })), "{at}");
    }
    assert_eq!(ws.state().mounts[0].tree, state, "nothing was written");
    ws.clear(&path("src")).unwrap();
    made(&mut ws, "src");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "a: 1\n");
    assert_eq!(std::fs::metadata(&file).unwrap().modified().unwrap(), before);
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[test]
fn submodules_are_kept_and_have_no_files() {
    let bench = Bench::new(&["a"]);
    let repo = bench.repo("a");
    let sub = repo.root(&[]);
    let tree = repo.tree(&[("f", "1")]);
    repo.git(&["read-tree", tree.as_str()]);
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{sub},sub")]);
    let tree: TreeId = repo.git(&["write-tree"]).trim().parse().unwrap();
    let mut ws = bench.empty();
    bench.mount(&mut ws, "a", "src", Some(repo.commit(None, &tree, "m", 1))).unwrap();
    assert_eq!(ws.kind(&path("src/sub")).unwrap(), Kind::Dir);
    assert_eq!(ws.list(&path("src/sub")).unwrap(), Some(vec![]));
    assert!(matches!(ws.write(&path("src/sub/x"), b"", None), Err(WorkspaceError::Submodule { path }) if path == "src/sub"));
    ws.write(&path("src/f"), b"2", None).unwrap();
    let head = made(&mut ws, "src");
    assert_eq!(repo.show(head.as_str()), ["100644 f=2".to_owned(), format!("160000 sub={sub}")]);
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
        ("a read", &|ws| drop(ws.read(&path("src/d/f")).unwrap()), &["r d/f"]),
        ("a read of nothing", &|ws| drop(ws.read(&path("src/x")).unwrap()), &["r x"]),
        ("a read through a link", &|ws| drop(ws.read(&path("src/l")).unwrap()), &["r d/f", "r l"]),
        ("a look", &|ws| assert_eq!(ws.kind(&path("src/d")).unwrap(), Kind::Dir), &["l d"]),
        ("a listing", &|ws| drop(ws.list(&path("src/d")).unwrap()), &["r d"]),
        ("a walk", &|ws| drop(ws.walk(&path("src")).unwrap()), &["r ."]),
        ("a write", &|ws| ws.write(&path("src/d/f"), b"1", None).unwrap(), &["w d/f"]),
        ("a removal of a directory", &|ws| assert!(ws.remove(&path("src/d")).unwrap()), &["r d", "w d"]),
        ("a clearing", &|ws| ws.clear(&path("src")).unwrap(), &["b ."]),
        ("a copy inside", &|ws| ws.copy(&path("src/d"), &path("src/n/m"), all).unwrap(), &["r d", "b n/m"]),
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

fn onto(repo: &Repo, ws: &Workspace, tip: &crate::git::id::CommitId) -> crate::git::rebase::Rebased {
    let mount = &ws.state().mounts[0];
    rebase(&repo.objects, &mount.commits, mount.base.as_ref(), &mount.access, Some(tip)).unwrap()
}

#[test]
fn clearing_and_rendering_again_keeps_what_others_added() {
    use crate::git::rebase::Rebased;
    let bench = Bench::new(&["a"]);
    let mut ws = bench.with("a", &[("old", "1"), ("same", "1")]);
    ws.clear(&path("src")).unwrap();
    ws.write(&path("src/same"), b"1", None).unwrap();
    ws.write(&path("src/new"), b"1", None).unwrap();
    made(&mut ws, "src");
    let repo = bench.repo("a");
    let base = ws.state().mounts[0].base.clone();
    let tip = repo.commit(base.as_ref(), &repo.tree(&[("old", "1"), ("same", "1"), ("theirs", "1")]), "t", 1);
    let Rebased::Onto(made) = onto(repo, &ws, &tip) else { panic!() };
    assert_eq!(repo.show(made[0].as_str()), ["100644 new=1", "100644 same=1", "100644 theirs=1"]);
    let edited = repo.commit(base.as_ref(), &repo.tree(&[("old", "1"), ("same", "9")]), "t", 1);
    assert_eq!(onto(repo, &ws, &edited), Rebased::Stale { paths: vec!["same".into()] });
    let edited = repo.commit(base.as_ref(), &repo.tree(&[("old", "9"), ("same", "1")]), "t", 1);
    assert_eq!(onto(repo, &ws, &edited), Rebased::Stale { paths: vec!["old".into()] });
}

#[test]
fn after_landing_the_checkout_goes_on_from_the_landed_commit() {
    let bench = Bench::new(&["a"]);
    let repo = bench.repo("a");
    let mut ws = bench.with("a", &[("f", "1"), ("g", "1")]);
    ws.write(&path("src/f"), b"2", None).unwrap();
    made(&mut ws, "src");
    ws.write(&path("src/later"), b"3", None).unwrap();
    let base = ws.state().mounts[0].base.clone();
    let landed = repo.commit(base.as_ref(), &repo.tree(&[("f", "2"), ("g", "theirs")]), "landed", 1);
    ws.landed(&path("src"), &landed).unwrap();
    assert_eq!(files(&mut ws), ["100644 src/f=2", "100644 src/g=theirs", "100644 src/later=3"]);
    let mount = &ws.state().mounts[0];
    assert_eq!((mount.base.as_ref(), mount.commits.len()), (Some(&landed), 0));
    made(&mut ws, "src");
    let other = repo.commit(Some(&landed), &repo.tree(&[("later", "9")]), "other", 1);
    let mut ws = bench.reopened(ws);
    ws.landed(&path("src"), &other).unwrap();
    assert_eq!(ws.state().mounts[0].access, Access::new(), "all was committed");
    ws.write(&path("src/later"), b"x", None).unwrap();
    let clash = ws.landed(&path("src"), &landed).unwrap_err();
    assert!(matches!(&clash, WorkspaceError::Unfit { paths, .. } if paths == &["later"]), "{clash}");
}

#[test]
fn a_mirror_that_is_gone_can_be_had_again() {
    let bench = Bench::new(&["a"]);
    let ws = bench.with("a", &[("f", "1")]);
    let state = ws.into_state();
    let Err(gone) = Workspace::open(state.clone(), &Bench::new(&[])) else { panic!() };
    assert!(gone.is_absent() && gone.to_string().contains("example.com/a.git"), "{gone}");
    std::fs::remove_dir_all(bench.repo("a").path()).unwrap();
    assert!(Workspace::open(state, &bench).is_err_and(|gone| gone.is_absent()), "the folder was removed");
}

#[test]
fn the_change_is_that_of_all_checkouts_and_a_step_is_what_it_did() {
    let bench = Bench::new(&["a", "b"]);
    let limits = crate::git::diff::Limits::default();
    let mut ws = bench.with("a", &[("f", "1\n")]);
    let start = ws.state().clone();
    ws.write(&path("src/f"), b"2\n", None).unwrap();
    let middle = ws.state().clone();
    bench.mount(&mut ws, "b", "out", Some(bench.repo("b").root(&[("g", "1\n")]))).unwrap();
    ws.write(&path("out/h"), b"1\n", None).unwrap();
    ws.write(&path("loose"), b"1\n", None).unwrap();
    let names = |changes: &crate::git::diff::FileChanges| -> Vec<String> {
        changes.files.iter().map(|f| format!("{} +{} -{}", f.path, f.added, f.removed)).collect()
    };
    assert_eq!(names(&ws.change(limits).unwrap()), ["src/f +1 -1", "out/h +1 -0"]);
    let between = |a, b| names(&changes_between(a, b, &bench, limits).unwrap());
    assert_eq!(between(&start, &middle), ["src/f +1 -1"]);
    assert_eq!(between(&middle, ws.state()), ["out/h +1 -0", "loose +1 -0"]);
    assert_eq!(between(&middle, &WorkspaceState::default()), ["src/f +0 -1"]);
    let digest = ws.change(limits).unwrap().digest;
    made(&mut ws, "src");
    assert_eq!(ws.change(limits).unwrap().digest, digest, "a commit changes no file");
}

#[test]
fn many_writes_are_journalled_as_few_and_still_checked() {
    use crate::git::rebase::Rebased;
    let bench = Bench::new(&["a"]);
    let repo = bench.repo("a");
    let names: Vec<RepoPath> = (0..300).map(|n| path(&format!("src/apps/a{n}/v.yaml"))).collect();
    let one_by_one = |ws: &mut Workspace| names.iter().for_each(|at| ws.write(at, b"1", None).unwrap());
    let at_once = |ws: &mut Workspace| ws.write_all(names.iter().map(|at| (at, &b"1"[..], None))).unwrap();
    let jobs: [&dyn Fn(&mut Workspace); 2] = [&one_by_one, &at_once];
    let mut trees = Vec::new();
    for job in jobs {
        let mut ws = bench.with("a", &[("f", "1"), ("apps/a7/v.yaml", "1")]);
        job(&mut ws);
        assert!(serde_json::to_string(ws.state()).unwrap().len() < 8_000);
        let mut ws = bench.reopened(ws);
        made(&mut ws, "src");
        let base = ws.state().mounts[0].base.clone();
        let tip = |files: crate::git::objects::fixture::Files<'_>| repo.commit(base.as_ref(), &repo.tree(files), "t", 1);
        let elsewhere = tip(&[("f", "2"), ("apps/a7/v.yaml", "1"), ("apps/other/v.yaml", "1")]);
        assert!(matches!(onto(repo, &ws, &elsewhere), Rebased::Onto(_)));
        for theirs in ["apps/a7/v.yaml", "apps/a299/v.yaml"] {
            let here = tip(&[("f", "1"), ("apps/a7/v.yaml", "1"), (theirs, "9")]);
            assert_eq!(onto(repo, &ws, &here), Rebased::Stale { paths: vec![theirs.to_owned()] });
        }
        trees.push(ws.state().mounts[0].tree.clone());
    }
    assert_eq!(trees[0], trees[1]);
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
    let job = std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
        assert_eq!(ws.walk(&path("src")).unwrap(), []);
        ws.copy(&path("src"), &path("copy"), &|_, _| true).unwrap();
        ws.clear(&path("src")).unwrap();
        assert!(commit(&mut ws, "src").unwrap_err().is_absent());
    });
    job.unwrap().join().unwrap();
}
