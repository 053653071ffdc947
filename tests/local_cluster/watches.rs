//! Watches: where they begin, what they say under selectors, and how they end.

use crate::driver::{
    CONFIG_MAPS, Driver, Lines, config_map, eventually, labelled, open_door, version,
};
use serde_json::{Value, json};
use std::time::Duration;
use tidewaiter::local::Options;

fn pair(word: &str, name: &str) -> (String, String) {
    (word.to_owned(), name.to_owned())
}

fn c(name: &str) -> String {
    format!("{CONFIG_MAPS}/{name}")
}

#[tokio::test]
async fn a_resumed_watch_starts_strictly_after_its_version() {
    let driver = Driver::new().await;
    let a = driver.create(CONFIG_MAPS, config_map("a")).await;
    let b = driver.create(CONFIG_MAPS, config_map("b")).await;
    let (_, changed) = driver.merge(&c("a"), json!({"data": {"a": "2"}})).await;
    driver.delete(&c("b")).await;
    let mut lines = driver
        .watch(&format!(
            "{CONFIG_MAPS}?watch=true&resourceVersion={}",
            version(&a)
        ))
        .await;
    assert_eq!(lines.next().await.unwrap(), ("ADDED".to_owned(), b.clone()));
    assert_eq!(
        lines.next().await.unwrap(),
        ("MODIFIED".to_owned(), changed)
    );
    let (word, gone) = lines.next().await.unwrap();
    assert_eq!(word, "DELETED");
    assert!(
        version(&gone) > version(&b),
        "DELETED carries the version of the deletion"
    );
    assert_eq!(gone["data"], b["data"]);

    // The version of the deletion is one that a watch can go on from.
    let mut lines = driver
        .watch(&format!(
            "{CONFIG_MAPS}?watch=true&resourceVersion={}",
            version(&gone)
        ))
        .await;
    driver.create(CONFIG_MAPS, config_map("c")).await;
    assert_eq!(lines.word().await, pair("ADDED", "c"));
}

#[tokio::test]
async fn under_a_selector_objects_come_and_go() {
    let driver = Driver::new().await;
    let mut lines = driver
        .watch(&format!(
            "{CONFIG_MAPS}?watch=true&resourceVersion=0&labelSelector=show%3Dyes"
        ))
        .await;
    driver.create(CONFIG_MAPS, config_map("a")).await;
    let label = |value: &str| json!({"metadata": {"labels": {"show": value}}});
    driver.merge(&c("a"), label("yes")).await;
    driver.merge(&c("a"), json!({"data": {"a": "2"}})).await;
    let (_, hidden) = driver.merge(&c("a"), label("no")).await;
    driver.merge(&c("a"), json!({"data": {"a": "3"}})).await;
    driver.delete(&c("a")).await;
    driver
        .create(CONFIG_MAPS, labelled(config_map("b"), "show", "yes"))
        .await;
    driver.delete(&c("b")).await;
    assert_eq!(lines.word().await, pair("ADDED", "a"));
    assert_eq!(lines.word().await, pair("MODIFIED", "a"));
    let (word, left) = lines.next().await.unwrap();
    assert_eq!(
        (word.as_str(), version(&left)),
        ("DELETED", version(&hidden))
    );
    // As the watch last knew it.
    assert_eq!(left["metadata"]["labels"]["show"], "yes");
    assert_eq!(lines.word().await, pair("ADDED", "b"));
    assert_eq!(lines.word().await, pair("DELETED", "b"));
}

async fn expect_410(mut lines: Lines) {
    let (word, status) = lines.next().await.unwrap();
    assert_eq!(
        (word.as_str(), &status["kind"]),
        ("ERROR", &json!("Status"))
    );
    assert_eq!(
        (&status["code"], &status["reason"]),
        (&json!(410), &json!("Expired"))
    );
    assert_eq!(lines.next().await, None);
}

#[tokio::test]
async fn a_version_that_is_too_old_is_an_error_event() {
    let driver = Driver::new().await;
    let a = driver.create(CONFIG_MAPS, config_map("a")).await;
    driver.create(CONFIG_MAPS, config_map("b")).await;
    driver.cluster.compact_history();
    // `watch` has asserted that the answer is 200.
    expect_410(
        driver
            .watch(&format!(
                "{CONFIG_MAPS}?watch=1&resourceVersion={}",
                version(&a)
            ))
            .await,
    )
    .await;
    expect_410(
        driver
            .watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion=999999"))
            .await,
    )
    .await;
    let newest = version(&driver.get(CONFIG_MAPS).await.1);
    let mut lines = driver
        .watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={newest}"))
        .await;
    driver.create(CONFIG_MAPS, config_map("c")).await;
    assert_eq!(lines.word().await, pair("ADDED", "c"));
}

#[tokio::test]
async fn a_reader_that_falls_behind_the_history_is_cut_off() {
    let driver = Driver::with(Options {
        history_events: 10,
        ..open_door()
    })
    .await;
    let newest = version(&driver.get(CONFIG_MAPS).await.1);
    let slow = driver
        .watch(&format!(
            "{CONFIG_MAPS}?watch=true&resourceVersion={newest}"
        ))
        .await;
    for index in 0..30 {
        driver
            .create(CONFIG_MAPS, config_map(&format!("c{index}")))
            .await;
    }
    expect_410(slow).await;
}

