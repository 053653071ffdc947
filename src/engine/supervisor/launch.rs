//! From a Promotion's name to its run: reads everything anew, checks that it may start, and runs it.

use std::sync::Arc;

use tokio::{sync::watch, time::Instant};

use super::{LATER, PromotionKey};
use crate::{
    engine::{
        course::{Course, collection, steps_of},
        gate,
        journal::{Journal, ledger::Ledger},
        port::{Key, PortError, PortExt, patiently},
        runner::{Control, Rest, Runner},
        scope::{Outside, Scope},
        tools::{Happening, Tools, What},
    },
    kargo::{
        Approval, ApprovalRequest, Freight, Phase, Promotion, Stage, Timestamp,
        approval::{CountReason, RequestPhase},
    },
    rules::availability,
};

/// Runs it until it rests.
pub async fn promotion(
    tools: &Arc<Tools>,
    key: &PromotionKey,
    control: watch::Receiver<Control>,
    newer_waits: bool,
) -> Rest {
    match prepare(tools, key, &control).await {
        Ok(Ready::Run(course, ledger)) => {
            Runner::new(course, *ledger, newer_waits).run(control).await
        }
        Ok(Ready::Rest(rest)) => rest,
        Ok(Ready::End(ledger, phase, why)) => end(tools, *ledger, phase, why).await,
        Err(error) => {
            let why = crate::engine::sentence(&error);
            tracing::warn!(project = %key.0, promotion = %key.1, why, "a promotion cannot be begun");
            Rest::Waiting {
                until: Some(Instant::now() + LATER),
                what: why,
            }
        }
    }
}

enum Ready {
    Run(Arc<Course>, Box<Ledger>),
    /// It cannot run at all.
    End(Box<Ledger>, Phase, String),
    Rest(Rest),
}

async fn prepare(
    tools: &Arc<Tools>,
    key: &PromotionKey,
    control: &watch::Receiver<Control>,
) -> Result<Ready, PortError> {
    let (project, name) = key;
    let (promotion, ledger) = loop {
        let found = patiently(|| tools.port.get::<Promotion>(project, name.as_str())).await?;
        let Some(promotion) = found.filter(|promotion| !promotion.is_deleting()) else {
            return Ok(Ready::Rest(Rest::Lost("it was deleted".into())));
        };
        if promotion.status.phase.is_terminal() {
            return Ok(Ready::Rest(Rest::Ended(promotion.status.phase)));
        }
        let epoch = tools.settings.epoch.clone();
        match Ledger::open(Arc::clone(&tools.port), promotion.clone(), epoch) {
            Ok(mut ledger) => {
                if ledger.claim().await? {
                    break (promotion, Box::new(ledger));
                }
            }
            Err(error) => {
                return Ok(Ready::Rest(Rest::Lost(format!(
                    "its record cannot be read: {error}"
                ))));
            }
        }
    };
    let abort = match &*control.borrow() {
        Control::Abort(request) => Some(request.clone()),
        _ => promotion.abort_request(),
    };
    if let (Some(request), true) = (&abort, promotion.status.started_at.is_none()) {
        let by = if request.actor.is_empty() {
            "a request"
        } else {
            &request.actor
        };
        return Ok(Ready::End(
            ledger,
            Phase::Aborted,
            format!("Promotion terminated by {by}"),
        ));
    }
    let stage = patiently(|| {
        tools
            .port
            .get::<Stage>(project, promotion.spec.stage.as_str())
    })
    .await?;
    let Some(stage) = stage else {
        return Ok(Ready::Rest(Rest::Lost(format!(
            "Stage {} is gone",
            promotion.spec.stage
        ))));
    };
    let turn = stage
        .status
        .current_promotion
        .as_ref()
        .is_some_and(|current| current.name == *name);
    if !turn && abort.is_none() {
        return Ok(Ready::Rest(Rest::Waiting {
            until: None,
            what: "its turn".into(),
        }));
    }
    let freight = patiently(|| {
        tools
            .port
            .get::<Freight>(project, promotion.spec.freight.as_str())
    })
    .await?;
    let Some(freight) = freight else {
        return Ok(Ready::End(
            ledger,
            Phase::Errored,
            format!("Freight {} does not exist", promotion.spec.freight),
        ));
    };
    let begun = promotion.status.phase == Phase::Running && promotion.status.started_at.is_some();
    if !begun && let Err(why) = availability::available(&stage, &freight, Timestamp::now()) {
        let why = format!(
            "Freight {} is not available to Stage {}: {why}",
            freight.name(),
            stage.name()
        );
        return Ok(Ready::End(ledger, Phase::Errored, why));
    }
    let steps = match steps_of(&promotion) {
        Ok(steps) => steps,
        Err(why) => return Ok(Ready::End(ledger, Phase::Errored, why)),
    };
    let collection = match promotion
        .status
        .freight_collection
        .clone()
        .filter(|_| begun)
    {
        Some(collection) => collection,
        None => collection(&stage, &freight),
    };
    let outside = Outside::of(tools);
    let scope = Scope::read(&outside, &promotion, &stage, &freight, &collection).await?;
    let course = Course {
        tools: Arc::clone(tools),
        project: project.clone(),
        stage: promotion.spec.stage.clone(),
        promotion: name.clone(),
        uid: promotion.uid(),
        steps,
        freight: collection,
        scope,
        fetched: Arc::default(),
    };
    Ok(Ready::Run(Arc::new(course), ledger))
}

