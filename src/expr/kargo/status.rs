//! What earlier steps came to: `always()`, `success()`, `failure()`, `status(alias)`, `stepMetas`.

use std::sync::Arc;

use jiff::Zoned;

use super::super::env::HostError;
use super::super::value::{Field, Record, Value};
use super::{only_text, split_alias, time, wrong_count};

/// What is known of one step that has run or was skipped.
#[derive(Clone, Debug, Default)]
pub struct StepMeta {
    /// With its task's namespace, if it has one.
    pub alias: String,
    /// Whether its failure does not count.
    pub continue_on_error: bool,
    /// When it began.
    pub started_at: Option<Zoned>,
    /// When it ended.
    pub finished_at: Option<Zoned>,
    /// How often it has erred.
    pub error_count: u32,
    /// `Succeeded`, `Skipped`, `Failed` and so on, as Kargo writes them.
    pub status: String,
    /// Its last words.
    pub message: String,
}

/// The steps before one step.
#[derive(Clone, Debug, Default)]
pub struct StepsView {
    /// The alias of the step being evaluated, with its namespace.
    pub current_alias: String,
    /// In order.
    pub metas: Vec<StepMeta>,
}

impl StepsView {
    /// Whether a step failed or erred whose failure counts: then a step without `if` is skipped.
    pub fn has_failures(&self) -> bool {
        self.metas
            .iter()
            .any(|meta| !meta.continue_on_error && matches!(&*meta.status, "Failed" | "Errored"))
    }
}

/// `stepMetas` as expressions see it: by alias, with Go's field names.
pub fn step_metas(metas: &[StepMeta]) -> Value {
    Value::map(metas.iter().map(|meta| (&*meta.alias, record(meta))))
}

fn record(meta: &StepMeta) -> Value {
    let field = |name, json, value| Field {
        name,
        json,
        omit_empty: true,
        value,
    };
    Value::Record(Arc::new(Record {
        type_name: "v1alpha1.StepExecutionMetadata",
        fields: vec![
            field("Alias", "alias", Value::from(&*meta.alias)),
            field("StartedAt", "startedAt", time(meta.started_at.as_ref())),
            field("FinishedAt", "finishedAt", time(meta.finished_at.as_ref())),
            field(
                "ErrorCount",
                "errorCount",
                Value::Int(i64::from(meta.error_count)),
            ),
            field("Status", "status", Value::from(&*meta.status)),
            field("Message", "message", Value::from(&*meta.message)),
            field(
                "ContinueOnError",
                "continueOnError",
                Value::Bool(meta.continue_on_error),
            ),
        ],
    }))
}

pub(super) fn call(
    steps: &StepsView,
    name: &str,
    arguments: &[Value],
) -> Option<Result<Value, HostError>> {
    Some(match name {
        "always" => Ok(Value::Bool(true)),
        "failure" => none(arguments).map(|()| Value::Bool(steps.has_failures())),
        "success" => none(arguments).map(|()| Value::Bool(!steps.has_failures())),
        "status" => status(steps, arguments),
        _ => return None,
    })
}

fn none(arguments: &[Value]) -> Result<(), HostError> {
    if arguments.is_empty() {
        return Ok(());
    }
    Err(wrong_count("0", arguments.len()))
}

/// Inside a task an alias means a step of the same task; "" for a step that has not come yet.
fn status(steps: &StepsView, arguments: &[Value]) -> Result<Value, HostError> {
    let alias = only_text(arguments, "argument")?;
    if alias.is_empty() {
        return Err(HostError::new("argument must not be empty"));
    }
    let namespace = split_alias(&steps.current_alias).map_or("", |(namespace, _)| namespace);
    let found = steps
        .metas
        .iter()
        .find(|meta| split_alias(&meta.alias).unwrap_or(("", &meta.alias)) == (namespace, alias));
    Ok(Value::from(found.map_or("", |meta| &*meta.status)))
}
