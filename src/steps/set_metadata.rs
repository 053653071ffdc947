//! `set-metadata`: writes values into the `status.metadata` of Stages and Freight of the Project.
//!
//! A value replaces the one of the same name as a whole; null takes it away. Values that are there already are not
//! written, so that the step made again after a crash changes nothing twice.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    objects,
    schema::{Object, Shape, list, some_text, typed},
};
use crate::{
    engine::{
        journal::{ledger::difference, limits},
        port::{
            Key, Kind, Part,
            change::{self, Changed},
        },
        step::{Class, Outcome, Step, StepCx, StepError},
    },
    kargo::{ProjectName, StepKind},
};

/// See the module.
pub struct SetMetadata;

fn shape() -> Shape {
    let update = Object::new()
        .required("kind", Shape::OneOf(&["Stage", "Freight"]))
        .required("name", some_text())
        .required("values", Shape::Filled);
    Object::new().required("updates", list(update, 1)).into()
}

#[derive(Deserialize)]
struct Config {
    updates: Vec<Update>,
}

#[derive(Deserialize)]
struct Update {
    kind: Target,
    name: String,
    values: Map<String, Value>,
}

#[derive(Clone, Copy, Deserialize)]
enum Target {
    Stage,
    Freight,
}

impl Target {
    fn kind(self) -> Kind {
        match self {
            Self::Stage => Kind::Stage,
            Self::Freight => Kind::Freight,
        }
    }
}

/// What each object gets, in the order of the configuration; of several values of one name the last counts.
fn by_object(updates: Vec<Update>, project: &ProjectName) -> Vec<(Key, Map<String, Value>)> {
    let mut at: BTreeMap<Key, usize> = BTreeMap::new();
    let mut wanted: Vec<(Key, Map<String, Value>)> = Vec::new();
    for update in updates {
        let key = Key::new(update.kind.kind(), project, &update.name);
        let position = *at.entry(key.clone()).or_insert(wanted.len());
        match wanted.get_mut(position) {
            Some((_, values)) => values.extend(update.values),
            None => wanted.push((key, update.values)),
        }
    }
    wanted
}

/// The merge patch that gives an object these values; none where it has them. Made of the difference, since a merge
/// patch would put a list of fields into the old ones instead of in their place.
fn patch(object: &Value, values: &Map<String, Value>) -> Option<Value> {
    let old = object.pointer("/status/metadata").cloned();
    let old = old.filter(Value::is_object).unwrap_or_else(|| json!({}));
    let mut new = old.as_object().cloned().unwrap_or_default();
    for (name, value) in values {
        match limits::without_nulls(value.clone()) {
            Value::Null => drop(new.remove(name)),
            value => drop(new.insert(name.clone(), value)),
        }
    }
    let patch = difference(&old, &Value::Object(new))?;
    Some(json!({"status": {"metadata": patch}}))
}

fn shown(keys: &[&Key]) -> String {
    let names = keys
        .iter()
        .map(|key| format!("{} {}", key.kind.as_str(), key.name));
    names.collect::<Vec<_>>().join(", ")
}

#[async_trait]
impl Step for SetMetadata {
    fn kind(&self) -> StepKind {
        "set-metadata".into()
    }

    fn class(&self) -> Class {
        Class::AskableEffect
    }

    fn shape(&self) -> Shape {
        shape()
    }

    async fn run(&self, cx: StepCx<'_>, config: &Value) -> Result<Outcome, StepError> {
        let port = objects::port(&cx)?;
        let wanted = by_object(typed::<Config>(config)?.updates, &cx.around.project);
        // All are looked at before the first is written: a wrong name changes nothing.
        for (key, _) in &wanted {
            let looked = change::read(port, key).await;
            looked
                .map_err(|error| objects::failed(format!("cannot set metadata of {key}"), error))?;
        }
        let (mut written, mut same) = (Vec::new(), Vec::new());
        for (key, values) in &wanted {
            let changed = change::change(port, key, Part::Status, |object| patch(object, values));
            match changed.await {
                Ok(Changed::Now) => written.push(key),
                Ok(Changed::Already) => same.push(key),
                Err(error) => {
                    let mut doing = format!("cannot set metadata of {key}");
                    if !written.is_empty() {
                        doing.push_str(&format!(" (that of {} is set)", shown(&written)));
                    }
                    return Err(objects::failed(doing, error));
                }
            }
        }
        let said = match (written.is_empty(), same.is_empty()) {
            (true, _) => format!("{} had it already", shown(&same)),
            (false, true) => shown(&written),
            (false, false) => format!("{}; {} had it already", shown(&written), shown(&same)),
        };
        Ok(Outcome::succeeded(Map::new()).saying(said))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(old: Value, values: Value) -> Option<Value> {
        let object = json!({"status": {"metadata": old, "other": 1}});
        let patch = patch(&object, values.as_object().unwrap())?;
        let mut new = object;
        json_patch::merge(&mut new, &patch);
        assert_eq!(new["status"]["other"], 1);
        Some(new["status"]["metadata"].clone())
    }

    #[test]
    fn values_are_replaced_as_a_whole_and_others_kept() {
        let cases = [
            (json!(null), json!({"a": 1}), json!({"a": 1})),
            (
                json!({"b": 2}),
                json!({"a": [1, 2]}),
                json!({"a": [1, 2], "b": 2}),
            ),
            (
                json!({"a": {"x": 1, "y": 2}}),
                json!({"a": {"x": 3}}),
                json!({"a": {"x": 3}}),
            ),
            (
                json!({"a": {"x": 1}}),
                json!({"a": "text"}),
                json!({"a": "text"}),
            ),
            (json!({"a": 1, "b": 2}), json!({"a": null}), json!({"b": 2})),
            (
                json!({"a": 1}),
                json!({"b": {"x": null, "y": 1}}),
                json!({"a": 1, "b": {"y": 1}}),
            ),
            (json!({"a": {"x": 1}}), json!({"a": {}}), json!({"a": {}})),
        ];
        for (old, values, new) in cases {
            assert_eq!(
                after(old.clone(), values.clone()),
                Some(new),
                "{old} {values}"
            );
        }
    }

    #[test]
    fn what_is_there_is_not_written() {
        for (old, values) in [
            (json!({"a": {"x": 1}, "b": 2}), json!({"a": {"x": 1}})),
            (json!({"b": 2}), json!({"a": null})),
            (json!({"a": {"y": 1}}), json!({"a": {"x": null, "y": 1}})),
        ] {
            assert_eq!(after(old.clone(), values.clone()), None, "{old} {values}");
        }
    }
}
