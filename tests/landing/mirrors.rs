//! Mirrors of real repositories: joined fetches, missing branches, damage, other kinds.

use std::{fs, sync::Arc};

use futures::future::join_all;
use tidewaiter::git::{
    credentials::Credential,
    mirror::{FetchError, MirrorError, Mirrors, RemoteTip},
    transport::Trouble,
};

use crate::support::*;

#[tokio::test(flavor = "multi_thread")]
async fn fifty_wishes_are_one_or_two_fetches() {
    let world = World::new();
    world.outside("env/a", "x", "x", None);
    let mirror = world.mirror().await;
    let wishes = (0..50).map(|n| {
        let (mirror, name) = (&mirror, if n % 2 == 0 { "main" } else { "env/a" });
        async move { (name, mirror.fetch(&[branch(name)]).await.unwrap()) }
    });
    for (name, tips) in join_all(wishes).await {
        assert_eq!(
            tips.get(&branch(name)).commit(),
            world.remote_tip(name).as_ref()
        );
    }
    // A second round may bring both a known branch and a new one: two commands.
    assert!(world.counts().fetches <= 3, "{:?}", world.counts());
}

#[tokio::test]
async fn an_answer_is_of_a_moment_after_the_question() {
    let world = World::new();
    let mirror = world.mirror().await;
    for n in 0..5 {
        let now = world.outside("main", "x", &n.to_string(), None);
        assert_eq!(
            mirror
                .fetch(&[branch("main")])
                .await
                .unwrap()
                .get(&branch("main")),
            RemoteTip::At(now.clone())
        );
        assert_eq!(mirror.tip(&branch("main")), Some(RemoteTip::At(now)));
    }
    // The first fetch was shallow, the later ones brought just the commits since.
    let commits = run_git(
        world.dir.path(),
        mirror.path(),
        &["rev-list", "--count", "refs/remotes/r/main"],
    );
    assert_eq!(commits.trim(), "5");
    assert_eq!(
        fs::read_to_string(mirror.path().join("shallow"))
            .unwrap()
            .lines()
            .count(),
        1
    );
}

#[tokio::test]
async fn a_missing_branch_does_not_fail_the_others() {
    let world = World::new();
    let mirror = world.mirror().await;
    let wished = ["main", "nope", "nip"].map(branch);
    for _ in 0..2 {
        let tips = mirror.fetch(&wished).await.unwrap();
        assert_eq!(
            tips.get(&branch("main")).commit(),
            world.remote_tip("main").as_ref()
        );
        assert_eq!(
            (tips.get(&branch("nope")), tips.get(&branch("nip"))),
            (RemoteTip::Absent, RemoteTip::Absent)
        );
    }
    let there = world.outside("nope", "x", "x", None);
    assert_eq!(
        mirror.fetch(&wished).await.unwrap().get(&branch("nope")),
        RemoteTip::At(there)
    );
    world.run(&["branch", "-D", "nope"]);
    assert_eq!(
        mirror.fetch(&wished).await.unwrap().get(&branch("nope")),
        RemoteTip::Absent
    );
}

#[tokio::test]
async fn a_branch_that_became_a_folder_of_branches() {
    let world = World::new();
    world.outside("env", "x", "x", None);
    let mirror = world.mirror().await;
    mirror.fetch(&[branch("env")]).await.unwrap();
    world.run(&["branch", "-D", "env"]);
    let there = world.outside("env/prod", "x", "x", None);
    assert_eq!(
        mirror
            .fetch(&[branch("env/prod")])
            .await
            .unwrap()
            .get(&branch("env/prod")),
        RemoteTip::At(there)
    );
    world.run(&["branch", "-D", "env/prod"]);
    let there = world.outside("env", "x", "y", None);
    assert_eq!(
        mirror
            .fetch(&[branch("env")])
            .await
            .unwrap()
            .get(&branch("env")),
        RemoteTip::At(there)
    );
}

