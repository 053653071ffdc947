//! Who asks, and what admission does about it.

use crate::driver::{Driver, PROMOTIONS, STAGES, call, open_door, promotion, stage};
use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tidewaiter::local::{
    Admission, Denial, LocalCluster, Operation, Options, Review, UserInfo, View,
};

/// Operation, plural, subresource, user, dry run.
type Asked = (Operation, String, Option<String>, UserInfo, bool);

/// Names Promotions, refuses what is labelled so, and remembers what it was asked.
#[derive(Default)]
struct Warden {
    seen: Mutex<Vec<Asked>>,
    deny_deletes: Mutex<bool>,
}

fn denied(object: Option<&Value>) -> bool {
    object.is_some_and(|o| o.pointer("/metadata/labels/deny").is_some())
}

impl Admission for Warden {
    fn mutate(&self, review: &Review<'_>, objects: &dyn View) -> Result<Option<Value>, Denial> {
        if review.plural != "promotions" || review.operation != Operation::Create {
            return Ok(None);
        }
        let mut object = review.object.unwrap().clone();
        let stage = object["spec"]["stage"].as_str().unwrap().to_owned();
        let found = objects.get("stages", review.namespace, &stage);
        assert_eq!(objects.list("stages", review.namespace).len(), 1);
        assert_eq!(objects.names("stages", None), ["prod"]);
        object["metadata"]["name"] = format!("{stage}.01.f").into();
        object["spec"]["steps"] = json!([{"uses": "from-template"}]);
        object["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "kargo.akuity.io/v1alpha1", "kind": "Stage", "name": stage,
            "uid": found.unwrap()["metadata"]["uid"],
        }]);
        Ok(Some(object))
    }

    fn validate(&self, review: &Review<'_>, _: &dyn View) -> Result<(), Denial> {
        assert!(review.now <= Timestamp::now());
        self.seen.lock().unwrap().push((
            review.operation,
            review.plural.to_owned(),
            review.subresource.map(str::to_owned),
            review.user.clone(),
            review.dry_run,
        ));
        if review.operation == Operation::Delete && *self.deny_deletes.lock().unwrap() {
            return Err(Denial {
                code: 403,
                reason: "Forbidden".to_owned(),
                message: "not yours".to_owned(),
            });
        }
        if denied(review.object) {
            return Err(Denial {
                code: 500,
                reason: "InternalError".to_owned(),
                message: "admission webhook denied the request".to_owned(),
            });
        }
        Ok(())
    }
}

async fn guarded() -> (Driver, Arc<Warden>) {
    let warden = Arc::new(Warden::default());
    let driver = Driver::with(Options {
        admission: warden.clone(),
        ..open_door()
    })
    .await;
    driver.create(STAGES, stage("prod")).await;
    (driver, warden)
}

#[tokio::test]
async fn admission_renames_and_completes_before_validation() {
    let (driver, _) = guarded().await;
    let mut object = promotion("p");
    object["metadata"] = json!({"generateName": "promo-"});
    // Without steps the object is invalid; the mutation brings them.
    object["spec"].as_object_mut().unwrap().remove("steps");
    let made = driver.create(PROMOTIONS, object).await;
    assert_eq!(made["metadata"]["name"], "prod.01.f");
    assert_eq!(made["spec"]["steps"], json!([{"uses": "from-template"}]));
    assert_eq!(
        driver.get(&format!("{PROMOTIONS}/prod.01.f")).await,
        (200, made)
    );
}

#[tokio::test]
async fn denials_have_the_codes_of_kargos_webhook() {
    let (driver, warden) = guarded().await;
    let mut object = promotion("p");
    object["metadata"]["labels"]["deny"] = "yes".into();
    let (code, answer) = driver.call(Method::POST, PROMOTIONS, object).await;
    assert_eq!((code, &answer["reason"]), (500, &json!("InternalError")));
    let (_, list) = driver.get(PROMOTIONS).await;
    assert_eq!(list["items"], json!([]));

    driver.create(PROMOTIONS, promotion("p")).await;
    let path = format!("{PROMOTIONS}/prod.01.f");
    let (code, _) = driver
        .merge(&path, json!({"metadata": {"labels": {"deny": "yes"}}}))
        .await;
    assert_eq!(code, 500);
    *warden.deny_deletes.lock().unwrap() = true;
    let (code, answer) = driver.delete(&path).await;
    assert_eq!((code, &answer["reason"]), (403, &json!("Forbidden")));
    assert_eq!(driver.get(&path).await.0, 200);
}

#[tokio::test]
async fn admission_is_told_the_subresource_the_user_and_the_dry_run() {
    let (driver, warden) = guarded().await;
    driver.create(PROMOTIONS, promotion("p")).await;
    warden.seen.lock().unwrap().clear();
    let path = format!("{PROMOTIONS}/prod.01.f");
    driver
        .merge(
            &format!("{path}/status"),
            json!({"status": {"phase": "Running"}}),
        )
        .await;
    driver
        .call(Method::DELETE, &format!("{path}?dryRun=All"), Value::Null)
        .await;
    let seen = warden.seen.lock().unwrap();
    let ann = UserInfo::named("ann");
    let promotions = || "promotions".to_owned();
    assert_eq!(
        *seen,
        [
            (
                Operation::Update,
                promotions(),
                Some("status".to_owned()),
                ann.clone(),
                false
            ),
            (Operation::Delete, promotions(), None, ann, true),
        ]
    );
}

#[tokio::test]
async fn everybody_learns_who_they_are() {
    let cluster = LocalCluster::memory(open_door()).unwrap();
    let mut ann = UserInfo::named("ann");
    ann.uid = Some("1000".to_owned());
    ann.groups.insert(0, "platform-leads".to_owned());
    let client = cluster.client(&ann);
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let (code, answer) = call(
        &client,
        Method::POST,
        path,
        "application/json",
        review.clone(),
    )
    .await;
    assert_eq!(code, 201);
    assert_eq!(
        answer["status"]["userInfo"],
        json!({"username": "ann", "uid": "1000", "groups": ["platform-leads", "system:authenticated"]})
    );

    let request = http::Request::post(path)
        .header("impersonate-user", "bob")
        .header("impersonate-group", "devs")
        .header("impersonate-group", "ops")
        .body(review.to_string().into_bytes())
        .unwrap();
    let answer: Value = client.request(request).await.unwrap();
    assert_eq!(
        answer["status"]["userInfo"],
        json!({"username": "bob", "groups": ["devs", "ops", "system:authenticated"], "extra": {"impersonatedBy": ["ann"]}})
    );
    let request = http::Request::post(path)
        .header("impersonate-group", "devs")
        .body(review.to_string().into_bytes())
        .unwrap();
    assert!(client.request::<Value>(request).await.is_err());

    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "promote", "resource": "stages"}}});
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let (code, answer) = call(&client, Method::POST, path, "application/json", review).await;
    assert_eq!((code, &answer["status"]["allowed"]), (201, &json!(true)));
}

#[tokio::test]
async fn a_panic_in_admission_fails_that_request_alone() {
    struct Bomb;
    impl Admission for Bomb {
        fn validate(&self, review: &Review<'_>, _: &dyn View) -> Result<(), Denial> {
            assert_ne!(review.name, "bomb");
            Ok(())
        }
    }
    let driver = Driver::with(Options {
        admission: Arc::new(Bomb),
        ..open_door()
    })
    .await;
    assert_eq!(
        driver
            .call(Method::POST, PROMOTIONS, promotion("bomb"))
            .await
            .0,
        500
    );
    driver.create(PROMOTIONS, promotion("p")).await;
}
