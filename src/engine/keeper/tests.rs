//! The plan as a function: each duty as a case.

use std::sync::Arc;

use serde_json::{Value, json};

use super::plan::{Plan, Seen, plan};
use crate::{
    kargo::{Freight, Phase, ProjectConfig, Promotion, Stage, Timestamp},
    rules::{queue::unrecorded, rows::PromotionRow},
};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn stage(status: Value) -> Stage {
    serde_json::from_value(json!({
        "metadata": {"name": "test", "namespace": "shop", "generation": 3, "uid": "u",
            "finalizers": ["kargo.akuity.io/finalizer"]},
        "spec": {
            "requestedFreight": [{"origin": {"kind": "Warehouse", "name": "web"}, "sources": {"direct": true}}],
            "promotionTemplate": {"spec": {"steps": [{"uses": "fail"}]}},
        },
        "status": status,
    }))
    .unwrap()
}

fn freight(name: &str, status: Value) -> Freight {
    serde_json::from_value(json!({
        "metadata": {"name": name, "namespace": "shop"}, "origin": {"kind": "Warehouse", "name": "web"},
        "status": status,
    }))
    .unwrap()
}

fn promotion(number: u32, freight: &str, phase: &str) -> Promotion {
    let reference = json!({"name": freight, "origin": {"kind": "Warehouse", "name": "web"}});
    serde_json::from_value(json!({
        "metadata": {"name": format!("test.{number}"), "namespace": "shop", "uid": format!("p{number}")},
        "spec": {"stage": "test", "freight": freight, "steps": [{"uses": "fail"}]},
        "status": {
            "phase": phase, "finishedAt": "2026-01-01T10:00:00Z", "freight": reference,
            "freightCollection": {"id": "c", "items": {"Warehouse/web": reference}},
            "state": {"a": 1, "tidewaiter.dev": {"epoch": {}}},
        },
    }))
    .unwrap()
}

struct Case {
    stage: Stage,
    promotions: Vec<Promotion>,
    freight: Vec<Freight>,
    config: Option<ProjectConfig>,
}

impl Case {
    fn new(status: Value, promotions: Vec<Promotion>) -> Self {
        Self {
            stage: stage(status),
            promotions,
            freight: vec![freight("f1", json!({})), freight("f2", json!({}))],
            config: None,
        }
    }

    fn plan(&self) -> Plan {
        let rows: Vec<PromotionRow> = self.promotions.iter().map(PromotionRow::of).collect();
        let names = unrecorded(&self.stage, &rows);
        let ended: Vec<Promotion> = names
            .iter()
            .map(|name| {
                self.promotions
                    .iter()
                    .find(|p| p.promotion_name() == *name)
                    .unwrap()
                    .clone()
            })
            .collect();
        let open: Vec<Promotion> = self
            .promotions
            .iter()
            .filter(|promotion| !promotion.status.phase.is_terminal())
            .cloned()
            .collect();
        let freight: Vec<Arc<Freight>> = self.freight.iter().cloned().map(Arc::new).collect();
        plan(&Seen {
            stage: &self.stage,
            promotions: &rows,
            ended: &ended,
            open: &open,
            freight: &freight,
            config: self.config.as_ref(),
            now: at("2026-01-01T12:00:00Z"),
            fresh_id: "id".into(),
        })
    }

    /// Plans and does until there is nothing more to do, as the keeper would.
    fn settle(mut self) -> (Self, Vec<Plan>) {
        let mut plans = Vec::new();
        for _ in 0..6 {
            let plan = self.plan();
            let same = plan.status == self.stage.status && plan.freight.is_empty();
            self.stage.status = plan.status.clone();
            for (name, patch) in &plan.freight {
                let freight = self
                    .freight
                    .iter_mut()
                    .find(|freight| freight.freight_name() == *name)
                    .unwrap();
                let mut status = serde_json::to_value(&freight.status).unwrap();
                json_patch::merge(&mut status, patch);
                freight.status = serde_json::from_value(status).unwrap();
            }
            plans.push(plan);
            if same {
                return (self, plans);
            }
        }
        panic!("never settles: {:#?}", self.stage.status);
    }

