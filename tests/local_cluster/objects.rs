//! What writes make of objects.

use crate::driver::{
    CONFIG_MAPS, Driver, FREIGHTS, PROMOTIONS, STAGES, call, config_map, promotion, stage, version,
};
use http::Method;
use serde_json::{Value, json};

const P: &str = "/apis/kargo.akuity.io/v1alpha1/namespaces/shop/promotions/p";
const P_STATUS: &str = "/apis/kargo.akuity.io/v1alpha1/namespaces/shop/promotions/p/status";

#[tokio::test]
async fn a_created_object_has_what_the_server_gives_it() {
    let driver = Driver::new().await;
    let made = driver.create(PROMOTIONS, promotion("p")).await;
    let meta = &made["metadata"];
    assert_eq!(meta["namespace"], "shop");
    assert_eq!(meta["generation"], 1);
    assert_eq!(meta["uid"].as_str().unwrap().len(), 36);
    let created = meta["creationTimestamp"].as_str().unwrap();
    assert!(created.ends_with('Z') && created.len() == 20, "{created}");
    assert_eq!(driver.get(P).await, (200, made));
}

#[tokio::test]
async fn unknown_fields_vanish_on_every_kind_of_write() {
    let driver = Driver::new().await;
    let mut object = promotion("p");
    object["spec"]["extra"] = 1.into();
    let made = driver.create(PROMOTIONS, object).await;
    assert_eq!(made["spec"].get("extra"), None);

    let (code, patched) = driver
        .merge(
            P_STATUS,
            json!({"status": {"phase": "Running", "extra": 1, "state": {"any": {"x": 1}}}}),
        )
        .await;
    assert_eq!(code, 200);
    assert_eq!(
        patched["status"],
        json!({"phase": "Running", "state": {"any": {"x": 1}}})
    );

    let mut put = patched;
    put["metadata"]["extra"] = 1.into();
    put["more"] = 1.into();
    put["metadata"]["labels"]["new"] = "yes".into();
    let (code, put) = driver.call(Method::PUT, P, put).await;
    assert_eq!(code, 200, "{put}");
    assert_eq!(put.get("more"), None);
    assert_eq!(put["metadata"].get("extra"), None);
    assert_eq!(put["metadata"]["labels"]["new"], "yes");
}

#[tokio::test]
async fn strict_validation_refuses_instead() {
    let driver = Driver::new().await;
    let mut object = promotion("p");
    object["spec"]["extra"] = 1.into();
    let path = format!("{PROMOTIONS}?fieldValidation=Strict");
    let (code, answer) = driver.call(Method::POST, &path, object).await;
    assert_eq!(code, 400);
    assert!(
        answer["message"].as_str().unwrap().contains("spec.extra"),
        "{answer}"
    );
}

#[tokio::test]
async fn status_and_main_writes_ignore_each_other() {
    let driver = Driver::new().await;
    let mut object = promotion("p");
    object["status"] = json!({"phase": "Succeeded"});
    let made = driver.create(PROMOTIONS, object).await;
    assert_eq!(made.get("status"), None);

    let patch = json!({
        "metadata": {"labels": {"sneaked": "in"}, "annotations": {"a": "b"}},
        "spec": {"stage": "other"},
        "status": {"phase": "Running"},
    });
    let (_, after) = driver.merge(P_STATUS, patch).await;
    assert_eq!(after["status"]["phase"], "Running");
    assert_eq!(after["spec"]["stage"], "prod");
    assert_eq!(after["metadata"]["labels"], json!({"stage": "prod"}));
    assert_eq!(after["metadata"].get("annotations"), None);
    assert_eq!(after["metadata"]["generation"], 1);

    let (_, after) = driver
        .merge(
            P,
            json!({"status": {"phase": "Failed"}, "metadata": {"labels": {"x": "y"}}}),
        )
        .await;
    assert_eq!(after["status"]["phase"], "Running");
    assert_eq!(after["metadata"]["labels"]["x"], "y");
}

