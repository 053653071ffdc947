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
