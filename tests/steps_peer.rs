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

#[path = "../src/steps/tests/bench.rs"]
#[allow(dead_code)]
mod bench;

use std::collections::BTreeMap;

use bench::Bench;
use serde_json::{Value, json};
use tidewaiter as tw;
use tidewaiter::{
    engine::step::{ErrorKind, Outcome, StepError},
    git::tree::Mode,
    kargo::artifact::FreightCollection,
    steps::{
        kustomize_set_image::{self, Image, Images},
        yaml::{self, Update},
        yaml_update,
    },
};

const MINE: [&str; 10] = [
    "compose-output",
    "copy",
    "delete",
    "fail",
    "file-write",
    "git-clear",
    "git-clone",
    "git-commit",
    "kustomize-set-image",
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

#[test]
fn configurations_are_accepted_and_refused_alike() {
    let Some(rows) = rows("kargo-steps.json") else {
        return;
    };
    let bench = Bench::new();
    let mine =
        |row: &Value| text(row, "kind") == "config-check" && MINE.contains(&text(row, "step"));
    let compared = compare(&rows, mine, |row| {
        let problems = bench.check(text(row, "step"), &row["config"]);
        let wanted = row["problems"].as_array().unwrap();
        if wanted.is_empty() {
            return same("problems", problems, Vec::new());
        }
        let prefix = format!("invalid {} config: ", text(row, "step"));
        for problem in wanted {
            let problem = problem.as_str().unwrap().trim_start_matches(&prefix);
            if !problems.iter().any(|ours| ours.contains(problem)) {
                return Err(format!("{problems:?} has no {problem:?}"));
            }
        }
        Ok(())
    });
    assert!(compared > 80, "{compared}");
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

#[test]
fn steps_end_alike_and_leave_the_same_files() {
    let Some(rows) = rows("kargo-steps.json") else {
        return;
    };
    let mine = |row: &Value| text(row, "kind") == "run" && MINE.contains(&text(row, "step"));
    let compared = compare(&rows, mine, |row| {
        let (uses, config, want) = (text(row, "step"), &row["config"], &row["want"]);
        let mut bench = Bench::new();
        if row["configPassesSchema"] == json!(false) {
            return match bench.check(uses, config).is_empty() {
                true => Err("the configuration is accepted".into()),
                false => Ok(()),
            };
        }
        set_up(&mut bench, row)?;
        let result = bench.run(uses, config);
        same("status", ended(&result), text(want, "status"))?;
        match &result {
            Err(error) => said(text(row, "id"), &error.sentence(), &want["error"])?,
            Ok(outcome) => {
                let wanted = if want["output"].is_null() {
                    json!({})
                } else {
                    want["output"].clone()
                };
                same("output", Value::Object(outcome.output.clone()), wanted)?;
            }
        }
        left_behind(&mut bench, &want["files"])
    });
    assert!(compared > 50, "{compared}");
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

fn images(target: &Value) -> Images {
    let image = |image: &Value| {
        let field = |name: &str| image[name].as_str().map(str::to_owned);
        let fields = Image {
            new_name: field("newName"),
            new_tag: field("newTag"),
            digest: field("digest"),
        };
        (text(image, "name").to_owned(), fields)
    };
    target
        .as_object()
        .into_iter()
        .flatten()
        .map(|(_, value)| image(value))
        .collect()
}

#[test]
fn commit_messages_are_the_same() {
    let Some(rows) = rows("kargo-steps.json") else {
        return;
    };
    let mine =
        |row: &Value| text(row, "kind") == "commit-message" && MINE.contains(&text(row, "step"));
    let compared = compare(&rows, mine, |row| {
        let ours = match text(row, "step") {
            "yaml-update" => yaml_update::commit_message(text(row, "path"), &updates(row)),
            _ => kustomize_set_image::commit_message(text(row, "path"), &images(&row["images"])),
        };
        checks(&json!(ours), &row["want"]["outChecks"])
    });
    assert_eq!(compared, 9);
}

fn images_of(text: &str) -> Value {
    serde_saphyr::from_str::<Value>(text).unwrap()["images"].clone()
}

fn with_images(before: &str, images: &Images) -> Result<Value, String> {
    kustomize_set_image::set_images(before, images)
        .map(|after| images_of(&after))
        .map_err(|error| error.to_string())
}

/// Kargo's map of images by name, from our list.
fn by_name(images: &Value, wanted: &Value) -> Result<(), String> {
    let map: BTreeMap<&str, &Value> = images
        .as_array()
        .unwrap()
        .iter()
        .map(|image| (text(image, "name"), image))
        .collect();
    checks(&json!(map), wanted)
}

fn find_kustomization(row: &Value) -> Result<(), String> {
    let mut bench = Bench::new();
    set_up(&mut bench, row)?;
    let path = Some(text(row, "path"))
        .filter(|path| !path.is_empty())
        .unwrap_or(".");
    match bench.run(
        "kustomize-set-image",
        &json!({"path": path, "images": [{"image": "nginx", "tag": "1"}]}),
    ) {
        Err(error) => said(text(row, "id"), &error.sentence(), &row["want"]["error"]),
        Ok(_) => {
            let all = bench.all();
            let changed: Vec<String> = all
                .into_iter()
                .filter(|path| bench.get(path).contains("nginx"))
                .collect();
            checks(&json!(changed.join(" ")), &row["want"]["outChecks"])
        }
    }
}

#[test]
fn kustomizations_are_found_and_edited_alike() {
    let Some(rows) = rows("kargo-steps.json") else {
        return;
    };
    let mine = |row: &Value| text(row, "kind").starts_with("kustomize-");
    let compared = compare(&rows, mine, |row| {
        let want = &row["want"];
        match text(row, "kind") {
            "kustomize-find" => find_kustomization(row),
            "kustomize-merge-images" => {
                let before = json!({"images": row["current"]}).to_string();
                checks(
                    &with_images(&before, &images(&row["target"]))?,
                    &want["outChecks"],
                )
            }
            "kustomize-update-file" => same(
                "images",
                &with_images(text(row, "in"), &images(&row["target"]))?,
                &want["images"],
            ),
            "kustomize-target-images" => {
                let mut bench = Bench::new();
                bench.put("kustomization.yaml", "");
                bench
                    .run(
                        "kustomize-set-image",
                        &json!({"path": ".", "images": row["images"]}),
                    )
                    .unwrap();
                by_name(
                    &images_of(&bench.get("kustomization.yaml")),
                    &want["outChecks"],
                )
            }
            "kustomize-auto-images" => {
                let freight = serde_json::from_value(json!({"items": row["freight"]})).unwrap();
                match kustomize_set_image::from_freight(&freight) {
                    Err(error) => said(text(row, "id"), &error.sentence(), &want["error"]),
                    Ok(images) => by_name(&with_images("", &images)?, &want["outChecks"]),
                }
            }
            other => Err(format!("{other} is not known")),
        }
    });
    assert_eq!(compared, 14);
}
