//! What a step's configuration must look like: a small value per step, checked before the step runs.
//!
//! The problems are worded as Kargo's schema checker words them, with its paths (`checkout.0.path`), so that people
//! find them again; where its words do not say what to do, more follows.

use regex::Regex;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::engine::step::StepError;

/// The shape of one value.
#[derive(Clone, Debug)]
pub enum Shape {
    /// Text.
    Text {
        /// Fewest characters.
        min: usize,
        /// A regular expression and nothing else about it.
        pattern: Option<&'static str>,
        /// Something that has an `@` in the middle.
        email: bool,
    },
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// true or false.
    Flag,
    /// A whole number, also as `42.0`, which is how numbers arrive from expressions.
    Integer {
        /// The least allowed.
        min: Option<i64>,
    },
    /// Text, number, true, false or null.
    Scalar,
    /// Anything.
    Any,
    /// A list.
    List {
        /// What it holds.
        of: Box<Shape>,
        /// Fewest items.
        min: usize,
    },
    /// An object with these fields and no others.
    Object(Object),
    /// An object with any fields.
    Free,
}

/// The fields of an object.
#[derive(Clone, Debug, Default)]
pub struct Object {
    fields: Vec<Field>,
    choices: Vec<Choice>,
}

#[derive(Clone, Debug)]
struct Field {
    name: &'static str,
    shape: Shape,
    required: bool,
}

/// Fields of which only one may be set. Kargo's idiom: an empty text or null counts as not set.
#[derive(Clone, Debug)]
struct Choice {
    names: &'static [&'static str],
    one_needed: bool,
}

/// Any text.
pub fn text() -> Shape {
    Shape::Text {
        min: 0,
        pattern: None,
        email: false,
    }
}

/// Text that is not empty.
pub fn some_text() -> Shape {
    Shape::Text {
        min: 1,
        pattern: None,
        email: false,
    }
}

/// Text that matches.
pub fn matching(pattern: &'static str) -> Shape {
    Shape::Text {
        min: 0,
        pattern: Some(pattern),
        email: false,
    }
}

/// An e-mail address.
pub fn email() -> Shape {
    Shape::Text {
        min: 0,
        pattern: None,
        email: true,
    }
}

/// A list of at least `min`.
pub fn list(of: impl Into<Shape>, min: usize) -> Shape {
    Shape::List {
        of: Box::new(of.into()),
        min,
    }
}

/// The identity of a commit, as git steps take it.
pub fn author() -> Shape {
    Object::new()
        .required("name", some_text())
        .required("email", email())
        .optional("signingKey", text())
        .into()
}

impl From<Object> for Shape {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

impl Object {
    /// An object without fields.
    pub fn new() -> Self {
        Self::default()
    }

    fn field(mut self, name: &'static str, shape: impl Into<Shape>, required: bool) -> Self {
        self.fields.push(Field {
            name,
            shape: shape.into(),
            required,
        });
        self
    }

    /// With a field that must be there.
    pub fn required(self, name: &'static str, shape: impl Into<Shape>) -> Self {
        self.field(name, shape, true)
    }

    /// With a field that may be absent.
    pub fn optional(self, name: &'static str, shape: impl Into<Shape>) -> Self {
        self.field(name, shape, false)
    }

    /// Where exactly one of these fields is set.
    pub fn exactly_one(mut self, names: &'static [&'static str]) -> Self {
        self.choices.push(Choice {
            names,
            one_needed: true,
        });
        self
    }

    /// Where at most one of these fields is set.
    pub fn at_most_one(mut self, names: &'static [&'static str]) -> Self {
        self.choices.push(Choice {
            names,
            one_needed: false,
        });
        self
    }

    fn may_be_null(&self, name: &str) -> bool {
        self.choices
            .iter()
            .any(|choice| choice.names.contains(&name))
    }

    fn check(&self, fields: &Map<String, Value>, at: &str, problems: &mut Vec<String>) {
        let here = if at.is_empty() { "(root)" } else { at };
        for choice in &self.choices {
            choice.check(fields, here, problems);
        }
        for field in &self.fields {
            match fields.get(field.name) {
                None if field.required => {
                    problems.push(format!("{here}: {} is required", field.name))
                }
                None => {}
                Some(Value::Null) if self.may_be_null(field.name) => {}
                Some(value) => field
                    .shape
                    .check_at(value, &below(at, field.name), problems),
            }
        }
        for name in fields
            .keys()
            .filter(|name| self.fields.iter().all(|field| field.name != name.as_str()))
        {
            let known: Vec<&str> = self.fields.iter().map(|field| field.name).collect();
            let near = similar::get_close_matches(name.as_str(), &known, 1, 0.6);
            let hint = match near.first() {
                Some(near) => format!("; did you mean {near}?"),
                None => format!("; fields: {}", known.join(", ")),
            };
            problems.push(format!(
                "{here}: Additional property {name} is not allowed{hint}"
            ));
        }
    }
}

