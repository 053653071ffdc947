//! ApprovalRequest and Approval: a gate's question and one person's answer (group `tidewaiter.dev`).

use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Alias, PromotionName, RequestName, StageName, Timestamp, Uid, lenient, resource::resource,
};

mod answer;

pub use answer::*;

/// What a gate asks, made by the executor when the gate opens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct ApprovalRequest {
    #[serde(default = "ApprovalRequest::default_api_version")]
    pub api_version: String,
    #[serde(default = "ApprovalRequest::default_kind")]
    pub kind: String,
    #[serde(default)]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "lenient::null")]
    pub spec: ApprovalRequestSpec,
    #[serde(default, deserialize_with = "lenient::null")]
    pub status: ApprovalRequestStatus,
}

resource!(
    ApprovalRequest,
    "tidewaiter.dev",
    "approvalrequests",
    NamespaceResourceScope
);

impl ApprovalRequest {
    /// A value to be POSTed.
    pub fn new(metadata: ObjectMeta, spec: ApprovalRequestSpec) -> Self {
        Self {
            api_version: Self::default_api_version(),
            kind: Self::default_kind(),
            metadata,
            spec,
            status: ApprovalRequestStatus::default(),
        }
    }

    /// The name as its own type.
    pub fn request_name(&self) -> RequestName {
        self.name().into()
    }
}

/// The question; immutable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ApprovalRequestSpec {
    /// The Stage that is promoted to.
    pub stage: StageName,
    /// The Promotion that waits.
    pub promotion: PromotionId,
    /// The gate's alias.
    pub step: Alias,
    /// Who may answer; nobody listed is anyone who can see the Promotion.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub approvers: Vec<ApproverRule>,
    /// How many different people must approve.
    pub min_approvals: u32,
    /// Whether who made the Promotion may not approve it.
    #[serde(
        skip_serializing_if = "std::ops::Not::not",
        deserialize_with = "lenient::null"
    )]
    pub exclude_creator: bool,
    /// The Promotion's `create-actor`.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub creator: String,
    /// After this no answer counts; absent is for ever.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub deadline: Option<Timestamp>,
    /// What will be pushed.
    pub change: Change,
}

/// A Promotion, beyond doubt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct PromotionId {
    pub name: PromotionName,
    pub uid: Uid,
}

/// One rule: a claim with a value, or a Kargo role.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ApproverRule {
    /// `groups`, `email` or `sub`.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub claim: String,
    /// What the claim must be, or contain.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub value: String,
    /// A Kargo role: a ServiceAccount of the Project.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub role: String,
    /// Whether at least one approval must match this rule.
    #[serde(
        skip_serializing_if = "std::ops::Not::not",
        deserialize_with = "lenient::null"
    )]
    pub required: bool,
}

/// The change to be pushed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Change {
    /// Every file that differs.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub files: Vec<ChangedFile>,
    /// Unified diff, at most 64 KiB, marked where it was cut.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub diff: String,
    /// Digest over (path, mode, patch): equal for the same change on another base.
    pub digest: String,
    /// What it was computed on.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub bases: Vec<Base>,
}

/// One changed file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ChangedFile {
    /// Path in the repository, or below the checkout's path where there are several.
    pub path: String,
    /// Git's mode after the change (`100644`); empty for a deletion.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub mode: String,
    /// Lines added.
    pub added: u32,
    /// Lines removed.
    pub removed: u32,
}

/// A commit that a change is based on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Base {
    /// The repository, without credentials.
    #[serde(rename = "repoURL")]
    pub repo_url: String,
    /// The branch, empty for a detached checkout.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub branch: String,
    /// The commit; empty where the branch does not exist yet.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub commit: String,
}

/// How far the question has come; written by the executor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct ApprovalRequestStatus {
    #[serde(deserialize_with = "lenient::null")]
    pub phase: RequestPhase,
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub responses: Vec<Response>,
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub message: String,
}

/// Phase of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RequestPhase {
    /// Waiting for answers.
    #[default]
    Open,
    /// Enough people approved.
    Approved,
    /// Somebody rejected.
    Rejected,
    /// Its time ran out.
    Expired,
    /// Asked again otherwise, or the Promotion ended.
    Withdrawn,
}

/// An answer that counted, as the step's output has it too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Response {
    /// Who.
    pub user: String,
    /// `approve` or `reject`.
    pub action: String,
    /// When the answer was stored.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub time: Option<Timestamp>,
    /// The person's words, byte for byte.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub message: String,
}
