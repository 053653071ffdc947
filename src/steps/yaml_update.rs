//! `yaml-update`: sets values in a YAML file and leaves every other byte as it is.

use std::fmt::Write as _;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    files,
    schema::{Object, Shape, list, some_text, typed},
    yaml::{self, Update, YamlError, scalar},
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
pub struct YamlUpdate;

fn shape() -> Shape {
    let update = Object::new()
        .required("key", some_text())
        .required("value", Shape::Scalar);
    Object::new()
        .required("path", some_text())
        .required("updates", list(update, 1))
        .into()
}

#[derive(Deserialize)]
struct Config {
    path: String,
    updates: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    key: String,
    value: Value,
}

/// Kargo's message: strings that read as something else are quoted.
pub fn commit_message(path: &str, updates: &[Update]) -> String {
    if updates.is_empty() {
        return String::new();
    }
    let mut message = format!("Updated {path}\n");
    for update in updates {
        let value = match &update.value {
            Value::String(text) if scalar::safe_bare(text, false) => text.clone(),
            Value::String(text) => scalar::double_quoted(text),
            other => scalar::write(other, yaml::tree::Style::Plain, false),
        };
        // Writing to a String cannot fail.
        let _ = write!(message, "\n- {}: {value}", update.key);
    }
    message
}

/// What to do about a refused edit.
fn refused(at: &RepoPath, error: YamlError) -> StepError {
    let doing = format!("values file update failed: {at} is unchanged");
    let made = match error {
        YamlError::NotYaml { .. } => {
            StepError::config(doing).hint("Correct the file in the repository")
        }
        YamlError::Absent { .. } => StepError::config(doing)
            .hint("Keys are not created: add the key to the file, or correct it in the step"),
        YamlError::BadKey { .. } => StepError::config(doing)
            .hint("A key is made of parts joined by dots; a dot inside a part is written as \\."),
        _ => StepError::config(doing),
    };
    made.because(error)
}

/// Says whether the file changed.
fn edit(workspace: &mut Workspace, at: &RepoPath, updates: &[Update]) -> Result<bool, StepError> {
    let doing = "values file update failed";
    let before = files::read_text(workspace, at, doing)?;
    let after = yaml::set(&before, updates).map_err(|error| refused(at, error))?;
    if after == before {
        return Ok(false);
    }
    files::write_text(workspace, at, &after, doing)?;
    Ok(true)
}

#[async_trait]
impl Step for YamlUpdate {
    fn kind(&self) -> StepKind {
        "yaml-update".into()
    }

    fn class(&self) -> Class {
        Class::Workspace
    }

    fn shape(&self) -> Shape {
        shape()
    }

    async fn run(&self, cx: StepCx<'_>, config: &Value) -> Result<Outcome, StepError> {
        let config: Config = typed(config)?;
        let at = files::path("path", &config.path)?;
        let updates: Vec<Update> = config
            .updates
            .into_iter()
            .map(|entry| Update {
                key: entry.key,
                value: entry.value,
            })
            .collect();
        // A message even where nothing changes: a git-commit may be made of it (C41).
        let message = commit_message(&config.path, &updates);
        let changed = cx
            .files
            .edit(move |workspace| edit(workspace, &at, &updates))
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
}