impl Choice {
    fn check(&self, fields: &Map<String, Value>, here: &str, problems: &mut Vec<String>) {
        let set = |name: &&&str| {
            !matches!(fields.get(**name), None | Some(Value::Null))
                && fields.get(**name) != Some(&Value::from(""))
        };
        let given: Vec<&str> = self.names.iter().filter(set).copied().collect();
        // A field that is there but empty has its own problem where empty is not allowed: one problem is enough.
        let all = self.names.join(", ");
        match given.as_slice() {
            [] if self.one_needed => problems.push(format!(
                "{here}: Must validate one and only one schema (oneOf): give one of {all}"
            )),
            [] | [_] => {}
            several => problems.push(format!(
                "{here}: Must validate one and only one schema (oneOf): {} are given, and only one of {all} may be",
                several.join(" and ")
            )),
        }
    }
}

fn below(at: &str, name: &str) -> String {
    if at.is_empty() {
        name.to_owned()
    } else {
        format!("{at}.{name}")
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

impl Shape {
    /// What is wrong with `value`; nothing is wrong with an empty list. No configuration is an empty object.
    pub fn check(&self, value: &Value) -> Vec<String> {
        let mut problems = Vec::new();
        match value {
            Value::Null => self.check_at(&Value::Object(Map::new()), "", &mut problems),
            value => self.check_at(value, "", &mut problems),
        }
        problems
    }

    fn check_at(&self, value: &Value, at: &str, problems: &mut Vec<String>) {
        let here = if at.is_empty() { "(root)" } else { at };
        let mut say = |problem: String| problems.push(format!("{here}: {problem}"));
        match (self, value) {
            (Self::Any, _) | (Self::Free, Value::Object(_)) | (Self::Flag, Value::Bool(_)) => {}
            (Self::Scalar, value) if !value.is_object() && !value.is_array() => {}
            (
                Self::Text {
                    min,
                    pattern,
                    email,
                },
                Value::String(text),
            ) => {
                if text.chars().count() < *min {
                    say(format!(
                        "String length must be greater than or equal to {min}"
                    ));
                }
                if let Some(pattern) = pattern.filter(|pattern| !matches(pattern, text)) {
                    say(format!("Does not match pattern '{pattern}'"));
                }
                if *email && !is_email(text) {
                    say("Does not match format 'email'".into());
                }
            }
            (Self::OneOf(names), Value::String(text)) if names.contains(&text.as_str()) => {}
            (Self::OneOf(names), Value::String(_)) => {
                let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
                say(format!(
                    "{here} must be one of the following: {}",
                    quoted.join(", ")
                ));
            }
            (Self::Integer { min }, Value::Number(number)) if whole(number).is_some() => {
                if let Some(min) =
                    min.filter(|min| whole(number).is_some_and(|number| number < *min as f64))
                {
                    say(format!("Must be greater than or equal to {min}"));
                }
            }
            (Self::List { of, min }, Value::Array(items)) => {
                if items.len() < *min {
                    say(format!("Array must have at least {min} items"));
                }
                for (index, item) in items.iter().enumerate() {
                    of.check_at(item, &below(at, &index.to_string()), problems);
                }
            }
            (Self::Object(object), Value::Object(fields)) => object.check(fields, at, problems),
            (shape, value) => say(format!(
                "Invalid type. Expected: {}, given: {}",
                shape.expected(),
                type_of(value)
            )),
        }
    }

    fn expected(&self) -> &'static str {
        match self {
            Self::Text { .. } | Self::OneOf(_) => "string",
            Self::Flag => "boolean",
            Self::Integer { .. } => "integer",
            Self::Scalar => "string, number, boolean or null",
            Self::Any => "anything",
            Self::List { .. } => "array",
            Self::Object(_) | Self::Free => "object",
        }
    }
}

fn whole(number: &serde_json::Number) -> Option<f64> {
    number.as_f64().filter(|float| float.fract() == 0.0)
}

fn matches(pattern: &str, text: &str) -> bool {
    // A pattern that is not one is our own mistake, which the test of every step's shape would show.
    Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text))
}

