//! Stage: where Freight is promoted to, and by which steps.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    PromotionStep, StageName, artifact::Origin, lenient, resource::resource, step::Variable,
};

mod status;

pub use status::*;

/// A Stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Stage {
    #[serde(default = "Stage::default_api_version")]
    pub api_version: String,
    #[serde(default = "Stage::default_kind")]
    pub kind: String,
    #[serde(default)]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "lenient::null")]
    pub spec: StageSpec,
    #[serde(default, deserialize_with = "lenient::null")]
    pub status: StageStatus,
}

resource!(Stage, "kargo.akuity.io", "stages", NamespaceResourceScope);

impl Stage {
    /// The name as its own type.
    pub fn stage_name(&self) -> StageName {
        self.name().into()
    }

    /// The template's steps; none for a control-flow Stage.
    pub fn steps(&self) -> &[PromotionStep] {
        self.spec
            .promotion_template
            .as_ref()
            .map_or(&[], |template| &template.spec.steps)
    }

    /// Whether it only passes Freight on: it has no steps and takes no Promotions.
    pub fn is_control_flow(&self) -> bool {
        self.steps().is_empty()
    }
}

/// What the Stage wants.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct StageSpec {
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub shard: String,
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub vars: Vec<Variable>,
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub requested_freight: Vec<FreightRequest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promotion_template: Option<PromotionTemplate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub targets: Option<Targets>,
}

/// The steps of a Promotion to this Stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct PromotionTemplate {
    pub spec: PromotionTemplateSpec,
}

/// Steps and variables.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct PromotionTemplateSpec {
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

/// One origin that the Stage takes Freight of, and under which conditions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct FreightRequest {
    pub origin: Origin,
    pub sources: FreightSources,
}

/// Where that Freight may come from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FreightSources {
    /// Straight from the Warehouse.
    #[serde(
        skip_serializing_if = "std::ops::Not::not",
        deserialize_with = "lenient::null"
    )]
    pub direct: bool,
    /// Stages in which it must have been verified.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub stages: Vec<StageName>,
    /// Go duration that it must have stayed there.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub required_soak_time: String,
    /// `All`, or `OneOf` (also when empty).
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub availability_strategy: String,
    /// How auto-promotion chooses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_promotion_options: Option<AutoPromotionOptions>,
}

/// How auto-promotion chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AutoPromotionOptions {
    /// `NewestFreight` (also when empty) or `MatchUpstream`.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub selection_policy: String,
}

/// How Freight is verified after a Promotion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Verification {
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub analysis_templates: Vec<AnalysisTemplateReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub analysis_run_metadata: Option<AnalysisRunMetadata>,
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub args: Vec<AnalysisArg>,
}

/// An AnalysisTemplate or ClusterAnalysisTemplate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct AnalysisTemplateReference {
    pub name: String,
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub kind: String,
}

/// Labels and annotations for the AnalysisRun.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct AnalysisRunMetadata {
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub labels: BTreeMap<String, String>,
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub annotations: BTreeMap<String, String>,
}

/// An argument of the AnalysisRun.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct AnalysisArg {
    pub name: String,
    pub value: String,
}

/// Marks a Stage that promotes to Targets (not possible in open-source Kargo).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Targets {
    #[serde(deserialize_with = "lenient::list")]
    pub selectors: Vec<LabelSelector>,
}
