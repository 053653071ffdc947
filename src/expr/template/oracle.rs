//! Every template that the oracle in `tests/oracle` gave a value or an error to.

use serde_json::{Value as Json, json};

use super::{eval_json, eval_string};
use crate::expr::{Env, Value, show};

const RESULTS: &str = include_str!("../../../tests/oracle/templates.json");

/// Where ours differs, and why ours is right.
const DIFFERENT: [(&str, &str); 1] = [(
    "functions/asYAML/34",
    "Go puts quotes and, inside a text, indentation around U+2028, which a YAML 1.2 reader takes for part of the text",
)];

fn float(text: &str) -> f64 {
    match text {
        "NaN" => f64::NAN,
        "+Inf" => f64::INFINITY,
        "-Inf" => f64::NEG_INFINITY,
        other => other.parse().unwrap(),
    }
}

/// The same value of the same type, down to the sign of a zero. Every number of a template is a float.
fn same(got: &Value, want: &Json) -> bool {
    match (got, want) {
        (Value::Nil, Json::Null) => true,
        (Value::Bool(got), Json::Bool(want)) => got == want,
        (Value::Str(got), Json::String(want)) => **got == **want,
        (Value::Float(got), Json::Number(want)) => {
            got.to_bits() == float(&want.to_string()).to_bits()
        }
        (Value::Float(got), Json::Object(tagged)) => tagged
            .get("$float")
            .and_then(Json::as_str)
            .is_some_and(|want| got.total_cmp(&float(want)).is_eq()),
        (Value::List(got), Json::Array(want)) => {
            let items = got.items();
            items.len() == want.len() && items.iter().zip(want).all(|(got, want)| same(got, want))
        }
        (Value::Map(got), Json::Object(want)) => {
            got.entries().len() == want.len()
                && want
                    .iter()
                    .all(|(key, want)| got.get(key).is_some_and(|got| same(got, want)))
        }
        _ => false,
    }
}

fn env(row: &Json) -> Env<'static> {
    let mut env = Env::new();
    for (name, value) in row["env"].as_object().into_iter().flatten() {
        env.set(name, Value::from_json(value));
    }
    env
}

fn check(row: &Json) -> Result<(), String> {
    let template = row["template"].as_str().unwrap();
    let result = eval_string(template, &env(row));
    if let Some(error) = row["error"].as_str() {
        return match result {
            Ok(got) => Err(format!("{:?} where Go fails: {error}", got.value)),
            Err(_) => Ok(()),
        };
    }
    let got = result.map_err(|why| format!("{} where Go gives {}", why.full(), row["value"]))?;
    if show::kind(&got.value) != row["type"] || !same(&got.value, &row["value"]) {
        return Err(format!("{:?} where Go gives {}", got.value, row["value"]));
    }
    let config = eval_json(&json!({ "x": template }), &env(row));
    match (config, row["unwritable"].as_str()) {
        (Ok(_), None) | (Err(_), Some(_)) => Ok(()),
        (Ok(config), Some(why)) => Err(format!("configuration {config} where Go fails: {why}")),
        (Err(why), None) => Err(format!("no configuration: {}", why.full())),
    }
}

#[test]
fn templates_give_what_go_gives() {
    let rows: Vec<Json> = serde_json::from_str(RESULTS).unwrap();
    assert!(rows.len() >= 250, "{}", rows.len());
    let (mut failures, mut stale) = (Vec::new(), Vec::new());
    for row in &rows {
        let id = row["id"].as_str().unwrap();
        let excused = DIFFERENT.iter().any(|(known, _)| *known == id);
        match check(row) {
            Err(why) if !excused => failures.push(format!("{id}: {}\n    {why}", row["template"])),
            Ok(()) if excused => stale.push(id),
            _ => {}
        }
    }
    let agree = rows.len() - failures.len() - DIFFERENT.len();
    println!("oracle templates: {agree} of {} agree", rows.len());
    assert!(stale.is_empty(), "these agree by now: {stale:?}");
    assert!(
        failures.is_empty(),
        "{} differ:\n{}",
        failures.len(),
        failures.join("\n")
    );
}
