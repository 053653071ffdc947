use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};

use crate::{
    engine::fixture::World,
    kargo::Phase,
    steps::tests::server::{Asked, Reply, Server, json as answers, redirect, reply, until},
};

fn world(steps: &Value) -> (World, String) {
    let world = World::new();
    world.stage("test", steps);
    let name = world.promote("test", 1);
    (world, name)
}

fn one(config: Value) -> Value {
    json!([{"uses": "http", "as": "call", "config": config}])
}

async fn run(config: Value) -> (World, String) {
    let (mut world, name) = world(&one(config));
    world.budget = Duration::from_millis(100);
    world.run().await;
    (world, name)
}

fn message(world: &World, name: &str) -> String {
    world.promotion(name).status.step_execution_metadata[0]
        .message
        .clone()
}

fn phase(world: &World, name: &str) -> Phase {
    world.promotion(name).status.phase
}

fn journal(world: &World, name: &str) -> Value {
    world.promotion(name).status.state.unwrap()["tidewaiter.dev"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_says_what_the_configuration_says_and_outputs_come_back() {
    let server = Server::new(|_, _| answers(r#"{"id": 12345678901, "tags": ["a"]}"#));
    let (world, name) = run(json!({
        "method": "PUT", "url": format!("{}/v1?x=1", server.url),
        "headers": [{"name": "X-Team", "value": "wëb"}, {"name": "Content-Type", "value": "text/x"}],
        "queryParams": [{"name": "q", "value": "a b&c"}],
        "body": "hello",
        "outputs": [{"name": "tag", "fromExpression": "response.body.tags[0]"},
                    {"name": "id", "fromExpression": "response.body.id"}],
    }))
    .await;
    assert_eq!(
        phase(&world, &name),
        Phase::Succeeded,
        "{:?}",
        world.steps(&name)
    );
    let outputs = world.promotion(&name).status.state_map()["call"].clone();
    assert_eq!(outputs, json!({"tag": "a", "id": 12_345_678_901_i64}));
    let asked = server.asked();
    let [asked] = asked.as_slice() else {
        panic!("{asked:?}")
    };
    assert_eq!(
        (asked.method.as_str(), asked.path.as_str()),
        ("PUT", "/v1?x=1&q=a+b%26c")
    );
    assert_eq!(asked.body, b"hello");
    assert_eq!(asked.header("x-team"), Some("wëb"));
    assert_eq!(asked.header("content-type"), Some("text/x"));
    let uid = world.promotion(&name).metadata.uid.unwrap();
    assert_eq!(
        asked.header("idempotency-key"),
        Some(format!("{uid}/call").as_str())
    );
    assert!(
        asked
            .header("user-agent")
            .unwrap()
            .starts_with("tidewaiter/")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_may_have_been_sent_before_a_crash_is_not_sent_again_unless_asked_for() {
    // The server has had it, and what it said is not recorded.
    for (more, times, ends) in [
        (json!({}), 1, Phase::Errored),
        (json!({"onUnknown": "fail"}), 1, Phase::Errored),
        (json!({"onUnknown": "repeat"}), 2, Phase::Succeeded),
        (json!({"method": "GET"}), 2, Phase::Succeeded),
        (json!({"pollInterval": "1s"}), 2, Phase::Succeeded),
    ] {
        let server = Server::new(|_, _| reply(200, ""));
        let mut config = json!({"method": "POST", "url": server.url, "body": "go"});
        config
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let (mut world, name) = world(&one(config));
        world.crash = Some(Arc::new(|at| at == "call:done"));
        world.run().await;
        assert_eq!(server.asked().len(), 1);
        assert_eq!(phase(&world, &name), Phase::Running);
        world.crash = None;
        world.run().await;
        let asked = server.asked();
        assert_eq!(asked.len(), times, "{more}");
        assert_eq!(
            phase(&world, &name),
            ends,
            "{more} {:?}",
            world.steps(&name)
        );
        let keys: Vec<_> = asked
            .iter()
            .map(|asked| asked.header("idempotency-key"))
            .collect();
        assert!(
            keys[0].is_some() && keys.iter().all(|key| *key == keys[0]),
            "{keys:?}"
        );
        let said = message(&world, &name);
        assert_eq!(
            said.contains("outcome unknown: may have been sent at 20"),
            ends == Phase::Errored,
            "{said}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_leaves_the_outcome_unknown_unless_nothing_was_sent() {
    for silent in [Reply::Hangup, Reply::Silence] {
        let server = Server::new(move |_, _| silent.clone());
        let config = json!({"method": "POST", "url": server.url, "timeout": "200ms"});
        let mut steps = one(config);
        // Not even a threshold makes it go out again.
        steps[0]["retry"] = json!({"errorThreshold": 3});
        let (world, name) = world(&steps);
        world.run().await;
        let said = message(&world, &name);
        assert!(
            said.contains("outcome unknown: may have been sent at"),
            "{said}"
        );
        assert!(said.contains("no answer from http://127.0.0.1"), "{said}");
        assert_eq!(
            (server.asked().len(), phase(&world, &name)),
            (1, Phase::Errored)
        );
    }
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", nobody.local_addr().unwrap());
    drop(nobody);
    let (world, name) = run(json!({"method": "POST", "url": url})).await;
    let said = message(&world, &name);
    assert!(
        said.contains("cannot reach") && !said.contains("unknown"),
        "{said}"
    );
    assert_eq!(phase(&world, &name), Phase::Errored);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_goes_on_until_its_expression_holds() {
    let server = Server::new(|_, before| match before {
        0 => reply(502, ""),
        1 => answers(r#"{"state": "running"}"#),
        _ => answers(r#"{"state": "done", "url": "u"}"#),
    });
    let (world, name) = run(json!({
        "url": server.url, "pollInterval": "20ms",
        "successExpression": "response.status == 200 && response.body.state == 'done'",
        "failureExpression": "response.body.state == 'failed'",
        "outputs": [{"name": "url", "fromExpression": "response.body.url"}],
    }))
    .await;
    assert_eq!(
        phase(&world, &name),
        Phase::Succeeded,
        "{:?}",
        world.steps(&name)
    );
    assert_eq!(server.asked().len(), 3);
    assert_eq!(
        world.promotion(&name).status.state_map()["call"],
        json!({"url": "u"})
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_success_is_asked_again_within_a_budget_and_the_last_status_is_kept() {
    let server = Server::new(|_, before| reply(if before < 2 { 503 } else { 200 }, ""));
    let (mut world, name) = world(&one(json!({"method": "POST", "url": server.url})));
    world.budget = Duration::from_secs(30);
    world.run().await;
    assert_eq!(
        phase(&world, &name),
        Phase::Succeeded,
        "{:?}",
        world.steps(&name)
    );
    assert_eq!(server.asked().len(), 3);
    assert!(!journal(&world, &name).to_string().contains("trouble"));

    let server = Server::new(|_, _| reply(404, ""));
    let (world, name) = run(json!({"url": server.url})).await;
    let said = message(&world, &name);
    assert!(
        said.contains("HTTP request failed with status 404 Not Found"),
        "{said}"
    );
    assert_eq!(phase(&world, &name), Phase::Errored);
    assert!(server.asked().len() > 1);

    // The step's own time is the budget where it has one.
    let server = Server::new(|_, _| reply(500, ""));
    let mut steps = one(json!({"url": server.url}));
    steps[0]["retry"] = json!({"timeout": "150ms"});
    let (world, name) = self::world(&steps);
    world.run().await;
    let said = message(&world, &name);
    assert!(
        said.starts_with("timed out after 150ms: HTTP request failed with status 500"),
        "{said}"
    );

    // A gateway does not know what became of it.
    let server = Server::new(|_, _| reply(504, ""));
    let (world, name) = run(json!({"method": "POST", "url": server.url})).await;
    let said = message(&world, &name);
    assert!(
        said.contains("outcome unknown") && said.contains("504"),
        "{said}"
    );
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_in_no_message_and_no_record() {
    let server = Server::new(|asked, _| {
        let token = asked.header("authorization").unwrap_or_default().to_owned();
        reply(401, &format!("bad token {token}"))
    });
    let (mut world, name) = world(&one(json!({
        "url": format!("{}/a", server.url), "method": "POST", "body": "${{ secret('s').token }}",
        "headers": [{"name": "Authorization", "value": "Bearer ${{ secret('s').token }}"}],
        "queryParams": [{"name": "t", "value": "${{ secret('s').token }}"}],
        "responseContentType": "text/plain",
        "failureExpression": "response.status == 401",
        "errorExpression": "response.body",
    })));
    world.port.put(
        crate::engine::port::Kind::Secret,
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "shop"},
               "data": {"token": "aHVudGVyMmh1bnRlcjI="}}),
    );
    world.budget = Duration::from_millis(50);
    world.run().await;
    let asked = server.asked();
    assert_eq!(
        asked[0].header("authorization"),
        Some("Bearer hunter2hunter2")
    );
    assert_eq!(asked[0].body, b"hunter2hunter2");
    let stored = serde_json::to_string(&world.promotion(&name)).unwrap();
    assert!(stored.contains("response met failure criteria"), "{stored}");
    assert!(!stored.contains("hunter2"), "{stored}");
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_are_followed_as_go_follows_them() {
    let other = Server::new(|_, _| reply(200, "{}"));
    // The same machine by another name is another host.
    let elsewhere = other.url.replace("127.0.0.1", "localhost");
    let server = Server::new(move |asked: &Asked, _| match asked.path.as_str() {
        "/see-other" => redirect(303, "/there"),
        "/same" => redirect(307, "/there"),
        "/away" => redirect(302, &elsewhere),
        "/round" => redirect(302, "/round"),
        "/nowhere" => reply(302, ""),
        _ => reply(200, "{}"),
    });
    let call = |method: &'static str, path: &'static str| {
        run(json!({
            "method": method, "url": format!("{}{path}", server.url), "body": "b",
            "headers": [{"name": "Authorization", "value": "x"}, {"name": "X-Mine", "value": "y"}],
            "successExpression": "true",
            "outputs": [{"name": "status", "fromExpression": "response.status"}],
        }))
    };
    let last = || server.asked().last().cloned().unwrap();
    call("POST", "/see-other").await;
    assert_eq!((last().method.as_str(), last().body.len()), ("GET", 0));
    assert_eq!(last().header("authorization"), Some("x"));
    call("POST", "/same").await;
    assert_eq!((last().method.as_str(), last().body.len()), ("POST", 1));
    call("PUT", "/away").await;
    let asked = other.asked();
    assert_eq!(asked[0].method, "GET");
    assert_eq!(
        (asked[0].header("authorization"), asked[0].header("x-mine")),
        (None, Some("y"))
    );
    let (world, name) = call("GET", "/nowhere").await;
    assert_eq!(
        world.promotion(&name).status.state_map()["call"]["status"],
        json!(302)
    );
    let before = server.asked().len();
    let (world, name) =
        run(json!({"method": "POST", "url": format!("{}/round", server.url)})).await;
    let said = message(&world, &name);
    assert!(said.contains("stopped after 10 requests"), "{said}");
    assert_eq!(server.asked().len() - before, 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abort_ends_a_request_that_is_under_way() {
    let server = Arc::new(Server::new(|_, _| Reply::Silence));
    let (world, name) = world(&one(
        json!({"method": "POST", "url": server.url, "timeout": "1h"}),
    ));
    let (port, asked, to_abort) = (Arc::clone(&world.port), Arc::clone(&server), name.clone());
    let abort = tokio::task::spawn_blocking(move || {
        asked.until_asked(1);
        let kind = crate::engine::port::Kind::Promotion;
        let mut promotion = port.look(kind, "shop", &to_abort).unwrap();
        promotion["metadata"]["annotations"]["kargo.akuity.io/abort"] = json!("terminate");
        port.put(kind, promotion);
    });
    world.run().await;
    abort.await.unwrap();
    until(|| server.given_up() == 1);
    assert_eq!(phase(&world, &name), Phase::Aborted);
    let said = message(&world, &name);
    assert!(said.contains("may have been sent at"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn polls_hold_no_worker() {
    let server = Server::new(|_, _| answers(r#"{"done": false}"#));
    let world = World::new();
    let poll = one(
        json!({"url": server.url, "pollInterval": "1h", "successExpression": "response.body.done"}),
    );
    let names: Vec<String> = (0..100)
        .map(|at| {
            let stage = format!("s{at}");
            world.stage(&stage, &poll);
            world.promote(&stage, 1)
        })
        .collect();
    world.stage(
        "zz",
        &json!([{"uses": "compose-output", "as": "out", "config": {"a": 1}}]),
    );
    let other = world.promote("zz", 2);
    let mut settings = world.settings();
    settings.concurrency = 1;
    let summary = world.run_with(world.tools_with(settings)).await;
    assert_eq!(summary.waiting.len(), 100);
    assert_eq!(server.asked().len(), 100);
    assert_eq!(phase(&world, &other), Phase::Succeeded);
    assert_eq!(phase(&world, &names[99]), Phase::Running);
    let said = message(&world, &names[0]);
    assert!(
        said.contains("HTTP (200) response met no criteria yet"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_and_bodies_have_limits_and_mistakes_are_found_before_anything_is_sent() {
    let server = Server::new(|_, _| reply(200, &"x".repeat(super::BODY_MAX + 1)));
    for (config, says) in [
        (json!({}), "exceeds the limit of 2097152 bytes"),
        (
            json!({"successExpression": "(1"}),
            "error compiling success expression",
        ),
        (
            json!({"outputs": [{"name": "a", "fromExpression": "(1"}]}),
            "error compiling output expression",
        ),
        (json!({"url": "ftp://h/x"}), "its scheme is ftp"),
        (
            json!({"url": "not one"}),
            "url is not one that can be asked",
        ),
        (
            json!({"headers": [{"name": "a b", "value": "x"}]}),
            "\"a b\" is no name of a header",
        ),
        (
            json!({"headers": [{"name": "a", "value": "x\ny"}]}),
            "the value of a cannot be sent",
        ),
        (
            json!({"bodyFromFile": "absent.json"}),
            "could not read bodyFromFile absent.json",
        ),
        (json!({"timeout": "0s"}), "timeout: must be more than zero"),
        (json!({"onUnknown": "maybe"}), "onUnknown"),
    ] {
        let mut whole = json!({"method": "POST", "url": server.url});
        whole
            .as_object_mut()
            .unwrap()
            .extend(config.as_object().unwrap().clone());
        let (world, name) = run(whole).await;
        let said = message(&world, &name);
        assert!(said.contains(says), "{config}: {said}");
        assert_ne!(phase(&world, &name), Phase::Succeeded);
    }
    assert_eq!(server.asked().len(), 1);
    // What HEAD says of a length is not read.
    let length = vec![("Content-Length".to_owned(), "9000000".to_owned())];
    let server = Server::new(move |_, _| Reply::Whole(200, length.clone(), Vec::new()));
    let (world, name) = run(json!({"method": "HEAD", "url": server.url})).await;
    assert_eq!(
        phase(&world, &name),
        Phase::Succeeded,
        "{:?}",
        world.steps(&name)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn handing_over_waits_a_moment_for_an_answer_that_is_on_its_way() {
    let server = Arc::new(Server::new(|_, _| {
        // As slow as a server may be.
        std::thread::sleep(Duration::from_millis(300));
        reply(200, "{}")
    }));
    let mut steps = one(json!({"method": "POST", "url": server.url}));
    let after = json!({"uses": "compose-output", "as": "after", "config": {"a": 1}});
    steps.as_array_mut().unwrap().push(after);
    let (mut world, name) = world(&steps);
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let supervisor = crate::engine::supervisor::Supervisor::new(world.tools());
    let asked = Arc::clone(&server);
    let stopping = tokio::task::spawn_blocking(move || {
        asked.until_asked(1);
        stop.send(true).unwrap();
    });
    supervisor.run_until_idle(stopped).await;
    stopping.await.unwrap();
    assert_eq!(world.steps(&name), ["call Succeeded: "]);
    world.holder = "second".into();
    world.run().await;
    assert_eq!(phase(&world, &name), Phase::Succeeded);
    assert_eq!(server.asked().len(), 1);
}
