//! Landing on real repositories: races, rules, lost answers, many at once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

#[path = "landing/http.rs"]
mod http;
#[path = "landing/mirrors.rs"]
mod mirrors;
#[path = "landing/rules.rs"]
mod rules;
#[path = "landing/ssh.rs"]
mod ssh;
#[path = "landing/support.rs"]
mod support;

use std::{fs, path::Path, sync::Arc, time::Duration};

use futures::future::join_all;
use support::*;
use tidewaiter::git::{
    credentials::{Credential, Login},
    id::CommitId,
    land::{
        ForceRequest, LandBudget, LandError, LandProgress, LandRequest, LandSettings, Landers,
        Placed, already_landed,
    },
    mirror::Mirror,
};

fn landers() -> Landers {
    Landers::default()
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_promotions_to_one_branch_at_once() {
    let world = World::new();
    let (mirror, landers) = (world.mirror().await, landers());
    let promotion = |n: u32| {
        let (mirror, landers) = (&mirror, &landers);
        async move {
            mirror.fetch(&[branch("main")]).await.unwrap();
            landers
                .land(request(writer(mirror, &format!("f{n}")), "main"))
                .await
                .unwrap()
        }
    };
    let landed = join_all((0..50).map(promotion)).await;
    let counts = world.counts();
    assert!(
        counts.pushes <= 10 && counts.fetches <= 10 && counts.commands <= 30,
        "{counts:?}"
    );
    assert_eq!(
        (counts.commits_landed, counts.refusals),
        (50, 0),
        "{counts:?}"
    );
    assert_eq!(world.files("main").len(), 51);
    for (n, landed) in landed.iter().enumerate() {
        assert!(world.is_on(&landed.head, "main"));
        let message = world.run(&["log", "-1", "--format=%s", landed.head.as_str()]);
        assert_eq!(
            message.trim(),
            format!("Write f{n}"),
            "each has its own commit"
        );
    }
}

/// Its first placing is followed by somebody else's push.
fn overtaken(world: &World, mirror: &Arc<Mirror>, file: &str) -> support::Writer {
    let remote = world.remote();
    let mut writer = writer(mirror, file);
    writer.before = Some(Arc::new(move |call| {
        if call == 0 {
            let repository = git2::Repository::open_bare(&remote).unwrap();
            let tip = repository
                .refname_to_id("refs/heads/main")
                .unwrap()
                .to_string()
                .parse()
                .unwrap();
            let (commit, _) = commit_file(&repository, Some(&tip), "theirs", "x", "x", None);
            let id = git2::Oid::from_str(commit.as_str()).unwrap();
            repository
                .reference("refs/heads/main", id, true, "")
                .unwrap();
        }
    }));
    writer
}

#[tokio::test]
async fn a_lost_race_goes_again_on_the_new_tip() {
    let world = World::new();
    let mirror = world.mirror().await;
    let landed = landers()
        .land(request(overtaken(&world, &mirror, "ours"), "main"))
        .await
        .unwrap();
    assert_eq!(
        (landed.attempts, landed.replays, landed.noop),
        (2, 1, false)
    );
    assert_eq!(world.files("main"), ["README", "ours", "theirs"]);
    assert_eq!(world.remote_tip("main"), Some(landed.head));
    assert_eq!(world.counts().lost_races, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_lands_though_others_push_all_the_time() {
    let world = World::new();
    let (mirror, landers) = (world.mirror().await, landers());
    let (remote, home) = (world.remote(), world.dir.path().to_owned());
    let others = tokio::task::spawn_blocking(move || {
        let repository = git2::Repository::open_bare(&remote).unwrap();
        let mut pushed = 0;
        for n in 0..40 {
            let tip: CommitId = repository
                .refname_to_id("refs/heads/main")
                .unwrap()
                .to_string()
                .parse()
                .unwrap();
            let (commit, _) = commit_file(
                &repository,
                Some(&tip),
                "theirs",
                &n.to_string(),
                "theirs",
                None,
            );
            // As a push does it: only from where it was seen.
            let moved = std::process::Command::new("git")
                .args([
                    "update-ref",
                    "refs/heads/main",
                    commit.as_str(),
                    tip.as_str(),
                ])
                .current_dir(&remote)
                .env("HOME", &home)
                .output()
                .unwrap();
            pushed += usize::from(moved.status.success());
        }
        pushed
    });
    let ours = (0..20).map(|n| landers.land(request(writer(&mirror, &format!("f{n}")), "main")));
    let landed = join_all(ours).await;
    let others = others.await.unwrap();
    assert!(landed.iter().all(Result::is_ok), "{landed:?}");
    let commits = world.run(&["rev-list", "--count", "main"]);
    assert_eq!(
        commits.trim(),
        (2 + 20 + others).to_string(),
        "nobody's commit is lost"
    );
    assert_eq!(world.files("main").len(), 22);
}

#[tokio::test]
async fn every_wording_of_a_lost_race_goes_again() {
    for reason in [
        "[rejected] (fetch first)",
        "[rejected] (non-fast-forward)",
        "[remote rejected] (cannot lock ref)",
        "[remote rejected] (incorrect old value provided)",
        "[remote rejected] (failed to update ref)",
    ] {
        let script = format!(
            r#"case " $* " in *" push "*)
                if ! [ -e "$dir/refused" ]; then
                    touch "$dir/refused"
                    for last; do :; done
                    printf 'To x\n!\t%s\t%s\nDone\n' "$last" '{reason}'
                    exit 1
                fi;; esac"#
        );
        let world = World::with_wrapper(&script);
        let mirror = world.mirror().await;
        let landed = landers()
            .land(request(writer(&mirror, "ours"), "main"))
            .await
            .unwrap();
        assert_eq!(landed.attempts, 2, "{reason}");
        assert_eq!(world.remote_tip("main"), Some(landed.head), "{reason}");
    }
}

/// The first push reaches the remote; this is what is heard of it.
async fn answer_lost(heard: &str) -> (World, Result<(CommitId, u32), LandError>) {
    let script = format!(
        r#"case " $* " in *" push "*)
            if ! [ -e "$dir/lost" ]; then
                touch "$dir/lost"
                git "$@" >"$dir/answer" 2>&1
                for last; do :; done
                {heard}
            fi;; esac"#
    );
    let world = World::with_wrapper(&script);
    let mirror = world.mirror().await;
    let landed = landers()
        .land(request(writer(&mirror, "ours"), "main"))
        .await;
    (world, landed.map(|landed| (landed.head, landed.attempts)))
}

#[tokio::test]
async fn a_push_whose_answer_was_lost_is_found_done() {
    for heard in [
        "echo 'fatal: the remote end hung up unexpectedly' >&2; exit 128",
        "exit 1",
        r#"printf 'To x\n!\t%s\t[remote rejected] (cannot lock ref: is at 1 but expected 2)\nDone\n' "$last"; exit 1"#,
        r#"printf 'To x\n!\t%s\t[remote rejected] (pre-receive hook declined)\nDone\n' "$last"; exit 1"#,
        "echo 'fatal: Authentication failed for x' >&2; exit 128",
    ] {
        let (world, landed) = answer_lost(heard).await;
        let (head, _) = landed.unwrap_or_else(|e| panic!("{heard}: {}", whole(&e)));
        assert_eq!(world.remote_tip("main"), Some(head), "{heard}");
        assert_eq!(
            world.run(&["rev-list", "--count", "main"]).trim(),
            "2",
            "no second commit after {heard}"
        );
    }
}

#[tokio::test]
async fn a_branch_deleted_meanwhile_is_not_made_again_unless_asked() {
    for create in [false, true] {
        let world = World::new();
        world.outside("env/prod", "a", "a", None);
        let mirror = world.mirror().await;
        let remote = world.remote();
        let mut writer = writer(&mirror, "ours");
        writer.before = Some(Arc::new(move |call| {
            if call == 0 {
                let repository = git2::Repository::open_bare(&remote).unwrap();
                repository
                    .find_reference("refs/heads/env/prod")
                    .unwrap()
                    .delete()
                    .unwrap();
            }
        }));
        let request = LandRequest {
            create,
            ..request(writer, "env/prod")
        };
        let ended = landers().land(request).await;
        if create {
            assert_eq!(world.remote_tip("env/prod"), Some(ended.unwrap().head));
            assert_eq!(world.files("env/prod"), ["ours"]);
        } else {
            assert!(
                matches!(ended, Err(LandError::BranchDeleted { .. })),
                "{ended:?}"
            );
            assert_eq!(world.remote_tip("env/prod"), None);
        }
    }
}

#[tokio::test]
async fn a_branch_that_never_was() {
    let world = World::empty();
    let (mirror, landers) = (world.mirror().await, landers());
    let error = landers
        .land(request(writer(&mirror, "a"), "main"))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("main"), "{error}");
    assert_eq!(world.remote_tip("main"), None);
    let both = join_all(["a", "b"].map(|file| {
        landers.land(LandRequest {
            create: true,
            ..request(writer(&mirror, file), "main")
        })
    }));
    assert!(both.await.into_iter().all(|landed| landed.is_ok()));
    assert_eq!(world.files("main"), ["a", "b"]);
}

#[tokio::test]
async fn the_branch_in_the_way_is_named() {
    for (there, wanted) in [("env", "env/prod"), ("env/prod/x", "env/prod")] {
        let world = World::new();
        world.outside(there, "a", "a", None);
        let mirror = world.mirror().await;
        mirror.fetch(&[branch(there)]).await.unwrap();
        let request = LandRequest {
            create: true,
            ..request(writer(&mirror, "ours"), wanted)
        };
        let error = landers().land(request).await.unwrap_err();
        assert!(
            matches!(&error, LandError::NameCollision { in_the_way, .. } if in_the_way == there),
            "{}",
            whole(&error)
        );
    }
}

#[tokio::test]
async fn a_change_that_is_there_already_is_no_push() {
    let world = World::new();
    let theirs = world.outside("main", "ours", "ours", None);
    let mirror = world.mirror().await;
    let landed = landers()
        .land(request(writer(&mirror, "ours"), "main"))
        .await
        .unwrap();
    assert_eq!((landed.head, landed.noop), (theirs, true));
    assert_eq!(world.counts().pushes, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_ends_only_its_member() {
    let world = World::new();
    let (mirror, landers) = (world.mirror().await, landers());
    let conflicting = |file: &str, with: &str| {
        let mut writer = writer(&mirror, file);
        writer.conflicts_with = Some(with.to_owned());
        request(writer, "main")
    };
    // README is on the tip; `a` is only there once the first has landed.
    let ended = join_all([
        landers.land(request(writer(&mirror, "a"), "main")),
        landers.land(conflicting("b", "README")),
        landers.land(conflicting("c", "a")),
        landers.land(request(writer(&mirror, "d"), "main")),
    ])
    .await;
    for index in [1, 2] {
        let Err(LandError::Conflict { paths, .. }) = &ended[index] else {
            panic!("{:?}", ended[index])
        };
        assert_eq!(paths, &[if index == 1 { "README" } else { "a" }]);
    }
    assert!(ended[0].is_ok() && ended[3].is_ok());
    assert_eq!(world.files("main"), ["README", "a", "d"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_the_queue_does_not_land() {
    let world = World::new();
    let (mirror, landers) = (world.mirror().await, Arc::new(landers()));
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let mut first = writer(&mirror, "first");
    first.before = Some(Arc::new(move |_| wait.lock().unwrap().recv().unwrap()));
    let land = |request: LandRequest| {
        let landers = Arc::clone(&landers);
        tokio::spawn(async move { landers.land(request).await })
    };
    let (progress, told) = tokio::sync::watch::channel(LandProgress::New);
    let first = land(LandRequest {
        progress: Some(progress),
        ..request(first, "main")
    });
    eventually("the first is being placed", || {
        *told.borrow() == LandProgress::Placing
    })
    .await;
    let (progress, told) = tokio::sync::watch::channel(LandProgress::New);
    let second = land(LandRequest {
        progress: Some(progress),
        ..request(writer(&mirror, "second"), "main")
    });
    let behind = LandProgress::Queued { position: 2, of: 2 };
    eventually("the second waits", || *told.borrow() == behind).await;
    assert_eq!(
        landers.lengths().iter().map(|(_, _, n)| *n).sum::<usize>(),
        2
    );
    second.abort();
    assert!(second.await.unwrap_err().is_cancelled());
    go.send(()).unwrap();
    first.await.unwrap().unwrap();
    landers
        .land(request(writer(&mirror, "last"), "main"))
        .await
        .unwrap();
    assert_eq!(world.files("main"), ["README", "first", "last"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_do_not_share_a_push() {
    let world = World::new();
    let secret = |scope: &str| Credential::Secret {
        scope: scope.to_owned(),
        login: Login::Password {
            username: "u".into(),
            password: "s3cret".into(),
        },
    };
    let a = world
        .mirrors
        .mirror(&world.url(), &secret("a@1"))
        .await
        .unwrap();
    let b = world
        .mirrors
        .mirror(&world.url(), &secret("b@1"))
        .await
        .unwrap();
    assert_ne!(a.path(), b.path());
    world.hook(
        "post-receive",
        r#"read old new ref; git log --format=%s "$old..$new" | tr '\n' ' ' >> pushes; echo >> pushes"#,
    );
    let landers = landers();
    let all = (0..12).map(|n| {
        let (mirror, name) = if n % 2 == 0 { (&a, "a") } else { (&b, "b") };
        landers.land(request(writer(mirror, &format!("{name}{n}")), "main"))
    });
    assert!(join_all(all).await.into_iter().all(|landed| landed.is_ok()));
    assert_eq!(world.files("main").len(), 13);
    let pushes = fs::read_to_string(Path::new(&world.remote()).join("pushes")).unwrap();
    for push in pushes.lines() {
        assert!(
            push.contains("Write a") != push.contains("Write b"),
            "{push}"
        );
    }
    assert_eq!(world.counts().lost_races, 0, "the other's push is known");
}

#[tokio::test]
async fn a_batch_of_one_shows_each_to_the_server() {
    let world = World::new();
    world.hook("post-receive", "echo >> pushes");
    let mirror = world.mirror().await;
    let landers = Landers::new(LandSettings {
        batch: 1,
        ..LandSettings::default()
    });
    let all = (0..5).map(|n| landers.land(request(writer(&mirror, &format!("f{n}")), "main")));
    assert!(join_all(all).await.into_iter().all(|landed| landed.is_ok()));
    assert_eq!(
        fs::read_to_string(Path::new(&world.remote()).join("pushes"))
            .unwrap()
            .lines()
            .count(),
        5
    );
}

#[tokio::test]
async fn a_panic_in_a_member_is_its_own_failure() {
    let world = World::new();
    let (mirror, landers) = (world.mirror().await, landers());
    let mut bad = writer(&mirror, "bad");
    bad.before = Some(Arc::new(|_| panic!("on purpose")));
    let (bad, good) = tokio::join!(
        landers.land(request(bad, "main")),
        landers.land(request(writer(&mirror, "good"), "main"))
    );
    assert!(matches!(bad, Err(LandError::Member { .. })), "{bad:?}");
    assert!(good.is_ok());
}

#[tokio::test]
async fn commits_that_stand_elsewhere_are_not_pushed() {
    struct Elsewhere(CommitId);
    #[async_trait::async_trait]
    impl tidewaiter::git::land::Member for Elsewhere {
        async fn place(
            &self,
            _: Option<&CommitId>,
            _: u32,
        ) -> Result<Placed, tidewaiter::git::land::NotPlaced> {
            Ok(Placed::Commits {
                commits: vec![self.0.clone()],
                replayed: false,
            })
        }
    }
    let world = World::new();
    let mirror = world.mirror().await;
    let repository = git2::Repository::open_bare(mirror.path()).unwrap();
    let (orphan, _) = commit_file(&repository, None, "a", "a", "a", None);
    let request = LandRequest {
        member: Arc::new(Elsewhere(orphan)),
        ..request(writer(&mirror, "x"), "main")
    };
    let before = world.remote_tip("main");
    assert!(matches!(
        landers().land(request).await,
        Err(LandError::Member { .. })
    ));
    assert_eq!(world.remote_tip("main"), before);
}

#[tokio::test]
async fn after_a_crash_the_branch_tells() {
    // Depth 1 at first, then three foreign commits and ours among them.
    let world = World::new();
    let mirror = world.mirror().await;
    let base = mirror
        .fetch(&[branch("main")])
        .await
        .unwrap()
        .get(&branch("main"))
        .commit()
        .cloned();
    world.outside("main", "x", "1", None);
    let ours = world.outside("main", "ours", "2", Some(&header("mine")));
    world.outside("main", "x", "3", None);
    let look = |key| {
        let (mirror, base) = (Arc::clone(&mirror), base.clone());
        async move {
            already_landed(&mirror, &branch("main"), base.as_ref(), &key)
                .await
                .unwrap()
        }
    };
    assert_eq!(look(header("mine")).await, Some(ours.clone()));
    assert_eq!(look(header("other")).await, None);

    // The mirror is lost as well: its first fetch knows one commit, and has to look deeper.
    drop(world.mirrors);
    let anew =
        tidewaiter::git::mirror::Mirrors::open(&world.dir.path().join("anew"), world.git.clone())
            .unwrap();
    let url = world
        .dir
        .path()
        .join("remote.git")
        .display()
        .to_string()
        .parse()
        .unwrap();
    let mirror = anew.mirror(&url, &Credential::User).await.unwrap();
    let found = already_landed(&mirror, &branch("main"), base.as_ref(), &header("mine"))
        .await
        .unwrap();
    assert_eq!(found, Some(ours));
}

#[tokio::test]
async fn a_forced_push_overwrites_what_it_saw() {
    let world = World::new();
    world.outside("kargo/promotion/p", "old", "old", None);
    let mirror = world.mirror().await;
    let base = mirror
        .fetch(&[branch("main")])
        .await
        .unwrap()
        .get(&branch("main"))
        .commit()
        .cloned();
    let repository = git2::Repository::open_bare(mirror.path()).unwrap();
    let (head, _) = commit_file(&repository, base.as_ref(), "new", "new", "new", None);
    let landers = landers();
    for to in [
        "kargo/promotion/p",
        "kargo/promotion/q",
        "kargo/promotion/p",
    ] {
        let request = || ForceRequest {
            mirror: Arc::clone(&mirror),
            branch: branch(to),
            head: head.clone(),
            only_new: false,
            budget: LandBudget::default(),
        };
        landers.force(request()).await.unwrap();
        assert_eq!(world.files(to), ["README", "new"], "{to}");
        // What we believe is out of date.
        world.outside(to, "meanwhile", "m", None);
        landers.force(request()).await.unwrap();
        assert_eq!(world.remote_tip(to), Some(head.clone()), "{to}");
    }
}

#[tokio::test]
async fn the_budget_ends_with_the_last_real_reason() {
    let script = r#"case " $* " in *" push "*)
        for last; do :; done
        printf 'To x\n!\t%s\t[remote rejected] (cannot lock ref)\nDone\n' "$last"
        echo 'remote: somebody holds it' >&2; exit 1;; esac"#;
    let world = World::with_wrapper(script);
    let mirror = world.mirror().await;
    let budget = LandBudget {
        max_attempts: 3,
        time: Duration::from_secs(60),
    };
    let error = landers()
        .land(LandRequest {
            budget,
            ..request(writer(&mirror, "a"), "main")
        })
        .await
        .unwrap_err();
    assert!(
        matches!(error, LandError::BudgetExhausted { attempts: 3, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("somebody holds it"), "{error}");

    let started = std::time::Instant::now();
    let budget = LandBudget {
        max_attempts: 1000,
        time: Duration::from_millis(700),
    };
    let error = landers()
        .land(LandRequest {
            budget,
            ..request(writer(&mirror, "a"), "main")
        })
        .await
        .unwrap_err();
    assert!(
        matches!(error, LandError::BudgetExhausted { .. }),
        "{error}"
    );
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_under_way_is_finished_though_nobody_waits() {
    let script = r#"case " $* " in *" push "*)
        touch "$dir/pushing"; while ! [ -e "$dir/go" ]; do sleep 0.02; done;; esac"#;
    let world = World::with_wrapper(script);
    let (mirror, landers) = (world.mirror().await, Arc::new(landers()));
    let landing = tokio::spawn({
        let (landers, request) = (
            Arc::clone(&landers),
            request(writer(&mirror, "ours"), "main"),
        );
        async move { landers.land(request).await.map(|_| ()) }
    });
    let at = |name: &str| world.dir.path().join(name);
    eventually("the push starts", || at("pushing").exists()).await;
    landing.abort();
    fs::write(at("go"), "").unwrap();
    eventually("the push is finished", || {
        world.files("main").contains(&"ours".to_owned())
    })
    .await;
}
