//! `compose-output`: its configuration is its output, for later steps.

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::schema::Shape;
use crate::{
    engine::step::{Class, Outcome, Step, StepCx, StepError},
    kargo::StepKind,
};

/// See the module.
pub struct ComposeOutput;

#[async_trait]
impl Step for ComposeOutput {
    fn kind(&self) -> StepKind {
        "compose-output".into()
    }

    fn class(&self) -> Class {
        Class::Workspace
    }

    fn shape(&self) -> Shape {
        Shape::Free
    }

    async fn run(&self, _: StepCx<'_>, config: &Value) -> Result<Outcome, StepError> {
        Ok(Outcome::succeeded(
            config.as_object().cloned().unwrap_or_else(Map::new),
        ))
    }
}
