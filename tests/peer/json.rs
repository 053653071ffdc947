//! The JSON editor and its step, and what parse steps read and put out.

use serde_json::{Value, json};
use tidewaiter::{
    expr::{self, Env},
    steps::{
        json_parse,
        outputs::{self, Output},
        toml, toml_parse, yaml_parse,
    },
};

use crate::{bench::Bench, *};

#[test]
fn json_files_are_edited_alike() {
    let Some(rows) = rows("kargo-json.json") else {
        return;
    };
    let compared = compare(
        &rows,
        |row| text(row, "op") == "set-file",
        |row| set_file(row, "json-update", "config.json"),
    );
    assert_eq!(compared, 11);
    // The key syntax that Kargo shares between YAML and TOML.
    let compared = compare(
        &rows,
        |row| text(row, "op") == "split-key",
        |row| match toml::key::split(text(row, "key")) {
            Ok(parts) => same("parts", json!(parts), row["out"].clone()),
            Err(error) => said(text(row, "id"), &error.to_string(), &row["error"]),
        },
    );
    assert_eq!(compared, 10);
    print_share("kargo-json", &rows);
}

/// Runs an update step on one file; also for TOML.
pub fn set_file(row: &Value, uses: &str, default: &str) -> Result<(), String> {
    let (mut bench, updates) = (Bench::new(), &row["updates"]);
    let path = row["path"].as_str().unwrap_or(default);
    if let Some(text) = row["in"].as_str() {
        bench.put(path, text);
    }
    let entries: Vec<Value> = updates
        .as_array()
        .into_iter()
        .flatten()
        .map(|update| json!({"key": update["key"], "value": update["value"]}))
        .collect();
    let config = json!({"path": path, "updates": entries});
    if entries.is_empty() {
        // Kargo's test calls the step below its check, which refuses this.
        let refused = bench
            .check(uses, &config)
            .iter()
            .any(|problem| problem.contains("at least 1 items"));
        return same("refused", refused, true);
    }
    let result = bench.run(uses, &config);
    if row["status"].is_string() {
        same("status", ended(&result), text(row, "status"))?;
    }
    let outcome = match result {
        Err(error) => return said(text(row, "id"), &error.sentence(), &row["error"]),
        Ok(outcome) => outcome,
    };
    if row["commitMessage"].is_string() {
        same(
            "message",
            &outcome.output["commitMessage"],
            &row["commitMessage"],
        )?;
    }
    for wanted in row["outAt"].as_array().into_iter().flatten() {
        let file: Value = serde_json::from_str(&bench.get(path)).unwrap();
        let found = at(&file, wanted["key"].as_array().unwrap());
        same("value", &found, &wanted["value"])?;
    }
    left_behind(
        &mut bench,
        &json!({path: {
            "jsonEquals": row["outJsonEquals"],
            "contains": row["outContains"],
            "reads": row["out"],
        }}),
    )
}

fn read(step: &str, text: &str) -> Result<expr::Value, String> {
    match step {
        "json-parse" => json_parse::read(text),
        "toml-parse" => toml_parse::read(text),
        _ => yaml_parse::read(text),
    }
}

/// Ints stay apart from floats here.
fn typed(value: &expr::Value, wanted: &Value, kinds: &Value, path: &str) -> Result<(), String> {
    match (value, wanted) {
        (expr::Value::Map(map), Value::Object(fields)) => {
            same(path, map.entries().len(), fields.len())?;
            fields.iter().try_for_each(|(key, wanted)| {
                let dot = if path.is_empty() { "" } else { "." };
                let below = map.get(key).ok_or(format!("no {key}"))?;
                typed(below, wanted, kinds, &format!("{path}{dot}{key}"))
            })
        }
        (expr::Value::List(list), Value::Array(items)) => {
            same(path, list.items().len(), items.len())?;
            let mut pairs = list.items().iter().zip(items).enumerate();
            pairs.try_for_each(|(index, (value, wanted))| {
                typed(value, wanted, kinds, &format!("{path}[{index}]"))
            })
        }
        (value, wanted) => {
            let kind = value.type_name();
            match kinds[path].as_str() {
                Some(wanted) if wanted.trim_end_matches("64") != kind.trim_end_matches("64") => {
                    Err(format!("{path} is {kind}, Kargo: {wanted}"))
                }
                _ => same(
                    path,
                    plain_numbers(value.to_json()?),
                    plain_numbers(wanted.clone()),
                ),
            }
        }
    }
}

#[test]
fn files_are_parsed_alike() {
    let Some(rows) = rows("kargo-steps.json") else {
        return;
    };
    let compared = compare(
        &rows,
        |row| text(row, "kind") == "parse-file",
        |row| {
            if text(row, "content").is_empty() {
                // What is empty is said by the step itself.
                let mut bench = Bench::new();
                bench.put("file", "");
                let config =
                    json!({"path": "file", "outputs": [{"name": "x", "fromExpression": "1"}]});
                let error = bench.run(text(row, "step"), &config).unwrap_err();
                return said(text(row, "id"), &error.sentence(), &row["error"]);
            }
            match read(text(row, "step"), text(row, "content")) {
                Ok(value) => typed(&value, &row["want"], &row["wantTypes"], ""),
                // The step puts these words before it, which its own rows show.
                Err(_) if row["error"].is_object() => Ok(()),
                Err(error) => Err(error),
            }
        },
    );
    assert_eq!(compared, 15);
}

#[test]
fn outputs_are_taken_alike() {
    let Some(rows) = rows("kargo-steps.json") else {
        return;
    };
    let compared = compare(
        &rows,
        |row| text(row, "kind") == "extract",
        |row| {
            let env = Env::of(expr::Value::from_json(&row["data"]));
            let all: Vec<Output> = serde_json::from_value(row["outputs"].clone()).unwrap();
            match outputs::evaluate(&all, &env) {
                Ok(values) => same("outputs", &Value::Object(values), &row["want"]),
                Err(error) => said(text(row, "id"), &error.sentence(), &row["error"]),
            }
        },
    );
    assert_eq!(compared, 20);
}
