use serde_json::json;

use crate::{
    engine::fixture::{FREIGHT, World, write_and_push},
    kargo::{Phase, StepStatus},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_promotion_is_cloned_changed_committed_and_pushed() {
    let world = World::new();
    let remote = world.repository("config", &[("README", "hello\n")]);
    world.stage(
        "test",
        &write_and_push(
            &remote,
            "test/tag",
            "${{ imageFrom('registry.example/web').Tag }}\n",
        ),
    );
    let name = world.promote("test", 1);

    let summary = world.run().await;

    let promotion = world.promotion(&name);
    assert_eq!(
        promotion.status.phase,
        Phase::Succeeded,
        "{:#?}",
        world.steps(&name)
    );
    assert_eq!(world.show("config", "main", "test/tag"), "2.3.1");
    assert_eq!(world.log("config", "main"), ["test/tag by test", "by hand"]);
    assert_eq!(summary.phases.get("Succeeded"), Some(&1));
    assert_eq!(summary.waiting, []);

    let status = &promotion.status;
    assert!(status.started_at.is_some() && status.finished_at.is_some());
    assert_eq!(status.current_step, 3);
    assert!(
        status
            .step_execution_metadata
            .iter()
            .all(|step| step.status == Some(StepStatus::Succeeded))
    );
    let head = world.git(std::path::Path::new(&remote), &["rev-parse", "main"]);
    assert_eq!(
        status.state.as_ref().unwrap()["push"]["commit"],
        json!(head)
    );
    assert_eq!(
        status.state.as_ref().unwrap()["push"]["branch"],
        json!("main")
    );

    let stage = world.the_stage("test");
    assert!(stage.status.current_promotion.is_none());
    let last = stage.status.last_promotion.as_ref().unwrap();
    assert_eq!(last.name, *name.as_str());
    assert!(
        last.status
            .as_ref()
            .unwrap()
            .state
            .as_ref()
            .unwrap()
            .get("tidewaiter.dev")
            .is_none()
    );
    assert_eq!(
        stage.status.freight_history[0].items["Warehouse/web"].name,
        *FREIGHT
    );
    assert_eq!(stage.status.freight_summary, FREIGHT);
    let freight = world
        .port
        .look(crate::engine::port::Kind::Freight, "shop", FREIGHT)
        .unwrap();
    assert!(freight["status"]["currentlyIn"]["test"]["since"].is_string());
    assert!(freight["status"]["verifiedIn"]["test"]["verifiedAt"].is_string());
}

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use crate::engine::{
    fixture::{PROJECT, Scripted},
    port::{Kind, Port},
    step::{Ending, Outcome},
    supervisor::Supervisor,
    tools::What,
};

/// Boundaries in order, recorded by a run that ends well.
async fn boundaries(steps: impl Fn(&str) -> serde_json::Value) -> Vec<String> {
    let mut world = World::new();
    let remote = world.repository("config", &[("README", "hello\n")]);
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&seen);
    world.crash = Some(Arc::new(move |name| {
        log.lock().unwrap().push(name.to_owned());
        false
    }));
    world.stage("test", &steps(&remote));
    let name = world.promote("test", 1);
    world.run().await;
    assert_eq!(
        world.promotion(&name).status.phase,
        Phase::Succeeded,
        "{:#?}",
        world.steps(&name)
    );
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), seen.len());
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_killed_at_any_boundary_goes_on_and_pushes_once() {
    let steps = |remote: &str| write_and_push(remote, "test/tag", "2.3.1\n");
    let all = boundaries(steps).await;
    assert!(
        all.len() > 12 && all.iter().any(|name| name == "push:landed"),
        "{all:?}"
    );
    for boundary in all {
        let mut world = World::new();
        let remote = world.repository("config", &[("README", "hello\n")]);
        world.stage("test", &steps(&remote));
        let name = world.promote("test", 1);
        let at = boundary.clone();
        world.crash = Some(Arc::new(move |name| name == at));
        world.run().await;
        // Others go on meanwhile.
        world.change("config", &[("other", "x\n")]);
        world.crash = None;
        world.holder = "second".into();
        world.run().await;
        let status = world.promotion(&name).status;
        assert_eq!(
            status.phase,
            Phase::Succeeded,
            "killed at {boundary}: {:#?}",
            world.steps(&name)
        );
        let mut log = world.log("config", "main");
        log.sort();
        assert_eq!(
            log,
            ["by hand", "by hand", "test/tag by test"],
            "killed at {boundary}"
        );
        assert_eq!(pins(&world), "", "killed at {boundary}");
        let commit = status.state_map()["push"]["commit"]
            .as_str()
            .unwrap()
            .to_owned();
        assert_eq!(
            world.git(Path::new(&remote), &["log", "-1", "--format=%s", &commit]),
            "test/tag by test"
        );
    }
}

