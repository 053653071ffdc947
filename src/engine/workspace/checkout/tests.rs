use super::super::{fixture::*, *};
use crate::git::{objects::fixture::Repo, rebase::rebase};

#[test]
fn c40_a_commit_without_a_change_is_the_head() {
    let bench = Bench::new(&["a"]);
    let mut ws = bench.with("a", &[("v.yaml", "tag: 1\n")]);
    let base = ws.state().mounts[0].base.clone();
    ws.write(&path("src/v.yaml"), b"tag: 1\n", None).unwrap();
    assert_eq!(
        commit(&mut ws, "src").unwrap(),
        CommitOutcome::NothingToCommit(base)
    );
    assert!(ws.state().mounts[0].commits.is_empty());
    ws.write(&path("src/v.yaml"), b"tag: 2\n", None).unwrap();
    let head = made(&mut ws, "src");
    assert_eq!(
        commit(&mut ws, "./src/").unwrap(),
        CommitOutcome::NothingToCommit(Some(head))
    );
}

#[test]
fn commits_stack_and_git_accepts_them() {
    let bench = Bench::new(&["a"]);
    let mut ws = bench.with("a", &[("f", "1")]);
    let base = ws.state().mounts[0].base.clone().unwrap();
    ws.write(&path("src/f"), b"2", None).unwrap();
    let first = made(&mut ws, "src");
    ws.write(&path("src/d/g"), b"3", Some(Mode::Executable))
        .unwrap();
    let second = made(&mut ws, "src");
    assert_eq!(
        ws.state().mounts[0].commits,
        [first.clone(), second.clone()]
    );
    let repo = bench.repo("a");
    repo.git(&["update-ref", "refs/heads/main", second.as_str()]);
    repo.git(&["fsck", "--strict"]);
    assert_eq!(
        repo.git(&["rev-list", "main"]),
        format!("{second}\n{first}\n{base}\n")
    );
    let ids: Vec<_> = ws.state().pinned().into_iter().map(|pin| pin.id).collect();
    assert!(
        ids.contains(&second.to_string()) && ids.contains(&base.to_string()),
        "{ids:?}"
    );
}

#[test]
fn a_branch_that_does_not_exist_starts_empty() {
    let bench = Bench::new(&["a"]);
    let mut ws = bench.empty();
    bench.mount(&mut ws, "a", "out", None).unwrap();
    assert_eq!(ws.kind(&path("out")).unwrap(), Kind::Dir);
    assert_eq!(ws.list(&path("out")).unwrap(), Some(vec![]));
    assert_eq!(
        commit(&mut ws, "out").unwrap(),
        CommitOutcome::NothingToCommit(None)
    );
    ws.write(&path("out/f"), b"1", None).unwrap();
    let head = made(&mut ws, "out");
    assert_eq!(
        bench
            .repo("a")
            .git(&["rev-list", "--parents", head.as_str()])
            .trim(),
        head.as_str(),
        "no parent"
    );
    bench
        .repo("a")
        .git(&["update-ref", "refs/heads/main", head.as_str()]);
    bench.repo("a").git(&["fsck", "--strict"]);
}

#[test]
fn checkouts_do_not_overlap() {
    let bench = Bench::new(&["a", "b"]);
    let mut ws = bench.with("a", &[("f", "1")]);
    ws.write(&path("loose/x"), b"1", None).unwrap();
    for at in ["src", "src/inner", ".", "loose", "loose/x", "loose/x/y"] {
        let refused = bench.mount(&mut ws, "b", at, None).unwrap_err();
        assert!(
            matches!(refused, WorkspaceError::Occupied { .. }),
            "{at}: {refused}"
        );
    }
    bench.mount(&mut ws, "b", "loose/y", None).unwrap();
    bench.mount(&mut ws, "a", "deep/er/z", None).unwrap();
    assert_eq!(ws.kind(&path("deep/er")).unwrap(), Kind::Dir);
    assert!(ws.write(&path("deep/er"), b"", None).is_err());
    let names: Vec<_> = ws
        .list(&path("loose"))
        .unwrap()
        .unwrap()
        .into_iter()
        .map(|l| l.name)
        .collect();
    assert_eq!(names, ["x", "y"]);
    assert!(
        ws.remove(&path("deep")).unwrap(),
        "removing a directory forgets the checkouts in it"
    );
    assert_eq!(ws.state().mounts.len(), 2);
    assert_eq!(ws.kind(&path("deep")).unwrap(), Kind::Absent);
    assert!(ws.remove(&RepoPath::root()).unwrap());
    assert_eq!(ws.state(), &WorkspaceState::default());
}

