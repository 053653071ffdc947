use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    engine::{
        fixture::{PROJECT, World, write_and_push},
        port::{Kind, Port},
        tools::Verification,
    },
    kargo::{Phase, StepStatus},
};

/// clone, write, commit, ask, push.
fn gated(remote: &str, gate: Value) -> Value {
    let mut steps = write_and_push(remote, "test/tag", "2.3.1\n");
    let gate = json!({"uses": "wait-for-approval", "as": "gate", "config": gate});
    steps.as_array_mut().unwrap().insert(3, gate);
    steps
}

async fn requests(world: &World) -> Vec<Value> {
    let mut all = world.port.list(Kind::ApprovalRequest, None).await.unwrap();
    all.sort_by_key(|request| {
        request["metadata"]["resourceVersion"]
            .as_str()
            .unwrap()
            .parse::<u64>()
            .unwrap()
    });
    all
}

/// The one that is open.
async fn open(world: &World) -> Value {
    let open: Vec<_> = requests(world)
        .await
        .into_iter()
        .filter(|request| matches!(request["status"]["phase"].as_str(), None | Some("Open")))
        .collect();
    assert_eq!(open.len(), 1, "{open:#?}");
    open[0].clone()
}

fn answer(
    world: &World,
    request: &Value,
    user: &str,
    decision: &str,
    groups: &[&str],
    message: &str,
) -> String {
    let made = world.port.put(
        Kind::Approval,
        json!({
            "metadata": {"namespace": PROJECT, "generateName": "answer-",
                "creationTimestamp": crate::kargo::Timestamp::now()},
            "spec": {
                "request": request["metadata"]["name"], "requestUid": request["metadata"]["uid"], "stage": "test",
                "decision": decision, "digest": request["spec"]["change"]["digest"],
                "user": user, "groups": groups, "message": message,
            },
        }),
    );
    made["metadata"]["name"].as_str().unwrap().to_owned()
}

fn mark(world: &World, approval: &str) -> String {
    world.port.look(Kind::Approval, PROJECT, approval).unwrap()["status"]["reason"]
        .as_str()
        .unwrap_or("none")
        .to_owned()
}

struct Gate {
    world: World,
    name: String,
}

async fn gate(config: Value) -> Gate {
    let world = World::new();
    let remote = world.repository("config", &[("README", "hello\n")]);
    world.stage("test", &gated(&remote, config));
    let name = world.promote("test", 1);
    world.run().await;
    Gate { world, name }
}

/// C73
#[tokio::test(flavor = "multi_thread")]
async fn two_people_approve_and_the_record_says_who_when_and_why() {
    let Gate { world, name } = gate(json!({"minApprovals": 2})).await;
    let request = open(&world).await;
    assert_eq!(
        request["spec"]["change"]["files"][0]["path"],
        "src/test/tag"
    );
    assert!(
        request["spec"]["change"]["diff"]
            .as_str()
            .unwrap()
            .contains("+2.3.1")
    );
    assert_eq!(request["spec"]["change"]["bases"][0]["branch"], "main");
    assert_eq!(request["spec"]["creator"], "kubernetes:ann");
    assert_eq!(
        world.promotion(&name).status.step_execution_metadata[3].message,
        "0 of 2 approvals"
    );

    let words = "looks fine\nto me 🚀";
    let first = answer(&world, &request, "ann", "Approve", &[], words);
    let again = answer(&world, &request, "Ann", "Approve", &[], "");
    let summary = world.run().await;
    assert_eq!(summary.waiting[0].what, "1 of 2 approvals");
    assert_eq!(
        (mark(&world, &first), mark(&world, &again)),
        ("counted".into(), "duplicate".into())
    );
    assert_eq!(open(&world).await["status"]["message"], "1 of 2 approvals");

    // What counted stays, whatever becomes of the object.
    world.port.delete(&crate::engine::port::Key::new(
        Kind::Approval,
        &PROJECT.into(),
        &first,
    ));
    answer(&world, &request, "bob", "Approve", &[], "");
    world.run().await;
    let status = world.promotion(&name).status;
    assert_eq!(status.phase, Phase::Succeeded, "{:#?}", world.steps(&name));
    let responses = status.state_map()["gate"]["responses"].clone();
    assert_eq!(responses[0]["user"], "ann");
    assert_eq!(responses[0]["action"], "approve");
    assert_eq!(responses[0]["message"], words);
    assert!(responses[0]["time"].as_str().unwrap().ends_with('Z'));
    assert_eq!(responses[1]["user"], "bob");
    let request = requests(&world).await.remove(0);
    assert_eq!(
        (
            request["status"]["phase"].as_str(),
            &request["status"]["responses"]
        ),
        (Some("Approved"), &responses)
    );
    assert_eq!(world.show("config", "main", "test/tag"), "2.3.1");
}

