//! Whether what an expression names is there.

use super::{
    codes::Code,
    course::Step,
    finding::Report,
    kinds::{self, Raw},
    texts::{Part, Place, Site},
    whole::{did_you_mean, softly},
};
use crate::expr::{
    reading::{FUNCTIONS, Mention, STEP_FUNCTIONS, TEXT_FUNCTIONS, builtin_names},
    template::{self, Outlook},
};

const NAMES: [&str; 5] = ["ctx", "vars", "outputs", "task", "stepMetas"];

/// What `ctx` holds, by path.
const CONTEXT: [(&str, &[&str]); 6] = [
    (
        "",
        &[
            "uiBaseUrl",
            "project",
            "promotion",
            "stage",
            "targetFreight",
            "meta",
        ],
    ),
    ("targetFreight", &["name", "alias", "origin"]),
    ("targetFreight.origin", &["name"]),
    ("meta", &["promotion", "step"]),
    ("meta.promotion", &["actor", "rollback"]),
    ("meta.step", &["alias"]),
];

/// The fields of what Kargo's functions give.
const MEMBERS: [(&str, &[&str]); 4] = [
    (
        "commitFrom",
        &[
            "RepoURL",
            "ID",
            "Branch",
            "Tag",
            "Message",
            "Author",
            "Committer",
            "SubscriptionName",
        ],
    ),
    (
        "imageFrom",
        &[
            "RepoURL",
            "Tag",
            "Digest",
            "Annotations",
            "SubscriptionName",
        ],
    ),
    (
        "chartFrom",
        &["RepoURL", "Name", "Version", "SubscriptionName"],
    ),
    (
        "artifactFrom",
        &["ArtifactType", "SubscriptionName", "Version", "Metadata"],
    ),
];

const STEP_META: [&str; 7] = [
    "Alias",
    "StartedAt",
    "FinishedAt",
    "ErrorCount",
    "Status",
    "Message",
    "ContinueOnError",
];

const RESPONSE: [&str; 4] = ["status", "header", "headers", "body"];

/// Every name and function of one expression.
pub fn check(site: &Site<'_, '_>, part: &Part<'_>, report: &mut Report) {
    for mention in part.program.mentions() {
        let look = Look {
            site,
            part,
            mention: &mention,
        };
        if mention.call.is_some() {
            look.function(report);
        } else {
            look.name(report);
        }
    }
}

struct Look<'a, 'b, 's> {
    site: &'a Site<'b, 's>,
    part: &'a Part<'a>,
    mention: &'a Mention,
}

