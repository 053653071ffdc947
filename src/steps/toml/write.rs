//! How a value is written: in the style of what it replaces, else as Kargo writes it.

use std::fmt::Write as _;

use serde_json::{Number, Value};
use toml_edit::Value as Old;

/// The longest run of quotes that may stand bare between three of them.
const BARE_QUOTES: usize = 2;

/// `value` as TOML, in place of `old`, which is written as `there`. `Err` says why it cannot be.
pub fn replacing(value: &Value, old: &Old, there: &str) -> Result<String, &'static str> {
    match value {
        Value::String(text) => Ok(styled(text, there)),
        Value::Number(number) if old.is_float() => Ok(float(&digits(number))),
        other => plain(other),
    }
}

/// As Kargo writes it, for its message too.
pub fn plain(value: &Value) -> Result<String, &'static str> {
    Ok(match value {
        Value::String(text) if literal_holds(text) => format!("'{text}'"),
        Value::String(text) => basic(text),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) if number.is_f64() => float(&digits(number)),
        Value::Number(number) if number.is_i64() => number.to_string(),
        Value::Number(_) => {
            return Err("it is larger than TOML's integers, which have 64 bits");
        }
        Value::Null => return Err("value is not a TOML scalar type: TOML has no null"),
        Value::Array(_) => return Err("value is not a TOML scalar type: it is a list"),
        Value::Object(_) => return Err("value is not a TOML scalar type: it is a table"),
    })
}

/// Whether `old` reads as `value` already, so that its spelling can stay.
pub fn reads_as(old: &Old, value: &Value) -> bool {
    match (old, value) {
        (Old::String(old), Value::String(text)) => old.value() == text,
        (Old::Boolean(old), Value::Bool(flag)) => old.value() == flag,
        (Old::Integer(old), Value::Number(number)) => number.as_i64() == Some(*old.value()),
        (Old::Float(old), Value::Number(number)) => number.as_f64() == Some(*old.value()),
        _ => false,
    }
}

/// All digits and no exponent.
fn digits(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => float.to_string(),
        _ => number.to_string(),
    }
}

fn float(digits: &str) -> String {
    if digits.contains('.') {
        digits.to_owned()
    } else {
        format!("{digits}.0")
    }
}

fn styled(text: &str, there: &str) -> String {
    // Which line ends a text of several lines has is for each reader to say, so with CRLF they are escaped.
    let lines = text.contains('\n') && !text.contains('\r') && !there.contains('\r');
    let begins_below = there
        .get(3..)
        .is_some_and(|inner| inner.starts_with(['\n', '\r']));
    if there.starts_with("'''") && !text.contains("'''") && !text.ends_with('\'') {
        let bare = text
            .chars()
            .all(|c| c == '\t' || (c == '\n' && lines) || !is_control(c));
        if bare {
            return format!("'''{}{text}'''", opening(text, lines && begins_below));
        }
    }
    if there.starts_with("\"\"\"") || there.starts_with("'''") {
        let open = opening(text, lines && begins_below);
        let open = if lines { open } else { "" };
        return format!("\"\"\"{open}{}\"\"\"", escaped(text, true, lines));
    }
    if there.starts_with('"') || !literal_holds(text) {
        return basic(text);
    }
    format!("'{text}'")
}

/// A line end right after the opening quotes does not count, so a text that begins with one needs another.
fn opening(text: &str, wanted: bool) -> &'static str {
    if wanted || text.starts_with('\n') {
        "\n"
    } else {
        ""
    }
}

fn is_control(c: char) -> bool {
    matches!(c, '\0'..='\u{1f}' | '\u{7f}')
}

fn literal_holds(text: &str) -> bool {
    text.chars()
        .all(|c| c == '\t' || (c != '\'' && !is_control(c)))
}

fn basic(text: &str) -> String {
    format!("\"{}\"", escaped(text, false, false))
}

/// Between double quotes, or between three of them, where single ones and line ends may be bare.
fn escaped(text: &str, triple: bool, lines: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut run = 0;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        run = if c == '"' { run + 1 } else { 0 };
        match c {
            '"' if triple
                && run <= BARE_QUOTES
                && chars.peek().is_some_and(|next| *next != '"') =>
            {
                out.push('"');
            }
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' if lines => out.push('\n'),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' if triple => out.push('\t'),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            // Writing to a String cannot fail.
            c if is_control(c) => drop(write!(out, "\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}
