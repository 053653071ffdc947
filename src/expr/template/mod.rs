//! `${{ }}` and `${% %}` inside strings and JSON, scanned and typed exactly as Kargo does it.
//!
//! Results are spliced as text (text as it is, anything else as JSON), and the whole string then gets
//! a type by the rule in `retype`. So `${{ 42 }}` is a number and so is `${{ '42' }}`, while `${{ quote(42) }}`
//! is the text `42`; a string without delimiters stays what it is. A short commit id of digits only
//! turns into a number, as in Kargo, unless it is quoted. An expression ends at the first `}}`: one
//! that contains `}}` is written in `${% %}`.

use serde_json::{Map, Value as Json};

use super::conceal;
use super::env::Env;
use super::error::EvalError;
use super::go;
use super::program::{self, ExprError};
use super::value::Value;

pub(super) mod functions;
mod pieces;
mod retype;

pub use pieces::{Outlook, Piece, outlook, pieces, retyped};

/// Start and end of an expression.
const DELIMITERS: [(&str, &str); 2] = [("${{", "}}"), ("${%", "%}")];

/// Names that an environment must not use, since templates define them.
const RESERVED: [&str; 3] = ["quote", "asYAML", "asJSON"];

/// A template that could not be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The text around the expressions is not JSON.
    #[error("input is not valid JSON; are all expressions enclosed in quotes? {0}")]
    NotJson(String),
    /// The environment uses a name that templates define.
    #[error("{0:?} is a forbidden key in the environment map; it is reserved for internal use")]
    Reserved(String),
    /// A start without an end.
    #[error(
        "{}unclosed expression: expected {end:?} but reached end of template",
        at(path)
    )]
    Unclosed {
        /// Where in the JSON; "" for a bare string.
        path: String,
        /// What would have ended it.
        end: &'static str,
    },
    /// An expression failed.
    #[error("{}cannot evaluate {expression:?}", at(path))]
    Expression {
        /// Where in the JSON; "" for a bare string.
        path: String,
        /// The expression between the delimiters, trimmed.
        expression: String,
        /// Why, with the place in the expression.
        #[source]
        why: Box<ExprError>,
        /// Its end, where it is no expression and one more end comes right after: it seems to end too early.
        ends_early: Option<&'static str>,
    },
    /// An expression has a value that cannot be written, such as NaN.
    #[error("{}cannot write the result of {expression:?}: {why}", at(path))]
    Unwritable {
        /// Where in the JSON; "" for a bare string.
        path: String,
        /// The expression between the delimiters, trimmed.
        expression: String,
        /// Why.
        why: String,
    },
    /// The results are more text than any configuration may have.
    #[error(
        "{}the result of {expression:?} is too long: a step's templates may give 32 MiB at most",
        at(path)
    )]
    TooLong {
        /// Where in the JSON; "" for a bare string.
        path: String,
        /// The expression between the delimiters, trimmed.
        expression: String,
    },
    /// A condition gave something other than a bool.
    #[error("the condition {condition:?} must evaluate to a boolean, not {got}")]
    NotBool {
        /// The whole condition.
        condition: String,
        /// What it gave, e.g. `a string`.
        got: String,
    },
}

fn at(path: &str) -> String {
    if path.is_empty() {
        return String::new();
    }
    format!("{path}: ")
}

impl TemplateError {
    /// The error that an expression ended in, with its place, if it was evaluated at all.
    pub fn eval_error(&self) -> Option<&EvalError> {
        match self {
            Self::Expression { why, .. } => match &**why {
                ExprError::Eval(why) => Some(why),
                ExprError::Parse(_) => None,
            },
            _ => None,
        }
    }

    /// Notices an expression that does not parse and was cut at an `end` of its own.
    fn cut_at(mut self, end: &'static str, after: &str) -> Self {
        let own = after.split("${").next().unwrap_or_default();
        if let Self::Expression {
            why, ends_early, ..
        } = &mut self
            && matches!(**why, ExprError::Parse(_))
            && own.contains(end)
        {
            *ends_early = Some(end);
        }
        self
    }

