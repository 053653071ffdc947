//! `json-update`: sets values in a JSON file and leaves every other byte as it is.

use async_trait::async_trait;
use serde_json::Value;

use super::{
    json::{self, JsonError},
    schema::Shape,
    updates::{self, Update},
};
use crate::{
    engine::step::{Class, Outcome, Step, StepCx, StepError},
    expr::go_quoted,
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

fn refused(failed: StepError, error: JsonError) -> StepError {
    let failed = match error {
        JsonError::NotJson { .. } => failed.hint("Correct the file in the repository"),
        JsonError::BadKey { .. } => failed.hint(
            "A key is made of parts joined by dots; a backslash goes before a dot that is meant as itself",
        ),
        JsonError::Absent { .. } | JsonError::NotScalar { .. } => failed,
    };
    failed.because(error)
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
        let editor = updates::Editor {
            failed: "JSON file update failed",
            set: json::set,
            refused,
            message: commit_message,
        };
        updates::run(cx, config, editor).await
    }
}