    fn condition(&self, kind: &str) -> String {
        let found = self
            .stage
            .status
            .conditions
            .iter()
            .find(|condition| condition.kind == kind);
        found
            .map(|condition| format!("{} {}", condition.status, condition.reason))
            .unwrap_or_default()
    }

    fn status(&self) -> Value {
        serde_json::to_value(&self.stage.status).unwrap()
    }
}

#[test]
fn a_new_stage_is_held_and_ready() {
    let mut case = Case::new(json!({}), vec![]);
    case.stage.metadata.finalizers = None;
    assert_eq!(case.plan().finalizer, Some(true));
    let (case, _) = case.settle();
    assert_eq!(case.condition("Ready"), "True Reconciled");
    assert_eq!(case.stage.status.observed_generation, 3);
    assert_eq!(case.stage.status.freight_summary, "0/1 Fulfilled");
    assert!(case.stage.status.health.is_none());
}

#[test]
fn the_oldest_pending_promotion_gets_its_turn_and_a_new_one_waits_to_be_pending() {
    let (case, _) = Case::new(
        json!({}),
        vec![promotion(2, "f1", "Pending"), promotion(1, "f1", "")],
    )
    .settle();
    assert_eq!(case.status()["currentPromotion"], Value::Null);
    let (case, _) = Case::new(
        json!({}),
        vec![promotion(2, "f1", "Pending"), promotion(1, "f1", "Pending")],
    )
    .settle();
    assert_eq!(case.status()["currentPromotion"]["name"], "test.1");
    assert_eq!(case.status()["currentPromotion"]["freight"]["name"], "f1");
    assert_eq!(case.condition("Promoting"), "True ActivePromotion");
    assert_eq!(case.status()["health"]["status"], "Unknown");
}

#[test]
fn a_success_is_recorded_verified_and_told_to_its_freight() {
    let current = json!({"currentPromotion": {"name": "test.1"}});
    let (case, plans) = Case::new(current, vec![promotion(1, "f1", "Succeeded")]).settle();
    let status = case.status();
    assert_eq!(status["currentPromotion"], Value::Null);
    assert_eq!(status["lastPromotion"]["name"], "test.1");
    assert_eq!(
        status["lastPromotion"]["finishedAt"],
        "2026-01-01T10:00:00Z"
    );
    assert_eq!(
        status["lastPromotion"]["status"]["state"],
        json!({"a": 1}),
        "without our journal"
    );
    assert_eq!(
        status["freightHistory"][0]["items"]["Warehouse/web"]["name"],
        "f1"
    );
    let verification = &status["freightHistory"][0]["verificationHistory"][0];
    assert_eq!(
        (verification["phase"].as_str(), verification["id"].as_str()),
        (Some("Successful"), Some("id"))
    );
    assert_eq!(status["health"]["status"], "Healthy");
    assert_eq!(status["freightSummary"], "f1");
    assert_eq!(case.condition("Promoting"), "");
    assert_eq!(case.condition("Verified"), "True Verified");
    let told = serde_json::to_value(&case.freight[0].status).unwrap();
    assert_eq!(told["currentlyIn"]["test"]["since"], "2026-01-01T10:00:00Z");
    assert_eq!(
        told["verifiedIn"]["test"]["verifiedAt"],
        "2026-01-01T12:00:00Z"
    );
    let reasons: Vec<&str> = plans
        .iter()
        .flat_map(|plan| &plan.events)
        .map(|news| news.reason.as_str())
        .collect();
    assert_eq!(
        reasons,
        ["PromotionSucceeded", "FreightVerificationSucceeded"]
    );
}

#[test]
fn a_failure_is_recorded_and_leaves_health_unknown_and_the_way_free() {
    let current = json!({"currentPromotion": {"name": "test.1"}});
    let (case, _) = Case::new(
        current,
        vec![promotion(1, "f1", "Failed"), promotion(2, "f1", "Pending")],
    )
    .settle();
    let status = case.status();
    assert_eq!(status["lastPromotion"]["status"]["phase"], "Failed");
    assert_eq!(status["freightHistory"], Value::Null);
    assert_eq!(status["currentPromotion"]["name"], "test.2");
    assert_eq!(status["health"]["status"], "Unknown");
}

