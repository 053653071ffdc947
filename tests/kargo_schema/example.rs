//! A value with every field that a schema has.

use regex::Regex;
use serde_json::{Map, Value, json};

/// Texts of which one fits every pattern of Kargo's.
const SAMPLES: &[&str] = &[
    "a1",
    "1h0m0s",
    "https://h.example/o/r",
    "sha256:ab12",
    "x.y-z",
];

/// Everything filled, with values that differ from the defaults, so that nothing is left out when written.
pub fn full(schema: &Value, path: &str) -> Value {
    let Some(rules) = schema.as_object() else {
        return json!({"free": [1, "two", null]});
    };
    if let Some(words) = rules.get("enum").and_then(Value::as_array) {
        return words.iter().find(|word| *word != "").unwrap().clone();
    }
    match rules.get("type").and_then(Value::as_str) {
        Some("object") => object(rules, path),
        Some("array") => json!([full(&rules["items"], path)]),
        Some("boolean") => true.into(),
        Some("integer" | "number") => 7.into(),
        Some("string") => text(rules),
        None => json!({"free": [1, "two", {"three": false}]}),
        Some(other) => panic!("{path}: no example for the type {other}"),
    }
}

fn object(rules: &Map<String, Value>, path: &str) -> Value {
    let mut map = Map::new();
    for (key, schema) in rules
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        map.insert(key.clone(), full(schema, &format!("{path}.{key}")));
    }
    if let Some(schema) = rules
        .get("additionalProperties")
        .filter(|schema| schema.is_object())
    {
        map.insert("a-key".into(), full(schema, &format!("{path}[]")));
    }
    Value::Object(map)
}

fn text(rules: &Map<String, Value>) -> Value {
    match rules.get("format").and_then(Value::as_str) {
        Some("date-time") => return "2026-08-21T12:00:00Z".into(),
        Some("email") => return "ann@x.example".into(),
        _ => {}
    }
    let Some(pattern) = rules.get("pattern").and_then(Value::as_str) else {
        return "text".into();
    };
    let pattern = Regex::new(pattern).unwrap();
    let sample = SAMPLES.iter().find(|sample| pattern.is_match(sample));
    (*sample.unwrap_or_else(|| panic!("no sample for {pattern}"))).into()
}
