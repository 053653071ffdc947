//! What is to be done for a Stage: a function of what is seen.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{
    book::{self, Conditions},
    event::{self, News},
};
use crate::{
    kargo::{
        Freight, FreightName, Phase, ProjectConfig, Promotion, PromotionName, Stage, StageName,
        Timestamp, VerificationPhase,
        artifact::{FreightCollection, VerificationInfo},
        meta,
        stage::{PromotionReference, StageStatus},
    },
    rules::{auto_promotion, availability, durations::GoDuration, queue, rows::PromotionRow},
};

/// What is seen.
pub struct Seen<'a> {
    /// The Stage.
    pub stage: &'a Stage,
    /// All Promotions to it.
    pub promotions: &'a [PromotionRow],
    /// Those of [`queue::unrecorded`], whole.
    pub ended: &'a [Promotion],
    /// Those that have not ended, whole, where the Stage is promoted to by policy.
    pub open: &'a [Promotion],
    /// All Freight of the Project.
    pub freight: &'a [Arc<Freight>],
    /// The Project's policies.
    pub config: Option<&'a ProjectConfig>,
    /// The time.
    pub now: Timestamp,
    /// For a new verification.
    pub fresh_id: String,
}

/// What is to be done.
#[derive(Debug, Default)]
pub struct Plan {
    /// The status as it should be.
    pub status: StageStatus,
    /// Whether our finalizer is to be added or taken away.
    pub finalizer: Option<bool>,
    /// Merge patches of Freight status.
    pub freight: Vec<(FreightName, Value)>,
    /// Freight to be promoted by policy.
    pub promote: Vec<Arc<Freight>>,
    /// What to tell.
    pub events: Vec<News>,
    /// Look again once this is done.
    pub again: bool,
    /// Look again then.
    pub wake: Option<Timestamp>,
}

/// Decides.
pub fn plan(seen: &Seen<'_>) -> Plan {
    let mut plan = Plan {
        status: seen.stage.status.clone(),
        ..Plan::default()
    };
    if seen.stage.is_deleting() {
        leave(seen, &mut plan);
        return plan;
    }
    if !seen
        .stage
        .metadata
        .finalizers
        .iter()
        .flatten()
        .any(|name| name == meta::FINALIZER)
    {
        plan.finalizer = Some(true);
    }
    let mut conditions = Conditions::of(
        &mut plan.status,
        seen.stage.metadata.generation.unwrap_or(0),
        seen.now,
    );
    conditions.settled();
    plan.status.observed_generation = seen.stage.metadata.generation.unwrap_or(0);
    if let Some(token) = seen.stage.annotation(meta::REFRESH) {
        plan.status.last_handled_refresh = token.to_owned();
    }
    if seen.stage.is_control_flow() {
        pass_on(seen, &mut plan);
        return plan;
    }
    record(seen, &mut plan);
    turn(seen, &mut plan);
    place_freight(seen, &mut plan);
    book::health(seen, &mut plan.status);
    verify(seen, &mut plan);
    plan.status.freight_summary = book::summary(seen.stage, &plan.status);
    auto_promote(seen, &mut plan);
    plan
}

/// The Stage goes: Freight forgets it.
fn leave(seen: &Seen<'_>, plan: &mut Plan) {
    let name = seen.stage.stage_name();
    for freight in seen.freight {
        let status = &freight.status;
        let maps = [
            ("currentlyIn", status.currently_in.contains_key(&name)),
            ("verifiedIn", status.verified_in.contains_key(&name)),
            ("approvedFor", status.approved_for.contains_key(&name)),
        ];
        let patch: Map<String, Value> = maps
            .into_iter()
            .filter(|(_, there)| *there)
            .map(|(map, _)| (map.to_owned(), json!({ name.as_str(): null })))
            .collect();
        if !patch.is_empty() {
            plan.freight
                .push((freight.freight_name(), Value::Object(patch)));
        }
    }
    if seen
        .stage
        .metadata
        .finalizers
        .iter()
        .flatten()
        .any(|name| name == meta::FINALIZER)
    {
        plan.finalizer = Some(false);
    }
}

/// A Stage without steps passes on what is available to it.
fn pass_on(seen: &Seen<'_>, plan: &mut Plan) {
    let name = seen.stage.stage_name();
    for freight in seen
        .freight
        .iter()
        .filter(|freight| !freight.status.verified_in.contains_key(&name))
    {
        match availability::available(seen.stage, freight, seen.now) {
            Ok(()) => plan
                .freight
                .push((freight.freight_name(), verified(&name, seen.now))),
            Err(why) => wake(plan, why.until()),
        }
    }
}

