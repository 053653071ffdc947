//! What is wrong with an object and its steps before their texts are looked into.

use std::collections::BTreeMap;

use super::{
    codes::{Code, Severity},
    config,
    course::{Course, Object, Step},
    finding::{Finding, Report},
    kinds,
    source::{Node, Place},
};
use crate::{local, rules::durations::GoDuration, steps::BuiltIn};

/// A place that something can be said of.
#[derive(Clone, Debug)]
pub struct At<'a, 's> {
    /// The object that the text stands in.
    pub object: &'a Object<'s>,
    /// The object that it was found through.
    pub via: &'a Object<'s>,
    /// The step's alias, or "".
    pub step: &'a str,
    /// The field's path.
    pub field: String,
    /// Where.
    pub place: Place,
}

impl At<'_, '_> {
    /// A finding here.
    pub fn finding(&self, code: Code, message: String, hint: impl Into<String>) -> Finding {
        let elsewhere = !std::ptr::eq(self.object, self.via);
        Finding {
            file: self.object.source.name.clone(),
            place: self.place,
            severity: code.severity(),
            code,
            object: self.object.label(),
            // Of a task by itself nobody knows the namespace.
            step: self
                .step
                .strip_prefix("task::")
                .unwrap_or(self.step)
                .to_owned(),
            field: self.field.clone(),
            via: if elsewhere {
                self.via.label()
            } else {
                String::new()
            },
            message,
            hint: hint.into(),
        }
    }
}

/// The near names of a wrong one, as a hint.
pub fn did_you_mean(wrong: &str, known: &[&str]) -> String {
    let near = similar::get_close_matches(wrong, known, 1, 0.6);
    match near.first() {
        Some(near) => format!("did you mean {near}?"),
        None if known.is_empty() => String::new(),
        None => format!("there are: {}", known.join(", ")),
    }
}

/// What the kind's definition says.
pub fn definition(object: &Object<'_>, report: &mut Report) {
    for flaw in local::look_over(&object.node.json()).unwrap_or_default() {
        let way = way_of(&flaw.field);
        if way.first().is_some_and(|first| first == "status") {
            continue;
        }
        let (node, place, found) = object.node.follow(&way);
        // An empty value is dropped in silence, as one that is not there; tasks' steps have codes of their own.
        if found && node.is_null() || flaw.message.contains("a step with a task cannot set") {
            continue;
        }
        let at = At {
            object,
            via: object,
            step: step_of(object, &way),
            field: format!("{}{}", object.within, flaw.field),
            place: object.source.place(place),
        };
        report.add(if flaw.message.is_empty() {
            let name = way.last().cloned().unwrap_or_default();
            let parent = way.split_last().map_or(&[][..], |(_, parent)| parent);
            let is_step = parent
                .iter()
                .rev()
                .nth(1)
                .is_some_and(|name| name == "steps");
            let known: &[&str] = if is_step { &kinds::STEP_FIELDS } else { &[] };
            at.finding(
                Code::UnknownField,
                format!("{} is no field that Kargo knows", flaw.field),
                did_you_mean(&name, known),
            )
        } else {
            let message = format!("{}: {}", flaw.field, flaw.message);
            at.finding(Code::InvalidField, message, "")
        });
    }
}

/// `spec.steps[0].as` as names and indexes.
fn way_of(field: &str) -> Vec<String> {
    let parts = field
        .split(['.', '['])
        .map(|part| part.trim_end_matches(']'));
    parts
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The alias of the step that a field belongs to.
fn step_of<'s>(object: &Object<'s>, way: &[String]) -> &'s str {
    let index = way
        .iter()
        .position(|name| name == "steps")
        .and_then(|at| way.get(at + 1));
    let index: Option<usize> = index.and_then(|index| index.parse().ok());
    let step = index.and_then(|index| object.steps().get(index));
    step.map_or("", |step| step.text_at(&["as"]))
}

/// Aliases, and what stands beside a task; per object, not per use.
pub fn written_steps(object: &Object<'_>, report: &mut Report) {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, step) in object.steps().iter().enumerate() {
        let alias = step.text_at(&["as"]).trim();
        let at = |name: &str, node: usize| At {
            object,
            via: object,
            step: alias,
            field: format!("{}.{name}", object.step_field(index)),
            place: object.source.place(node),
        };
        if step.get("task").is_some_and(|task| !task.is_null()) {
            for name in ["if", "config", "retry", "continueOnError"] {
                if let Some(entry) = step.entry(name).filter(|entry| !entry.value.is_null()) {
                    report.add(at(name, entry.at).finding(
                        Code::TaskStepField,
                        format!("a step that names a task cannot set {name}"),
                        "set it at the steps of the task; what differs between uses of the task is a variable",
                    ));
                }
            }
        }
        let Some(node) = step.get("as").filter(|_| !alias.is_empty()) else {
            continue;
        };
        let at = at("as", node.bytes.start);
        if is_given(alias) {
            report.add(at.finding(
                Code::ReservedAlias,
                format!("the alias {alias} has the form that steps without an alias are given"),
                "choose a name that says what the step does",
            ));
        }
        if let Some(first) = seen.insert(alias, index) {
            report.add(at.finding(
                Code::DuplicateAlias,
                format!("the alias {alias} is also that of step {}", first + 1),
                "the output of one would replace that of the other: give each its own",
            ));
        }
    }
}

