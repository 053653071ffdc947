//! Kargo's rules for steps, each as one promotion of scripted steps.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::{
    engine::{
        fixture::{Scripted, World, echo},
        port::Kind,
        step::{Class, Ending, Outcome, StepError},
    },
    kargo::{Phase, StepStatus},
};

fn fine() -> Result<Outcome, StepError> {
    Ok(Outcome::succeeded(Map::new()))
}

/// A promotion of these steps, run to its end or rest.
async fn run(mut world: World, scripted: Vec<Scripted>, steps: Value) -> (World, String) {
    for step in scripted {
        world.registry = world.registry.clone().with(step);
    }
    world.registry = world.registry.clone().with(echo());
    world.stage("test", &steps);
    let name = world.promote("test", 1);
    world.run().await;
    (world, name)
}

/// C53
#[tokio::test(flavor = "multi_thread")]
async fn a_step_without_a_condition_is_tried_again_up_to_its_threshold() {
    for (threshold, phase, tries) in [(3, Phase::Succeeded, 3), (2, Phase::Errored, 2)] {
        let flaky = Scripted::new("flaky", |number| {
            if number < 3 {
                Err(StepError::errored("not yet"))
            } else {
                fine()
            }
        });
        let count = flaky.tries.clone();
        let steps = json!([
            {"uses": "flaky", "as": "a", "retry": {"errorThreshold": threshold}},
            {"uses": "echo", "as": "after"},
        ]);
        let (world, name) = run(World::new(), vec![flaky], steps).await;
        assert_eq!(
            world.promotion(&name).status.phase,
            phase,
            "{:?}",
            world.steps(&name)
        );
        assert_eq!(count.load(std::sync::atomic::Ordering::SeqCst), tries);
        let after = if phase == Phase::Succeeded {
            StepStatus::Succeeded
        } else {
            StepStatus::Skipped
        };
        assert_eq!(
            world.promotion(&name).status.step_execution_metadata[1].status,
            Some(after)
        );
    }
}

/// C55
#[tokio::test(flavor = "multi_thread")]
async fn each_failed_step_keeps_its_own_message() {
    let steps = json!([
        {"uses": "fail", "as": "a", "config": {"message": "A"}},
        {"uses": "fail", "as": "b", "if": "${{ always() }}", "config": {"message": "B"}},
        {"uses": "echo", "as": "c", "if": "${{ always() }}"},
        {"uses": "echo", "as": "d"},
        {"uses": "echo", "as": "e", "if": "${{ failure() }}"},
        {"uses": "echo", "as": "f", "if": "${{ success() }}"},
    ]);
    let (world, name) = run(World::new(), vec![], steps).await;
    let status = world.promotion(&name).status;
    let messages: Vec<String> = world.steps(&name);
    assert_eq!(
        messages,
        [
            "a Failed: failed: A",
            "b Failed: failed: B",
            "c Succeeded: ",
            "d Skipped: ",
            "e Succeeded: ",
            "f Skipped: "
        ]
    );
    assert_eq!(
        (status.phase, status.message.as_str()),
        (Phase::Failed, "failed: A")
    );
}

/// C56
#[tokio::test(flavor = "multi_thread")]
async fn a_message_larger_than_the_store_takes_is_cut_and_the_end_is_stored() {
    let shout = Scripted::new("shout", |_| {
        Err(StepError::failed(format!("x{}", "ü".repeat(25 * 1024))))
    });
    let (world, name) = run(
        World::new(),
        vec![shout],
        json!([{"uses": "shout", "as": "a"}]),
    )
    .await;
    let status = world.promotion(&name).status;
    assert_eq!(status.phase, Phase::Failed);
    assert!(
        status.message.contains("(cut: 51201 bytes in all)"),
        "{}",
        status.message
    );
    assert!(status.message.len() <= 16 * 1024);
}

