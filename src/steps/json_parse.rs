//! `json-parse`: takes outputs from a JSON file.

use async_trait::async_trait;
use serde_json::Value;

use super::{json::value, parse, schema::Shape};
use crate::{
    engine::step::{Class, Outcome, Step, StepCx, StepError},
    expr,
    kargo::StepKind,
};

/// See the module.
pub struct JsonParse;

#[async_trait]
impl Step for JsonParse {
    fn kind(&self) -> StepKind {
        "json-parse".into()
    }

    fn class(&self) -> Class {
        Class::Workspace
    }

    fn shape(&self) -> Shape {
        parse::shape()
    }

    async fn run(&self, cx: StepCx<'_>, config: &Value) -> Result<Outcome, StepError> {
        parse::run(cx, config, "JSON", read).await
    }
}

/// A text as Go decodes it: every number is a float.
pub fn read(text: &str) -> Result<expr::Value, String> {
    value::read(text).map_err(|error| error.to_string())
}
