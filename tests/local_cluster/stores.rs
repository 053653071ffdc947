//! The file: what survives, what is refused, and how fast it is.

use crate::driver::{
    CONFIG_MAPS, PROMOTIONS, call, config_map, eventually, namespace, open_door, promotion, version,
};
use futures::StreamExt as _;
use http::Method;
use redb::ReadableTable as _;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidewaiter::local::{LocalCluster, OpenError, UserInfo};

fn open(dir: &Path) -> Result<Arc<LocalCluster>, OpenError> {
    LocalCluster::open(dir, open_door())
}

fn client(cluster: &LocalCluster) -> kube::Client {
    cluster.client(&UserInfo::named("ann"))
}

async fn post(client: &kube::Client, path: &str, body: Value) -> Value {
    let (code, answer) = call(client, Method::POST, path, "application/json", body).await;
    assert_eq!(code, 201, "{answer}");
    answer
}

async fn get(client: &kube::Client, path: &str) -> Value {
    call(client, Method::GET, path, "application/json", Value::Null)
        .await
        .1
}

/// A closed store with a few objects.
async fn some_store() -> (tempfile::TempDir, Value) {
    let dir = tempfile::tempdir().unwrap();
    let cluster = open(dir.path()).unwrap();
    let client = client(&cluster);
    post(&client, "/api/v1/namespaces", namespace("shop")).await;
    for index in 0..20 {
        post(&client, CONFIG_MAPS, config_map(&format!("c{index}"))).await;
    }
    let list = get(&client, CONFIG_MAPS).await;
    drop(cluster);
    (dir, list)
}

#[tokio::test]
async fn everything_is_there_after_opening_again() {
    let (dir, before) = some_store().await;
    let cluster = open(dir.path()).unwrap();
    let client = client(&cluster);
    assert_eq!(get(&client, CONFIG_MAPS).await, before);
    let new = post(&client, CONFIG_MAPS, config_map("new")).await;
    assert!(version(&new) > version(&before));
    // History does not survive: who was behind lists again.
    let path = format!(
        "{CONFIG_MAPS}?resourceVersion={}&resourceVersionMatch=Exact",
        version(&before) - 1
    );
    let (code, _) = call(&client, Method::GET, &path, "application/json", Value::Null).await;
    assert_eq!(code, 410);
}

#[tokio::test]
async fn a_store_has_one_owner() {
    let dir = tempfile::tempdir().unwrap();
    let first = open(dir.path()).unwrap();
    assert!(matches!(open(dir.path()), Err(OpenError::InUse { .. })));
    drop(first);
    open(dir.path()).unwrap();
}

/// Opening is refused with one sentence, and the file stays as it was.
fn refused(dir: &Path, content: &[u8]) -> OpenError {
    let file = dir.join("store.redb");
    std::fs::write(&file, content).unwrap();
    let error = open(dir).err().expect("opened");
    assert_eq!(std::fs::read(&file).unwrap(), content, "{error}");
    assert!(!error.to_string().contains('\n'), "{error}");
    error
}

#[tokio::test]
async fn foreign_files_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    for content in [&b""[..], b"hello", b"SQLite format 3\0", &[0; 8192]] {
        assert!(matches!(
            refused(dir.path(), content),
            OpenError::Foreign { .. }
        ));
    }
    // Somebody else's redb database.
    let other = dir.path().join("other.redb");
    let database = redb::Database::create(&other).unwrap();
    let table: redb::TableDefinition<'_, &str, u64> = redb::TableDefinition::new("theirs");
    let transaction = database.begin_write().unwrap();
    transaction
        .open_table(table)
        .unwrap()
        .insert("a", 1)
        .unwrap();
    transaction.commit().unwrap();
    drop(database);
    let content = std::fs::read(&other).unwrap();
    assert!(matches!(
        refused(dir.path(), &content),
        OpenError::Foreign { .. }
    ));
}