#[tokio::test(flavor = "multi_thread")]
async fn outputs_that_do_not_fit_fail_their_step_and_leave_the_others() {
    let flood = Scripted::new("flood", |_| {
        Ok(Outcome::succeeded(Map::from_iter([(
            "a".to_owned(),
            json!("x".repeat(1_600_000)),
        )])))
    });
    let steps =
        json!([{"uses": "echo", "as": "a", "config": {"echo": 1}}, {"uses": "flood", "as": "b"}]);
    let (world, name) = run(World::new(), vec![flood], steps).await;
    let status = world.promotion(&name).status;
    assert_eq!(status.phase, Phase::Failed);
    assert!(status.message.contains("65536"), "{}", status.message);
    assert_eq!(status.state_map()["a"], json!({"echo": 1}));
    assert!(!status.state_map().contains_key("b"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_that_the_store_refuses_still_ends() {
    let mut world = World::new();
    std::sync::Arc::get_mut(&mut world.port).unwrap().status_max = Some(20_000);
    let long = Scripted::new("long", |_| {
        Ok(Outcome::succeeded(Map::from_iter([(
            "a".to_owned(),
            json!("x".repeat(30_000)),
        )])))
    });
    let (world, name) = run(
        world,
        vec![long.class(Class::Workspace)],
        json!([{"uses": "long", "as": "a"}]),
    )
    .await;
    let status = world.promotion(&name).status;
    assert_eq!(status.phase, Phase::Errored, "{status:#?}");
    assert!(status.message.contains("too large"), "{}", status.message);
}

/// C59
#[tokio::test(flavor = "multi_thread")]
async fn an_output_of_a_skipped_step_is_named_or_defaulted() {
    let steps = json!([
        {"uses": "echo", "as": "push", "if": "${{ false }}"},
        {"uses": "echo", "as": "a", "config": {"echo": "${{ outputs.push.branch }}"}},
        {"uses": "echo", "as": "b", "if": "${{ always() }}", "config": {"echo": "${{ outputs.push?.branch ?? 'main' }}"}},
    ]);
    let (world, name) = run(World::new(), vec![], steps).await;
    let status = world.promotion(&name).status;
    assert_eq!(status.phase, Phase::Errored);
    assert!(
        status.message.contains("\"push\" was skipped"),
        "{}",
        status.message
    );
    assert_eq!(status.state_map()["b"]["echo"], "main");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_kind_a_bad_condition_and_a_bad_configuration_each_end_their_step_and_the_rest_goes_on()
 {
    let steps = json!([
        {"uses": "nonsense", "as": "a"},
        {"uses": "echo", "as": "b", "if": "${{ 'yes' }}"},
        {"uses": "echo", "as": "c", "if": "${{ always() }}", "config": {"wrong": 1}},
        {"uses": "echo", "as": "d", "if": "${{ always() }}", "config": {"echo": "${{ nonsense( }}"}},
        {"uses": "echo", "as": "e", "if": "${{ always() }}", "config": {"echo": "${{ status('a') }}"}},
    ]);
    let (world, name) = run(World::new(), vec![], steps).await;
    let status = world.promotion(&name).status;
    let ends: Vec<_> = status
        .step_execution_metadata
        .iter()
        .map(|entry| entry.status.clone().unwrap())
        .collect();
    use StepStatus::{Errored, Failed, Succeeded};
    assert_eq!(
        ends,
        [Errored, Errored, Failed, Errored, Succeeded],
        "{:#?}",
        world.steps(&name)
    );
    assert!(
        status.message.contains("\"nonsense\"") && status.message.contains("git-clone, "),
        "{}",
        status.message
    );
    assert_eq!(status.state_map()["e"]["echo"], "Errored");
    assert_eq!(status.phase, Phase::Errored);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_may_fail_does_not_stop_the_others() {
    let steps = json!([
        {"uses": "fail", "as": "a", "continueOnError": true, "config": {"message": "A"}},
        {"uses": "echo", "as": "b"},
    ]);
    let (world, name) = run(World::new(), vec![], steps).await;
    let status = world.promotion(&name).status;
    assert_eq!(status.phase, Phase::Succeeded);
    assert!(status.step_execution_metadata[0].continue_on_error);
    assert_eq!(
        status.step_execution_metadata[1].status,
        Some(StepStatus::Succeeded)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn transient_faults_are_tried_again_and_not_counted() {
    let flaky = Scripted::new("flaky", |number| {
        if number < 6 {
            Err(StepError::transient("away"))
        } else {
            fine()
        }
    });
    let (world, name) = run(
        World::new(),
        vec![flaky],
        json!([{"uses": "flaky", "as": "a"}]),
    )
    .await;
    let status = world.promotion(&name).status;
    assert_eq!(
        (status.phase, status.step_execution_metadata[0].error_count),
        (Phase::Succeeded, 0)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn transient_faults_end_with_the_budget_and_say_what_was_wrong() {
    let mut world = World::new();
    world.budget = Duration::from_millis(50);
    let away = Scripted::new("away", |_| {
        Err(StepError::transient("cannot reach x").because(std::io::Error::other("refused")))
    });
    let (world, name) = run(world, vec![away], json!([{"uses": "away", "as": "a"}])).await;
    let status = world.promotion(&name).status;
    assert_eq!(
        (status.phase, status.message.as_str()),
        (Phase::Errored, "cannot reach x: refused")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_ends_a_step_with_its_last_error() {
    let away = Scripted::new("away", |_| Err(StepError::transient("cannot reach x")));
    let steps =
        json!([{"uses": "away", "as": "a", "retry": {"timeout": "60ms", "errorThreshold": 9}}]);
    let (world, name) = run(World::new(), vec![away], steps).await;
    let status = world.promotion(&name).status;
    assert_eq!(
        (status.phase, status.message.as_str()),
        (Phase::Errored, "timed out after 60ms: cannot reach x")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_resets_the_count_of_errors_and_keeps_outputs() {
    // error, wait, error, wait, done: never two errors in a row.
    let moody = Scripted::new("moody", |number| match number {
        1 | 3 => Err(StepError::errored("hm")),
        2 | 4 => Ok(Outcome {
            ending: Ending::Waiting {
                poll: Duration::from_millis(5),
            },
            ..Outcome::succeeded(Map::from_iter([("seen".to_owned(), json!(number))]))
        }),
        _ => fine(),
    });
    let steps = json!([{"uses": "moody", "as": "a", "retry": {"errorThreshold": 2}}]);
    let (world, name) = run(World::new(), vec![moody], steps).await;
    let status = world.promotion(&name).status;
    assert_eq!(status.phase, Phase::Succeeded, "{:?}", world.steps(&name));
    let seen: Vec<Value> = world
        .port
        .history
        .lock()
        .unwrap()
        .iter()
        .map(|(_, status)| status["state"]["a"]["seen"].clone())
        .collect();
    let first = seen.iter().position(|value| *value == 2).unwrap();
    assert!(
        seen[first..]
            .iter()
            .take_while(|value| **value != 4)
            .all(|value| *value == 2),
        "{seen:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_in_a_step_fails_that_step() {
    let bad = Scripted::new("bad", |_| panic!("oh no"));
    let (world, name) = run(World::new(), vec![bad], json!([{"uses": "bad", "as": "a"}])).await;
    let status = world.promotion(&name).status;
    assert_eq!(status.phase, Phase::Failed);
    assert!(
        status.message.contains("panicked: oh no"),
        "{}",
        status.message
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_from_a_secret_is_stored_nowhere() {
    let world = World::new();
    world.port.put(
        Kind::Secret,
        json!({
            "metadata": {"name": "token", "namespace": "shop"}, "data": {"value": "czNjcmV0LXRva2Vu"},
        }),
    );
    let leak = Scripted::new("leak", |_| Err(StepError::failed("said s3cret-token")));
    let steps = json!([
        {"uses": "echo", "as": "a", "config": {"echo": "x ${{ secret('token').value }} y"}},
        {"uses": "leak", "as": "b"},
    ]);
    let (world, name) = run(world, vec![leak], steps).await;
    let status = world.promotion(&name).status;
    assert_eq!(status.message, "said ***");
    assert_eq!(status.state_map()["a"]["echo"], "***");
    let history = world
        .port
        .history
        .lock()
        .unwrap()
        .iter()
        .map(|(_, status)| status.to_string())
        .collect::<String>();
    assert!(!history.contains("s3cret") && history.contains("Secret/token"));
}

#[tokio::test(flavor = "multi_thread")]
async fn our_own_key_is_no_alias_and_no_output() {
    let steps = json!([{"uses": "echo", "as": "tidewaiter.dev"}]);
    let (world, name) = run(World::new(), vec![], steps).await;
    assert!(
        world
            .promotion(&name)
            .status
            .message
            .contains("tidewaiter.dev is reserved")
    );
    let steps = json!([{"uses": "echo", "as": "a", "config": {"echo": "${{ 'tidewaiter.dev' in outputs }}"}}]);
    let (world, name) = run(World::new(), vec![], steps).await;
    assert_eq!(
        world.promotion(&name).status.state_map()["a"]["echo"],
        false
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn outputs_composed_in_a_task_are_the_tasks_as_well() {
    let steps = json!([
        {"uses": "compose-output", "as": "deploy::out", "config": {"url": "u"}},
        {"uses": "echo", "as": "a", "config": {"echo": "${{ outputs.deploy.url }}"}},
    ]);
    let (world, name) = run(World::new(), vec![], steps).await;
    assert_eq!(
        world.promotion(&name).status.state_map()["a"]["echo"],
        "u",
        "{:?}",
        world.steps(&name)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn workspace_steps_share_a_write() {
    let steps: Vec<Value> = (0..20)
        .map(|n| json!({"uses": "file-write", "config": {"path": format!("./f{n}"), "contents": "x"}}))
        .collect();
    let (world, name) = run(World::new(), vec![], json!(steps)).await;
    assert_eq!(world.promotion(&name).status.phase, Phase::Succeeded);
    let writes = world
        .port
        .writes
        .lock()
        .unwrap()
        .iter()
        .find(|(key, _)| key.name == name)
        .map(|(_, n)| *n)
        .unwrap();
    // Pending, Running, the end, and few in between.
    assert!(writes <= 8, "{writes} writes for 20 steps");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_refused_in_the_middle_still_ends() {
    let mut world = World::new();
    std::sync::Arc::get_mut(&mut world.port).unwrap().status_max = Some(20_000);
    let long = Scripted::new("long", |_| {
        Ok(Outcome::succeeded(Map::from_iter([(
            "a".to_owned(),
            json!("x".repeat(30_000)),
        )])))
    });
    let steps = json!([{"uses": "long", "as": "a"}, {"uses": "echo", "as": "b"}]);
    let (world, name) = run(world, vec![long], steps).await;
    let status = world.promotion(&name).status;
    assert_eq!(status.phase, Phase::Errored, "{status:#?}");
    assert!(
        status.message.contains("too large") && status.finished_at.is_some(),
        "{}",
        status.message
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_have_been_sent_is_not_sent_again() {
    for (config, phase, tries) in [
        (json!({}), Phase::Errored, 1),
        (json!({"onUnknown": "repeat"}), Phase::Succeeded, 2),
    ] {
        let mut world = World::new();
        let post = Scripted::new("post", |_| fine()).class(Class::UnknowableEffect);
        let count = post.tries.clone();
        world.registry = world.registry.clone().with(post);
        world.stage(
            "test",
            &json!([{"uses": "post", "as": "a", "config": config}]),
        );
        let name = world.promote("test", 1);
        world.crash = Some(std::sync::Arc::new(|at| at == "a:done"));
        world.run().await;
        world.crash = None;
        world.holder = "second".into();
        world.run().await;
        let status = world.promotion(&name).status;
        assert_eq!(
            (
                status.phase,
                count.load(std::sync::atomic::Ordering::SeqCst)
            ),
            (phase, tries),
            "{}",
            status.message
        );
        assert!(
            tries == 2 || status.message.contains("may have been sent at 2"),
            "{}",
            status.message
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_is_answered_while_a_step_waits() {
    let waits = Scripted::new("waits", |_| {
        let ending = Ending::Waiting {
            poll: Duration::from_secs(300),
        };
        Ok(Outcome {
            ending,
            ..Outcome::succeeded(Map::new())
        })
    });
    let count = waits.tries.clone();
    let (world, name) = run(
        World::new(),
        vec![waits],
        json!([{"uses": "waits", "as": "w"}]),
    )
    .await;
    let mut object = world.port.look(Kind::Promotion, "shop", &name).unwrap();
    object["metadata"]["annotations"]["kargo.akuity.io/refresh"] = json!("now");
    world.port.put(Kind::Promotion, object);
    world.run().await;
    assert_eq!(world.promotion(&name).status.last_handled_refresh, "now");
    assert!(count.load(std::sync::atomic::Ordering::SeqCst) >= 2);
}
