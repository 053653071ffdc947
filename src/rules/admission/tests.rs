use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::rules::names;

mod approvals;
mod freight;
mod others;
mod promotions;

const NOW: &str = "2026-08-21T12:00:00Z";
const EXECUTOR: &str = "system:serviceaccount:tidewaiter:executor";
/// A Freight of the shop's Warehouse.
const FREIGHT: &str = "abcdef0123456789abcdef0123456789abcdef01";

/// Objects by (plural, namespace, name), and who may not do what.
#[derive(Clone, Default)]
struct World {
    objects: BTreeMap<(String, String, String), Value>,
    refused: Vec<(&'static str, &'static str)>,
}

impl World {
    fn put(&mut self, plural: &str, namespace: &str, object: Value) {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        self.objects
            .insert((plural.into(), namespace.into(), name), object);
    }

    fn with(mut self, plural: &str, namespace: &str, object: Value) -> Self {
        self.put(plural, namespace, object);
        self
    }
}

impl View for World {
    fn get(&self, _: &str, plural: &str, namespace: Option<&str>, name: &str) -> Option<Value> {
        self.objects
            .get(&(
                plural.into(),
                namespace.unwrap_or_default().into(),
                name.into(),
            ))
            .cloned()
    }

    fn list(&self, _: &str, plural: &str, namespace: Option<&str>) -> Vec<Value> {
        let of = |key: &(String, String, String)| {
            key.0 == plural && namespace.is_none_or(|namespace| key.1 == namespace)
        };
        self.objects
            .iter()
            .filter(|(key, _)| of(key))
            .map(|(_, object)| object.clone())
            .collect()
    }

    fn authorized(
        &self,
        _: &User,
        verb: &str,
        _: &str,
        _: &str,
        _: Option<&str>,
        name: &str,
    ) -> bool {
        !self.refused.contains(&(verb, name))
    }
}

/// A shop with a Stage that takes Freight straight from its Warehouse.
fn shop() -> World {
    World::default()
        .with("namespaces", "", json!({"metadata": {"name": "shop", "labels": {"kargo.akuity.io/project": "true"}}}))
        .with("namespaces", "", json!({"metadata": {"name": "plain"}}))
        .with("stages", "shop", stage(json!({"direct": true})))
        .with("freights", "shop", json!({
            "metadata": {"name": FREIGHT, "namespace": "shop"}, "alias": "calm-otter",
            "origin": {"kind": "Warehouse", "name": "w"}, "discoveredAt": "2026-08-01T00:00:00Z"
        }))
        .with("warehouses", "shop", json!({
            "metadata": {"name": "w"},
            "spec": {"subscriptions": [{"image": {"repoURL": "org/app"}}, {"git": {"repoURL": "https://h.example/o/r.git"}}]}
        }))
}

fn stage(sources: Value) -> Value {
    json!({
        "apiVersion": "kargo.akuity.io/v1alpha1", "kind": "Stage",
        "metadata": {"name": "prod", "namespace": "shop", "uid": "stage-uid"},
        "spec": {
            "shard": "east", "vars": [{"name": "env", "value": "prod"}],
            "requestedFreight": [{"origin": {"kind": "Warehouse", "name": "w"}, "sources": sources}],
            "promotionTemplate": {"spec": {"steps": [{"uses": "git-clone", "config": {"repoURL": "x"}}]}}
        }
    })
}

fn ann() -> User {
    User {
        name: "ann".into(),
        uid: Some("1001".into()),
        groups: vec!["leads".into(), "dev".into()],
        impersonated_by: None,
    }
}

fn executor() -> User {
    User {
        name: EXECUTOR.into(),
        ..User::default()
    }
}

/// A write in the namespace `shop`.
struct Write<'a> {
    plural: &'a str,
    object: Option<Value>,
    old: Option<Value>,
    user: User,
    subresource: Option<&'a str>,
}

impl<'a> Write<'a> {
    fn create(plural: &'a str, object: Value) -> Self {
        Self {
            plural,
            object: Some(object),
            old: None,
            user: ann(),
            subresource: None,
        }
    }

    fn update(plural: &'a str, old: Value, object: Value) -> Self {
        Self {
            plural,
            object: Some(object),
            old: Some(old),
            user: ann(),
            subresource: None,
        }
    }

    fn delete(plural: &'a str, old: Value) -> Self {
        Self {
            plural,
            object: None,
            old: Some(old),
            user: ann(),
            subresource: None,
        }
    }

    fn by(self, user: User) -> Self {
        Self { user, ..self }
    }

    fn status(self) -> Self {
        Self {
            subresource: Some("status"),
            ..self
        }
    }

    /// The object as it would be stored.
    fn admit(&self, world: &World) -> Result<Value, Denial> {
        let subject = self.object.as_ref().or(self.old.as_ref()).unwrap();
        let request = Request {
            operation: match (&self.object, &self.old) {
                (Some(_), None) => Operation::Create,
                (Some(_), Some(_)) => Operation::Update,
                _ => Operation::Delete,
            },
            group: if self.plural.starts_with("approval") {
                meta::GROUP
            } else {
                meta::KARGO_GROUP
            },
            plural: self.plural,
            subresource: self.subresource,
            namespace: if matches!(self.plural, "projects" | "clusterpromotiontasks") {
                None
            } else {
                Some(subject["metadata"]["namespace"].as_str().unwrap_or("shop"))
            },
            name: subject["metadata"]["name"].as_str(),
            object: self.object.as_ref(),
            old: self.old.as_ref(),
            user: &self.user,
            now: NOW.parse().unwrap(),
            ulid: names::next_ulid(None, NOW.parse().unwrap(), 42),
            executor: Some(EXECUTOR),
        };
        let changed = mutate(&request, world)?;
        let object = changed.as_ref().or(request.object);
        validate(&Request { object, ..request }, world)?;
        Ok(changed.or_else(|| self.object.clone()).unwrap_or_default())
    }

    /// HTTP code and message of the refusal.
    fn refusal(&self, world: &World) -> (u16, String) {
        let denial = self.admit(world).unwrap_err();
        (denial.code, denial.message)
    }
}
