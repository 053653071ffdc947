//! What is wrong with a value.
//!
//! The problems are worded as Kargo's schema checker words them, with its paths (`checkout.0.path`), so that people
//! find them again; where its words do not say what to do, more follows.

use std::{borrow::Cow, fmt};

use regex::Regex;
use serde_json::{Map, Value};

use super::{Choice, Object, Shape};
use crate::expr::template::{self, Outlook};

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Names and indexes from the root; of the object that a field is missing in or too much in.
    pub at: Vec<String>,
    /// Of which kind.
    pub trouble: Trouble,
    /// In Kargo's words.
    pub text: String,
}

/// What kind of thing is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// There is no field of this name.
    Unknown(String),
    /// A required field is not there.
    Missing,
    /// Fields exclude each other, or one of several must be given and none is.
    Exclusive,
    /// A value of the wrong type.
    Type,
    /// A value of the right type that is not allowed.
    Value,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.at.is_empty() {
            return write!(f, "(root): {}", self.text);
        }
        write!(f, "{}: {}", self.at.join("."), self.text)
    }
}

/// What is known of a value before it is evaluated.
enum Seen<'v> {
    /// The value itself.
    Value(Cow<'v, Value>),
    /// Its type, and not more.
    Some(&'static str),
    /// Nothing.
    Nothing,
}

/// Goes through a value and collects what is wrong with it.
struct Checker {
    /// Whether texts are templates that have not been evaluated.
    open: bool,
    at: Vec<String>,
    problems: Vec<Problem>,
}

impl Shape {
    /// What is wrong with the evaluated `value`; nothing is wrong with an empty list. No configuration is an empty
    /// object.
    pub fn check(&self, value: &Value) -> Vec<String> {
        let problems = Checker::new(false).run(self, value);
        problems.iter().map(ToString::to_string).collect()
    }

    /// What is wrong with a `template` whatever its expressions come to: a text with an expression may become
    /// anything, unless the text around it or the expression itself tells what.
    pub fn check_template(&self, template: &Value) -> Vec<Problem> {
        Checker::new(true).run(self, template)
    }

    /// The shape of the value at this way below, where it is told.
    pub fn below(&self, way: &[String]) -> Option<&Self> {
        let Some((first, rest)) = way.split_first() else {
            return Some(self);
        };
        match self {
            Self::List { of, .. } => of.below(rest),
            Self::Object(object) => {
                let field = object.fields.iter().find(|field| field.name == first)?;
                field.shape.below(rest)
            }
            _ => None,
        }
    }

    /// Whether nothing but text is taken.
    pub fn is_text(&self) -> bool {
        matches!(self, Self::Text { .. } | Self::OneOf(_))
    }

    /// Whether text is taken at all.
    pub fn takes_text(&self) -> bool {
        matches!(
            self,
            Self::Text { .. }
                | Self::OneOf(_)
                | Self::Scalar
                | Self::Any
                | Self::Free
                | Self::Filled
        )
    }

    fn expected(&self) -> &'static str {
        match self {
            Self::Text { .. } | Self::OneOf(_) => "string",
            Self::Flag => "boolean",
            Self::Integer { .. } | Self::Count => "integer",
            Self::Scalar => "string, number, boolean or null",
            Self::Any => "anything",
            Self::List { .. } => "array",
            Self::Object(_) | Self::Free | Self::Filled => "object",
        }
    }

    /// Whether values of this type are taken.
    fn takes(&self, kind: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Scalar => !matches!(kind, "array" | "object"),
            Self::Integer { .. } | Self::Count => matches!(kind, "integer" | "number"),
            other => other.expected() == kind,
        }
    }
}

impl Checker {
    fn new(open: bool) -> Self {
        Self {
            open,
            at: Vec::new(),
            problems: Vec::new(),
        }
    }

    fn run(mut self, shape: &Shape, value: &Value) -> Vec<Problem> {
        match value {
            Value::Null => self.value(shape, &Value::Object(Map::new())),
            value => self.value(shape, value),
        }
        self.problems
    }

    fn say(&mut self, trouble: Trouble, text: impl Into<String>) {
        self.problems.push(Problem {
            at: self.at.clone(),
            trouble,
            text: text.into(),
        });
    }

    fn below(&mut self, name: &str, check: impl FnOnce(&mut Self)) {
        self.at.push(name.to_owned());
        check(self);
        self.at.pop();
    }

