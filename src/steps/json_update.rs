//! `json-update`: sets values in a JSON file and leaves every other byte as it is.

use async_trait::async_trait;
use serde_json::Value;

use super::{
    files,
    json::{self, JsonError},
    schema::{Shape, typed},
    updates::{self, Config, Update},
};
use crate::{
    engine::{
        step::{Class, Outcome, Step, StepCx, StepError},
        workspace::Workspace,
    },
    expr::go_quoted,
    git::path::RepoPath,
    kargo::StepKind,
};

/// See the module.
pub struct JsonUpdate;

/// Kargo's message: texts as Go quotes them, other values as they are written.
pub fn commit_message(path: &str, updates: &[Update]) -> String {
    updates::commit_message(path, updates, |value| match value {
        Value::String(text) => go_quoted(text),
        other => json::scalar(other).unwrap_or_else(|_| other.to_string()),
    })
}

fn refused(at: &RepoPath, error: JsonError) -> StepError {
    let failed = StepError::errored(format!("JSON file update failed: {at} is unchanged"));
    let failed = match error {
        JsonError::NotJson { .. } => failed.hint("Correct the file in the repository"),
        JsonError::BadKey { .. } => failed.hint(
            "A key is made of parts joined by dots; a backslash goes before a dot that is meant as itself",
        ),
        JsonError::Absent { .. } | JsonError::NotScalar { .. } => failed,
    };
    failed.because(error)
}

/// Says whether the file changed.
fn edit(workspace: &mut Workspace, at: &RepoPath, updates: &[Update]) -> Result<bool, StepError> {
    let doing = "JSON file update failed";
    let before = files::read_text(workspace, at, doing)?;
    let after = json::set(&before, updates).map_err(|error| refused(at, error))?;
    if after == before {
        return Ok(false);
    }
    files::write_text(workspace, at, &after, doing)?;
    Ok(true)
}

#[async_trait]
impl Step for JsonUpdate {
    fn kind(&self) -> StepKind {
        "json-update".into()
    }

    fn class(&self) -> Class {
        Class::Workspace
    }

    fn shape(&self) -> Shape {
        updates::shape()
    }

    async fn run(&self, cx: StepCx<'_>, config: &Value) -> Result<Outcome, StepError> {
        let Config { path, updates } = typed(config)?;
        let at = files::path("path", &path)?;
        let message = commit_message(&path, &updates);
        let changed = cx
            .files
            .edit(move |workspace| edit(workspace, &at, &updates))
            .await?;
        Ok(updates::outcome(message, changed))
    }
}
