//! What a Stage's status says: history, health, conditions, promotions and holds.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kargo::{
    FreightName, HealthState, PromotionName, Timestamp,
    artifact::{FreightCollection, FreightReference, Origin},
    lenient,
    promotion::PromotionStatus,
};

/// The Stage's bookkeeping, written by whoever executes its shard.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct StageStatus {
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub conditions: Vec<Condition>,
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub last_handled_refresh: String,
    /// Newest first, at most ten.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub freight_history: Vec<FreightCollection>,
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub freight_summary: String,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub health: Option<Health>,
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "lenient::null")]
    pub observed_generation: i64,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub current_promotion: Option<PromotionReference>,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub last_promotion: Option<PromotionReference>,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub current_promotion_request: Option<PromotionRequestReference>,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub last_promotion_request: Option<PromotionRequestReference>,
    #[serde(
        skip_serializing_if = "std::ops::Not::not",
        deserialize_with = "lenient::null"
    )]
    pub auto_promotion_enabled: bool,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub promotion_window_status: Option<PromotionWindowStatus>,
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub metadata: BTreeMap<String, Value>,
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub auto_promotion_holds: BTreeMap<String, Hold>,
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub effective_auto_promotion_holds: BTreeMap<String, Hold>,
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// A condition, one per type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Condition {
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "lenient::null")]
    pub observed_generation: i64,
    #[serde(deserialize_with = "lenient::maybe")]
    pub last_transition_time: Option<Timestamp>,
    pub reason: String,
    #[serde(deserialize_with = "lenient::null")]
    pub message: String,
}

/// Aggregated health.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Health {
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub status: Option<HealthState>,
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub issues: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
}

/// A Promotion as its Stage remembers it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct PromotionReference {
    pub name: PromotionName,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub freight: Option<FreightReference>,
    /// A full copy.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub status: Option<PromotionStatus>,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub finished_at: Option<Timestamp>,
}

/// A PromotionRequest as its Stage remembers it (enterprise only; read, never written).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct PromotionRequestReference {
    pub name: String,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub freight: Option<NamedFreight>,
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub phase: String,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub finished_at: Option<Timestamp>,
}

/// A Freight by name alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct NamedFreight {
    pub name: FreightName,
}

/// Promotion windows (enterprise only; read, never written).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct PromotionWindowStatus {
    pub closed: bool,
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub reason: String,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub next_open: Option<Timestamp>,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub next_close: Option<Timestamp>,
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub next_close_reason: String,
}

/// Why auto-promotion of one origin stands still.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Hold {
    pub freight_name: FreightName,
    pub origin: Origin,
    #[serde(
        skip_serializing_if = "PromotionName::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub promotion_name: PromotionName,
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub actor: String,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub created_at: Option<Timestamp>,
}