#[tokio::test]
async fn a_watch_ends_cleanly_at_its_timeout_with_a_bookmark() {
    let driver = Driver::new().await;
    let newest = version(&driver.create(CONFIG_MAPS, config_map("a")).await);
    let path = format!("{CONFIG_MAPS}?watch=true&resourceVersion={newest}&timeoutSeconds=1");
    let mut with = driver
        .watch(&format!("{path}&allowWatchBookmarks=true"))
        .await;
    let mut without = driver.watch(&path).await;
    // Changes elsewhere are news for the bookmark only.
    let elsewhere = driver
        .create("/api/v1/namespaces/default/configmaps", config_map("x"))
        .await;
    let (word, bookmark) = with.next().await.unwrap();
    assert_eq!(
        (word.as_str(), version(&bookmark)),
        ("BOOKMARK", version(&elsewhere))
    );
    assert_eq!(bookmark["kind"], "ConfigMap");
    assert_eq!(with.next().await, None);
    assert_eq!(without.next().await, None);
}

#[tokio::test]
async fn bookmarks_come_by_themselves() {
    let driver = Driver::with(Options {
        bookmarks: Duration::from_millis(20),
        ..open_door()
    })
    .await;
    let path = format!("{CONFIG_MAPS}?watch=true&resourceVersion=0&allowWatchBookmarks=true");
    let mut lines = driver.watch(&path).await;
    assert_eq!(lines.next().await.unwrap().0, "BOOKMARK");
    assert_eq!(lines.next().await.unwrap().0, "BOOKMARK");
}

#[tokio::test]
async fn where_a_watch_begins() {
    let driver = Driver::new().await;
    driver.create(CONFIG_MAPS, config_map("a")).await;
    driver.create(CONFIG_MAPS, config_map("b")).await;
    let start = |query: &str| format!("{CONFIG_MAPS}?watch=true&{query}");

    for query in ["", "resourceVersion=0"] {
        let mut lines = driver.watch(&start(query)).await;
        assert_eq!(lines.word().await, pair("ADDED", "a"), "{query}");
        assert_eq!(lines.word().await, pair("ADDED", "b"));
    }
    let stream =
        "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut lines = driver.watch(&start(stream)).await;
    assert_eq!(lines.word().await, pair("ADDED", "a"));
    assert_eq!(lines.word().await, pair("ADDED", "b"));
    let (word, bookmark) = lines.next().await.unwrap();
    assert_eq!(word, "BOOKMARK");
    assert_eq!(
        bookmark["metadata"]["annotations"]["k8s.io/initial-events-end"],
        "true"
    );
    let mut later = driver.watch(&start("sendInitialEvents=false")).await;
    let mut one = driver
        .watch(&format!(
            "{}?watch=true&resourceVersion={}",
            c("d"),
            version(&bookmark)
        ))
        .await;
    driver.create(CONFIG_MAPS, config_map("c")).await;
    driver.create(CONFIG_MAPS, config_map("d")).await;
    assert_eq!(lines.word().await, pair("ADDED", "c"));
    assert_eq!(later.word().await, pair("ADDED", "c"));
    assert_eq!(one.word().await, pair("ADDED", "d"));

    for query in [
        "sendInitialEvents=true",
        "resourceVersion=x",
        "resourceVersionMatch=Exact",
        "labelSelector=(",
    ] {
        assert_eq!(driver.get(&start(query)).await.0, 400, "{query}");
    }
}

#[tokio::test]
async fn a_watch_of_a_namespace_hears_nothing_from_others() {
    let driver = Driver::new().await;
    let mut here = driver
        .watch(&format!("{CONFIG_MAPS}?watch=true&resourceVersion=0"))
        .await;
    let mut everywhere = driver
        .watch("/api/v1/configmaps?watch=true&resourceVersion=0")
        .await;
    driver
        .create("/api/v1/namespaces/default/configmaps", config_map("x"))
        .await;
    driver.create(CONFIG_MAPS, config_map("y")).await;
    assert_eq!(here.word().await, pair("ADDED", "y"));
    assert_eq!(everywhere.word().await, pair("ADDED", "x"));
    assert_eq!(everywhere.word().await, pair("ADDED", "y"));
}

#[tokio::test]
async fn closing_the_cluster_ends_watches_and_answers_503() {
    let driver = Driver::new().await;
    let mut lines = driver
        .watch(&format!("{CONFIG_MAPS}?watch=true&resourceVersion=0"))
        .await;
    driver.create(CONFIG_MAPS, config_map("a")).await;
    driver.cluster.close();
    assert_eq!(lines.word().await, pair("ADDED", "a"));
    assert_eq!(lines.next().await, None);
    let (code, _) = driver
        .call(http::Method::POST, CONFIG_MAPS, config_map("b"))
        .await;
    assert_eq!(code, 503);
}

/// Every event once and in order, while many write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_writers_one_order() {
    let driver = Driver::new().await;
    let lines = driver
        .watch(&format!("{CONFIG_MAPS}?watch=true&resourceVersion=0"))
        .await;
    let reader = tokio::spawn(async move {
        let mut lines = lines;
        let mut seen: Vec<u64> = Vec::new();
        while seen.len() < 400 {
            let (_, object): (String, Value) = lines.next().await.unwrap();
            seen.push(version(&object));
        }
        seen
    });
    let writers = (0..20).map(|writer| {
        let driver = &driver;
        async move {
            for index in 0..20 {
                driver
                    .create(CONFIG_MAPS, config_map(&format!("c{writer}-{index}")))
                    .await;
            }
        }
    });
    futures::future::join_all(writers).await;
    let seen = reader.await.unwrap();
    assert!(seen.windows(2).all(|w| w[0] < w[1]));
    let (_, list) = driver.get(CONFIG_MAPS).await;
    assert_eq!(list["items"].as_array().unwrap().len(), 400);
    eventually("the newest version is the last event's", async || {
        (version(&list) == *seen.last().unwrap()).then_some(())
    })
    .await;
}
