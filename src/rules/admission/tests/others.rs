use super::*;

/// Admitted, or refused with this code and a message that contains this.
type Expected = Result<(), (u16, &'static str)>;

/// The stored object, or the code and text of the refusal.
fn check(write: &Write<'_>, expected: Expected) {
    match (write.admit(&shop()), expected) {
        (Ok(_), Ok(())) => {}
        (Err(denial), Err((code, text)))
            if denial.code == code && denial.message.contains(text) => {}
        (got, expected) => panic!("{:?}: {got:?}, not {expected:?}", write.object),
    }
}

fn with(pointer: &str, value: Value) -> Value {
    let mut object = stage(json!({"direct": true}));
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[key] = value;
    object
}

#[test]
fn a_stages_shard_is_its_label() {
    for (shard, label) in [("east", json!("east")), ("", Value::Null)] {
        let mut object = with("/spec/shard", shard.into());
        object["metadata"]["labels"] = json!({"kargo.akuity.io/shard": "west"});
        let got = Write::create("stages", object).admit(&shop()).unwrap();
        assert_eq!(got["metadata"]["labels"]["kargo.akuity.io/shard"], label);
    }
}

#[test]
fn requests_for_verification_are_signed() {
    for key in [meta::REVERIFY, meta::ABORT] {
        let old = stage(json!({"direct": true}));
        let mut object = old.clone();
        object["metadata"]["annotations"] = json!({(key): "v-17"});
        let got = Write::update("stages", old, object).admit(&shop()).unwrap();
        let signed: Value =
            serde_json::from_str(got["metadata"]["annotations"][key].as_str().unwrap()).unwrap();
        assert_eq!(signed, json!({"id": "v-17", "actor": "kubernetes:ann"}));
        let again = Write::update("stages", got.clone(), got.clone()).by(User {
            name: "bob".into(),
            ..ann()
        });
        assert_eq!(again.admit(&shop()).unwrap(), got);
    }
}

#[test]
fn stages_keep_kargos_rules() {
    let origin = json!({"kind": "Warehouse", "name": "w"});
    let steps = "/spec/promotionTemplate/spec/steps";
    let freight = "/spec/requestedFreight";
    let cases: Vec<(&str, Value, Expected)> = vec![
        (steps, json!([{"uses": "fail"}]), Ok(())),
        (
            steps,
            json!([{"task": {"name": "t"}, "vars": [{"name": "a"}]}]),
            Ok(()),
        ),
        (
            steps,
            json!([{"task": {"name": "t"}, "if": "x"}]),
            Err((422, "steps[0].if")),
        ),
        (
            steps,
            json!([{"task": {"name": "t"}, "config": {}}]),
            Err((422, "steps[0].config")),
        ),
        (
            steps,
            json!([{"uses": "a", "as": "x"}, {"uses": "b", "as": "x"}]),
            Err((422, "also used by step 0")),
        ),
        (
            steps,
            json!([{"uses": "a", "as": "x"}, {"uses": "b", "as": " x "}]),
            Err((422, "also used by step 0")),
        ),
        (
            steps,
            json!([{"uses": "a", "as": "step-7"}]),
            Err((422, "reserved")),
        ),
        (steps, json!([{"uses": "a", "as": "step-x"}]), Ok(())),
        (
            steps,
            json!([{"uses": "no-such-kind", "if": "((", "config": {"a": "${{ x"}}]),
            Ok(()),
        ),
        (
            freight,
            json!([{"origin": origin, "sources": {}}, {"origin": origin, "sources": {}}]),
            Err((422, "multiple times")),
        ),
        ("/spec/promotionTemplate", Value::Null, Ok(())),
    ];
    for (pointer, value, expected) in cases {
        check(&Write::create("stages", with(pointer, value)), expected);
    }
    check(&Write::delete("stages", stage(json!({}))), Ok(()));
    let mut elsewhere = stage(json!({"direct": true}));
    elsewhere["metadata"]["namespace"] = "plain".into();
    check(
        &Write::create("stages", elsewhere),
        Err((422, "not a Project")),
    );
}

#[test]
fn aliases_of_tasks_are_told_apart() {
    let task = |plural: &'static str, steps: Value| {
        Write::create(
            plural,
            json!({"metadata": {"name": "t"}, "spec": {"vars": [{"name": "key"}], "steps": steps}}),
        )
    };
    for plural in ["promotiontasks", "clusterpromotiontasks"] {
        check(&task(plural, json!([{"uses": "a"}])), Ok(()));
        check(
            &task(plural, json!([{"uses": "a", "as": "task-1"}])),
            Err((422, "reserved")),
        );
        check(
            &task(
                plural,
                json!([{"uses": "a", "as": "x"}, {"uses": "a", "as": "x"}]),
            ),
            Err((422, "also used")),
        );
    }
}

#[test]
fn projects_and_their_configuration() {
    let project = |name: &str| Write::create("projects", json!({"metadata": {"name": name}}));
    check(&project("new"), Ok(()));
    check(&project("shop"), Ok(()));
    check(
        &project("plain"),
        Err((409, "already exists and is not labelled")),
    );
    let mut going = shop();
    let namespace = json!({"metadata": {"name": "shop", "labels": {"kargo.akuity.io/project": "true"}, "deletionTimestamp": NOW}});
    going.put("namespaces", "", namespace);
    let (code, message) = project("shop").refusal(&going);
    assert!(
        code == 409 && message.contains("still being terminated"),
        "{message}"
    );
    let config = |name: &str, policy: Value| {
        Write::create(
            "projectconfigs",
            json!({"metadata": {"name": name}, "spec": {"promotionPolicies": [policy]}}),
        )
    };
    check(&config("shop", json!({"stage": "prod"})), Ok(()));
    check(
        &config("other", json!({"stage": "prod"})),
        Err((422, "must be the Project's name")),
    );
    check(
        &config("shop", json!({"stageSelector": {"name": "glob:prod-*"}})),
        Ok(()),
    );
    check(
        &config("shop", json!({"stageSelector": {"name": "regex:("}})),
        Err((422, "cannot be read")),
    );
    check(
        &config("shop", json!({"stageSelector": {"name": "like:prod"}})),
        Err((422, "cannot be read")),
    );
    let twice = json!([{"stage": "a"}, {"stageSelector": {"name": "a"}}]);
    let object = json!({"metadata": {"name": "shop"}, "spec": {"promotionPolicies": twice}});
    check(
        &Write::create("projectconfigs", object),
        Err((422, "already defined at spec.promotionPolicies[0]")),
    );
    let elsewhere = json!({"metadata": {"name": "plain", "namespace": "plain"}, "spec": {}});
    check(
        &Write::create("projectconfigs", elsewhere),
        Err((403, "is no Project")),
    );
}

#[test]
fn a_warehouses_shard_is_its_label() {
    let warehouse = json!({"metadata": {"name": "w2"}, "spec": {"shard": "east"}});
    let got = Write::create("warehouses", warehouse)
        .admit(&shop())
        .unwrap();
    assert_eq!(got["metadata"]["labels"]["kargo.akuity.io/shard"], "east");
}

#[test]
fn other_kinds_are_none_of_our_business() {
    check(
        &Write::create("widgets", json!({"metadata": {"name": "x"}})),
        Ok(()),
    );
}