#[tokio::test]
async fn an_empty_remote_is_no_error() {
    let world = World::empty();
    let mirror = world.mirror().await;
    assert_eq!(
        mirror
            .fetch(&[branch("main")])
            .await
            .unwrap()
            .get(&branch("main")),
        RemoteTip::Absent
    );
    assert!(matches!(
        mirror.default_branch().await,
        Err(FetchError::NoDefaultBranch { .. })
    ));
    world.outside("main", "x", "x", None);
    assert_eq!(mirror.default_branch().await.unwrap(), branch("main"));
    let asked = world.counts().commands;
    mirror.default_branch().await.unwrap();
    assert_eq!(world.counts().commands, asked, "remembered");
}

#[tokio::test]
async fn a_rewritten_branch_is_followed() {
    let world = World::new();
    let mirror = world.mirror().await;
    mirror.fetch(&[branch("main")]).await.unwrap();
    world.run(&["branch", "-f", "main", "main~1"]);
    let now = world.outside("main", "other", "x", None);
    assert_eq!(
        mirror
            .fetch(&[branch("main")])
            .await
            .unwrap()
            .get(&branch("main")),
        RemoteTip::At(now)
    );
}

#[tokio::test]
async fn a_branch_that_brings_its_whole_history_is_taken_for_rewritten() {
    // The fetch without depth receives and receives.
    let script = r#"
        case " $* " in *" --depth"*) ;; *" fetch "*)
            for word; do [ "$was" = --git-dir ] && mirror=$word; was=$word; done
            head -c 200000 /dev/zero > "$mirror/objects/pack/tmp_pack_x"
            sleep 1000;; esac"#;
    let world = World::with_wrapper(script);
    let mirror = world.mirror().await;
    mirror.fetch(&[branch("main")]).await.unwrap();
    let now = world.outside("main", "other", "x", None);
    assert_eq!(
        mirror
            .fetch(&[branch("main")])
            .await
            .unwrap()
            .get(&branch("main")),
        RemoteTip::At(now)
    );
    assert!(
        mirror.notes().iter().any(|note| note.contains("main")),
        "{:?}",
        mirror.notes()
    );
    assert!(!mirror.path().join("objects/pack/tmp_pack_x").exists());
}

/// Ends this run and starts another on the same mirrors.
fn again(world: World) -> World {
    let World { dir, mirrors, git } = world;
    drop(mirrors);
    let mirrors = Mirrors::open(&dir.path().join("mirrors"), git.clone()).unwrap();
    World { dir, mirrors, git }
}

#[tokio::test]
async fn a_damaged_mirror_is_put_aside_and_made_anew() {
    for damage in ["HEAD", "config", "objects"] {
        let world = World::new();
        let mirror = world.mirror().await;
        mirror.fetch(&[branch("main")]).await.unwrap();
        let hurt = mirror.path().join(damage);
        if hurt.is_dir() {
            fs::remove_dir_all(&hurt).unwrap()
        } else {
            fs::remove_file(&hurt).unwrap()
        }
        let world = again(world);
        let mirror = world.mirror().await;
        assert!(
            mirror.notes().iter().any(|note| note.contains("damaged")),
            "{damage}: {:?}",
            mirror.notes()
        );
        let tips = mirror.fetch(&[branch("main")]).await.unwrap();
        assert_eq!(
            tips.get(&branch("main")).commit(),
            world.remote_tip("main").as_ref(),
            "{damage}"
        );
        let aside = fs::read_dir(world.dir.path().join("mirrors")).unwrap();
        assert!(
            aside
                .flatten()
                .any(|e| e.file_name().to_string_lossy().contains(".damaged-")),
            "{damage}"
        );
    }
}

