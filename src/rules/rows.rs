//! Objects boiled down to what a table shows and a decision needs: small, so that 50,000 of them fit.

use crate::kargo::{
    Alias, ApprovalRequest, Freight, FreightAlias, FreightName, Phase, ProjectName, Promotion,
    PromotionName, Stage, StageName, StepKind, StepStatus, Timestamp, Uid,
    approval::{ApproverRule, RequestPhase, Response},
    artifact::{FreightReference, Origin},
    meta,
};

use super::freight_diff;

/// Longest message kept in a row, in characters; the whole is fetched with the object.
const MESSAGE_MAX: usize = 300;

fn short(message: &str) -> String {
    match message.char_indices().nth(MESSAGE_MAX) {
        Some((cut, _)) => format!("{}…", message.get(..cut).unwrap_or_default()),
        None => message.to_owned(),
    }
}

/// One Promotion.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct PromotionRow {
    pub project: ProjectName,
    pub name: PromotionName,
    pub uid: Uid,
    pub resource_version: String,
    pub stage: StageName,
    pub shard: String,
    pub freight: FreightName,
    pub phase: Phase,
    /// The promotion's own message, cut.
    pub message: String,
    /// The step it is at, or ended at; none before the start and where there are no steps.
    pub step: Option<StepRow>,
    /// How many steps it has.
    pub steps: usize,
    pub creator: String,
    pub created_at: Option<Timestamp>,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    /// An abort has been asked for.
    pub aborting: bool,
    pub retry_of: Option<PromotionName>,
}

/// The step a Promotion is at.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct StepRow {
    /// Counted from 1.
    pub number: usize,
    pub alias: Alias,
    pub kind: StepKind,
    pub status: Option<StepStatus>,
    pub message: String,
    pub error_count: i32,
    pub started_at: Option<Timestamp>,
}

impl PromotionRow {
    /// The row of `promotion`.
    pub fn of(promotion: &Promotion) -> Self {
        let (spec, status) = (&promotion.spec, &promotion.status);
        Self {
            project: promotion.project(),
            name: promotion.promotion_name(),
            uid: promotion.uid(),
            resource_version: promotion
                .metadata
                .resource_version
                .clone()
                .unwrap_or_default(),
            stage: spec.stage.clone(),
            shard: promotion.label(meta::SHARD).unwrap_or_default().to_owned(),
            freight: spec.freight.clone(),
            phase: status.phase.clone(),
            message: short(&status.message),
            step: Self::step_of(promotion),
            steps: spec.steps.len(),
            creator: promotion
                .annotation(meta::CREATE_ACTOR)
                .unwrap_or_default()
                .to_owned(),
            created_at: promotion.created_at(),
            started_at: status.started_at,
            finished_at: status.finished_at,
            aborting: !status.phase.is_terminal() && promotion.abort_request().is_some(),
            retry_of: promotion
                .annotation(meta::RETRY_OF)
                .map(PromotionName::from),
        }
    }

    /// The step to show: the first bad one where it ended badly, else the current one, within what there is.
    fn step_of(promotion: &Promotion) -> Option<StepRow> {
        let (spec, status) = (&promotion.spec, &promotion.status);
        if !status.phase.is_terminal() && status.step_execution_metadata.is_empty() {
            return None;
        }
        let bad = status.step_execution_metadata.iter().position(|entry| {
            !entry.continue_on_error
                && entry
                    .status
                    .as_ref()
                    .is_some_and(|status| status.severity() >= 3)
        });
        let current = usize::try_from(status.current_step).unwrap_or_default();
        let index = match (&status.phase, bad) {
            (Phase::Failed | Phase::Errored | Phase::Aborted, Some(index)) => index,
            _ => current,
        }
        .min(spec.steps.len().checked_sub(1)?);
        let step = spec.steps.get(index)?;
        let entry = promotion.step_metadata(&step.alias);
        Some(StepRow {
            number: index + 1,
            alias: step.alias.clone(),
            kind: step.uses.clone(),
            status: entry.and_then(|entry| entry.status.clone()),
            message: entry.map(|entry| short(&entry.message)).unwrap_or_default(),
            error_count: entry.map(|entry| entry.error_count).unwrap_or_default(),
            started_at: entry.and_then(|entry| entry.started_at),
        })
    }
}

