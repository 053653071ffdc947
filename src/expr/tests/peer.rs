//! expr-lang's own tables: `expr-builtin.json` and `expr-generated.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::expr::value::{Key, Map, MapKind, Value};
use crate::expr::{Env, evaluate};

/// The cases of a table, or `None` with a word about it where the data is absent.
pub(super) fn table(name: &str) -> Option<Vec<Json>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/peer");
    let path = PathBuf::from(folder).join(name);
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: no peer data at {}", path.display());
        return None;
    };
    Some(serde_json::from_str(&text).unwrap())
}

/// JSON of a table as a value: `{"$pairs": ..}` is a map with other keys than text.
pub(super) fn value(json: &Json) -> Value {
    match json {
        Json::Array(items) => Value::list(items.iter().map(value).collect()),
        Json::Object(entries) if entries.contains_key("$pairs") => {
            let pairs = entries["$pairs"].as_array().unwrap();
            let entries = pairs
                .iter()
                .map(|pair| (Key::from_value(&value(&pair[0])).unwrap(), value(&pair[1])))
                .collect();
            Value::Map(Arc::new(Map::new(MapKind::Keyed, entries)))
        }
        Json::Object(entries) => Value::map(
            entries
                .iter()
                .map(|(key, json)| (key.as_str(), value(json))),
        ),
        other => Value::from_json(other),
    }
}

fn typed(json: &Json, go_type: Option<&str>) -> Value {
    match (go_type, json) {
        (Some("map[string]string"), Json::Object(entries)) => Value::texts(
            entries
                .iter()
                .map(|(key, text)| (key.as_str(), text.as_str().unwrap())),
        ),
        (Some("[]byte"), Json::Array(items)) => Value::Bytes(
            items
                .iter()
                .map(|byte| byte.as_u64().unwrap() as u8)
                .collect(),
        ),
        _ => value(json),
    }
}

fn env(case: &Json) -> Env<'static> {
    let mut env = Env::new();
    for (name, json) in case["env"].as_object().unwrap() {
        let mut given = typed(json, case["envTypes"][name].as_str());
        // Types of members: only maps of text read differently.
        if let Json::Object(entries) = json
            && !matches!(case["envTypes"][name].as_str(), Some("map[string]string"))
        {
            given = Value::map(entries.iter().map(|(key, json)| {
                let path = format!("{name}.{key}");
                (key.as_str(), typed(json, case["envTypes"][&path].as_str()))
            }));
        }
        env.set(name, given);
    }
    env
}

/// The same value and the same kind of number.
fn same(got: &Value, want: &Value) -> bool {
    match (got, want) {
        (Value::Int(_), Value::Float(_)) | (Value::Float(_), Value::Int(_)) => false,
        (Value::List(got), Value::List(want)) => {
            got.items().len() == want.items().len()
                && got
                    .items()
                    .iter()
                    .zip(want.items())
                    .all(|(g, w)| same(g, w))
        }
        (Value::Map(got), Value::Map(want)) => {
            got.entries().len() == want.entries().len()
                && got
                    .entries()
                    .iter()
                    .zip(want.entries())
                    .all(|((g_key, g), (w_key, w))| g_key == w_key && same(g, w))
        }
        (Value::Float(got), Value::Float(want)) => (got - want).abs() < 1e-12,
        _ => got == want,
    }
}

fn wanted(case: &Json) -> Value {
    let want = &case["want"];
    match case["wantType"].as_str() {
        Some("time.Duration") => Value::Duration(want.as_i64().unwrap()),
        Some("[]byte") => typed(want, Some("[]byte")),
        Some("time.Time") => {
            let instant: jiff::Timestamp = want.as_str().unwrap().parse().unwrap();
            Value::Time(instant.to_zoned(jiff::tz::TimeZone::UTC).into())
        }
        _ => value(want),
    }
}

