use super::*;

fn asked(spec: Value) -> Value {
    json!({"apiVersion": "kargo.akuity.io/v1alpha1", "kind": "Promotion",
        "metadata": {"namespace": "shop", "generateName": "promo-", "name": "promo-x1"}, "spec": spec})
}

fn create(spec: Value) -> Write<'static> {
    Write::create("promotions", asked(spec))
}

#[test]
fn a_new_promotion_is_named_filled_in_and_bound() {
    let mut object = asked(json!({
        "stage": "prod", "freight": FREIGHT,
        "steps": [{"uses": "fail"}], "vars": [{"name": "mine", "value": "1"}]
    }));
    object["metadata"]["labels"] = json!({"own": "kept", "kargo.akuity.io/shard": "west"});
    object["metadata"]["annotations"] = json!({
        "tidewaiter.dev/request-id": "r1", "kargo.akuity.io/create-actor": "admin", "kargo.akuity.io/abort": "terminate"
    });
    object["metadata"]["ownerReferences"] = json!([{"kind": "Secret", "name": "other"}]);
    let got = Write::create("promotions", object).admit(&shop()).unwrap();
    let name = got["metadata"]["name"].as_str().unwrap();
    assert!(
        name.starts_with("prod.01")
            && name.ends_with(".abcdef0")
            && name.len() == 4 + 1 + 26 + 1 + 7,
        "{name}"
    );
    assert_eq!(
        got["spec"],
        json!({
            "stage": "prod", "freight": FREIGHT, "vars": [{"name": "env", "value": "prod"}],
            "steps": [{"uses": "git-clone", "as": "step-1", "config": {"repoURL": "x"}}]
        })
    );
    assert_eq!(
        got["metadata"]["labels"],
        json!({"own": "kept", "kargo.akuity.io/shard": "east", "kargo.akuity.io/stage": "prod"})
    );
    assert_eq!(
        got["metadata"]["annotations"],
        json!({
            "tidewaiter.dev/request-id": "r1", "kargo.akuity.io/create-actor": "kubernetes:ann", "kargo.akuity.io/stage": "prod",
            "kargo.akuity.io/abort": "{\"action\":\"terminate\",\"actor\":\"kubernetes:ann\"}"
        })
    );
    assert_eq!(
        got["metadata"]["ownerReferences"],
        json!([{
            "apiVersion": "kargo.akuity.io/v1alpha1", "kind": "Stage", "name": "prod", "uid": "stage-uid",
            "controller": true, "blockOwnerDeletion": true
        }])
    );
}

#[test]
fn the_executor_keeps_the_actor_that_it_names() {
    let mut object = asked(json!({"stage": "prod", "freight": FREIGHT}));
    object["metadata"]["annotations"] =
        json!({"kargo.akuity.io/create-actor": "controller:tidewaiter"});
    let got = Write::create("promotions", object)
        .by(executor())
        .admit(&shop())
        .unwrap();
    assert_eq!(
        got["metadata"]["annotations"]["kargo.akuity.io/create-actor"],
        "controller:tidewaiter"
    );
}

#[test]
fn an_origin_becomes_its_newest_freight() {
    let newer = json!({"metadata": {"name": "1234567newer"}, "origin": {"kind": "Warehouse", "name": "w"}, "discoveredAt": "2026-08-02T00:00:00Z"});
    let world = shop().with("freights", "shop", newer);
    let origin =
        |name: &str| json!({"stage": "prod", "origin": {"kind": "Warehouse", "name": name}});
    let got = create(origin("w")).admit(&world).unwrap();
    assert_eq!(got["spec"]["freight"], "1234567newer");
    assert!(got["spec"].get("origin").is_none());
    let (code, message) = create(origin("none")).refusal(&world);
    assert_eq!(code, 422);
    assert!(
        message.contains("no auto-promotion candidate found for origin \"Warehouse/none\""),
        "{message}"
    );
}

