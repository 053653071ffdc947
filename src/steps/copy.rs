//! `copy`: copies a file or a directory, without what gitignore patterns name.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    files,
    ignores::Ignores,
    schema::{Object, Shape, some_text, typed},
};
use crate::{
    engine::step::{Class, Outcome, Step, StepCx, StepError},
    kargo::StepKind,
};

/// See the module.
pub struct Copy;

fn shape() -> Shape {
    Object::new()
        .required("inPath", some_text())
        .required("outPath", some_text())
        .optional("ignore", some_text())
        .into()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    in_path: String,
    out_path: String,
    #[serde(default)]
    ignore: String,
}

#[async_trait]
impl Step for Copy {
    fn kind(&self) -> StepKind {
        "copy".into()
    }

    fn class(&self) -> Class {
        Class::Workspace
    }

    fn shape(&self) -> Shape {
        shape()
    }

    async fn run(&self, cx: StepCx<'_>, config: &Value) -> Result<Outcome, StepError> {
        let config: Config = typed(config)?;
        let (from, to) = (
            files::path("inPath", &config.in_path)?,
            files::path("outPath", &config.out_path)?,
        );
        let ignored = Ignores::parse(&config.ignore)?;
        let doing = format!("failed to copy {from} to {to}");
        cx.files
            .edit(move |workspace| {
                workspace
                    .copy(&from, &to, &|path, is_dir| !ignored.entry(path, is_dir))
                    .map_err(|error| files::failed(doing, error))
            })
            .await?;
        Ok(Outcome::succeeded(Map::new()))
    }
}
