//! `git-clear`: removes all files of a checkout.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    files,
    schema::{Object, Shape, some_text, typed},
};
use crate::{
    engine::step::{Class, Outcome, Step, StepCx, StepError},
    kargo::StepKind,
};

/// See the module.
pub struct GitClear;

fn shape() -> Shape {
    Object::new().required("path", some_text()).into()
}

#[derive(Deserialize)]
struct Config {
    path: String,
}

#[async_trait]
impl Step for GitClear {
    fn kind(&self) -> StepKind {
        "git-clear".into()
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
        cx.files
            .edit(move |workspace| {
                workspace
                    .clear(&at)
                    .map_err(|error| files::failed(format!("cannot clear {at}"), error))
            })
            .await?;
        Ok(Outcome::succeeded(Map::new()))
    }
}
