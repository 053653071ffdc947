//! Warehouse: where Freight is found.

use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{lenient, resource::resource, stage::Condition};

/// A Warehouse.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Warehouse {
    #[serde(default = "Warehouse::default_api_version")]
    pub api_version: String,
    #[serde(default = "Warehouse::default_kind")]
    pub kind: String,
    #[serde(default)]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "lenient::null")]
    pub spec: WarehouseSpec,
    #[serde(default, deserialize_with = "lenient::null")]
    pub status: WarehouseStatus,
}

resource!(
    Warehouse,
    "kargo.akuity.io",
    "warehouses",
    NamespaceResourceScope
);

/// What is subscribed to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WarehouseSpec {
    /// Whose Warehouse it is.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub shard: String,
    /// Go duration between looks, `5m0s`.
    #[serde(deserialize_with = "lenient::null")]
    pub interval: String,
    /// `Automatic` or `Manual`.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub freight_creation_policy: String,
    /// Each an object with one type key: `git`, `image`, `chart` or another.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub subscriptions: Vec<Value>,
    /// Condition on what is found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freight_creation_criteria: Option<FreightCreationCriteria>,
}

/// Condition on what is found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct FreightCreationCriteria {
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub expression: String,
}

/// What was found, written by Kargo.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct WarehouseStatus {
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
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub observed_generation: Option<i64>,
    #[serde(
        rename = "lastFreightID",
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub last_freight_id: String,
    /// Read, never written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discovered_artifacts: Option<Value>,
}
