//! Project: a namespace of Stages. It has no spec.

use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{lenient, resource::resource, stage::Condition};

/// A Project; its name is the name of its namespace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Project {
    #[serde(default = "Project::default_api_version")]
    pub api_version: String,
    #[serde(default = "Project::default_kind")]
    pub kind: String,
    #[serde(default)]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "lenient::null")]
    pub status: ProjectStatus,
}

resource!(Project, "kargo.akuity.io", "projects", ClusterResourceScope);

/// Conditions and counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct ProjectStatus {
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub conditions: Vec<Condition>,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub stats: Option<ProjectStats>,
}

/// Counts by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct ProjectStats {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stages: Option<KindStats>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warehouses: Option<KindStats>,
}

/// How many there are and how many are well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct KindStats {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthStats>,
}

/// How many are well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct HealthStats {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub healthy: Option<i64>,
}
