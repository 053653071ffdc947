//! What a retry would do otherwise: the Stage's live template against what the old Promotion ran.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::kargo::{PromotionStep, promotion::PromotionSpec, step::Variable};

use super::template::Template;

/// Every difference as a short sentence, in the order of the live template; none where a retry runs the same.
pub fn differences(old: &PromotionSpec, live: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (index, step) in live.steps.iter().enumerate() {
        match old.steps.iter().find(|one| one.alias == step.alias) {
            None => found.push(format!(
                "step {} ({}, {}) is new",
                index + 1,
                step.alias,
                step.uses
            )),
            Some(before) => found.extend(step_differences(before, step)),
        }
    }
    let live_aliases: BTreeSet<&str> = live.steps.iter().map(|step| step.alias.as_str()).collect();
    for step in old
        .steps
        .iter()
        .filter(|step| !live_aliases.contains(step.alias.as_str()))
    {
        found.push(format!("step {} ({}) is gone", step.alias, step.uses));
    }
    if found.is_empty() && order(&old.steps) != order(&live.steps) {
        found.push(format!(
            "the order of steps is {}",
            order(&live.steps).join(", ")
        ));
    }
    found.extend(var_differences("variable", &old.vars, &live.vars));
    found
}

fn order(steps: &[PromotionStep]) -> Vec<&str> {
    steps.iter().map(|step| step.alias.as_str()).collect()
}

fn step_differences(old: &PromotionStep, new: &PromotionStep) -> Vec<String> {
    let alias = &new.alias;
    let mut found = Vec::new();
    if old.uses != new.uses {
        found.push(format!(
            "step {alias} uses {} instead of {}",
            new.uses, old.uses
        ));
    }
    if old.condition != new.condition {
        found.push(format!(
            "step {alias}: if {}",
            changed(&text(&old.condition), &text(&new.condition))
        ));
    }
    if old.continue_on_error != new.continue_on_error {
        found.push(format!(
            "step {alias}: continueOnError is {} instead of {}",
            new.continue_on_error, old.continue_on_error
        ));
    }
    if old.retry.clone().unwrap_or_default() != new.retry.clone().unwrap_or_default() {
        let show = |step: &PromotionStep| match &step.retry {
            None => "none".to_owned(),
            Some(retry) => format!(
                "{} errors, {}",
                retry.error_threshold,
                if retry.timeout.is_empty() {
                    "no limit"
                } else {
                    &retry.timeout
                }
            ),
        };
        found.push(format!(
            "step {alias}: retry {}",
            changed(&show(old), &show(new))
        ));
    }
    found.extend(var_differences(
        &format!("step {alias}: variable"),
        &old.vars,
        &new.vars,
    ));
    let (mut before, after) = (Vec::new(), new.config.clone().unwrap_or_default());
    config_differences(
        "config",
        &old.config.clone().unwrap_or_default(),
        &after,
        &mut before,
    );
    found.extend(
        before
            .into_iter()
            .map(|line| format!("step {alias}: {line}")),
    );
    found
}

fn text(value: &str) -> String {
    if value.is_empty() {
        "none".to_owned()
    } else {
        cut(value)
    }
}

fn changed(old: &str, new: &str) -> String {
    format!("is {new} instead of {old}")
}

/// Longest value shown, in characters.
const SHOWN_MAX: usize = 60;

fn cut(value: &str) -> String {
    match value.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", value.get(..end).unwrap_or_default()),
        None => value.to_owned(),
    }
}

/// Later variables of one name hide earlier ones.
fn last<'a>(vars: &'a [Variable], name: &str) -> Option<&'a str> {
    vars.iter()
        .rev()
        .find(|var| var.name == name)
        .map(|var| var.value.as_str())
}

fn var_differences(what: &str, old: &[Variable], new: &[Variable]) -> Vec<String> {
    let names: BTreeSet<&str> = old.iter().chain(new).map(|var| var.name.as_str()).collect();
    names
        .into_iter()
        .filter_map(|name| match (last(old, name), last(new, name)) {
            (Some(old), Some(new)) if old != new => Some(format!(
                "{what} {name} {}",
                changed(&format!("{:?}", cut(old)), &format!("{:?}", cut(new)))
            )),
            (None, Some(new)) => Some(format!("{what} {name} is new: {:?}", cut(new))),
            (Some(_), None) => Some(format!("{what} {name} is gone")),
            _ => None,
        })
        .collect()
}

