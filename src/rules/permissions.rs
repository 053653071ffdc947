//! What a person may do with an object now, and why not: the same for keys, palette and verbs.

use std::collections::BTreeMap;

use crate::kargo::{Timestamp, approval::Decision, approval::RequestPhase};

use super::{
    approval, availability,
    rows::{FreightRow, PromotionRow, RequestRow, StageRow},
    who::{Directory, Person},
};

/// Something that changes an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// Say yes at a gate.
    Approve,
    /// Say no at a gate.
    Reject,
    /// Promote the same Freight again.
    Retry,
    /// End a Promotion.
    Abort,
    /// Have it looked at again.
    Refresh,
    /// Promote Freight to a Stage.
    Promote,
    /// Verify once more what a Stage has.
    Verify,
    /// End a Stage's verification.
    AbortVerification,
    /// Make Freight available to a Stage, whatever its sources say.
    ApproveFreight,
}

/// Who would act.
#[derive(Clone, Copy, Debug)]
pub struct Actor<'a> {
    /// The person.
    pub person: &'a Person,
    /// What is known of the Project's people.
    pub directory: &'a Directory,
    /// Started to look only.
    pub read_only: bool,
    /// What the cluster is known to refuse, with its reason.
    pub refused: &'a BTreeMap<Action, String>,
    /// The time now.
    pub now: Timestamp,
}

impl Actor<'_> {
    fn permitted(&self, action: Action) -> Result<(), String> {
        if self.read_only {
            return Err("read-only".to_owned());
        }
        self.refused
            .get(&action)
            .map_or(Ok(()), |reason| Err(reason.clone()))
    }
}

/// The open questions of one Promotion, oldest first.
pub fn open_requests<'r>(
    promotion: &PromotionRow,
    requests: &[&'r RequestRow],
) -> Vec<&'r RequestRow> {
    let mut open: Vec<&RequestRow> = requests
        .iter()
        .copied()
        .filter(|request| {
            request.promotion_uid == promotion.uid && request.phase == RequestPhase::Open
        })
        .collect();
    open.sort_by(|a, b| (a.created_at, &a.name).cmp(&(b.created_at, &b.name)));
    open
}

/// Whether `actor` may do `action` with a Promotion; `requests` may hold those of others, too.
pub fn on_promotion(
    action: Action,
    promotion: &PromotionRow,
    requests: &[&RequestRow],
    actor: &Actor<'_>,
) -> Result<(), String> {
    actor.permitted(action)?;
    let ended = promotion.phase.is_terminal();
    match action {
        Action::Approve => answer(Decision::Approve, promotion, requests, actor),
        Action::Reject => answer(Decision::Reject, promotion, requests, actor),
        Action::Retry if !ended => Err("it has not ended".to_owned()),
        Action::Abort | Action::Refresh if ended => {
            Err(format!("it has ended: {}", promotion.phase))
        }
        Action::Abort if promotion.aborting => Err("an abort has been asked for".to_owned()),
        Action::Retry | Action::Abort | Action::Refresh => Ok(()),
        Action::Promote | Action::Verify | Action::AbortVerification | Action::ApproveFreight => {
            Err("that is done with a Stage".to_owned())
        }
    }
}

/// One open question that the person can answer is enough.
fn answer(
    decision: Decision,
    promotion: &PromotionRow,
    requests: &[&RequestRow],
    actor: &Actor<'_>,
) -> Result<(), String> {
    if promotion.phase.is_terminal() {
        return Err(format!("it has ended: {}", promotion.phase));
    }
    let mut refusal = Err("it does not wait for an approval".to_owned());
    for request in open_requests(promotion, requests) {
        match approval::may_answer(request, actor.person, decision, actor.directory, actor.now) {
            Ok(()) => return Ok(()),
            Err(reason) => refusal = Err(reason.to_string()),
        }
    }
    refusal
}

/// Whether `actor` may do `action` with a Stage.
pub fn on_stage(action: Action, stage: &StageRow, actor: &Actor<'_>) -> Result<(), String> {
    actor.permitted(action)?;
    match action {
        Action::Promote if stage.control_flow => {
            Err("it has no steps: Freight passes it without a Promotion".to_owned())
        }
        Action::Verify if stage.freight.is_empty() => {
            Err("there is no Freight to verify".to_owned())
        }
        Action::Verify if stage.verifying => Err("its verification runs".to_owned()),
        Action::AbortVerification if !stage.verifying => Err("no verification runs".to_owned()),
        Action::Promote
        | Action::Refresh
        | Action::Verify
        | Action::AbortVerification
        | Action::ApproveFreight => Ok(()),
        Action::Approve | Action::Reject | Action::Retry | Action::Abort => {
            Err("that is done with a Promotion".to_owned())
        }
    }
}

/// Whether `actor` may promote a piece of Freight to a Stage, or approve it for that Stage.
pub fn on_freight(
    action: Action,
    freight: &FreightRow,
    stage: &StageRow,
    actor: &Actor<'_>,
) -> Result<(), String> {
    on_stage(action, stage, actor)?;
    match action {
        Action::Promote => availability::check(
            &stage.name,
            &stage.requests,
            &freight.origin,
            &freight.status,
            actor.now,
        )
        .map_err(|why| why.to_string()),
        Action::ApproveFreight => {
            if !stage
                .requests
                .iter()
                .any(|request| request.origin == freight.origin)
            {
                return Err(
                    availability::Unavailable::NotRequested(freight.origin.clone()).to_string(),
                );
            }
            match freight.status.approved_for.contains_key(&stage.name) {
                true => Err(format!("it is approved for {} already", stage.name)),
                false => Ok(()),
            }
        }
        _ => Err("that is not done with Freight".to_owned()),
    }
}

#[cfg(test)]
mod tests;
