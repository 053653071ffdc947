use super::*;
use crate::local::kinds;
use serde_json::json;

fn conformed(plural: &str, mut object: Value) -> (Value, Dropped, Vec<Cause>) {
    let (id, kind) = kinds::by_plural_alone(plural).unwrap();
    let mut dropped = Vec::new();
    conform(id, kind, &mut object, &mut dropped).unwrap();
    let causes = check(id, kind, &object, None);
    (object, dropped, causes)
}

fn promotion(spec: Value) -> Value {
    json!({"apiVersion": "kargo.akuity.io/v1alpha1", "kind": "Promotion",
        "metadata": {"name": "p", "namespace": "shop"}, "spec": spec})
}

#[test]
fn unknown_fields_vanish_and_arbitrary_json_stays() {
    let (object, dropped, causes) = conformed(
        "promotions",
        json!({
            "apiVersion": "kargo.akuity.io/v1alpha1", "kind": "Promotion",
            "metadata": {"name": "p", "namespace": "shop", "colour": "red", "labels": {"a": "b"}},
            "spec": {"stage": "prod", "freight": "f", "extra": 1,
                "steps": [{"uses": "http", "config": {"deep": {"x": [null, 1]}}, "odd": true}]},
            "status": {"phase": "Running", "unknown": {}, "state": {"tidewaiter.dev": {"trees": []}, "n": null},
                "stepExecutionMetadata": [{"alias": "a", "status": "Running", "foo": 1}]},
            "extra": 5,
        }),
    );
    assert_eq!(causes, vec![]);
    assert_eq!(
        dropped,
        [
            "metadata.colour",
            "extra",
            "spec.extra",
            "spec.steps[0].odd",
            "status.unknown",
            "status.stepExecutionMetadata[0].foo"
        ]
    );
    assert_eq!(
        object["spec"]["steps"][0]["config"],
        json!({"deep": {"x": [null, 1]}})
    );
    assert_eq!(
        object["status"]["state"]["tidewaiter.dev"],
        json!({"trees": []})
    );
    assert_eq!(object["metadata"]["labels"], json!({"a": "b"}));
}

#[test]
fn nulls_vanish_from_fields_and_are_refused_in_lists() {
    let (object, _, _) = conformed(
        "promotions",
        promotion(
            json!({"stage": "prod", "freight": "f", "vars": null, "steps": [{"uses": "x", "as": null}]}),
        ),
    );
    assert_eq!(
        object["spec"],
        json!({"stage": "prod", "freight": "f", "steps": [{"uses": "x"}]})
    );
    let (_, _, causes) = conformed(
        "promotions",
        promotion(json!({"stage": "prod", "freight": "f", "steps": [null]})),
    );
    assert!(
        causes.iter().any(|c| c.field == "spec.steps[0]"),
        "{causes:?}"
    );
}

#[test]
fn demands_of_a_promotion() {
    let steps = json!([{"uses": "x"}]);
    let origin = json!({"kind": "Warehouse", "name": "w"});
    for (spec, field) in [
        (json!({"freight": "f", "steps": steps}), "spec.stage"),
        (json!({"stage": "s", "steps": steps}), "spec"),
        (
            json!({"stage": "s", "freight": "f", "origin": origin, "steps": steps}),
            "spec",
        ),
        (
            json!({"stage": "s", "freight": "f", "steps": []}),
            "spec.steps",
        ),
        (json!({"stage": "s", "freight": "f"}), "spec.steps"),
        (
            json!({"stage": "s", "freight": "f", "steps": [{"task": {"name": "t"}}]}),
            "spec.steps[0]",
        ),
        (
            json!({"stage": "s", "origin": {"kind": "Ship", "name": "w"}, "steps": steps}),
            "spec.origin.kind",
        ),
        (
            json!({"stage": 5, "freight": "f", "steps": steps}),
            "spec.stage",
        ),
    ] {
        let (_, _, causes) = conformed("promotions", promotion(spec.clone()));
        assert!(
            causes.iter().any(|c| c.field == field),
            "{spec}: {causes:?}"
        );
    }
    let (_, _, causes) = conformed(
        "promotions",
        promotion(json!({"stage": "s", "origin": origin, "steps": steps})),
    );
    assert_eq!(causes, vec![]);
}

#[test]
fn a_warehouse_gets_its_defaults() {
    let (object, _, causes) = conformed(
        "warehouses",
        json!({"metadata": {"name": "w"}, "spec": {"subscriptions": [{"git": {"repoURL": "x", "any": 1}}]}}),
    );
    assert_eq!(causes, vec![]);
    assert_eq!(object["spec"]["interval"], "5m0s");
    assert_eq!(object["spec"]["freightCreationPolicy"], "Automatic");
    assert_eq!(object["spec"]["subscriptions"][0]["git"]["any"], 1);
}

