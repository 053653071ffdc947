//! A small reading of Kubernetes' structural schemas: what a value lacks, breaks, or would lose to pruning.

use regex::Regex;
use serde_json::{Map, Value};

/// Every keyword that Kargo's schemas use; another one stops the test, as it would go unchecked.
const KNOWN: &[&str] = &[
    "type",
    "description",
    "properties",
    "required",
    "items",
    "minLength",
    "maxLength",
    "format",
    "pattern",
    "enum",
    "additionalProperties",
    "minItems",
    "maxItems",
    "minimum",
    "default",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
    "x-kubernetes-list-map-keys",
];

/// Everything that is wrong with `value`, each with its path. `metadata` is the server's and not looked into.
pub fn problems(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk(schema, value, "", &mut found);
    found
}

fn walk(schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    let rules = schema.as_object().unwrap();
    for keyword in rules.keys() {
        assert!(
            KNOWN.contains(&keyword.as_str()),
            "{path}: the keyword {keyword} is not checked"
        );
    }
    if path == ".metadata" {
        return;
    }
    let mut say = |problem: String| found.push(format!("{path}: {problem}"));
    let typed = match rules.get("type").and_then(Value::as_str) {
        None => true,
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.as_i64().is_some(),
        Some("number") => value.is_number(),
        Some(other) => panic!("{path}: the type {other} is not checked"),
    };
    if !typed {
        return say(format!("{value} is no {}", rules["type"]));
    }
    if let Some(words) = rules.get("enum").and_then(Value::as_array)
        && !words.contains(value)
    {
        say(format!("{value} is not one of {words:?}"));
    }
    match value {
        Value::String(text) => string_problems(rules, text).into_iter().for_each(&mut say),
        Value::Number(number) => {
            let least = rules.get("minimum").and_then(Value::as_i64);
            if least.is_some_and(|least| number.as_i64().is_none_or(|number| number < least)) {
                say(format!("{number} is too small"));
            }
            if rules.get("format").is_some_and(|format| format == "int32")
                && i32::try_from(number.as_i64().unwrap()).is_err()
            {
                say(format!("{number} is no int32"));
            }
        }
        Value::Array(items) => {
            length_problems(rules, "Items", items.len())
                .into_iter()
                .for_each(&mut say);
            if let Some(schema) = rules.get("items") {
                for (index, item) in items.iter().enumerate() {
                    walk(schema, item, &format!("{path}[{index}]"), found);
                }
            }
        }
        Value::Object(map) => object_problems(rules, map, path, found),
        _ => {}
    }
}

fn length_problems(rules: &Map<String, Value>, what: &str, length: usize) -> Vec<String> {
    let bound = |word: &str| {
        rules
            .get(&format!("{word}{what}"))
            .and_then(Value::as_u64)
            .map(|bound| bound as usize)
    };
    let mut found = Vec::new();
    if bound("min").is_some_and(|least| length < least) {
        found.push(format!("min{what}: {length} are too few"));
    }
    if bound("max").is_some_and(|most| length > most) {
        found.push(format!("max{what}: {length} are too many"));
    }
    found
}

fn string_problems(rules: &Map<String, Value>, text: &str) -> Vec<String> {
    let mut found = length_problems(rules, "Length", text.chars().count());
    if let Some(pattern) = rules.get("pattern").and_then(Value::as_str)
        && !Regex::new(pattern).unwrap().is_match(text)
    {
        found.push(format!("{text:?} does not match {pattern}"));
    }
    match rules.get("format").and_then(Value::as_str) {
        None => {}
        Some("date-time") => {
            // Kargo's Go types read RFC 3339 in whole seconds; this is the form that all of its own writers use.
            let whole = Regex::new(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$").unwrap();
            if !whole.is_match(text) || text.parse::<jiff::Timestamp>().is_err() {
                found.push(format!("{text:?} is no date-time"));
            }
        }
        Some("email") if text.contains('@') => {}
        Some("email") => found.push(format!("{text:?} is no email")),
        Some(other) => panic!("the format {other} is not checked"),
    }
    found
}

fn object_problems(
    rules: &Map<String, Value>,
    map: &Map<String, Value>,
    path: &str,
    found: &mut Vec<String>,
) {
    for name in rules
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        if !map.contains_key(name.as_str().unwrap()) {
            found.push(format!("{path}: {name} is required"));
        }
    }
    let keeps = rules.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
    for (key, value) in map {
        let path = format!("{path}.{key}");
        match child(rules, key) {
            Some(schema) => walk(schema, value, &path, found),
            None if keeps || path.starts_with(".metadata") => {}
            None => found.push(format!("{path}: would be pruned")),
        }
    }
}

/// The schema of a property or of any value of a map.
fn child<'s>(rules: &'s Map<String, Value>, key: &str) -> Option<&'s Value> {
    let property = rules
        .get("properties")
        .and_then(|properties| properties.get(key));
    property.or_else(|| {
        rules
            .get("additionalProperties")
            .filter(|schema| schema.is_object())
    })
}

/// Whether anything at all may stand here.
fn is_free(schema: &Value) -> bool {
    match schema {
        Value::Bool(free) => *free,
        Value::Object(rules) => {
            rules.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true))
                || ![
                    "type",
                    "properties",
                    "items",
                    "additionalProperties",
                    "enum",
                ]
                .iter()
                .any(|word| rules.contains_key(*word))
        }
        _ => false,
    }
}

/// Paths that `from` describes and `to` neither describes nor leaves free.
pub fn absent(from: &Value, to: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare(from, to, "", &mut found);
    found
}

fn compare(from: &Value, to: &Value, path: &str, found: &mut Vec<String>) {
    if is_free(to) || path == "metadata" {
        return;
    }
    let (Some(from), Some(to), false) = (from.as_object(), to.as_object(), is_free(from)) else {
        return found.push(format!("{path}: anything against a type"));
    };
    let word = |rules: &Map<String, Value>| {
        rules
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or("anything")
            .to_owned()
    };
    if word(from) != word(to) {
        return found.push(format!("{path}: {} against {}", word(from), word(to)));
    }
    for (key, schema) in from
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let path = if path.is_empty() {
            key.clone()
        } else {
            format!("{path}.{key}")
        };
        match child(to, key) {
            Some(other) => compare(schema, other, &path, found),
            None => found.push(path),
        }
    }
    for keyword in ["items", "additionalProperties"] {
        let Some(schema) = from
            .get(keyword)
            .filter(|schema| !schema.is_boolean() || is_free(schema))
        else {
            continue;
        };
        match to.get(keyword) {
            Some(other) => compare(schema, other, &format!("{path}[]"), found),
            None => found.push(format!("{path}[]")),
        }
    }
}

/// Paths at which two values differ.
pub fn differences(one: &Value, other: &Value) -> Vec<String> {
    let mut found = Vec::new();
    differ(one, other, "", &mut found);
    found
}

fn differ(one: &Value, other: &Value, path: &str, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let (a, b) = (
                    a.get(key).unwrap_or(&Value::Null),
                    b.get(key).unwrap_or(&Value::Null),
                );
                differ(a, b, &format!("{path}.{key}"), found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                differ(a, b, &format!("{path}[{index}]"), found);
            }
        }
        (a, b) if a == b => {}
        (a, b) => found.push(format!("{path}: {a} became {b}")),
    }
}
