//! `yaml-parse`: takes outputs from the first document of a YAML file.

use async_trait::async_trait;
use serde_json::Value;

use super::{parse, schema::Shape};
use crate::{
    engine::step::{Class, Outcome, Step, StepCx, StepError},
    kargo::StepKind,
};

mod document;
mod plain;

pub use document::read;

/// See the module.
pub struct YamlParse;

#[async_trait]
impl Step for YamlParse {
    fn kind(&self) -> StepKind {
        "yaml-parse".into()
    }

    fn class(&self) -> Class {
        Class::Workspace
    }

    fn shape(&self) -> Shape {
        parse::shape()
    }

    async fn run(&self, cx: StepCx<'_>, config: &Value) -> Result<Outcome, StepError> {
        parse::run(cx, config, "YAML", document::read).await
    }
}