fn is_email(text: &str) -> bool {
    text.rsplit_once('@').is_some_and(|(name, host)| {
        !name.is_empty()
            && !host.is_empty()
            && !text.contains(|c: char| c.is_whitespace() || "<>".contains(c))
    })
}

/// The configuration as the step's own type, whole floats as integers. It has passed the check, so an error here means
/// that the two disagree.
pub fn typed<T: DeserializeOwned>(config: &Value) -> Result<T, StepError> {
    let config = if config.is_null() {
        Value::Object(Map::new())
    } else {
        with_integers(config)
    };
    serde_json::from_value(config)
        .map_err(|error| StepError::config("the configuration cannot be read").because(error))
}

fn with_integers(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            match whole(number).filter(|float| float.abs() < 9e15) {
                Some(float) => Value::from(float as i64),
                None => value.clone(),
            }
        }
        Value::Array(items) => items.iter().map(with_integers).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), with_integers(value)))
            .collect(),
        other => other.clone(),
    }
}

/// Serde's `deserialize_with` for an exclusive option: empty and null are absent.
pub fn unless_empty<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let text: Option<String> = serde::Deserialize::deserialize(deserializer)?;
    Ok(text.filter(|text| !text.is_empty()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_problem_names_its_field() {
        let shape: Shape = Object::new()
            .required("path", some_text())
            .optional("tries", Shape::Integer { min: Some(1) })
            .optional("how", Shape::OneOf(&["a", "b"]))
            .optional(
                "items",
                list(
                    Object::new()
                        .optional("x", text())
                        .optional("y", text())
                        .at_most_one(&["x", "y"]),
                    1,
                ),
            )
            .into();
        let cases = [
            (json!(null), vec!["(root): path is required"]),
            (
                json!({"path": "p", "tries": 42.0, "how": "a", "items": [{"x": "", "y": "1"}, {"x": null, "y": null}]}),
                vec![],
            ),
            (
                json!({"path": "p", "tries": 4.5}),
                vec!["tries: Invalid type. Expected: integer, given: number"],
            ),
            (
                json!({"path": "p", "tries": "4"}),
                vec!["tries: Invalid type. Expected: integer, given: string"],
            ),
            (
                json!({"path": "p", "tries": 0}),
                vec!["tries: Must be greater than or equal to 1"],
            ),
            (
                json!({"path": "p", "how": "c"}),
                vec!["how: how must be one of the following: \"a\", \"b\""],
            ),
            (
                json!({"path": null}),
                vec!["path: Invalid type. Expected: string, given: null"],
            ),
            (
                json!({"paht": "p", "path": "p"}),
                vec!["(root): Additional property paht is not allowed; did you mean path?"],
            ),
            (
                json!({"path": "p", "items": [{}, {"x": "1", "y": "2"}]}),
                vec![
                    "items.1: Must validate one and only one schema (oneOf): x and y are given, and only one of x, y may be",
                ],
            ),
            (
                json!({"path": "p", "items": [{"z": 1}]}),
                vec!["items.0: Additional property z is not allowed; fields: x, y"],
            ),
            (
                json!([1]),
                vec!["(root): Invalid type. Expected: object, given: array"],
            ),
        ];
        for (config, problems) in cases {
            assert_eq!(shape.check(&config), problems, "{config}");
        }
    }

    #[test]
    fn whole_floats_arrive_as_integers() {
        #[derive(Debug, serde::Deserialize)]
        struct Config {
            tries: u32,
            #[serde(default, deserialize_with = "unless_empty")]
            name: Option<String>,
        }
        let config: Config = typed(&json!({"tries": 42.0, "name": ""})).unwrap();
        assert_eq!((config.tries, config.name), (42, None));
        assert!(
            typed::<Config>(&json!({"tries": 4.5}))
                .unwrap_err()
                .sentence()
                .contains("4.5")
        );
    }

    #[test]
    fn addresses() {
        for (text, good) in [
            ("a@b", true),
            ("", false),
            ("@b", false),
            ("a@", false),
            ("a b@c", false),
            ("<a@b>", false),
        ] {
            assert_eq!(is_email(text), good, "{text}");
        }
    }
}
