use super::*;
use crate::rules::freight_name;

fn fresh(alias: &str, images: Value) -> Value {
    json!({
        "apiVersion": "kargo.akuity.io/v1alpha1", "kind": "Freight", "metadata": {"name": "mine"}, "alias": alias,
        "origin": {"kind": "Warehouse", "name": "w"}, "images": images,
        "commits": [{"repoURL": "https://H.example/o/r", "id": "74291c2"}]
    })
}

fn app(tag: &str) -> Value {
    json!([{"repoURL": "org/app", "tag": tag}])
}

#[test]
fn new_freight_is_named_dated_and_called() {
    let object = fresh("", app("2.3.1"));
    let got = Write::create("freights", object.clone())
        .admit(&shop())
        .unwrap();
    let name = freight_name::of(&serde_json::from_value(object).unwrap());
    assert_eq!(got["metadata"]["name"], name.as_str());
    assert_eq!(got["discoveredAt"], NOW);
    let alias = got["alias"].as_str().unwrap();
    assert_eq!(alias.split('-').count(), 2, "{alias}");
    assert_eq!(got["metadata"]["labels"]["kargo.akuity.io/alias"], alias);
    let got = Write::create("freights", fresh("red-heron", app("2.3.1")))
        .admit(&shop())
        .unwrap();
    assert_eq!(
        (
            &got["alias"],
            &got["metadata"]["labels"]["kargo.akuity.io/alias"]
        ),
        (&json!("red-heron"), &json!("red-heron"))
    );
}

#[test]
fn freight_that_does_not_fit_is_refused() {
    let mut no_warehouse = fresh("", app("1"));
    no_warehouse["origin"]["name"] = "gone".into();
    let empty = json!({"metadata": {}, "origin": {"kind": "Warehouse", "name": "w"}});
    let twice = json!([{"repoURL": "org/app", "tag": "1"}, {"repoURL": "org/app", "tag": "2"}]);
    let stranger = json!([{"repoURL": "org/app", "tag": "1"}, {"repoURL": "org/else", "tag": "2"}]);
    for (object, text) in [
        (no_warehouse, "warehouse does not exist"),
        (empty, "at least one commit, image, or chart"),
        (fresh("calm-otter", app("1")), "alias already used"),
        (
            fresh("", twice),
            "multiple artifacts found for subscription \"org/app\"",
        ),
        (fresh("", stranger), "\"org/else\": no subscription found"),
        (
            fresh("", json!([])),
            "no artifact found for subscription \"org/app\"",
        ),
    ] {
        let (code, message) = Write::create("freights", object).refusal(&shop());
        assert!(
            code == 422 && message.contains(text),
            "{text}: {code} {message}"
        );
    }
}

#[test]
fn content_is_fixed_and_the_alias_is_not() {
    let stored = Write::create("freights", fresh("red-heron", app("1")))
        .admit(&shop())
        .unwrap();
    let mut world = shop();
    world.put("freights", "shop", stored.clone());
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut object = stored.clone();
        change(&mut object);
        Write::update("freights", stored.clone(), object)
    };
    let renamed = changed(&|object| object["alias"] = "wise-wren".into())
        .admit(&world)
        .unwrap();
    assert_eq!(
        renamed["metadata"]["labels"]["kargo.akuity.io/alias"],
        "wise-wren"
    );
    let bare = changed(&|object| drop(object.as_object_mut().unwrap().remove("alias")))
        .admit(&world)
        .unwrap();
    assert!(
        bare["metadata"]["labels"]
            .get("kargo.akuity.io/alias")
            .is_none(),
        "{bare}"
    );
    let (code, message) = changed(&|object| object["alias"] = "calm-otter".into()).refusal(&world);
    assert!(
        code == 409 && message.contains("alias \"calm-otter\" already used"),
        "{message}"
    );
    for field in ["images", "commits", "origin"] {
        let write = changed(&|object| match field {
            "origin" => object["origin"]["name"] = "v".into(),
            _ => object[field] = json!([]),
        });
        let (code, message) = write.refusal(&world);
        assert!(
            code == 422 && message.ends_with(&format!("{field}: Freight is immutable")),
            "{message}"
        );
        let (code, _) = write.status().refusal(&world);
        assert_eq!(code, 422, "its status is looked at too");
    }
    let approved =
        changed(&|object| object["status"] = json!({"approvedFor": {"prod": {}}})).status();
    assert!(approved.admit(&world).is_ok());
}

#[test]
fn freight_in_use_stays() {
    let freight = json!({"metadata": {"name": FREIGHT}});
    assert!(
        Write::delete("freights", freight.clone())
            .admit(&shop())
            .is_ok()
    );
    let mut user = stage(json!({"direct": true}));
    let item = |name: &str| json!({"id": "i", "items": {"Warehouse/w": {"name": name}}});
    user["status"] = json!({"freightHistory": [item("other"), item(FREIGHT)]});
    let world = shop().with("stages", "shop", user.clone());
    assert!(
        Write::delete("freights", freight.clone())
            .admit(&world)
            .is_ok(),
        "no longer there"
    );
    user["status"] = json!({"freightHistory": [item(FREIGHT)]});
    let (code, message) =
        Write::delete("freights", freight).refusal(&shop().with("stages", "shop", user));
    assert!(
        code == 403 && message.contains("in-use by stages (\"prod\")"),
        "{message}"
    );
}
