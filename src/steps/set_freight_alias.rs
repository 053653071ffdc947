//! `set-freight-alias`: gives a piece of Freight another alias, which no other of the Project has.

use std::sync::LazyLock;

use async_trait::async_trait;
use regex::Regex;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    objects,
    schema::{Object, Shape, some_text, typed},
};
use crate::{
    engine::{
        port::{
            Key, Kind, Part, Port, PortError, PortExt,
            change::{self, Changed},
        },
        step::{Class, ErrorKind, Outcome, Step, StepCx, StepError},
    },
    kargo::{Freight, FreightAlias, ProjectName, StepKind, meta},
};

/// See the module.
pub struct SetFreightAlias;

fn shape() -> Shape {
    Object::new()
        .required("name", some_text())
        .required("alias", some_text())
        .into()
}

#[derive(Deserialize)]
struct Config {
    name: String,
    alias: FreightAlias,
}

/// An alias is a label's value too.
fn fits_label(alias: &str) -> bool {
    static VALUE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new("^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$").ok());
    alias.len() <= 63 && VALUE.as_ref().is_none_or(|value| value.is_match(alias))
}

/// Another piece of Freight of that alias.
async fn holder(
    port: &dyn Port,
    project: &ProjectName,
    config: &Config,
) -> Result<Option<String>, PortError> {
    let all = port.all::<Freight>(Some(project)).await?;
    let other = all
        .iter()
        .find(|freight| freight.alias() == config.alias && freight.name() != config.name);
    Ok(other.map(|freight| freight.name().to_owned()))
}

fn taken(config: &Config, by: &str) -> StepError {
    StepError::failed(format!(
        "cannot give Freight {} the alias {}: Freight {by} has it",
        config.name, config.alias
    ))
    .hint("Give that one another alias first")
}

/// The merge patch that gives the alias, as a field and as a label; none where both are there.
fn patch(object: &Value, alias: &FreightAlias) -> Option<Value> {
    let label = object
        .pointer("/metadata/labels")
        .and_then(|labels| labels.get(meta::ALIAS));
    let has = |value: Option<&Value>| value.and_then(Value::as_str) == Some(alias.as_str());
    if has(object.get("alias")) && has(label) {
        return None;
    }
    Some(json!({"metadata": {"labels": {meta::ALIAS: alias}}, "alias": alias}))
}

#[async_trait]
impl Step for SetFreightAlias {
    fn kind(&self) -> StepKind {
        "set-freight-alias".into()
    }

    fn class(&self) -> Class {
        Class::AskableEffect
    }

    fn shape(&self) -> Shape {
        shape()
    }

    fn check(&self, config: &Value) -> Vec<String> {
        let mut problems = shape().check(config);
        let alias = config.get("alias").and_then(Value::as_str);
        if let Some(alias) = alias.filter(|alias| !alias.is_empty() && !fits_label(alias)) {
            problems.push(format!(
                "alias: {alias:?} is no alias: at most 63 letters, digits, '-', '_' or '.', beginning and ending with a letter or digit"
            ));
        }
        problems
    }

    async fn run(&self, cx: StepCx<'_>, config: &Value) -> Result<Outcome, StepError> {
        let port = objects::port(&cx)?;
        let config: Config = typed(config)?;
        let project = &cx.around.project;
        let key = Key::new(Kind::Freight, project, &config.name);
        let doing = || format!("cannot give {key} the alias {}", config.alias);
        let failed = |error| match objects::failed(doing(), error) {
            // There is no such Freight: Kargo ends the step at once.
            error if error.kind == ErrorKind::Errored => StepError {
                kind: ErrorKind::Failed,
                ..error
            },
            error => error,
        };
        let before = change::read(port, &key).await.map_err(failed)?;
        let held = || async {
            let looked = holder(port, project, &config).await;
            looked.map_err(|why| failed(change::ChangeError::listing(&key, why)))
        };
        if let Some(other) = held().await? {
            return Err(taken(&config, &other));
        }
        let changed = change::change(port, &key, Part::Main, |object| {
            patch(object, &config.alias)
        });
        match changed.await {
            Ok(Changed::Already) => {
                let said = format!("{} had the alias {} already", config.name, config.alias);
                Ok(Outcome::succeeded(Map::new()).saying(said))
            }
            Ok(Changed::Now) => {
                let old = before.get("alias").and_then(Value::as_str);
                let old = old.filter(|old| !old.is_empty() && *old != config.alias.as_str());
                let from = old.map(|old| format!("{old} → ")).unwrap_or_default();
                let said = format!("{}: {from}{}", config.name, config.alias);
                Ok(Outcome::succeeded(Map::new()).saying(said))
            }
            Err(error) => match held().await? {
                // Somebody was faster: the server has the last word on aliases.
                Some(other) => Err(taken(&config, &other)),
                None => Err(failed(error)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_fits_a_label() {
        for (alias, good) in [
            ("calm-otter", true),
            ("v1.2.3_x", true),
            ("a", true),
            ("-a", false),
            ("a-", false),
            ("a b", false),
            ("ü", false),
        ] {
            assert_eq!(fits_label(alias), good, "{alias}");
        }
        assert!(fits_label(&"a".repeat(63)) && !fits_label(&"a".repeat(64)));
    }

    #[test]
    fn field_and_label_are_set_together() {
        let alias = "new".into();
        let has = json!({"alias": "new", "metadata": {"labels": {meta::ALIAS: "new"}}});
        assert_eq!(patch(&has, &alias), None);
        for lacks in [
            json!({"alias": "new", "metadata": {}}),
            json!({"alias": "old", "metadata": {"labels": {meta::ALIAS: "new"}}}),
            json!({}),
        ] {
            let mut object = lacks;
            let patch = patch(&object, &alias).unwrap();
            json_patch::merge(&mut object, &patch);
            assert_eq!(object, has);
        }
    }
}
