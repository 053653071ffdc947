use serde_json::{Value, json};

use super::*;

const NOW: &str = "2026-08-21T12:00:00Z";

fn stage(spec: Value, status: Value) -> Stage {
    let labels = json!({"tier": "prod", "team": "shop"});
    serde_json::from_value(
        json!({"metadata": {"name": "prod-eu", "labels": labels}, "spec": spec, "status": status}),
    )
    .unwrap()
}

#[test]
fn the_first_policy_that_matches_decides() {
    let config = |policies: Value| -> ProjectConfig {
        serde_json::from_value(json!({"spec": {"promotionPolicies": policies}})).unwrap()
    };
    let on = |mut policy: Value| {
        policy["autoPromotionEnabled"] = true.into();
        json!([policy])
    };
    let expression = |key: &str, operator: &str, values: Value| {
        on(
            json!({"stageSelector": {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}}),
        )
    };
    let cases: Vec<(Value, Option<bool>)> = vec![
        (json!([]), Some(false)),
        (on(json!({"stage": "prod-eu"})), Some(true)),
        (on(json!({"stage": "prod"})), Some(false)),
        (on(json!({})), Some(false)),
        (
            on(json!({"stageSelector": {"name": "prod-eu"}})),
            Some(true),
        ),
        (
            on(json!({"stageSelector": {"name": "glob:prod-*"}})),
            Some(true),
        ),
        (
            on(json!({"stageSelector": {"name": "glob:test-*"}})),
            Some(false),
        ),
        (on(json!({"stageSelector": {"name": "glob:[a"}})), None),
        (
            on(json!({"stageSelector": {"name": "regex:^prod-(eu|us)$"}})),
            Some(true),
        ),
        (on(json!({"stageSelector": {"name": "regex:("}})), None),
        (
            on(json!({"stageSelector": {"matchLabels": {"tier": "prod"}}})),
            Some(true),
        ),
        (
            on(json!({"stageSelector": {"name": "glob:prod-*", "matchLabels": {"tier": "test"}}})),
            Some(false),
        ),
        (expression("team", "In", json!(["pay", "shop"])), Some(true)),
        (expression("team", "NotIn", json!(["shop"])), Some(false)),
        (expression("gone", "NotIn", json!(["shop"])), Some(true)),
        (expression("team", "Exists", json!([])), Some(true)),
        (expression("team", "DoesNotExist", json!([])), Some(false)),
        (expression("team", "Near", json!([])), None),
        (
            json!([{"stage": "prod-eu"}, {"stageSelector": {}, "autoPromotionEnabled": true}]),
            Some(false),
        ),
    ];
    for (policies, expected) in cases {
        let got = enabled(
            Some(&config(policies.clone())),
            &stage(json!({}), json!({})),
        );
        assert_eq!(got.ok(), expected, "{policies}");
    }
    assert!(!enabled(None, &stage(json!({}), json!({}))).unwrap());
}

fn freight(name: &str, discovered: &str, status: Value) -> Freight {
    serde_json::from_value(json!({
        "metadata": {"name": name}, "origin": {"kind": "Warehouse", "name": "w"},
        "discoveredAt": discovered, "status": status,
    }))
    .unwrap()
}

#[test]
fn the_newest_available_is_the_candidate() {
    let origin = Origin::warehouse("w");
    let ask = |sources: Value, freight: &[Freight]| {
        let stage = stage(
            json!({"requestedFreight": [{"origin": origin, "sources": sources}]}),
            json!({}),
        );
        candidate(&stage, &origin, freight, NOW.parse().unwrap())
            .map(|freight| freight.name().to_owned())
    };
    let upstream = |at: &str| json!({"verifiedIn": {"test": {}}, "currentlyIn": {(at): {}}});
    let all = [
        freight("a", "2026-01-01T00:00:00Z", upstream("test")),
        freight("b", "2026-01-03T00:00:00Z", json!({})),
        freight(
            "c",
            "2026-01-02T00:00:00Z",
            json!({"verifiedIn": {"test": {}}}),
        ),
        freight(
            "d",
            "2026-01-02T00:00:00Z",
            json!({"verifiedIn": {"test": {}}}),
        ),
    ];
    let matching =
        json!({"stages": ["test"], "autoPromotionOptions": {"selectionPolicy": "MatchUpstream"}});
    assert_eq!(ask(json!({"direct": true}), &all).as_deref(), Some("b"));
    assert_eq!(ask(json!({"stages": ["test"]}), &all).as_deref(), Some("d"));
    assert_eq!(ask(json!({"stages": ["none"]}), &all), None);
    assert_eq!(ask(matching.clone(), &all).as_deref(), Some("a"));
    let two = [
        all[0].clone(),
        freight("e", "2026-01-02T00:00:00Z", upstream("test")),
    ];
    assert_eq!(ask(matching, &two), None);
}

fn row(name: &str, freight: &str, phase: &str) -> PromotionRow {
    let promotion = json!({"metadata": {"name": name}, "spec": {"stage": "prod-eu", "freight": freight}, "status": {"phase": phase}});
    PromotionRow::of(&serde_json::from_value(promotion).unwrap())
}

