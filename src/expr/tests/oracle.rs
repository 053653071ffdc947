//! What the original engine says, recorded by `tests/oracle`, against what we say.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};

use crate::expr::go::{dates, durations};
use crate::expr::value::{MapKind, Value};
use crate::expr::{Env, ExprError, evaluate};

use super::peer;

mod differences;

/// One of the oracle's files.
pub(super) fn recorded(name: &str) -> Json {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle");
    let text = fs::read_to_string(PathBuf::from(folder).join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn unpacked(text: &Json) -> Vec<u8> {
    STANDARD.decode(text.as_str().unwrap()).unwrap()
}

/// A variable as the corpora write it; `value.go` there explains the tags.
pub(super) fn value(json: &Json) -> Value {
    match json {
        Json::Array(items) => Value::list(items.iter().map(value).collect()),
        Json::Object(entries) => match entries.iter().next() {
            Some((tag, inner)) if tag.starts_with('$') => tagged(tag, inner),
            _ => Value::map(entries.iter().map(|(key, inner)| (&**key, value(inner)))),
        },
        other => Value::from_json(other),
    }
}

fn tagged(tag: &str, inner: &Json) -> Value {
    let text = || inner.as_str().unwrap();
    match tag {
        "$texts" => Value::texts(
            (inner.as_object().unwrap().iter()).map(|(key, text)| (&**key, text.as_str().unwrap())),
        ),
        "$int" => Value::Int(text().parse().unwrap()),
        "$float" => Value::Float(text().parse().unwrap()),
        "$bytes" => Value::Bytes(unpacked(inner).into()),
        "$duration" => Value::Duration(durations::parse(text()).unwrap()),
        "$time" => Value::Time(
            dates::parse(
                text(),
                "2006-01-02T15:04:05Z07:00",
                &jiff::tz::TimeZone::UTC,
            )
            .unwrap()
            .into(),
        ),
        other => panic!("no such value: {other}"),
    }
}

/// Our value as the oracle writes it.
pub(super) fn written(value: &Value) -> Json {
    match value {
        Value::Nil => Json::Null,
        Value::Bool(flag) => json!(flag),
        Value::Int(number) => json!(number),
        Value::Float(number) if number.is_finite() => json!(number),
        Value::Float(number) if number.is_nan() => json!({"$float": "NaN"}),
        Value::Float(number) => json!({"$float": if *number > 0.0 { "+Inf" } else { "-Inf" }}),
        Value::Str(text) => json!(&**text),
        Value::Bytes(bytes) => json!({"$bytes": STANDARD.encode(bytes)}),
        Value::List(list) => list.items().iter().map(written).collect(),
        Value::Map(map) if map.kind() == MapKind::Keyed => {
            let pairs = map.entries().iter();
            let pairs: Vec<Json> = pairs
                .map(|(key, inner)| json!([written(&key.to_value()), written(inner)]))
                .collect();
            json!({"$pairs": pairs})
        }
        Value::Map(map) => {
            let entries = map.entries().iter().map(|(key, inner)| {
                let key = key.to_value();
                (key.as_str().unwrap().to_owned(), written(inner))
            });
            Json::Object(entries.collect())
        }
        Value::Time(time) => json!({"$time": dates::print(time)}),
        Value::Duration(length) => json!({"$duration": durations::print(*length)}),
        // Months and days of the week are numbers to JSON.
        Value::Object(object) => written(&object.marshal()),
        Value::Zone(zone) => json!({"$zone": dates::zone_name(zone)}),
        other => json!({"$go": other.type_name()}),
    }
}

/// One text per value: maps in order, ints and floats apart, `-0.0` and `0.0` too.
fn canonical(json: &Json) -> String {
    match json {
        Json::Array(items) => {
            let items: Vec<String> = items.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        Json::Object(entries) => {
            let mut parts: Vec<String> = match entries.get("$pairs") {
                Some(pairs) => pairs.as_array().unwrap().iter().map(canonical).collect(),
                None => (entries.iter())
                    .map(|(key, inner)| format!("{key:?}:{}", canonical(inner)))
                    .collect(),
            };
            parts.sort();
            format!("{{{}}}", parts.join(","))
        }
        other => other.to_string(),
    }
}

/// The environments by name.
fn environments() -> BTreeMap<String, Json> {
    let mut all: BTreeMap<String, Json> = serde_json::from_value(recorded("envs.json")).unwrap();
    all.insert(String::new(), json!({}));
    all
}

fn env(variables: &Json) -> Env<'static> {
    let mut env = Env::new().at("2026-03-01T12:00:00Z[UTC]".parse().unwrap());
    for (name, json) in variables.as_object().unwrap() {
        env.set(name, value(json));
    }
    env
}

/// What became of comparing a file of answers with ours.
#[derive(Default)]
struct Comparison {
    total: usize,
    differing: Vec<(String, String)>,
    errors: usize,
    same_message: usize,
    same_stage: usize,
}

impl Comparison {
    fn compare(&mut self, entry: &Json, source: &str, env: &Env<'_>) {
        self.total += 1;
        let got = evaluate(source, env);
        if let Some(message) = entry["error"].as_str() {
            self.errors += 1;
            return match got {
                Err(why) => self.same_error(entry, message, &why),
                Ok(value) => self.differs(entry, source, &written(&value), &json!(message)),
            };
        }
        let want = &entry["value"];
        let got = match got {
            Ok(value) => written(&value),
            Err(why) => json!({ "error": why.to_string() }),
        };
        // A list that Go never made: nothing to one eye, empty to another.
        let nothing = want.get("$nil").is_some() && (got.is_null() || got == json!([]));
        if !nothing && canonical(&got) != canonical(want) {
            self.differs(entry, source, &got, want);
        }
    }

    fn same_error(&mut self, entry: &Json, message: &str, why: &ExprError) {
        let stage = match why {
            ExprError::Parse(_) => "compile",
            ExprError::Eval(_) => "run",
        };
        self.same_stage += usize::from(entry["stage"] == stage);
        let ours = why.to_string();
        let same = ours.lines().next() == message.lines().next();
        self.same_message += usize::from(same);
        if !same && std::env::var_os("ORACLE_MESSAGES").is_some() {
            println!(
                "{}\n    theirs {message}\n    ours   {ours:.200}",
                entry["expr"]
            );
        }
    }

    fn differs(&mut self, entry: &Json, source: &str, got: &Json, want: &Json) {
        let id = entry["id"].as_str().unwrap().to_owned();
        let why = format!("{source}\n    ours   {got}\n    theirs {want}");
        self.differing.push((id, why));
    }

    /// At least 99 % agree, the rest is known and explained, and nothing that agrees is explained.
    fn settle(&self, name: &str, known: &[(&str, &str)]) {
        let agreeing = self.total - self.differing.len();
        println!("{name}: {agreeing} of {} agree", self.total);
        println!(
            "{name}: of {} errors {} come at the same stage, {} in the same words",
            self.errors, self.same_stage, self.same_message
        );
        let stale: Vec<_> = (known.iter())
            .filter(|(id, _)| !self.differing.iter().any(|(found, _)| found == id))
            .collect();
        let unknown: Vec<_> = (self.differing.iter())
            .filter(|(found, _)| !known.iter().any(|(id, _)| id == found))
            .map(|(id, why)| format!("{id}: {why}"))
            .collect();
        assert!(
            unknown.is_empty(),
            "{} differ:\n{}",
            unknown.len(),
            unknown.join("\n")
        );
        assert!(stale.is_empty(), "no longer different: {stale:?}");
        assert!(agreeing * 100 >= self.total * 99, "fewer than 99 % agree");
    }
}

#[test]
fn the_language_is_the_same() {
    let environments = environments();
    let environments: BTreeMap<_, _> = (environments.iter())
        .map(|(name, variables)| (name.as_str(), env(variables)))
        .collect();
    let mut comparison = Comparison::default();
    for entry in recorded("language.json").as_array().unwrap() {
        let env = &environments[entry["env"].as_str().unwrap()];
        comparison.compare(entry, entry["expr"].as_str().unwrap(), env);
    }
    comparison.settle("oracle language", differences::LANGUAGE);
}

#[test]
fn generated_expressions_have_the_same_values() {
    let Some(cases) = peer::table("expr-generated.json") else {
        return;
    };
    let answers = recorded("generated.json");
    let answers: BTreeMap<_, _> = (answers.as_array().unwrap().iter())
        .map(|answer| (answer["id"].as_str().unwrap(), answer))
        .collect();
    let mut comparison = Comparison::default();
    for case in &cases {
        let answer = answers[case["id"].as_str().unwrap()];
        comparison.compare(answer, case["expr"].as_str().unwrap(), &env(&case["env"]));
    }
    comparison.settle("expr-generated", differences::GENERATED);
}
