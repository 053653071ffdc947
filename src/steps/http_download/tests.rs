use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};

use super::FILE_MAX;
use crate::{
    engine::fixture::{World, write_and_push},
    kargo::Phase,
    steps::tests::server::{Reply, Server, redirect, reply},
};

/// clone, download, update, commit, push; the served text can be changed.
fn world(more: &Value) -> (World, String, Arc<Server>, Arc<Mutex<String>>) {
    let text = Arc::new(Mutex::new("first".to_owned()));
    let served = Arc::clone(&text);
    let server = Arc::new(Server::new(move |_, _| reply(200, &served.lock().unwrap())));
    let world = World::new();
    let remote = world.repository(
        "config",
        &[("tags.yaml", "a: old\nb: old\n"), ("got.txt", "old")],
    );
    let mut steps = write_and_push(&remote, "tags", "");
    steps[1] = json!({"uses": "yaml-update", "as": "update", "config": {
        "path": "./src/tags.yaml", "updates": [{"key": "a", "value": "2.3.1"}]}});
    let mut config = json!({"url": format!("{}/f?sig=s3cr3t", server.url), "outPath": "./src/got.txt", "allowOverwrite": true});
    config
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let step = json!({"uses": "http-download", "as": "get", "config": config});
    steps.as_array_mut().unwrap().insert(1, step);
    world.stage("test", &steps);
    let name = world.promote("test", 1);
    (world, name, server, text)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_download_is_not_fetched_again_after_a_crash_or_in_a_replay() {
    for boundary in ["get:fetched", "get:done", "commit:ended"] {
        let (mut world, name, server, text) = world(&json!({}));
        world.crash = Some(Arc::new(move |at| at == boundary));
        world.run().await;
        *text.lock().unwrap() = "second".into();
        // On the new tip every step has to run again.
        world.change("config", &[("tags.yaml", "a: old\nb: new\n")]);
        world.crash = None;
        world.run().await;
        let status = world.promotion(&name).status;
        assert_eq!(status.phase, Phase::Succeeded, "{:?}", world.steps(&name));
        assert_eq!(world.show("config", "main", "got.txt"), "first");
        assert_eq!(
            world.show("config", "main", "tags.yaml"),
            "a: 2.3.1\nb: new"
        );
        let journal = status.state.unwrap()["tidewaiter.dev"].clone();
        assert_eq!(journal["replayCount"], 1, "{boundary}");
        assert_eq!(server.asked().len(), 1, "{boundary}");
        assert!(!journal.to_string().contains("s3cr3t"), "{journal}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changed_after_it_was_lost_is_a_conflict() {
    let (mut world, name, server, text) = world(&json!({}));
    world.crash = Some(Arc::new(|at| at == "get:fetched"));
    world.run().await;
    std::fs::remove_dir_all(world.mirrors()).unwrap();
    *text.lock().unwrap() = "second".into();
    world.crash = None;
    world.run().await;
    let status = world.promotion(&name).status;
    assert_eq!(status.phase, Phase::Failed, "{:?}", world.steps(&name));
    assert!(
        status.message.contains("a different change"),
        "{}",
        status.message
    );
    assert_eq!(server.asked().len(), 2);
    assert_eq!(world.show("config", "main", "got.txt"), "old");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_there_is_not_overwritten_unless_asked_for() {
    let (world, name, server, _) = world(&json!({"allowOverwrite": false}));
    world.run().await;
    let status = world.promotion(&name).status;
    assert_eq!(status.phase, Phase::Errored);
    assert!(
        status
            .message
            .contains("file already exists. Set allowOverwrite"),
        "{}",
        status.message
    );
    assert_eq!(server.asked().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_refuse_fail_or_send_too_much_leave_no_file() {
    let too_much = (FILE_MAX + 1).to_string();
    let cases = [
        (
            reply(404, "{\"error\": \"gone\"}"),
            "",
            "HTTP request failed with status 404 Not Found",
        ),
        (
            reply(404, "{\"error\": \"gone\"}"),
            "response.body.error",
            "404 Not Found: \"gone\"",
        ),
        (reply(503, ""), "", "HTTP request failed with status 503"),
        (
            Reply::Whole(
                200,
                vec![("Content-Length".into(), too_much)],
                b"x".to_vec(),
            ),
            "",
            "download exceeds limit of 104857600 bytes",
        ),
        (
            // Ends before it is whole.
            Reply::Whole(
                200,
                vec![
                    ("Content-Length".into(), "9".into()),
                    ("Connection".into(), "close".into()),
                ],
                b"x".to_vec(),
            ),
            "",
            "no answer from http://127.0.0.1",
        ),
        (redirect(302, "/round"), "", "stopped after 10 requests"),
    ];
    for (answer, explain, says) in cases {
        let broken = matches!(&answer, Reply::Whole(_, headers, _) if headers.len() == 2);
        let server = Server::new(move |_, _| answer.clone());
        let mut world = World::new();
        world.budget = Duration::from_millis(20);
        let timeout = if broken { "300ms" } else { "20s" };
        world.stage("test", &json!([{"uses": "http-download", "as": "get", "config": {
            "url": server.url, "outPath": "a/b.txt", "errorExpression": explain, "timeout": timeout}}]));
        let name = world.promote("test", 1);
        world.run().await;
        let status = world.promotion(&name).status;
        assert!(status.message.contains(says), "{says}: {}", status.message);
        let journal = status.state.unwrap()["tidewaiter.dev"].clone();
        assert!(journal["workspace"]["loose"].is_null(), "{journal}");
    }
}
