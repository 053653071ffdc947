//! Entries of a Stage's status: conditions, health, summary.

use super::plan::Seen;
use crate::kargo::{
    FreightName, HealthState, Phase, Stage, Timestamp,
    artifact::FreightReference,
    stage::{Condition, Health, StageStatus},
};

/// The conditions of a status, one per type; the time of one changes with its status alone.
pub struct Conditions<'a> {
    list: &'a mut Vec<Condition>,
    generation: i64,
    now: Timestamp,
}

impl<'a> Conditions<'a> {
    pub fn of(status: &'a mut StageStatus, generation: i64, now: Timestamp) -> Self {
        Self {
            list: &mut status.conditions,
            generation,
            now,
        }
    }

    pub fn set(&mut self, kind: &str, status: &str, reason: &str, message: &str) {
        let old = self
            .list
            .iter_mut()
            .find(|condition| condition.kind == kind);
        let since = old
            .as_ref()
            .filter(|old| old.status == status)
            .and_then(|old| old.last_transition_time);
        let new = Condition {
            kind: kind.into(),
            status: status.into(),
            observed_generation: self.generation,
            last_transition_time: since.or(Some(self.now)),
            reason: reason.into(),
            message: message.into(),
        };
        match old {
            Some(old) => *old = new,
            None => self.list.push(new),
        }
    }

    pub fn remove(&mut self, kind: &str) {
        self.list.retain(|condition| condition.kind != kind);
    }

    /// Everything asked for is done.
    pub fn settled(&mut self) {
        self.remove("Reconciling");
        self.set(
            "Ready",
            "True",
            "Reconciled",
            "The Stage has been reconciled",
        );
    }
}

/// The Freight of that name as other objects quote it.
pub fn reference(seen: &Seen<'_>, name: &FreightName) -> Option<FreightReference> {
    seen.freight
        .iter()
        .find(|freight| freight.freight_name() == *name)
        .map(|freight| freight.reference())
}

/// Unknown during a promotion and after one that did not succeed; else what the health checks say, and without any of
/// them Healthy.
pub fn health(seen: &Seen<'_>, status: &mut StageStatus) {
    let state = match (&status.current_promotion, &status.last_promotion) {
        (None, None) => return,
        (Some(_), _) => HealthState::Unclear,
        (None, Some(last)) => match &last.status {
            Some(outcome) if outcome.phase != Phase::Succeeded => HealthState::Unclear,
            Some(outcome) if !outcome.health_checks.is_empty() => HealthState::Unclear,
            _ => HealthState::Healthy,
        },
    };
    let issues = match (&state, &status.current_promotion) {
        (HealthState::Healthy, _) => Vec::new(),
        (_, Some(current)) => vec![format!("{} is under way", current.name)],
        _ => vec![
            "the last promotion did not succeed, or its health checks cannot be made here"
                .to_owned(),
        ],
    };
    let condition = match state {
        HealthState::Healthy => ("True", "Healthy"),
        _ => ("Unknown", "Unknown"),
    };
    let message = issues.join("; ");
    status.health = Some(Health {
        status: Some(state),
        issues,
        ..Health::default()
    });
    let generation = status.observed_generation;
    Conditions::of(status, generation, seen.now).set("Healthy", condition.0, condition.1, &message);
}

pub fn is_healthy(status: &StageStatus) -> bool {
    status
        .health
        .as_ref()
        .is_some_and(|health| health.status == Some(HealthState::Healthy))
}

/// The one piece of Freight, or how many of the requested ones are there.
pub fn summary(stage: &Stage, status: &StageStatus) -> String {
    let wanted = stage.spec.requested_freight.len();
    let there = status.freight_history.first().map(|current| &current.items);
    match (wanted, there) {
        (1, Some(items)) if items.len() == 1 => {
            items.values().map(|item| item.name.to_string()).collect()
        }
        (wanted, there) => format!(
            "{}/{wanted} Fulfilled",
            there.map_or(0, std::collections::BTreeMap::len)
        ),
    }
}