/// The paths at which two configurations differ. Configuration is unevaluated, so nothing secret is in it.
fn config_differences(path: &str, old: &Value, new: &Value, found: &mut Vec<String>) {
    match (old, new) {
        (old, new) if old == new => {}
        (Value::Object(old), Value::Object(new)) => {
            let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for key in keys {
                let (old, new) = (
                    old.get(key).unwrap_or(&Value::Null),
                    new.get(key).unwrap_or(&Value::Null),
                );
                config_differences(&format!("{path}.{key}"), old, new, found);
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                config_differences(&format!("{path}.{index}"), old, new, found);
            }
        }
        (Value::Null, new) => found.push(format!("{path} is new: {}", cut(&new.to_string()))),
        (_, Value::Null) => found.push(format!("{path} is gone")),
        (old, new) => found.push(format!(
            "{path} {}",
            changed(&cut(&old.to_string()), &cut(&new.to_string()))
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spec(value: Value) -> PromotionSpec {
        serde_json::from_value(value).unwrap()
    }

    fn compare(old: Value, new: Value) -> Vec<String> {
        let new = spec(new);
        differences(
            &spec(old),
            &Template {
                steps: new.steps,
                vars: new.vars,
            },
        )
    }

    #[test]
    fn nothing_differs() {
        let same = json!({"steps": [{"uses": "a", "as": "x", "config": {"k": [1, {"b": null}]}}], "vars": [{"name": "v"}]});
        assert_eq!(compare(same.clone(), same), [""; 0]);
        let empty_retry = json!({"steps": [{"uses": "a", "as": "x", "retry": {}}]});
        assert_eq!(
            compare(empty_retry, json!({"steps": [{"uses": "a", "as": "x"}]})),
            [""; 0]
        );
    }

    #[test]
    fn every_kind_of_difference_is_named() {
        let one = |step: Value| json!({"steps": [step]});
        let cases: Vec<(Value, Value, &[&str])> = vec![
            (
                one(json!({"uses": "a", "as": "x"})),
                one(json!({"uses": "b", "as": "x"})),
                &["step x uses b instead of a"],
            ),
            (
                one(json!({"uses": "a", "as": "x"})),
                json!({"steps": [{"uses": "a", "as": "x"}, {"uses": "wait-for-approval", "as": "gate"}]}),
                &["step 2 (gate, wait-for-approval) is new"],
            ),
            (
                json!({"steps": [{"uses": "a", "as": "x"}, {"uses": "b", "as": "y"}]}),
                one(json!({"uses": "a", "as": "x"})),
                &["step y (b) is gone"],
            ),
            (
                json!({"steps": [{"uses": "a", "as": "x"}, {"uses": "b", "as": "y"}]}),
                json!({"steps": [{"uses": "b", "as": "y"}, {"uses": "a", "as": "x"}]}),
                &["the order of steps is y, x"],
            ),
            (
                one(
                    json!({"uses": "a", "as": "x", "config": {"path": "a", "old": 1, "list": [1, 2]}}),
                ),
                one(
                    json!({"uses": "a", "as": "x", "config": {"path": "b", "new": {"z": 1}, "list": [1, 3]}}),
                ),
                &[
                    "step x: config.list.1 is 3 instead of 2",
                    "step x: config.new is new: {\"z\":1}",
                    "step x: config.old is gone",
                    "step x: config.path is \"b\" instead of \"a\"",
                ],
            ),
            (
                one(json!({"uses": "a", "as": "x", "if": "${{ always() }}"})),
                one(
                    json!({"uses": "a", "as": "x", "continueOnError": true, "retry": {"timeout": "5m"}}),
                ),
                &[
                    "step x: if is none instead of ${{ always() }}",
                    "step x: continueOnError is true instead of false",
                    "step x: retry is 0 errors, 5m instead of none",
                ],
            ),
            (
                json!({"vars": [{"name": "a", "value": "1"}, {"name": "b"}, {"name": "a", "value": "2"}]}),
                json!({"vars": [{"name": "a", "value": "3"}, {"name": "c", "value": "x"}]}),
                &[
                    "variable a is \"3\" instead of \"2\"",
                    "variable b is gone",
                    "variable c is new: \"x\"",
                ],
            ),
        ];
        for (old, new, expected) in cases {
            assert_eq!(compare(old, new), expected);
        }
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        let step = |text: &str| json!({"steps": [{"uses": "a", "as": "x", "config": {"k": text}}]});
        let [line] = compare(step("a"), step(&"é".repeat(100)))
            .try_into()
            .unwrap();
        assert!(line.chars().count() < 120 && line.contains('…'), "{line}");
    }
}
