//! Approval: one person's answer to a gate's question.

use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ApprovalRequest;
use crate::kargo::{RequestName, StageName, Timestamp, Uid, lenient, resource::resource};

/// One person's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Approval {
    #[serde(default = "Approval::default_api_version")]
    pub api_version: String,
    #[serde(default = "Approval::default_kind")]
    pub kind: String,
    #[serde(default)]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "lenient::null")]
    pub spec: ApprovalSpec,
    #[serde(default, deserialize_with = "lenient::null")]
    pub status: ApprovalStatus,
}

resource!(
    Approval,
    "tidewaiter.dev",
    "approvals",
    NamespaceResourceScope
);

impl Approval {
    /// A value to be POSTed; the server names it.
    pub fn answer(request: &ApprovalRequest, spec: ApprovalSpec) -> Self {
        Self {
            api_version: Self::default_api_version(),
            kind: Self::default_kind(),
            metadata: ObjectMeta {
                namespace: request.metadata.namespace.clone(),
                generate_name: Some(format!("{}-", request.name())),
                ..ObjectMeta::default()
            },
            spec,
            status: ApprovalStatus::default(),
        }
    }
}

/// The answer; immutable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ApprovalSpec {
    /// The request's name.
    pub request: RequestName,
    /// The request's uid: an answer to an earlier question never counts for a later one.
    pub request_uid: Uid,
    /// The Stage, for the authorisation check.
    pub stage: StageName,
    /// Approve or Reject.
    pub decision: Decision,
    /// Digest of the change that was looked at.
    pub digest: String,
    /// The person's words, at most 4 KiB.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub message: String,
    /// The person's user name, as the API server knows it.
    pub user: String,
    /// The person's uid, where there is one.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub uid: String,
    /// Those of the person's groups that the rules name, at most 16.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub groups: Vec<String>,
    /// Who stood in for the person (local cluster only).
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub impersonated_by: String,
}

/// Yes or no.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub enum Decision {
    #[default]
    Approve,
    Reject,
}

/// What became of an answer; written by the executor alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct ApprovalStatus {
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub counted: Option<bool>,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub reason: Option<CountReason>,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::maybe"
    )]
    pub at: Option<Timestamp>,
}

/// Why an answer counted or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CountReason {
    /// It counted.
    Counted,
    /// The gate had closed.
    Late,
    /// The rules name neither the user nor their groups.
    Ineligible,
    /// It answered another change.
    Stale,
    /// The same person had answered.
    Duplicate,
    /// It could not be proved genuine.
    Unverified,
    /// The promotion's creator may not approve it.
    Creator,
}

impl CountReason {
    /// The reason as a clause for people.
    pub fn explain(self) -> &'static str {
        match self {
            Self::Counted => "it was counted",
            Self::Late => "the gate had closed",
            Self::Ineligible => "the rules name neither you nor your groups",
            Self::Stale => "the change is another one by now; look at it and answer again",
            Self::Duplicate => "you have answered before",
            Self::Unverified => "it could not be proved to be yours",
            Self::Creator => "who made the promotion may not approve it",
        }
    }
}
