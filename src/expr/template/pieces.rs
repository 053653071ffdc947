//! A template without evaluating it: where its expressions are, and what it is bound to become.

use serde_json::Value as Json;

use super::super::program;
use super::super::reading::Gives;
use super::super::value::Value;
use super::{next_start, retype};

/// A part of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'t> {
    /// Text that stays as it is.
    Text(&'t str),
    /// An expression.
    Expression {
        /// Without delimiters, not trimmed.
        text: &'t str,
        /// Where it begins in the template, in bytes.
        at: usize,
    },
    /// `${{}}`: it and everything before stays, what follows is not looked into any more.
    Empty {
        /// Where the delimiter begins, in bytes.
        at: usize,
    },
    /// A start without an end: the template cannot be evaluated.
    Unclosed {
        /// Where the delimiter begins, in bytes.
        at: usize,
        /// What would end it.
        end: &'static str,
    },
}

/// The parts of a template in order, found as an evaluation finds them.
pub fn pieces(template: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some((start, (opening, end))) = next_start(rest) {
        let (before, opened) = rest.split_at(start);
        if !before.is_empty() {
            pieces.push(Piece::Text(before));
        }
        let at = template.len() - opened.len();
        let body = opened.strip_prefix(opening).unwrap_or_default();
        let Some((expression, after)) = body.split_once(end) else {
            pieces.push(Piece::Unclosed { at, end });
            return pieces;
        };
        rest = after;
        if expression.is_empty() {
            pieces.push(Piece::Empty { at });
            break;
        }
        pieces.push(Piece::Expression {
            text: expression,
            at: at + opening.len(),
        });
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    pieces
}

/// What a template is bound to become.
#[derive(Clone, Debug, PartialEq)]
pub enum Outlook {
    /// This value.
    Is(Json),
    /// Some value of this JSON type: `string`, `number`, `boolean`, `array`, `object`.
    Some(&'static str),
    /// That depends.
    Unknown,
}

/// What `template` becomes, as far as its text tells: `${{ quote(x) }}` and `n-${{ x }}` are strings whatever `x` is.
pub fn outlook(template: &str) -> Outlook {
    match pieces(template).as_slice() {
        [] => Outlook::Is(Json::from("")),
        [Piece::Text(text)] => Outlook::Is(Json::from(*text)),
        [Piece::Expression { text, .. }] | [Piece::Expression { text, .. }, Piece::Text("\n")] => {
            single(text)
        }
        parts => {
            if parts
                .iter()
                .any(|part| matches!(part, Piece::Unclosed { .. }))
            {
                return Outlook::Unknown;
            }
            let first = match parts.first() {
                Some(Piece::Text(text)) => text,
                _ => "",
            };
            let last = match parts.last() {
                Some(Piece::Text(text)) => text.strip_suffix('\n').unwrap_or(text),
                _ => "",
            };
            if stays_text(first, last) {
                Outlook::Some("string")
            } else {
                Outlook::Unknown
            }
        }
    }
}

/// The value that the typing of results makes of a text.
pub fn retyped(text: &str) -> Option<Json> {
    retype::retype(text).to_json().ok()
}

fn single(expression: &str) -> Outlook {
    let Ok(program) = program::parse(expression) else {
        return Outlook::Unknown;
    };
    let mut outlooks = program.gives().into_iter().map(|gives| match gives {
        Gives::Value(value) => written(&value),
        Gives::Quoted => Outlook::Some("string"),
        Gives::Number => Outlook::Some("number"),
        Gives::Flag => Outlook::Some("boolean"),
        Gives::List => Outlook::Some("array"),
        Gives::Map => Outlook::Some("object"),
        Gives::Text | Gives::Member(_) | Gives::Unknown => Outlook::Unknown,
    });
    let first = outlooks.next().unwrap_or(Outlook::Unknown);
    if outlooks.all(|other| other == first) {
        first
    } else {
        Outlook::Unknown
    }
}

/// A value that is known, as it is after it was written into the text and typed.
fn written(value: &Value) -> Outlook {
    value
        .to_text()
        .ok()
        .and_then(|text| retyped(&text))
        .map_or(Outlook::Unknown, Outlook::Is)
}

/// Whether nothing between these two could make a number, a bool, JSON or a quoted text of the whole.
fn stays_text(first: &str, last: &str) -> bool {
    let numeric = |c: char| c.is_ascii_hexdigit() || "xXpP_.+-".contains(c);
    let words = ["true", "false", "null", "inf", "infinity", "nan"];
    let lower = first.to_lowercase();
    let signless = lower.trim_start_matches(['+', '-']);
    let begins_json = first.trim_start().is_empty() && !first.is_empty()
        || first.trim_start().starts_with(['{', '[', '"']);
    let ends_json = last.trim_end().is_empty() && !last.is_empty()
        || last.trim_end().ends_with(['}', ']', '"']);
    // Something may still come of it only if both ends allow the same kind of thing.
    let number = first.chars().all(numeric) && last.chars().all(numeric);
    let word = words
        .iter()
        .any(|word| word.starts_with(signless) && word.ends_with(&*last.to_lowercase()));
    let json = (first.is_empty() || begins_json) && (last.is_empty() || ends_json);
    !(number || word || json)
}