#[test]
fn what_cannot_be_promoted_is_refused() {
    let mut control_flow = stage(json!({"direct": true}));
    control_flow["metadata"]["name"] = "flow".into();
    control_flow["spec"]
        .as_object_mut()
        .unwrap()
        .remove("promotionTemplate");
    let mut upstream = stage(json!({"stages": ["test"]}));
    upstream["metadata"]["name"] = "late".into();
    let mut targets = stage(json!({"direct": true}));
    targets["metadata"]["name"] = "fleet".into();
    targets["spec"]["targets"] = json!({"selectors": []});
    let mut task = stage(json!({"direct": true}));
    task["metadata"]["name"] = "tasked".into();
    task["spec"]["promotionTemplate"]["spec"]["steps"] = json!([{"task": {"name": "gone"}}]);
    let mut world = shop();
    for stage in [control_flow, upstream, targets, task] {
        world.put("stages", "shop", stage);
    }
    for (spec, code, text) in [
        (json!({"freight": FREIGHT}), 422, "spec.stage: Required"),
        (
            json!({"stage": "gone", "freight": FREIGHT}),
            422,
            "Stage \"gone\" not found",
        ),
        (json!({"stage": "prod"}), 422, "exactly one of"),
        (
            json!({"stage": "flow", "freight": FREIGHT}),
            422,
            "defines no promotion steps",
        ),
        (
            json!({"stage": "late", "freight": FREIGHT}),
            422,
            "Freight is not available to this Stage: not verified in test",
        ),
        (
            json!({"stage": "prod", "freight": "gone"}),
            422,
            "Freight is not available to this Stage: there is none",
        ),
        (
            json!({"stage": "fleet", "freight": FREIGHT}),
            422,
            "selects Targets",
        ),
        (
            json!({"stage": "prod", "freight": FREIGHT, "target": "t1"}),
            422,
            "only when created by a PromotionRequest",
        ),
        (
            json!({"stage": "tasked", "freight": FREIGHT}),
            404,
            "PromotionTask \"gone\" not found",
        ),
        (json!({"stage": 7}), 422, "spec.stage: Required"),
    ] {
        let (got, message) = create(spec.clone()).refusal(&world);
        assert!(
            got == code && message.contains(text),
            "{spec}: {got} {message}"
        );
    }
}

#[test]
fn a_namespace_that_is_no_project_takes_none() {
    let world = shop().with("stages", "plain", stage(json!({"direct": true})));
    let mut object = asked(json!({"stage": "prod", "freight": FREIGHT}));
    object["metadata"]["namespace"] = "plain".into();
    let (code, message) = Write::create("promotions", object).refusal(&world);
    assert!(
        code == 422 && message.contains("\"plain\" is not a Project"),
        "{message}"
    );
}

#[test]
fn who_may_not_promote_gets_500_and_403_on_delete() {
    let world = World {
        refused: vec![("promote", "prod")],
        ..shop()
    };
    let stored = create(json!({"stage": "prod", "freight": FREIGHT}))
        .admit(&shop())
        .unwrap();
    for (write, code, text) in [
        (
            create(json!({"stage": "prod", "freight": FREIGHT})),
            500,
            "is not permitted to create Promotions for Stage \"prod\"",
        ),
        (
            Write::update("promotions", stored.clone(), stored.clone()),
            500,
            "is not permitted to update",
        ),
        (
            Write::delete("promotions", stored),
            403,
            "subject \"ann\" is not permitted to delete",
        ),
    ] {
        let (got, message) = write.refusal(&world);
        assert!(got == code && message.contains(text), "{got} {message}");
    }
}

#[test]
fn an_update_changes_neither_spec_nor_what_admission_wrote() {
    let world = shop();
    let stored = create(json!({"stage": "prod", "freight": FREIGHT}))
        .admit(&world)
        .unwrap();
    let mut other = stored.clone();
    other["spec"]["vars"] = json!([]);
    let (code, message) = Write::update("promotions", stored.clone(), other).refusal(&world);
    assert!(
        code == 422 && message.contains("spec is immutable"),
        "{message}"
    );

    let mut changed = stored.clone();
    let annotations = changed["metadata"]["annotations"].as_object_mut().unwrap();
    annotations.insert(
        "kargo.akuity.io/create-actor".into(),
        "kubernetes:bob".into(),
    );
    annotations.insert(
        "kargo.akuity.io/auto-promotion-hold".into(),
        "Warehouse/w".into(),
    );
    annotations.insert("kargo.akuity.io/refresh".into(), "token".into());
    changed["metadata"]["ownerReferences"] = json!([]);
    let mut expected = stored.clone();
    expected["metadata"]["annotations"]["kargo.akuity.io/refresh"] = "token".into();
    assert_eq!(
        Write::update("promotions", stored.clone(), changed)
            .admit(&world)
            .unwrap(),
        expected
    );

    let mut moved = world.clone();
    let mut stage = stage(json!({"direct": true}));
    stage["spec"]["shard"] = "".into();
    moved.put("stages", "shop", stage);
    let got = Write::update("promotions", stored.clone(), stored.clone())
        .admit(&moved)
        .unwrap();
    assert_eq!(
        got["metadata"]["labels"],
        json!({"kargo.akuity.io/stage": "prod"})
    );

    let status = Write::update(
        "promotions",
        stored.clone(),
        json!({"metadata": {"name": "x"}}),
    )
    .status();
    assert_eq!(
        status.admit(&World::default()).unwrap(),
        json!({"metadata": {"name": "x"}}),
        "status is not looked at"
    );
}

