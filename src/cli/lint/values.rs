//! What becomes of values: texts that the typing of results changes, and secrets.

use serde_json::Value;

use super::{
    codes::Code,
    finding::{Finding, Report},
    texts::{Part, Site, Vars},
};
use crate::{
    engine::shape::Shape,
    expr::{
        reading::{Gives, Mention},
        template,
    },
};

/// Whether a secret is in what the expression gives.
pub fn takes_secret(part: &Part<'_>, vars: &Vars<'_>) -> bool {
    let reads = part
        .program
        .mentions()
        .iter()
        .any(|mention| match &*mention.name {
            "secret" | "sharedSecret" => mention.call.is_some(),
            "vars" => match mention.member(0) {
                Some(name) => vars.get(name).is_some_and(|known| known.secret),
                None => vars.values().any(|known| known.secret),
            },
            _ => false,
        });
    // A bool or a number tells too little.
    let harmless = |gives: &Gives| matches!(gives, Gives::Flag | Gives::Number | Gives::Value(_));
    reads && !part.program.gives().iter().all(harmless)
}

/// A secret goes where it is kept or shown.
pub fn shown(site: &Site<'_, '_>) -> Finding {
    let uses = site.step().map_or("", |step| step.uses());
    let (what, hint) = match uses {
        "compose-output" => (
            "an output, which is stored in the Promotion",
            "read the secret where it is used, with secret() in that step",
        ),
        "set-metadata" | "set-freight-alias" => (
            "an object's status, which everybody reads who may read the object",
            "leave it out",
        ),
        "wait-for-approval" => (
            "the configuration of a gate, which is stored and shown to those who are asked",
            "leave it out",
        ),
        "fail" => (
            "a message, which is stored in the Promotion",
            "leave it out",
        ),
        _ => (
            "what everybody reads who may read the repository",
            "leave it out",
        ),
    };
    site.finding(
        0,
        Code::SecretShown,
        format!("a secret goes into {what}"),
        hint,
    )
}

/// A text that is all expression, and whose result may read as a number or a bool.
pub fn retyped(
    site: &Site<'_, '_>,
    parts: &[Part<'_>],
    shape: Option<&Shape>,
    report: &mut Report,
) {
    let [part] = parts else { return };
    if !part.alone || shape.is_some_and(|shape| !shape.takes_text()) {
        return;
    }
    let is_text = shape.is_some_and(Shape::is_text);
    for gives in part.program.gives() {
        let found = match &gives {
            Gives::Value(value) => value.as_str().and_then(|text| changed(text, is_text)),
            Gives::Member(mention) => member(mention, site.vars, is_text),
            _ => None,
        };
        if let Some(why) = found {
            let quoted = format!("write ${{{{ quote({}) }}}}", part.text.trim());
            report.add(site.finding(part.offset.saturating_sub(3), Code::Retyped, why, quoted));
            return;
        }
    }
}

/// What the typing makes of a known text, where that matters.
fn changed(text: &str, is_text: bool) -> Option<String> {
    let made = template::retyped(text)?;
    let kept = match &made {
        Value::String(same) => same == text,
        other => !is_text && serde_json::to_string(other).is_ok_and(|written| written == text),
    };
    (!kept).then(|| match made {
        Value::String(other) => format!("{text:?} becomes {other:?}"),
        other => format!("the text {text:?} becomes {other}, which is no text"),
    })
}

fn member(mention: &Mention, vars: &Vars<'_>, is_text: bool) -> Option<String> {
    let cut = mention.path.last().is_some_and(|member| member.cut);
    let what = match (&*mention.name, mention.call.is_some(), mention.member(0)) {
        ("imageFrom", true, Some("Tag")) => "an image's tag",
        ("commitFrom", true, Some("Tag")) => "a commit's tag",
        ("artifactFrom", true, Some("Version")) => "a version",
        ("commitFrom", true, Some("ID")) if cut => "a part of a commit's id",
        ("outputs", false, _) if cut && ends_with(mention, "commit") => "a part of a commit's id",
        ("task", false, _) if cut && ends_with(mention, "commit") => "a part of a commit's id",
        ("ctx", false, Some("targetFreight")) if cut => "a part of the Freight's name",
        ("vars", false, Some(name)) if mention.path.len() == 1 => {
            return vars.get(name)?.text.and_then(|text| changed(text, is_text));
        }
        _ => return None,
    };
    let examples = if cut {
        "1234567 or 12e4567"
    } else {
        "1.10 or 20250514"
    };
    Some(format!(
        "{what} that looks like a number, such as {examples}, would become that number"
    ))
}

/// Whether the last name of the path is this one.
fn ends_with(mention: &Mention, name: &str) -> bool {
    let mut names = mention
        .path
        .iter()
        .rev()
        .filter_map(|member| member.name.as_deref());
    names.next() == Some(name)
}

/// `quote()` marks a text for the typing, which takes the marks off only where they are around the whole.
pub fn quoted_inside(site: &Site<'_, '_>, parts: &[Part<'_>], report: &mut Report) {
    for part in parts.iter().filter(|part| !part.alone) {
        let gives = part.program.gives();
        if !gives.is_empty() && gives.iter().all(|gives| matches!(gives, Gives::Quoted)) {
            report.add(
                site.finding(
                    part.offset,
                    Code::QuoteInText,
                    "inside a longer text, quote() and its kind leave their quotation marks in it"
                        .to_owned(),
                    "take it off: the text around the expression makes a text of the whole",
                ),
            );
        }
    }
}