    /// The error and its reason as one text.
    pub fn full(&self) -> String {
        match self {
            Self::Expression {
                why, ends_early, ..
            } => {
                let hint = ends_early.map_or_else(String::new, |end| {
                    let (other, its_end) = DELIMITERS
                        .into_iter()
                        .find(|(_, known)| *known != end)
                        .unwrap_or_default();
                    format!(
                        "\nan expression ends at the first {end:?}: put one that contains it between {other} and {its_end}"
                    )
                });
                format!("{self}: {why}{hint}")
            }
            other => other.to_string(),
        }
    }
}

/// A value, and whether a secret went into it.
#[derive(Clone, Debug)]
pub struct Templated {
    /// The typed result.
    pub value: Value,
    /// True if `secret()`, `sharedSecret()` or a var marked as sensitive was read on the way.
    pub from_secret: bool,
}

/// Evaluates every string value in `json` (never keys) and gives the JSON that a step gets as config.
/// What came from secrets is in [`Env::secrets`] afterwards.
pub fn eval_json(json: &Json, env: &Env<'_>) -> Result<Json, TemplateError> {
    check_names(env)?;
    walk(json, env, "", evaluate_leaf)
}

/// The same for people's eyes: text stands in for what was made with a secret, with [`HIDDEN`] in place of each
/// expression that one went into.
pub fn eval_json_hiding(json: &Json, env: &Env<'_>) -> Result<Json, TemplateError> {
    check_names(env)?;
    walk(json, env, "", |text, env, path| {
        let spliced = splice(text, env, path)?;
        if spliced.from_secret {
            return Ok(Json::String(spliced.shown));
        }
        to_json(&retype::retype(&spliced.text), text, path)
    })
}

/// [`eval_json`] for JSON that is still text.
pub fn eval_json_text(text: &str, env: &Env<'_>) -> Result<Json, TemplateError> {
    check_names(env)?;
    let json: Json =
        serde_json::from_str(text).map_err(|why| TemplateError::NotJson(why.to_string()))?;
    walk(&json, env, "", evaluate_leaf)
}

fn evaluate_leaf(text: &str, env: &Env<'_>, path: &str) -> Result<Json, TemplateError> {
    let result = evaluate(text, env, path)?;
    to_json(&result.value, text, path)
}

/// Evaluates one string, e.g. a var.
pub fn eval_string(template: &str, env: &Env<'_>) -> Result<Templated, TemplateError> {
    check_names(env)?;
    evaluate(template, env, "")
}

/// Evaluates an `if`. Kargo accepts nothing but a bool.
pub fn eval_bool_condition(template: &str, env: &Env<'_>) -> Result<bool, TemplateError> {
    let value = eval_string(template, env)?.value;
    value.as_bool().ok_or_else(|| TemplateError::NotBool {
        condition: template.to_owned(),
        got: format!("a {}", value.type_name()),
    })
}

/// Whether the string contains the start of an expression.
pub fn is_template(text: &str) -> bool {
    next_start(text).is_some()
}

fn check_names(env: &Env<'_>) -> Result<(), TemplateError> {
    match RESERVED.iter().find(|name| env.has(name)) {
        Some(name) => Err(TemplateError::Reserved((*name).to_owned())),
        None => Ok(()),
    }
}

fn walk(
    json: &Json,
    env: &Env<'_>,
    path: &str,
    leaf: impl Copy + Fn(&str, &Env<'_>, &str) -> Result<Json, TemplateError>,
) -> Result<Json, TemplateError> {
    match json {
        Json::String(text) if is_template(text) => leaf(text, env, path),
        Json::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| walk(item, env, &format!("{path}[{index}]"), leaf))
            .collect::<Result<Vec<_>, _>>()
            .map(Json::Array),
        Json::Object(entries) => entries
            .iter()
            .map(|(key, value)| {
                let below = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                Ok((key.clone(), walk(value, env, &below, leaf)?))
            })
            .collect::<Result<Map<_, _>, _>>()
            .map(Json::Object),
        other => Ok(other.clone()),
    }
}