#[tokio::test]
async fn a_newer_store_is_left_alone() {
    use sha2::Digest as _;
    let (dir, _) = some_store().await;
    let file = dir.path().join("store.redb");
    {
        let database = redb::Database::open(&file).unwrap();
        let facts: redb::TableDefinition<'_, &str, &[u8]> = redb::TableDefinition::new("facts");
        let transaction = database.begin_write().unwrap();
        let content = b"tidewaiter local store 2";
        let mut hash = sha2::Sha256::new();
        hash.update(6u64.to_be_bytes());
        hash.update(b"format");
        hash.update(content);
        let mut value = hash.finalize()[..16].to_vec();
        value.extend_from_slice(content);
        transaction
            .open_table(facts)
            .unwrap()
            .insert("format", value.as_slice())
            .unwrap();
        transaction.commit().unwrap();
    }
    let content = std::fs::read(&file).unwrap();
    let error = refused(dir.path(), &content);
    assert!(
        matches!(&error, OpenError::Newer { found, .. } if found == "2"),
        "{error}"
    );
}

#[tokio::test]
async fn truncated_stores_are_left_alone() {
    let (dir, _) = some_store().await;
    let content = std::fs::read(dir.path().join("store.redb")).unwrap();
    for part in 1..16 {
        let cut = &content[..content.len() * part / 16];
        refused(dir.path(), cut);
    }
    refused(dir.path(), &content[..content.len() - 1]);
    refused(dir.path(), &content[..9]);
}

/// A flipped byte is found, or does no harm: never is anything else read.
#[tokio::test]
async fn damage_is_found_or_does_no_harm() {
    let (dir, before) = some_store().await;
    let file = dir.path().join("store.redb");
    let content = std::fs::read(&file).unwrap();
    let mut refusals = 0;
    for step in 0..150 {
        // Prime strides visit headers, keys, values and free pages.
        let at = (step * 7919 * 13) % content.len().min(200_000);
        let mut broken = content.clone();
        broken[at] ^= 0x55;
        std::fs::write(&file, &broken).unwrap();
        match open(dir.path()) {
            Err(error) => {
                refusals += 1;
                assert_eq!(std::fs::read(&file).unwrap(), broken, "{error}");
            }
            Ok(cluster) => {
                let client = client(&cluster);
                assert_eq!(get(&client, CONFIG_MAPS).await, before, "byte {at}");
                cluster.close();
            }
        }
    }
    assert!(refusals > 0);
}

#[tokio::test]
async fn a_changed_value_is_damage() {
    let (dir, _) = some_store().await;
    let file = dir.path().join("store.redb");
    {
        let database = redb::Database::open(&file).unwrap();
        let objects: redb::TableDefinition<'_, &str, &[u8]> = redb::TableDefinition::new("objects");
        let transaction = database.begin_write().unwrap();
        {
            let mut table = transaction.open_table(objects).unwrap();
            let key = "configmaps/shop/c3";
            let mut value = table.get(key).unwrap().unwrap().value().to_vec();
            *value.last_mut().unwrap() = b' ';
            table.insert(key, value.as_slice()).unwrap();
        }
        transaction.commit().unwrap();
    }
    let content = std::fs::read(&file).unwrap();
    let error = refused(dir.path(), &content);
    assert!(error.to_string().contains("configmaps/shop/c3"), "{error}");
}

const CHILD_DIR: &str = "TIDEWAITER_TEST_STORE";

/// Not a test of its own: what the next one kills. It prints the name of each acknowledged object.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_that_writes() {
    let Some(dir) = std::env::var_os(CHILD_DIR) else {
        return;
    };
    let cluster = open(Path::new(&dir)).unwrap();
    let client = client(&cluster);
    let writers = (0..8).map(|writer| {
        let client = client.clone();
        async move {
            for index in 0.. {
                let name = format!("{}-w{writer}-{index}", std::process::id());
                let mut object = config_map(&name);
                object["data"]["filling"] = "x".repeat(index % 5000).into();
                post(&client, CONFIG_MAPS, object).await;
                println!("stored {name}");
            }
        }
    });
    futures::future::join_all(writers).await;
}

