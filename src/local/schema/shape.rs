//! A schema made ready for pruning and checking.

use crate::local::status::Cause;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What may stand at one place of an object.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// Anything: nothing below is pruned or checked.
    Any,
    /// Known fields only.
    Fields {
        fields: BTreeMap<String, Shape>,
        required: Vec<String>,
    },
    /// Free keys, values of one shape.
    Map(Box<Shape>),
    /// Items of one shape.
    List(Box<Shape>),
    /// A value of one of these JSON types, and of these values if any are listed.
    Scalar {
        types: Vec<String>,
        values: Vec<Value>,
        /// A point in time as RFC 3339 has it.
        is_time: bool,
    },
}

/// Is shown a place, a path and a value.
pub(super) type Look<'a> = dyn FnMut(&str, &str, &Value) + 'a;

impl Shape {
    /// Reads a JSON schema whose references are inlined. What it does not understand is `Any`.
    pub(super) fn compile(schema: &Value) -> Self {
        let Some(schema) = schema.as_object() else {
            return Self::Any;
        };
        if let Some(Value::Object(fields)) = schema.get("properties") {
            return Self::fields(schema, fields);
        }
        if let Some(inner) = only_alternative(schema) {
            return Self::compile(inner);
        }
        if let Some(items) = schema.get("items") {
            return Self::List(Box::new(Self::compile(items)));
        }
        if let Some(values @ Value::Object(_)) = schema.get("additionalProperties") {
            return Self::Map(Box::new(Self::compile(values)));
        }
        let mut values: Vec<Value> = list(schema, "enum").cloned().collect();
        for choice in list(schema, "oneOf") {
            values.extend(choice.get("const").cloned());
            values.extend(
                choice
                    .get("enum")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                    .cloned(),
            );
        }
        values.retain(|value| !value.is_null());
        let types: Vec<String> = match schema.get("type") {
            Some(Value::String(one)) => vec![one.clone()],
            Some(Value::Array(many)) => many
                .iter()
                .filter_map(Value::as_str)
                .filter(|t| *t != "null")
                .map(str::to_owned)
                .collect(),
            _ => Vec::new(),
        };
        let structured = types.iter().any(|t| t == "object" || t == "array");
        if structured || (types.is_empty() && values.is_empty()) {
            return Self::Any;
        }
        let is_time = schema.get("format").and_then(Value::as_str) == Some("date-time");
        Self::Scalar {
            types,
            values,
            is_time,
        }
    }

    fn fields(schema: &Map<String, Value>, fields: &Map<String, Value>) -> Self {
        Self::Fields {
            fields: fields
                .iter()
                .map(|(name, schema)| (name.clone(), Self::compile(schema)))
                .collect(),
            required: list(schema, "required")
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
        }
    }

    /// Prunes a whole object; `apiVersion`, `kind` and `metadata` always stay.
    pub(super) fn prune_object(&self, object: &mut Value, dropped: &mut Vec<String>) {
        let (Self::Fields { fields, .. }, Some(map)) = (self, object.as_object_mut()) else {
            return;
        };
        prune_fields(
            fields,
            map,
            "",
            &["apiVersion", "kind", "metadata"],
            dropped,
        );
    }

    /// Removes unknown fields, and nulls where the definition does not allow them (nowhere outside
    /// arbitrary JSON): an API server drops these before it checks.
    pub(super) fn prune(&self, value: &mut Value, path: &str, dropped: &mut Vec<String>) {
        match (self, value) {
            (Self::Fields { fields, .. }, Value::Object(map)) => {
                prune_fields(fields, map, path, &[], dropped);
            }
            (Self::Map(shape), Value::Object(map)) => {
                map.retain(|_, value| !value.is_null());
                for (key, value) in map {
                    shape.prune(value, &join(path, key), dropped);
                }
            }
            (Self::List(shape), Value::Array(items)) => {
                for (index, item) in items.iter_mut().enumerate() {
                    shape.prune(item, &format!("{path}[{index}]"), dropped);
                }
            }
            _ => {}
        }
    }

    /// Checks a whole object, except its metadata.
    pub(super) fn check_object(&self, object: &Value, causes: &mut Vec<Cause>) {
        let (Self::Fields { fields, .. }, Some(map)) = (self, object.as_object()) else {
            return;
        };
        for (name, value) in map {
            if let (Some(shape), false) = (fields.get(name), is_type_meta(name)) {
                shape.check(value, name, causes);
            }
        }
    }

    /// Shows every known place of a whole object, except its metadata: which place it is (lists add
    /// `[]` to it, maps `{}`), its path with indexes and keys, and what is there.
    pub(super) fn visit_object(&self, object: &Value, look: &mut Look<'_>) {
        look("", "", object);
        if let (Self::Fields { fields, .. }, Some(map)) = (self, object.as_object()) {
            for (name, value) in map.iter().filter(|(name, _)| !is_type_meta(name)) {
                if let Some(shape) = fields.get(name) {
                    shape.visit(value, name, name, look);
                }
            }
        }
    }

