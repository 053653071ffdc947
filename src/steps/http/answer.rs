//! An answer as expressions see it, and what follows from it.

use std::{collections::BTreeMap, fmt, sync::Arc};

use jiff::Zoned;
use reqwest::{StatusCode, header::HeaderMap};

use crate::{
    engine::step::StepError,
    expr::{self, Env, Program, Value, value::Object},
    steps::{json_parse, yaml_parse},
};

/// How a body is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As JSON; also what has no type that is known.
    Json,
    /// As YAML.
    Yaml,
    /// Not at all.
    Text,
}

impl Mode {
    /// For a media type, with or without parameters.
    pub fn of(content_type: &str) -> Self {
        match media_type(content_type).as_str() {
            "application/yaml" | "text/yaml" | "application/x-yaml" => Self::Yaml,
            "text/plain" => Self::Text,
            _ => Self::Json,
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Json => "json",
            Self::Yaml => "yaml",
            Self::Text => "text",
        })
    }
}

fn media_type(content_type: &str) -> String {
    let media = content_type.split(';').next().unwrap_or_default();
    media.trim().to_ascii_lowercase()
}

/// `response` in an expression.
#[derive(Clone, Debug)]
pub struct Answer {
    status: StatusCode,
    headers: BTreeMap<String, Vec<String>>,
    body: Value,
}

impl Answer {
    /// Reads the body as `as_type` says, or else as its own header does.
    pub fn read(
        status: StatusCode,
        headers: &HeaderMap,
        bytes: &[u8],
        as_type: &str,
    ) -> Result<Self, StepError> {
        let mut named: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in headers {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            let values = named.entry(canonical(name.as_str())).or_default();
            values.push(value);
        }
        let own = named.get("Content-Type").and_then(|values| values.first());
        let content_type = match as_type {
            "" => own.map_or("", String::as_str),
            given => given,
        };
        let body = body(bytes, content_type)?;
        Ok(Self {
            status,
            headers: named,
            body,
        })
    }

    /// Its status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    fn env(&self) -> Env<'static> {
        Env::new()
            .with("response", Value::Object(Arc::new(self.clone())))
            .at(Zoned::now())
    }

    /// What `expression` gives. `what` names it in errors: `success expression`.
    pub fn value(&self, what: &str, expression: &str) -> Result<Value, StepError> {
        compiled(what, expression)?
            .eval(&self.env())
            .map_err(|error| {
                StepError::errored(format!("error evaluating {what} {expression:?}")).because(error)
            })
    }

    /// What `expression` decides; none where there is none.
    pub fn holds(&self, what: &str, expression: &str) -> Result<Option<bool>, StepError> {
        if expression.is_empty() {
            return Ok(None);
        }
        let value = self.value(what, expression)?;
        let holds = value.as_bool().ok_or_else(|| {
            StepError::errored(format!(
                "{what} {expression:?} did not evaluate to a boolean: it gave {}",
                value.type_name()
            ))
        })?;
        Ok(Some(holds))
    }

    /// `base`, with what the error expression finds in the answer, if it finds words.
    pub fn explained(&self, base: String, expression: &str) -> Result<String, StepError> {
        if expression.is_empty() {
            return Ok(base);
        }
        let found = compiled("error expression", expression)?.eval(&self.env());
        Ok(match found.as_ref().ok().and_then(Value::as_str) {
            Some(words) if !words.is_empty() => format!("{base}: {words:?}"),
            _ => base,
        })
    }
}

/// The expression, parsed; a mistake in it is one in the configuration.
pub fn compiled(what: &str, expression: &str) -> Result<Program, StepError> {
    expr::parse(expression).map_err(|error| {
        StepError::config(format!("error compiling {what} {expression:?}")).because(error)
    })
}

fn body(bytes: &[u8], content_type: &str) -> Result<Value, StepError> {
    let nothing = || Value::map(Vec::<(&str, Value)>::new());
    if bytes.is_empty() {
        return Ok(match Mode::of(content_type) {
            Mode::Text => Value::from(""),
            Mode::Json | Mode::Yaml => nothing(),
        });
    }
    let mode = Mode::of(content_type);
    let text = String::from_utf8_lossy(bytes);
    let read = match mode {
        Mode::Text => return Ok(Value::from(text.as_ref())),
        Mode::Yaml => yaml_parse::read(&text),
        Mode::Json => json_parse::read(&text),
    };
    match read {
        // A page for people, most often.
        Err(_) if mode == Mode::Json && media_type(content_type) != "application/json" => {
            Ok(nothing())
        }
        read => read.map_err(|why| {
            StepError::errored(format!(
                "the answer's body is not the {mode} that its type says"
            ))
            .because(why)
            .hint("responseContentType: text/plain takes it as it is")
        }),
    }
}

