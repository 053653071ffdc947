//! wait-for-approval: people are asked about the change, and their answers counted.

use serde_json::Value;

use super::{
    course::Course,
    replay::Again,
    runner::{Flow, Runner, Stopped, one::Ready},
    step::{Files, Question, StepError},
    workspace::{Workspace, WorkspaceState},
};
use crate::{
    git::{diff::Limits, url::RepoUrl},
    kargo::{
        Alias, PromotionStep,
        approval::{Base, Change, ChangedFile},
    },
};

/// What a push of all checkouts would change now.
pub async fn change(course: &Course, state: &WorkspaceState) -> Result<Change, StepError> {
    let mut files = Files::new(state.clone(), course.tools.paths());
    let look = |workspace: &mut Workspace| {
        workspace.change(Limits::default()).map_err(|error| StepError::errored("cannot compare the change").because(error))
    };
    let found = files.edit(look).await?;
    let count = |lines: usize| u32::try_from(lines).unwrap_or(u32::MAX);
    let changed = found.files.iter().map(|file| ChangedFile {
        path: file.path.clone(),
        mode: file.mode.map(|mode| mode.as_str().to_owned()).unwrap_or_default(),
        added: count(file.added),
        removed: count(file.removed),
    });
    let bases = state.mounts.iter().map(|mount| Base {
        repo_url: mount.repo_url.parse::<RepoUrl>().map(|url| url.to_string()).unwrap_or_default(),
        branch: mount.branch.as_ref().map(ToString::to_string).unwrap_or_default(),
        commit: mount.base.as_ref().map(ToString::to_string).unwrap_or_default(),
    });
    let diff = course.scope.redact(&found.text);
    Ok(Change { files: changed.collect(), diff, digest: found.digest, bases: bases.collect() })
}

impl Runner {
    pub(super) async fn ask(&mut self, step: &PromotionStep, ready: Ready, _question: Question) -> Result<Flow, Stopped> {
        let error = StepError::config("not yet");
        drop(Value::Null);
        self.failed(step, ready.limits, &error).await
    }

    pub(super) async fn back_to_gate(&mut self, gate: &Alias, _again: Again) -> Result<Flow, Stopped> {
        Ok(Flow::Back(gate.clone()))
    }

    pub(super) async fn withdraw_questions(&mut self, _why: &str) {}
}
