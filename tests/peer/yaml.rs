//! The YAML editor, alone and through its step.

use serde_json::{Value, json};
use tidewaiter::steps::{
    yaml::{self, Update},
    yaml_update,
};

use crate::{bench::Bench, *};

fn filled(row: &Value, key: &str) -> String {
    let mut filled = text(row, key).to_owned();
    for (name, by) in row["substitute"].as_object().into_iter().flatten() {
        filled = filled.replace(
            name,
            &text(by, "repeat").repeat(by["times"].as_u64().unwrap() as usize),
        );
    }
    filled
}

#[test]
fn yaml_files_are_edited_alike() {
    let Some(rows) = rows("kargo-yaml.json") else {
        return;
    };
    let compared = compare(
        &rows,
        |row| text(row, "op") == "set",
        |row| match yaml::set(&filled(row, "in"), &updates(row)) {
            Ok(out) => same("file", out, filled(row, "out")),
            Err(error) if row["error"].is_object() => {
                said(text(row, "id"), &error.to_string(), &row["error"])
            }
            Err(error) => Err(error.to_string()),
        },
    );
    assert_eq!(compared, 5);
    let compared = compare(&rows, |row| text(row, "op") == "set-file", set_file);
    assert_eq!(compared, 5);
}

fn set_file(row: &Value) -> Result<(), String> {
    let (mut bench, all) = (Bench::new(), updates(row));
    let path = row["path"].as_str().unwrap_or("values.yaml");
    if let Some(text) = row["in"].as_str() {
        bench.put(path, text);
    }
    if all.is_empty() {
        // The step's own check refuses it; the editor does nothing.
        return same(
            "file",
            yaml::set(text(row, "in"), &all).unwrap().as_str(),
            text(row, "out"),
        );
    }
    let entries: Vec<Value> = all
        .iter()
        .map(|update| json!({"key": update.key, "value": update.value}))
        .collect();
    let result = bench.run("yaml-update", &json!({"path": path, "updates": entries}));
    if row["status"].is_string() {
        same("status", ended(&result), text(row, "status"))?;
    }
    match result {
        Err(error) => said(text(row, "id"), &error.sentence(), &row["error"]),
        Ok(outcome) => {
            if row["commitMessage"].is_string() {
                same(
                    "message",
                    &outcome.output["commitMessage"],
                    &row["commitMessage"],
                )?;
            }
            left_behind(&mut bench, &json!({path: {"contains": row["outContains"]}}))
        }
    }
}

#[test]
fn strings_are_quoted_alike_in_messages() {
    let Some(rows) = rows("kargo-yaml.json") else {
        return;
    };
    let strings = |row: &Value| text(row, "op") == "quote-if-necessary" && row["value"].is_string();
    let compared = compare(&rows, strings, |row| {
        let update = Update {
            key: "k".into(),
            value: row["value"].clone(),
        };
        same(
            "message",
            yaml_update::commit_message("f", &[update]),
            format!("Updated f\n\n- k: {}", text(row, "out")),
        )
    });
    assert_eq!(compared, 7);
}
