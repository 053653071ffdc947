//! The plain reason why a Promotion waits, or how it failed: short enough for a column of a table.

use std::time::Duration;

use crate::kargo::{Phase, Timestamp, approval::RequestPhase};

use super::{
    durations::human,
    names, queue,
    rows::{PromotionRow, RequestRow, StageRow},
};

/// Longest answer, in characters.
const LENGTH_MAX: usize = 60;
/// An executor marks a new Promotion within seconds; after this long there is none.
const UNSEEN_AFTER: Duration = Duration::from_secs(10);

/// Why `row` is where it is; empty where there is nothing to say.
///
/// `stage` is its Stage, `others` the Promotions of that Stage (with or without itself), `open_request` the question
/// that it waits for.
pub fn why(
    row: &PromotionRow,
    stage: Option<&StageRow>,
    others: &[&PromotionRow],
    open_request: Option<&RequestRow>,
    now: Timestamp,
) -> String {
    let text = match &row.phase {
        Phase::Succeeded => String::new(),
        Phase::Failed | Phase::Errored => failed(row),
        Phase::Aborted => row.message.clone(),
        _ if row.aborting => "abort asked for".to_owned(),
        Phase::Running => running(row, open_request, now),
        Phase::New | Phase::Pending | Phase::Unknown(_) => waiting(row, stage, others, now),
    };
    one_line(&text)
}

/// The bad step's own words, else the Promotion's.
fn failed(row: &PromotionRow) -> String {
    let step = row
        .step
        .as_ref()
        .map(|step| step.message.as_str())
        .filter(|message| !message.is_empty());
    step.unwrap_or(&row.message).to_owned()
}

fn running(row: &PromotionRow, open_request: Option<&RequestRow>, now: Timestamp) -> String {
    if let Some(request) = open_request.filter(|request| request.phase == RequestPhase::Open) {
        return gate(request, now);
    }
    let Some(step) = &row.step else {
        return row.message.clone();
    };
    if step.error_count > 0 {
        let text = if step.message.is_empty() {
            &row.message
        } else {
            &step.message
        };
        return format!("attempt {}: {text}", step.error_count.saturating_add(1));
    }
    step.message.clone()
}

/// How far the answers have come, and whose is missing.
fn gate(request: &RequestRow, now: Timestamp) -> String {
    let progress = if request.message.is_empty() {
        format!(
            "{} of {} approvals",
            request.responses.len(),
            request.min_approvals.max(1)
        )
    } else {
        request.message.clone()
    };
    match request.deadline {
        Some(deadline) if now > deadline => format!("{progress}; its time is over"),
        Some(deadline) => format!("{progress}; {} left", human(now.until(deadline))),
        None => progress,
    }
}

fn waiting(
    row: &PromotionRow,
    stage: Option<&StageRow>,
    others: &[&PromotionRow],
    now: Timestamp,
) -> String {
    let age = row
        .created_at
        .map(|created| created.until(now))
        .unwrap_or_default();
    if row.phase == Phase::New && age > UNSEEN_AFTER {
        return match row.shard.as_str() {
            "" => "no executor has seen it".to_owned(),
            shard => format!("no executor has seen it (shard {shard})"),
        };
    }
    if let Some(before) = behind(row, others) {
        return before;
    }
    let Some(stage) = stage else {
        return format!("there is no Stage {}", row.stage);
    };
    if stage.shard != row.shard {
        return format!("the Stage moved to {}", shard_name(&stage.shard));
    }
    if stage.current_promotion.as_ref() == Some(&row.name) {
        return "its turn; starting".to_owned();
    }
    if stage.verifying {
        return "verification of current freight runs".to_owned();
    }
    match row.message.as_str() {
        "" if row.phase == Phase::Pending => "waits for its turn".to_owned(),
        message => message.to_owned(),
    }
}

fn shard_name(shard: &str) -> String {
    if shard.is_empty() {
        "the default shard".to_owned()
    } else {
        format!("shard {shard}")
    }
}

/// Who has its turn before, where there is one; how many more where there are several.
fn behind(row: &PromotionRow, others: &[&PromotionRow]) -> Option<String> {
    let same_stage =
        |other: &&PromotionRow| other.project == row.project && other.stage == row.stage;
    let queue = queue::waiting(others.iter().copied().filter(same_stage));
    let before: Vec<&PromotionRow> = queue
        .into_iter()
        .filter(|other| other.name != row.name && queue::order(other, row).is_lt())
        .collect();
    // The one straight before says most: when it ends, this one starts.
    let last = before.last()?;
    let name = format!("{}/{}", row.project, names::short(&last.name));
    Some(match before.len() {
        1 => format!("behind {name}"),
        more => format!("behind {name} and {} more", more - 1),
    })
}

/// Without line breaks and runs of blanks, cut at a character border.
fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LENGTH_MAX) {
        Some(_) => line.chars().take(LENGTH_MAX - 1).chain(['…']).collect(),
        None => line,
    }
}

#[cfg(test)]
mod tests;
