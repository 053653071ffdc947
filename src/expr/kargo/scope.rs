//! What one step's expressions see, in Kargo's order: promotion vars, then the step's own, then `if` or `config`.

use std::collections::BTreeMap;

use jiff::Zoned;
use serde_json::Value as Json;

use super::super::conceal;
use super::super::env::Env;
use super::super::program::{self, ExprError};
use super::super::template::{self, TemplateError, Templated};
use super::super::value::Value;
use super::{Context, FreightView, Functions, Lookups, StepsView, split_alias, step_metas, task};

/// A var of a promotion template, task or step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Var {
    /// `vars.<name>`.
    pub name: String,
    /// A template.
    pub value: String,
}

/// Everything that the expressions of one step are evaluated with.
pub struct Scope<'d> {
    /// `ctx`.
    pub context: Context,
    /// The promotion's vars in order: each sees those before it, but neither outputs nor steps.
    pub promotion_vars: Vec<Var>,
    /// The step's vars in order: they see outputs and `stepMetas` too. A name again replaces.
    pub step_vars: Vec<Var>,
    /// `outputs`: the whole shared state by alias.
    pub outputs: BTreeMap<String, Value>,
    /// The steps before this one, and the alias of this one.
    pub steps: StepsView,
    /// `target`, only for a Promotion with a Target.
    pub target: Option<Value>,
    /// What is being promoted.
    pub freight: FreightView,
    /// Answers from the cluster.
    pub lookups: &'d dyn Lookups,
    /// What `now()` gives.
    pub now: Option<Zoned>,
}

