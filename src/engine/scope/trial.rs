//! Expressions of one promotion tried by a person: evaluated as its steps would, and nothing is run or stored.

use serde_json::{Map, Value};

use super::{Moment, Outside, Scope};
use crate::{
    engine::{
        course::{Past, collection, steps_of},
        journal,
        port::{PortError, PortExt},
    },
    expr::kargo::{Source, Tried},
    kargo::{
        Alias, Freight, Promotion, PromotionStep, Stage, Timestamp, artifact::FreightCollection,
    },
};

/// A promotion's expressions at one of its steps, or behind the last one.
pub struct Trial {
    scope: Scope,
    steps: Vec<PromotionStep>,
    past: Past,
    at: usize,
}

/// Why there is nothing to try on.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// An object could not be read.
    #[error("cannot read what the promotion's expressions see")]
    Port(#[from] PortError),
    /// An object that it needs is not there.
    #[error("{0}, which the promotion's expressions see, does not exist")]
    Gone(String),
    /// Its steps cannot be told apart.
    #[error("the promotion's steps cannot be told apart: {0}")]
    Steps(String),
    /// No step has that alias.
    #[error("there is no step {alias:?} in promotion {promotion}{hint}")]
    NoStep {
        /// The promotion.
        promotion: String,
        /// The alias.
        alias: String,
        /// What was meant, or what there is.
        hint: String,
    },
}

/// A step's configuration for people's eyes.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Evaluated, without what came from Secrets.
    pub config: Value,
    /// What the real one is, for the step's check. Never to be shown or stored.
    pub real: Value,
    /// Whether the step's condition lets it run, or why that cannot be told.
    pub runs: Result<bool, String>,
    /// What was read and is not there.
    pub unknown: Vec<String>,
}

impl Trial {
    /// Reads what the expressions of `promotion` see: at the step `alias`, or at the promotion's end.
    pub async fn of(
        outside: &Outside,
        promotion: &Promotion,
        alias: Option<&str>,
    ) -> Result<Self, TrialError> {
        let steps = steps_of(promotion).map_err(TrialError::Steps)?;
        let at = match alias {
            None => steps.len(),
            Some(alias) => find(&steps, alias, promotion)?,
        };
        let project = promotion.project();
        let name = &promotion.spec.stage;
        let stage: Option<Stage> = outside.port.get(&project, name.as_str()).await?;
        let stage = stage.ok_or_else(|| TrialError::Gone(format!("Stage {project}/{name}")))?;
        let name = &promotion.spec.freight;
        let freight: Option<Freight> = outside.port.get(&project, name.as_str()).await?;
        let freight = freight.or_else(|| recorded(promotion));
        let freight =
            freight.ok_or_else(|| TrialError::Gone(format!("Freight {project}/{name}")))?;
        let begun = promotion.status.freight_collection.clone();
        let collection: FreightCollection = begun.unwrap_or_else(|| collection(&stage, &freight));
        let scope = Scope::read(outside, promotion, &stage, &freight, &collection).await?;
        Ok(Self {
            scope,
            past: past(promotion, &steps, at),
            steps,
            at,
        })
    }

    /// The step that it is about, where it is about one.
    pub fn step(&self) -> Option<&PromotionStep> {
        self.steps.get(self.at)
    }

    fn moment(&self) -> Moment {
        Moment {
            at: self.at,
            clock: Timestamp::now(),
            past: self.past.clone(),
            // One look at an object is enough for one trial.
            again: true,
        }
    }

    /// Evaluates an expression or a template. `over` are names that win over those of the promotion. An error is
    /// without what came from Secrets.
    pub async fn evaluate(
        &self,
        source: Source,
        over: Vec<(String, crate::expr::Value)>,
    ) -> Result<Tried, String> {
        let evaluated = self
            .scope
            .evaluate(&self.steps, self.moment(), move |scope| {
                scope.attempt(&source, over)
            });
        let (result, _) = evaluated.await?;
        result.map_err(|why| self.scope.redact(&why))
    }

    /// The configuration of the step. An error is without what came from Secrets.
    pub async fn configure(&self) -> Result<Shown, String> {
        let redacted = |why: String| self.scope.redact(&why);
        let (config, condition) = self
            .step()
            .map(|step| (step.config.clone(), step.condition.clone()))
            .unwrap_or_default();
        let config = config.unwrap_or_default();
        let shown = config.clone();
        let (real, _) = self
            .scope
            .evaluate(&self.steps, self.moment(), move |scope| {
                scope.config(&config)
            })
            .await?;
        let real = real.map_err(redacted)?;
        let (shown, _) = self
            .scope
            .evaluate(&self.steps, self.moment(), move |scope| {
                scope.config_hiding(&shown)
            })
            .await?;
        let (config, unknown) = shown.map_err(redacted)?;
        let (runs, _) = self
            .scope
            .evaluate(&self.steps, self.moment(), move |scope| {
                scope.should_run(Some(&condition))
            })
            .await?;
        Ok(Shown {
            config: self.hide(config),
            real,
            runs: runs.map_err(redacted),
            unknown,
        })
    }

    /// The text without what came from a Secret.
    pub fn redact(&self, text: &str) -> String {
        self.scope.redact(text)
    }

    /// Texts of Secrets that came in by another way, such as an earlier step's output.
    fn hide(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.scope.redact(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.hide(item)).collect(),
            Value::Object(entries) => {
                let entries = entries.into_iter();
                Value::Object(
                    entries
                        .map(|(key, value)| (key, self.hide(value)))
                        .collect(),
                )
            }
            other => other,
        }
    }
}

fn find(steps: &[PromotionStep], alias: &str, promotion: &Promotion) -> Result<usize, TrialError> {
    let known = || steps.iter().map(|step| step.alias.as_str());
    known().position(|known| known == alias).ok_or_else(|| {
        let mut hint = crate::expr::suggest::hint(alias, known());
        if hint.is_empty() {
            hint = format!("; there are {}", known().collect::<Vec<_>>().join(", "));
        }
        TrialError::NoStep {
            promotion: promotion.name().to_owned(),
            alias: alias.to_owned(),
            hint,
        }
    })
}

/// The Freight as the promotion has noted it, where it is gone meanwhile.
fn recorded(promotion: &Promotion) -> Option<Freight> {
    let noted = promotion.status.freight.as_ref()?;
    serde_json::from_value(serde_json::to_value(noted).ok()?).ok()
}

/// What steps before `at` have left. Outputs of the step itself and of later ones are not there yet.
fn past(promotion: &Promotion, steps: &[PromotionStep], at: usize) -> Past {
    let status = &promotion.status;
    let mut outputs: Map<String, Value> = journal::outputs(status);
    let earlier = steps.iter().take(at);
    let known: Vec<&str> = earlier
        .flat_map(|step| {
            let composes = step.uses == *"compose-output";
            let task = step.alias.task().filter(|_| composes);
            [Some(step.alias.as_str()), task]
        })
        .flatten()
        .collect();
    outputs.retain(|alias, _| known.contains(&alias.as_str()));
    let seen = |alias: &Alias| known.contains(&alias.as_str());
    Past {
        outputs,
        metas: status
            .step_execution_metadata
            .iter()
            .filter(|meta| seen(&meta.alias))
            .cloned()
            .collect(),
        ..Past::default()
    }
}