#[tokio::test]
async fn generation_counts_changes_outside_metadata_and_status() {
    let driver = Driver::new().await;
    driver.create(STAGES, stage("s")).await;
    let path = format!("{STAGES}/s");
    let generation = async |patch: Value| {
        let (code, answer) = driver.merge(&path, patch).await;
        assert_eq!(code, 200, "{answer}");
        answer["metadata"]["generation"].clone()
    };
    assert_eq!(
        generation(json!({"metadata": {"labels": {"a": "b"}}})).await,
        1
    );
    assert_eq!(generation(json!({"spec": {"shard": "eu"}})).await, 2);
    assert_eq!(generation(json!({"spec": {"shard": "eu"}})).await, 2);
    assert_eq!(generation(json!({"metadata": {"generation": 77}})).await, 2);

    // Freight has no spec: any field counts.
    let freight = json!({"apiVersion": "kargo.akuity.io/v1alpha1", "kind": "Freight",
        "metadata": {"name": "f"}, "origin": {"kind": "Warehouse", "name": "w"}});
    driver.create(FREIGHTS, freight).await;
    let (_, after) = driver
        .merge(&format!("{FREIGHTS}/f"), json!({"alias": "calm-otter"}))
        .await;
    assert_eq!(after["metadata"]["generation"], 2);
    let (_, after) = driver
        .merge(
            &format!("{FREIGHTS}/f/status"),
            json!({"status": {"approvedFor": {"prod": {"approvedAt": "2026-01-01T00:00:00Z"}}}}),
        )
        .await;
    assert_eq!(after["metadata"]["generation"], 2);
    assert_eq!(
        after["status"]["approvedFor"]["prod"]["approvedAt"],
        "2026-01-01T00:00:00Z"
    );
}

#[tokio::test]
async fn a_write_that_changes_nothing_makes_no_version() {
    let driver = Driver::new().await;
    let made = driver.create(PROMOTIONS, promotion("p")).await;
    for patch in [
        json!({}),
        json!({"spec": {"stage": "prod"}}),
        json!({"metadata": {"labels": {"none": null}}}),
    ] {
        let (code, after) = driver.merge(P, patch).await;
        assert_eq!((code, after), (200, made.clone()));
    }
    let (code, after) = driver.call(Method::PUT, P, made.clone()).await;
    assert_eq!((code, after), (200, made.clone()));
    let (_, list) = driver.get(PROMOTIONS).await;
    assert_eq!(version(&list), version(&made));
}