#[tokio::test]
async fn an_unreadable_tip_is_fetched_again() {
    let world = World::new();
    let mirror = world.mirror().await;
    mirror.fetch(&[branch("main")]).await.unwrap();
    // The objects go, the refs stay.
    for entry in fs::read_dir(mirror.path().join("objects"))
        .unwrap()
        .flatten()
    {
        fs::remove_dir_all(entry.path()).unwrap();
        fs::create_dir(entry.path()).unwrap();
    }
    let world = again(world);
    let mirror = world.mirror().await;
    let tips = mirror.fetch(&[branch("main")]).await.unwrap();
    let tip = tips.get(&branch("main")).commit().cloned();
    assert_eq!(tip, world.remote_tip("main"));
    let repository = git2::Repository::open_bare(mirror.path()).unwrap();
    let id = git2::Oid::from_str(tip.unwrap().as_str()).unwrap();
    assert!(repository.find_commit(id).unwrap().tree().is_ok());
}

#[tokio::test]
async fn damage_while_we_run_does_not_stop_us() {
    let world = World::new();
    let mirror = world.mirror().await;
    mirror.fetch(&[branch("main")]).await.unwrap();
    let objects = run_git(
        world.dir.path(),
        mirror.path(),
        &["rev-list", "--objects", "--all"],
    );
    for line in objects.lines() {
        let (folder, file) = line.split_at(2);
        let path = mirror.path().join("objects").join(folder).join(&file[..38]);
        fs::remove_file(&path).unwrap();
        fs::write(&path, "garbage").unwrap();
    }
    world.outside("main", "x", "x", None);
    let tips = mirror.fetch(&[branch("main")]).await.unwrap();
    assert_eq!(
        tips.get(&branch("main")).commit(),
        world.remote_tip("main").as_ref()
    );
    assert!(!mirror.notes().is_empty());
    run_git(
        world.dir.path(),
        mirror.path(),
        &["cat-file", "-p", "refs/remotes/r/main:README"],
    );
}

#[tokio::test]
async fn a_distrusted_mirror_is_begun_anew_once() {
    let world = World::new();
    let mirror = world.mirror().await;
    mirror.fetch(&[branch("main")]).await.unwrap();
    let all = join_all((0..5).map(|_| mirror.distrust("a blob is missing"))).await;
    assert!(all.into_iter().all(|done| done.is_ok()));
    assert_eq!(mirror.notes().len(), 1, "{:?}", mirror.notes());
    let tips = mirror.fetch(&[branch("main")]).await.unwrap();
    assert_eq!(
        tips.get(&branch("main")).commit(),
        world.remote_tip("main").as_ref()
    );
}

#[tokio::test]
async fn lock_files_of_a_dead_process_do_not_stay() {
    let world = World::new();
    let mirror = world.mirror().await;
    mirror.fetch(&[branch("main")]).await.unwrap();
    for lock in [
        "shallow.lock",
        "packed-refs.lock",
        "refs/remotes/r/main.lock",
    ] {
        fs::write(mirror.path().join(lock), "").unwrap();
    }
    let world = again(world);
    world.outside("main", "x", "x", None);
    let tips = world.mirror().await.fetch(&[branch("main")]).await.unwrap();
    assert_eq!(
        tips.get(&branch("main")).commit(),
        world.remote_tip("main").as_ref()
    );
}

#[tokio::test]
async fn one_process_owns_the_mirrors() {
    let world = World::new();
    let error = Mirrors::open(&world.dir.path().join("mirrors"), world.git.clone()).unwrap_err();
    assert!(matches!(error, MirrorError::Held { .. }), "{error}");
    assert!(
        error.to_string().contains(&std::process::id().to_string()),
        "{error}"
    );
}

