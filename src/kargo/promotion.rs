//! Promotion: the way of one piece of Freight into one Stage.

use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Alias, FreightName, Phase, PromotionName, PromotionStep, StageName, StepStatus, Timestamp,
    artifact::{FreightCollection, FreightReference, Origin},
    lenient, meta,
    resource::resource,
    step::Variable,
};

/// A Promotion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Promotion {
    #[serde(default = "Promotion::default_api_version")]
    pub api_version: String,
    #[serde(default = "Promotion::default_kind")]
    pub kind: String,
    #[serde(default)]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "lenient::null")]
    pub spec: PromotionSpec,
    #[serde(default, deserialize_with = "lenient::null")]
    pub status: PromotionStatus,
}

resource!(
    Promotion,
    "kargo.akuity.io",
    "promotions",
    NamespaceResourceScope
);

impl Promotion {
    /// The name as its own type.
    pub fn promotion_name(&self) -> PromotionName {
        self.name().into()
    }

    /// A value to be POSTed: the server's admission names it and fills in the steps.
    pub fn request(project: &str, stage: &StageName, freight: &FreightName) -> Self {
        Self {
            api_version: Self::default_api_version(),
            kind: Self::default_kind(),
            metadata: ObjectMeta {
                namespace: Some(project.to_owned()),
                generate_name: Some("promo-".into()),
                ..ObjectMeta::default()
            },
            spec: PromotionSpec {
                stage: stage.clone(),
                freight: freight.clone(),
                ..PromotionSpec::default()
            },
            status: PromotionStatus::default(),
        }
    }

    /// What the abort annotation asks, if it is there: the action and who asked.
    pub fn abort_request(&self) -> Option<AbortRequest> {
        AbortRequest::parse(self.annotation(meta::ABORT)?)
    }

    /// The metadata entry of a step, if the promotion has come that far.
    pub fn step_metadata(&self, alias: &Alias) -> Option<&StepMetadata> {
        self.status
            .step_execution_metadata
            .iter()
            .find(|entry| entry.alias == *alias)
    }
}

/// The abort annotation's content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AbortRequest {
    /// `terminate`.
    pub action: String,
    /// Who asked; empty where the annotation was the bare word.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub actor: String,
    /// Whether Kargo itself asked.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub control_plane: bool,
}

impl AbortRequest {
    /// Reads the bare word or the JSON form; nothing for an empty value.
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        Some(serde_json::from_str(text).unwrap_or_else(|_| Self {
            action: text.to_owned(),
            ..Self::default()
        }))
    }
}

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct PromotionSpec {
    pub stage: StageName,
    #[serde(
        skip_serializing_if = "FreightName::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub freight: FreightName,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub target: String,
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub vars: Vec<Variable>,
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub steps: Vec<PromotionStep>,
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct PromotionStatus {
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub last_handled_refresh: String,
    #[serde(skip_serializing_if = "is_new", deserialize_with = "lenient::null")]
    pub phase: Phase,
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub message: String,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub freight: Option<FreightReference>,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub freight_collection: Option<FreightCollection>,
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub health_checks: Vec<HealthCheck>,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub started_at: Option<Timestamp>,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub finished_at: Option<Timestamp>,
    /// Index into the steps.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "lenient::null")]
    pub current_step: i64,
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub step_execution_metadata: Vec<StepMetadata>,
    /// Outputs by alias, and our journal under its own key.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub state: Option<Value>,
}

impl PromotionStatus {
    /// The state as a map; empty where it is absent or no object.
    pub fn state_map(&self) -> Map<String, Value> {
        self.state
            .as_ref()
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default()
    }
}

fn is_new(phase: &Phase) -> bool {
    *phase == Phase::New
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// A health check that the Stage's owner makes later.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct HealthCheck {
    pub uses: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
}

/// The record of one step. A step not reached yet has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct StepMetadata {
    #[serde(
        skip_serializing_if = "Alias::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub alias: Alias,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub started_at: Option<Timestamp>,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub finished_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "is_zero32", deserialize_with = "lenient::null")]
    pub error_count: i32,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub status: Option<StepStatus>,
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub message: String,
    #[serde(
        skip_serializing_if = "std::ops::Not::not",
        deserialize_with = "lenient::null"
    )]
    pub continue_on_error: bool,
}

fn is_zero32(number: &i32) -> bool {
    *number == 0
}