/// Why a case does not hold, if it does not.
fn check(case: &Json) -> Result<(), String> {
    let source = case["expr"].as_str().unwrap();
    let env = env(case);
    let got = evaluate(source, &env);
    if let Some(error) = case["error"].as_str() {
        let message = match got {
            Ok(value) => return Err(format!("no error but {value:?}")),
            Err(why) => why.to_string(),
        };
        let error = error.replace("  (", " (");
        let holds = match case["errorMatch"].as_str().unwrap() {
            "exact" => message == error,
            "contains" => message.contains(&error),
            _ => true,
        };
        return if holds {
            Ok(())
        } else {
            Err(format!("{message:?} instead of {error:?}"))
        };
    }
    let got = got.map_err(|why| why.to_string())?;
    if let Some(other) = case["sameAs"].as_str() {
        let other = evaluate(other, &env).map_err(|why| why.to_string())?;
        return if same(&got, &other) {
            Ok(())
        } else {
            Err(format!("{got:?} but {other:?}"))
        };
    }
    if let Some(go_type) = case["wantTypeOnly"].as_str() {
        return if got.type_name() == go_type {
            Ok(())
        } else {
            Err(format!("a {}", got.type_name()))
        };
    }
    let want = wanted(case);
    if same(&got, &want) {
        Ok(())
    } else {
        Err(format!("{got:?} instead of {want:?}"))
    }
}

/// Runs the cases and compares those that do not hold with the list of known differences.
fn compare(cases: &[Json], known: &[(&str, &str)]) {
    let known: BTreeMap<&str, &str> = known.iter().copied().collect();
    let mut unknown = Vec::new();
    let mut differing = BTreeSet::new();
    for case in cases {
        let id = case["id"].as_str().unwrap();
        let Err(why) = check(case) else { continue };
        differing.insert(id);
        if !known.contains_key(id) {
            unknown.push(format!("{id}\n    {}\n    {why}", case["expr"]));
        }
    }
    let stale: Vec<_> = known.keys().filter(|id| !differing.contains(*id)).collect();
    assert!(stale.is_empty(), "no longer different: {stale:?}");
    assert!(
        unknown.is_empty(),
        "{} of {} cases differ:\n{}",
        unknown.len(),
        cases.len(),
        unknown.join("\n")
    );
}

const NO_TYPES: &str = "needs the environment's types: Kargo compiles without them, and so do we";
const UNKNOWN_NAME: &str = "an unknown name is nil where the environment's types are not known";
const WORDING: &str = "another wording of the same error";

const KNOWN: &[(&str, &str)] = &[
    (
        "builtin.builtin/TestBuiltin_type/5",
        "there are no unsigned ints here",
    ),
    ("expr/TestExpr_error/1", WORDING),
    ("expr/TestIssue138/1", WORDING),
    ("checker.checker/TestCheck_error/51", WORDING),
    ("checker.checker/TestCheck_builtin_without_call/1", WORDING),
    ("checker.checker/TestCheck_builtin_without_call/2", WORDING),
    ("checker.checker/TestCheck_error/1", UNKNOWN_NAME),
    ("checker.checker/TestCheck_error/2", UNKNOWN_NAME),
    ("checker.checker/TestCheck_error/3", UNKNOWN_NAME),
    ("checker.checker/TestCheck_error/4", UNKNOWN_NAME),
    ("checker.checker/TestCheck_error/5", UNKNOWN_NAME),
    ("checker.checker/TestCheck_error/6", UNKNOWN_NAME),
    ("checker.checker/TestCheck_error/12", UNKNOWN_NAME),
    ("checker.checker/TestCheck_error/13", UNKNOWN_NAME),
    ("checker.checker/TestCheck_error/14", UNKNOWN_NAME),
    ("checker.checker/TestCheck_error/15", UNKNOWN_NAME),
    ("checker.checker/TestCheck_error/20", UNKNOWN_NAME),
    ("checker.checker/TestCheck_error/35", NO_TYPES),
    ("checker.checker/TestCheck_error/36", NO_TYPES),
    ("checker.checker/TestCheck_error/47", NO_TYPES),
    ("checker.checker/TestCheck_error/50", NO_TYPES),
    ("checker.checker/TestCheck_error/55", NO_TYPES),
];

#[test]
fn expr_lang_table_holds() {
    if let Some(cases) = table("expr-builtin.json") {
        compare(&cases, KNOWN);
    }
}

#[test]
fn generated_expressions_run() {
    let Some(cases) = table("expr-generated.json") else {
        return;
    };
    let mut failures = Vec::new();
    for case in &cases {
        if let Err(why) = evaluate(case["expr"].as_str().unwrap(), &env(case)) {
            failures.push(format!("{}\n    {}\n    {why}", case["id"], case["expr"]));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} fail:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}
