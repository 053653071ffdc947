//! Kargo's own functions, over plain data that the engine fills in.
//!
//! Nothing here knows Kargo's resources: the engine converts them to the small structs below, and
//! answers live look-ups through [`Lookups`].

use std::collections::BTreeMap;

use jiff::Zoned;

use super::env::{Env, Host, HostError};
use super::value::Value;

mod freight;
mod lookups;
mod prefetch;
mod scope;
mod semver;
mod status;

pub use freight::{
    Artifact, Chart, Commit, Freight, FreightView, GitNames, Image, Origin, Subscription,
};
pub use lookups::{Lookups, NoLookups};
pub use prefetch::{Answer, Prefetched, Question};
pub use scope::{Outcome, Scope, ScopeError, Source, Tried, Var};
pub use status::{StepMeta, StepsView, step_metas};

/// Kargo's functions for one evaluation. `commitFrom` and its kin, `semver*` and the look-ups always
/// work; `status()`, `success()`, `failure()` and `always()` only with [`Functions::with_steps`], as
/// Kargo offers them in a step's `if` and `config` but not in vars.
pub struct Functions<'d> {
    freight: &'d FreightView,
    lookups: &'d dyn Lookups,
    steps: Option<&'d StepsView>,
}

impl<'d> Functions<'d> {
    /// The functions that work everywhere.
    pub fn new(freight: &'d FreightView, lookups: &'d dyn Lookups) -> Self {
        Self {
            freight,
            lookups,
            steps: None,
        }
    }

    /// Adds the functions on the steps before this one.
    #[must_use]
    pub fn with_steps(mut self, steps: &'d StepsView) -> Self {
        self.steps = Some(steps);
        self
    }
}

impl Host for Functions<'_> {
    fn call(
        &self,
        name: &str,
        arguments: &[Value],
        env: &Env<'_>,
    ) -> Option<Result<Value, HostError>> {
        freight::call(self.freight, name, arguments)
            .or_else(|| semver::call(name, arguments))
            .or_else(|| lookups::call(self.lookups, name, arguments, env))
            .or_else(|| {
                self.steps
                    .and_then(|steps| status::call(steps, name, arguments))
            })
    }

    fn names(&self) -> Vec<&'static str> {
        let steps = STEP_FUNCTIONS.iter().filter(|_| self.steps.is_some());
        FUNCTIONS.iter().chain(steps).copied().collect()
    }
}

/// The functions that work in every template of a promotion.
pub const FUNCTIONS: [&str; 14] = [
    "warehouse",
    "commitFrom",
    "imageFrom",
    "chartFrom",
    "artifactFrom",
    "freightMetadata",
    "freightStatus",
    "stageMetadata",
    "configMap",
    "secret",
    "sharedConfigMap",
    "sharedSecret",
    "semverParse",
    "semverDiff",
];

/// The functions on the steps before this one, for `if` and `config` alone.
pub const STEP_FUNCTIONS: [&str; 4] = ["always", "success", "failure", "status"];

/// What `ctx` holds.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Where Kargo's UI is, or "".
    pub ui_base_url: String,
    /// The Project.
    pub project: String,
    /// The Promotion.
    pub promotion: String,
    /// The Stage.
    pub stage: String,
    /// The Freight being promoted.
    pub freight: String,
    /// Its alias, or "".
    pub freight_alias: String,
    /// The Warehouse that it came from.
    pub freight_warehouse: String,
    /// Who created the Promotion, without the kind before the first colon; "" if unknown.
    pub actor: String,
    /// Whether it goes back to Freight that was there before.
    pub rollback: bool,
    /// The alias of the step being evaluated, or "".
    pub step_alias: String,
}

impl Context {
    /// `ctx` as expressions see it.
    pub fn to_value(&self) -> Value {
        let text = |text: &str| Value::from(text);
        let origin = Value::map([("name", text(&self.freight_warehouse))]);
        let freight = Value::map([
            ("name", text(&self.freight)),
            ("alias", text(&self.freight_alias)),
            ("origin", origin),
        ]);
        let promotion = Value::map([
            ("actor", text(&self.actor)),
            ("rollback", Value::Bool(self.rollback)),
        ]);
        let step = Value::map([("alias", text(&self.step_alias))]);
        Value::map([
            ("uiBaseUrl", text(&self.ui_base_url)),
            ("project", text(&self.project)),
            ("promotion", text(&self.promotion)),
            ("stage", text(&self.stage)),
            ("targetFreight", freight),
            (
                "meta",
                Value::map([("promotion", promotion), ("step", step)]),
            ),
        ])
    }
}

/// What separates a task's namespace from a step's alias.
pub const ALIAS_SEPARATOR: &str = "::";

/// `task` for a step of that alias: the outputs of its own namespace, without the prefix.
/// `None` outside a task, where Kargo defines no `task`.
pub fn task(step_alias: &str, outputs: &BTreeMap<String, Value>) -> Option<Value> {
    let (namespace, _) = split_alias(step_alias)?;
    let own = outputs.iter().filter_map(|(alias, output)| {
        let (there, name) = split_alias(alias)?;
        (there == namespace).then(|| (name, output.clone()))
    });
    Some(Value::map([("outputs", Value::map(own))]))
}

/// Namespace and name, for aliases with exactly one separator.
pub(super) fn split_alias(alias: &str) -> Option<(&str, &str)> {
    let (namespace, name) = alias.split_once(ALIAS_SEPARATOR)?;
    (!name.contains(ALIAS_SEPARATOR)).then_some((namespace, name))
}

/// Go's name of a value's type, as Kargo's argument errors have it.
fn go_type(value: &Value) -> &str {
    match value {
        Value::Nil => "<nil>",
        other => other.type_name(),
    }
}

fn wrong_count(expected: &str, got: usize) -> HostError {
    let plural = if expected == "1" { "" } else { "s" };
    HostError::new(format!("expected {expected} argument{plural}, got {got}"))
}

/// The only argument, which must be text.
fn only_text<'a>(arguments: &'a [Value], which: &str) -> Result<&'a str, HostError> {
    match arguments {
        [Value::Str(text)] => Ok(text),
        [other] => Err(HostError::new(format!(
            "{which} must be string, got {}",
            go_type(other)
        ))),
        other => Err(wrong_count("1", other.len())),
    }
}

fn time(time: Option<&Zoned>) -> Value {
    time.map_or(Value::Nil, |time| Value::Time(time.clone().into()))
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod versions;
