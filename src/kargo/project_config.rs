//! ProjectConfig: a Project's promotion policies. Parts that we never read are kept as they are.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelectorRequirement;
use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

use super::{lenient, resource::resource, stage::Condition};

/// A ProjectConfig; its name is its Project's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct ProjectConfig {
    #[serde(default = "ProjectConfig::default_api_version")]
    pub api_version: String,
    #[serde(default = "ProjectConfig::default_kind")]
    pub kind: String,
    #[serde(default)]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "lenient::null")]
    pub spec: ProjectConfigSpec,
    #[serde(default, deserialize_with = "lenient::null")]
    pub status: ProjectConfigStatus,
}

resource!(
    ProjectConfig,
    "kargo.akuity.io",
    "projectconfigs",
    NamespaceResourceScope
);

/// Policies; the first that matches a Stage counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct ProjectConfigSpec {
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub promotion_policies: Vec<PromotionPolicy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook_receivers: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freight_links: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage_links: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promotion_windows: Option<Value>,
}

/// Whether a Stage's Freight is promoted without being asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PromotionPolicy {
    /// The Stage's name (deprecated form).
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub stage: String,
    /// The Stages, by name or labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage_selector: Option<StageSelector>,
    /// The answer.
    #[serde(
        skip_serializing_if = "std::ops::Not::not",
        deserialize_with = "lenient::null"
    )]
    pub auto_promotion_enabled: bool,
    /// Enterprise only; kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_rollback: Option<Value>,
}

/// Stages by name (exact, `glob:` or `regex:`) and by labels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct StageSelector {
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub name: String,
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub match_labels: BTreeMap<String, String>,
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub match_expressions: Vec<LabelSelectorRequirement>,
}

/// Written by Kargo.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct ProjectConfigStatus {
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook_receivers: Option<Value>,
}
