//! The YAML editor, alone and through its steps.

use serde_json::{Value, json};
use tidewaiter::steps::{
    yaml::{self, Editor, Update, scalar},
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

/// Rows of a function that only Kargo's kustomize-set-image calls, in forms that it never calls it in; what it does
/// call is compared in `kustomize.rs`. None of our steps can do this.
const ELSEWHERE: &[(&str, &str)] = &[
    ("yaml/TestUpdateField/6", "adds to a list at any depth"),
    ("yaml/TestUpdateField/7", "adds to a list at any depth"),
    ("yaml/TestUpdateField/8", "adds to a list at any depth"),
    ("yaml/TestUpdateField/9", "adds to a list at any depth"),
    ("yaml/TestUpdateField/10", "adds to a list at any depth"),
    ("yaml/TestUpdateField/11", "adds to a list at any depth"),
    ("yaml/TestUpdateField/14", "adds to a list at any depth"),
    ("yaml/TestUpdateField/15", "adds to a list at any depth"),
    (
        "yaml/TestUpdateField/26",
        "puts a mapping in the place of another",
    ),
];

#[test]
fn yaml_files_are_edited_alike() {
    let Some(rows) = rows("kargo-yaml.json") else {
        return;
    };
    for (id, _) in ELSEWHERE {
        assert!(rows.iter().any(|row| text(row, "id") == *id), "{id}");
    }
    let applies = |row: &Value| !ELSEWHERE.iter().any(|(id, _)| *id == text(row, "id"));
    let compared = compare(&rows, applies, |row| match text(row, "op") {
        "set" => set(row),
        "set-file" => set_file(row),
        "update-field" => update_field(row),
        "get" => value_at(row, text(row, "key")),
        "find" => find(row),
        "find-scalar" => place_of(row),
        "quote-if-necessary" => quoted(row),
        "merge" => merge(row),
        other => panic!("the operation {other} is not known"),
    });
    let differ: Vec<&str> = DIFFERENT
        .iter()
        .map(|(id, _)| *id)
        .filter(|id| rows.iter().any(|row| text(row, "id") == *id))
        .collect();
    let agree = compared - differ.len();
    println!(
        "kargo-yaml: {agree} of {compared} agree ({:.1} %), {} rows of {} do not apply; different: {differ:?}",
        100.0 * agree as f64 / compared as f64,
        rows.len() - compared,
        rows.len(),
    );
    assert_eq!((compared, rows.len()), (64, 73));
    assert!(agree * 100 >= compared * 97);
}

/// Compares an error with the one of the row, if it has one.
fn ended_with(row: &Value, error: &str) -> Result<(), String> {
    if row["error"].is_object() {
        said(text(row, "id"), error, &row["error"])
    } else {
        Err(error.to_owned())
    }
}

fn same_yaml(what: &str, ours: &str, theirs: &str) -> Result<(), String> {
    let read = |yaml: &str| {
        serde_saphyr::from_str::<Value>(yaml).map_err(|error| format!("{error}: {yaml:?}"))
    };
    same(what, read(ours)?, read(theirs)?)
}

fn set(row: &Value) -> Result<(), String> {
    match yaml::set(&filled(row, "in"), &updates(row)) {
        Ok(out) => same("file", out, filled(row, "out")),
        Err(error) => ended_with(row, &error.to_string()),
    }
}

/// Kargo writes the whole file anew, so the content counts. What yaml-update refuses because the key is not there or
/// is not a single value is what yaml-merge is for.
fn update_field(row: &Value) -> Result<(), String> {
    let (before, updates) = (text(row, "in"), updates(row));
    let update = &updates[0];
    let outcome = yaml::set(before, &updates).map_err(|error| error.to_string());
    let after = match outcome {
        Ok(after) => {
            same(
                "comments",
                after.matches('#').count(),
                text(row, "out").matches('#').count(),
            )?;
            after
        }
        Err(error) if row["error"].is_object() => return ended_with(row, &error),
        Err(error) => {
            let parts = yaml::key::split(&update.key).map_err(|error| error.to_string())?;
            let over = parts
                .into_iter()
                .rev()
                .fold(update.value.clone(), |value, part| json!({part: value}));
            yaml::merge(&[before, &over.to_string()])
                .map_err(|unmerged| format!("{error}; {}", unmerged.error))?
                .text
        }
    };
    if row["error"].is_object() {
        return Err(format!("is done: {after:?}"));
    }
    same_yaml("file", &after, text(row, "out"))
}

fn value_at(row: &Value, key: &str) -> Result<(), String> {
    let editor = Editor::open(text(row, "in")).map_err(|error| error.to_string())?;
    match editor.find(key) {
        Ok((document, route)) => same(
            "value",
            editor.node(document, &route).and_then(scalar::read),
            Some(row["out"].clone()),
        ),
        Err(error) => ended_with(row, &error.to_string()),
    }
}

fn find(row: &Value) -> Result<(), String> {
    let parts = row["keyParts"].as_array().unwrap();
    if !parts.is_empty() {
        let parts: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
        return value_at(row, &parts.join("."));
    }
    // No way is the way to the document itself.
    let editor = Editor::open(text(row, "in")).map_err(|error| error.to_string())?;
    same(
        "document",
        editor.node(0, &[]).is_some(),
        text(row, "outNodeKind") == "document",
    )
}

/// Where a value stands: ours are bytes, Kargo's lines and columns.
fn place_of(row: &Value) -> Result<(), String> {
    let (before, key) = (text(row, "in"), text(row, "key"));
    let update = Update {
        key: key.into(),
        value: json!("x"),
    };
    if let Err(error) = yaml::set(before, &[update]) {
        return ended_with(row, &error.to_string());
    }
    let editor = Editor::open(before).map_err(|error| error.to_string())?;
    let (document, route) = editor.find(key).map_err(|error| error.to_string())?;
    let start = editor.node(document, &route).unwrap().bytes.start;
    let line = before[..start].matches('\n').count();
    let column = start - before[..start].rfind('\n').map_or(0, |at| at + 1);
    same(
        "place",
        (json!(line), json!(column)),
        (row["line"].clone(), row["col"].clone()),
    )
}

/// What Kargo's function is for: values as they are shown in a commit message.
fn quoted(row: &Value) -> Result<(), String> {
    let update = Update {
        key: "k".into(),
        value: row["value"].clone(),
    };
    let shown = match &row["out"] {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => format!("{}", number.as_f64().unwrap()),
        other => other.to_string(),
    };
    same(
        "message",
        yaml_update::commit_message("f", &[update]),
        format!("Updated f\n\n- k: {shown}"),
    )
}

fn merge(row: &Value) -> Result<(), String> {
    let mut bench = Bench::new();
    set_up(&mut bench, row)?;
    let config = json!({"inFiles": row["inputPaths"], "outFile": row["outputPath"]});
    let problems = bench.check("yaml-merge", &config);
    if !problems.is_empty() {
        if row["error"].is_object() {
            return ended_with(row, &problems.join("; "));
        }
        // The step's own check refuses to merge nothing; the editor makes an empty file of it.
        let merged = yaml::merge::<&str>(&[]).unwrap();
        return same("file", merged.text.as_str(), text(row, "out"));
    }
    match bench.run("yaml-merge", &config) {
        Ok(_) => same_yaml(
            "file",
            &bench.get(text(row, "outputPath")),
            text(row, "outYamlEquals"),
        ),
        Err(error) => ended_with(row, &error.sentence()),
    }
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
