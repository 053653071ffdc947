//! `approve` and `reject`: an answer to a gate; `approve --freight` is Kargo's Freight approval.

use super::{
    Done, Exit, Failure,
    args::{Approve, Global, Reject},
    executor, output, session,
};
use crate::{
    cluster::{Connection, act, answer, find},
    kargo::{
        ApprovalRequest, StageName,
        approval::{CountReason, Decision, RequestPhase},
    },
};

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
    let scope = session::scope(global, connection);
    let requests = find::gates(client, &scope, typed).await?;
    if requests.is_empty() {
        // Only for a better word: it is not there, or it asks nothing.
        let promotion = find::promotion(client, &scope, typed).await?;
        let (project, name) = (promotion.project(), promotion.name());
        return Err(nothing(&format!("{project}/{name}"), name, step));
    }
    let request = choose(requests, step)?;
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
        request.project(),
        request.spec.promotion.name
    );
    let patience = executor::patience(connection).await?;
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
fn choose(requests: Vec<ApprovalRequest>, step: Option<&str>) -> Result<ApprovalRequest, Failure> {
    let (full, name) = requests
        .first()
        .map(|request| {
            let name = request.spec.promotion.name.to_string();
            (format!("{}/{name}", request.project()), name)
        })
        .unwrap_or_default();
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
        [] => meant.pop().ok_or_else(|| nothing(&full, &name, step)),
        _ => {
            let steps: Vec<&str> = open
                .iter()
                .filter_map(|index| meant.get(*index))
                .map(|request| request.spec.step.as_str())
                .collect();
            Err(Failure::new(
                Exit::Usage,
                format!(
                    "cannot answer promotion {full}: several gates are open: {}",
                    steps.join(", ")
                ),
            )
            .hint("Name one with --step"))
        }
    }
}

fn nothing(full: &str, name: &str, step: Option<&str>) -> Failure {
    let why = step.map_or_else(
        || "it asks nothing".to_owned(),
        |step| format!("its step {step:?} asks nothing"),
    );
    Failure::new(
        Exit::NotFound,
        format!("cannot answer promotion {full}: {why}"),
    )
    .hint(format!(
        "See where it is: tidewaiter describe promotion {name}"
    ))
}
