//! Whether the step is there whose output or fate an expression reads, and has run by then.

use super::{
    super::{
        codes::Code,
        course::Step,
        finding::Report,
        kinds,
        whole::{did_you_mean, softly},
    },
    Look,
};
use crate::expr::template::{self, Outlook};

const STEP_META: [&str; 7] = [
    "Alias",
    "StartedAt",
    "FinishedAt",
    "ErrorCount",
    "Status",
    "Message",
    "ContinueOnError",
];

impl Look<'_, '_, '_> {
    /// `status('alias')` is about a step of the same task, or of none.
    pub(super) fn status(&self, alias: &str, report: &mut Report) {
        let Some((at, step)) = self.here() else {
            return;
        };
        let namespace = step.split().0;
        let siblings: Vec<&str> = self
            .site
            .course
            .steps
            .iter()
            .take(at)
            .map(Step::split)
            .filter(|(there, _)| *there == namespace)
            .map(|(_, name)| name)
            .collect();
        if !siblings.contains(&alias) {
            self.say(
                report,
                Code::UnknownOutput,
                format!(
                    "status({alias:?}) is always empty: no step before this one has that alias here"
                ),
                did_you_mean(alias, &siblings),
            );
        }
    }

    /// `task.outputs.x` is `outputs["<namespace>::x"]`.
    pub(super) fn task(&self, report: &mut Report) {
        let Some((_, step)) = self.here() else { return };
        if step.split().0.is_empty() {
            self.say(
                report,
                Code::UnknownName,
                "there is no task here: the step is not part of one".to_owned(),
                "outputs of the Stage's own steps are in outputs",
            );
            return;
        }
        match self.mention.member(0) {
            Some("outputs") => self.output(1, report),
            Some(other) => {
                let message = format!("task has no field {other}");
                self.say_of_member(report, 0, Code::UnknownName, message, "it has outputs");
            }
            None => {}
        }
    }

    pub(super) fn step_meta(&self, report: &mut Report) {
        let Some(alias) = self.mention.member(0) else {
            return;
        };
        if !self.is_open(alias)
            && !self
                .site
                .course
                .steps
                .iter()
                .any(|step| step.alias == alias)
        {
            let known = self.aliases("");
            let message = format!("no step has the alias {alias}");
            self.say_of_member(
                report,
                0,
                Code::UnknownOutput,
                message,
                did_you_mean(alias, &known),
            );
        }
        if let Some(field) = self
            .mention
            .member(1)
            .filter(|field| !STEP_META.contains(field))
        {
            let message = format!("what is known of a step has no field {field}");
            self.say_of_member(
                report,
                1,
                Code::UnknownMember,
                message,
                did_you_mean(field, &STEP_META),
            );
        }
    }

    /// Whether a step of this alias may come from a task or a Stage that is not known.
    fn is_open(&self, alias: &str) -> bool {
        let (namespace, _) = alias.split_once("::").unwrap_or((alias, ""));
        self.site.course.alone
            || self
                .site
                .course
                .steps
                .iter()
                .any(|step| step.opaque && step.alias == namespace)
    }

    /// The aliases of earlier steps in a namespace.
    fn aliases(&self, namespace: &str) -> Vec<&str> {
        let steps = &self.site.course.steps;
        steps
            .iter()
            .take(self.site.step.unwrap_or_default())
            .filter(|step| !step.opaque)
            .map(|step| match namespace {
                "" => ("", step.alias.as_str()),
                _ => step.split(),
            })
            .filter(|(there, _)| *there == namespace)
            .map(|(_, name)| name)
            .collect()
    }

    /// The output that is named at this place of the path.
    pub(super) fn output(&self, at: usize, report: &mut Report) {
        let (Some((here, reader)), Some(name)) = (self.here(), self.mention.member(at)) else {
            return;
        };
        let namespace = if at == 1 { reader.split().0 } else { "" };
        let alias = match namespace {
            "" => name.to_owned(),
            namespace => format!("{namespace}::{name}"),
        };
        let steps = &self.site.course.steps;
        let Some((there, step)) = steps
            .iter()
            .enumerate()
            .find(|(_, step)| !step.opaque && step.alias == alias)
        else {
            return self.no_step(at, name, namespace, report);
        };
        let shown = step.alias.strip_prefix("task::").unwrap_or(&step.alias);
        if there >= here {
            let when = if there == here {
                "is this step's own"
            } else {
                "comes later"
            };
            let message = format!("the output of {shown} is not there yet: it {when}");
            self.say_of_member(
                report,
                at,
                Code::LaterOutput,
                message,
                "move the step, or read another output",
            );
            return;
        }
        if self.skipped(at, step, reader, shown, report) {
            return;
        }
        self.field(at + 1, step, shown, report);
    }

    fn field(&self, at: usize, step: &Step<'_>, shown: &str, report: &mut Report) {
        let (Some(field), Some(fields)) = (
            self.mention.member(at),
            kinds::outputs(step.uses(), step.config()),
        ) else {
            return;
        };
        if fields.iter().any(|known| known == field) {
            return;
        }
        let known: Vec<&str> = fields.iter().map(String::as_str).collect();
        let hint = if known.is_empty() {
            format!("{} has no outputs", step.uses())
        } else {
            did_you_mean(field, &known)
        };
        let message = format!("{shown} ({}) has no output {field}", step.uses());
        self.say_of_member(report, at, Code::UnknownOutputField, message, hint);
    }

    /// Says whether the output cannot be there, since the step was skipped.
    fn skipped(
        &self,
        at: usize,
        step: &Step<'_>,
        reader: &Step<'_>,
        shown: &str,
        report: &mut Report,
    ) -> bool {
        let Some(condition) = step.condition().and_then(|node| node.text()) else {
            return false;
        };
        let fails = self.mention.fails_at(at + 1);
        let safe = "read it with ?. and ??, such as outputs.x?.commit ?? \"\"";
        if template::outlook(condition) == Outlook::Is(false.into()) {
            if fails || !self.mention.defaulted {
                let message = format!("{shown} never runs, so its output is never there");
                self.say_of_member(report, at, Code::SkippedOutput, message, safe);
            }
            return true;
        }
        let own = reader
            .condition()
            .and_then(|node| node.text())
            .unwrap_or_default();
        let name = step.split().1;
        let guarded =
            self.mention.conditional || own.trim() == condition.trim() || own.contains(name);
        if fails && !guarded {
            let message =
                format!("{shown} has a condition: where it was skipped, this expression fails");
            self.say_of_member(report, at, Code::MaybeSkippedOutput, message, safe);
        }
        false
    }

    fn no_step(&self, at: usize, name: &str, namespace: &str, report: &mut Report) {
        let course = self.site.course;
        let Some((_, reader)) = self.here() else {
            return;
        };
        let own = reader.split().0;
        let sibling = namespace.is_empty()
            && !own.is_empty()
            && course.steps.iter().any(|step| step.split() == (own, name));
        if namespace.is_empty() && self.is_open(name) && !sibling {
            return;
        }
        if namespace.is_empty() && course.tasks.iter().any(|task| task == name) {
            return self.task_output(at, name, report);
        }
        let known = self.aliases(namespace);
        let dashed = known.iter().find(|known| {
            known
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('-'))
        });
        let hint = match dashed {
            _ if sibling => format!("inside a task, write task.outputs.{name}"),
            Some(alias) => format!("a name with a dash is written outputs[\"{alias}\"]"),
            None => did_you_mean(name, &known),
        };
        let span = self
            .mention
            .path
            .get(at)
            .map_or(self.mention.span, |member| member.span);
        let message = format!("no step has the alias {name}");
        let finding = self
            .site
            .about(self.part, span, Code::UnknownOutput, message, hint);
        // The Stage around a task by itself may have such a step.
        report.add(if course.alone && namespace.is_empty() {
            softly(finding)
        } else {
            finding
        });
    }

    /// Under a task's own alias is what its compose-output steps put there.
    fn task_output(&self, at: usize, task: &str, report: &mut Report) {
        let inner = |step: &&Step<'_>| step.split().0 == task;
        let steps: Vec<&Step<'_>> = self.site.course.steps.iter().filter(inner).collect();
        let mut fields = Vec::new();
        for step in steps.iter().filter(|step| step.uses() == "compose-output") {
            match kinds::outputs(step.uses(), step.config()) {
                Some(more) => fields.extend(more),
                None => return,
            }
        }
        let Some(field) = self
            .mention
            .member(at + 1)
            .filter(|field| !fields.iter().any(|known| known == field))
        else {
            return;
        };
        let known: Vec<&str> = fields.iter().map(String::as_str).collect();
        let first = steps.first().map_or(task, |step| step.alias.as_str());
        let hint = if known.is_empty() {
            format!(
                "a task gives out what a compose-output in it puts together; outputs of its steps are outputs[\"{first}\"]"
            )
        } else {
            did_you_mean(field, &known)
        };
        let message = format!("the task {task} has no output {field}");
        self.say_of_member(report, at + 1, Code::UnknownOutputField, message, hint);
    }
}
