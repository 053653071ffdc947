//! `approve` and `reject`: an answer to a gate; `approve --freight` is Kargo's Freight approval.

use std::time::Duration;

use super::{
    Done, Exit, Failure,
    args::{Approve, Global, Reject},
    executor, output, session,
};
use crate::{
    cluster::{Connection, act, answer, find},
    kargo::{
        ApprovalRequest, Promotion, StageName,
        approval::{CountReason, Decision, RequestPhase},
    },
};

/// How long to wait for the executor's word on an answer.
const VERDICT: Duration = Duration::from_secs(5);

/// Says yes.
pub async fn approve(global: &Global, args: &Approve) -> Done {
    let connection = session::connect(global).await?;
    if let (Some(freight), Some(stage)) = (&args.freight, &args.stage) {
        return approve_freight(global, &connection, freight, stage).await;
    }
    let typed = args.promotion.as_deref().unwrap_or_default();
    to_gate(
        global,
        &connection,
        typed,
        args.step.as_deref(),
        args.message.as_deref(),
        Decision::Approve,
    )
    .await
}

/// Says no.
pub async fn reject(global: &Global, args: &Reject) -> Done {
    let connection = session::connect(global).await?;
    to_gate(
        global,
        &connection,
        &args.promotion,
        args.step.as_deref(),
        args.message.as_deref(),
        Decision::Reject,
    )
    .await
}

async fn approve_freight(
    global: &Global,
    connection: &Connection,
    freight: &str,
    stage: &str,
) -> Done {
    let scope = session::scope(global, connection);
    let stage = find::stage(&connection.client, &scope, &StageName::from(stage)).await?;
    let freight = find::freight(
        &connection.client,
        &find::Scope::Project(stage.project()),
        freight,
    )
    .await?;
    act::approve_freight(&connection.client, &freight, &stage).await?;
    output::print(&format!(
        "freight/{} approved for stage {}\n",
        freight.name(),
        stage.name()
    ))?;
    Ok(Exit::Done)
}

async fn to_gate(
    global: &Global,
    connection: &Connection,
    typed: &str,
    step: Option<&str>,
    message: Option<&str>,
    decision: Decision,
) -> Done {
    let client = &connection.client;
    let promotion = find::promotion(client, &session::scope(global, connection), typed).await?;
    let request = choose(
        &promotion,
        find::requests_of(client, &promotion).await?,
        step,
    )?;
    let message = message.unwrap_or_default();
    answer::check(client, &request, &connection.who, decision, message).await?;
    let digest = request.spec.change.digest.clone();
    let stored = answer::answer(
        client,
        &request,
        &connection.who,
        decision,
        &digest,
        message,
    )
    .await?;
    let gate = format!(
        "gate {} of {}/{}",
        request.spec.step,
        promotion.project(),
        promotion.name()
    );
    // On a local cluster it is known when nobody is there to count.
    let patience = if connection.local.is_some() && !executor::runs(connection).await? {
        Duration::ZERO
    } else {
        VERDICT
    };
    let Some(verdict) = answer::verdict(client, &stored, patience).await? else {
        let next = if patience.is_zero() {
            "it counts as soon as an executor runs"
        } else {
            "no executor has counted it yet"
        };
        output::print(&format!(
            "answer {} recorded for {gate}; {next}\n",
            stored.name()
        ))?;
        return Ok(Exit::Done);
    };
    match (verdict.counted, verdict.reason) {
        (Some(true), _) => {
            output::print(&format!(
                "{} {gate} as {}\n",
                past(decision),
                connection.who.name
            ))?;
            Ok(Exit::Done)
        }
        (_, reason) => {
            let why = reason.map_or("the executor did not say why", CountReason::explain);
            Err(Failure::new(
                Exit::Refused,
                format!("the answer to {gate} does not count: {why}"),
            ))
        }
    }
}

fn past(decision: Decision) -> &'static str {
    match decision {
        Decision::Approve => "approved",
        Decision::Reject => "rejected",
    }
}

/// The request that is meant: the open one, by step where there are several; else the last, whose end is told.
fn choose(
    promotion: &Promotion,
    requests: Vec<ApprovalRequest>,
    step: Option<&str>,
) -> Result<ApprovalRequest, Failure> {
    let doing = format!(
        "cannot answer promotion {}/{}",
        promotion.project(),
        promotion.name()
    );
    let mut meant: Vec<ApprovalRequest> = requests
        .into_iter()
        .filter(|request| step.is_none_or(|step| request.spec.step == step))
        .collect();
    let open: Vec<usize> = meant
        .iter()
        .enumerate()
        .filter(|(_, request)| request.status.phase == RequestPhase::Open)
        .map(|(index, _)| index)
        .collect();
    match open.as_slice() {
        [only] => Ok(meant.swap_remove(*only)),
        [] => meant.pop().ok_or_else(|| {
            let why = step.map_or_else(
                || "it asks nothing".to_owned(),
                |step| format!("its step {step:?} asks nothing"),
            );
            Failure::new(Exit::NotFound, format!("{doing}: {why}")).hint(format!(
                "See where it is: tidewaiter describe promotion {}",
                promotion.name()
            ))
        }),
        _ => {
            let steps: Vec<&str> = meant
                .iter()
                .map(|request| request.spec.step.as_str())
                .collect();
            Err(Failure::new(
                Exit::Usage,
                format!("{doing}: several gates are open: {}", steps.join(", ")),
            )
            .hint("Name one with --step"))
        }
    }
}