#[tokio::test]
async fn a_kill_at_any_moment_loses_nothing_acknowledged() {
    let (dir, _) = some_store().await;
    let mut acknowledged: Vec<String> = Vec::new();
    for round in 0..6 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "stores::child_that_writes", "--nocapture"])
            .env(CHILD_DIR, dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut told = 0;
        // Killed after a different number of answers each time, in the middle of whatever it does.
        while told < 20 + round * 37 {
            let line = lines.next().expect("the child ended").unwrap();
            if let Some((_, name)) = line.split_once("stored ") {
                acknowledged.push(name.to_owned());
                told += 1;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        for line in lines.map_while(Result::ok) {
            if let Some(name) = line.strip_prefix("stored ") {
                acknowledged.push(name.to_owned());
            }
        }
    }
    let cluster = open(dir.path()).unwrap();
    let list = get(&client(&cluster), CONFIG_MAPS).await;
    let names: std::collections::BTreeSet<&str> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|o| o["metadata"]["name"].as_str().unwrap())
        .collect();
    assert!(acknowledged.len() > 600, "{}", acknowledged.len());
    for name in &acknowledged {
        assert!(
            names.contains(name.as_str()),
            "{name} was acknowledged and is gone"
        );
    }
}

/// Status patches of many promotions at once share commits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn status_patches_are_fast() {
    let dir = tempfile::tempdir().unwrap();
    let cluster = open(dir.path()).unwrap();
    let client = client(&cluster);
    post(&client, "/api/v1/namespaces", namespace("shop")).await;
    let all = (0..500).map(|index| {
        let client = client.clone();
        async move { post(&client, PROMOTIONS, promotion(&format!("p{index}"))).await }
    });
    futures::future::join_all(all).await;
    let began = Instant::now();
    let patches = (0..1000).map(|index| {
        let client = client.clone();
        async move {
            let path = format!("{PROMOTIONS}/p{}/status", index % 500);
            let body = json!({"status": {"phase": "Running", "message": format!("m{index}")}});
            let (code, _) = call(
                &client,
                Method::PATCH,
                &path,
                "application/merge-patch+json",
                body,
            )
            .await;
            assert_eq!(code, 200);
        }
    });
    futures::future::join_all(patches).await;
    let each = began.elapsed() / 1000;
    let began = Instant::now();
    for index in 0..50 {
        let path = format!("{PROMOTIONS}/p0/status");
        let body = json!({"status": {"message": format!("alone {index}")}});
        call(
            &client,
            Method::PATCH,
            &path,
            "application/merge-patch+json",
            body,
        )
        .await;
    }
    let alone = began.elapsed() / 50;
    println!("{each:?} a status patch among many, {alone:?} alone");
    assert!(each < Duration::from_millis(5), "{each:?} a status patch");
    eventually("all are running", async || {
        let list = get(&client, PROMOTIONS).await;
        list["items"]
            .as_array()
            .unwrap()
            .iter()
            .all(|p| p["status"]["phase"] == "Running")
            .then_some(())
    })
    .await;
}

/// The first page of many comes at once, however many there are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_page_of_thousands_comes_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let cluster = open(dir.path()).unwrap();
    let client = client(&cluster);
    post(&client, "/api/v1/namespaces", namespace("shop")).await;
    let creates = (0..5000).map(|index| {
        let client = client.clone();
        async move {
            let mut object = promotion(&format!("p{index}"));
            object["spec"]["steps"][0]["config"] = json!({"filling": "x".repeat(3000)});
            post(&client, PROMOTIONS, object).await
        }
    });
    let creates = futures::stream::iter(creates).buffer_unordered(200);
    assert_eq!(futures::StreamExt::count(creates).await, 5000);
    let began = Instant::now();
    let page = get(&client, &format!("{PROMOTIONS}?limit=500")).await;
    let first = began.elapsed();
    assert_eq!(page["items"].as_array().unwrap().len(), 500);
    assert_eq!(page["metadata"]["remainingItemCount"], 4500);
    assert!(
        first < Duration::from_secs(1),
        "{first:?} for the first page"
    );
    drop(cluster);
    let began = Instant::now();
    let _again = open(dir.path()).unwrap();
    println!(
        "{first:?} for the first page, {:?} to open again",
        began.elapsed()
    );
}