    fn visit(&self, value: &Value, place: &str, path: &str, look: &mut Look<'_>) {
        look(place, path, value);
        match (self, value) {
            (Self::Fields { fields, .. }, Value::Object(map)) => {
                for (name, value) in map {
                    if let Some(shape) = fields.get(name) {
                        shape.visit(value, &join(place, name), &join(path, name), look);
                    }
                }
            }
            (Self::Map(shape), Value::Object(map)) => {
                let place = format!("{place}{{}}");
                for (key, value) in map {
                    shape.visit(value, &place, &format!("{path}[{key}]"), look);
                }
            }
            (Self::List(shape), Value::Array(items)) => {
                let place = format!("{place}[]");
                for (index, item) in items.iter().enumerate() {
                    shape.visit(item, &place, &format!("{path}[{index}]"), look);
                }
            }
            _ => {}
        }
    }

    /// Everything of the wrong type, missing, or not among the allowed values.
    pub(super) fn check(&self, value: &Value, path: &str, causes: &mut Vec<Cause>) {
        match (self, value) {
            (Self::Any, _) => {}
            (Self::Fields { fields, required }, Value::Object(map)) => {
                for name in required {
                    if !map.contains_key(name) {
                        causes.push(Cause::required(join(path, name)));
                    }
                }
                for (name, value) in map {
                    if let Some(shape) = fields.get(name) {
                        shape.check(value, &join(path, name), causes);
                    }
                }
            }
            (Self::Map(shape), Value::Object(map)) => {
                for (key, value) in map {
                    shape.check(value, &join(path, key), causes);
                }
            }
            (Self::List(shape), Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    shape.check(item, &format!("{path}[{index}]"), causes);
                }
            }
            (Self::Fields { .. } | Self::Map(_), other) => {
                causes.push(wrong(path, "object", other))
            }
            (Self::List(_), other) => causes.push(wrong(path, "array", other)),
            (
                Self::Scalar {
                    types,
                    values,
                    is_time,
                },
                value,
            ) => {
                if !types.is_empty() && !types.iter().any(|t| is_of(t, value)) {
                    causes.push(wrong(path, &types.join(" or "), value));
                } else if !values.is_empty() && !values.contains(value) {
                    let known: Vec<String> = values.iter().map(Value::to_string).collect();
                    causes.push(Cause::unsupported(path, &value.to_string(), &known));
                } else if let (true, Value::String(text)) = (*is_time, value)
                    && text.parse::<jiff::Timestamp>().is_err()
                {
                    let what = format!("{text:?}: {path} in body must be of type date-time");
                    causes.push(Cause::invalid(path, what));
                }
            }
        }
    }
}

fn prune_fields(
    fields: &BTreeMap<String, Shape>,
    map: &mut Map<String, Value>,
    path: &str,
    keep: &[&str],
    dropped: &mut Vec<String>,
) {
    map.retain(|name, value| {
        if keep.contains(&name.as_str()) {
            return true;
        }
        let known = fields.contains_key(name);
        if !known {
            dropped.push(join(path, name));
        }
        known && !value.is_null()
    });
    for (name, value) in map {
        if let (Some(shape), false) = (fields.get(name), keep.contains(&name.as_str())) {
            shape.prune(value, &join(path, name), dropped);
        }
    }
}

fn is_type_meta(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

fn list<'a>(schema: &'a Map<String, Value>, field: &str) -> impl Iterator<Item = &'a Value> {
    schema
        .get(field)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// The one schema behind `allOf`, or behind `anyOf` with null: how an optional type is written.
fn only_alternative(schema: &Map<String, Value>) -> Option<&Value> {
    for word in ["allOf", "anyOf", "oneOf"] {
        let mut real = list(schema, word).filter(|s| {
            let is_null = s.get("type").and_then(Value::as_str) == Some("null");
            let only_null = s
                .get("enum")
                .is_some_and(|e| *e == serde_json::json!([null]));
            !is_null && !only_null
        });
        if let (Some(one), None) = (real.next(), real.next()) {
            return Some(one);
        }
    }
    None
}

/// The path of a field.
pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

fn is_of(wanted: &str, value: &Value) -> bool {
    match wanted {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => true,
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn wrong(path: &str, wanted: &str, value: &Value) -> Cause {
    Cause {
        reason: "FieldValueTypeInvalid",
        ..Cause::invalid(
            path,
            format!(
                "\"{}\": {path} in body must be of type {wanted}: \"{}\"",
                type_of(value),
                type_of(value)
            ),
        )
    }
}