#[tokio::test]
async fn other_kinds_of_repository_are_refused_in_a_sentence() {
    for (key, value, said) in [
        ("extensions.objectformat", "sha256", "SHA-256"),
        ("extensions.refstorage", "reftable", "reftable"),
        ("extensions.partialclone", "r", "partial clone"),
    ] {
        let world = World::new();
        let path = world.mirror().await.path().to_owned();
        git2::Config::open(&path.join("config"))
            .unwrap()
            .set_str(key, value)
            .unwrap();
        let world = again(world);
        let error = world
            .mirrors
            .mirror(&world.url(), &Credential::User)
            .await
            .unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
        assert!(path.is_dir(), "left alone");
    }
    let world = World::empty();
    let other = world.dir.path().join("sha256.git").display().to_string();
    run_git(
        world.dir.path(),
        world.dir.path(),
        &["init", "-q", "--bare", "--object-format=sha256", &other],
    );
    // It has to have a branch: an empty one has nothing that could not be read.
    let run = |args: &[&str]| {
        run_git(world.dir.path(), other.as_ref(), args)
            .trim()
            .to_owned()
    };
    let tree = run(&["hash-object", "-t", "tree", "-w", "/dev/null"]);
    let commit = run(&["commit-tree", "-m", "x", &tree]);
    run(&["update-ref", "refs/heads/main", &commit]);
    let mirror = world
        .mirrors
        .mirror(&other.parse().unwrap(), &Credential::User)
        .await
        .unwrap();
    match mirror.fetch(&[branch("main")]).await.unwrap_err() {
        FetchError::Remote(error) => assert_eq!(error.trouble, Trouble::Unsupported, "{error}"),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn pins_keep_objects_until_they_are_let_go() {
    let world = World::new();
    let mirror = world.mirror().await;
    let repository = git2::Repository::open_bare(mirror.path()).unwrap();
    let (commit, _) = commit_file(&repository, None, "a", "a", "a", None);
    let tree = repository
        .find_commit(git2::Oid::from_str(commit.as_str()).unwrap())
        .unwrap()
        .tree_id()
        .to_string();
    mirror.pin("u-1", "commit", commit.as_str()).unwrap();
    mirror.pin("u-1", "steps/1", &tree).unwrap();
    mirror.pin("u-12", "commit", commit.as_str()).unwrap();
    run_git(
        world.dir.path(),
        mirror.path(),
        &["gc", "-q", "--prune=now"],
    );
    let pins = || {
        run_git(
            world.dir.path(),
            mirror.path(),
            &["for-each-ref", "--format=%(refname)", "refs/tidewaiter"],
        )
    };
    assert_eq!(pins().lines().count(), 3);
    world.mirrors.unpin_all("u-1").unwrap();
    assert_eq!(pins().trim(), "refs/tidewaiter/u-12/commit");
    assert!(mirror.pin("u-1", "../../heads/x", commit.as_str()).is_err());
    assert!(mirror.pin("u-1", "x", &"0".repeat(39)).is_err());
}

#[tokio::test]
async fn many_loose_objects_are_rolled_up_and_none_is_lost() {
    let world = World::new();
    let mirror = world.mirror().await;
    assert!(!mirror.maintain().await.unwrap());
    let repository = git2::Repository::open_bare(mirror.path()).unwrap();
    let blobs: Vec<_> = (0..6000_u32)
        .map(|n| repository.blob(&n.to_be_bytes()).unwrap())
        .collect();
    assert!(mirror.maintain().await.unwrap());
    let loose = fs::read_dir(mirror.path().join("objects/17")).map_or(0, Iterator::count);
    assert_eq!(loose, 0);
    let again = git2::Repository::open_bare(mirror.path()).unwrap();
    assert!(
        blobs.iter().all(|id| again.find_blob(*id).is_ok()),
        "pinned or not"
    );
}

#[tokio::test]
async fn spellings_share_a_mirror_and_scopes_do_not() {
    let world = World::new();
    let mirror = |url: &str| {
        let url = url.parse().unwrap();
        let mirrors = &world.mirrors;
        async move { mirrors.mirror(&url, &Credential::User).await.unwrap() }
    };
    let one = mirror("https://h.example/o/r").await;
    assert!(Arc::ptr_eq(
        &one,
        &mirror("https://h.example/o/r.git/").await
    ));
    assert!(!Arc::ptr_eq(
        &one,
        &mirror("https://u:p@h.example/o/r").await
    ));
    assert!(!Arc::ptr_eq(
        &one,
        &mirror("https://t0ken@h.example/o/r").await
    ));
    assert!(!Arc::ptr_eq(&one, &mirror("https://h.example/O/r").await));
    assert_eq!(world.mirrors.path(one.key()).as_deref(), Some(one.path()));
}
