//! `fail`: ends the promotion as failed, with a message.

use async_trait::async_trait;
use serde_json::Value;

use super::schema::{Object, Shape, text};
use crate::{
    engine::step::{Class, Outcome, Step, StepCx, StepError},
    kargo::StepKind,
};

/// See the module.
pub struct Fail;

fn shape() -> Shape {
    Object::new().optional("message", text()).into()
}

#[async_trait]
impl Step for Fail {
    fn kind(&self) -> StepKind {
        "fail".into()
    }

    fn class(&self) -> Class {
        Class::Workspace
    }

    fn shape(&self) -> Shape {
        shape()
    }

    async fn run(&self, _: StepCx<'_>, config: &Value) -> Result<Outcome, StepError> {
        let message = config
            .get("message")
            .and_then(Value::as_str)
            .filter(|message| !message.is_empty());
        Err(StepError::failed(message.map_or_else(
            || "failed".to_owned(),
            |message| format!("failed: {message}"),
        )))
    }
}