#[test]
fn an_abort_is_signed_once() {
    let world = shop();
    let stored = create(json!({"stage": "prod", "freight": FREIGHT}))
        .admit(&world)
        .unwrap();
    let with = |text: &str| {
        let mut object = stored.clone();
        object["metadata"]["annotations"]["kargo.akuity.io/abort"] = text.into();
        object
    };
    let abort = |old: Value, object: Value, user: User| {
        let got = Write::update("promotions", old, object)
            .by(user)
            .admit(&world)
            .unwrap();
        got["metadata"]["annotations"]["kargo.akuity.io/abort"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let by_ann = "{\"action\":\"terminate\",\"actor\":\"kubernetes:ann\"}";
    assert_eq!(abort(stored.clone(), with("terminate"), ann()), by_ann);
    assert_eq!(
        abort(
            stored.clone(),
            with("{\"action\":\"terminate\",\"actor\":\"kubernetes:bob\",\"controlPlane\":true}"),
            ann()
        ),
        by_ann
    );
    let bob = User {
        name: "bob".into(),
        ..ann()
    };
    assert_eq!(abort(with(by_ann), with(by_ann), bob), by_ann);
    let by_executor =
        "{\"action\":\"terminate\",\"actor\":\"kubernetes:bob\",\"controlPlane\":true}";
    assert_eq!(
        abort(
            stored.clone(),
            with("{\"action\":\"terminate\",\"actor\":\"kubernetes:bob\"}"),
            executor()
        ),
        by_executor
    );
}

#[test]
fn a_persons_promotion_is_marked_for_auto_promotion() {
    let config = json!({"metadata": {"name": "shop"}, "spec": {"promotionPolicies": [{"stage": "prod", "autoPromotionEnabled": true}]}});
    let older = json!({"metadata": {"name": "older"}, "origin": {"kind": "Warehouse", "name": "w"}, "discoveredAt": "2026-07-01T00:00:00Z"});
    let off = shop().with("freights", "shop", older);
    let on = off.clone().with("projectconfigs", "shop", config);
    let marks = |world: &World, freight: &str, user: User, mark: Option<&str>| {
        let mut object = asked(json!({"stage": "prod", "freight": freight}));
        if let Some(mark) = mark {
            object["metadata"]["annotations"] = json!({(mark): "Warehouse/forged"});
        }
        let got = Write::create("promotions", object)
            .by(user)
            .admit(world)
            .unwrap();
        let annotations = &got["metadata"]["annotations"];
        let of = |key: &str| {
            annotations
                .get(key)
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        (
            of(meta::AUTO_PROMOTION_HOLD),
            of(meta::AUTO_PROMOTION_RESUME),
        )
    };
    let w = || Some("Warehouse/w".to_owned());
    assert_eq!(
        marks(&on, FREIGHT, ann(), None),
        (None, w()),
        "the candidate"
    );
    assert_eq!(
        marks(&on, "older", ann(), Some(meta::AUTO_PROMOTION_RESUME)),
        (w(), None),
        "another"
    );
    assert_eq!(
        marks(&off, "older", ann(), Some(meta::AUTO_PROMOTION_HOLD)),
        (None, None),
        "auto-promotion is off"
    );
    assert_eq!(
        marks(&on, "older", executor(), None),
        (None, None),
        "the executor's own"
    );
}
