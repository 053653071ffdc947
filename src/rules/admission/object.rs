//! Reading and changing an object that has not been checked against its schema yet.

use serde_json::{Map, Value};

use super::Request;

/// The text at a path; empty where there is none.
pub fn text<'v>(object: &'v Value, path: &[&str]) -> &'v str {
    at(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// What is at a path; null counts as absent.
pub fn at<'v>(object: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter()
        .try_fold(object, |value, key| value.get(key))
        .filter(|value| !value.is_null())
}

/// The list at a path; empty where there is none.
pub fn list<'v>(object: &'v Value, path: &[&str]) -> &'v [Value] {
    at(object, path)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// Puts `value` at a path, making the maps on the way where they are absent or something else.
pub fn put(object: &mut Value, path: &[&str], value: Value) {
    let Some((key, rest)) = path.split_first() else {
        *object = value;
        return;
    };
    let mut map = match object.take() {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    put(map.entry(*key).or_insert(Value::Null), rest, value);
    *object = Value::Object(map);
}

/// Takes away what is at a path.
pub fn remove(object: &mut Value, path: &[&str]) {
    match path {
        [] => {}
        [key] => {
            if let Some(map) = object.as_object_mut() {
                map.remove(*key);
            }
        }
        [key, rest @ ..] => {
            if let Some(child) = object.get_mut(*key) {
                remove(child, rest);
            }
        }
    }
}

fn set_meta(object: &mut Value, kind: &str, key: &str, value: Option<&str>) {
    match value {
        Some(value) => put(object, &["metadata", kind, key], value.into()),
        None => remove(object, &["metadata", kind, key]),
    }
}

/// Sets the value of an annotation or removes it.
pub fn annotate(object: &mut Value, key: &str, value: Option<&str>) {
    set_meta(object, "annotations", key, value);
}

/// Sets the value of a label or removes it.
pub fn label(object: &mut Value, key: &str, value: Option<&str>) {
    set_meta(object, "labels", key, value);
}

/// An annotation's text; empty where it is absent.
pub fn annotation<'v>(object: &'v Value, key: &str) -> &'v str {
    text(object, &["metadata", "annotations", key])
}

/// Completes an annotation that asks for something (`terminate`, a verification's id) with who asked, where it is new
/// or differs from before. `word` is the field that the bare form stands for.
pub fn sign(request: &Request<'_>, object: &mut Value, key: &str, word: &str) {
    let Some(mut asked) = parse_asked(annotation(object, key), word) else {
        return;
    };
    let before = request
        .old
        .and_then(|old| parse_asked(annotation(old, key), word));
    if before.as_ref() == Some(&asked) {
        return;
    }
    if request.by_executor() {
        asked.insert("controlPlane".into(), true.into());
    } else {
        asked.remove("controlPlane");
        asked.insert("actor".into(), request.actor().into());
    }
    annotate(object, key, Some(&Value::Object(asked).to_string()));
}

fn parse_asked(annotation: &str, word: &str) -> Option<Map<String, Value>> {
    if annotation.is_empty() {
        return None;
    }
    match serde_json::from_str::<Value>(annotation) {
        Ok(Value::Object(map)) => Some(map),
        _ => Some(Map::from_iter([(word.to_owned(), annotation.into())])),
    }
}