/// `Content-Type`, as Go spells the names of headers.
fn canonical(name: &str) -> String {
    let mut first = true;
    let spell = |c: char| {
        let spelt = if first {
            c.to_ascii_uppercase()
        } else {
            c.to_ascii_lowercase()
        };
        first = c == '-';
        spelt
    };
    name.chars().map(spell).collect()
}

impl Object for Answer {
    fn type_name(&self) -> &str {
        "map[string]interface {}"
    }

    fn field(&self, name: &str) -> Option<Value> {
        match name {
            "status" => Some(Value::Int(self.status.as_u16().into())),
            "body" => Some(self.body.clone()),
            "headers" => Some(Value::map(self.headers.iter().map(|(name, values)| {
                let values = values.iter().map(|value| Value::from(value.as_str()));
                (name.as_str(), Value::list(values.collect()))
            }))),
            // As in the map that Kargo has.
            _ => Some(Value::Nil),
        }
    }

    fn call(&self, method: &str, arguments: &[Value]) -> Option<Result<Value, String>> {
        if method != "header" {
            return None;
        }
        let [name] = arguments else {
            return Some(Err("header takes the name of one header".into()));
        };
        let Some(name) = name.as_str() else {
            return Some(Err(
                "header takes the name of a header, which is a text".into()
            ));
        };
        let values = self.headers.get(&canonical(name));
        let first = values.and_then(|values| values.first());
        Some(Ok(Value::from(first.map_or("", String::as_str))))
    }

    fn marshal(&self) -> Value {
        let fields = ["status", "headers", "body"];
        Value::map(
            fields
                .into_iter()
                .filter_map(|name| Some((name, self.field(name)?))),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(headers: &[(&'static str, &str)], body: &str, as_type: &str) -> Answer {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        Answer::read(StatusCode::OK, &map, body.as_bytes(), as_type).unwrap()
    }

    #[test]
    fn an_answer_is_seen_as_in_kargo() {
        let json = [
            ("content-type", "application/json"),
            ("x-a", "1"),
            ("x-a", "2"),
        ];
        let seen = answer(&json, r#"{"a": [1, {"b": "x"}], "n": null}"#, "");
        for (expression, expected) in [
            ("response.status == 200", "true"),
            ("response.header('x-A')", "\"1\""),
            ("response.header('absent')", "\"\""),
            ("response.headers['X-A'][1]", "\"2\""),
            ("response.body.a[1].b", "\"x\""),
            ("response.body.a[0]", "1"),
            ("response.body?.n?.more ?? 'none'", "\"none\""),
            ("type(response.body.a[0])", "\"float\""),
            ("response['status']", "200"),
            ("response.absent", "null"),
        ] {
            let value = seen.value("output expression", expression).unwrap();
            assert_eq!(
                value.to_json().unwrap().to_string(),
                expected,
                "{expression}"
            );
        }
    }

    #[test]
    fn bodies_are_read_by_their_type() {
        let html = [("content-type", "text/html")];
        for (headers, body, as_type, expected) in [
            (&html[..], "<p>", "", "{}"),
            (&html[..], "", "", "{}"),
            (&html[..], "[1]", "", "[1]"),
            (&html[..], "a: 1", "application/yaml", "{\"a\":1}"),
            (&html[..], "1", "text/plain", "\"1\""),
            (&[][..], "null", "", "null"),
        ] {
            let seen = answer(headers, body, as_type);
            let value = seen.value("output expression", "response.body").unwrap();
            assert_eq!(value.to_json().unwrap().to_string(), expected, "{body}");
        }
        let mut map = HeaderMap::new();
        map.insert("content-type", "application/json".parse().unwrap());
        let error = Answer::read(StatusCode::OK, &map, b"<p>", "").unwrap_err();
        assert!(error.sentence().contains("json"), "{}", error.sentence());
    }

    #[test]
    fn bodies_made_to_harm_are_refused() {
        let deep = "[".repeat(100_000);
        let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for at in 1..12 {
            let all = vec![format!("*a{}", at - 1); 9].join(", ");
            laughs.push_str(&format!("a{at}: &a{at} [{all}]\n"));
        }
        for (body, as_type) in [
            (deep.as_str(), "application/json"),
            (deep.as_str(), "application/yaml"),
            (laughs.as_str(), "application/yaml"),
        ] {
            let read = Answer::read(StatusCode::OK, &HeaderMap::new(), body.as_bytes(), as_type);
            assert!(read.is_err(), "{as_type}");
        }
    }
}