fn to_json(value: &Value, template: &str, path: &str) -> Result<Json, TemplateError> {
    let unwritable = |why: String| TemplateError::Unwritable {
        path: path.to_owned(),
        expression: template.to_owned(),
        why,
    };
    match value {
        Value::Float(number) => go::json::number(*number).map(Json::Number).ok_or_else(|| {
            let shown = go::numbers::print_float(*number);
            unwritable(format!("json: unsupported value: {shown}"))
        }),
        other => other.to_json().map_err(unwritable),
    }
}

fn evaluate(template: &str, env: &Env<'_>, path: &str) -> Result<Templated, TemplateError> {
    if !is_template(template) {
        return Ok(Templated {
            value: Value::from(template),
            from_secret: false,
        });
    }
    let Spliced {
        text, from_secret, ..
    } = splice(template, env, path)?;
    let value = retype::retype(&text);
    if from_secret {
        env.remember_result(&value);
    }
    Ok(Templated { value, from_secret })
}

/// What stands for a secret where people look.
pub const HIDDEN: &str = "***";

/// The text with every expression replaced by its result.
struct Spliced {
    text: String,
    /// The same without what secrets went into.
    shown: String,
    from_secret: bool,
}

impl Spliced {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.shown.push_str(text);
    }
}

fn splice(template: &str, env: &Env<'_>, path: &str) -> Result<Spliced, TemplateError> {
    let mut spliced = Spliced {
        text: String::new(),
        shown: String::new(),
        from_secret: false,
    };
    let mut rest = template;
    while let Some((start, (opening, end))) = next_start(rest) {
        let (before, opened) = rest.split_at(start);
        spliced.push(before);
        let body = opened.strip_prefix(opening).unwrap_or_default();
        let Some((expression, after)) = body.split_once(end) else {
            return Err(TemplateError::Unclosed {
                path: path.to_owned(),
                end,
            });
        };
        // Kargo takes an empty expression for the end of all expressions.
        if expression.is_empty() {
            rest = after;
            break;
        }
        env.take_touched();
        let result = run(expression, env, path).map_err(|error| error.cut_at(end, after));
        let touched = env.take_touched();
        let (value, written) = result?;
        if !env.may_write(written.len()) {
            return Err(TemplateError::TooLong {
                path: path.to_owned(),
                expression: expression.trim().to_owned(),
            });
        }
        if touched {
            env.remember_result(&value);
            spliced.from_secret = true;
            spliced.text.push_str(&written);
            spliced.shown.push_str(HIDDEN);
        } else {
            spliced.push(&written);
        }
        rest = after;
    }
    spliced.push(rest);
    Ok(spliced)
}

/// The first start of an expression, and its delimiters. Looks at no byte twice, however many there are.
fn next_start(text: &str) -> Option<(usize, (&'static str, &'static str))> {
    text.match_indices("${").find_map(|(start, _)| {
        let (_, from) = text.split_at(start);
        let delimiter = DELIMITERS
            .iter()
            .find(|(opening, _)| from.starts_with(opening))?;
        Some((start, *delimiter))
    })
}

fn run(expression: &str, env: &Env<'_>, path: &str) -> Result<(Value, String), TemplateError> {
    let failed = |why: ExprError| TemplateError::Expression {
        path: path.to_owned(),
        expression: expression.trim().to_owned(),
        why: Box::new(why),
        ends_early: None,
    };
    let program = program::parse(expression).map_err(|why| failed(why.into()))?;
    let value = program.eval_in_template(env).map_err(|why| {
        let touched = env.take_touched();
        let why = if touched {
            conceal::error(why, expression)
        } else {
            why
        };
        failed(why.into())
    })?;
    let text = value.to_text().map_err(|why| TemplateError::Unwritable {
        path: path.to_owned(),
        expression: expression.trim().to_owned(),
        why,
    })?;
    Ok((value, text))
}

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;
