use serde_json::json;

use crate::{
    engine::fixture::{World, write_and_push},
    kargo::{Phase, StepStatus},
};

/// clone, set a key, commit, and a boundary at which somebody else pushes.
fn update_and_push(remote: &str, key: &str) -> serde_json::Value {
    let mut steps = write_and_push(remote, "tags", "");
    steps[1] = json!({"uses": "yaml-update", "as": "update", "config": {
        "path": "./src/tags.yaml", "updates": [{"key": key, "value": "2.3.1"}]}});
    steps
}

async fn run_with_meanwhile(
    files: &[(&str, &str)],
    steps: impl Fn(&str) -> serde_json::Value,
    meanwhile: &'static [(&'static str, &'static str)],
) -> (std::sync::Arc<World>, String) {
    let world = World::new();
    let remote = world.repository("config", files);
    world.stage("test", &steps(&remote));
    let name = world.promote("test", 1);
    let world = std::sync::Arc::new(world);
    let at = std::sync::Arc::downgrade(&world);
    let tools = {
        let mut settings = world.settings();
        settings.crash = Some(std::sync::Arc::new(move |boundary| {
            if boundary == "commit:ended" {
                at.upgrade().unwrap().change("config", meanwhile);
            }
            false
        }));
        world.tools_with(settings)
    };
    world.run_with(tools).await;
    (world, name)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tip_that_changed_the_same_file_is_met_by_a_replay() {
    let (world, name) = run_with_meanwhile(
        &[("tags.yaml", "a: old\nb: old\n")],
        |remote| update_and_push(remote, "a"),
        &[("tags.yaml", "a: old\nb: new\n")],
    )
    .await;
    let status = world.promotion(&name).status;
    assert_eq!(status.phase, Phase::Succeeded, "{:#?}", world.steps(&name));
    assert_eq!(
        world.show("config", "main", "tags.yaml"),
        "a: 2.3.1\nb: new"
    );
    let journal = &status.state.as_ref().unwrap()["tidewaiter.dev"];
    assert_eq!(journal["replayCount"], 1);
    assert_eq!(journal["replays"][0]["reason"], "tags.yaml");
    assert_eq!(journal["replays"][0]["step"], "push");
    assert!(
        status.step_execution_metadata[3]
            .message
            .contains("replayed once"),
        "{:#?}",
        world.steps(&name)
    );
}

/// C37
#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_names_the_path_both_commits_and_the_branch() {
    let (world, name) = run_with_meanwhile(
        &[("tags.yaml", "a: old\n")],
        |remote| update_and_push(remote, "a"),
        &[("tags.yaml", "b: new\n")],
    )
    .await;
    let status = world.promotion(&name).status;
    assert_eq!(status.phase, Phase::Failed, "{:#?}", world.steps(&name));
    let log = world.git(
        std::path::Path::new(&world.remote("config")),
        &["log", "--format=%h", "--abbrev=7", "main"],
    );
    for word in ["tags.yaml", "main", "step update had Succeeded"]
        .into_iter()
        .chain(log.lines())
    {
        assert!(
            status.message.contains(word),
            "{word} in {}",
            status.message
        );
    }
    assert_eq!(world.log("config", "main"), ["by hand", "by hand"]);
    let commits =
        &status.state.as_ref().unwrap()["tidewaiter.dev"]["workspace"]["mounts"][0]["commits"];
    assert_eq!(
        commits.as_array().unwrap().len(),
        1,
        "the local commit is kept"
    );
}

/// C38
#[tokio::test(flavor = "multi_thread")]
async fn the_same_change_by_somebody_else_is_nothing_to_push() {
    let (world, name) = run_with_meanwhile(
        &[("tags.yaml", "a: old\n")],
        |remote| update_and_push(remote, "a"),
        &[("tags.yaml", "a: 2.3.1\n")],
    )
    .await;
    let status = world.promotion(&name).status;
    assert_eq!(status.phase, Phase::Succeeded, "{:#?}", world.steps(&name));
    let head = world.git(
        std::path::Path::new(&world.remote("config")),
        &["rev-parse", "main"],
    );
    assert_eq!(status.state_map()["push"]["commit"], json!(head));
    assert_eq!(world.log("config", "main"), ["by hand", "by hand"]);
}

