//! Freight: a set of artifacts that are promoted together. It has no spec: its fields sit at the top level.

use std::collections::BTreeMap;

use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    FreightAlias, FreightName, StageName, Timestamp,
    artifact::{Artifact, Chart, FreightReference, GitCommit, Image, Origin},
    lenient, meta,
    resource::resource,
};

/// A Freight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Freight {
    #[serde(default = "Freight::default_api_version")]
    pub api_version: String,
    #[serde(default = "Freight::default_kind")]
    pub kind: String,
    #[serde(default)]
    pub metadata: ObjectMeta,
    #[serde(
        default,
        skip_serializing_if = "FreightAlias::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub alias: FreightAlias,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub discovered_at: Option<Timestamp>,
    #[serde(default)]
    pub origin: Origin,
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub commits: Vec<GitCommit>,
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub images: Vec<Image>,
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub charts: Vec<Chart>,
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub artifacts: Vec<Artifact>,
    #[serde(default, deserialize_with = "lenient::null")]
    pub status: FreightStatus,
}

resource!(
    Freight,
    "kargo.akuity.io",
    "freights",
    NamespaceResourceScope
);

impl Freight {
    /// The name as its own type.
    pub fn freight_name(&self) -> FreightName {
        self.name().into()
    }

    /// The alias from the field, else from the label; empty where it has none.
    pub fn alias(&self) -> FreightAlias {
        if self.alias.is_empty() {
            self.label(meta::ALIAS).unwrap_or_default().into()
        } else {
            self.alias.clone()
        }
    }

    /// This Freight as other objects quote it.
    pub fn reference(&self) -> FreightReference {
        FreightReference {
            name: self.freight_name(),
            origin: Some(self.origin.clone()),
            commits: self.commits.clone(),
            images: self.images.clone(),
            charts: self.charts.clone(),
            artifacts: self.artifacts.clone(),
        }
    }
}

/// Where the Freight is and has been.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct FreightStatus {
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub currently_in: BTreeMap<StageName, CurrentStage>,
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub verified_in: BTreeMap<StageName, VerifiedStage>,
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub approved_for: BTreeMap<StageName, ApprovedStage>,
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub metadata: BTreeMap<String, Value>,
}

/// Since when it is in a Stage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct CurrentStage {
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub since: Option<Timestamp>,
}

/// When it was verified in a Stage, and how long it stayed there at most.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct VerifiedStage {
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub verified_at: Option<Timestamp>,
    /// Go duration, `1h0m0s`.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub longest_soak: String,
}

/// When a person made it available to a Stage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct ApprovedStage {
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub approved_at: Option<Timestamp>,
}
