//! `describe promotion`: every step, what it did, and why the promotion waits.

use std::fmt::Write;

use serde_json::Value;

use super::{
    Done, Exit,
    args::{Describe, Global},
    output, session,
};
use crate::{
    cluster::{
        Connection, Kind,
        find::{self, Scope},
    },
    engine::journal::{self, Journal},
    kargo::{
        ApprovalRequest, Freight, Promotion, Stage, StepStatus, Timestamp, approval::RequestPhase,
        meta,
    },
    rules::{
        durations,
        rows::{PromotionRow, RequestRow, StageRow},
        why,
    },
};

/// Runs the verb.
pub async fn run(global: &Global, args: &Describe) -> Done {
    let connection = session::connect(global).await?;
    let promotion = find::promotion(
        &connection.client,
        &session::scope(global, &connection),
        &args.name,
    )
    .await?;
    let text = describe(&connection, &promotion).await?;
    output::print(&output::visible_lines(&text))?;
    Ok(Exit::Done)
}

async fn describe(
    connection: &Connection,
    promotion: &Promotion,
) -> Result<String, super::Failure> {
    let client = &connection.client;
    let scope = Scope::Project(promotion.project());
    let stages = find::list::<Stage>(client, &scope).await?;
    let others: Vec<PromotionRow> = find::list::<Promotion>(client, &scope)
        .await?
        .iter()
        .filter(|other| other.spec.stage == promotion.spec.stage)
        .map(PromotionRow::of)
        .collect();
    let requests = match find::requests_of(client, promotion).await {
        Err(error) if matches!(error.kind, Kind::Absent | Kind::Forbidden) => Vec::new(),
        other => other?,
    };
    let freight = scope
        .api::<Freight>(client)
        .get_opt(promotion.spec.freight.as_str())
        .await
        .ok()
        .flatten();
    let now = Timestamp::now();
    let row = PromotionRow::of(promotion);
    let stage = stages
        .iter()
        .find(|stage| stage.name() == promotion.spec.stage.as_str())
        .map(StageRow::of);
    let open = requests
        .iter()
        .find(|request| request.status.phase == RequestPhase::Open)
        .map(RequestRow::of);
    let why = why::why(
        &row,
        stage.as_ref(),
        &others.iter().collect::<Vec<_>>(),
        open.as_ref(),
        now,
    );
    let mut text = head(promotion, freight.as_ref(), &why);
    steps(&mut text, promotion, now);
    for request in &requests {
        gate(&mut text, request);
    }
    Ok(text)
}

fn field(text: &mut String, name: &str, value: &str) {
    if !value.is_empty() {
        let _ = writeln!(text, "{:<12}{value}", format!("{name}:"));
    }
}

fn head(promotion: &Promotion, freight: Option<&Freight>, why: &str) -> String {
    let mut text = String::new();
    let status = &promotion.status;
    field(&mut text, "Name", promotion.name());
    field(&mut text, "Project", promotion.project().as_str());
    field(&mut text, "Stage", promotion.spec.stage.as_str());
    let alias = freight
        .map(|freight| freight.alias().to_string())
        .unwrap_or_default();
    field(
        &mut text,
        "Freight",
        format!("{} {alias}", promotion.spec.freight).trim_end(),
    );
    field(
        &mut text,
        "Created by",
        promotion.annotation(meta::CREATE_ACTOR).unwrap_or_default(),
    );
    field(
        &mut text,
        "Retry of",
        promotion.annotation(meta::RETRY_OF).unwrap_or_default(),
    );
    field(
        &mut text,
        "Phase",
        if status.phase.as_str().is_empty() {
            "New"
        } else {
            status.phase.as_str()
        },
    );
    field(&mut text, "Why", why);
    field(&mut text, "Message", &status.message);
    field(
        &mut text,
        "Created",
        &promotion
            .created_at()
            .map(|at| at.to_string())
            .unwrap_or_default(),
    );
    field(
        &mut text,
        "Started",
        &status
            .started_at
            .map(|at| at.to_string())
            .unwrap_or_default(),
    );
    field(
        &mut text,
        "Finished",
        &status
            .finished_at
            .map(|at| at.to_string())
            .unwrap_or_default(),
    );
    text
}

fn steps(text: &mut String, promotion: &Promotion, now: Timestamp) {
    let status = &promotion.status;
    let state = journal::outputs(status);
    let _ = writeln!(text, "Steps:");
    for (index, step) in promotion.spec.steps.iter().enumerate() {
        let entry = promotion.step_metadata(&step.alias);
        let word = entry
            .and_then(|entry| entry.status.as_ref())
            .map_or("-", StepStatus::as_str);
        let _ = write!(
            text,
            "  {:>3}  {:<10} {:<22} {}",
            index + 1,
            word,
            step.alias.as_str(),
            step.uses
        );
        if let Some(entry) = entry {
            let end = entry
                .finished_at
                .or_else(|| (word == "Running").then_some(now));
            if let (Some(start), Some(end)) = (entry.started_at, end) {
                let _ = write!(
                    text,
                    "  {} for {}",
                    start,
                    durations::human(start.until(end))
                );
            }
            if entry.error_count > 0 {
                let _ = write!(text, "  {} errors", entry.error_count);
            }
        }
        text.push('\n');
        if let Some(entry) = entry.filter(|entry| !entry.message.is_empty()) {
            for line in entry.message.lines() {
                let _ = writeln!(text, "         {line}");
            }
        }
        if let Some(output) = state
            .get(step.alias.as_str())
            .filter(|output| !is_empty(output))
        {
            let _ = writeln!(text, "         output: {output}");
        }
    }
    for replay in Journal::read(status).unwrap_or_default().replays {
        let commits = format!("{} to {}", short(&replay.from), short(&replay.to));
        let _ = writeln!(
            text,
            "Replay for {}: {} from {commits}: {}",
            replay.step, replay.branch, replay.reason
        );
    }
}

fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty)
}

fn gate(text: &mut String, request: &ApprovalRequest) {
    let (spec, status) = (&request.spec, &request.status);
    let _ = writeln!(
        text,
        "Gate {} ({:?}): {}",
        spec.step, status.phase, status.message
    );
    for response in &status.responses {
        let at = response.time.map(|at| at.to_string()).unwrap_or_default();
        let _ = writeln!(
            text,
            "  {} {} {at} {}",
            response.user, response.action, response.message
        );
    }
    for file in &spec.change.files {
        let _ = writeln!(text, "  {}  +{} -{}", file.path, file.added, file.removed);
    }
    for line in spec.change.diff.lines() {
        let _ = writeln!(text, "  | {line}");
    }
}
