//! What `yaml-update`, `json-update` and `toml-update` share: `updates: [{key, value}]`, the edit of a file by them, and
//! the commit message made of them.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    files,
    schema::{Object, Shape, list, some_text, typed},
};
use crate::{
    engine::{
        step::{Outcome, StepCx, StepError},
        workspace::Workspace,
    },
    git::path::RepoPath,
};

/// One change.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Update {
    /// Where, in the spelling of the kind of file.
    pub key: String,
    /// What is to be there: a text, a number, true or false; in YAML also null.
    pub value: Value,
}

#[derive(Deserialize)]
struct Config {
    path: String,
    updates: Vec<Update>,
}

/// One kind of file.
#[derive(Clone, Copy)]
pub struct Editor<E> {
    /// How an error begins, as in Kargo.
    pub failed: &'static str,
    /// All updates in a text, or none.
    pub set: fn(&str, &[Update]) -> Result<String, E>,
    /// What a refused edit is for the step.
    pub refused: fn(StepError, E) -> StepError,
    /// The commit message for a path.
    pub message: fn(&str, &[Update]) -> String,
}

/// The configuration's shape.
pub fn shape() -> Shape {
    let update = Object::new()
        .required("key", some_text())
        .required("value", Shape::Scalar);
    Object::new()
        .required("path", some_text())
        .required("updates", list(update, 1))
        .into()
}

/// Kargo's message; `print` is how the kind of file shows a value.
pub fn commit_message(path: &str, updates: &[Update], print: impl Fn(&Value) -> String) -> String {
    if updates.is_empty() {
        return String::new();
    }
    let mut message = format!("Updated {path}\n");
    for update in updates {
        // Writing to a String cannot fail.
        let _ = write!(message, "\n- {}: {}", update.key, print(&update.value));
    }
    message
}

/// The whole step. There is a message even where nothing changes: a git-commit may be made of it (C41).
pub async fn run<E: 'static>(
    cx: StepCx<'_>,
    config: &Value,
    editor: Editor<E>,
) -> Result<Outcome, StepError> {
    let Config { path, updates } = typed(config)?;
    let at = files::path("path", &path)?;
    let message = (editor.message)(&path, &updates);
    let changed = cx
        .files
        .edit(move |workspace| edit(workspace, &at, &updates, &editor))
        .await?;
    let outcome = Outcome::succeeded(Map::from_iter([(
        "commitMessage".to_owned(),
        Value::String(message),
    )]));
    Ok(if changed {
        outcome
    } else {
        outcome.saying("the values are there already")
    })
}

/// Says whether the file changed.
fn edit<E>(
    workspace: &mut Workspace,
    at: &RepoPath,
    updates: &[Update],
    editor: &Editor<E>,
) -> Result<bool, StepError> {
    let before = files::read_text(workspace, at, editor.failed)?;
    let after = (editor.set)(&before, updates).map_err(|error| {
        let failed = StepError::errored(format!("{}: {at} is unchanged", editor.failed));
        (editor.refused)(failed, error)
    })?;
    if after == before {
        return Ok(false);
    }
    files::write_text(workspace, at, &after, editor.failed)?;
    Ok(true)
}
