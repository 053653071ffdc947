//! Whether what an expression names is there.

mod outputs;

use super::{
    codes::Code,
    course::Step,
    finding::Report,
    kinds::Raw,
    texts::{Part, Place, Site},
    whole::did_you_mean,
};
use crate::expr::reading::{FUNCTIONS, Mention, STEP_FUNCTIONS, TEXT_FUNCTIONS, builtin_names};

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
}
