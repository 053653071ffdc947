//! Whole steps: their configurations, what they leave behind, and their commit messages.

use serde_json::{Value, json};
use tidewaiter::steps::{
    helm_update_chart, json_update, kustomize_set_image, toml_update, updates::Update, yaml_merge,
    yaml_update,
};

use crate::{bench::Bench, kustomize::images, updates as yaml_updates, *};

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

#[test]
fn steps_end_alike_and_leave_the_same_files() {
    let Some(rows) = rows("kargo-steps.json") else {
        return;
    };
    // Those of the http steps need a server (see `http`), those of charts a repository (see `programs`).
    let mine = |row: &Value| {
        let step = text(row, "step");
        text(row, "kind") == "run"
            && MINE.contains(&step)
            && !step.starts_with("http")
            && !step.starts_with("helm-")
    };
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
        if want["status"].is_string() || result.is_err() {
            same("status", ended(&result), text(want, "status"))?;
        }
        match &result {
            Err(error) => said(text(row, "id"), &error.sentence(), &want["error"])?,
            Ok(outcome) if want["resultChecks"].is_array() => {
                checks(&json!({"output": outcome.output}), &want["resultChecks"])?;
            }
            Ok(outcome) => {
                let wanted = match &want["output"] {
                    // What the source does not look at is a message.
                    Value::Null if want.get("output").is_none() => {
                        let unseen = outcome.output.get("commitMessage");
                        unseen.map_or(json!({}), |text| json!({"commitMessage": text}))
                    }
                    Value::Null => json!({}),
                    output => output.clone(),
                };
                let ours = plain_numbers(Value::Object(outcome.output.clone()));
                same("output", ours, plain_numbers(wanted))?;
            }
        }
        left_behind(&mut bench, &want["files"])
    });
    assert!(compared > 50, "{compared}");
}

#[test]
fn commit_messages_are_the_same() {
    let Some(rows) = rows("kargo-steps.json") else {
        return;
    };
    let mine =
        |row: &Value| text(row, "kind") == "commit-message" && MINE.contains(&text(row, "step"));
    let set = |row: &Value| -> Vec<Update> {
        serde_json::from_value(row["updates"].clone()).unwrap_or_default()
    };
    let compared = compare(&rows, mine, |row| {
        let ours = match text(row, "step") {
            "yaml-update" => yaml_update::commit_message(text(row, "path"), &yaml_updates(row)),
            "json-update" => json_update::commit_message(text(row, "path"), &set(row)),
            "toml-update" => toml_update::commit_message(text(row, "path"), &set(row)),
            "yaml-merge" => {
                let files: Vec<String> = serde_json::from_value(row["inFiles"].clone()).unwrap();
                let message = yaml_merge::commit_message(text(row, "outFile"), &files);
                return same("message", message.as_str(), text(row, "want"));
            }
            "helm-update-chart" => {
                let changes = row["newVersions"].as_object().unwrap();
                let change = |change: &Value| Some(change.as_str()?.to_owned());
                let changes = changes
                    .iter()
                    .map(|(name, to)| (name.clone(), change(to).filter(|to| !to.is_empty())))
                    .collect();
                helm_update_chart::commit_message(text(row, "path"), &changes)
            }
            _ => kustomize_set_image::commit_message(text(row, "path"), &images(&row["images"])),
        };
        checks(&json!(ours), &row["want"]["outChecks"])
    });
    assert_eq!(compared, 25);
}
