//! One thing that a resource definition can say about an object at a place, beyond its type.

use crate::local::status::Cause;
use serde_json::{Map, Value};

/// What is demanded of the value at a place; a field that is absent meets all but `Required`.
pub(super) enum Rule {
    /// These fields are there.
    Required(&'static [&'static str]),
    /// These texts are not empty.
    Filled(&'static [&'static str]),
    /// This list is not empty.
    AtLeastOne(&'static str),
    /// This list has at most so many items.
    AtMost(&'static str, usize),
    /// This text has at most so many bytes.
    Bytes(&'static str, usize),
    /// This text is one of these words.
    Words(&'static str, &'static [&'static str]),
    /// This text is of a form, which the words describe.
    Form(&'static str, fn(&str) -> bool, &'static str),
    /// What a definition writes as an expression over the object, with its message.
    Holds(fn(&Map<String, Value>) -> bool, &'static str),
    /// The list at the place has no two items with the same value of this field.
    ToldApartBy(&'static str),
}

impl Rule {
    pub(super) fn check(&self, value: &Value, path: &str, causes: &mut Vec<Cause>) {
        match (self, value) {
            (Self::ToldApartBy(key), Value::Array(items)) => told_apart(items, path, key, causes),
            (_, Value::Object(object)) => self.check_object(object, path, causes),
            _ => {}
        }
    }

    fn check_object(&self, object: &Map<String, Value>, path: &str, causes: &mut Vec<Cause>) {
        let at = |name: &str| super::shape::join(path, name);
        let text = |name: &str| object.get(name).and_then(Value::as_str);
        let count = |name: &str| object.get(name).and_then(Value::as_array).map(Vec::len);
        match *self {
            Self::Required(names) => {
                let absent = names.iter().filter(|name| !object.contains_key(**name));
                causes.extend(absent.map(|name| Cause::required(at(name))));
            }
            Self::Filled(names) => {
                for name in names.iter().filter(|name| text(name) == Some("")) {
                    let field = at(name);
                    let what = format!("\"\": {field} in body should be at least 1 chars long");
                    causes.push(Cause::invalid(field, what));
                }
            }
            Self::AtLeastOne(name) => {
                if count(name) == Some(0) {
                    let field = at(name);
                    let what = format!("0: {field} in body should have at least 1 items");
                    causes.push(Cause::invalid(field, what));
                }
            }
            Self::AtMost(name, most) => {
                if let Some(found) = count(name).filter(|found| *found > most) {
                    let field = at(name);
                    let what = format!("{found}: {field} in body should have at most {most} items");
                    causes.push(Cause::invalid(field, what));
                }
            }
            Self::Bytes(name, most) => {
                if text(name).is_some_and(|text| text.len() > most) {
                    let what = format!("may not be more than {most} bytes");
                    causes.push(Cause::too_long(at(name), what));
                }
            }
            Self::Words(name, known) => {
                if let Some(found) = text(name).filter(|found| !known.contains(found)) {
                    let quoted: Vec<String> =
                        known.iter().map(|word| format!("{word:?}")).collect();
                    causes.push(Cause::unsupported(at(name), &format!("{found:?}"), &quoted));
                }
            }
            Self::Form(name, fits, what) => {
                if let Some(found) = text(name).filter(|found| !fits(found)) {
                    causes.push(Cause::invalid(at(name), format!("{found:?}: {what}")));
                }
            }
            Self::Holds(holds, message) => {
                if !holds(object) {
                    causes.push(Cause::invalid(path, format!("\"object\": {message}")));
                }
            }
            Self::ToldApartBy(_) => {}
        }
    }
}

fn told_apart(items: &[Value], path: &str, key: &str, causes: &mut Vec<Cause>) {
    let mut seen = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let value = item.get(key).unwrap_or(&Value::Null);
        if seen.contains(&value) {
            causes.push(Cause {
                reason: "FieldValueDuplicate",
                field: format!("{path}[{index}]"),
                message: format!("Duplicate value: {value}"),
            });
        }
        seen.push(value);
    }
}

/// Decimal numbers, each with s, m or h.
pub(super) fn is_duration(text: &str) -> bool {
    let is_number =
        |digits: &str| !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_digit());
    let mut parts = text.split_inclusive(['s', 'm', 'h']).peekable();
    parts.peek().is_some()
        && parts.all(|part| match part.strip_suffix(['s', 'm', 'h']) {
            None => false,
            Some(number) => match number.split_once('.') {
                Some((whole, fraction)) => is_number(whole) && is_number(fraction),
                None => is_number(number),
            },
        })
}

/// A letter or underscore, then word characters.
pub(super) fn is_variable(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The reason of a condition.
pub(super) fn is_reason(text: &str) -> bool {
    text.len() <= 1024
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ',' | ':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        for (text, expected) in [
            ("5m", true),
            ("1h30m", true),
            ("1.5s", true),
            ("", false),
            ("5", false),
            ("1.s", false),
            (".5s", false),
            ("1d", false),
            ("-1s", false),
            ("5ms", false),
        ] {
            assert_eq!(is_duration(text), expected, "{text}");
        }
        for (text, expected) in [
            ("a", true),
            ("_1", true),
            ("1a", false),
            ("", false),
            ("a-b", false),
            ("ä", false),
        ] {
            assert_eq!(is_variable(text), expected, "{text}");
        }
        for (text, expected) in [
            ("Synced", true),
            ("A:b,c_", true),
            ("two words", false),
            ("", false),
            ("A,", false),
            ("_A", false),
        ] {
            assert_eq!(is_reason(text), expected, "{text}");
        }
    }
}
