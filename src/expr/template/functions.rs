//! The functions that templates define: `quote`, `unsafeQuote`, `asYAML`, `asJSON`.
//!
//! Each wraps its result in double quotes, which the typing of results takes off again: so what they
//! give always stays text.

use super::super::env::HostError;
use super::super::go::{json, print, yaml};
use super::super::value::Value;

/// Their names.
pub(in super::super) const NAMES: [&str; 4] = ["quote", "unsafeQuote", "asYAML", "asJSON"];

pub(in super::super) fn call(name: &str, arguments: &[Value]) -> Option<Result<Value, HostError>> {
    let run: fn(&Value) -> Result<String, String> = match name {
        "quote" => quote,
        "unsafeQuote" => unsafe_quote,
        "asYAML" => |value| yaml::marshal(value).map(|text| format!("\"{text}\"")),
        "asJSON" => |value| json::indented(value).map(|text| format!("\"{text}\n\"")),
        _ => return None,
    };
    Some(match arguments {
        [value] => run(value).map(Value::from).map_err(HostError::new),
        other => Err(HostError::new(format!(
            "expected 1 argument, got {}",
            other.len()
        ))),
    })
}

/// Text with Go's escapes, anything else as JSON.
fn quote(value: &Value) -> Result<String, String> {
    match value {
        Value::Str(text) => Ok(print::quoted(text)),
        other => unsafe_quote(other),
    }
}

fn unsafe_quote(value: &Value) -> Result<String, String> {
    json::compact(value).map(|text| format!("\"{text}\""))
}