/// An answer that nobody has judged, to a question that is closed: it came too late, or its mark was cut short after
/// it had counted. The Promotion's record knows.
pub async fn judge_late(tools: &Tools, key: &Key) {
    let Ok(Some(approval)) = tools.port.get::<Approval>(&key.project, &key.name).await else {
        return;
    };
    if approval.status.counted.is_some() {
        return;
    }
    let reason = match has_counted(tools, &approval).await {
        Ok(true) => CountReason::Counted,
        Ok(false) => CountReason::Late,
        Err(error) => {
            tracing::warn!(approval = %key, error = &error as &dyn std::error::Error, "an answer cannot be judged");
            return;
        }
    };
    gate::mark_one(tools.port.as_ref(), &key.project, &approval, reason).await;
}

async fn has_counted(tools: &Tools, approval: &Approval) -> Result<bool, PortError> {
    let (project, asked) = (approval.project(), &approval.spec.request);
    let request = tools
        .port
        .get::<ApprovalRequest>(&project, asked.as_str())
        .await?;
    let Some(request) = request.filter(|request| request.uid() == approval.spec.request_uid) else {
        return Ok(false);
    };
    let of = &request.spec.promotion;
    let promotion = tools
        .port
        .get::<Promotion>(&project, of.name.as_str())
        .await?;
    let journal = promotion
        .filter(|promotion| promotion.uid() == of.uid)
        .and_then(|promotion| Journal::read(&promotion.status).ok());
    let gate = journal
        .as_ref()
        .and_then(|journal| journal.steps.get(&request.spec.step)?.gate.as_ref())
        .filter(|gate| gate.uid == request.uid());
    Ok(gate.is_some_and(|gate| {
        gate.counted
            .iter()
            .any(|one| one.approval.as_str() == approval.name())
    }))
}

/// A question whose Promotion is gone or over is asked no more: nobody would hear the answer.
pub async fn withdraw(tools: &Tools, key: &Key) -> Result<(), PortError> {
    let request = tools
        .port
        .get::<ApprovalRequest>(&key.project, &key.name)
        .await?;
    let Some(request) = request.filter(|request| request.status.phase == RequestPhase::Open) else {
        return Ok(());
    };
    let of = &request.spec.promotion;
    let promotion = tools
        .port
        .get::<Promotion>(&key.project, of.name.as_str())
        .await?;
    let why = match promotion.filter(|promotion| promotion.uid() == of.uid) {
        None => "its Promotion was deleted",
        Some(promotion) if promotion.is_deleting() => "its Promotion is being deleted",
        Some(promotion) if promotion.status.phase.is_terminal() => "its Promotion is over",
        Some(_) => return Ok(()),
    };
    gate::withdraw_one(tools.port.as_ref(), &request, why).await;
    Ok(())
}

/// Writes an end for what never ran.
async fn end(tools: &Tools, mut ledger: Ledger, phase: Phase, why: String) -> Rest {
    ledger.status.phase = phase.clone();
    ledger.status.message = why.clone();
    ledger.status.finished_at = Some(Timestamp::now());
    match ledger.write().await {
        Ok(()) => {
            let promotion = ledger.promotion();
            tools.tell(Happening {
                project: promotion.project(),
                stage: promotion.spec.stage.clone(),
                promotion: promotion.promotion_name(),
                step: None,
                what: What::Ended(phase.clone(), why),
            });
            Rest::Ended(phase)
        }
        Err(error) => Rest::Lost(crate::engine::sentence(&error)),
    }
}
