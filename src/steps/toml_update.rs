//! `toml-update`: sets values in a TOML file and leaves every other byte as it is.

use async_trait::async_trait;
use serde_json::Value;

use super::{
    schema::Shape,
    toml::{self, TomlError},
    updates::{self, Update},
};
use crate::{
    engine::step::{Class, Outcome, Step, StepCx, StepError},
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

fn refused(failed: StepError, error: TomlError) -> StepError {
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
        let editor = updates::Editor {
            failed: "TOML file update failed",
            set: toml::set,
            refused,
            message: commit_message,
        };
        updates::run(cx, config, editor).await
    }
}
