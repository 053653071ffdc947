//! What a push says: how far it is, what came of it, why it did not work.

use serde_json::{Map, Value, json};

use super::{cargo::Cargo, web};
use crate::{
    engine::{
        step::{PushOrder, StepError},
        workspace::Mount,
    },
    git::{
        branch::BranchName,
        id::CommitId,
        land::{LandError, LandProgress, Landed},
        url::RepoUrl,
    },
};

/// How far it is.
pub fn position(progress: LandProgress, branch: &BranchName) -> String {
    match progress {
        LandProgress::New => format!("landing on {branch}"),
        LandProgress::Queued { position, of } => {
            format!("landing on {branch}, {} of {of}", ordinal(position))
        }
        LandProgress::Placing => format!("landing on {branch}: on its tip"),
        LandProgress::Pushing => format!("landing on {branch}: pushing"),
    }
}

fn ordinal(number: usize) -> String {
    let suffix = match (number % 10, number % 100) {
        (1, rest) if rest != 11 => "st",
        (2, rest) if rest != 12 => "nd",
        (3, rest) if rest != 13 => "rd",
        _ => "th",
    };
    format!("{number}{suffix}")
}

/// Why it did not land, as the step's error.
pub fn land_error(error: LandError) -> StepError {
    match &error {
        LandError::Refused { .. } => StepError::refused("the push was refused").because(error),
        LandError::Conflict { message, .. } => StepError::conflict(message.clone()),
        LandError::NameCollision { .. } => StepError::config("cannot push").because(error),
        LandError::BranchDeleted { .. } => StepError::failed("cannot push")
            .because(error)
            .hint("`create: true` in git-clone would make it"),
        LandError::Exists { .. }
        | LandError::Remote { .. }
        | LandError::BudgetExhausted { .. }
        | LandError::Member { .. }
        | LandError::Interrupted { .. } => StepError::errored("cannot push").because(error),
    }
}

/// The step's output, as Kargo has it.
pub fn output_of(
    cargo: &Cargo,
    order: &PushOrder,
    head: Option<&CommitId>,
    landed: Option<&Landed>,
) -> Map<String, Value> {
    let mut output = Map::new();
    output.insert("branch".into(), json!(cargo.branch));
    if let Some(head) = head {
        output.insert("commit".into(), json!(head));
        if let Some(link) = commit_link(&cargo.mount, order, head) {
            output.insert("commitURL".into(), json!(link));
        }
    }
    if let Some(landed) = landed {
        output.insert("attempts".into(), json!(landed.attempts));
    }
    output
}

/// The web page of a commit of a checkout's repository, where there is one that is known.
pub fn commit_link(mount: &Mount, order: &PushOrder, commit: &CommitId) -> Option<String> {
    let url: RepoUrl = mount.repo_url.parse().ok()?;
    web::commit_url(&url.normalised(), order.provider.as_deref(), commit)
}

/// What came of it.
pub fn said(cargo: &Cargo, landed: &Landed) -> String {
    let mut text = if landed.noop {
        format!(
            "{} has this change already, at {}",
            cargo.branch,
            landed.head.short()
        )
    } else {
        format!("{} on {}", landed.head.short(), cargo.branch)
    };
    if landed.attempts > 1 {
        text.push_str(&format!(", pushed {} times", landed.attempts));
    }
    match landed.replays {
        0 => {}
        1 => text.push_str(", replayed once"),
        times => text.push_str(&format!(", replayed {times} times")),
    }
    text
}