fn onto(
    repo: &Repo,
    ws: &Workspace,
    tip: &crate::git::id::CommitId,
) -> crate::git::rebase::Rebased {
    let mount = &ws.state().mounts[0];
    rebase(
        &repo.objects,
        &mount.commits,
        mount.base.as_ref(),
        &mount.access,
        Some(tip),
    )
    .unwrap()
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
    let tip = repo.commit(
        base.as_ref(),
        &repo.tree(&[("old", "1"), ("same", "1"), ("theirs", "1")]),
        "t",
        1,
    );
    let Rebased::Onto(made) = onto(repo, &ws, &tip) else {
        panic!()
    };
    assert_eq!(
        repo.show(made[0].as_str()),
        ["100644 new=1", "100644 same=1", "100644 theirs=1"]
    );
    let edited = repo.commit(
        base.as_ref(),
        &repo.tree(&[("old", "1"), ("same", "9")]),
        "t",
        1,
    );
    assert_eq!(
        onto(repo, &ws, &edited),
        Rebased::Stale {
            paths: vec!["same".into()]
        }
    );
    let edited = repo.commit(
        base.as_ref(),
        &repo.tree(&[("old", "9"), ("same", "1")]),
        "t",
        1,
    );
    assert_eq!(
        onto(repo, &ws, &edited),
        Rebased::Stale {
            paths: vec!["old".into()]
        }
    );
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
    let landed = repo.commit(
        base.as_ref(),
        &repo.tree(&[("f", "2"), ("g", "theirs")]),
        "landed",
        1,
    );
    ws.landed(&path("src"), &landed).unwrap();
    assert_eq!(
        files(&mut ws),
        [
            "100644 src/f=2",
            "100644 src/g=theirs",
            "100644 src/later=3"
        ]
    );
    let mount = &ws.state().mounts[0];
    assert_eq!(
        (mount.base.as_ref(), mount.commits.len()),
        (Some(&landed), 0)
    );
    made(&mut ws, "src");
    let other = repo.commit(Some(&landed), &repo.tree(&[("later", "9")]), "other", 1);
    let mut ws = bench.reopened(ws);
    ws.landed(&path("src"), &other).unwrap();
    assert_eq!(
        ws.state().mounts[0].access,
        Access::new(),
        "all was committed"
    );
    ws.write(&path("src/later"), b"x", None).unwrap();
    let clash = ws.landed(&path("src"), &landed).unwrap_err();
    assert!(
        matches!(&clash, WorkspaceError::Unfit { paths, .. } if paths == &["later"]),
        "{clash}"
    );
}

#[test]
fn many_writes_are_journalled_as_few_and_still_checked() {
    use crate::git::rebase::Rebased;
    let bench = Bench::new(&["a"]);
    let repo = bench.repo("a");
    let names: Vec<RepoPath> = (0..300)
        .map(|n| path(&format!("src/apps/a{n}/v.yaml")))
        .collect();
    let one_by_one = |ws: &mut Workspace| {
        names
            .iter()
            .for_each(|at| ws.write(at, b"1", None).unwrap())
    };
    let at_once = |ws: &mut Workspace| {
        ws.write_all(names.iter().map(|at| (at, &b"1"[..], None)))
            .unwrap()
    };
    let jobs: [&dyn Fn(&mut Workspace); 2] = [&one_by_one, &at_once];
    let mut trees = Vec::new();
    for job in jobs {
        let mut ws = bench.with("a", &[("f", "1"), ("apps/a7/v.yaml", "1")]);
        job(&mut ws);
        assert!(serde_json::to_string(ws.state()).unwrap().len() < 8_000);
        let mut ws = bench.reopened(ws);
        made(&mut ws, "src");
        let base = ws.state().mounts[0].base.clone();
        let tip = |files: crate::git::objects::fixture::Files<'_>| {
            repo.commit(base.as_ref(), &repo.tree(files), "t", 1)
        };
        let elsewhere = tip(&[
            ("f", "2"),
            ("apps/a7/v.yaml", "1"),
            ("apps/other/v.yaml", "1"),
        ]);
        assert!(matches!(onto(repo, &ws, &elsewhere), Rebased::Onto(_)));
        for theirs in ["apps/a7/v.yaml", "apps/a299/v.yaml"] {
            let here = tip(&[("f", "1"), ("apps/a7/v.yaml", "1"), (theirs, "9")]);
            assert_eq!(
                onto(repo, &ws, &here),
                Rebased::Stale {
                    paths: vec![theirs.to_owned()]
                }
            );
        }
        trees.push(ws.state().mounts[0].tree.clone());
    }
    assert_eq!(trees[0], trees[1]);
}
