//! From the text of an evaluated template to a typed value.

use super::super::go::{json, numbers};
use super::super::value::Value;

/// Kargo's rule, in this order, after taking off one line break at the end: text in double quotes is
/// that text (nothing is unescaped); else what Go reads as a float; as a bool; as JSON; else the text
/// as it was.
pub(super) fn retype(text: &str) -> Value {
    let (body, line_end) = match text.strip_suffix('\n') {
        Some(body) => (body, "\n"),
        None => (text, ""),
    };
    let inner = body
        .strip_prefix('"')
        .and_then(|after| after.strip_suffix('"'));
    if let Some(inner) = inner {
        return Value::from(format!("{inner}{line_end}"));
    }
    if let Some(number) = numbers::parse_float(body) {
        return Value::Float(number);
    }
    if let Some(flag) = numbers::parse_bool(body) {
        return Value::Bool(flag);
    }
    if let Ok(json) = json::read(body) {
        return Value::from_json_as_floats(&json);
    }
    Value::from(text)
}
