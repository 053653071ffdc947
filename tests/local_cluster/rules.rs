//! Kargo's rules and ours in force, as they are by default.

use crate::driver::{Driver, FREIGHTS, PROJECTS, STAGES, call, eventually, stage};
use http::Method;
use serde_json::{Value, json};
use tidewaiter::local::{Options, UserInfo};

const FREIGHT: &str = "apis/kargo.akuity.io/v1alpha1/namespaces/pay/freights";

/// A Project `pay` with the Stage `prod` and a piece of Freight, whose name is given back.
async fn pipeline() -> (Driver, String) {
    let driver = Driver::with(Options::default()).await;
    let project = json!({"apiVersion": "kargo.akuity.io/v1alpha1", "kind": "Project", "metadata": {"name": "pay"}});
    driver.create(PROJECTS, project).await;
    driver.until_code("/api/v1/namespaces/pay", 200).await;
    let mut prod = stage("prod");
    prod["spec"]["promotionTemplate"] =
        json!({"spec": {"steps": [{"uses": "git-clone", "as": "clone"}]}});
    driver.create(&in_pay(STAGES), prod).await;
    let warehouse = json!({"apiVersion": "kargo.akuity.io/v1alpha1", "kind": "Warehouse", "metadata": {"name": "w"},
        "spec": {"subscriptions": [{"image": {"repoURL": "example.com/app"}}]}});
    driver
        .create(&in_pay(STAGES).replace("stages", "warehouses"), warehouse)
        .await;
    let freight = json!({"apiVersion": "kargo.akuity.io/v1alpha1", "kind": "Freight",
        "metadata": {"name": "any"}, "origin": {"kind": "Warehouse", "name": "w"},
        "images": [{"repoURL": "example.com/app", "tag": "1.0.0"}]});
    let made = driver.create(&format!("/{FREIGHT}"), freight).await;
    let name = made["metadata"]["name"].as_str().unwrap().to_owned();
    (driver, name)
}

fn in_pay(path: &str) -> String {
    path.replace("/shop/", "/pay/")
}

fn promotions() -> String {
    FREIGHT.replace("freights", "promotions")
}

fn request(freight: &str) -> Value {
    json!({"apiVersion": "kargo.akuity.io/v1alpha1", "kind": "Promotion",
        "metadata": {"generateName": "promo-", "annotations": {"mine": "x"}},
        "spec": {"stage": "prod", "freight": freight}})
}

#[tokio::test]
async fn a_promotion_is_named_filled_in_and_bound_to_its_stage() {
    let (driver, freight) = pipeline().await;
    assert_eq!(freight.len(), 40, "Freight is named by its content");
    let path = format!("/{}", promotions());
    let mut names = Vec::new();
    for _ in 0..3 {
        let made = driver.create(&path, request(&freight)).await;
        names.push(made["metadata"]["name"].as_str().unwrap().to_owned());
        assert_eq!(made["spec"]["steps"][0]["uses"], "git-clone");
        assert_eq!(made["metadata"]["annotations"]["mine"], "x");
        assert_eq!(
            made["metadata"]["annotations"]["kargo.akuity.io/create-actor"],
            "kubernetes:ann"
        );
        assert_eq!(made["metadata"]["ownerReferences"][0]["name"], "prod");
    }
    assert!(
        names[0].starts_with("prod.") && names.is_sorted(),
        "{names:?}"
    );
    assert!(names[0] < names[1] && names[1] < names[2], "{names:?}");

    let (code, answer) = driver
        .call(Method::POST, &path, request(&"0".repeat(40)))
        .await;
    assert!(code >= 400, "{answer}");
    driver.delete(&format!("{}/prod", in_pay(STAGES))).await;
    eventually("Promotions die with their Stage", async || {
        (driver.get(&path).await.1["items"] == json!([])).then_some(())
    })
    .await;
}

#[tokio::test]
async fn questions_are_the_executors_and_answers_ones_own() {
    let (driver, _) = pipeline().await;
    let requests = "/apis/tidewaiter.dev/v1alpha1/namespaces/pay/approvalrequests";
    let question = json!({"apiVersion": "tidewaiter.dev/v1alpha1", "kind": "ApprovalRequest",
        "metadata": {"name": "q"},
        "spec": {"stage": "prod", "promotion": {"name": "p", "uid": "u"}, "step": "gate",
            "minApprovals": 1, "change": {"digest": "d"}}});
    let (code, _) = driver.call(Method::POST, requests, question.clone()).await;
    assert_eq!(code, 403);
    let executor = driver.cluster.client(&UserInfo::executor());
    let (code, made) = call(
        &executor,
        Method::POST,
        requests,
        "application/json",
        question,
    )
    .await;
    assert_eq!(code, 201, "{made}");

    let approvals = "/apis/tidewaiter.dev/v1alpha1/namespaces/pay/approvals";
    let answer = |user: &str| {
        json!({"apiVersion": "tidewaiter.dev/v1alpha1", "kind": "Approval", "metadata": {"generateName": "a-"},
            "spec": {"request": "q", "requestUid": made["metadata"]["uid"], "stage": "prod",
                "decision": "Approve", "digest": "d", "user": user}})
    };
    let (code, denied) = driver.call(Method::POST, approvals, answer("bob")).await;
    assert!(
        matches!(code, 403 | 422),
        "nobody signs for another: {denied}"
    );
    let given = driver.create(approvals, answer("ann")).await;
    let path = format!(
        "{approvals}/{}",
        given["metadata"]["name"].as_str().unwrap()
    );
    let (code, _) = driver
        .merge(&path, json!({"spec": {"decision": "Reject"}}))
        .await;
    assert!(matches!(code, 403 | 422));
    assert_eq!(driver.delete(&path).await.0, 403);
    // The namespace's end takes even those along.
    driver.delete(&format!("{PROJECTS}/pay")).await;
    driver.until_code("/api/v1/namespaces/pay", 404).await;
}

#[tokio::test]
async fn freight_cannot_be_rewritten() {
    let (driver, freight) = pipeline().await;
    let path = format!("{}/{freight}", in_pay(FREIGHTS));
    let (code, _) = driver
        .merge(
            &path,
            json!({"images": [{"repoURL": "example.com/app", "tag": "2.0.0"}]}),
        )
        .await;
    assert!(code >= 400);
    let (code, after) = driver.merge(&path, json!({"alias": "calm-otter"})).await;
    assert_eq!(code, 200, "{after}");
}