fn is_given(alias: &str) -> bool {
    let number = alias.strip_prefix("step-").or(alias.strip_prefix("task-"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()))
}

/// The steps as a Promotion has them: kinds, limits, configuration.
pub fn steps(course: &Course<'_>, registry: &BuiltIn, report: &mut Report) {
    for missing in &course.not_given {
        let step = &missing.step;
        let node = step.node.get("task").unwrap_or(step.node);
        let (variable, task) = (missing.variable, &missing.task);
        report.add(at(course, step, "task", node).finding(
            Code::TaskVariable,
            format!("{task} needs the variable {variable}, which has no default and no value here"),
            format!("add {variable} to the vars of this step"),
        ));
    }
    for step in &course.steps {
        if step.opaque {
            let node = step.node.get("task").unwrap_or(step.node);
            let name = node.text_at(&["name"]);
            if !name.is_empty() {
                report.add(at(course, step, "task", node).finding(
                    Code::UnknownTask,
                    format!("the task {name} is not among the files"),
                    "give its file too, so that its steps are looked into",
                ));
            }
            continue;
        }
        retry(course, step, report);
        kind(course, step, registry, report);
    }
}

/// A field of a step.
pub fn at<'a, 's>(
    course: &'a Course<'s>,
    step: &'a Step<'s>,
    name: &str,
    node: &Node,
) -> At<'a, 's> {
    At {
        object: step.object,
        via: course.of,
        step: &step.alias,
        field: format!("{}.{name}", step.field),
        place: step.object.source.place(node.bytes.start),
    }
}

fn retry(course: &Course<'_>, step: &Step<'_>, report: &mut Report) {
    let Some(retry) = step.node.get("retry") else {
        return;
    };
    if let Some(node) = retry.get("timeout")
        && let Some(text) = node.text().filter(|text| !text.is_empty())
    {
        let problem = match text.parse::<GoDuration>() {
            Err(error) => Some(error.to_string()),
            Ok(span) if text.starts_with('-') && span.is_none() => {
                Some(format!("{text} is negative"))
            }
            Ok(_) => None,
        };
        if let Some(problem) = problem {
            report.add(at(course, step, "retry.timeout", node).finding(
                Code::RetryInvalid,
                format!("retry.timeout: {problem}"),
                "write a duration such as 90s, 5m or 1h30m; 0 is no limit",
            ));
        }
    }
    if let Some(node) = retry.get("errorThreshold")
        && node.json().as_i64().is_some_and(|number| number < 0)
    {
        report.add(at(course, step, "retry.errorThreshold", node).finding(
            Code::RetryInvalid,
            "retry.errorThreshold: it is negative".to_owned(),
            "write how many errors in a row fail the step; 0 is the step's default",
        ));
    }
}

fn kind(course: &Course<'_>, step: &Step<'_>, registry: &BuiltIn, report: &mut Report) {
    use crate::engine::step::Registry;
    let uses = step.uses();
    let Some(node) = step.node.get("uses").filter(|_| !uses.is_empty()) else {
        return;
    };
    match registry.find(&uses.into()) {
        Some(kind) => config::check(course, step, &*kind, report),
        None if kinds::KARGOS.contains(&uses) => report.add(at(course, step, "uses", node).finding(
            Code::StepUnsupported,
            format!("this version of tidewaiter does not run {uses}: executed by it, the step ends in an error"),
            "leave the Stage to Kargo's own controllers",
        )),
        None => {
            let ours: Vec<String> = registry.kinds().iter().map(ToString::to_string).collect();
            let mut known: Vec<&str> = ours.iter().map(String::as_str).collect();
            known.extend(kinds::KARGOS);
            known.sort_unstable();
            known.dedup();
            report.add(at(course, step, "uses", node).finding(
                Code::UnknownStep,
                format!("there is no step kind {uses}"),
                did_you_mean(uses, &known),
            ));
        }
    }
    if step.continues() && uses == "wait-for-approval" {
        let node = step.node.get("continueOnError").unwrap_or(node);
        report.add(at(course, step, "continueOnError", node).finding(
            Code::GateContinues,
            "a gate cannot have continueOnError: the promotion would go on whatever is answered".to_owned(),
            "remove it; a later step that is to run after a rejection says so in its own condition",
        ));
    }
}

/// The same finding as a warning.
pub fn softly(finding: Finding) -> Finding {
    Finding {
        severity: Severity::Warning,
        ..finding
    }
}
