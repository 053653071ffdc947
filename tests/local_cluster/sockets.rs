//! Other processes: the socket, who may use it, and who takes over.

use crate::driver::{CONFIG_MAPS, call, config_map, eventually, namespace, open_door};
use futures::{StreamExt as _, TryStreamExt as _};
use http::Method;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tidewaiter::local::{Identity, LocalCluster, Options, UserInfo, attach, connect};

async fn whoami(client: &kube::Client) -> Value {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let (code, answer) = call(client, Method::POST, path, "application/json", review).await;
    assert_eq!(code, 201, "{answer}");
    answer["status"]["userInfo"].clone()
}

async fn make(client: &kube::Client, path: &str, body: Value) {
    let (code, answer) = call(client, Method::POST, path, "application/json", body).await;
    assert_eq!(code, 201, "{answer}");
}

#[tokio::test]
async fn the_socket_serves_the_same_and_says_who_one_is() {
    let dir = tempfile::tempdir().unwrap();
    let cluster = LocalCluster::open(dir.path(), open_door()).unwrap();
    let guard = cluster.serve_socket().unwrap();
    let mode = std::fs::metadata(guard.path())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);

    let client = connect(dir.path(), None).await.unwrap();
    make(&client, "/api/v1/namespaces", namespace("shop")).await;
    make(&client, CONFIG_MAPS, config_map("a")).await;
    let inside = cluster.client(&UserInfo::named("ann"));
    let through = call(
        &client,
        Method::GET,
        CONFIG_MAPS,
        "application/json",
        Value::Null,
    )
    .await;
    assert_eq!(
        call(
            &inside,
            Method::GET,
            CONFIG_MAPS,
            "application/json",
            Value::Null
        )
        .await,
        through
    );

    let me = UserInfo::of_process().unwrap();
    assert_eq!(
        whoami(&client).await,
        json!({"username": me.name, "uid": me.uid, "groups": me.groups})
    );
    let mut bob = UserInfo::named("bob");
    bob.groups = vec!["devs".to_owned()];
    let as_bob = connect(dir.path(), Some(&bob)).await.unwrap();
    assert_eq!(
        whoami(&as_bob).await,
        json!({"username": "bob", "groups": ["devs", "system:authenticated"], "extra": {"impersonatedBy": [me.name]}})
    );

    let path = guard.path().to_owned();
    drop(guard);
    assert!(!path.exists());
}

