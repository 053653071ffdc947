//! What a Freight carries, and references to Freight inside other objects.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha1::{Digest, Sha1};

use super::{FreightName, Timestamp, VerificationPhase, lenient};

/// Where a Freight comes from.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// Always `Warehouse` today.
    pub kind: String,
    /// The Warehouse's name.
    pub name: String,
}

impl Origin {
    /// The origin that is the Warehouse `name`.
    pub fn warehouse(name: impl Into<String>) -> Self {
        Self {
            kind: "Warehouse".into(),
            name: name.into(),
        }
    }

    /// The key of maps by origin: `Warehouse/<name>`.
    pub fn key(&self) -> String {
        format!("{}/{}", self.kind, self.name)
    }
}

/// A commit of a subscribed repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct GitCommit {
    #[serde(
        rename = "repoURL",
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub repo_url: String,
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub id: String,
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub branch: String,
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub tag: String,
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub message: String,
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub author: String,
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub committer: String,
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub subscription_name: String,
}

/// A container image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Image {
    #[serde(
        rename = "repoURL",
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub repo_url: String,
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub tag: String,
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub digest: String,
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub annotations: BTreeMap<String, String>,
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub subscription_name: String,
}

/// A Helm chart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Chart {
    #[serde(
        rename = "repoURL",
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub repo_url: String,
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub name: String,
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub version: String,
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub subscription_name: String,
}

/// Anything else that a subscription can discover.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Artifact {
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub artifact_type: String,
    #[serde(deserialize_with = "lenient::null")]
    pub subscription_name: String,
    #[serde(deserialize_with = "lenient::null")]
    pub version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

/// A Freight as other objects quote it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FreightReference {
    /// The Freight's name.
    #[serde(
        skip_serializing_if = "FreightName::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub name: FreightName,
    /// Always written (Kargo's is a plain struct), so it must be filled; absent only in what others left behind.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub origin: Option<Origin>,
    /// Commits.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub commits: Vec<GitCommit>,
    /// Images.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub images: Vec<Image>,
    /// Charts.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub charts: Vec<Chart>,
    /// Other artifacts.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub artifacts: Vec<Artifact>,
}

/// One piece of Freight per origin, and how it was verified together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FreightCollection {
    /// SHA-1 of the sorted, comma-joined Freight names.
    #[serde(deserialize_with = "lenient::null")]
    pub id: String,
    /// By origin key, `Warehouse/<name>`.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub items: BTreeMap<String, FreightReference>,
    /// Newest first, at most ten.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub verification_history: Vec<VerificationInfo>,
}

impl FreightCollection {
    /// The collection of `references`, one per origin (a later one of the same origin wins).
    pub fn new(references: impl IntoIterator<Item = FreightReference>) -> Self {
        let items: BTreeMap<_, _> = references
            .into_iter()
            .filter_map(|reference| Some((reference.origin.as_ref()?.key(), reference)))
            .collect();
        let mut names: Vec<&str> = items.values().map(|item| item.name.as_str()).collect();
        names.sort_unstable();
        let id = hex(&Sha1::digest(names.join(",").as_bytes()));
        Self {
            id,
            items,
            verification_history: Vec::new(),
        }
    }

    /// Whether `freight` is one of the items.
    pub fn contains(&self, freight: &FreightName) -> bool {
        self.items.values().any(|item| item.name == *freight)
    }
}

/// Lower-case hexadecimal digits of `bytes`.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// One verification of a FreightCollection in a Stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct VerificationInfo {
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub id: String,
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub actor: String,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub start_time: Option<Timestamp>,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub phase: Option<VerificationPhase>,
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub message: String,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub analysis_run: Option<AnalysisRunReference>,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub finish_time: Option<Timestamp>,
}

/// The AnalysisRun that verifies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct AnalysisRunReference {
    pub namespace: String,
    pub name: String,
    pub phase: String,
}
