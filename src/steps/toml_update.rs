//! `toml-update`: sets values in a TOML file and leaves every other byte as it is.

use async_trait::async_trait;
use serde_json::Value;

use super::{
    files,
    schema::{Shape, typed},
    toml::{self, TomlError},
    updates::{self, Config, Update},
};
use crate::{
    engine::{
        step::{Class, Outcome, Step, StepCx, StepError},
        workspace::Workspace,
    },
    git::path::RepoPath,
    kargo::StepKind,
};

/// See the module.
pub struct TomlUpdate;

/// Kargo's message: values as it writes them.
pub fn commit_message(path: &str, updates: &[Update]) -> String {
    updates::commit_message(path, updates, |value| {
        toml::write::plain(value).unwrap_or_else(|_| value.to_string())
    })
}

fn refused(at: &RepoPath, error: TomlError) -> StepError {
    let failed = StepError::errored(format!("TOML file update failed: {at} is unchanged"));
    let failed =
        match error {
            TomlError::NotToml { .. } => failed.hint("Correct the file in the repository"),
            TomlError::Absent { .. } => failed
                .hint("Keys are not created: add the key to the file, or correct it in the step"),
            TomlError::BadKey { .. } => failed
                .hint("A key is made of parts joined by dots; a dot inside a part is written \\."),
            TomlError::NotScalar { .. } => failed.hint("Name a value in it"),
            TomlError::Value { .. } | TomlError::Unproved(_) => failed,
        };
    failed.because(error)
}

/// Says whether the file changed.
fn edit(workspace: &mut Workspace, at: &RepoPath, updates: &[Update]) -> Result<bool, StepError> {
    let doing = "TOML file update failed";
    let before = files::read_text(workspace, at, doing)?;
    let after = toml::set(&before, updates).map_err(|error| refused(at, error))?;
    if after == before {
        return Ok(false);
    }
    files::write_text(workspace, at, &after, doing)?;
    Ok(true)
}

#[async_trait]
impl Step for TomlUpdate {
    fn kind(&self) -> StepKind {
        "toml-update".into()
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
