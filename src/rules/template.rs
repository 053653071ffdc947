//! A Stage's template as a Promotion takes it: tasks put in place, every step with its alias.

use crate::kargo::{
    PromotionStep, Stage,
    step::{TaskReference, Variable},
    task::TaskSpec,
};

/// What a new Promotion's `spec` gets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Template {
    /// Steps without tasks, every one with an alias.
    pub steps: Vec<PromotionStep>,
    /// The Stage's variables, then the template's.
    pub vars: Vec<Variable>,
}

/// Why a template cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The Stage is a control-flow Stage.
    #[error("Stage {stage:?} defines no promotion steps")]
    NoSteps {
        /// The Stage.
        stage: String,
    },
    /// A step names a task that is not there.
    #[error("{kind} {name:?} not found")]
    NoTask {
        /// PromotionTask or ClusterPromotionTask.
        kind: String,
        /// The task.
        name: String,
    },
    /// A task's variable is given nowhere.
    #[error("missing value for variable {variable:?} of task {task:?}")]
    NoValue {
        /// The task.
        task: String,
        /// The variable.
        variable: String,
    },
}

/// The kind that an empty one stands for.
const TASK_KIND: &str = "PromotionTask";

/// The template of `stage`; `task` finds the tasks that it names.
pub fn instantiate(
    stage: &Stage,
    task: &dyn Fn(&TaskReference) -> Option<TaskSpec>,
) -> Result<Template, TemplateError> {
    let template = stage
        .spec
        .promotion_template
        .as_ref()
        .map(|template| &template.spec);
    let Some(template) = template.filter(|template| !template.steps.is_empty()) else {
        return Err(TemplateError::NoSteps {
            stage: stage.name().to_owned(),
        });
    };
    let vars = [stage.spec.vars.as_slice(), template.vars.as_slice()].concat();
    let mut steps = Vec::with_capacity(template.steps.len());
    for (index, step) in template.steps.iter().enumerate() {
        match &step.task {
            None => steps.push(with_alias(step, "step", index)),
            Some(reference) => {
                let named = with_alias(step, "task", index);
                let spec = task(reference).ok_or_else(|| TemplateError::NoTask {
                    kind: if reference.kind.is_empty() {
                        TASK_KIND.into()
                    } else {
                        reference.kind.clone()
                    },
                    name: reference.name.clone(),
                })?;
                inflate(&named, reference, &spec, &vars, &mut steps)?;
            }
        }
    }
    Ok(Template { steps, vars })
}

/// The step, with `<word>-<position>` where it has no alias of its own.
fn with_alias(step: &PromotionStep, word: &str, index: usize) -> PromotionStep {
    let mut step = step.clone();
    if step.alias.as_str().trim().is_empty() {
        step.alias = format!("{word}-{}", index + 1).into();
    }
    step
}