/// What is still pinned in any mirror.
fn pins(world: &World) -> String {
    let folders = std::fs::read_dir(world.mirrors())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mirrors = folders.filter(|path| path.extension().is_some_and(|end| end == "git"));
    mirrors
        .map(|mirror| world.git(&mirror, &["for-each-ref", "refs/tidewaiter"]))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_stages_share_a_branch_with_few_pushes() {
    let world = World::new();
    let remote = world.repository("config", &[("README", "hello\n")]);
    let mut names = Vec::new();
    for number in 0..50 {
        let stage = format!("s{number:02}");
        world.stage(
            &stage,
            &write_and_push(&remote, &format!("{stage}/tag"), "2.3.1\n"),
        );
        names.push(world.promote(&stage, number));
    }
    world.run().await;
    for name in &names {
        assert_eq!(
            world.promotion(name).status.phase,
            Phase::Succeeded,
            "{:#?}",
            world.steps(name)
        );
    }
    assert_eq!(world.log("config", "main").len(), 51);
    let counts = world.counters.snapshot();
    assert!(
        counts.pushes <= 10 && counts.fetches <= 10 && counts.commands <= 30 && counts.replays == 0,
        "{counts:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_stages_change_one_file_each_their_own_key() {
    let world = World::new();
    let keys: String = (0..50)
        .map(|number| format!("s{number:02}: old\n"))
        .collect();
    let remote = world.repository("config", &[("tags.yaml", &keys)]);
    let mut names = Vec::new();
    for number in 0..50 {
        let stage = format!("s{number:02}");
        let mut steps = write_and_push(&remote, "x", "");
        steps[1] = json!({"uses": "yaml-update", "as": "update", "config": {
            "path": "./src/tags.yaml", "updates": [{"key": stage, "value": "2.3.1"}]}});
        world.stage(&stage, &steps);
        names.push(world.promote(&stage, number));
    }
    world.run().await;
    for name in &names {
        assert_eq!(
            world.promotion(name).status.phase,
            Phase::Succeeded,
            "{:#?}",
            world.steps(name)
        );
    }
    assert_eq!(
        world
            .show("config", "main", "tags.yaml")
            .matches(": 2.3.1")
            .count(),
        50
    );
    let counts = world.counters.snapshot();
    assert!(
        counts.pushes <= 10 && counts.fetches <= 10 && counts.commands <= 30,
        "{counts:?}"
    );
    assert!(counts.replays > 0 && counts.replays <= 100, "{counts:?}");
    let last = world.promotion(names.last().unwrap()).status;
    let journal = &last.state.unwrap()["tidewaiter.dev"];
    assert!(
        names.iter().any(|name| {
            world.promotion(name).status.state.unwrap()["tidewaiter.dev"]["replayCount"].is_number()
        }),
        "{journal}"
    );
}

fn annotate(world: &World, name: &str, annotation: &str, value: &str) {
    let mut object = world.port.look(Kind::Promotion, PROJECT, name).unwrap();
    object["metadata"]["annotations"][annotation] = json!(value);
    world.port.put(Kind::Promotion, object);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abort_ends_a_waiting_step_at_once_and_frees_the_stage() {
    let mut world = World::new();
    let waits = Scripted::new("waits", |_| {
        Ok(Outcome {
            ending: Ending::Waiting {
                poll: Duration::from_secs(300),
            },
            ..Outcome::succeeded(serde_json::Map::new())
        }
        .saying("for ever"))
    });
    world.registry = world.registry.clone().with(waits);
    world.stage("test", &json!([{"uses": "waits", "as": "w"}]));
    let (first, second) = (world.promote("test", 1), world.promote("test", 2));
    let summary = world.run().await;
    let what: Vec<&str> = summary
        .waiting
        .iter()
        .map(|waiting| waiting.what.as_str())
        .collect();
    assert_eq!(what[0], "for ever");
    assert!(
        what[1].starts_with("its turn, behind test.01jz"),
        "{what:?}"
    );
    assert_eq!(world.promotion(&second).status.phase, Phase::Pending);

    annotate(
        &world,
        &first,
        "kargo.akuity.io/abort",
        r#"{"action":"terminate","actor":"kubernetes:ann"}"#,
    );
    world.run().await;
    let status = world.promotion(&first).status;
    assert_eq!(
        (status.phase, status.message.as_str()),
        (Phase::Aborted, "Promotion terminated by kubernetes:ann")
    );
    assert_eq!(
        status.step_execution_metadata[0].status,
        Some(StepStatus::Aborted)
    );
    assert_eq!(world.promotion(&second).status.phase, Phase::Running);
    assert_eq!(
        world
            .the_stage("test")
            .status
            .current_promotion
            .unwrap()
            .name,
        *second.as_str()
    );

    annotate(&world, &second, "kargo.akuity.io/abort", "terminate");
    world.run().await;
    assert_eq!(world.promotion(&second).status.phase, Phase::Aborted);
    assert!(world.the_stage("test").status.current_promotion.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promotion_aborted_before_its_turn_never_runs() {
    let world = World::new();
    world.stage(
        "test",
        &json!([{"uses": "compose-output", "as": "a", "config": {"x": 1}}]),
    );
    let name = world.promote("test", 1);
    annotate(&world, &name, "kargo.akuity.io/abort", "terminate");
    world.run().await;
    let status = world.promotion(&name).status;
    assert_eq!(
        (status.phase, status.step_execution_metadata.len()),
        (Phase::Aborted, 0)
    );
    assert_eq!(
        world.the_stage("test").status.last_promotion.unwrap().name,
        *name.as_str()
    );
}

/// Aborted in the middle of a push that the server thinks about for so long.
async fn abort_while_pushing(seconds: u32) -> (World, crate::kargo::promotion::PromotionStatus) {
    let world = World::new();
    let remote = world.repository("config", &[("README", "hello\n")]);
    let hook = Path::new(&remote).join("hooks/pre-receive");
    std::fs::write(&hook, format!("#!/bin/sh\nsleep {seconds}\n")).unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    world.stage("test", &write_and_push(&remote, "a", "x\n"));
    let name = world.promote("test", 1);
    let tools = world.tools();
    let mut news = tools.news();
    let (_stop, stopped) = tokio::sync::watch::channel(false);
    let work = tokio::spawn(Supervisor::new(tools).run_until_idle(stopped));
    loop {
        let heard = tokio::time::timeout(Duration::from_secs(20), news.recv())
            .await
            .unwrap()
            .unwrap();
        if matches!(&heard.what, What::Landing(text) if text.contains("pushing")) {
            break;
        }
    }
    annotate(&world, &name, "kargo.akuity.io/abort", "terminate");
    tokio::time::timeout(Duration::from_secs(15), work)
        .await
        .unwrap()
        .unwrap();
    let status = world.promotion(&name).status;
    assert_eq!(status.phase, Phase::Aborted);
    (world, status)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abort_does_not_wait_long_for_a_push() {
    let (world, status) = abort_while_pushing(30).await;
    assert!(
        status
            .message
            .contains("push to main was under way and may still land"),
        "{}",
        status.message
    );
    assert_eq!(world.log("config", "main"), ["by hand"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abort_while_pushing_records_what_landed() {
    let (world, status) = abort_while_pushing(1).await;
    assert!(
        !status.message.contains("may still land"),
        "{}",
        status.message
    );
    assert_eq!(world.log("config", "main"), ["a by test", "by hand"]);
    let push = &status.step_execution_metadata[3];
    assert_eq!(
        push.status,
        Some(crate::kargo::StepStatus::Succeeded),
        "{push:?}"
    );
    let head = world.git(Path::new(&world.remote("config")), &["rev-parse", "main"]);
    assert_eq!(status.state_map()["push"]["commit"], json!(head));
}

/// An executor that was replaced, and does not know it yet.
#[tokio::test]
async fn what_another_holder_wrote_is_neither_overwritten_nor_gone_on_with() {
    use crate::engine::journal::{
        Epoch,
        ledger::{Ledger, LedgerError},
    };
    let world = World::new();
    world.stage(
        "test",
        &json!([{"uses": "compose-output", "as": "a", "config": {"x": 1}}]),
    );
    let name = world.promote("test", 1);
    let open = |holder: &str| {
        let epoch = Epoch {
            holder: holder.into(),
            transitions: 1,
        };
        let port: Arc<dyn crate::engine::port::Port> =
            Arc::<crate::engine::port::fake::Fake>::clone(&world.port);
        Ledger::open(port, world.promotion(&name), epoch).unwrap()
    };
    let mut old = open("old");
    old.status.phase = Phase::Running;
    old.status.started_at = Some(crate::kargo::Timestamp::now());
    old.write().await.unwrap();

    // The new one has read it, and the old one's last write arrives all the same.
    let mut hasty = open("new");
    let mut waiting = open("new");
    old.status.message = "step a is done".into();
    old.write().await.unwrap();
    assert!(!hasty.claim().await.unwrap(), "it has to be read again");
    waiting.status.message = "step a begins".into();
    let lost = waiting.write().await.unwrap_err();
    assert!(lost.to_string().contains("somebody else went on"), "{lost}");

    let mut new = open("new");
    assert!(new.claim().await.unwrap());
    assert_eq!(new.promotion().status.message, "step a is done");
    old.status.message = "step b is done".into();
    let lost = old.write().await.unwrap_err();
    assert!(
        matches!(&lost, LedgerError::Lost { why, .. } if why.contains("new runs it now")),
        "{lost}"
    );
    assert_eq!(world.promotion(&name).status.message, "step a is done");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_writers_end_is_not_overwritten() {
    let world = World::new();
    let port = Arc::downgrade(&world.port);
    world.stage(
        "test",
        &json!([{"uses": "compose-output", "as": "a", "config": {"x": 1}}]),
    );
    let name = world.promote("test", 1);
    let wanted = name.clone();
    world.port.on_write(move |key, object| {
        if key.name == wanted
            && object["status"]["phase"] == "Running"
            && object["status"]["message"].is_null()
        {
            let mut object = object.clone();
            object["status"]["phase"] = json!("Errored");
            object["status"]["message"] = json!("by somebody else");
            port.upgrade().unwrap().put(Kind::Promotion, object);
        }
    });
    world.run().await;
    let status = world.promotion(&name).status;
    assert_eq!(
        (status.phase, status.message.as_str()),
        (Phase::Errored, "by somebody else")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_writes_the_same_result_on_the_new_version() {
    let world = World::new();
    let port = Arc::downgrade(&world.port);
    let once = std::sync::atomic::AtomicBool::new(false);
    world.stage(
        "test",
        &json!([{"uses": "compose-output", "as": "a", "config": {"x": 1}}]),
    );
    let name = world.promote("test", 1);
    let wanted = name.clone();
    world.port.on_write(move |key, object| {
        let running = key.name == wanted && object["status"]["phase"] == "Running";
        if running && !once.swap(true, std::sync::atomic::Ordering::SeqCst) {
            let mut object = object.clone();
            object["metadata"]["labels"] = json!({"seen": "yes"});
            port.upgrade().unwrap().put(Kind::Promotion, object);
        }
    });
    world.run().await;
    assert_eq!(world.promotion(&name).status.phase, Phase::Succeeded);
    assert_eq!(
        world.promotion(&name).metadata.labels.unwrap()["seen"],
        "yes"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cluster_being_away_costs_time_only() {
    let world = World::new();
    world.stage(
        "test",
        &json!([{"uses": "compose-output", "as": "a", "config": {"x": 1}}]),
    );
    let name = world.promote("test", 1);
    let (port, back) = (Arc::downgrade(&world.port), Arc::downgrade(&world.port));
    let once = std::sync::atomic::AtomicBool::new(false);
    world.port.on_write(move |_, object| {
        if object["status"]["phase"] == "Running"
            && !once.swap(true, std::sync::atomic::Ordering::SeqCst)
        {
            port.upgrade()
                .unwrap()
                .away
                .store(true, std::sync::atomic::Ordering::SeqCst);
            let back = back.clone();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(250));
                back.upgrade()
                    .unwrap()
                    .away
                    .store(false, std::sync::atomic::Ordering::SeqCst);
            });
        }
    });
    world.run().await;
    assert_eq!(world.promotion(&name).status.phase, Phase::Succeeded);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_stage_lets_go_of_its_freight() {
    let world = World::new();
    world.stage(
        "test",
        &json!([{"uses": "compose-output", "as": "a", "config": {"x": 1}}]),
    );
    world.promote("test", 1);
    world.run().await;
    let mut stage = world.port.look(Kind::Stage, PROJECT, "test").unwrap();
    assert_eq!(
        stage["metadata"]["finalizers"],
        json!(["kargo.akuity.io/finalizer"])
    );
    stage["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    world.port.put(Kind::Stage, stage);
    world.run().await;
    assert!(world.port.look(Kind::Stage, PROJECT, "test").is_none());
    let freight = world.port.look(Kind::Freight, PROJECT, FREIGHT).unwrap();
    assert_eq!(
        freight["status"],
        json!({"currentlyIn": {}, "verifiedIn": {}})
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn policy_promotes_downstream_through_a_control_flow_stage() {
    let world = World::new();
    let from = |stages: &[&str]| json!([{"origin": {"kind": "Warehouse", "name": "web"}, "sources": {"stages": stages}}]);
    let template =
        json!({"spec": {"steps": [{"uses": "compose-output", "as": "a", "config": {"x": 1}}]}});
    world.stage("test", &template["spec"]["steps"]);
    for (name, spec) in [
        ("hub", json!({"requestedFreight": from(&["test"])})),
        (
            "prod",
            json!({"requestedFreight": from(&["hub"]), "promotionTemplate": template}),
        ),
    ] {
        world
            .port
            .put(Kind::Stage, json!({"metadata": {"name": name, "namespace": PROJECT, "generation": 1}, "spec": spec}));
    }
    world.port.put(
        Kind::ProjectConfig,
        json!({
            "metadata": {"name": PROJECT, "namespace": PROJECT},
            "spec": {"promotionPolicies": [{"stageSelector": {"name": "prod"}, "autoPromotionEnabled": true}]},
        }),
    );
    world.promote("test", 1);
    world.run().await;
    let freight = world.port.look(Kind::Freight, PROJECT, FREIGHT).unwrap();
    assert!(
        freight["status"]["verifiedIn"]["hub"].is_object(),
        "{}",
        freight["status"]
    );
    let all = world.port.list(Kind::Promotion, None).await.unwrap();
    let made: Vec<_> = all
        .iter()
        .filter(|promotion| promotion["spec"]["stage"] == "prod")
        .collect();
    assert_eq!(made.len(), 1, "{made:#?}");
    assert!(world.the_stage("prod").status.auto_promotion_enabled);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_mirror_is_made_again_on_the_journalled_base() {
    for boundary in ["write:ended", "push:intent", "push:landed"] {
        let mut world = World::new();
        let remote = world.repository("config", &[("README", "hello\n")]);
        world.stage("test", &write_and_push(&remote, "test/tag", "2.3.1\n"));
        let name = world.promote("test", 1);
        let written = Arc::clone(&world.port);
        let watched = name.clone();
        world.crash = Some(Arc::new(move |at| {
            // What is not written yet would be done again anyway.
            let stored = written.look(Kind::Promotion, PROJECT, &watched).unwrap();
            at == boundary
                && (boundary != "write:ended"
                    || stored["status"]["state"]["tidewaiter.dev"].is_object())
        }));
        let mut settings = world.settings();
        settings.share_writes = Duration::ZERO;
        world.run_with(world.tools_with(settings)).await;
        world.change("config", &[("other", "x\n")]);
        let before =
            world.promotion(&name).status.state.unwrap()["tidewaiter.dev"]["workspace"].clone();
        assert!(before.is_object(), "{boundary}");
        std::fs::remove_dir_all(world.mirrors()).unwrap();
        world.crash = None;
        world.holder = "second".into();
        world.run().await;
        let status = world.promotion(&name).status;
        assert_eq!(
            status.phase,
            Phase::Succeeded,
            "{boundary}: {:#?}",
            world.steps(&name)
        );
        let mut log = world.log("config", "main");
        log.sort();
        assert_eq!(
            log,
            ["by hand", "by hand", "test/tag by test"],
            "{boundary}"
        );
        let journal = &status.state.unwrap()["tidewaiter.dev"];
        assert_eq!(
            journal["replays"][0]["reason"], "a mirror was lost",
            "{boundary}"
        );
    }
}
