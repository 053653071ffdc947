//! The steps against the public test tables of Kargo, where those are at hand.
//!
//! What differs on purpose is listed here with its reason; a row that no longer differs fails the test.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

#[path = "../../src/steps/tests/bench.rs"]
#[allow(dead_code)]
mod bench;

mod kustomize;
mod steps;
mod yaml;

use bench::Bench;
use serde_json::{Value, json};
use tidewaiter as tw;
use tidewaiter::{
    engine::step::{ErrorKind, Outcome, StepError},
    git::tree::Mode,
    kargo::artifact::FreightCollection,
    steps::yaml::Update,
};

const MINE: [&str; 14] = [
    "compose-output",
    "copy",
    "delete",
    "fail",
    "file-write",
    "git-clear",
    "git-clone",
    "git-commit",
    "git-push",
    "git-tag",
    "kustomize-set-image",
    "set-freight-alias",
    "set-metadata",
    "yaml-update",
];

/// Rows that come out differently, and why that is right.
const DIFFERENT: &[(&str, &str)] = &[
    (
        "copy/Test_fileCopier_run/4",
        "`.git` is no part of a workspace: there is nothing to leave out",
    ),
    (
        "copy/Test_fileCopier_run/5",
        "`.git` is no part of a workspace: there is nothing to leave out",
    ),
    (
        "copy/Test_fileCopier_run/6",
        "`.git` is no part of a workspace: there is nothing to take along",
    ),
    (
        "delete/Test_fileDeleter_run/21",
        "a pattern that is none is a mistake in the configuration: Failed",
    ),
    (
        "delete/Test_fileDeleter_run/24",
        "a path that leaves the workspace is a mistake in the configuration: Failed",
    ),
    ("delete/Test_fileDeleter_run/25", "the same, through a link"),
    (
        "delete/Test_fileDeleter_run/26",
        "a pattern that leaves the workspace is said to, not just found to match nothing",
    ),
    (
        "delete/Test_fileDeleter_run/27",
        "a pattern through a link that leaves is a mistake in the configuration: Failed",
    ),
    (
        "file-write/Test_fileWriter_run/13",
        "git keeps no empty directories, so the file can be written",
    ),
    (
        "kustomize-set-image/Test_mergeImages/2",
        "entries keep their order, where Kargo sorts them by name",
    ),
    (
        "kustomize-set-image/Test_mergeImages/4",
        "entries keep their order, where Kargo sorts them by name",
    ),
];

/// Errors of which only the words differ.
const OUR_WORDS: &[(&str, &str)] = &[
    (
        "file-write/Test_fileWriter_run/12",
        "`.git` is not part of the workspace",
    ),
    ("yaml/TestSetValuesInBytes/1", "it is not YAML"),
    (
        "yaml/Test_yamlUpdater_updateValuesFile/2",
        "there is no file values.yaml",
    ),
];

fn rows(file: &str) -> Option<Vec<Value>> {
    let path = format!("{}/../shared/peer/{file}", env!("CARGO_MANIFEST_DIR"));
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(serde_json::from_str(&text).unwrap()),
        Err(error) => {
            eprintln!("not compared with Kargo: {path} cannot be read: {error}");
            None
        }
    }
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

