//! Whole steps: their configurations, what they leave behind, and their commit messages.

use serde_json::{Value, json};
use tidewaiter::steps::{helm_update_chart, kustomize_set_image, yaml_update};

use crate::{bench::Bench, kustomize::images, *};

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
    // What needs a repository of charts: see `programs`.
    let mine = |row: &Value| {
        text(row, "kind") == "run"
            && MINE.contains(&text(row, "step"))
            && !text(row, "step").starts_with("helm-")
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

#[test]
fn commit_messages_are_the_same() {
    let Some(rows) = rows("kargo-steps.json") else {
        return;
    };
    let mine =
        |row: &Value| text(row, "kind") == "commit-message" && MINE.contains(&text(row, "step"));
    let compared = compare(&rows, mine, |row| {
        let ours = match text(row, "step") {
            "helm-update-chart" => {
                let changes = row["newVersions"].as_object().unwrap();
                let change = |change: &Value| Some(change.as_str()?.to_owned());
                let changes = changes
                    .iter()
                    .map(|(name, to)| (name.clone(), change(to).filter(|to| !to.is_empty())))
                    .collect();
                helm_update_chart::commit_message(text(row, "path"), &changes)
            }
            "yaml-update" => yaml_update::commit_message(text(row, "path"), &updates(row)),
            _ => kustomize_set_image::commit_message(text(row, "path"), &images(&row["images"])),
        };
        checks(&json!(ours), &row["want"]["outChecks"])
    });
    assert_eq!(compared, 16);
}
