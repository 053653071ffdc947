use std::{
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::{Value, json};

use crate::{
    engine::fixture::{World, write_and_push},
    kargo::Phase,
};

fn tag(name: &str) -> Value {
    json!({"uses": "git-tag", "as": "tag", "config": {"path": "./src", "tag": name, "message": "Release ${{ ctx.stage }}\n"}})
}

fn push_tag(name: &str) -> Value {
    json!({"uses": "git-push", "as": "push-tag", "config": {"path": "./src", "tag": name}})
}

/// clone, write, commit, tag, push, push the tag.
fn release(remote: &str) -> Value {
    let mut steps = write_and_push(remote, "app/tag", "2.3.1\n");
    let list = steps.as_array_mut().unwrap();
    list.insert(3, tag("v1"));
    list.push(push_tag("v1"));
    steps
}

/// What the remote does before it takes a ref.
fn hook(remote: &str, script: &str) {
    let hook = Path::new(remote).join("hooks/update");
    std::fs::write(&hook, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
}

struct Ran {
    world: Arc<World>,
    name: String,
}

impl Ran {
    fn phase(&self) -> Phase {
        self.world.promotion(&self.name).status.phase
    }

    fn said(&self) -> String {
        self.world.steps(&self.name).join("\n")
    }

    fn output(&self, path: &str) -> String {
        let state = self.world.promotion(&self.name).status.state.unwrap();
        let found = state.pointer(path).and_then(Value::as_str);
        found
            .unwrap_or_else(|| panic!("no {path} in {state:#}"))
            .to_owned()
    }

    fn remote(&self, args: &[&str]) -> String {
        self.world
            .git(Path::new(&self.world.remote("config")), args)
    }
}

/// Runs the steps; at the boundary of that name somebody else does something.
async fn run(
    steps: impl Fn(&str) -> Value,
    at: &'static str,
    meanwhile: impl Fn(&World) + Send + Sync + 'static,
) -> Ran {
    let world = World::new();
    let remote = world.repository("config", &[("README", "hello\n")]);
    world.stage("test", &steps(&remote));
    let name = world.promote("test", 1);
    let world = Arc::new(world);
    let weak = Arc::downgrade(&world);
    let mut settings = world.settings();
    settings.crash = Some(Arc::new(move |boundary| {
        if boundary == at {
            meanwhile(&weak.upgrade().unwrap());
        }
        false
    }));
    let tools = world.tools_with(settings);
    world.run_with(tools).await;
    Ran { world, name }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_names_the_commit_as_it_landed() {
    let cases = [
        ("nothing else happened", None, ""),
        ("rebased", Some(("other", "x\n")), ""),
        ("replayed", Some(("app/tag", "1\n")), "replayed once"),
    ];
    for (case, theirs, word) in cases {
        let ran = run(release, "tag:ended", move |world| {
            if let Some(file) = theirs {
                world.change("config", &[file]);
            }
        })
        .await;
        assert_eq!(ran.phase(), Phase::Succeeded, "{case}: {}", ran.said());
        assert!(ran.said().contains(word), "{case}: {}", ran.said());
        let tip = ran.remote(&["rev-parse", "main"]);
        assert_eq!(ran.remote(&["rev-parse", "v1^{commit}"]), tip, "{case}");
        assert_eq!(ran.remote(&["cat-file", "-t", "v1"]), "tag", "{case}");
        assert_eq!(
            ran.remote(&["tag", "-l", "--format=%(contents)%(taggername)"]),
            "Release test\nKargo"
        );
        assert_eq!(ran.output("/push-tag/commit"), tip, "{case}");
        assert_eq!(ran.output("/push-tag/branch"), "main");
        ran.remote(&["fsck", "--strict"]);
    }
}

/// The branch has the change already: nothing of ours lands, and the tag names the branch.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_the_branch_has_is_tagged_where_it_is() {
    let ran = run(release, "tag:ended", |world| {
        world.change("config", &[("app/tag", "2.3.1\n")]);
    })
    .await;
    assert_eq!(ran.phase(), Phase::Succeeded, "{}", ran.said());
    assert!(
        ran.said().contains("has this change already"),
        "{}",
        ran.said()
    );
    assert_eq!(
        ran.remote(&["rev-parse", "v1^{commit}"]),
        ran.remote(&["rev-parse", "main"])
    );
}

/// Of two commits, each keeps its tag.
#[tokio::test(flavor = "multi_thread")]
async fn earlier_commits_keep_their_tags() {
    let steps = |remote: &str| {
        let mut steps = release(remote);
        let list = steps.as_array_mut().unwrap();
        let more = json!([
            {"uses": "file-write", "as": "more", "config": {"path": "./src/more", "contents": "x"}},
            {"uses": "git-commit", "as": "second", "config": {"path": "./src", "message": "more"}},
        ]);
        let at = 4;
        for (offset, step) in more.as_array().unwrap().iter().enumerate() {
            list.insert(at + offset, step.clone());
        }
        steps
    };
    let ran = run(steps, "second:ended", |world| {
        world.change("config", &[("other", "x\n")]);
    })
    .await;
    assert_eq!(ran.phase(), Phase::Succeeded, "{}", ran.said());
    assert_eq!(
        ran.remote(&["rev-parse", "v1^{commit}"]),
        ran.remote(&["rev-parse", "main~1"])
    );
    assert_eq!(
        ran.remote(&["log", "--format=%s", "-1", "v1"]),
        "app/tag by test"
    );

    // The branch has the first change already: only the second lands, on what v1 is then.
    let ran = run(steps, "second:ended", |world| {
        world.change("config", &[("app/tag", "2.3.1\n")]);
    })
    .await;
    assert_eq!(ran.phase(), Phase::Succeeded, "{}", ran.said());
    assert_eq!(ran.remote(&["show", "v1:app/tag"]), "2.3.1");
    assert_eq!(
        ran.remote(&["rev-parse", "v1^{commit}"]),
        ran.remote(&["rev-parse", "main~1"])
    );
}

/// Pushed to another branch, tags name what landed there, whether they were made before or after.
#[tokio::test(flavor = "multi_thread")]
async fn tags_follow_to_another_branch() {
    let steps = |remote: &str| {
        let mut steps = release(remote);
        let list = steps.as_array_mut().unwrap();
        list[4]["config"]["targetBranch"] = json!("env/test");
        let mut late = tag("v1-late");
        late["as"] = json!("late");
        list.push(late);
        let mut push = push_tag("v1-late");
        push["as"] = json!("push-late");
        list.push(push);
        steps
    };
    let ran = run(steps, "tag:ended", |world| {
        world.change("config", &[("other", "x\n")]);
        let remote = world.remote("config");
        world.git(Path::new(&remote), &["branch", "env/test", "main"]);
    })
    .await;
    assert_eq!(ran.phase(), Phase::Succeeded, "{}", ran.said());
    let tip = ran.remote(&["rev-parse", "env/test"]);
    assert_ne!(tip, ran.output("/commit/commit"), "it was rebased");
    for name in ["v1^{commit}", "v1-late^{commit}"] {
        assert_eq!(ran.remote(&["rev-parse", name]), tip, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_of_others_is_never_moved() {
    let by_hand = |world: &World| {
        let remote = world.remote("config");
        world.git(Path::new(&remote), &["tag", "v1", "main"]);
    };
    // Known when the tag is made.
    let ran = run(release, "clone:ended", by_hand).await;
    assert_eq!(ran.phase(), Phase::Errored, "{}", ran.said());
    assert!(
        ran.said().contains("has one of that name"),
        "{}",
        ran.said()
    );
    assert_eq!(
        ran.remote(&["rev-list", "--count", "main"]),
        "1",
        "nothing was pushed"
    );

    // Only when it is pushed.
    let ran = run(release, "push:ended", by_hand).await;
    assert_eq!(ran.phase(), Phase::Failed, "{}", ran.said());
    let theirs = ran.remote(&["rev-parse", "v1"]);
    let journal = "/tidewaiter.dev/workspace/mounts/0/tags/v1/id";
    for id in [&theirs, &ran.output(journal)] {
        assert!(ran.said().contains(id.as_str()), "{id}: {}", ran.said());
    }
    assert_eq!(
        ran.remote(&["cat-file", "-t", "v1"]),
        "commit",
        "theirs is as it was"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_exclude_each_other_and_rules_of_the_server_are_said() {
    let ran = run(release, "push:ended", |world| {
        let remote = world.remote("config");
        world.git(Path::new(&remote), &["tag", "v1/rc", "main"]);
    })
    .await;
    assert_eq!(ran.phase(), Phase::Failed, "{}", ran.said());
    assert!(
        ran.said().contains("cannot be made while tag v1/rc exists"),
        "{}",
        ran.said()
    );

    let ran = run(release, "push:ended", |world| {
        hook(&world.remote("config"), "echo 'no tags here'; exit 1");
    })
    .await;
    assert_eq!(ran.phase(), Phase::Errored, "{}", ran.said());
    assert!(ran.said().contains("no tags here"), "{}", ran.said());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_goes_after_its_branch_or_alone() {
    let steps = |remote: &str| {
        let mut steps = release(remote);
        steps.as_array_mut().unwrap().swap(4, 5);
        steps
    };
    let ran = run(steps, "", |_| {}).await;
    assert_eq!(ran.phase(), Phase::Failed, "{}", ran.said());
    assert!(
        ran.said().contains("step push is yet to push")
            && ran.said().contains("Push the branch first"),
        "{}",
        ran.said()
    );
    assert_eq!(ran.remote(&["tag"]), "");

    let alone = |remote: &str| {
        let mut steps = release(remote);
        steps.as_array_mut().unwrap().remove(4);
        steps
    };
    let ran = run(alone, "", |_| {}).await;
    assert_eq!(ran.phase(), Phase::Succeeded, "{}", ran.said());
    assert_eq!(
        ran.remote(&["rev-parse", "v1^{commit}"]),
        ran.output("/commit/commit")
    );

    let none = |remote: &str| {
        let mut steps = release(remote);
        steps.as_array_mut().unwrap().remove(3);
        steps
    };
    let ran = run(none, "", |_| {}).await;
    assert_eq!(ran.phase(), Phase::Failed, "{}", ran.said());
    assert!(
        ran.said()
            .contains("has no tag of that name, its tags: none"),
        "{}",
        ran.said()
    );
}

/// Killed at every boundary from the tag on, while others push: one tag, on the commit that landed.
#[tokio::test(flavor = "multi_thread")]
async fn killed_anywhere_the_tag_is_there_once() {
    let boundaries = [
        "tag:done",
        "tag:ended",
        "push:intent",
        "push:landed",
        "push:ended",
        "push-tag:started",
        "push-tag:intent:before",
        "push-tag:intent",
        "push-tag:landed",
        "push-tag:done",
        "push-tag:ended",
        "end",
    ];
    for boundary in boundaries {
        let mut world = World::new();
        let remote = world.repository("config", &[("README", "hello\n")]);
        hook(&remote, "echo $1 >> updates");
        world.stage("test", &release(&remote));
        let name = world.promote("test", 1);
        let met = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&met);
        world.crash = Some(Arc::new(move |name| {
            let here = name == boundary;
            seen.fetch_or(here, Ordering::SeqCst);
            here
        }));
        world.run().await;
        assert!(
            met.load(Ordering::SeqCst),
            "there is no boundary {boundary}"
        );
        world.change("config", &[("other", "x\n")]);
        world.crash = None;
        world.holder = "second".into();
        world.run().await;
        let steps = world.steps(&name);
        assert_eq!(
            world.promotion(&name).status.phase,
            Phase::Succeeded,
            "{boundary}: {steps:#?}"
        );
        let git = |args: &[&str]| world.git(Path::new(&remote), args);
        assert_eq!(
            git(&["log", "--format=%s", "-1", "v1"]),
            "app/tag by test",
            "{boundary}"
        );
        git(&["merge-base", "--is-ancestor", "v1", "main"]);
        let updates = std::fs::read_to_string(Path::new(&remote).join("updates")).unwrap();
        let tags = updates
            .lines()
            .filter(|line| *line == "refs/tags/v1")
            .count();
        assert_eq!(tags, 1, "{boundary}: {updates}");
    }
}

/// With the mirrors gone, tags are made again: the same ones, also where their commits had landed under other ids.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_mirror_loses_no_tags() {
    for lost_at in ["tag:ended", "push:ended"] {
        let world = World::new();
        let remote = world.repository("config", &[("README", "hello\n")]);
        world.stage("test", &release(&remote));
        let name = world.promote("test", 1);
        let world = Arc::new(world);
        let weak = Arc::downgrade(&world);
        let mut settings = world.settings();
        settings.crash = Some(Arc::new(move |boundary| {
            if boundary == "commit:ended" {
                weak.upgrade()
                    .unwrap()
                    .change("config", &[("other", "x\n")]);
            }
            boundary == lost_at
        }));
        world.run_with(world.tools_with(settings)).await;
        std::fs::remove_dir_all(world.mirrors()).unwrap();
        let mut settings = world.settings();
        settings.epoch.holder = "second".into();
        world.run_with(world.tools_with(settings)).await;
        let ran = Ran { world, name };
        assert_eq!(ran.phase(), Phase::Succeeded, "{lost_at}: {}", ran.said());
        assert_eq!(
            ran.remote(&["rev-parse", "v1^{commit}"]),
            ran.remote(&["rev-parse", "main"]),
            "{lost_at}"
        );
        assert_eq!(ran.remote(&["rev-list", "--count", "main"]), "3");
    }
}
