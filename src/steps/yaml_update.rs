//! `yaml-update`: sets values in a YAML file and leaves every other byte as it is.

use async_trait::async_trait;
use serde_json::Value;

use super::{
    schema::Shape,
    updates,
    yaml::{self, Update, YamlError, scalar},
};
use crate::{
    engine::step::{Class, ErrorKind, Outcome, Step, StepCx, StepError},
    kargo::StepKind,
};

/// See the module.
pub struct YamlUpdate;

/// Kargo's message: strings that read as something else are quoted.
pub fn commit_message(path: &str, updates: &[Update]) -> String {
    updates::commit_message(path, updates, |value| match value {
        Value::String(text) if scalar::safe_bare(text, false) => text.clone(),
        Value::String(text) => scalar::double_quoted(text),
        other => scalar::write(other, yaml::tree::Style::Plain, false),
    })
}

/// What to do about a refused edit.
fn refused(failed: StepError, error: YamlError) -> StepError {
    let failed = StepError {
        kind: ErrorKind::Config,
        ..failed
    };
    let made = match error {
        YamlError::NotYaml { .. } => failed.hint("Correct the file in the repository"),
        YamlError::Absent { .. } => {
            failed.hint("Keys are not created: add the key to the file, or correct it in the step")
        }
        YamlError::BadKey { .. } => failed
            .hint("A key is made of parts joined by dots; a dot inside a part is written as \\."),
        _ => failed,
    };
    made.because(error)
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
        updates::shape()
    }

    async fn run(&self, cx: StepCx<'_>, config: &Value) -> Result<Outcome, StepError> {
        let editor = updates::Editor {
            failed: "values file update failed",
            set: yaml::set,
            refused,
            message: commit_message,
        };
        updates::run(cx, config, editor).await
    }
}
