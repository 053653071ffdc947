//! Conditions and order: effects that run although something went wrong, and ids that are not those that landed.

use super::{
    codes::Code,
    course::Step,
    finding::Report,
    kinds,
    texts::{Part, Place, Site, mentions},
};
use crate::expr::{
    reading::Mention,
    template::{self, Outlook},
};

/// What an `if` gives, and when it lets an effect run.
pub fn condition(site: &Site<'_, '_>, parts: &[Part<'_>], report: &mut Report) {
    let text = site.node.text().unwrap_or_default();
    let outlook = template::outlook(text);
    let given = match &outlook {
        Outlook::Is(value) if !value.is_boolean() => Some(match value {
            serde_json::Value::String(_) => "a text",
            serde_json::Value::Null => "nothing",
            _ => "no bool",
        }),
        Outlook::Some(kind) if *kind != "boolean" => Some(if *kind == "string" {
            "a text"
        } else {
            "no bool"
        }),
        _ => None,
    };
    if let Some(given) = given {
        let hint = if template::is_template(text) {
            "the expression must be all there is, and give true or false".to_owned()
        } else {
            format!("write ${{{{ {} }}}}", text.trim())
        };
        report.add(site.finding(
            0,
            Code::IfNotBool,
            format!("the condition gives {given}, and must give true or false"),
            hint,
        ));
        return;
    }
    let Some(step) = site.step() else { return };
    if outlook == Outlook::Is(false.into()) || !kinds::is_effect(step.uses()) {
        return;
    }
    after_failure(site, step, &mentions(parts), report);
}

/// An explicit condition replaces the rule that a step is skipped after a failure.
fn after_failure(site: &Site<'_, '_>, step: &Step<'_>, mentions: &[Mention], report: &mut Report) {
    let calls = |name: &str| {
        mentions
            .iter()
            .any(|mention| mention.call.is_some() && mention.name == name)
    };
    let asks = |alias: &str| {
        mentions.iter().any(|mention| {
            let text = |argument: &Option<String>| argument.as_deref() == Some(alias);
            mention.name == "status" && mention.call.iter().flatten().any(text)
                || mention.name == "stepMetas" && mention.member(0) == Some(alias)
        })
    };
    let only_success = calls("success") && !calls("always") && !calls("failure");
    let before: Vec<&Step<'_>> = site
        .course
        .steps
        .iter()
        .take(site.step.unwrap_or_default())
        .collect();
    let gate = before
        .iter()
        .find(|gate| kinds::is_gate(gate.uses()) && !asks(gate.split().1) && !asks(&gate.alias));
    let uses = step.uses();
    if let Some(gate) = gate.filter(|_| !only_success) {
        let name = gate.split().1;
        report.add(site.finding(
            0,
            Code::EffectAfterGate,
            format!("{uses} runs although the gate {name} was not passed: a condition of its own replaces the rule that nothing runs after a failure"),
            format!("add && status('{name}') == 'Succeeded'"),
        ));
        return;
    }
    let says = calls("success")
        || calls("always")
        || calls("failure")
        || mentions
            .iter()
            .any(|mention| mention.name == "status" || mention.name == "stepMetas");
    let may_fail = before.iter().any(|step| !step.continues());
    if !says && may_fail {
        report.add(site.finding(
            0,
            Code::IfIgnoresFailure,
            format!("{uses} runs although an earlier step failed: a condition of its own replaces the rule that nothing runs after a failure"),
            "add success() && at its beginning; or always() && to say that it is meant",
        ));
    }
}

/// `outputs.<git-commit>.commit` behind the push of that commit.
pub fn commit_ids(site: &Site<'_, '_>, part: &Part<'_>, report: &mut Report) {
    let (Some(here), Some(step), Place::Config) = (site.step, site.step(), site.place) else {
        return;
    };
    let steps = &site.course.steps;
    for mention in part.program.mentions() {
        let (at, namespace) = match (&*mention.name, mention.member(0)) {
            ("outputs", _) => (0, ""),
            ("task", Some("outputs")) => (1, step.split().0),
            _ => continue,
        };
        let (Some(name), Some("commit")) = (mention.member(at), mention.member(at + 1)) else {
            continue;
        };
        let named = |step: &&Step<'_>| match namespace {
            "" => step.alias == name,
            _ => step.split() == (namespace, name),
        };
        let Some(commit) = steps.iter().take(here).position(|step| named(&step)) else {
            continue;
        };
        let Some(committed) = steps.get(commit).filter(|step| step.uses() == "git-commit") else {
            continue;
        };
        let push = steps.iter().take(here).skip(commit + 1).find(|step| {
            matches!(step.uses(), "git-push" | "github-push") && same_path(committed, step)
        });
        if let Some(push) = push {
            let span = mention
                .path
                .get(at)
                .map_or(mention.span, |member| member.span);
            let (theirs, own) = (push.split(), step.split());
            let way = if !own.0.is_empty() && theirs.0 == own.0 {
                format!("task.outputs[\"{}\"].commit", theirs.1)
            } else {
                format!("outputs[\"{}\"].commit", push.alias)
            };
            report.add(site.about(
                part,
                span,
                Code::CommitNotPush,
                format!("{name} gives the commit as it was made; {} may have put another in its place when it pushed it", theirs.1),
                format!("read {way}"),
            ));
        }
    }
}

/// Whether both work on one checkout, as far as their paths tell.
fn same_path(one: &Step<'_>, other: &Step<'_>) -> bool {
    let path = |step: &Step<'_>| {
        let text = step.config().map(|config| config.text_at(&["path"]))?;
        (!template::is_template(text)).then(|| {
            text.trim_start_matches("./")
                .trim_end_matches('/')
                .to_owned()
        })
    };
    match (path(one), path(other)) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    }
}