/// A var, `if` or `config` could not be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// A var, by name.
    #[error("cannot evaluate the var {name:?}")]
    Var {
        /// Its name.
        name: String,
        /// Why.
        #[source]
        why: TemplateError,
    },
    /// The step's `if`.
    #[error("cannot evaluate the step's condition")]
    Condition(#[source] TemplateError),
    /// The step's `config`.
    #[error("cannot evaluate the step's config")]
    Config(#[source] TemplateError),
    /// A template that somebody tries.
    #[error("cannot evaluate the template")]
    Template(#[source] TemplateError),
    /// An expression that somebody tries.
    #[error("cannot evaluate the expression")]
    Expression(#[source] ExprError),
}

/// What somebody tries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// What stands between the delimiters.
    Expression(String),
    /// Text with delimiters.
    Template(String),
}

/// What it gave.
#[derive(Clone, Debug)]
pub struct Tried {
    /// The value.
    pub value: Value,
    /// Whether a secret went into it.
    pub from_secret: bool,
    /// What was read and is not there, e.g. `vars.x is nil: there is no var "x"`.
    pub unknown: Vec<String>,
}

impl Source {
    /// Evaluates it as a template would, `quote` and its kin included.
    pub fn evaluate(&self, env: &Env<'_>) -> Result<Tried, ScopeError> {
        let Templated { value, from_secret } = match self {
            Self::Template(text) => {
                template::eval_string(text, env).map_err(ScopeError::Template)?
            }
            Self::Expression(text) => {
                let program = program::parse(text)
                    .map_err(|why| ScopeError::Expression(ExprError::Parse(why)))?;
                env.take_touched();
                let value = program.eval_in_template(env).map_err(|why| {
                    let touched = env.take_touched();
                    let why = if touched {
                        conceal::error(why, text)
                    } else {
                        why
                    };
                    ScopeError::Expression(ExprError::Eval(why))
                })?;
                let from_secret = env.take_touched();
                Templated { value, from_secret }
            }
        };
        Ok(Tried {
            value,
            from_secret,
            unknown: env.unknown(),
        })
    }
}

impl ScopeError {
    /// The error and its reasons as one text. Redact it before it is shown: it may quote a secret.
    pub fn full(&self) -> String {
        match self {
            Self::Expression(why) => format!("{self}: {why}"),
            Self::Var { why, .. }
            | Self::Condition(why)
            | Self::Config(why)
            | Self::Template(why) => format!("{self}: {}", why.full()),
        }
    }
}

/// A result, or why there is none, and every secret text that was seen on the way to it.
#[derive(Clone, Debug)]
pub struct Outcome<T> {
    /// The result.
    pub result: Result<T, ScopeError>,
    /// For redaction, also of the error. Texts shorter than four bytes are left out.
    pub secrets: Vec<String>,
}

impl Scope<'_> {
    /// The step's config with every template in it evaluated; a missing config is an empty one.
    pub fn config(&self, config: &Json) -> Outcome<Json> {
        self.evaluate(|env| match config {
            Json::Null => Ok(Json::Object(serde_json::Map::new())),
            config => template::eval_json(config, env).map_err(ScopeError::Config),
        })
    }

    /// [`Scope::config`] for people's eyes, without what came from secrets; and what was read and is not there.
    pub fn config_hiding(&self, config: &Json) -> Outcome<(Json, Vec<String>)> {
        self.evaluate(|env| match config {
            Json::Null => Ok((Json::Object(serde_json::Map::new()), Vec::new())),
            config => template::eval_json_hiding(config, env)
                .map(|shown| (shown, env.unknown()))
                .map_err(ScopeError::Config),
        })
    }

    /// Tries an expression or a template; `over` are names that win over the step's.
    pub fn attempt(&self, source: &Source, over: Vec<(String, Value)>) -> Outcome<Tried> {
        self.evaluate_over(over, |env| source.evaluate(env))
    }

    /// Whether the step is to run. Without an `if` it runs unless a step before it failed.
    pub fn should_run(&self, condition: Option<&str>) -> Outcome<bool> {
        match condition.filter(|condition| !condition.is_empty()) {
            None => Outcome {
                result: Ok(!self.steps.has_failures()),
                secrets: Vec::new(),
            },
            Some(condition) => self.evaluate(|env| {
                template::eval_bool_condition(condition, env).map_err(ScopeError::Condition)
            }),
        }
    }

    /// `vars` as the step sees them.
    pub fn vars(&self) -> Outcome<Value> {
        self.evaluate(|env| Ok(env.get("vars").cloned().unwrap_or(Value::Nil)))
    }

    /// Runs `work` with the step's complete environment.
    fn evaluate<T>(&self, work: impl FnOnce(&Env<'_>) -> Result<T, ScopeError>) -> Outcome<T> {
        self.evaluate_over(Vec::new(), work)
    }

    fn evaluate_over<T>(
        &self,
        over: Vec<(String, Value)>,
        work: impl FnOnce(&Env<'_>) -> Result<T, ScopeError>,
    ) -> Outcome<T> {
        let early = Functions::new(&self.freight, self.lookups);
        let late = Functions::new(&self.freight, self.lookups).with_steps(&self.steps);
        let mut env = self.base(&early);
        let result = self
            .add_vars(&mut env, &self.promotion_vars)
            .map(|()| self.add_steps(&mut env))
            .and_then(|()| self.add_vars(&mut env, &self.step_vars));
        for (name, value) in over {
            env.set(name, value);
        }
        // The functions on steps are not there for vars.
        let env = env.with_host(&late);
        Outcome {
            result: result.and_then(|()| work(&env)),
            secrets: env.secrets(),
        }
    }

    fn base<'e>(&self, functions: &'e Functions<'e>) -> Env<'e> {
        let mut env = Env::new().with_host(functions);
        env.set("ctx", self.context.to_value());
        env.set("vars", Value::map::<&str>([]));
        for (name, why) in NOT_HERE {
            env.note(name, why);
        }
        if let Some(target) = &self.target {
            env.set("target", target.clone());
        }
        match &self.now {
            Some(now) => env.at(now.clone()),
            None => env,
        }
    }

    fn add_vars(&self, env: &mut Env<'_>, vars: &[Var]) -> Result<(), ScopeError> {
        for var in vars {
            let Templated { value, from_secret } =
                template::eval_string(&var.value, env).map_err(|why| ScopeError::Var {
                    name: var.name.clone(),
                    why,
                })?;
            if from_secret {
                env.mark_sensitive_var(&*var.name);
            }
            env.set_var(&var.name, value);
        }
        Ok(())
    }

    fn add_steps(&self, env: &mut Env<'_>) {
        let outputs = self
            .outputs
            .iter()
            .map(|(alias, output)| (alias.as_str(), output.clone()));
        env.set("outputs", Value::map(outputs));
        if let Some(task) = task(&self.steps.current_alias, &self.outputs) {
            env.set("task", task);
        }
        env.set("stepMetas", step_metas(&self.steps.metas));
        let namespace = split_alias(&self.steps.current_alias).map(|(namespace, _)| namespace);
        for meta in &self.steps.metas {
            let note = format!("step {:?} {}", meta.alias, fate(&meta.status));
            if let Some((there, name)) = split_alias(&meta.alias)
                && Some(there) == namespace
            {
                env.note(format!("task.outputs.{name}"), note.clone());
            }
            env.note(format!("outputs.{}", meta.alias), note);
        }
    }
}

/// Names that are there at times only, and why one may be nil.
const NOT_HERE: [(&str, &str); 4] = [
    (
        "outputs",
        "the promotion's vars come before all steps; a step's own vars, if and config see outputs",
    ),
    (
        "stepMetas",
        "the promotion's vars come before all steps; a step's own vars, if and config see stepMetas",
    ),
    ("task", "only a step that came from a task has it"),
    ("target", "the promotion has no target"),
];

/// Why a step of that status may have no output.
fn fate(status: &str) -> &'static str {
    match status {
        "Skipped" => "was skipped",
        "Failed" => "failed",
        "Errored" => "ended in an error",
        "Aborted" => "was aborted",
        "Succeeded" => "succeeded without output",
        _ => "has not finished",
    }
}
