//! The queue of a Stage: which Promotion is its current one, and what is recorded before the next starts.

use std::cmp::Ordering;

use crate::kargo::{HealthState, Phase, PromotionName, Stage};

use super::rows::PromotionRow;

/// Kargo's order: what runs first, then what waits from old to new, then what has ended from new to old. Names carry
/// the time; only they are compared.
pub fn order(a: &PromotionRow, b: &PromotionRow) -> Ordering {
    let class = |row: &PromotionRow| match &row.phase {
        Phase::Running => 0,
        phase if phase.is_terminal() => 2,
        _ => 1,
    };
    class(a).cmp(&class(b)).then_with(|| match class(a) {
        2 => b.name.cmp(&a.name),
        _ => a.name.cmp(&b.name),
    })
}

/// The Promotions of one Stage that have not ended, in the order in which they get their turn.
pub fn waiting<'a>(
    promotions: impl IntoIterator<Item = &'a PromotionRow>,
) -> Vec<&'a PromotionRow> {
    let mut waiting: Vec<&PromotionRow> = promotions
        .into_iter()
        .filter(|row| !row.phase.is_terminal())
        .collect();
    waiting.sort_by(|a, b| order(a, b));
    waiting
}

/// Why the next one may not start yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// What is there now is being verified.
    Verifying,
    /// What is there now has not been verified, and the Stage is well.
    NotVerified,
}

/// What the Stage's keeper does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Nothing waits.
    Idle,
    /// The current Promotion has not ended.
    Stay(PromotionName),
    /// `currentPromotion` is cleared and these ended ones are recorded, in this order; then it is asked again.
    Record(Vec<PromotionName>),
    /// It becomes the current one.
    Start(PromotionName),
    /// It would be next.
    Wait(PromotionName, Gate),
}

/// Decides on all Promotions of `stage`.
///
/// One whose name is not after the last recorded one is never recorded (as in Kargo).
pub fn turn(stage: &Stage, promotions: &[&PromotionRow]) -> Turn {
    let waiting = waiting(promotions.iter().copied());
    let head = waiting.first().map(|row| &row.name);
    let current = stage
        .status
        .current_promotion
        .as_ref()
        .map(|reference| &reference.name);
    match (current, head) {
        (Some(current), Some(head)) if current == head => return Turn::Stay(head.clone()),
        _ => {}
    }
    let ended = unrecorded(stage, promotions.iter().copied());
    if current.is_some() || !ended.is_empty() {
        return Turn::Record(ended);
    }
    match (head, gate(stage)) {
        (None, _) => Turn::Idle,
        (Some(head), None) => Turn::Start(head.clone()),
        (Some(head), Some(gate)) => Turn::Wait(head.clone(), gate),
    }
}

/// Ended Promotions that the Stage does not remember yet, from old to new. One that is behind another that has not
/// ended (aborted while it waited) has to wait: once a later name is recorded, an earlier one never is.
pub fn unrecorded<'a>(
    stage: &Stage,
    promotions: impl IntoIterator<Item = &'a PromotionRow>,
) -> Vec<PromotionName> {
    let last = stage.status.last_promotion.as_ref().map(|last| &last.name);
    let (ended, open): (Vec<_>, Vec<_>) = promotions
        .into_iter()
        .partition(|row| row.phase.is_terminal());
    let open = open.into_iter().map(|row| &row.name).min();
    let mut names: Vec<_> = ended
        .into_iter()
        .map(|row| &row.name)
        .filter(|name| last.is_none_or(|last| *name > last) && open.is_none_or(|open| *name < open))
        .cloned()
        .collect();
    names.sort();
    names
}

/// What keeps the next Promotion from starting while none runs. A Stage that is not well lets it start unverified:
/// it may be the repair.
pub fn gate(stage: &Stage) -> Option<Gate> {
    let current = stage.status.freight_history.first()?;
    let verification = current.verification_history.first();
    let ended =
        verification.map(|info| info.phase.as_ref().is_some_and(|phase| phase.is_terminal()));
    let health = stage
        .status
        .health
        .as_ref()
        .and_then(|health| health.status.as_ref());
    match ended {
        Some(false) => Some(Gate::Verifying),
        None if matches!(health, None | Some(HealthState::Healthy)) => Some(Gate::NotVerified),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
