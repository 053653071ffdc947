//! Lists: pages, versions, selectors, and objects cut down to their metadata.

use crate::driver::{
    CONFIG_MAPS, Driver, PROMOTIONS, config_map, labelled, namespace, open_door, promotion, version,
};
use http::{Method, Request};
use kube::api::{Api, ListParams};
use kube::core::PartialObjectMeta;
use serde_json::{Value, json};
use tidewaiter::local::Options;

fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|o| o["metadata"]["name"].as_str().unwrap().to_owned())
        .collect()
}

async fn with_maps(count: usize) -> Driver {
    let driver = Driver::new().await;
    for index in 0..count {
        driver
            .create(CONFIG_MAPS, config_map(&format!("c{index}")))
            .await;
    }
    driver
}

#[tokio::test]
async fn all_pages_are_one_snapshot() {
    let driver = with_maps(5).await;
    let (_, first) = driver.get(&format!("{CONFIG_MAPS}?limit=2")).await;
    assert_eq!(names(&first), ["c0", "c1"]);
    assert_eq!(first["metadata"]["remainingItemCount"], 3);

    // What happens between pages is not seen: a change, a deletion, a creation.
    driver
        .merge(
            &format!("{CONFIG_MAPS}/c2"),
            json!({"data": {"a": "changed"}}),
        )
        .await;
    driver.delete(&format!("{CONFIG_MAPS}/c3")).await;
    driver.create(CONFIG_MAPS, config_map("c25")).await;

    let next = |list: &Value| {
        let token = list["metadata"]["continue"].as_str().unwrap();
        format!("{CONFIG_MAPS}?limit=2&continue={token}")
    };
    let (_, second) = driver.get(&next(&first)).await;
    assert_eq!(names(&second), ["c2", "c3"]);
    assert_eq!(second["items"][0]["data"]["a"], "1");
    let (_, third) = driver.get(&next(&second)).await;
    assert_eq!(names(&third), ["c4"]);
    assert_eq!(third["metadata"].get("continue"), None);
    for list in [&second, &third] {
        assert_eq!(version(list), version(&first));
    }
    let (_, now) = driver.get(CONFIG_MAPS).await;
    assert_eq!(names(&now), ["c0", "c1", "c2", "c25", "c4"]);
    assert!(version(&now) > version(&first));
}

#[tokio::test]
async fn pages_expire_with_the_history() {
    let driver = with_maps(3).await;
    let (_, first) = driver.get(&format!("{CONFIG_MAPS}?limit=2")).await;
    let token = first["metadata"]["continue"].as_str().unwrap();
    driver.create(CONFIG_MAPS, config_map("new")).await;
    driver.cluster.compact_history();
    let (code, answer) = driver.get(&format!("{CONFIG_MAPS}?continue={token}")).await;
    assert_eq!((code, &answer["reason"]), (410, &json!("Expired")));
    assert_eq!(
        driver
            .get(&format!("{CONFIG_MAPS}?continue=rubbish"))
            .await
            .0,
        400
    );
}

#[tokio::test]
async fn versions_of_lists() {
    let driver = with_maps(1).await;
    let old = version(&driver.get(CONFIG_MAPS).await.1);
    let new = version(&driver.create(CONFIG_MAPS, config_map("c1")).await);
    let far = new + 1000;
    for (query, code, count) in [
        ("".to_owned(), 200, 2),
        ("resourceVersion=0".to_owned(), 200, 2),
        (
            "resourceVersion=0&resourceVersionMatch=NotOlderThan".to_owned(),
            200,
            2,
        ),
        (format!("resourceVersion={old}"), 200, 2),
        (
            format!("resourceVersion={old}&resourceVersionMatch=Exact"),
            200,
            1,
        ),
        (
            format!("resourceVersion={new}&resourceVersionMatch=Exact"),
            200,
            2,
        ),
        (format!("resourceVersion={old}&limit=5"), 200, 1),
        (
            format!("resourceVersion={old}&limit=5&resourceVersionMatch=NotOlderThan"),
            200,
            2,
        ),
        (format!("resourceVersion={far}"), 504, 0),
        (
            format!("resourceVersion={far}&resourceVersionMatch=Exact"),
            504,
            0,
        ),
        (
            "resourceVersion=0&resourceVersionMatch=Exact".to_owned(),
            400,
            0,
        ),
        ("resourceVersionMatch=Exact".to_owned(), 400, 0),
        ("resourceVersion=x".to_owned(), 400, 0),
        ("limit=x".to_owned(), 400, 0),
        ("labelSelector=a%20b".to_owned(), 400, 0),
        ("fieldSelector=spec.stage%3Dprod".to_owned(), 400, 0),
    ] {
        let (found, list) = driver.get(&format!("{CONFIG_MAPS}?{query}")).await;
        assert_eq!(found, code, "{query}: {list}");
        if code == 200 {
            assert_eq!(names(&list).len(), count, "{query}");
        }
    }
    driver.cluster.compact_history();
    let (code, _) = driver
        .get(&format!(
            "{CONFIG_MAPS}?resourceVersion={old}&resourceVersionMatch=Exact"
        ))
        .await;
    assert_eq!(code, 410);
}