fn verified(stage: &StageName, at: Timestamp) -> Value {
    json!({"verifiedIn": { stage.as_str(): {"verifiedAt": at} }})
}

fn wake(plan: &mut Plan, at: Option<Timestamp>) {
    plan.wake = match (plan.wake, at) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
}

/// Takes what has ended into the Stage's history.
fn record(seen: &Seen<'_>, plan: &mut Plan) {
    let status = &mut plan.status;
    let over = |name: &PromotionName| {
        !seen
            .promotions
            .iter()
            .any(|row| row.name == *name && !row.phase.is_terminal())
    };
    if status
        .current_promotion
        .as_ref()
        .is_some_and(|current| over(&current.name))
    {
        status.current_promotion = None;
        Conditions::of(status, status.observed_generation, seen.now).remove("Promoting");
    }
    if status.current_promotion.is_some() {
        return;
    }
    for promotion in seen.ended {
        let mut outcome = super::super::journal::without_journal(&promotion.status);
        if outcome.freight_collection.is_none() {
            // It ended before its start: the other origins must not be forgotten.
            let before = status
                .last_promotion
                .as_ref()
                .and_then(|last| last.status.as_ref());
            outcome.freight_collection =
                before.and_then(|before| before.freight_collection.clone());
        }
        if promotion.status.phase == Phase::Succeeded
            && let Some(collection) = &outcome.freight_collection
        {
            arrive(status, collection, seen.now);
        }
        auto_promotion::apply_intent(&mut status.auto_promotion_holds, promotion, seen.now);
        plan.events.push(event::ended(promotion));
        status.last_promotion = Some(PromotionReference {
            name: promotion.promotion_name(),
            freight: promotion
                .status
                .freight
                .clone()
                .or_else(|| book::reference(seen, &promotion.spec.freight)),
            finished_at: promotion.status.finished_at,
            status: Some(outcome),
        });
    }
}

/// Collections that a Stage remembers.
const HISTORY: usize = 10;

fn arrive(status: &mut StageStatus, collection: &FreightCollection, now: Timestamp) {
    let fresh = FreightCollection {
        verification_history: Vec::new(),
        ..collection.clone()
    };
    status.freight_history.insert(0, fresh);
    status.freight_history.truncate(HISTORY);
    status.health = None;
    let mut conditions = Conditions::of(status, status.observed_generation, now);
    conditions.set(
        "Healthy",
        "Unknown",
        "WaitingForHealthCheck",
        "Waiting for the health checks after a promotion",
    );
    conditions.set(
        "Verified",
        "Unknown",
        "WaitingForVerification",
        "Waiting for the verification of new Freight",
    );
}

/// Gives the next Promotion its turn.
fn turn(seen: &Seen<'_>, plan: &mut Plan) {
    let status = &mut plan.status;
    let Some(next) = queue::waiting(seen.promotions).first().copied() else {
        return;
    };
    let now = Stage {
        status: status.clone(),
        ..seen.stage.clone()
    };
    if status.current_promotion.is_some() || next.phase == Phase::New || queue::gate(&now).is_some()
    {
        return;
    }
    status.current_promotion = Some(PromotionReference {
        name: next.name.clone(),
        freight: book::reference(seen, &next.freight),
        ..PromotionReference::default()
    });
    let message = format!("{} is being promoted by {}", next.freight, next.name);
    Conditions::of(status, status.observed_generation, seen.now).set(
        "Promoting",
        "True",
        "ActivePromotion",
        &message,
    );
}

/// Freight learns where it is, and how long it stayed where it is no more.
fn place_freight(seen: &Seen<'_>, plan: &mut Plan) {
    let name = seen.stage.stage_name();
    let Some(current) = plan.status.freight_history.first() else {
        return;
    };
    let since = plan
        .status
        .last_promotion
        .as_ref()
        .and_then(|last| last.finished_at)
        .unwrap_or(seen.now);
    for freight in seen.freight {
        let (here, was) = (
            current.contains(&freight.freight_name()),
            freight.status.currently_in.get(&name),
        );
        match (here, was) {
            (true, None) => {
                plan.freight.push((
                    freight.freight_name(),
                    json!({"currentlyIn": { name.as_str(): {"since": since} }}),
                ));
            }
            (false, Some(was)) => {
                let mut patch = Map::new();
                patch.insert("currentlyIn".into(), json!({ name.as_str(): null }));
                let stayed = was
                    .since
                    .map(|since_then| GoDuration::from(since_then.until(since)))
                    .unwrap_or_default();
                let verified = freight.status.verified_in.get(&name);
                if let Some(longest) =
                    verified.map(|v| v.longest_soak.parse::<GoDuration>().unwrap_or_default())
                    && stayed > longest
                {
                    patch.insert(
                        "verifiedIn".into(),
                        json!({ name.as_str(): {"longestSoak": stayed.to_string()} }),
                    );
                }
                plan.freight
                    .push((freight.freight_name(), Value::Object(patch)));
            }
            (true, Some(_)) | (false, None) => {}
        }
    }
}