#[test]
fn conditions_are_told_apart_by_type() {
    let (_, _, causes) = conformed(
        "stages",
        json!({"metadata": {"name": "s"}, "spec": {"requestedFreight": [{"origin": {"kind": "Warehouse", "name": "w"}, "sources": {"direct": true}}]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Ready", "status": "False"}]}}),
    );
    assert!(
        causes.iter().any(|c| c.field == "status.conditions[1]"),
        "{causes:?}"
    );
}

#[test]
fn core_kinds_go_through_their_types() {
    let (object, _, _) = conformed(
        "secrets",
        json!({"metadata": {"name": "s"}, "stringData": {"password": "hunter2"}, "data": {"user": "YW5u"}, "odd": 1}),
    );
    assert_eq!(
        object["data"],
        json!({"password": "aHVudGVyMg==", "user": "YW5u"})
    );
    assert_eq!(object.get("odd"), None);
    assert_eq!(object.get("stringData"), None);

    let (object, _, _) = conformed(
        "leases",
        json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "a", "renewTime": "2026-01-02T03:04:05Z"}}),
    );
    assert_eq!(object["spec"]["renewTime"], "2026-01-02T03:04:05.000000Z");
    assert_eq!(object["kind"], "Lease");
}

#[test]
fn an_event_lies_beside_its_object() {
    let event = |ns: &str, involved: &str| {
        let (_, _, causes) = conformed(
            "events",
            json!({"metadata": {"name": "e", "namespace": ns}, "involvedObject": {"namespace": involved}}),
        );
        causes.is_empty()
    };
    assert!(event("shop", "shop") && event("default", ""));
    assert!(!event("shop", "pay") && !event("shop", ""));
}

#[test]
fn metadata_of_the_wrong_type_cannot_be_read() {
    let (id, kind) = kinds::by_plural_alone("stages").unwrap();
    let mut object = json!({"metadata": {"name": "s", "labels": {"a": 1}}});
    let error = conform(id, kind, &mut object, &mut Vec::new()).unwrap_err();
    assert_eq!(error.code, 400);
}

/// The places that keep any JSON, as Kargo's definitions have them.
#[test]
fn arbitrary_json_is_kept_where_kargo_keeps_it() {
    for (plural, expected) in [
        (
            "promotions",
            vec![
                "spec.steps.config",
                "status.healthChecks.config",
                "status.state",
            ],
        ),
        ("promotiontasks", vec!["spec.steps.config"]),
        ("warehouses", vec!["spec.subscriptions"]),
        ("freights", vec!["artifacts.metadata", "status.metadata"]),
    ] {
        let (id, _) = kinds::by_plural_alone(plural).unwrap();
        let Some(Typing::Shape(shape)) = schemas().kinds.get(&id) else {
            panic!("{plural}")
        };
        let mut open = Vec::new();
        open_places(shape, "", &mut open);
        for place in &expected {
            assert!(open.contains(&(*place).to_owned()), "{plural}: {open:?}");
        }
        let others: Vec<_> = open.iter().filter(|place| !is_known_open(place)).collect();
        assert_eq!(others, Vec::<&String>::new(), "{plural}");
    }
}

fn is_known_open(place: &str) -> bool {
    let last = place.rsplit('.').next().unwrap();
    matches!(
        last,
        "config" | "metadata" | "state" | "subscriptions" | "discoveredArtifacts" | "output"
    )
}

fn open_places(shape: &Shape, path: &str, open: &mut Vec<String>) {
    match shape {
        Shape::Any => open.push(path.to_owned()),
        Shape::Fields { fields, .. } => {
            for (name, shape) in fields
                .iter()
                .filter(|(name, _)| !path.is_empty() || *name != "metadata")
            {
                let below = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                open_places(shape, &below, open);
            }
        }
        Shape::Map(shape) | Shape::List(shape) => open_places(shape, path, open),
        Shape::Scalar { .. } => {}
    }
}