#[tokio::test]
async fn selectors_and_namespaces() {
    let driver = Driver::new().await;
    driver.create("/api/v1/namespaces", namespace("pay")).await;
    driver
        .create(PROMOTIONS, labelled(promotion("a"), "shard", "eu"))
        .await;
    driver
        .create(PROMOTIONS, labelled(promotion("b"), "shard", "us"))
        .await;
    driver
        .create(
            &PROMOTIONS.replace("shop", "pay"),
            labelled(promotion("c"), "shard", "eu"),
        )
        .await;
    let everywhere = "/apis/kargo.akuity.io/v1alpha1/promotions";
    for (path, expected) in [
        (
            format!("{everywhere}?labelSelector=shard%3Deu"),
            vec!["c", "a"],
        ),
        (
            format!("{PROMOTIONS}?labelSelector=shard+in+(eu,us)"),
            vec!["a", "b"],
        ),
        (format!("{PROMOTIONS}?labelSelector=!shard"), vec![]),
        (
            format!("{PROMOTIONS}?fieldSelector=metadata.name%3Db"),
            vec!["b"],
        ),
        (
            format!("{everywhere}?fieldSelector=metadata.namespace%3Dpay"),
            vec!["c"],
        ),
    ] {
        assert_eq!(names(&driver.get(&path).await.1), expected, "{path}");
    }
}

#[tokio::test]
async fn metadata_alone() {
    let driver = Driver::new().await;
    driver.create(PROMOTIONS, promotion("p")).await;
    let api: Api<tidewaiter::kargo::Promotion> = Api::namespaced(driver.client.clone(), "shop");
    let one: PartialObjectMeta<_> = api.get_metadata("p").await.unwrap();
    assert_eq!(one.metadata.name.as_deref(), Some("p"));
    let list = api.list_metadata(&ListParams::default()).await.unwrap();
    assert_eq!(list.items.len(), 1);
    let request = Request::get(format!("{PROMOTIONS}/p"))
        .header(
            "accept",
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        )
        .body(Vec::new())
        .unwrap();
    let raw: Value = driver.client.request(request).await.unwrap();
    assert_eq!(raw["kind"], "PartialObjectMetadata");
    assert_eq!(raw.get("spec"), None);
}

#[tokio::test]
async fn discovery_lists_every_kind() {
    let driver = Driver::new().await;
    assert!(driver.get("/version").await.1["gitVersion"].is_string());
    assert_eq!(driver.get("/api").await.1["versions"], json!(["v1"]));
    let (_, groups) = driver.get("/apis").await;
    let groups: Vec<_> = groups["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|g| g["name"].as_str().unwrap())
        .collect();
    for group in [
        "kargo.akuity.io",
        "tidewaiter.dev",
        "argoproj.io",
        "coordination.k8s.io",
    ] {
        assert!(groups.contains(&group), "{groups:?}");
    }
    let (_, list) = driver.get("/apis/kargo.akuity.io/v1alpha1").await;
    let resources = list["resources"].as_array().unwrap();
    let find = |name: &str| resources.iter().find(|r| r["name"] == name).cloned();
    assert_eq!(
        find("promotions").unwrap()["shortNames"],
        json!(["promo", "promos"])
    );
    assert!(find("promotions/status").is_some() && find("promotiontasks/status").is_none());
    assert_eq!(find("projects").unwrap()["namespaced"], false);
    assert_eq!(driver.get("/apis/kargo.akuity.io/v2").await.0, 404);
    let request = Request::builder()
        .method(Method::GET)
        .uri("/readyz")
        .body(Vec::new())
        .unwrap();
    assert_eq!(driver.client.request_text(request).await.unwrap(), "ok");
}

/// Old history goes by age too, without a write to push it out.
#[tokio::test]
async fn history_ends_by_age() {
    let driver = Driver::with(Options {
        history_age: std::time::Duration::ZERO,
        ..open_door()
    })
    .await;
    driver.create(CONFIG_MAPS, config_map("a")).await;
    driver.create(CONFIG_MAPS, config_map("b")).await;
    let (_, first) = driver.get(&format!("{CONFIG_MAPS}?limit=1")).await;
    driver.create(CONFIG_MAPS, config_map("c")).await;
    let token = first["metadata"]["continue"].as_str().unwrap();
    assert_eq!(
        driver
            .get(&format!("{CONFIG_MAPS}?continue={token}"))
            .await
            .0,
        410
    );
}

#[tokio::test]
async fn kubectl_gets_tables() {
    let driver = Driver::new().await;
    driver.create(PROMOTIONS, promotion("p")).await;
    let table = async |path: String| -> Value {
        let request = Request::get(path)
            .header(
                "accept",
                "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
            )
            .body(Vec::new())
            .unwrap();
        driver.client.request(request).await.unwrap()
    };
    let list = table(PROMOTIONS.to_owned()).await;
    assert_eq!(list["kind"], "Table");
    assert!(list["metadata"]["resourceVersion"].is_string());
    let names: Vec<_> = list["columnDefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| column["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["Name", "Shard", "Stage", "Freight", "Phase", "Age"]);
    let row = &list["rows"][0];
    assert_eq!(row["cells"].as_array().unwrap().len(), names.len());
    assert_eq!(row["cells"][0], "p");
    assert_eq!(row["object"]["metadata"]["name"], "p");
    assert_eq!(row["object"].get("spec"), None);
    let one = table(format!("{PROMOTIONS}/p?includeObject=Object")).await;
    assert_eq!(one["rows"][0]["object"]["spec"]["stage"], "prod");
    assert_eq!(one["rows"][0]["cells"][2], "prod");
}