#[tokio::test]
async fn a_path_that_is_too_long_falls_back_to_a_short_one() {
    let dir = tempfile::tempdir().unwrap();
    let runtime = tempfile::tempdir().unwrap();
    let deep = dir.path().join("d".repeat(60)).join("e".repeat(60));
    let options = Options {
        runtime_dir: Some(runtime.path().to_owned()),
        ..open_door()
    };
    let cluster = LocalCluster::open(&deep, options).unwrap();
    let guard = cluster.serve_socket().unwrap();
    assert!(guard.path().starts_with(runtime.path()));
    let recorded = std::fs::read_to_string(deep.join("api.sock.path")).unwrap();
    assert_eq!(Path::new(recorded.trim()), guard.path());
    let parent = std::fs::metadata(guard.path().parent().unwrap()).unwrap();
    assert_eq!(parent.permissions().mode() & 0o777, 0o700);
    let client = connect(&deep, None).await.unwrap();
    make(&client, "/api/v1/namespaces", namespace("shop")).await;
    drop(guard);
    assert_eq!(std::fs::read_dir(runtime.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn the_first_owns_and_the_next_takes_over() {
    let dir = tempfile::tempdir().unwrap();
    let first = attach(dir.path(), &Identity::default()).await.unwrap();
    let second = attach(dir.path(), &Identity::default()).await.unwrap();
    let third = attach(dir.path(), &Identity::default()).await.unwrap();
    assert!(first.is_owner().await && !second.is_owner().await);
    make(&second.client, "/api/v1/namespaces", namespace("shop")).await;
    make(&third.client, CONFIG_MAPS, config_map("a")).await;

    first.close().await;
    make(&second.client, CONFIG_MAPS, config_map("b")).await;
    assert!(second.is_owner().await);
    make(&third.client, CONFIG_MAPS, config_map("c")).await;
    assert!(!third.is_owner().await);
    let (_, list) = call(
        &third.client,
        Method::GET,
        CONFIG_MAPS,
        "application/json",
        Value::Null,
    )
    .await;
    assert_eq!(list["items"].as_array().unwrap().len(), 3);
    assert!(first.client.apiserver_version().await.is_err());
}

#[tokio::test]
async fn acting_as_somebody_is_the_same_for_the_owner_and_for_others() {
    let dir = tempfile::tempdir().unwrap();
    let me = UserInfo::of_process().unwrap();
    let as_bob = Identity {
        user: Some("bob".to_owned()),
        groups: vec![],
    };
    let owner = attach(dir.path(), &as_bob).await.unwrap();
    let other = attach(dir.path(), &as_bob).await.unwrap();
    assert!(owner.is_owner().await && !other.is_owner().await);
    assert_eq!(whoami(&owner.client).await, whoami(&other.client).await);
    assert_eq!(
        owner.user.impersonated_by.as_deref(),
        Some(me.name.as_str())
    );
    let cid = UserInfo::named("cid");
    assert_eq!(
        whoami(&owner.client_for(&cid)).await,
        whoami(&other.client_for(&cid)).await
    );
    assert_eq!(whoami(&owner.client_for(&cid)).await["username"], "cid");
}

#[tokio::test]
async fn nobody_there_is_said_with_the_folder() {
    let dir = tempfile::tempdir().unwrap();
    let began = std::time::Instant::now();
    let error = connect(dir.path(), None).await.err().unwrap();
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "there is no owner to wait for"
    );
    assert!(
        error.to_string().contains(dir.path().to_str().unwrap()),
        "{error}"
    );
}

const CHILD_DIR: &str = "TIDEWAITER_TEST_OWNER";

/// Not a test of its own: an owner in another process, until its standard input ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_that_owns() {
    let Some(dir) = std::env::var_os(CHILD_DIR) else {
        return;
    };
    let attached = attach(Path::new(&dir), &Identity::default()).await.unwrap();
    assert!(attached.is_owner().await);
    make(&attached.client, "/api/v1/namespaces", namespace("shop")).await;
    make(&attached.client, CONFIG_MAPS, config_map("from-child")).await;
    println!("\nready");
    std::io::stdout().flush().unwrap();
    tokio::task::spawn_blocking(|| std::io::stdin().lines().count())
        .await
        .unwrap();
}

fn owner_process(dir: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "sockets::child_that_owns", "--nocapture"])
        .env(CHILD_DIR, dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "ready"));
    child
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_goes_on_when_the_owner_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = owner_process(dir.path());
    let here = attach(dir.path(), &Identity::default()).await.unwrap();
    assert!(!here.is_owner().await);
    let api: Api<ConfigMap> = Api::namespaced(here.client.clone(), "shop");
    let mut seen = watcher(api.clone(), watcher::Config::default())
        .backoff(backoff())
        .applied_objects()
        .filter_map(async |object| object.ok())
        .map(|object| object.metadata.name.unwrap())
        .boxed();
    assert_eq!(seen.next().await.as_deref(), Some("from-child"));

    child.kill().unwrap();
    child.wait().unwrap();
    let new: ConfigMap = serde_json::from_value(config_map("after")).unwrap();
    eventually("this process took over", async || {
        api.create(&PostParams::default(), &new).await.ok()
    })
    .await;
    assert!(here.is_owner().await);
    let mut after = seen.filter(|name| std::future::ready(name == "after"));
    let next = tokio::time::timeout(Duration::from_secs(20), after.next()).await;
    assert_eq!(next.unwrap().as_deref(), Some("after"));
}

fn backoff() -> impl kube::runtime::utils::Backoff {
    watcher::DefaultBackoff::default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_list_comes_whole_over_the_socket() {
    let dir = tempfile::tempdir().unwrap();
    let cluster = LocalCluster::open(dir.path(), open_door()).unwrap();
    let _guard = cluster.serve_socket().unwrap();
    let client = connect(dir.path(), None).await.unwrap();
    make(&client, "/api/v1/namespaces", namespace("shop")).await;
    let all = futures::stream::iter(0..1000)
        .map(|index| {
            let client = client.clone();
            async move {
                let mut object = config_map(&format!("c{index}"));
                object["data"]["filling"] = "x".repeat(5000).into();
                make(&client, CONFIG_MAPS, object).await;
                Ok::<(), ()>(())
            }
        })
        .buffer_unordered(50);
    all.try_collect::<Vec<()>>().await.unwrap();
    let api: Api<ConfigMap> = Api::namespaced(client, "shop");
    let list = api.list(&kube::api::ListParams::default()).await.unwrap();
    assert_eq!(list.items.len(), 1000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_many_want_to_take_over_one_does() {
    let dir = tempfile::tempdir().unwrap();
    let first = attach(dir.path(), &Identity::default()).await.unwrap();
    make(&first.client, "/api/v1/namespaces", namespace("shop")).await;
    let mut others = Vec::new();
    for _ in 0..6 {
        others.push(attach(dir.path(), &Identity::default()).await.unwrap());
    }
    first.close().await;
    let writes = others.iter().enumerate().map(|(index, other)| async move {
        make(&other.client, CONFIG_MAPS, config_map(&format!("c{index}"))).await;
    });
    futures::future::join_all(writes).await;
    let mut owners = 0;
    for other in &others {
        owners += usize::from(other.is_owner().await);
        let (_, list) = call(
            &other.client,
            Method::GET,
            CONFIG_MAPS,
            "application/json",
            Value::Null,
        )
        .await;
        assert_eq!(list["items"].as_array().unwrap().len(), 6);
    }
    assert_eq!(owners, 1);
}