/// Verifies what is there, once it is healthy, and tells its Freight.
fn verify(seen: &Seen<'_>, plan: &mut Plan) {
    let (name, now) = (seen.stage.stage_name(), seen.now);
    if !book::is_healthy(&plan.status) {
        return;
    }
    let Some(current) = plan.status.freight_history.first_mut() else {
        return;
    };
    if current.verification_history.is_empty() {
        let info = verification(seen);
        let news = (info.phase.clone(), info.message.clone());
        current.verification_history.push(info);
        plan.again = true;
        if let (Some(phase), message) = news {
            let status = if phase == VerificationPhase::Successful {
                "True"
            } else {
                "False"
            };
            let reason = if phase == VerificationPhase::Successful {
                "Verified"
            } else {
                "VerificationFailed"
            };
            plan.events
                .extend(event::verified(seen, current, &phase, &message));
            let generation = plan.status.observed_generation;
            Conditions::of(&mut plan.status, generation, now)
                .set("Verified", status, reason, &message);
        }
    }
    let Some(current) = plan.status.freight_history.first() else {
        return;
    };
    let done = current
        .verification_history
        .first()
        .filter(|info| info.phase == Some(VerificationPhase::Successful));
    let Some(done) = done else { return };
    for freight in seen
        .freight
        .iter()
        .filter(|freight| current.contains(&freight.freight_name()))
    {
        if !freight.status.verified_in.contains_key(&name) {
            plan.freight.push((
                freight.freight_name(),
                verified(&name, done.finish_time.unwrap_or(now)),
            ));
        }
    }
}

fn verification(seen: &Seen<'_>) -> VerificationInfo {
    let (phase, message) = match &seen.stage.spec.verification {
        None => (VerificationPhase::Successful, String::new()),
        Some(_) => (
            VerificationPhase::Error,
            "this executor cannot run AnalysisRuns".to_owned(),
        ),
    };
    VerificationInfo {
        id: seen.fresh_id.clone(),
        start_time: Some(seen.now),
        finish_time: Some(seen.now),
        phase: Some(phase),
        message,
        ..VerificationInfo::default()
    }
}

/// Promotes by policy.
fn auto_promote(seen: &Seen<'_>, plan: &mut Plan) {
    let enabled = auto_promotion::enabled(seen.config, seen.stage).unwrap_or_else(|error| {
        tracing::warn!(
            stage = seen.stage.name(),
            error = &error as &dyn std::error::Error,
            "a promotion policy cannot be applied"
        );
        false
    });
    plan.status.auto_promotion_enabled = enabled;
    if !enabled {
        plan.status.effective_auto_promotion_holds.clear();
        return;
    }
    let decided = Stage {
        status: plan.status.clone(),
        ..seen.stage.clone()
    };
    // Policy must not overtake a person who has just asked for something else.
    plan.status.effective_auto_promotion_holds =
        auto_promotion::effective_holds(&decided, seen.open, seen.now);
    for request in &seen.stage.spec.requested_freight {
        let of_origin: Vec<Freight> = seen
            .freight
            .iter()
            .filter(|freight| freight.origin == request.origin)
            .map(|freight| (**freight).clone())
            .collect();
        for freight in &of_origin {
            let until = availability::available(seen.stage, freight, seen.now)
                .err()
                .and_then(|why| why.until());
            wake(plan, until);
        }
        let Some(candidate) =
            auto_promotion::candidate(seen.stage, &request.origin, &of_origin, seen.now)
        else {
            continue;
        };
        let holds = &plan.status.effective_auto_promotion_holds;
        let name = candidate.freight_name();
        if auto_promotion::decide(&decided, &request.origin, &name, seen.promotions, holds).is_ok()
        {
            plan.promote.push(Arc::new(candidate.clone()));
        }
    }
}