/// C40
#[tokio::test(flavor = "multi_thread")]
async fn nothing_to_commit_is_nothing_to_push() {
    let world = World::new();
    let remote = world.repository("config", &[("tags.yaml", "a: 2.3.1\n")]);
    world.stage("test", &update_and_push(&remote, "a"));
    let name = world.promote("test", 1);
    world.run().await;
    let status = world.promotion(&name).status;
    assert_eq!(status.phase, Phase::Succeeded);
    let ends: Vec<_> = status.step_execution_metadata[2..]
        .iter()
        .map(|entry| entry.status.clone().unwrap())
        .collect();
    assert_eq!(
        ends,
        [StepStatus::Skipped, StepStatus::Skipped],
        "{:#?}",
        world.steps(&name)
    );
    let head = world.git(std::path::Path::new(&remote), &["rev-parse", "main"]);
    assert_eq!(
        (
            &status.state_map()["commit"]["commit"],
            &status.state_map()["push"]["commit"]
        ),
        (&json!(head), &json!(head))
    );
    assert_eq!(world.counters.snapshot().pushes, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn generated_and_new_branches_are_made() {
    let world = World::new();
    let remote = world.repository("config", &[("README", "hello\n")]);
    let mut steps = write_and_push(&remote, "a", "x\n");
    steps[3]["config"]["generateTargetBranch"] = json!(true);
    steps.as_array_mut().unwrap().extend([
        json!({"uses": "git-push", "as": "named", "config": {"path": "./src", "targetBranch": "env/new"}}),
        json!({"uses": "git-push", "as": "home", "config": {"path": "./src"}}),
    ]);
    world.stage("test", &steps);
    let name = world.promote("test", 1);
    world.run().await;
    let status = world.promotion(&name).status;
    assert_eq!(status.phase, Phase::Succeeded, "{:#?}", world.steps(&name));
    let generated = format!("kargo/promotion/{name}");
    assert_eq!(status.state_map()["push"]["branch"], json!(generated));
    for branch in [generated.as_str(), "env/new", "main"] {
        assert_eq!(
            world.log("config", branch),
            ["a by test", "by hand"],
            "{branch}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_pushes_of_one_checkout_land_in_order() {
    let world = World::new();
    let remote = world.repository("config", &[("README", "hello\n")]);
    let mut steps = write_and_push(&remote, "a", "x\n")
        .as_array()
        .unwrap()
        .clone();
    let second = write_and_push(&remote, "b", "y\n")
        .as_array()
        .unwrap()
        .clone();
    for (step, alias) in second
        .into_iter()
        .skip(1)
        .zip(["write2", "commit2", "push2"])
    {
        let mut step = step;
        step["as"] = json!(alias);
        steps.push(step);
    }
    world.stage("test", &json!(steps));
    let name = world.promote("test", 1);
    world.run().await;
    assert_eq!(
        world.promotion(&name).status.phase,
        Phase::Succeeded,
        "{:#?}",
        world.steps(&name)
    );
    assert_eq!(
        world.log("config", "main"),
        ["b by test", "a by test", "by hand"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_servers_rule_is_told_in_its_words() {
    let world = World::new();
    let remote = world.repository("config", &[("README", "hello\n")]);
    let hook = std::path::Path::new(&remote).join("hooks/pre-receive");
    std::fs::write(&hook, "#!/bin/sh\necho no pushes on fridays\nexit 1\n").unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    world.stage("test", &write_and_push(&remote, "a", "x\n"));
    let name = world.promote("test", 1);
    world.run().await;
    let status = world.promotion(&name).status;
    assert_eq!(status.phase, Phase::Errored);
    assert!(
        status.message.contains("no pushes on fridays"),
        "{}",
        status.message
    );
}

/// A Promotion's run, with something that somebody else does at a boundary of it.
async fn meanwhile(
    world: World,
    boundary: &'static str,
    act: impl Fn(&World) + Send + Sync + 'static,
) -> std::sync::Arc<World> {
    let world = std::sync::Arc::new(world);
    let at = std::sync::Arc::downgrade(&world);
    let mut settings = world.settings();
    settings.crash = Some(std::sync::Arc::new(move |now| {
        if now == boundary {
            act(&at.upgrade().unwrap());
        }
        false
    }));
    world.run_with(world.tools_with(settings)).await;
    world
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_branch_that_somebody_made_first_is_not_overwritten() {
    let world = World::new();
    let remote = world.repository("config", &[("README", "hello\n")]);
    let hook = std::path::Path::new(&remote).join("hooks/pre-receive");
    // While the first push is being received, somebody makes the branch.
    let make = "git update-ref refs/heads/env/new $(git commit-tree -p main -m theirs main^{tree})";
    let once = format!(
        "#!/bin/sh\n[ -e made ] || {{ touch made; unset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES; export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@e GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@e; {make}; }}\n"
    );
    std::fs::write(&hook, once).unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut steps = write_and_push(&remote, "a", "x\n");
    steps[3]["config"]["targetBranch"] = json!("env/new");
    world.stage("test", &steps);
    let name = world.promote("test", 1);
    world.run().await;
    assert_eq!(
        world.promotion(&name).status.phase,
        Phase::Succeeded,
        "{:#?}",
        world.steps(&name)
    );
    assert_eq!(
        world.log("config", "env/new"),
        ["a by test", "theirs", "by hand"]
    );
}

/// The mirror has another name then; the commit is made again in it.
#[tokio::test(flavor = "multi_thread")]
async fn credentials_that_change_during_a_run_do_not_end_it() {
    let world = World::new();
    let remote = world.repository("config", &[("tags.yaml", "a: old\n")]);
    let secret = {
        let remote = remote.clone();
        move |password: &str| {
            json!({
                "metadata": {"name": "login", "namespace": crate::engine::fixture::PROJECT, "labels": {"kargo.akuity.io/cred-type": "git"}},
                "stringData": {"repoURL": remote, "username": "u", "password": password},
            })
        }
    };
    world
        .port
        .put(crate::engine::port::Kind::Secret, secret("one"));
    world.stage("test", &update_and_push(&remote, "a"));
    let name = world.promote("test", 1);
    let world = meanwhile(world, "commit:ended", move |world| {
        world
            .port
            .put(crate::engine::port::Kind::Secret, secret("two"));
    })
    .await;
    assert_eq!(
        world.promotion(&name).status.phase,
        Phase::Succeeded,
        "{:#?}",
        world.steps(&name)
    );
    assert_eq!(world.show("config", "main", "tags.yaml"), "a: 2.3.1");
    assert_eq!(world.log("config", "main").len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_and_old_commits_are_checked_out_and_the_clones_author_commits() {
    let world = World::new();
    let remote = world.repository("config", &[("v", "one\n")]);
    let at = std::path::Path::new(&remote);
    let old = world.git(at, &["rev-parse", "main"]);
    world.git(at, &["tag", "plain", "main"]);
    world.git(at, &["tag", "-a", "-m", "annotated", "signed", "main"]);
    world.change("config", &[("v", "two\n")]);
    world.change("config", &[("v", "three\n")]);
    let parent = world.git(at, &["rev-parse", "main~1"]);
    let checkout = json!([
        {"branch": "main", "path": "./src"}, {"tag": "plain", "path": "./plain"},
        {"tag": "signed", "path": "./signed"}, {"commit": parent, "path": "./by-id"},
    ]);
    let author = json!({"name": "Tony", "email": "tony@example.com"});
    let mut steps = write_and_push(&remote, "a", "x\n")
        .as_array()
        .unwrap()
        .clone();
    steps[0]["config"] = json!({"repoURL": remote, "checkout": checkout, "author": author});
    steps.insert(1, json!({"uses": "copy", "as": "copy", "config": {"inPath": "./plain/v", "outPath": "./src/old"}}));
    steps.insert(2, json!({"uses": "copy", "as": "copy2", "config": {"inPath": "./by-id/v", "outPath": "./src/before"}}));
    world.stage("test", &json!(steps));
    let name = world.promote("test", 1);
    world.run().await;
    let status = world.promotion(&name).status;
    assert_eq!(status.phase, Phase::Succeeded, "{:#?}", world.steps(&name));
    let commits = &status.state_map()["clone"]["commits"];
    assert_eq!(
        (&commits["./plain"], &commits["./signed"]),
        (&json!(old), &json!(old))
    );
    assert_eq!(world.show("config", "main", "old"), "one");
    assert_eq!(world.show("config", "main", "before"), "two");
    assert_eq!(
        world.git(at, &["log", "-1", "--format=%an <%ae>", "main"]),
        "Tony <tony@example.com>"
    );
    assert!(
        status.step_execution_metadata[4]
            .message
            .ends_with(", 3 files"),
        "{:#?}",
        world.steps(&name)
    );
    assert_eq!(
        world.log("config", "main").len(),
        4,
        "the branch's history is whole"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_or_commit_that_is_not_there_is_named() {
    let world = World::new();
    let remote = world.repository("config", &[("v", "one\n")]);
    let none = "00000000000000000000000000000000000000aa";
    for (number, what, said) in [
        (1, json!({"tag": "v9", "path": "./x"}), "there is no tag v9"),
        (
            2,
            json!({"tag": "v*", "path": "./x"}),
            "is not a tag's name",
        ),
        (3, json!({"commit": none, "path": "./x"}), none),
    ] {
        world.stage("test", &json!([{"uses": "git-clone", "as": "clone", "config": {"repoURL": remote, "checkout": [what]}}]));
        let name = world.promote("test", number);
        let mut settings = world.settings();
        settings.transient_budget = std::time::Duration::from_millis(20);
        world.run_with(world.tools_with(settings)).await;
        let status = world.promotion(&name).status;
        assert!(
            matches!(status.phase, Phase::Errored | Phase::Failed),
            "{status:?}"
        );
        assert!(status.message.contains(said), "{}", status.message);
    }
}

/// Certificates go unchecked for the checkout that says so and its pushes, and for nobody else.
#[tokio::test(flavor = "multi_thread")]
async fn any_certificate_will_do_for_one_checkout_alone() {
    for skips in [true, false] {
        let mut world = World::new();
        let remote = world.repository("config", &[("README", "hello\n")]);
        let (program, log) = (
            world.dir.path().join("git-logged"),
            world.dir.path().join("log"),
        );
        let script = format!(
            "#!/bin/sh\necho \"$*\" >> {}\nexec git \"$@\"\n",
            log.display()
        );
        std::fs::write(&program, script).unwrap();
        let runs = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, runs).unwrap();
        world.git_program = program;
        let mut steps = write_and_push(&remote, "a", "x");
        steps[0]["config"]["insecureSkipTLSVerify"] = json!(skips);
        world.stage("test", &steps);
        let name = world.promote("test", 1);
        world.run().await;
        assert_eq!(
            world.promotion(&name).status.phase,
            Phase::Succeeded,
            "{:#?}",
            world.steps(&name)
        );
        let log = std::fs::read_to_string(log).unwrap();
        let remote_calls: Vec<&str> = log.lines().filter(|line| line.contains(&remote)).collect();
        assert!(remote_calls.len() >= 2, "{log}");
        for call in remote_calls {
            assert_eq!(call.contains("-c http.sslVerify=false"), skips, "{call}");
        }
    }
}
