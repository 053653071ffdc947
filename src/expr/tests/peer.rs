//! expr-lang's own table, `expr-builtin.json`; `oracle` compares the values of `expr-generated.json`.

use std::collections::BTreeMap;
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

/// Why a row says nothing about us, by its own fields: Kargo compiles without the variables' types.
fn does_not_apply(case: &Json) -> Option<&'static str> {
    let checked = case["typedEnv"] == true && case["errorStage"] == "check";
    let variables = case["env"].as_object().is_some_and(|env| !env.is_empty());
    let unknown = case["error"]
        .as_str()
        .unwrap_or_default()
        .starts_with("unknown name");
    if checked && unknown {
        return Some("unknown names are told only where the names are known before");
    }
    if checked && variables {
        return Some("the mistake shows only by the variables' types");
    }
    let unsigned = |go_type: &Json| go_type.as_str().is_some_and(|name| name.contains("uint"));
    let types = case["envTypes"].as_object();
    if case["expr"].as_str().unwrap().contains("type(")
        && types.is_some_and(|types| types.values().any(unsigned))
    {
        return Some("no variable of ours is of that Go type");
    }
    None
}

const FUNCTION_TYPE: &str = "another name of a function's type in the message";

const UNCHECKED: &str = "the source runs it unchecked, which Kargo never does";

const DIFFERENT: &[(&str, &str)] = &[
    (
        "checker.checker/TestCheck_builtin_without_call/2",
        FUNCTION_TYPE,
    ),
    ("expr/TestEval_exposed_error/1", UNCHECKED),
    ("expr/TestIssue785_get_nil/1", UNCHECKED),
];

#[test]
fn expr_lang_table_holds() {
    let Some(cases) = table("expr-builtin.json") else {
        return;
    };
    let (mut beside, mut total, mut differing) = (BTreeMap::new(), 0, Vec::new());
    for case in &cases {
        if let Some(reason) = does_not_apply(case) {
            *beside.entry(reason).or_insert(0) += 1;
            continue;
        }
        total += 1;
        if let Err(why) = check(case) {
            let id = case["id"].as_str().unwrap();
            differing.push((id, format!("{id}\n    {}\n    {why}", case["expr"])));
        }
    }
    let agreeing = total - differing.len();
    println!("expr-builtin: {agreeing} of {total} agree; do not apply: {beside:?}");
    let known = |id: &str| DIFFERENT.iter().any(|(known, _)| *known == id);
    let unknown: Vec<_> = differing.iter().filter(|(id, _)| !known(id)).collect();
    assert!(unknown.is_empty(), "{} differ: {unknown:#?}", unknown.len());
    let stale: Vec<_> = (DIFFERENT.iter())
        .filter(|(known, _)| !differing.iter().any(|(id, _)| id == known))
        .collect();
    assert!(stale.is_empty(), "no longer different: {stale:?}");
    assert!(agreeing * 100 >= total * 99);
}
