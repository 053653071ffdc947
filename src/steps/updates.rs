//! What `json-update` and `toml-update` share: `updates: [{key, value}]`, and the commit message made of them.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::schema::{Object, Shape, list, some_text};
use crate::engine::step::Outcome;

/// One change.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Update {
    /// Where.
    pub key: String,
    /// What is to be there: a text, a number, true or false.
    pub value: Value,
}

/// The configuration.
#[derive(Clone, Debug, Deserialize)]
pub struct Config {
    /// The file.
    pub path: String,
    /// What is set in it, in order.
    pub updates: Vec<Update>,
}

/// The configuration's shape.
pub fn shape() -> Shape {
    let update = Object::new()
        .required("key", some_text())
        .required("value", Shape::Scalar);
    Object::new()
        .required("path", some_text())
        .required("updates", list(update, 1))
        .into()
}

/// Kargo's message; `print` is how the kind of file shows a value.
pub fn commit_message(path: &str, updates: &[Update], print: impl Fn(&Value) -> String) -> String {
    if updates.is_empty() {
        return String::new();
    }
    let mut message = format!("Updated {path}\n");
    for update in updates {
        // Writing to a String cannot fail.
        let _ = write!(message, "\n- {}: {}", update.key, print(&update.value));
    }
    message
}

/// How the step ends. There is a message even where nothing changes: a git-commit may be made of it (C41).
pub fn outcome(message: String, changed: bool) -> Outcome {
    let outcome = Outcome::succeeded(Map::from_iter([(
        "commitMessage".to_owned(),
        Value::String(message),
    )]));
    if changed {
        outcome
    } else {
        outcome.saying("the values are there already")
    }
}
