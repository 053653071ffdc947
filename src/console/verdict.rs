//! What the rules say of the rows here: why something waits, and whether this person may do something about it.

use crate::{
    kargo::{PromotionStep, approval::RequestPhase},
    rules::rows::{FreightRow, PromotionRow, RequestRow, StageRow},
};

use super::{
    clock::Clock,
    commands::{Command, Group, spec},
    message::Row,
    state::State,
    subject,
};

/// Why a Promotion is where it is, in a few words.
pub fn why(_state: &State, row: &PromotionRow, _clock: &Clock) -> String {
    let step = row.step.as_ref().map(|step| step.message.as_str()).filter(|text| !text.is_empty());
    match step {
        Some(text) if !row.phase.is_terminal() => text.to_owned(),
        _ => row.message.clone(),
    }
}

/// Whether a running Promotion is at a step that waits for somebody or something outside.
pub fn waits(_state: &State, row: &PromotionRow) -> bool {
    row.step.as_ref().is_some_and(|step| is_wait(step.kind.as_str()))
}

/// Whether a step that runs waits for somebody or something outside.
pub fn step_waits(_state: &State, step: &PromotionStep) -> bool {
    is_wait(step.uses.as_str())
}

fn is_wait(kind: &str) -> bool {
    matches!(kind, "wait-for-approval" | "git-wait-for-pr")
}

/// What a Promotion's Freight changes of what is in its Stage, in a few words.
pub fn freight_change(_state: &State, _row: &PromotionRow) -> Option<String> {
    None
}

/// What Freight would change of what is in the Stage, one line each.
pub fn differs(_state: &State, _stage: &StageRow, freight: &FreightRow) -> Vec<String> {
    freight.artifacts.clone()
}

/// Whether Freight may be promoted to the Stage now, else why not.
pub fn availability(_state: &State, _stage: &StageRow, _freight: &FreightRow) -> Result<(), String> {
    Ok(())
}

/// Whether this person may answer the request, else why not.
pub fn may_answer(state: &State, row: &RequestRow) -> Result<(), String> {
    if let Some(deadline) = row.deadline.filter(|deadline| *deadline <= state.now) {
        return Err(format!("expired at {}", state.clock().time(deadline)));
    }
    match row.phase {
        RequestPhase::Open => Ok(()),
        RequestPhase::Approved => Err("already approved".to_owned()),
        RequestPhase::Rejected => Err("already rejected".to_owned()),
        RequestPhase::Expired => Err("expired".to_owned()),
        RequestPhase::Withdrawn => Err("withdrawn".to_owned()),
    }
}

/// How many requests wait for this person.
pub fn waiting_for_me(state: &State) -> usize {
    let requests = state.tables.requests.all();
    requests
        .filter(|row| state.project.as_ref().is_none_or(|project| *project == row.project))
        .filter(|row| row.phase == RequestPhase::Open && may_answer(state, row).is_ok())
        .count()
}

/// Whether a command can be done here and now, else why not.
pub fn available(state: &State, command: Command) -> Result<(), String> {
    let place = state.place();
    let Some(spec) = spec(command) else { return Err("there is no such command".to_owned()) };
    if !spec.is_on(place) {
        return Err("not on this screen".to_owned());
    }
    if spec.group == Group::Act && state.context.readonly {
        return Err("read-only".to_owned());
    }
    let promotion = || subject::promotion(state).ok_or_else(|| "no Promotion is chosen".to_owned());
    match command {
        Command::Approve | Command::Reject => may_answer(state, &subject::request(state)?),
        Command::Retry => match promotion()? {
            row if row.phase.is_terminal() => Ok(()),
            _ => Err("it has not ended".to_owned()),
        },
        Command::Abort => match promotion()? {
            row if row.phase.is_terminal() => Err("it has ended".to_owned()),
            row if row.aborting => Err("its abort was asked for already".to_owned()),
            _ => Ok(()),
        },
        Command::Refresh => match promotion()? {
            row if row.phase.is_terminal() => Err("it has ended".to_owned()),
            _ => Ok(()),
        },
        Command::Verify => {
            let (project, name) = subject::stage(state).ok_or_else(|| "no Stage is chosen".to_owned())?;
            let row = state.tables.stages.all().find(|row| row.project == project && row.name == name);
            match row {
                Some(row) if row.freight.is_empty() => Err("no Freight is in the Stage".to_owned()),
                Some(row) if row.verifying => Err("a verification is under way".to_owned()),
                _ => Ok(()),
            }
        }
        Command::Promote if state.tables.stages.total() == 0 => Err("no Stages are known".to_owned()),
        Command::Open if current_is_none(state) => Err("there is nothing".to_owned()),
        Command::Copy if subject::text(state).is_none() => Err("there is nothing to copy".to_owned()),
        _ => Ok(()),
    }
}

fn current_is_none(state: &State) -> bool {
    let tables = &state.tables;
    match state.place() {
        super::state::Place::Approvals => tables.requests.current().map(Row::key).is_none(),
        _ => tables.promotions.current().map(Row::key).is_none(),
    }
}
