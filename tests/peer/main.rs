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
#[path = "../../src/steps/tests/server.rs"]
#[allow(dead_code)]
mod server;

mod archives;
mod http;
mod json;
mod kustomize;
mod programs;
mod steps;
mod toml;
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

const MINE: &[&str] = &[
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
    "helm-template",
    "helm-update-chart",
    "http",
    "http-download",
    "json-parse",
    "json-update",
    "kustomize-build",
    "kustomize-set-image",
    "set-freight-alias",
    "set-metadata",
    "tar",
    "toml-parse",
    "toml-update",
    "untar",
    "yaml-merge",
    "yaml-parse",
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
        "http/Test_httpRequester_run/9",
        "an expression that is none is a mistake in the configuration: Failed, and nothing is sent",
    ),
    (
        "http-download/Test_httpDownloader_run/5",
        "counted against the threshold in both; in the end Errored, as everything that an outside said no to",
    ),
    (
        "kustomize-set-image/Test_mergeImages/2",
        "entries keep their order, where Kargo sorts them by name",
    ),
    (
        "kustomize-set-image/Test_mergeImages/4",
        "entries keep their order, where Kargo sorts them by name",
    ),
    (
        "yaml/TestUpdateField/22",
        "what an alias stands for is changed where it is written, not through the alias",
    ),
    (
        "untar/validRelPath/8",
        "`./x`, as `tar c .` writes it, is x: Kargo extracts nothing from such an archive",
    ),
];

/// Errors of which only the words differ.
const OUR_WORDS: &[(&str, &str)] = &[
    (
        "file-write/Test_fileWriter_run/12",
        "`.git` is not part of the workspace",
    ),
    (
        "json/Test_jsonUpdater_updateValuesFile/2",
        "there is no file config.json",
    ),
    (
        "json-parse/Test_jsonParser_run/6",
        "there is no file config",
    ),
    (
        "toml-parse/Test_tomlParser_run/6",
        "there is no file config",
    ),
    (
        "toml/Test_tomlUpdater_updateFile/2",
        "there is no file values.toml",
    ),
    (
        "yaml-parse/Test_yamlParser_run/6",
        "there is no file config",
    ),
    (
        "yaml/TestDecodeField/5",
        "the document has no `nonexistent`",
    ),
    ("yaml/TestDecodeField/6", "has 2 items, counted from 0"),
    ("yaml/TestDecodeField/7", "`key` is a single value"),
    (
        "yaml/TestFindScalarNode/1",
        "`characters` has no `imperials`",
    ),
    ("yaml/TestFindScalarNode/2", "`first` is not a place in it"),
    (
        "yaml/TestFindScalarNode/3",
        "it is a list, not a single value",
    ),
    ("yaml/TestMergeFiles/1", "outFile: String length"),
    (
        "yaml/TestMergeFiles/3",
        "input file \"non-existent.yaml\" not found",
    ),
    ("yaml/TestSetValuesInBytes/1", "it is not YAML"),
    ("yaml/TestUpdateField/17", "empty key"),
    ("yaml/TestUpdateField/19", "`invalid` is not a place in it"),
    ("yaml/TestUpdateField/20", "`[-2]` is not a place in it"),
    ("yaml/TestUpdateField/21", "`-2` is not a place in it"),
    ("yaml/Test_findNode/5", "the document has no `nonexistent`"),
    ("yaml/Test_findNode/6", "`invalid` is not a place in it"),
    ("yaml/Test_findNode/7", "has 2 items, counted from 0"),
    ("yaml/Test_findNode/8", "`key` is a single value"),
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

/// Whether a row of the steps' table is compared at all.
fn applies(row: &Value) -> bool {
    match text(row, "kind") {
        "config-check" | "run" | "commit-message" => MINE.contains(&text(row, "step")),
        "archive-path" | "resource-filename" | "extract" | "parse-file" => true,
        kind => kind.starts_with("kustomize-") || kind.starts_with("http-"),
    }
}

#[test]
fn the_share_of_the_steps_table() {
    let Some(rows) = rows("kargo-steps.json") else {
        return;
    };
    let applying: Vec<&str> = rows
        .iter()
        .filter(|row| applies(row))
        .map(|row| text(row, "id"))
        .collect();
    let differ = applying
        .iter()
        .filter(|id| DIFFERENT.iter().any(|(listed, _)| listed == *id))
        .count();
    let agree = applying.len() - differ;
    println!(
        "kargo-steps: {} of {} rows apply, {agree} agree, {differ} differ for a reason",
        applying.len(),
        rows.len()
    );
    assert!(
        agree * 100 >= applying.len() * 97,
        "{agree} of {}",
        applying.len()
    );
}

#[test]
fn what_is_listed_as_different_is_in_the_tables() {
    let files = ["steps", "yaml", "json", "toml"];
    let tables: Vec<Value> = files
        .iter()
        .flat_map(|file| rows(&format!("kargo-{file}.json")).unwrap_or_default())
        .collect();
    if tables.is_empty() {
        return;
    }
    for (id, _) in DIFFERENT.iter().chain(OUR_WORDS) {
        assert!(tables.iter().any(|row| text(row, "id") == *id), "{id}");
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
        let stale = parts().all(|part| ours.contains(part))
            && theirs["equals"].as_str().is_none_or(|all| ours == all);
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
        Err(error) => match error.kind {
            ErrorKind::Errored | ErrorKind::Transient | ErrorKind::Refused => "Errored",
            ErrorKind::Failed | ErrorKind::Conflict | ErrorKind::Config => "Failed",
        },
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
        if let Some(wanted) = wanted["jsonEquals"].as_str() {
            let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            same(path, json(&bench.get(path)), json(wanted))?;
        }
        if let Some(wanted) = wanted["reads"].as_str() {
            toml::reads_like(&bench.get(path), wanted)?;
        }
        for part in wanted["contains"].as_array().into_iter().flatten() {
            let content = bench.get(path);
            if !loosely(path, &content).contains(&loosely(path, part.as_str().unwrap())) {
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

/// Where we keep what Kargo does not: new JSON members are spaced like their neighbours, TOML's quotes stay.
fn loosely(path: &str, text: &str) -> String {
    match path.rsplit('.').next() {
        Some("json") => text.replace("\": ", "\":"),
        Some("toml") => one_quote(text),
        _ => text.to_owned(),
    }
}

fn one_quote(text: &str) -> String {
    text.replace('\'', "\"")
}

/// JSON does not tell 10 from 10.0, and neither does what is kept of outputs.
fn plain_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(items) => items.into_iter().map(plain_numbers).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(key, value)| (key, plain_numbers(value)))
            .collect(),
        other => other,
    }
}

fn print_share(table: &str, rows: &[Value]) {
    let differ = |row: &&Value| DIFFERENT.iter().any(|(id, _)| *id == text(row, "id"));
    let different = rows.iter().filter(differ).count();
    println!(
        "{table}: {} of {} agree",
        rows.len() - different,
        rows.len()
    );
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
