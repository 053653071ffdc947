//! PromotionTask and ClusterPromotionTask: steps under a name, put in place of a task step at admission.

use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PromotionStep, lenient, resource::resource, step::Variable};

/// Steps for one Project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct PromotionTask {
    #[serde(default = "PromotionTask::default_api_version")]
    pub api_version: String,
    #[serde(default = "PromotionTask::default_kind")]
    pub kind: String,
    #[serde(default)]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "lenient::null")]
    pub spec: TaskSpec,
}

resource!(
    PromotionTask,
    "kargo.akuity.io",
    "promotiontasks",
    NamespaceResourceScope
);

/// Steps for every Project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct ClusterPromotionTask {
    #[serde(default = "ClusterPromotionTask::default_api_version")]
    pub api_version: String,
    #[serde(default = "ClusterPromotionTask::default_kind")]
    pub kind: String,
    #[serde(default)]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "lenient::null")]
    pub spec: TaskSpec,
}

resource!(
    ClusterPromotionTask,
    "kargo.akuity.io",
    "clusterpromotiontasks",
    ClusterResourceScope
);

/// What a task holds. A variable with an empty value must be given by the step that uses the task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct TaskSpec {
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
