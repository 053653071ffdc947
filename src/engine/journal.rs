//! The journal: what each step did, kept in the Promotion's own status under a key of ours, within limits.
//!
//! [`ledger`] writes it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{fetched::Kept, workspace::WorkspaceState};
use crate::{
    git::{
        branch::BranchName,
        id::{CommitId, TagId},
        path::RepoPath,
        tag::TagName,
    },
    kargo::{Alias, RequestName, Timestamp, Uid, promotion::PromotionStatus},
    rules::approval::Counted,
};

pub mod ledger;
pub mod limits;

/// The key in `status.state`, next to the steps' outputs; refused as an alias, hidden from expressions.
pub const KEY: &str = "tidewaiter.dev";

/// Everything that the status proper has no room for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Journal {
    /// Who wrote it last: a writer of another epoch has been replaced.
    pub epoch: Epoch,
    /// What each step decided and intended.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub steps: BTreeMap<Alias, StepRecord>,
    /// The files after the last step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceState>,
    /// The files right after each push that landed: where a replay of its branch begins.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub landed: BTreeMap<Alias, WorkspaceState>,
    /// Steps that ran again on another base.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replays: Vec<Replayed>,
    /// How often steps ran again, also beyond what `replays` keeps.
    #[serde(skip_serializing_if = "is_zero")]
    pub replay_count: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Replays kept in full; earlier ones are only counted.
const REPLAYS_KEPT: usize = 10;

/// One holder of the claim on a shard, and which of its claims: no two processes have equal ones at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Epoch {
    pub holder: String,
    pub transitions: u64,
}

/// What one step decided, before and beside its result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StepRecord {
    /// Whether its condition let it run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ran: Option<bool>,
    /// `now()` of its expressions, also in a replay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<Timestamp>,
    /// Keyed digest of the evaluated configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// Which version of which object its live look-ups found.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub lookups: BTreeMap<String, String>,
    /// The commits that a clone found, so that every later run finds them again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<FoundRecord>,
    /// The tree of each checkout after it, where it changed one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub trees: BTreeMap<RepoPath, String>,
    /// What it brought in from outside, by the digest of its name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub fetched: BTreeMap<String, Kept>,
    /// When something was sent of which nobody can tell whether it arrived; gone once there is a result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<Timestamp>,
    /// Since when it has only met what may work later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Timestamp>,
    /// A push that may have happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<PushIntent>,
    /// A tag that may be on the remote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<TagIntent>,
    /// What the intent's commits arrived as, on a branch that is not the checkout's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrived: Option<CommitId>,
    /// A gate's question, and who answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateRecord>,
}

/// One commit that git-clone found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FoundRecord {
    /// The mirror.
    pub mirror: super::workspace::MirrorKey,
    /// The branch, unless a commit or tag was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<BranchName>,
    /// The commit; none where the branch did not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
}

/// What a push is about to do, written before it enters the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct PushIntent {
    pub path: RepoPath,
    pub branch: BranchName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<CommitId>,
    pub commits: Vec<CommitId>,
}

/// What the push of a tag is about to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct TagIntent {
    pub name: TagName,
    pub id: TagId,
}

/// A gate between its opening and its close.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GateRecord {
    /// The ApprovalRequest.
    pub request: RequestName,
    /// Its uid, which answers must name.
    pub uid: Uid,
    /// Digest of the change that it asks about.
    pub digest: String,
    /// When it asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<Timestamp>,
    /// Answers that counted; they stay, whatever becomes of the objects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<Counted>,
    /// How many times it has asked.
    pub round: u32,
    /// Why it asks again.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub again: String,
    /// Its question and the answers say how it ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub settled: bool,
}

impl GateRecord {
    /// Whether a question is out.
    pub fn is_asked(&self) -> bool {
        !self.request.is_empty()
    }
}

/// One replay.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Replayed {
    /// The push that caused it.
    pub step: Alias,
    /// Repository (without credentials) and branch.
    pub branch: String,
    /// What had changed.
    pub reason: String,
    /// The base before.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub from: String,
    /// The base after.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub to: String,
}

impl Journal {
    /// The journal in a status; an empty one where there is none, nothing where it cannot be read.
    pub fn read(status: &PromotionStatus) -> Result<Self, serde_json::Error> {
        match status.state.as_ref().and_then(|state| state.get(KEY)) {
            Some(value) => Self::deserialize(value),
            None => Ok(Self::default()),
        }
    }

    /// The record of one step, made if there is none.
    pub fn step(&mut self, alias: &Alias) -> &mut StepRecord {
        self.steps.entry(alias.clone()).or_default()
    }

    /// Records that steps ran again.
    pub fn note_replay(&mut self, replayed: Replayed) {
        self.replay_count = self.replay_count.saturating_add(1);
        self.replays.push(replayed);
        let extra = self.replays.len().saturating_sub(REPLAYS_KEPT);
        self.replays.drain(..extra);
    }
}

/// The steps' outputs alone: the state without our key.
pub fn outputs(status: &PromotionStatus) -> Map<String, Value> {
    let mut state = status.state_map();
    state.remove(KEY);
    state
}

/// The same status as the Stage's `lastPromotion` keeps it: without our key.
pub fn without_journal(status: &PromotionStatus) -> PromotionStatus {
    let mut copy = status.clone();
    if let Some(state) = copy.state.as_mut().and_then(Value::as_object_mut) {
        state.remove(KEY);
    }
    if copy
        .state
        .as_ref()
        .and_then(Value::as_object)
        .is_some_and(Map::is_empty)
    {
        copy.state = None;
    }
    copy
}

#[cfg(test)]
mod tests;