    fn seen<'v>(&self, value: &'v Value) -> Seen<'v> {
        match value {
            Value::String(text) if self.open && template::is_template(text) => {
                match template::outlook(text) {
                    Outlook::Is(value) => Seen::Value(Cow::Owned(value)),
                    Outlook::Some(kind) => Seen::Some(kind),
                    Outlook::Unknown => Seen::Nothing,
                }
            }
            value => Seen::Value(Cow::Borrowed(value)),
        }
    }

    fn value(&mut self, shape: &Shape, value: &Value) {
        match self.seen(value) {
            Seen::Value(value) => self.known(shape, &value),
            Seen::Some(kind) if !shape.takes(kind) => self.wrong_type(shape, kind),
            Seen::Some(_) | Seen::Nothing => {}
        }
    }

    fn wrong_type(&mut self, shape: &Shape, given: &str) {
        let text = format!(
            "Invalid type. Expected: {}, given: {given}",
            shape.expected()
        );
        self.say(Trouble::Type, text);
    }

    fn known(&mut self, shape: &Shape, value: &Value) {
        match (shape, value) {
            (Shape::Any, _) | (Shape::Free, Value::Object(_)) | (Shape::Flag, Value::Bool(_)) => {}
            (Shape::Scalar, value) if !value.is_object() && !value.is_array() => {}
            (
                Shape::Text {
                    min,
                    pattern,
                    email,
                },
                Value::String(text),
            ) => self.text(text, *min, *pattern, *email),
            (Shape::OneOf(names), Value::String(text)) if names.contains(&text.as_str()) => {}
            (Shape::OneOf(names), Value::String(_)) => {
                let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
                let all = quoted.join(", ");
                let here = self.at.join(".");
                self.say(
                    Trouble::Value,
                    format!("{here} must be one of the following: {all}"),
                );
            }
            (Shape::Integer { min }, Value::Number(number)) if whole(number).is_some() => {
                if let Some(min) =
                    min.filter(|min| whole(number).is_some_and(|number| number < *min as f64))
                {
                    self.say(
                        Trouble::Value,
                        format!("Must be greater than or equal to {min}"),
                    );
                }
            }
            (Shape::Count, Value::Number(number)) if whole(number).is_some() => {
                if whole(number).is_some_and(|number| number < 1.0) {
                    self.say(Trouble::Value, "Must be greater than or equal to 1");
                }
                if whole(number).is_some_and(|number| number > f64::from(i32::MAX)) {
                    let most = "Must be less than or equal to 2.147483647e+09";
                    self.say(Trouble::Value, most);
                }
            }
            (Shape::Filled, Value::Object(fields)) => {
                if fields.is_empty() {
                    self.say(Trouble::Value, "Must have at least 1 properties");
                }
            }
            (Shape::List { of, min }, Value::Array(items)) => {
                if items.len() < *min {
                    self.say(
                        Trouble::Value,
                        format!("Array must have at least {min} items"),
                    );
                }
                for (index, item) in items.iter().enumerate() {
                    self.below(&index.to_string(), |checker| checker.value(of, item));
                }
            }
            (Shape::Object(object), Value::Object(fields)) => self.object(object, fields),
            (shape, value) => self.wrong_type(shape, type_of(value)),
        }
    }

    fn text(&mut self, text: &str, min: usize, pattern: Option<&str>, email: bool) {
        if text.chars().count() < min {
            self.say(
                Trouble::Value,
                format!("String length must be greater than or equal to {min}"),
            );
        }
        if let Some(pattern) = pattern.filter(|pattern| !matches(pattern, text)) {
            self.say(
                Trouble::Value,
                format!("Does not match pattern '{pattern}'"),
            );
        }
        if email && !is_email(text) {
            self.say(Trouble::Value, "Does not match format 'email'");
        }
    }

    fn object(&mut self, object: &Object, fields: &Map<String, Value>) {
        for choice in &object.choices {
            self.choice(choice, fields);
        }
        for field in &object.fields {
            match fields.get(field.name) {
                None if field.required => {
                    self.say(Trouble::Missing, format!("{} is required", field.name));
                }
                None => {}
                Some(Value::Null) if object.may_be_null(field.name) => {}
                Some(value) => {
                    self.below(field.name, |checker| checker.value(&field.shape, value));
                }
            }
        }
        for name in fields.keys().filter(|name| {
            object
                .fields
                .iter()
                .all(|field| field.name != name.as_str())
        }) {
            let known: Vec<&str> = object.fields.iter().map(|field| field.name).collect();
            let near = similar::get_close_matches(name.as_str(), &known, 1, 0.6);
            let hint = match near.first() {
                Some(near) => format!("; did you mean {near}?"),
                None => format!("; fields: {}", known.join(", ")),
            };
            self.say(
                Trouble::Unknown(name.clone()),
                format!("Additional property {name} is not allowed{hint}"),
            );
        }
    }

    fn choice(&mut self, choice: &Choice, fields: &Map<String, Value>) {
        let is_empty = |value: Option<&Value>| {
            matches!(value, None | Some(Value::Null | Value::Bool(false)))
                || value == Some(&Value::from(""))
        };
        // An expression may come to an empty text, which counts as not set.
        let undecided = |name: &&'static str| {
            self.open
                && matches!(fields.get(*name), Some(Value::String(text)) if template::is_template(text))
        };
        let given: Vec<&str> = choice
            .names
            .iter()
            .copied()
            .filter(|name| !is_empty(fields.get(*name)) && !undecided(name))
            .collect();
        let maybe = choice.names.iter().any(undecided);
        // A field that is there but empty has its own problem where empty is not allowed: one problem is enough.
        let all = choice.names.join(", ");
        let head = "Must validate one and only one schema (oneOf)";
        match given.as_slice() {
            [] if choice.one_needed && !maybe => {
                self.say(Trouble::Exclusive, format!("{head}: give one of {all}"));
            }
            [] | [_] => {}
            several => self.say(
                Trouble::Exclusive,
                format!(
                    "{head}: {} are given, and only one of {all} may be",
                    several.join(" and ")
                ),
            ),
        }
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

fn whole(number: &serde_json::Number) -> Option<f64> {
    number.as_f64().filter(|float| float.fract() == 0.0)
}

fn matches(pattern: &str, text: &str) -> bool {
    // A pattern that is not one is our own mistake, which the test of every step's shape would show.
    Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text))
}

pub(super) fn is_email(text: &str) -> bool {
    text.rsplit_once('@').is_some_and(|(name, host)| {
        !name.is_empty()
            && !host.is_empty()
            && !text.contains(|c: char| c.is_whitespace() || "<>".contains(c))
    })
}