impl Look<'_, '_, '_> {
    fn say(&self, report: &mut Report, code: Code, message: String, hint: impl Into<String>) {
        report.add(
            self.site
                .about(self.part, self.mention.span, code, message, hint),
        );
    }

    fn say_of_member(
        &self,
        report: &mut Report,
        at: usize,
        code: Code,
        message: String,
        hint: impl Into<String>,
    ) {
        let span = self
            .mention
            .path
            .get(at)
            .map_or(self.mention.span, |member| member.span);
        report.add(self.site.about(self.part, span, code, message, hint));
    }

    fn function(&self, report: &mut Report) {
        let name = self.mention.name.as_str();
        let here: &[&[&str]] = match self.site.place {
            Place::Raw(_) => &[],
            Place::Condition | Place::Config => &[&FUNCTIONS, &TEXT_FUNCTIONS, &STEP_FUNCTIONS],
            Place::PromotionVar | Place::StepVar => &[&FUNCTIONS, &TEXT_FUNCTIONS],
        };
        if !here.iter().any(|names| names.contains(&name)) {
            let mut known: Vec<&str> = here.concat();
            known.extend(builtin_names());
            let near = similar::get_close_matches(name, &known, 1, 0.6);
            let (message, hint) = match (self.site.place, near.first()) {
                (Place::Raw(_), _)
                    if FUNCTIONS.contains(&name) || TEXT_FUNCTIONS.contains(&name) =>
                {
                    (
                        format!(
                            "there is no function {name} in an expression that is evaluated by the step"
                        ),
                        "only the language's own functions are there".to_owned(),
                    )
                }
                (_, _) if STEP_FUNCTIONS.contains(&name) => (
                    format!("{name}() is not there in a variable"),
                    "use it in the step's if or config".to_owned(),
                ),
                (_, Some(near)) => (
                    format!("there is no function {name}"),
                    format!("did you mean {near}?"),
                ),
                _ => (format!("there is no function {name}"), String::new()),
            };
            self.say(report, Code::UnknownFunction, message, hint);
            return;
        }
        if let Some((_, fields)) = MEMBERS.iter().find(|(known, _)| *known == name)
            && let Some(member) = self.mention.member(0)
            && !fields.contains(&member)
        {
            let message = format!("what {name}() gives has no field {member}");
            self.say_of_member(
                report,
                0,
                Code::UnknownMember,
                message,
                did_you_mean(member, fields),
            );
        }
        if name == "status"
            && let Some([Some(alias)]) = self.mention.call.as_deref()
        {
            self.status(alias, report);
        }
    }

    /// `status('alias')` is about a step of the same task, or of none.
    fn status(&self, alias: &str, report: &mut Report) {
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

    fn here(&self) -> Option<(usize, &Step<'_>)> {
        Some((self.site.step?, self.site.step()?))
    }

    fn name(&self, report: &mut Report) {
        let name = self.mention.name.as_str();
        match (self.site.place, name) {
            (_, "$env") | (Place::Raw(Raw::Document), _) => {}
            (Place::Raw(Raw::Response), "response") => {
                if let Some(member) = self.mention.member(0).filter(|name| !RESPONSE.contains(name)) {
                    let message = format!("response has no field {member}");
                    self.say_of_member(report, 0, Code::UnknownMember, message, did_you_mean(member, &RESPONSE));
                }
            }
            (Place::Raw(Raw::Response), _) => self.say(
                report,
                Code::UnknownName,
                format!("there is no {name} here: the expression sees response and nothing else"),
                "the answer is response.status, response.header(\"…\"), response.headers and response.body",
            ),
            (_, "ctx") => self.context(report),
            (_, "vars") => self.variable(report),
            (_, "target") => {}
            (Place::PromotionVar, "outputs" | "task" | "stepMetas") => self.say(
                report,
                Code::UnknownName,
                format!("{name} is not there in the variables of a Stage and its template"),
                "make it a variable of the step that needs it",
            ),
            (_, "outputs") => self.output(0, report),
            (_, "task") => self.task(report),
            (_, "stepMetas") => self.step_meta(report),
            _ => self.nothing(report),
        }
    }

    fn nothing(&self, report: &mut Report) {
        let name = self.mention.name.as_str();
        let functions = [&FUNCTIONS[..], &TEXT_FUNCTIONS, &STEP_FUNCTIONS].concat();
        let hint = if functions.contains(&name) || builtin_names().any(|known| known == name) {
            format!("{name} is a function: write {name}(…)")
        } else if name == "response" {
            "write the expression without ${{ }}: it is evaluated when the answer is there"
                .to_owned()
        } else if self.site.vars.contains_key(name) {
            format!("write vars.{name}")
        } else if self.site.course.steps.iter().any(|step| step.alias == name) {
            format!("write outputs.{name}")
        } else {
            let near = similar::get_close_matches(name, &NAMES, 1, 0.6);
            match near.first() {
                Some(near) => format!("did you mean {near}?"),
                None => format!("there are {}; a text stands in quotes", NAMES.join(", ")),
            }
        };
        self.say(
            report,
            Code::UnknownName,
            format!("there is nothing called {name}"),
            hint,
        );
    }

    fn context(&self, report: &mut Report) {
        let mut so_far = String::new();
        for (at, member) in self.mention.path.iter().enumerate() {
            let Some(name) = &member.name else { return };
            let Some((_, fields)) = CONTEXT.iter().find(|(path, _)| *path == so_far) else {
                return;
            };
            if !fields.contains(&name.as_str()) {
                let dot = if so_far.is_empty() { "" } else { "." };
                let message = format!("ctx{dot}{so_far} has no field {name}");
                self.say_of_member(
                    report,
                    at,
                    Code::UnknownContext,
                    message,
                    did_you_mean(name, fields),
                );
                return;
            }
            if !so_far.is_empty() {
                so_far.push('.');
            }
            so_far.push_str(name);
        }
    }

    fn variable(&self, report: &mut Report) {
        let Some(name) = self.mention.member(0) else {
            return;
        };
        if self.site.course.alone || self.mention.defaulted || self.site.vars.contains_key(name) {
            return;
        }
        let known: Vec<&str> = self.site.vars.keys().copied().collect();
        let message = format!("there is no variable {name} here");
        self.say_of_member(
            report,
            0,
            Code::UnknownVariable,
            message,
            did_you_mean(name, &known),
        );
    }

    /// `task.outputs.x` is `outputs["<namespace>::x"]`.
    fn task(&self, report: &mut Report) {
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

    fn step_meta(&self, report: &mut Report) {
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
    fn output(&self, at: usize, report: &mut Report) {
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