#[test]
fn the_next_waits_for_the_verification_of_what_is_there() {
    let mut case = Case::new(
        json!({"currentPromotion": {"name": "test.1"}}),
        vec![
            promotion(1, "f1", "Succeeded"),
            promotion(2, "f2", "Pending"),
        ],
    );
    let first = case.plan();
    assert!(first.status.current_promotion.is_none() && first.again);
    case.stage.status = first.status;
    assert_eq!(
        case.plan().status.current_promotion.unwrap().name,
        *"test.2"
    );
}

#[test]
fn names_behind_the_last_or_behind_one_that_runs_are_not_recorded() {
    let last = json!({"lastPromotion": {"name": "test.5", "status": {"phase": "Succeeded"}}});
    let all = vec![
        promotion(4, "f1", "Aborted"),
        promotion(6, "f1", "Pending"),
        promotion(7, "f1", "Aborted"),
    ];
    let (case, _) = Case::new(last, all).settle();
    assert_eq!(case.status()["lastPromotion"]["name"], "test.5");
    assert_eq!(case.status()["currentPromotion"]["name"], "test.6");
}

#[test]
fn what_was_aborted_before_its_start_does_not_forget_other_origins() {
    let there = json!({"id": "x", "items": {"Warehouse/db": {"name": "d1", "origin": {"kind": "Warehouse", "name": "db"}}}});
    let last = json!({"lastPromotion": {"name": "test.1", "status": {"phase": "Succeeded", "freightCollection": there}}});
    let mut aborted = promotion(2, "f1", "Aborted");
    aborted.status.freight_collection = None;
    let (case, _) = Case::new(last, vec![aborted]).settle();
    assert_eq!(
        case.status()["lastPromotion"]["status"]["freightCollection"],
        there
    );
    assert_eq!(case.status()["lastPromotion"]["name"], "test.2");
}

#[test]
fn freight_that_leaves_keeps_its_longest_soak() {
    let old = json!({"freightHistory": [{"id": "x", "items": {"Warehouse/web": {"name": "f1"}}}],
        "currentPromotion": {"name": "test.2"}});
    let mut case = Case::new(old, vec![promotion(2, "f2", "Succeeded")]);
    case.freight[0] = freight(
        "f1",
        json!({
            "currentlyIn": {"test": {"since": "2026-01-01T08:30:00Z"}},
            "verifiedIn": {"test": {"verifiedAt": "2026-01-01T08:30:00Z", "longestSoak": "10m0s"}},
        }),
    );
    let (case, _) = case.settle();
    let left = serde_json::to_value(&case.freight[0].status).unwrap();
    assert_eq!(left["currentlyIn"], Value::Null);
    assert_eq!(left["verifiedIn"]["test"]["longestSoak"], "1h30m0s");
    assert_eq!(
        serde_json::to_value(&case.freight[1].status).unwrap()["currentlyIn"]["test"]["since"],
        "2026-01-01T10:00:00Z"
    );
}

#[test]
fn the_same_freight_again_is_verified_again_and_ten_collections_are_kept() {
    let collections: Vec<Value> = (0..10)
        .map(|n| {
            json!({"id": n.to_string(), "items": {"Warehouse/web": {"name": "f1"}},
        "verificationHistory": [{"id": "old", "phase": "Successful"}]})
        })
        .collect();
    let before = json!({"freightHistory": collections, "currentPromotion": {"name": "test.1"}});
    let (case, _) = Case::new(before, vec![promotion(1, "f1", "Succeeded")]).settle();
    assert_eq!(case.stage.status.freight_history.len(), 10);
    assert_eq!(
        case.status()["freightHistory"][0]["verificationHistory"][0]["id"],
        "id"
    );
    assert_eq!(
        case.status()["freightHistory"][1]["verificationHistory"][0]["id"],
        "old"
    );
}

#[test]
fn a_verification_that_cannot_be_made_is_an_error_and_no_verification() {
    let mut case = Case::new(
        json!({"currentPromotion": {"name": "test.1"}}),
        vec![promotion(1, "f1", "Succeeded")],
    );
    case.stage.spec.verification = Some(crate::kargo::stage::Verification::default());
    let (case, _) = case.settle();
    assert_eq!(
        case.status()["freightHistory"][0]["verificationHistory"][0]["phase"],
        "Error"
    );
    assert_eq!(case.condition("Verified"), "False VerificationFailed");
    assert!(case.freight[0].status.verified_in.is_empty());
}