/// One Stage.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct StageRow {
    pub project: ProjectName,
    pub name: StageName,
    pub uid: Uid,
    pub shard: String,
    pub control_flow: bool,
    pub requests: Vec<crate::kargo::stage::FreightRequest>,
    pub freight_summary: String,
    /// Freight that is there now, by origin key.
    pub freight: Vec<FreightName>,
    pub health: String,
    pub current_promotion: Option<PromotionName>,
    pub last_promotion: Option<PromotionName>,
    pub auto_promotion: bool,
    /// Whether what is there now is still being verified.
    pub verifying: bool,
    pub ready_message: String,
    pub created_at: Option<Timestamp>,
}

impl StageRow {
    /// The row of `stage`.
    pub fn of(stage: &Stage) -> Self {
        let status = &stage.status;
        let current = status.freight_history.first();
        Self {
            project: stage.project(),
            name: stage.stage_name(),
            uid: stage.uid(),
            shard: stage.spec.shard.clone(),
            control_flow: stage.is_control_flow(),
            requests: stage.spec.requested_freight.clone(),
            freight_summary: status.freight_summary.clone(),
            freight: current
                .map(|collection| {
                    collection
                        .items
                        .values()
                        .map(|item| item.name.clone())
                        .collect()
                })
                .unwrap_or_default(),
            health: status
                .health
                .as_ref()
                .and_then(|health| health.status.as_ref())
                .map(|state| state.as_str().to_owned())
                .unwrap_or_default(),
            current_promotion: status
                .current_promotion
                .as_ref()
                .map(|reference| reference.name.clone()),
            last_promotion: status
                .last_promotion
                .as_ref()
                .map(|reference| reference.name.clone()),
            auto_promotion: status.auto_promotion_enabled,
            verifying: current
                .and_then(|collection| collection.verification_history.first())
                .and_then(|verification| verification.phase.as_ref())
                .is_some_and(|phase| !phase.is_terminal()),
            ready_message: status
                .conditions
                .iter()
                .find(|condition| condition.kind == "Ready")
                .map(|condition| short(&condition.message))
                .unwrap_or_default(),
            created_at: stage.created_at(),
        }
    }
}

/// One Freight.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct FreightRow {
    pub project: ProjectName,
    pub name: FreightName,
    pub uid: Uid,
    pub alias: FreightAlias,
    pub origin: Origin,
    /// What it carries, one short text each: `app:2.3.1`, `repo@74291c2`.
    pub artifacts: Vec<String>,
    /// The same whole, for telling what differs from other Freight.
    pub reference: FreightReference,
    pub created_at: Option<Timestamp>,
    pub status: crate::kargo::freight::FreightStatus,
}

impl FreightRow {
    /// The row of `freight`.
    pub fn of(freight: &Freight) -> Self {
        Self {
            project: freight.project(),
            name: freight.freight_name(),
            uid: freight.uid(),
            alias: freight.alias(),
            origin: freight.origin.clone(),
            artifacts: freight_diff::labels(&freight.reference()),
            reference: freight.reference(),
            created_at: freight.created_at(),
            status: freight.status.clone(),
        }
    }
}

/// One ApprovalRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct RequestRow {
    pub project: ProjectName,
    pub name: crate::kargo::RequestName,
    pub uid: Uid,
    pub stage: StageName,
    pub promotion: PromotionName,
    pub promotion_uid: Uid,
    pub step: Alias,
    pub phase: RequestPhase,
    pub approvers: Vec<ApproverRule>,
    pub min_approvals: u32,
    pub exclude_creator: bool,
    pub creator: String,
    pub responses: Vec<Response>,
    pub message: String,
    pub deadline: Option<Timestamp>,
    pub digest: String,
    pub files: usize,
    pub added: u32,
    pub removed: u32,
    pub created_at: Option<Timestamp>,
}

impl RequestRow {
    /// The row of `request`.
    pub fn of(request: &ApprovalRequest) -> Self {
        let (spec, status) = (&request.spec, &request.status);
        Self {
            project: request.project(),
            name: request.request_name(),
            uid: request.uid(),
            stage: spec.stage.clone(),
            promotion: spec.promotion.name.clone(),
            promotion_uid: spec.promotion.uid.clone(),
            step: spec.step.clone(),
            phase: status.phase,
            approvers: spec.approvers.clone(),
            min_approvals: spec.min_approvals,
            exclude_creator: spec.exclude_creator,
            creator: spec.creator.clone(),
            responses: status.responses.clone(),
            message: short(&status.message),
            deadline: spec.deadline,
            digest: spec.change.digest.clone(),
            files: spec.change.files.len(),
            added: spec.change.files.iter().map(|file| file.added).sum(),
            removed: spec.change.files.iter().map(|file| file.removed).sum(),
            created_at: request.created_at(),
        }
    }
}

#[cfg(test)]
mod tests;