#[test]
fn it_stands_down() {
    let last = json!({"lastPromotion": {"name": "p5"}});
    let there = json!({"freightHistory": [{"id": "x", "items": {"Warehouse/w": {"name": "f"}}}]});
    let held = json!({"autoPromotionHolds": {"Warehouse/w": {"freightName": "g", "origin": {"kind": "Warehouse", "name": "w"}, "promotionName": "p1"}}});
    let underway = |name: &str| Err(StandDown::Underway(name.into()));
    type Case = (
        &'static str,
        Value,
        Vec<PromotionRow>,
        Result<(), StandDown>,
    );
    let cases: Vec<Case> = vec![
        ("nothing against it", json!({}), vec![], Ok(())),
        ("held", held, vec![], Err(StandDown::Held("p1".into()))),
        (
            "its turn has come",
            json!({"currentPromotion": {"name": "p9", "freight": {"name": "f"}}}),
            vec![],
            underway("p9"),
        ),
        ("there", there, vec![], Err(StandDown::Current)),
        (
            "pending",
            last.clone(),
            vec![row("p2", "f", "Pending")],
            underway("p2"),
        ),
        (
            "new",
            last.clone(),
            vec![row("p2", "f", "")],
            underway("p2"),
        ),
        (
            "not recorded",
            last.clone(),
            vec![row("p6", "f", "Succeeded")],
            underway("p6"),
        ),
        (
            "went and was replaced",
            last.clone(),
            vec![row("p2", "f", "Succeeded")],
            Ok(()),
        ),
        (
            "another freight",
            last.clone(),
            vec![row("p2", "g", "Pending")],
            Ok(()),
        ),
        (
            "the newest failed",
            last.clone(),
            vec![
                row("p2", "f", "Succeeded"),
                row("p4", "f", "Failed"),
                row("p3", "f", "Succeeded"),
            ],
            Err(StandDown::EndedBadly("p4".into(), Phase::Failed)),
        ),
        (
            "an older failed",
            last,
            vec![row("p2", "f", "Failed"), row("p4", "f", "Succeeded")],
            Ok(()),
        ),
    ];
    for (name, status, rows, expected) in cases {
        let stage = stage(json!({}), status);
        let holds = effective_holds(&stage, [], NOW.parse().unwrap());
        assert_eq!(
            decide(&stage, &Origin::warehouse("w"), &"f".into(), &rows, &holds),
            expected,
            "{name}"
        );
    }
}

#[test]
fn holds_begin_with_the_promotion_and_are_recorded_at_its_end() {
    let now: Timestamp = NOW.parse().unwrap();
    let promotion = |name: &str, phase: &str, key: &str| -> Promotion {
        serde_json::from_value(json!({
            "metadata": {"name": name, "annotations": {(key): "Warehouse/w", "kargo.akuity.io/create-actor": "kubernetes:ann"}},
            "spec": {"stage": "prod-eu", "freight": "g"}, "status": {"phase": phase}
        }))
        .unwrap()
    };
    let (hold, resume) = (meta::AUTO_PROMOTION_HOLD, meta::AUTO_PROMOTION_RESUME);
    let stage = stage(json!({}), json!({}));
    let effective = effective_holds(&stage, [&promotion("p1", "Pending", hold)], now);
    assert_eq!(effective["Warehouse/w"].actor, "kubernetes:ann");
    for (intents, held) in [
        (vec![promotion("p1", "Aborted", hold)], false),
        (
            vec![promotion("p2", "", resume), promotion("p1", "Failed", hold)],
            false,
        ),
        (
            vec![
                promotion("p1", "Running", resume),
                promotion("p2", "Pending", hold),
            ],
            true,
        ),
        (
            vec![
                promotion("p2", "Aborted", resume),
                promotion("p1", "Pending", hold),
            ],
            true,
        ),
    ] {
        assert_eq!(
            !effective_holds(&stage, &intents, now).is_empty(),
            held,
            "the newest of {intents:?}"
        );
    }
    let mut recorded = stage.clone();
    recorded.status.last_promotion = Some(crate::kargo::stage::PromotionReference {
        name: "p1".into(),
        ..Default::default()
    });
    assert!(
        effective_holds(&recorded, [&promotion("p1", "Succeeded", hold)], now).is_empty(),
        "recorded, and lifted since"
    );

    let mut holds = BTreeMap::new();
    for (phase, key, held) in [
        ("Aborted", hold, false),
        ("Running", hold, false),
        ("Failed", hold, true),
        ("Aborted", resume, true),
        ("Succeeded", resume, false),
        ("Succeeded", hold, true),
    ] {
        apply_intent(&mut holds, &promotion("p1", phase, key), now);
        assert_eq!(holds.contains_key("Warehouse/w"), held, "{phase} {key}");
    }
}

#[test]
fn a_persons_choice_holds_or_resumes() {
    let origin = Origin::warehouse("w");
    let stage = stage(
        json!({"requestedFreight": [{"origin": origin, "sources": {"direct": true}}]}),
        json!({}),
    );
    let all = [
        freight("old", "2026-01-01T00:00:00Z", json!({})),
        freight("new", "2026-01-02T00:00:00Z", json!({})),
    ];
    let config = |policy: Value| -> ProjectConfig {
        serde_json::from_value(json!({"spec": {"promotionPolicies": [policy]}})).unwrap()
    };
    let on = config(json!({"stage": "prod-eu", "autoPromotionEnabled": true}));
    let unreadable =
        config(json!({"stageSelector": {"name": "regex:("}, "autoPromotionEnabled": true}));
    for (config, chosen, expected) in [
        (Some(&on), "new", Some(Intent::Resume(origin.clone()))),
        (Some(&on), "old", Some(Intent::Hold(origin.clone()))),
        (Some(&on), "gone", None),
        (Some(&unreadable), "old", None),
        (None, "old", None),
    ] {
        assert_eq!(
            intent(config, &stage, &chosen.into(), &all, NOW.parse().unwrap()),
            expected,
            "{chosen}"
        );
    }
}