/// Runs every row; a row that differs must be listed, and a listed one must differ.
fn compare(
    rows: &[Value],
    wanted: impl Fn(&Value) -> bool,
    run: impl Fn(&Value) -> Result<(), String>,
) -> usize {
    let mut wrong = Vec::new();
    let chosen: Vec<&Value> = rows.iter().filter(|row| wanted(row)).collect();
    for row in &chosen {
        let id = text(row, "id");
        let listed = DIFFERENT.iter().find(|(listed, _)| *listed == id);
        match (run(row), listed) {
            (Ok(()), None) | (Err(_), Some(_)) => {}
            (Ok(()), Some((_, reason))) => {
                wrong.push(format!("{id} no longer differs; listed because: {reason}"))
            }
            (Err(problem), None) => wrong.push(format!("{id}: {problem}\n  {row}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    chosen.len()
}

#[test]
fn what_is_listed_as_different_is_in_the_tables() {
    let (Some(steps), Some(yaml)) = (rows("kargo-steps.json"), rows("kargo-yaml.json")) else {
        return;
    };
    for (id, _) in DIFFERENT.iter().chain(OUR_WORDS) {
        assert!(
            steps.iter().chain(&yaml).any(|row| text(row, "id") == *id),
            "{id}"
        );
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, ours: T, theirs: T) -> Result<(), String> {
    if ours == theirs {
        Ok(())
    } else {
        Err(format!("{what}: {ours:?}, Kargo: {theirs:?}"))
    }
}

fn said(id: &str, ours: &str, theirs: &Value) -> Result<(), String> {
    let parts = || {
        theirs["contains"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|part| part.as_str().unwrap())
    };
    if let Some((_, words)) = OUR_WORDS.iter().find(|(listed, _)| *listed == id) {
        let stale = parts().all(|part| ours.contains(part));
        return if ours.contains(words) && !stale {
            Ok(())
        } else {
            Err(format!("says {ours:?}, listed with {words:?}"))
        };
    }
    if let Some(exactly) = theirs["equals"].as_str() {
        same("error", ours, exactly)?;
    }
    match parts().find(|part| !ours.contains(part)) {
        Some(part) => Err(format!("says {ours:?}, which lacks {part:?}")),
        None => Ok(()),
    }
}

/// Kargo's parts of a value: `$count:x` how often, `$base` the last part of a path.
fn at(value: &Value, path: &[Value]) -> Value {
    path.iter()
        .fold(value.clone(), |value, part| match part.as_str() {
            Some("$base") => json!(value.as_str().unwrap().rsplit('/').next().unwrap()),
            Some(count) if count.starts_with("$count:") => {
                json!(
                    value
                        .as_str()
                        .unwrap()
                        .matches(&count["$count:".len()..])
                        .count()
                )
            }
            Some(key) => value[key].clone(),
            None => value[part.as_u64().unwrap() as usize].clone(),
        })
}

fn checks(ours: &Value, checks: &Value) -> Result<(), String> {
    for check in checks.as_array().unwrap() {
        let found = at(ours, check["path"].as_array().unwrap());
        let wanted = &check["value"];
        let good = match text(check, "op") {
            "equals" => found == *wanted,
            "contains" => found.as_str().unwrap().contains(wanted.as_str().unwrap()),
            "empty" => matches!(found.as_str(), None | Some("")),
            "len" => found.as_array().unwrap().len() as u64 == wanted.as_u64().unwrap(),
            other => panic!("the check {other} is not known"),
        };
        if !good {
            return Err(format!("{found} instead of {check}"));
        }
    }
    Ok(())
}

/// Links of the tables lead to the working directory; here they can only be relative.
fn set_up(bench: &mut Bench, row: &Value) -> Result<(), String> {
    for (path, target) in row["symlinks"].as_object().into_iter().flatten() {
        bench.write(
            path,
            target.as_str().unwrap().replace("$WORK/", ""),
            Some(Mode::Link),
        )?;
    }
    for (path, content) in row["files"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(path, _)| !path.starts_with("../"))
    {
        bench.write(path, content.as_str().unwrap(), None)?;
    }
    if let Some(freight) = row["context"].get("freight") {
        bench.around.freight =
            serde_json::from_value::<FreightCollection>(freight.clone()).unwrap();
    }
    Ok(())
}

fn ended(result: &Result<Outcome, StepError>) -> &'static str {
    match result {
        Ok(_) => "Succeeded",
        Err(error) if matches!(error.kind, ErrorKind::Errored | ErrorKind::Transient) => "Errored",
        Err(_) => "Failed",
    }
}

fn left_behind(bench: &mut Bench, files: &Value) -> Result<(), String> {
    for (path, wanted) in files
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(path, _)| !path.starts_with("../"))
    {
        if let Some(exists) = wanted["exists"].as_bool() {
            same(path, bench.exists(path), exists)?;
        }
        if let Some(equals) = wanted["equals"].as_str() {
            same(path, bench.get(path).as_str(), equals)?;
        }
        for part in wanted["contains"].as_array().into_iter().flatten() {
            let content = bench.get(path);
            if !content.contains(part.as_str().unwrap()) {
                return Err(format!("{path} lacks {part}: {content}"));
            }
        }
        if wanted["mode"].is_string() {
            same(
                path,
                (wanted["mode"].as_str(), bench.mode(path)),
                (Some("0644"), Mode::File),
            )?;
        }
    }
    Ok(())
}

fn updates(row: &Value) -> Vec<Update> {
    let update = |update: &Value| Update {
        key: text(update, "key").into(),
        value: update["value"].clone(),
    };
    row["updates"]
        .as_array()
        .map(|updates| updates.iter().map(update).collect())
        .unwrap_or_default()
}
