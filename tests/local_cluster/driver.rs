//! A cluster under test and plain HTTP to it.

use futures::StreamExt as _;
use http::{Method, Request};
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::{Value, json};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tidewaiter::local::{AdmitAll, LocalCluster, Options, UserInfo};

pub const PATIENCE: Duration = Duration::from_secs(20);

/// A cluster in memory with a client for `ann`, and the namespace `shop`.
pub struct Driver {
    pub cluster: Arc<LocalCluster>,
    pub client: kube::Client,
}

impl Driver {
    pub async fn new() -> Self {
        Self::with(open_door()).await
    }

    pub async fn with(options: Options) -> Self {
        let cluster = LocalCluster::memory(options).unwrap();
        let client = cluster.client(&UserInfo::named("ann"));
        let driver = Self { cluster, client };
        driver.create("/api/v1/namespaces", namespace("shop")).await;
        driver
    }

    pub async fn call(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let media = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        call(&self.client, method, path, media, body).await
    }

    pub async fn create(&self, path: &str, body: Value) -> Value {
        let (code, answer) = self.call(Method::POST, path, body).await;
        assert_eq!(code, 201, "{answer}");
        answer
    }

    pub async fn get(&self, path: &str) -> (u16, Value) {
        self.call(Method::GET, path, Value::Null).await
    }

    pub async fn merge(&self, path: &str, body: Value) -> (u16, Value) {
        self.call(Method::PATCH, path, body).await
    }

    pub async fn delete(&self, path: &str) -> (u16, Value) {
        self.call(Method::DELETE, path, Value::Null).await
    }

    pub async fn watch(&self, path: &str) -> Lines {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = self.client.send(request).await.unwrap();
        assert_eq!(response.status(), 200);
        Lines {
            body: response.into_body(),
            rest: Vec::new(),
        }
    }

    /// Waits until a path answers with this code.
    pub async fn until_code(&self, path: &str, code: u16) -> Value {
        eventually(path, async || {
            let (found, answer) = self.get(path).await;
            (found == code).then_some(answer)
        })
        .await
    }
}

/// Options under which every write that is well formed is let in.
pub fn open_door() -> Options {
    Options {
        admission: Arc::new(AdmitAll),
        ..Options::default()
    }
}

/// One HTTP request; the answer's code and JSON.
pub async fn call(
    client: &kube::Client,
    method: Method,
    path: &str,
    media: &str,
    body: Value,
) -> (u16, Value) {
    let body = if body.is_null() {
        Vec::new()
    } else {
        body.to_string().into_bytes()
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", media)
        .body(Body::from(body))
        .unwrap();
    let response = client.send(request).await.unwrap();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let value = serde_json::from_slice(&bytes)
        .unwrap_or_else(|_| Value::from(String::from_utf8_lossy(&bytes).into_owned()));
    (code, value)
}

/// The events of a watch.
pub struct Lines {
    body: Body,
    rest: Vec<u8>,
}

impl Lines {
    /// The next event, or none when the stream has ended.
    pub async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                let event: Value = serde_json::from_slice(&line).unwrap();
                let word = event["type"].as_str().unwrap().to_owned();
                return Some((word, event["object"].clone()));
            }
            let frame = tokio::time::timeout(PATIENCE, self.body.frame())
                .await
                .expect("no event came");
            self.rest.extend(frame?.unwrap().into_data().unwrap());
        }
    }

    /// The next event's word and the object's name.
    pub async fn word(&mut self) -> (String, String) {
        let (word, object) = self.next().await.expect("the watch ended");
        let name = object["metadata"]["name"].as_str().unwrap_or("").to_owned();
        (word, name)
    }
}

/// Asks again until there is an answer.
pub async fn eventually<T, F: Future<Output = Option<T>>>(
    what: &str,
    mut ask: impl FnMut() -> F,
) -> T {
    let ticks = futures::stream::repeat(()).then(|()| tokio::time::sleep(Duration::from_millis(5)));
    let asked = async {
        let mut ticks = std::pin::pin!(ticks);
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            ticks.next().await;
        }
    };
    tokio::time::timeout(PATIENCE, asked)
        .await
        .unwrap_or_else(|_| panic!("never happened: {what}"))
}

pub const STAGES: &str = "/apis/kargo.akuity.io/v1alpha1/namespaces/shop/stages";
pub const PROMOTIONS: &str = "/apis/kargo.akuity.io/v1alpha1/namespaces/shop/promotions";
pub const FREIGHTS: &str = "/apis/kargo.akuity.io/v1alpha1/namespaces/shop/freights";
pub const PROJECTS: &str = "/apis/kargo.akuity.io/v1alpha1/projects";
pub const CONFIG_MAPS: &str = "/api/v1/namespaces/shop/configmaps";

pub fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

pub fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "1"}})
}

pub fn stage(name: &str) -> Value {
    json!({
        "apiVersion": "kargo.akuity.io/v1alpha1", "kind": "Stage",
        "metadata": {"name": name},
        "spec": {"requestedFreight": [
            {"origin": {"kind": "Warehouse", "name": "w"}, "sources": {"direct": true}},
        ]},
    })
}

pub fn promotion(name: &str) -> Value {
    json!({
        "apiVersion": "kargo.akuity.io/v1alpha1", "kind": "Promotion",
        "metadata": {"name": name, "labels": {"stage": "prod"}},
        "spec": {"stage": "prod", "freight": "f", "steps": [{"uses": "http", "config": {"url": "x"}}]},
    })
}

pub fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap()
}

pub fn labelled(mut object: Value, key: &str, value: &str) -> Value {
    object["metadata"]["labels"][key] = value.into();
    object
}
