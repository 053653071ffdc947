//! What has to be read from the cluster when an expression asks for it.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::super::env::{Env, HostError};
use super::super::value::Value;
use super::only_text;

/// Answers from the cluster, in the promotion's project. Called while an expression runs, so an
/// implementation that cannot block fetches beforehand. `None` means that there is no such object.
pub trait Lookups {
    /// A ConfigMap's data.
    fn config_map(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, HostError>;
    /// A Secret's data, decoded.
    fn secret(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, HostError>;
    /// A ConfigMap of the shared namespace.
    fn shared_config_map(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, HostError>;
    /// A Secret of the shared namespace. Only those with `cred-type: generic` may be given out; the
    /// others are `None`.
    fn shared_secret(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, HostError>;
    /// `status.metadata` of a Freight, uncached.
    fn freight_metadata(&self, name: &str) -> Result<Option<Json>, HostError>;
    /// `status` of a Freight, uncached.
    fn freight_status(&self, name: &str) -> Result<Option<Json>, HostError>;
    /// `status.metadata` of a Stage, uncached.
    fn stage_metadata(&self, name: &str) -> Result<Option<Json>, HostError>;
}

/// For where there is no cluster: every look-up is an error that says so.
pub struct NoLookups;

impl NoLookups {
    fn refuse<T>(name: &str) -> Result<Option<T>, HostError> {
        Err(HostError::new(format!(
            "{name} cannot be looked up here: there is no cluster"
        )))
    }
}

impl Lookups for NoLookups {
    fn config_map(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, HostError> {
        Self::refuse(name)
    }
    fn secret(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, HostError> {
        Self::refuse(name)
    }
    fn shared_config_map(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, HostError> {
        Self::refuse(name)
    }
    fn shared_secret(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, HostError> {
        Self::refuse(name)
    }
    fn freight_metadata(&self, name: &str) -> Result<Option<Json>, HostError> {
        Self::refuse(name)
    }
    fn freight_status(&self, name: &str) -> Result<Option<Json>, HostError> {
        Self::refuse(name)
    }
    fn stage_metadata(&self, name: &str) -> Result<Option<Json>, HostError> {
        Self::refuse(name)
    }
}

pub(super) fn call(
    lookups: &dyn Lookups,
    name: &str,
    arguments: &[Value],
    env: &Env<'_>,
) -> Option<Result<Value, HostError>> {
    Some(match name {
        "configMap" => data(arguments, |name| lookups.config_map(name)),
        "sharedConfigMap" => data(arguments, |name| lookups.shared_config_map(name)),
        "secret" => secret(arguments, env, |name| lookups.secret(name)),
        "sharedSecret" => secret(arguments, env, |name| lookups.shared_secret(name)),
        "freightMetadata" => json(arguments, "first argument", "freight ref name", |name| {
            lookups.freight_metadata(name)
        }),
        "freightStatus" => json(arguments, "first argument", "freight ref name", |name| {
            lookups.freight_status(name)
        }),
        "stageMetadata" => json(arguments, "argument", "stage name", |name| {
            lookups.stage_metadata(name)
        }),
        _ => return None,
    })
}

/// An absent object reads as an empty one.
fn data(
    arguments: &[Value],
    look_up: impl Fn(&str) -> Result<Option<BTreeMap<String, String>>, HostError>,
) -> Result<Value, HostError> {
    let name = only_text(arguments, "argument")?;
    Ok(Value::texts(look_up(name)?.unwrap_or_default()))
}

fn secret(
    arguments: &[Value],
    env: &Env<'_>,
    look_up: impl Fn(&str) -> Result<Option<BTreeMap<String, String>>, HostError>,
) -> Result<Value, HostError> {
    let value = data(arguments, look_up)?;
    env.remember_secret(&value);
    Ok(value)
}

fn json(
    arguments: &[Value],
    argument: &str,
    what: &str,
    look_up: impl Fn(&str) -> Result<Option<Json>, HostError>,
) -> Result<Value, HostError> {
    let name = only_text(arguments, argument)?;
    if name.is_empty() {
        return Err(HostError::new(format!("{what} must not be empty")));
    }
    Ok(look_up(name)?.map_or(Value::Nil, |json| Value::from_json(&json)))
}
