//! Objects as this program writes them, from hardly anything to everything.

use std::collections::BTreeMap;

use kube::core::ObjectMeta;
use serde::Serialize;
use serde_json::{Value, json};
use tidewaiter::kargo::{
    Freight, HealthState, Phase, Promotion, Stage, StepStatus, Timestamp, VerificationPhase,
    artifact::{
        AnalysisRunReference, Artifact, Chart, FreightCollection, GitCommit, Image, Origin,
        VerificationInfo,
    },
    freight::{ApprovedStage, CurrentStage, FreightStatus, VerifiedStage},
    promotion::{HealthCheck, PromotionStatus, StepMetadata},
    stage::{Condition, Health, Hold, PromotionReference, StageStatus},
};

type Written = (&'static str, &'static str, Value);

fn object(value: impl Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

fn noon() -> Timestamp {
    "2026-08-21T12:00:00.123456789Z".parse().unwrap()
}

fn freight() -> Freight {
    let mut freight: Freight = serde_json::from_value(json!({
        "metadata": {"name": "abcdef0123456789abcdef0123456789abcdef01", "namespace": "shop"},
        "origin": {"kind": "Warehouse", "name": "w"}
    }))
    .unwrap();
    freight.alias = "calm-otter".into();
    freight.discovered_at = Some(noon());
    freight.commits = vec![GitCommit {
        repo_url: "https://h.example/o/r".into(),
        id: "74291c2".into(),
        ..GitCommit::default()
    }];
    freight.images = vec![Image {
        repo_url: "org/app".into(),
        tag: "2.3.1".into(),
        annotations: BTreeMap::from([("a".into(), "b".into())]),
        ..Image::default()
    }];
    freight.charts = vec![Chart {
        repo_url: "oci://h.example/c".into(),
        version: "1.0.0".into(),
        ..Chart::default()
    }];
    freight.artifacts = vec![Artifact {
        artifact_type: "npm".into(),
        subscription_name: "lib".into(),
        version: "1".into(),
        metadata: Some(json!({"any": ["thing"]})),
    }];
    freight
}

fn verification() -> VerificationInfo {
    VerificationInfo {
        id: "v1".into(),
        actor: "kubernetes:ann".into(),
        start_time: Some(noon()),
        phase: Some(VerificationPhase::Successful),
        message: "fine".into(),
        analysis_run: Some(AnalysisRunReference {
            namespace: "shop".into(),
            name: "run".into(),
            phase: "Successful".into(),
        }),
        finish_time: Some(noon()),
    }
}

fn collection() -> FreightCollection {
    let mut collection = FreightCollection::new([freight().reference()]);
    collection.verification_history = vec![verification()];
    collection
}

/// Every field of a Promotion's status, and our journal in its state.
fn promotion_status() -> PromotionStatus {
    PromotionStatus {
        last_handled_refresh: "token".into(),
        phase: Phase::Running,
        message: "waits".into(),
        freight: Some(freight().reference()),
        freight_collection: Some(collection()),
        health_checks: vec![HealthCheck {
            uses: "argocd-update".into(),
            config: Some(json!({"apps": [{"name": "a"}]})),
        }],
        started_at: Some(noon()),
        finished_at: Some(noon()),
        current_step: 3,
        step_execution_metadata: vec![
            StepMetadata {
                alias: "push".into(),
                started_at: Some(noon()),
                finished_at: Some(noon()),
                error_count: 2,
                status: Some(StepStatus::Errored),
                message: "again".into(),
                continue_on_error: true,
            },
            StepMetadata {
                alias: "skipped".into(),
                status: Some(StepStatus::Skipped),
                ..StepMetadata::default()
            },
        ],
        state: Some(json!({
            "push": {"commit": "74291c2", "branch": "main"},
            "tidewaiter.dev": {"epoch": "e-1", "steps": [{"trees": {"./src": "9ae1"}, "intent": {"kind": "push", "tip": null}}]}
        })),
    }
}

fn promotion(status: PromotionStatus) -> Promotion {
    let mut promotion = Promotion::request("shop", &"prod".into(), &freight().freight_name());
    promotion.spec.steps = serde_json::from_value(json!([
        {"uses": "git-clone", "as": "clone", "config": {"repoURL": "${{ vars.url }}"}},
        {"uses": "git-push", "as": "t::push", "if": "${{ success() }}", "continueOnError": true,
         "retry": {"timeout": "5m", "errorThreshold": 3}, "vars": [{"name": "a", "value": "b"}, {"name": "empty"}]}
    ]))
    .unwrap();
    promotion.spec.vars = serde_json::from_value(json!([{"name": "url", "value": "x"}])).unwrap();
    promotion.status = status;
    promotion
}

fn condition(kind: &str) -> Condition {
    Condition {
        kind: kind.into(),
        status: "True".into(),
        observed_generation: 2,
        last_transition_time: Some(noon()),
        reason: "ActivePromotion".into(),
        message: String::new(),
    }
}

fn reference(status: PromotionStatus) -> PromotionReference {
    PromotionReference {
        name: "prod.01k36z5q3zsa2xw3b6gqk1f0a1.abcdef0".into(),
        freight: Some(freight().reference()),
        status: Some(status),
        finished_at: Some(noon()),
    }
}

/// Every field of a Stage's status that we write.
fn stage_status() -> StageStatus {
    let origin = Origin::warehouse("w");
    let hold = Hold {
        freight_name: freight().freight_name(),
        origin: origin.clone(),
        promotion_name: "prod.x.y".into(),
        actor: "kubernetes:ann".into(),
        created_at: Some(noon()),
    };
    StageStatus {
        conditions: ["Ready", "Reconciling", "Healthy", "Promoting", "Verified"]
            .map(condition)
            .to_vec(),
        last_handled_refresh: "token".into(),
        freight_history: vec![collection(), FreightCollection::new([])],
        freight_summary: "calm-otter".into(),
        health: Some(Health {
            status: Some(HealthState::Unclear),
            issues: vec!["one".into()],
            config: Some(json!([1])),
            output: Some(json!({"a": 1})),
        }),
        observed_generation: 4,
        current_promotion: Some(PromotionReference {
            name: "prod.x.y".into(),
            ..PromotionReference::default()
        }),
        last_promotion: Some(reference(promotion_status())),
        auto_promotion_enabled: true,
        metadata: BTreeMap::from([("any".into(), json!({"thing": [1]}))]),
        auto_promotion_holds: BTreeMap::from([(origin.key(), hold.clone())]),
        effective_auto_promotion_holds: BTreeMap::from([(origin.key(), hold)]),
        ..StageStatus::default()
    }
}

fn stage(status: StageStatus) -> Stage {
    let mut stage: Stage = serde_json::from_value(json!({
        "metadata": {"name": "prod", "namespace": "shop"},
        "spec": {
            "shard": "east",
            "requestedFreight": [{"origin": {"kind": "Warehouse", "name": "w"}, "sources": {"direct": true}}],
            "promotionTemplate": {"spec": {"steps": [{"task": {"name": "t"}}, {"uses": "wait-for-approval"}]}}
        }
    }))
    .unwrap();
    stage.metadata = ObjectMeta {
        finalizers: Some(vec!["kargo.akuity.io/finalizer".into()]),
        ..stage.metadata
    };
    stage.status = status;
    stage
}

fn freight_status() -> FreightStatus {
    FreightStatus {
        currently_in: BTreeMap::from([
            (
                "test".into(),
                CurrentStage {
                    since: Some(noon()),
                },
            ),
            ("uat".into(), CurrentStage::default()),
        ]),
        verified_in: BTreeMap::from([
            (
                "test".into(),
                VerifiedStage {
                    verified_at: Some(noon()),
                    longest_soak: "1h0m0s".into(),
                },
            ),
            ("uat".into(), VerifiedStage::default()),
        ]),
        approved_for: BTreeMap::from([(
            "prod".into(),
            ApprovedStage {
                approved_at: Some(noon()),
            },
        )]),
        metadata: BTreeMap::from([("any".into(), json!({"thing": 1}))]),
    }
}

/// Plural, what it is, the object.
pub fn all() -> Vec<Written> {
    let mut fresh = freight();
    fresh.status = freight_status();
    vec![
        (
            "promotions",
            "pending",
            object(promotion(PromotionStatus {
                phase: Phase::Pending,
                ..PromotionStatus::default()
            })),
        ),
        ("promotions", "full", object(promotion(promotion_status()))),
        ("stages", "new", object(stage(StageStatus::default()))),
        ("stages", "full", object(stage(stage_status()))),
        (
            "stages",
            "after an aborted promotion without freight",
            object(stage(StageStatus {
                last_promotion: Some(PromotionReference {
                    name: "prod.x.y".into(),
                    status: Some(PromotionStatus {
                        phase: Phase::Aborted,
                        ..PromotionStatus::default()
                    }),
                    ..PromotionReference::default()
                }),
                health: Some(Health::default()),
                ..StageStatus::default()
            })),
        ),
        ("freights", "new", object(freight())),
        ("freights", "full", object(fresh)),
    ]
}

/// Changes to the full Promotion that a server would refuse or prune, and what is said of them.
pub fn wrong() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("/status/new", json!(1), ".status.new: would be pruned"),
        (
            "/status/stepExecutionMetadata/0/try",
            json!(1),
            "would be pruned",
        ),
        (
            "/status/startedAt",
            json!("2026-08-21T12:00:00.5Z"),
            "no date-time",
        ),
        ("/status/startedAt", Value::Null, "is no \"string\""),
        ("/status/currentStep", json!("1"), "is no \"integer\""),
        ("/status/freight/origin", json!({}), "\"kind\" is required"),
        (
            "/status/freight/origin/kind",
            json!("Shelf"),
            "is not one of",
        ),
        (
            "/status/stepExecutionMetadata/0/errorCount",
            json!(5_000_000_000_i64),
            "no int32",
        ),
        (
            "/status/freightCollection",
            json!({"items": {}}),
            "\"id\" is required",
        ),
        ("/spec/steps", json!([]), "minItems"),
        ("/spec/stage", json!("UPPER"), "does not match"),
        ("/spec/stage", json!(""), "minLength"),
        ("/spec/vars/0/name", json!("a-b"), "does not match"),
    ]
}