#[test]
fn policy_promotes_the_candidate_once_and_holds_keep_it_back() {
    let config = json!({"metadata": {"name": "shop"}, "spec": {"promotionPolicies": [
        {"stageSelector": {"name": "test"}, "autoPromotionEnabled": true}]}});
    let config: ProjectConfig = serde_json::from_value(config).unwrap();
    let promoted = |case: &Case| -> Vec<String> {
        case.plan()
            .promote
            .iter()
            .map(|f| f.name().to_owned())
            .collect()
    };
    let mut case = Case::new(json!({}), vec![]);
    assert_eq!(promoted(&case), Vec::<String>::new());
    case.config = Some(config);
    assert_eq!(promoted(&case), ["f2"]);
    case.promotions = vec![promotion(1, "f2", "Pending")];
    assert_eq!(promoted(&case), Vec::<String>::new());
    // A person promoted something else: auto-promotion stands still until it is resumed.
    let mut by_hand = promotion(1, "f1", "Pending");
    by_hand.metadata.annotations = Some(
        [(
            "kargo.akuity.io/auto-promotion-hold".to_owned(),
            "Warehouse/web".to_owned(),
        )]
        .into(),
    );
    case.promotions = vec![by_hand.clone()];
    assert_eq!(promoted(&case), Vec::<String>::new());
    by_hand.status.phase = Phase::Succeeded;
    case.promotions = vec![by_hand];
    case.stage = stage(json!({"currentPromotion": {"name": "test.1"}}));
    let (case, plans) = case.settle();
    assert!(plans.iter().all(|plan| plan.promote.is_empty()));
    assert_eq!(
        case.status()["autoPromotionHolds"]["Warehouse/web"]["freightName"],
        "f1"
    );
    assert_eq!(
        case.status()["effectiveAutoPromotionHolds"]["Warehouse/web"]["promotionName"],
        "test.1"
    );
    assert_eq!(case.status()["autoPromotionEnabled"], true);
}

#[test]
fn soaking_freight_sets_the_alarm() {
    let mut case = Case::new(json!({}), vec![]);
    case.stage.spec.promotion_template = None;
    case.stage.spec.requested_freight = serde_json::from_value(json!([
        {"origin": {"kind": "Warehouse", "name": "web"}, "sources": {"stages": ["dev"], "requiredSoakTime": "3h"}}]))
    .unwrap();
    case.freight = vec![freight(
        "f1",
        json!({
        "currentlyIn": {"dev": {"since": "2026-01-01T11:00:00Z"}}, "verifiedIn": {"dev": {"verifiedAt": "2026-01-01T11:00:00Z"}}}),
    )];
    let plan = case.plan();
    assert_eq!(plan.wake, Some(at("2026-01-01T14:00:00Z")));
    assert!(plan.freight.is_empty());
    case.freight[0]
        .status
        .currently_in
        .get_mut("dev")
        .unwrap()
        .since = Some(at("2026-01-01T09:00:00Z"));
    assert_eq!(
        case.plan().freight[0].1["verifiedIn"]["test"]["verifiedAt"],
        "2026-01-01T12:00:00Z"
    );
}

#[test]
fn a_stage_that_goes_is_forgotten_by_freight() {
    let mut case = Case::new(json!({}), vec![]);
    case.stage.metadata = serde_json::from_value(json!({"name": "test", "namespace": "shop",
        "deletionTimestamp": "2026-01-01T11:00:00Z", "finalizers": ["kargo.akuity.io/finalizer"]}))
    .unwrap();
    case.freight = vec![
        freight(
            "f1",
            json!({"verifiedIn": {"test": {}}, "approvedFor": {"test": {}, "prod": {}}}),
        ),
        freight("f2", json!({"verifiedIn": {"prod": {}}})),
    ];
    let plan = case.plan();
    assert_eq!(plan.finalizer, Some(false));
    assert_eq!(
        plan.freight,
        [(
            "f1".into(),
            json!({"verifiedIn": {"test": null}, "approvedFor": {"test": null}})
        )]
    );
}