#[tokio::test]
async fn versions_and_uids_are_preconditions() {
    let driver = Driver::new().await;
    let made = driver.create(PROMOTIONS, promotion("p")).await;
    let old = version(&made).to_string();
    let (_, after) = driver
        .merge(P_STATUS, json!({"status": {"phase": "Running"}}))
        .await;
    let new = version(&after).to_string();

    let patch = |version: &str| json!({"metadata": {"resourceVersion": version}, "status": {"phase": "Failed"}});
    let (code, answer) = driver.merge(P_STATUS, patch(&old)).await;
    assert_eq!((code, &answer["reason"]), (409, &json!("Conflict")));
    let (code, _) = driver.merge(P_STATUS, patch(&new)).await;
    assert_eq!(code, 200);

    let (code, _) = driver.call(Method::PUT, P, made.clone()).await;
    assert_eq!(code, 409);
    let mut other = made.clone();
    other["metadata"]["uid"] = "00000000-0000-4000-8000-000000000000".into();
    other["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("resourceVersion");
    let (code, answer) = driver.call(Method::PUT, P, other.clone()).await;
    assert_eq!(
        code, 422,
        "a PUT of a custom resource needs a version: {answer}"
    );
    let (code, _) = driver
        .merge(
            P,
            json!({"metadata": {"uid": "00000000-0000-4000-8000-000000000000"}}),
        )
        .await;
    assert_eq!(code, 409);

    let precondition = |what: &str, value: &str| json!({"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {what: value}});
    for (what, value) in [("uid", "x"), ("resourceVersion", old.as_str())] {
        let (code, answer) = driver
            .call(Method::DELETE, P, precondition(what, value))
            .await;
        assert_eq!(
            (code, &answer["reason"]),
            (409, &json!("Conflict")),
            "{what}"
        );
    }
    let uid = made["metadata"]["uid"].as_str().unwrap();
    let (code, answer) = driver
        .call(Method::DELETE, P, precondition("uid", uid))
        .await;
    assert_eq!((code, &answer["status"]), (200, &json!("Success")));
    assert_eq!(driver.get(P).await.0, 404);
}

#[tokio::test]
async fn core_kinds_may_be_replaced_without_a_version() {
    let driver = Driver::new().await;
    driver.create(CONFIG_MAPS, config_map("c")).await;
    let mut new = config_map("c");
    new["data"] = json!({"a": "2"});
    let (code, after) = driver
        .call(Method::PUT, &format!("{CONFIG_MAPS}/c"), new)
        .await;
    assert_eq!((code, &after["data"]), (200, &json!({"a": "2"})));
}

#[tokio::test]
async fn creates_that_a_cluster_refuses() {
    let driver = Driver::new().await;
    let change = |edit: &dyn Fn(&mut Value)| {
        let mut object = promotion("p");
        edit(&mut object);
        object
    };
    for (what, object, code) in [
        (
            "a version",
            change(&|o| o["metadata"]["resourceVersion"] = "5".into()),
            500,
        ),
        (
            "another namespace",
            change(&|o| o["metadata"]["namespace"] = "pay".into()),
            400,
        ),
        ("no name", change(&|o| o["metadata"] = json!({})), 422),
        (
            "a bad name",
            change(&|o| o["metadata"]["name"] = "P_1".into()),
            422,
        ),
        (
            "a long label",
            change(&|o| o["metadata"]["labels"]["x"] = "v".repeat(64).into()),
            422,
        ),
        ("another kind", change(&|o| o["kind"] = "Stage".into()), 400),
        (
            "no kind",
            change(&|o| {
                o.as_object_mut().unwrap().remove("kind");
            }),
            400,
        ),
        (
            "freight and origin",
            change(&|o| o["spec"]["origin"] = json!({"kind": "Warehouse", "name": "w"})),
            422,
        ),
        (
            "neither",
            change(&|o| {
                o["spec"].as_object_mut().unwrap().remove("freight");
            }),
            422,
        ),
        ("no steps", change(&|o| o["spec"]["steps"] = json!([])), 422),
        (
            "a step of the wrong type",
            change(&|o| o["spec"]["steps"] = json!(["x"])),
            422,
        ),
        (
            "annotations",
            change(&|o| o["metadata"]["annotations"] = json!({"a": "x".repeat(256 * 1024)})),
            422,
        ),
        (
            "1.5 MiB",
            change(&|o| o["spec"]["steps"][0]["config"] = json!({"a": "x".repeat(1536 * 1024)})),
            500,
        ),
        (
            "3 MiB",
            change(&|o| o["spec"]["steps"][0]["config"] = json!({"a": "x".repeat(3 << 20)})),
            413,
        ),
        ("no object", json!([1]), 400),
    ] {
        let (found, answer) = driver.call(Method::POST, PROMOTIONS, object).await;
        assert_eq!(found, code, "{what}: {answer}");
        assert_eq!(answer["kind"], "Status", "{what}");
    }
    let elsewhere = PROMOTIONS.replace("shop", "nowhere");
    assert_eq!(
        driver
            .call(Method::POST, &elsewhere, promotion("p"))
            .await
            .0,
        404
    );
    driver.create(PROMOTIONS, promotion("p")).await;
    let (code, answer) = driver.call(Method::POST, PROMOTIONS, promotion("p")).await;
    assert_eq!((code, &answer["reason"]), (409, &json!("AlreadyExists")));
}

#[tokio::test]
async fn names_are_generated() {
    let driver = Driver::new().await;
    let mut object = promotion("p");
    object["metadata"] = json!({"generateName": "promo-"});
    let first = driver.create(PROMOTIONS, object.clone()).await;
    let second = driver.create(PROMOTIONS, object).await;
    let name = |o: &Value| o["metadata"]["name"].as_str().unwrap().to_owned();
    assert!(name(&first).starts_with("promo-") && name(&first).len() == 11);
    assert_ne!(name(&first), name(&second));
}

#[tokio::test]
async fn merge_patches_replace_arrays_and_delete_by_null() {
    let driver = Driver::new().await;
    driver.create(PROMOTIONS, promotion("p")).await;
    let entry = |alias: &str| json!({"alias": alias, "status": "Running"});
    driver
        .merge(
            P_STATUS,
            json!({"status": {"message": "m", "stepExecutionMetadata": [entry("a"), entry("b")]}}),
        )
        .await;
    let (_, after) = driver
        .merge(
            P_STATUS,
            json!({"status": {"message": null, "stepExecutionMetadata": [entry("c")]}}),
        )
        .await;
    assert_eq!(
        after["status"],
        json!({"stepExecutionMetadata": [entry("c")]})
    );
}

#[tokio::test]
async fn json_patches() {
    let driver = Driver::new().await;
    driver.create(PROMOTIONS, promotion("p")).await;
    let patch = async |operations: Value| {
        call(
            &driver.client,
            Method::PATCH,
            P,
            "application/json-patch+json",
            operations,
        )
        .await
    };
    let (code, after) = patch(json!([
        {"op": "test", "path": "/spec/stage", "value": "prod"},
        {"op": "add", "path": "/metadata/labels/x", "value": "y"},
    ]))
    .await;
    assert_eq!(
        (code, &after["metadata"]["labels"]["x"]),
        (200, &json!("y"))
    );
    let (code, answer) = patch(json!([
        {"op": "test", "path": "/spec/stage", "value": "uat"},
        {"op": "remove", "path": "/metadata/labels/x"},
    ]))
    .await;
    assert_eq!((code, &answer["reason"]), (422, &json!("Invalid")));
    assert_eq!(driver.get(P).await.1["metadata"]["labels"]["x"], "y");
    assert_eq!(patch(json!({"op": "add"})).await.0, 400);
}

#[tokio::test]
async fn other_kinds_of_patch() {
    let driver = Driver::new().await;
    driver.create(PROMOTIONS, promotion("p")).await;
    driver.create(CONFIG_MAPS, config_map("c")).await;
    let c = format!("{CONFIG_MAPS}/c");
    let body = json!({"metadata": {"labels": {"a": "b"}}});
    for (path, media, code) in [
        (P, "application/apply-patch+yaml", 415),
        (&c, "application/apply-patch+yaml", 415),
        (P, "application/strategic-merge-patch+json", 415),
        (&c, "application/strategic-merge-patch+json", 200),
        (P, "application/json", 415),
    ] {
        let (found, answer) = call(&driver.client, Method::PATCH, path, media, body.clone()).await;
        assert_eq!(found, code, "{path} {media}: {answer}");
    }
}

#[tokio::test]
async fn a_dry_run_answers_and_stores_nothing() {
    let driver = Driver::new().await;
    let path = format!("{PROMOTIONS}?dryRun=All");
    let (code, answer) = driver.call(Method::POST, &path, promotion("p")).await;
    assert_eq!((code, &answer["metadata"]["name"]), (201, &json!("p")));
    assert_eq!(driver.get(P).await.0, 404);

    let made = driver.create(PROMOTIONS, promotion("p")).await;
    let (_, answer) = driver
        .merge(
            &format!("{P}?dryRun=All"),
            json!({"metadata": {"labels": {"a": "b"}}}),
        )
        .await;
    assert_eq!(answer["metadata"]["labels"]["a"], "b");
    assert_eq!(
        driver
            .call(Method::DELETE, P, json!({"dryRun": ["All"]}))
            .await
            .0,
        200
    );
    assert_eq!(driver.get(P).await, (200, made));
    assert_eq!(
        driver
            .call(
                Method::POST,
                &format!("{PROMOTIONS}?dryRun=Some"),
                promotion("q")
            )
            .await
            .0,
        400
    );
}

#[tokio::test]
async fn finalizers_hold_an_object_until_the_last_is_gone() {
    let driver = Driver::new().await;
    let mut object = stage("s");
    object["metadata"]["finalizers"] = json!(["kargo.akuity.io/finalizer"]);
    driver.create(STAGES, object).await;
    let path = format!("{STAGES}/s");
    let (code, marked) = driver.delete(&path).await;
    assert_eq!((code, &marked["kind"]), (200, &json!("Stage")));
    assert!(marked["metadata"]["deletionTimestamp"].is_string());

    // A second delete changes nothing, a new finalizer comes too late, other changes still go.
    let (code, again) = driver.delete(&path).await;
    assert_eq!((code, again), (200, marked.clone()));
    let finalizers = json!(["kargo.akuity.io/finalizer", "x.dev/y"]);
    assert_eq!(
        driver
            .merge(&path, json!({"metadata": {"finalizers": finalizers}}))
            .await
            .0,
        422
    );
    let (_, after) = driver
        .merge(
            &path,
            json!({"metadata": {"deletionTimestamp": null, "labels": {"a": "b"}}}),
        )
        .await;
    assert_eq!(
        after["metadata"]["deletionTimestamp"],
        marked["metadata"]["deletionTimestamp"]
    );

    let (code, _) = driver
        .merge(&path, json!({"metadata": {"finalizers": null}}))
        .await;
    assert_eq!(code, 200);
    assert_eq!(driver.get(&path).await.0, 404);
}

#[tokio::test]
async fn known_and_unknown_kinds() {
    let driver = Driver::new().await;
    let (code, list) = driver
        .get("/apis/tidewaiter.dev/v1alpha1/approvalrequests")
        .await;
    assert_eq!(
        (code, &list["kind"], &list["items"]),
        (200, &json!("ApprovalRequestList"), &json!([]))
    );
    for path in [
        "/apis/kargo.akuity.io/v1alpha1/ships",
        "/apis/other.dev/v1/things",
        "/api/v1/pods",
        "/x",
    ] {
        assert_eq!(driver.get(path).await.0, 404, "{path}");
    }
    let (code, answer) = driver.get(P).await;
    assert_eq!((code, &answer["reason"]), (404, &json!("NotFound")));
    assert_eq!(answer["details"]["kind"], "promotions");
    assert_eq!(driver.get(&format!("{CONFIG_MAPS}/c/status")).await.0, 404);
    assert_eq!(driver.call(Method::POST, P, promotion("p")).await.0, 405);
}

#[tokio::test]
async fn an_application_keeps_everything_and_has_no_status_subresource() {
    let driver = Driver::new().await;
    let path = "/apis/argoproj.io/v1alpha1/namespaces/shop/applications";
    let object = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "a"},
        "spec": {"source": {"x": 1}}, "status": {"health": {"status": "Healthy"}}, "operation": {"sync": {}}});
    let made = driver.create(path, object.clone()).await;
    for part in ["spec", "status", "operation"] {
        assert_eq!(made[part], object[part]);
    }
    let (_, after) = driver
        .merge(
            &format!("{path}/a"),
            json!({"operation": null, "status": {"sync": {}}}),
        )
        .await;
    assert_eq!(after.get("operation"), None);
    assert_eq!(after["status"]["sync"], json!({}));
    assert_eq!(
        driver.merge(&format!("{path}/a/status"), json!({})).await.0,
        404
    );
}

#[tokio::test]
async fn collections_are_deleted_by_selector() {
    let driver = Driver::new().await;
    for name in ["a", "b", "c"] {
        let mut object = config_map(name);
        object["metadata"]["labels"] = json!({"keep": if name == "b" { "yes" } else { "no" }});
        driver.create(CONFIG_MAPS, object).await;
    }
    let (code, _) = driver
        .delete(&format!("{CONFIG_MAPS}?labelSelector=keep%3Dno"))
        .await;
    assert_eq!(code, 200);
    let (_, list) = driver.get(CONFIG_MAPS).await;
    let names: Vec<_> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|o| &o["metadata"]["name"])
        .collect();
    assert_eq!(names, ["b"]);
}