/// Puts the steps of a task in the place of the step that names it.
fn inflate(
    outer: &PromotionStep,
    reference: &TaskReference,
    task: &TaskSpec,
    promotion_vars: &[Variable],
    steps: &mut Vec<PromotionStep>,
) -> Result<(), TemplateError> {
    let given = |vars: &[Variable], name: &str| {
        vars.iter()
            .any(|var| var.name == name && !var.value.is_empty())
    };
    let mut vars = Vec::new();
    for var in &task.vars {
        // The Promotion's own variable is visible to the step and would be hidden by the task's default.
        if given(promotion_vars, &var.name) {
            continue;
        }
        if !var.value.is_empty() {
            vars.push(var.clone());
        } else if !given(&outer.vars, &var.name) {
            return Err(TemplateError::NoValue {
                task: reference.name.clone(),
                variable: var.name.clone(),
            });
        }
    }
    vars.extend(outer.vars.iter().cloned());
    for (index, inner) in task.steps.iter().enumerate() {
        let mut step = with_alias(inner, "step", index);
        step.alias = format!("{}::{}", outer.alias, step.alias).into();
        step.vars = [vars.as_slice(), inner.vars.as_slice()].concat();
        steps.push(step);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn stage(template: Value) -> Stage {
        serde_json::from_value(json!({
            "metadata": {"name": "prod"},
            "spec": {"vars": [{"name": "env", "value": "prod"}], "promotionTemplate": {"spec": template}}
        }))
        .unwrap()
    }

    fn take(template: Value, task: Value) -> Result<Value, String> {
        let task: TaskSpec = serde_json::from_value(task).unwrap();
        let found = |reference: &TaskReference| (reference.name == "bump").then(|| task.clone());
        let template = instantiate(&stage(template), &found).map_err(|error| error.to_string())?;
        Ok(json!({"steps": template.steps, "vars": template.vars}))
    }

    #[test]
    fn steps_are_numbered_by_their_place_in_the_template() {
        let got = take(
            json!({"vars": [{"name": "a", "value": "1"}], "steps": [
                {"uses": "copy", "config": {"inPath": "${{ vars.env }}", "n": 1}},
                {"task": {"name": "bump"}, "vars": [{"name": "key", "value": "tag"}]},
                {"uses": "fail", "if": "false"},
            ]}),
            json!({"vars": [{"name": "key"}, {"name": "file", "value": "values.yaml"}, {"name": "env", "value": "none"}],
                   "steps": [{"uses": "yaml-update", "as": "set", "retry": {"timeout": "5m"}},
                             {"uses": "git-commit", "vars": [{"name": "key", "value": "mine"}]}]}),
        )
        .unwrap();
        let vars =
            json!([{"name": "file", "value": "values.yaml"}, {"name": "key", "value": "tag"}]);
        let more = json!([{"name": "file", "value": "values.yaml"}, {"name": "key", "value": "tag"}, {"name": "key", "value": "mine"}]);
        assert_eq!(
            got,
            json!({
                "vars": [{"name": "env", "value": "prod"}, {"name": "a", "value": "1"}],
                "steps": [
                    {"uses": "copy", "as": "step-1", "config": {"inPath": "${{ vars.env }}", "n": 1}},
                    {"uses": "yaml-update", "as": "task-2::set", "retry": {"timeout": "5m"}, "vars": vars},
                    {"uses": "git-commit", "as": "task-2::step-2", "vars": more},
                    {"uses": "fail", "as": "step-3", "if": "false"},
                ]
            })
        );
    }

    #[test]
    fn what_cannot_be_used_says_why() {
        let one = json!({"steps": [{"uses": "fail"}]});
        let needs = json!({"vars": [{"name": "key"}], "steps": [{"uses": "fail"}]});
        let cases = [
            (
                "none",
                json!({"steps": []}),
                one.clone(),
                "Stage \"prod\" defines no promotion steps",
            ),
            (
                "no task",
                json!({"steps": [{"task": {"name": "gone"}}]}),
                one.clone(),
                "PromotionTask \"gone\" not found",
            ),
            (
                "no cluster task",
                json!({"steps": [{"task": {"name": "gone", "kind": "ClusterPromotionTask"}}]}),
                one,
                "ClusterPromotionTask \"gone\" not found",
            ),
            (
                "no value",
                json!({"vars": [{"name": "key"}], "steps": [{"task": {"name": "bump"}, "vars": [{"name": "key"}]}]}),
                needs.clone(),
                "missing value for variable \"key\" of task \"bump\"",
            ),
        ];
        for (name, template, task, expected) in cases {
            assert_eq!(take(template, task), Err(expected.to_owned()), "{name}");
        }
        let given = json!({"vars": [{"name": "key", "value": "x"}], "steps": [{"task": {"name": "bump"}, "as": "b"}]});
        let got = take(given, needs).unwrap();
        assert_eq!(got["steps"], json!([{"uses": "fail", "as": "b::step-1"}]));
    }
}