#[test]
fn parts_are_checked_wherever_they_are_built_in() {
    let good_condition = json!({"type": "Ready", "status": "True", "reason": "Synced", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let stage = |status: Value| {
        let object = json!({"metadata": {"name": "s"}, "status": status,
            "spec": {"requestedFreight": [{"origin": {"kind": "Warehouse", "name": "w"}, "sources": {"direct": true}}]}});
        conformed("stages", object).2
    };
    assert_eq!(stage(json!({"conditions": [good_condition]})), vec![]);
    let with = |field: &str, value: Value| {
        let mut condition = good_condition.clone();
        condition[field] = value;
        json!({"conditions": [condition]})
    };
    for (status, field) in [
        (
            json!({"conditions": [{"type": "Ready", "status": "True"}]}),
            "status.conditions[0].reason",
        ),
        (
            with("reason", json!("two words")),
            "status.conditions[0].reason",
        ),
        (
            with("status", json!("Maybe")),
            "status.conditions[0].status",
        ),
        (
            with("lastTransitionTime", json!("yesterday")),
            "status.conditions[0].lastTransitionTime",
        ),
        (
            json!({"freightHistory": [{"items": {}}]}),
            "status.freightHistory[0].id",
        ),
        (
            json!({"lastPromotion": {"name": "p", "status": {"freight": {"name": "f", "origin": {"kind": "", "name": ""}}}}}),
            "status.lastPromotion.status.freight.origin.kind",
        ),
        (
            json!({"lastPromotion": {"status": {}}}),
            "status.lastPromotion.name",
        ),
        (
            json!({"freightHistory": [{"id": "x", "items": {"Warehouse/w": {"origin": {"kind": "Warehouse"}}}}]}),
            "status.freightHistory[0].items[Warehouse/w].origin.name",
        ),
    ] {
        let causes = stage(status.clone());
        assert!(
            causes.iter().any(|c| c.field == field),
            "{status}: {causes:?}"
        );
    }
    // Arbitrary JSON is nobody's business.
    let spec = json!({"stage": "s", "freight": "f", "steps": [{"uses": "x", "config": {"vars": [{}], "origin": {}}}]});
    assert_eq!(conformed("promotions", promotion(spec)).2, vec![]);
    let spec =
        json!({"stage": "s", "freight": "f", "vars": [{"name": "1st"}], "steps": [{"uses": "x"}]});
    assert!(!conformed("promotions", promotion(spec)).2.is_empty());
}

/// A valid object of a kind, whose parts the rows below spoil.
fn valid(plural: &str) -> Value {
    let warehouse = json!({"kind": "Warehouse", "name": "w"});
    let spec = match plural {
        "stages" => json!({
            "requestedFreight": [{"origin": warehouse, "sources": {"direct": true, "requiredSoakTime": "1h30m",
                "availabilityStrategy": "All", "autoPromotionOptions": {"selectionPolicy": "MatchUpstream"}}}],
            "promotionTemplate": {"spec": {"vars": [{"name": "a"}], "steps": [{"uses": "x"}, {"task": {"name": "t"}}]}},
            "verification": {"analysisTemplates": [{"name": "a", "kind": "AnalysisTemplate"}], "args": [{"name": "n", "value": "v"}]},
        }),
        "warehouses" => {
            json!({"subscriptions": [{}], "interval": "5m0s", "freightCreationPolicy": "Manual"})
        }
        "promotiontasks" => json!({"steps": [{"uses": "x"}]}),
        "projectconfigs" => {
            json!({"promotionPolicies": [{"stage": "s"}, {"stageSelector": {"name": "t"}}]})
        }
        "approvals" => {
            json!({"request": "r", "requestUid": "u", "stage": "s", "decision": "Approve", "digest": "d",
            "user": "ann", "groups": ["leads"], "message": "é".repeat(2048)})
        }
        "approvalrequests" => {
            json!({"stage": "s", "step": "gate", "promotion": {"name": "p", "uid": "u"}, "minApprovals": 1})
        }
        _ => json!({"stage": "s", "freight": "f", "steps": [{"uses": "x"}]}),
    };
    json!({"metadata": {"name": "o"}, "spec": spec})
}

#[test]
fn every_kinds_demands() {
    let steps = "/spec/promotionTemplate/spec/steps";
    let sources = "/spec/requestedFreight/0/sources";
    let many: Vec<String> = (0..17).map(|number| format!("g{number}")).collect();
    for (plural, pointer, value, field) in [
        (
            "promotions",
            "/spec/freight",
            json!("No Name"),
            "spec.freight",
        ),
        ("promotions", "/spec/target", json!(""), "spec.target"),
        (
            "promotions",
            "/spec/steps/0/uses",
            json!(""),
            "spec.steps[0].uses",
        ),
        ("stages", "/spec", Value::Null, "spec"),
        (
            "stages",
            "/spec/requestedFreight",
            Value::Null,
            "spec.requestedFreight",
        ),
        (
            "stages",
            "/spec/requestedFreight",
            json!([]),
            "spec.requestedFreight",
        ),
        (
            "stages",
            "/spec/requestedFreight/0/origin/kind",
            json!("Shelf"),
            "spec.requestedFreight[0].origin.kind",
        ),
        (
            "stages",
            &format!("{sources}/requiredSoakTime"),
            json!("1d"),
            "spec.requestedFreight[0].sources.requiredSoakTime",
        ),
        (
            "stages",
            &format!("{sources}/availabilityStrategy"),
            json!("Any"),
            "spec.requestedFreight[0].sources.availabilityStrategy",
        ),
        (
            "stages",
            &format!("{sources}/autoPromotionOptions/selectionPolicy"),
            json!("Oldest"),
            "spec.requestedFreight[0].sources.autoPromotionOptions.selectionPolicy",
        ),
        (
            "stages",
            "/spec/promotionTemplate/spec",
            Value::Null,
            "spec.promotionTemplate.spec",
        ),
        (
            "stages",
            steps,
            json!([]),
            "spec.promotionTemplate.spec.steps",
        ),
        (
            "stages",
            steps,
            json!([{}]),
            "spec.promotionTemplate.spec.steps[0]",
        ),
        (
            "stages",
            steps,
            json!([{"uses": "a", "task": {"name": "t"}}]),
            "spec.promotionTemplate.spec.steps[0]",
        ),
        (
            "stages",
            steps,
            json!([{"task": {"name": "t"}, "retry": {}}]),
            "spec.promotionTemplate.spec.steps[0]",
        ),
        (
            "stages",
            steps,
            json!([{"task": {"name": "t"}, "continueOnError": false}]),
            "spec.promotionTemplate.spec.steps[0]",
        ),
        (
            "stages",
            steps,
            json!([{"task": {"name": "a b"}}]),
            "spec.promotionTemplate.spec.steps[0].task.name",
        ),
        (
            "stages",
            "/spec/promotionTemplate/spec/vars/0/name",
            json!("a-b"),
            "spec.promotionTemplate.spec.vars[0].name",
        ),
        (
            "stages",
            "/spec/targets",
            json!({}),
            "spec.targets.selectors",
        ),
        (
            "stages",
            "/spec/verification/analysisTemplates/0/kind",
            json!("Job"),
            "spec.verification.analysisTemplates[0].kind",
        ),
        (
            "stages",
            "/spec/verification/args/0/value",
            Value::Null,
            "spec.verification.args[0].value",
        ),
        (
            "stages",
            "/status",
            json!({"autoPromotionHolds": {"Warehouse/w": {"freightName": "f"}}}),
            "status.autoPromotionHolds[Warehouse/w].origin",
        ),
        (
            "warehouses",
            "/spec/subscriptions",
            json!([]),
            "spec.subscriptions",
        ),
        (
            "warehouses",
            "/spec/interval",
            json!("daily"),
            "spec.interval",
        ),
        (
            "warehouses",
            "/spec/freightCreationPolicy",
            json!("Never"),
            "spec.freightCreationPolicy",
        ),
        ("promotiontasks", "/spec/steps", json!([]), "spec.steps"),
        (
            "promotiontasks",
            "/spec/steps/0",
            json!({"task": {"name": "u"}}),
            "spec.steps[0]",
        ),
        (
            "projectconfigs",
            "/spec/promotionPolicies/0",
            json!({}),
            "spec.promotionPolicies[0]",
        ),
        (
            "projectconfigs",
            "/spec/promotionPolicies/1/stage",
            json!("s"),
            "spec.promotionPolicies[1]",
        ),
        ("approvals", "/spec/user", json!(""), "spec.user"),
        (
            "approvals",
            "/spec/requestUid",
            json!(""),
            "spec.requestUid",
        ),
        ("approvals", "/spec/digest", Value::Null, "spec.digest"),
        (
            "approvals",
            "/spec/decision",
            json!("approve"),
            "spec.decision",
        ),
        ("approvals", "/spec/groups", json!(many), "spec.groups"),
        (
            "approvals",
            "/spec/message",
            json!("é".repeat(2049)),
            "spec.message",
        ),
        (
            "approvalrequests",
            "/spec/promotion",
            Value::Null,
            "spec.promotion",
        ),
    ] {
        assert_eq!(conformed(plural, valid(plural)).2, vec![], "{plural}");
        let mut object = valid(plural);
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        match object.pointer_mut(parent).unwrap() {
            Value::Array(items) => items[key.parse::<usize>().unwrap()] = value.clone(),
            parent => parent[key] = value.clone(),
        }
        let causes = conformed(plural, object).2;
        assert!(
            causes.iter().any(|cause| cause.field == field),
            "{plural} {pointer} {value}: {causes:?}"
        );
    }
}

#[test]
fn questions_and_answers_stay_as_they_are() {
    for plural in ["approvals", "approvalrequests"] {
        let (id, kind) = kinds::by_plural_alone(plural).unwrap();
        let old = valid(plural);
        let mut new = old.clone();
        new["metadata"]["labels"] = json!({"a": "b"});
        assert_eq!(check(id, kind, &new, Some(&old)), vec![]);
        new["spec"]["stage"] = json!("other");
        let causes = check(id, kind, &new, Some(&old));
        assert!(
            causes.iter().any(|cause| cause.field == "spec"),
            "{causes:?}"
        );
    }
}
