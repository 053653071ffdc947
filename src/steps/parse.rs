//! What `json-parse`, `toml-parse` and `yaml-parse` share: a file is read, and outputs are taken from it.

use jiff::{Timestamp, tz::TimeZone};
use serde::Deserialize;
use serde_json::Value;

use super::{
    files,
    outputs::{self, Output},
    schema::{Object, Shape, some_text, typed},
};
use crate::{
    engine::step::{Outcome, StepCx, StepError},
    expr::{self, Env},
};

/// The configuration's shape.
pub fn shape() -> Shape {
    Object::new()
        .required("path", some_text())
        .required("outputs", outputs::shape(1))
        .into()
}

#[derive(Deserialize)]
struct Config {
    path: String,
    outputs: Vec<Output>,
}

/// Runs such a step on files of that `kind`, e.g. `JSON`. `read` says why a text is none.
pub async fn run(
    cx: StepCx<'_>,
    config: &Value,
    kind: &'static str,
    read: fn(&str) -> Result<expr::Value, String>,
) -> Result<Outcome, StepError> {
    let config: Config = typed(config)?;
    let at = files::path("path", &config.path)?;
    // The same in a replay, which is what makes this a function of the workspace.
    let started = Timestamp::from_second(cx.around.started_at.as_second()).unwrap_or_default();
    let values = cx
        .files
        .edit(move |workspace| {
            let text = files::read_text(workspace, &at, &format!("could not read {kind} file"))?;
            if text.is_empty() && kind != "JSON" {
                return Err(StepError::errored(format!(
                    "could not parse empty {kind} file: {at}"
                )));
            }
            let document = read(&text).map_err(|why| {
                StepError::errored(format!("could not parse {kind} file: {at}")).because(why)
            })?;
            let env = Env::of(document).at(started.to_zoned(TimeZone::UTC));
            outputs::evaluate(&config.outputs, &env)
        })
        .await?;
    Ok(Outcome::succeeded(values))
}
