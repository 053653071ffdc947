//! What the cluster does by itself.

use crate::driver::{
    CONFIG_MAPS, Driver, PROJECTS, PROMOTIONS, STAGES, config_map, eventually, namespace,
    promotion, stage,
};
use http::Method;
use serde_json::{Value, json};

fn owned(name: &str, owners: &[&Value]) -> Value {
    let mut object = config_map(name);
    let references: Vec<Value> = owners
        .iter()
        .map(|owner| {
            json!({"apiVersion": owner["apiVersion"], "kind": owner["kind"],
                "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]})
        })
        .collect();
    object["metadata"]["ownerReferences"] = json!(references);
    object
}

fn c(name: &str) -> String {
    format!("{CONFIG_MAPS}/{name}")
}

#[tokio::test]
async fn what_has_lost_all_its_owners_is_collected() {
    let driver = Driver::new().await;
    let a = driver.create(STAGES, stage("a")).await;
    let b = driver.create(STAGES, stage("b")).await;
    driver.create(CONFIG_MAPS, owned("of-a", &[&a])).await;
    driver
        .create(CONFIG_MAPS, owned("of-both", &[&a, &b]))
        .await;
    let parent = driver.get(&c("of-a")).await.1;
    driver
        .create(CONFIG_MAPS, owned("grandchild", &[&parent]))
        .await;
    let foreign = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "uid": "u"}});
    driver
        .create(CONFIG_MAPS, owned("of-unknown-kind", &[&foreign]))
        .await;

    driver.delete(&format!("{STAGES}/a")).await;
    driver.until_code(&c("of-a"), 404).await;
    driver.until_code(&c("grandchild"), 404).await;
    let left = eventually("the reference to a is gone", async || {
        let (_, object) = driver.get(&c("of-both")).await;
        let owners = object["metadata"]["ownerReferences"]
            .as_array()
            .unwrap()
            .clone();
        (owners.len() == 1).then_some(owners)
    })
    .await;
    assert_eq!(left[0]["uid"], b["metadata"]["uid"]);
    assert_eq!(driver.get(&c("of-unknown-kind")).await.0, 200);
}

#[tokio::test]
async fn an_owner_of_the_same_name_is_another() {
    let driver = Driver::new().await;
    let old = driver.create(STAGES, stage("a")).await;
    driver.create(CONFIG_MAPS, owned("of-old", &[&old])).await;
    driver.delete(&format!("{STAGES}/a")).await;
    let new = driver.create(STAGES, stage("a")).await;
    driver.create(CONFIG_MAPS, owned("of-new", &[&new])).await;
    driver.until_code(&c("of-old"), 404).await;
    assert_eq!(driver.get(&c("of-new")).await.0, 200);
    // One that comes after its owner has gone is collected too.
    driver.create(CONFIG_MAPS, owned("late", &[&old])).await;
    driver.until_code(&c("late"), 404).await;
}

#[tokio::test]
async fn a_namespace_that_goes_takes_everything_along() {
    let driver = Driver::new().await;
    driver.create(PROMOTIONS, promotion("p")).await;
    let mut held = config_map("held");
    held["metadata"]["finalizers"] = json!(["x.dev/y"]);
    driver.create(CONFIG_MAPS, held).await;
    let (code, marked) = driver.delete("/api/v1/namespaces/shop").await;
    assert_eq!(
        (code, &marked["status"]["phase"]),
        (200, &json!("Terminating"))
    );
    driver.until_code(&format!("{PROMOTIONS}/p"), 404).await;

    let (code, answer) = driver
        .call(Method::POST, CONFIG_MAPS, config_map("new"))
        .await;
    assert_eq!((code, &answer["reason"]), (403, &json!("Forbidden")));
    assert_eq!(driver.get("/api/v1/namespaces/shop").await.0, 200);
    driver
        .merge(&c("held"), json!({"metadata": {"finalizers": null}}))
        .await;
    driver.until_code("/api/v1/namespaces/shop", 404).await;
    let (code, _) = driver
        .call(Method::POST, CONFIG_MAPS, config_map("new"))
        .await;
    assert_eq!(code, 404);
}

fn project(name: &str) -> Value {
    json!({"apiVersion": "kargo.akuity.io/v1alpha1", "kind": "Project", "metadata": {"name": name}})
}

async fn ready(driver: &Driver, name: &str) -> Value {
    eventually("the Project has a condition", async || {
        let (_, project) = driver.get(&format!("{PROJECTS}/{name}")).await;
        project["status"]["conditions"]
            .as_array()
            .and_then(|list| list.first().cloned())
    })
    .await
}

#[tokio::test]
async fn a_project_makes_its_namespace_and_takes_it_along() {
    let driver = Driver::new().await;
    driver.create(PROJECTS, project("pay")).await;
    assert_eq!(ready(&driver, "pay").await["status"], "True");
    let (_, made) = driver.get("/api/v1/namespaces/pay").await;
    assert_eq!(
        made["metadata"]["labels"]["kargo.akuity.io/project"],
        "true"
    );
    driver
        .create(&STAGES.replace("shop", "pay"), stage("s"))
        .await;

    driver.delete(&format!("{PROJECTS}/pay")).await;
    driver.until_code(&format!("{PROJECTS}/pay"), 404).await;
    driver.until_code("/api/v1/namespaces/pay", 404).await;
    let (_, list) = driver.get("/apis/kargo.akuity.io/v1alpha1/stages").await;
    assert_eq!(list["items"], json!([]));
}

#[tokio::test]
async fn a_project_may_keep_its_namespace() {
    let driver = Driver::new().await;
    let mut object = project("pay");
    object["metadata"]["annotations"] = json!({"kargo.akuity.io/keep-namespace": "true"});
    driver.create(PROJECTS, object).await;
    ready(&driver, "pay").await;
    driver.delete(&format!("{PROJECTS}/pay")).await;
    driver.until_code(&format!("{PROJECTS}/pay"), 404).await;
    let (code, kept) = driver.get("/api/v1/namespaces/pay").await;
    assert_eq!(
        (code, kept["metadata"].get("deletionTimestamp")),
        (200, None)
    );
}

#[tokio::test]
async fn a_namespace_of_others_is_not_taken() {
    let driver = Driver::new().await;
    driver.create(PROJECTS, project("shop")).await;
    assert_eq!(ready(&driver, "shop").await["status"], "False");
    driver.delete(&format!("{PROJECTS}/shop")).await;
    driver.until_code(&format!("{PROJECTS}/shop"), 404).await;
    assert_eq!(driver.get("/api/v1/namespaces/shop").await.0, 200);
}

#[tokio::test]
async fn a_projects_namespace_deleted_by_hand_takes_the_project_along() {
    let driver = Driver::new().await;
    driver
        .create("/api/v1/namespaces", namespace("other"))
        .await;
    driver.create(PROJECTS, project("pay")).await;
    ready(&driver, "pay").await;
    driver.delete("/api/v1/namespaces/pay").await;
    driver.until_code("/api/v1/namespaces/pay", 404).await;
    driver.until_code(&format!("{PROJECTS}/pay"), 404).await;
}
