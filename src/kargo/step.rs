//! One step of a promotion template, a task or a Promotion.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Alias, StepKind, lenient};

/// A variable; the value is a template and may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Variable {
    /// A letter or underscore, then word characters.
    pub name: String,
    /// Text with `${{ }}` expressions.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub value: String,
}

/// A reference to a PromotionTask or ClusterPromotionTask.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskReference {
    /// The task's name.
    pub name: String,
    /// `PromotionTask` (also when empty) or `ClusterPromotionTask`.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub kind: String,
}

/// When a step that fails is tried again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Retry {
    /// Go duration (`5m`); absent or zero is no limit of its own.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub timeout: String,
    /// Errors in a row until the step counts as failed; 0 is the step's default.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "lenient::null")]
    pub error_threshold: i32,
}

fn is_zero(number: &i32) -> bool {
    *number == 0
}

fn is_false(flag: &bool) -> bool {
    !*flag
}

/// One step. Exactly one of `uses` and `task` is set; a Promotion's own steps have no tasks left.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PromotionStep {
    /// The step kind.
    #[serde(
        skip_serializing_if = "StepKind::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub uses: StepKind,
    /// The task to be put in this step's place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskReference>,
    /// The alias, under which others find the outputs.
    #[serde(
        rename = "as",
        skip_serializing_if = "Alias::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub alias: Alias,
    /// Condition; must yield a bool.
    #[serde(
        rename = "if",
        skip_serializing_if = "String::is_empty",
        deserialize_with = "lenient::null"
    )]
    pub condition: String,
    /// Whether the promotion goes on when this step fails.
    #[serde(skip_serializing_if = "is_false", deserialize_with = "lenient::null")]
    pub continue_on_error: bool,
    /// When it is tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// Variables of this step alone.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::list"
    )]
    pub vars: Vec<Variable>,
    /// The step's configuration, unevaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
}