/// C70, C71
#[tokio::test(flavor = "multi_thread")]
async fn only_those_listed_count_and_one_rejection_fails_the_step() {
    let rules = json!({"approvers": [{"claim": "groups", "value": "leads"}]});
    let Gate { world, name } = gate(rules).await;
    let request = open(&world).await;
    let stranger = answer(&world, &request, "eve", "Approve", &["dev"], "");
    let grumpy = answer(&world, &request, "eve", "Reject", &["dev"], "");
    world.run().await;
    assert_eq!(
        (mark(&world, &stranger), mark(&world, &grumpy)),
        ("ineligible".into(), "ineligible".into())
    );
    assert_eq!(world.promotion(&name).status.phase, Phase::Running);

    answer(&world, &request, "lea", "Reject", &["leads"], "not today");
    world.run().await;
    let status = world.promotion(&name).status;
    assert_eq!(status.phase, Phase::Failed);
    assert_eq!(status.message, "rejected by lea: not today");
    assert_eq!(
        status.step_execution_metadata[4].status,
        Some(StepStatus::Skipped)
    );
    assert_eq!(world.log("config", "main"), ["by hand"]);
    assert_eq!(requests(&world).await[0]["status"]["phase"], "Rejected");
}

/// C68
#[tokio::test(flavor = "multi_thread")]
async fn a_gate_expires_and_a_late_answer_is_kept_and_marked() {
    let world = World::new();
    let remote = world.repository("config", &[("README", "hello\n")]);
    let mut steps = gated(&remote, json!({}));
    steps[3]["retry"] = json!({"timeout": "1s"});
    world.stage("test", &steps);
    let name = world.promote("test", 1);
    let begun = std::time::Instant::now();
    while !world.promotion(&name).status.phase.is_terminal() {
        assert!(begun.elapsed() < Duration::from_secs(20));
        world.run().await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let status = world.promotion(&name).status;
    assert_eq!(status.phase, Phase::Failed);
    assert!(
        status.message.contains("expired at 2"),
        "{}",
        status.message
    );
    let request = requests(&world).await.remove(0);
    assert_eq!(request["status"]["phase"], "Expired");
    let late = answer(&world, &request, "bob", "Approve", &[], "");
    world.run().await;
    assert_eq!(mark(&world, &late), "late");
    assert_eq!(world.promotion(&name).status.phase, Phase::Failed);
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_nobody_has_verified_do_not_count() {
    let Gate { mut world, name } = gate(json!({})).await;
    world.verification = Verification::Required;
    let request = open(&world).await;
    let approval = answer(&world, &request, "bob", "Approve", &[], "");
    world.run().await;
    assert_eq!(mark(&world, &approval), "unverified");
    assert_eq!(world.promotion(&name).status.phase, Phase::Running);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_change_is_rebased_but_another_change_is_asked_about_again() {
    let Gate { world, name } = gate(json!({})).await;
    let first = open(&world).await;
    answer(&world, &first, "bob", "Approve", &[], "");
    // The branch moves elsewhere: the same change.
    world.change("config", &[("other", "x\n")]);
    world.run().await;
    assert_eq!(
        world.promotion(&name).status.phase,
        Phase::Succeeded,
        "{:#?}",
        world.steps(&name)
    );
    assert_eq!(requests(&world).await.len(), 1);

    // And now the file itself: another change.
    let Gate { world, name } = gate(json!({})).await;
    let first = open(&world).await;
    answer(&world, &first, "bob", "Approve", &[], "");
    let moved = world.change("config", &[("test/tag", "1.0.0\n")]);
    world.run().await;
    let status = world.promotion(&name).status;
    assert_eq!(status.phase, Phase::Running, "{:#?}", world.steps(&name));
    assert!(
        status.step_execution_metadata[3]
            .message
            .contains("asks again"),
        "{:#?}",
        world.steps(&name)
    );
    assert_eq!(status.step_execution_metadata.len(), 4);
    let second = open(&world).await;
    assert_ne!(first["metadata"]["uid"], second["metadata"]["uid"]);
    assert_eq!(second["spec"]["change"]["bases"][0]["commit"], json!(moved));
    assert!(
        second["spec"]["change"]["diff"]
            .as_str()
            .unwrap()
            .contains("-1.0.0")
    );
    assert_eq!(requests(&world).await[0]["status"]["phase"], "Withdrawn");
    // An answer to the earlier question is worth nothing now.
    let stale = answer(&world, &first, "bob", "Approve", &[], "");
    world.run().await;
    assert_eq!(world.promotion(&name).status.phase, Phase::Running);
    assert_eq!(mark(&world, &stale), "late");
    answer(&world, &second, "bob", "Approve", &[], "");
    world.run().await;
    assert_eq!(
        world.promotion(&name).status.phase,
        Phase::Succeeded,
        "{:#?}",
        world.steps(&name)
    );
    assert_eq!(
        world.log("config", "main"),
        ["test/tag by test", "by hand", "by hand"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_makes_way_for_a_newer_promotion_if_it_says_so() {
    let Gate { world, name } = gate(json!({"supersede": true})).await;
    let newer = world.promote("test", 2);
    world.run().await;
    let status = world.promotion(&name).status;
    assert_eq!(status.phase, Phase::Aborted, "{:#?}", world.steps(&name));
    assert!(
        status.message.contains("newer Promotion"),
        "{}",
        status.message
    );
    assert_eq!(world.promotion(&newer).status.phase, Phase::Running);
    assert_eq!(requests(&world).await[0]["status"]["phase"], "Withdrawn");
    assert_eq!(
        open(&world).await["spec"]["promotion"]["name"],
        json!(newer)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_executor_killed_at_a_gate_asks_only_once() {
    for boundary in [
        "gate:asked:before",
        "gate:asked",
        "gate:counted",
        "gate:done",
        "gate:ended",
    ] {
        let mut world = World::new();
        let remote = world.repository("config", &[("README", "hello\n")]);
        world.stage("test", &gated(&remote, json!({})));
        let name = world.promote("test", 1);
        world.crash = Some(std::sync::Arc::new(move |at| at == boundary));
        world.run().await;
        let early = boundary.starts_with("gate:asked") || boundary == "gate:counted";
        if early {
            world.crash = None;
            world.holder = "second".into();
            world.run().await;
        }
        let request = open(&world).await;
        answer(&world, &request, "bob", "Approve", &[], "");
        if !early {
            world.run().await;
            world.crash = None;
        }
        world.holder = "third".into();
        world.run().await;
        assert_eq!(
            world.promotion(&name).status.phase,
            Phase::Succeeded,
            "{boundary}: {:#?}",
            world.steps(&name)
        );
        let all = requests(&world).await;
        assert_eq!(
            (all.len(), all[0]["status"]["phase"].as_str()),
            (1, Some("Approved")),
            "{boundary}"
        );
    }
}

/// Killed after the gate closed and before its answer said so: it counted, and is not late.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_closed_the_gate_is_never_marked_late() {
    let Gate { mut world, name } = gate(json!({})).await;
    let request = open(&world).await;
    let yes = answer(&world, &request, "bob", "Approve", &[], "");
    world.crash = Some(std::sync::Arc::new(|at| at == "gate:ended"));
    world.run().await;
    world.crash = None;
    world.holder = "next".into();
    world.run().await;
    assert_eq!(world.promotion(&name).status.phase, Phase::Succeeded);
    assert_eq!(mark(&world, &yes), "counted");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_goes_with_its_promotion() {
    use crate::engine::port::Key;
    // Nobody is there when it is deleted.
    let Gate { world, name } = gate(json!({})).await;
    world
        .port
        .delete(&Key::new(Kind::Promotion, &PROJECT.into(), &name));
    world.run().await;
    let all = requests(&world).await;
    assert_eq!(
        (all.len(), &all[0]["status"]["phase"]),
        (1, &json!("Withdrawn"))
    );
    assert!(
        all[0]["status"]["message"]
            .as_str()
            .unwrap()
            .contains("deleted"),
        "{all:#?}"
    );

    // Somebody is there.
    let Gate { world, name } = gate(json!({})).await;
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let work = tokio::spawn(crate::engine::supervisor::Supervisor::new(world.tools()).run(stopped));
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    world
        .port
        .delete(&Key::new(Kind::Promotion, &PROJECT.into(), &name));
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while requests(&world).await[0]["status"]["phase"] != "Withdrawn" {
        assert!(
            std::time::Instant::now() < end,
            "the question is still open"
        );
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    stop.send_replace(true);
    work.await.unwrap();
}

/// clone, write, commit, these, push.
fn with_between(remote: &str, between: &[Value]) -> Value {
    let mut steps = write_and_push(
        remote,
        "test/tag",
        "${{ imageFrom('registry.example/web').Tag }}\n",
    )
    .as_array()
    .unwrap()
    .clone();
    let push = steps.pop().unwrap();
    steps.extend(between.iter().cloned());
    steps.push(push);
    json!(steps)
}

/// C71
#[tokio::test(flavor = "multi_thread")]
async fn two_gates_are_answered_each_by_itself_and_asked_again_together() {
    let world = World::new();
    let remote = world.repository("config", &[("README", "hello\n")]);
    let gate = |alias: &str| json!({"uses": "wait-for-approval", "as": alias, "config": {"minApprovals": 1}});
    world.stage("test", &with_between(&remote, &[gate("one"), gate("two")]));
    let name = world.promote("test", 1);
    world.run().await;
    let one = open(&world).await;
    assert_eq!(one["spec"]["step"], "one");
    answer(&world, &one, "bob", "Approve", &[], "");
    world.run().await;
    let two = open(&world).await;
    assert_eq!(
        two["spec"]["step"], "two",
        "an answer to one gate does not open the other"
    );

    answer(&world, &two, "eve", "Approve", &[], "");
    world.change("config", &[("test/tag", "1.0.0\n")]);
    world.run().await;
    let again = open(&world).await;
    assert_eq!(again["spec"]["step"], "one", "{:#?}", world.steps(&name));
    let phases: Vec<_> = requests(&world)
        .await
        .iter()
        .map(|r| r["status"]["phase"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        phases.iter().filter(|phase| *phase == "Withdrawn").count(),
        2,
        "{phases:?}"
    );
    answer(&world, &again, "bob", "Approve", &[], "");
    world.run().await;
    let again = open(&world).await;
    assert_eq!(again["spec"]["step"], "two");
    assert_ne!(again["metadata"]["uid"], two["metadata"]["uid"]);
    answer(&world, &again, "eve", "Reject", &[], "no");
    world.run().await;
    let ends: Vec<_> = world
        .promotion(&name)
        .status
        .step_execution_metadata
        .iter()
        .map(|e| e.status.clone().unwrap().to_string())
        .collect();
    assert_eq!(
        ends,
        [
            "Succeeded",
            "Succeeded",
            "Succeeded",
            "Succeeded",
            "Failed",
            "Skipped"
        ]
    );
}

/// Going back to the gate would do it twice.
#[tokio::test(flavor = "multi_thread")]
async fn an_effect_after_the_gate_is_not_repeated_by_asking_again() {
    let mut world = World::new();
    let call = crate::engine::fixture::echo();
    let tries = std::sync::Arc::clone(&call.tries);
    world.registry = world.registry.clone().with(call);
    let remote = world.repository("config", &[("README", "hello\n")]);
    let between = [
        json!({"uses": "wait-for-approval", "as": "gate", "config": {"minApprovals": 1}}),
        json!({"uses": "echo", "as": "call"}),
    ];
    world.stage("test", &with_between(&remote, &between));
    let name = world.promote("test", 1);
    world.run().await;
    answer(&world, &open(&world).await, "bob", "Approve", &[], "");
    world.change("config", &[("test/tag", "1.0.0\n")]);
    world.run().await;
    let status = world.promotion(&name).status;
    assert_eq!(status.phase, Phase::Failed, "{:#?}", world.steps(&name));
    assert!(
        status.message.contains("call after it is done already"),
        "{}",
        status.message
    );
    assert_eq!(tries.load(std::sync::atomic::Ordering::SeqCst), 1);
    assert_eq!(requests(&world).await.len(), 1);
}

/// A look-up that says something else after a restart makes another change of it.
#[tokio::test(flavor = "multi_thread")]
async fn another_version_of_what_was_looked_up_is_asked_about() {
    let world = World::new();
    let remote = world.repository("config", &[("README", "hello\n")]);
    let map = |text: &str| json!({"metadata": {"name": "settings", "namespace": PROJECT}, "data": {"tag": text}});
    world.port.put(Kind::ConfigMap, map("one"));
    let mut steps = with_between(
        &remote,
        &[json!({"uses": "wait-for-approval", "as": "gate", "config": {"minApprovals": 1}})],
    );
    steps[1]["config"]["contents"] = json!("${{ configMap('settings').tag }}\n");
    world.stage("test", &steps);
    let name = world.promote("test", 1);
    world.run().await;
    let first = open(&world).await;
    world.port.put(Kind::ConfigMap, map("two"));
    answer(&world, &first, "bob", "Approve", &[], "");
    // What is not needed again is not looked up again; the file itself moved, so it is.
    world.change("config", &[("test/tag", "1.0.0\n")]);
    world.run().await;
    assert_eq!(world.promotion(&name).status.phase, Phase::Running);
    let second = open(&world).await;
    assert!(
        second["spec"]["change"]["diff"]
            .as_str()
            .unwrap()
            .contains("+two"),
        "{second:#}"
    );
}
