//! All objects, by kind, namespace and name.

use crate::local::admission::View;
use crate::local::kinds::{self, KindId};
use crate::local::object::{self, Key, Owner};
use bytes::Bytes;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One version of an object: its text as it goes over the wire, and what lists and the garbage
/// collector look at. Parsed objects take several times the memory of their text.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) text: Bytes,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) uid: String,
    pub(crate) owners: Vec<Owner>,
    pub(crate) deleting: bool,
}

impl Stored {
    pub(crate) fn new(value: &Value) -> Self {
        Self::with_text(value, Bytes::from(value.to_string()))
    }

    /// For text that is already at hand; `value` is what it says.
    pub(crate) fn with_text(value: &Value, text: Bytes) -> Self {
        let labels = value.pointer("/metadata/labels").and_then(Value::as_object);
        Self {
            text,
            labels: labels
                .into_iter()
                .flatten()
                .map(|(k, v)| (k.clone(), v.as_str().unwrap_or("").to_owned()))
                .collect(),
            uid: object::meta(value, "uid").unwrap_or("").to_owned(),
            owners: object::owners(value),
            deleting: object::is_deleting(value),
        }
    }

    /// The object parsed. The text was made by this server, or checked on reading the file.
    pub(crate) fn value(&self) -> Value {
        serde_json::from_slice(&self.text).unwrap_or(Value::Null)
    }
}

/// The objects of one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Objects {
    map: BTreeMap<Key, Arc<Stored>>,
}

impl Objects {
    pub(crate) fn get(&self, key: &Key) -> Option<&Arc<Stored>> {
        self.map.get(key)
    }

    /// Puts or removes an object and gives back what was there.
    pub(crate) fn set(&mut self, key: &Key, stored: Option<Arc<Stored>>) -> Option<Arc<Stored>> {
        match stored {
            Some(stored) => self.map.insert(key.clone(), stored),
            None => self.map.remove(key),
        }
    }

    /// Objects of a kind in order, in one namespace or in all.
    pub(crate) fn range(
        &self,
        kind: KindId,
        namespace: Option<&str>,
    ) -> impl Iterator<Item = (&Key, &Arc<Stored>)> {
        let from = Key::new(kind, namespace.unwrap_or(""), "");
        self.map
            .range(from..Key::new(kind.next(), "", ""))
            .take_while(move |(key, _)| namespace.is_none_or(|ns| ns == key.namespace))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Key, &Arc<Stored>)> {
        self.map.iter()
    }

    /// Where everything in the namespace is.
    pub(crate) fn in_namespace<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a Key> {
        kinds::all()
            .filter(|(_, kind)| kind.namespaced)
            .flat_map(move |(id, _)| self.range(id, Some(namespace)).map(|(key, _)| key))
    }

    pub(crate) fn namespace(&self, name: &str) -> Option<&Arc<Stored>> {
        let (kind, _) = kinds::by_plural_alone("namespaces")?;
        self.get(&Key::new(kind, "", name))
    }
}

impl View for Objects {
    fn get(&self, plural: &str, namespace: Option<&str>, name: &str) -> Option<Value> {
        let (kind, _) = kinds::by_plural_alone(plural)?;
        let key = Key::new(kind, namespace.unwrap_or(""), name);
        Some(Objects::get(self, &key)?.value())
    }

    fn list(&self, plural: &str, namespace: Option<&str>) -> Vec<Value> {
        let Some((kind, _)) = kinds::by_plural_alone(plural) else {
            return Vec::new();
        };
        self.range(kind, namespace)
            .map(|(_, stored)| stored.value())
            .collect()
    }

    fn names(&self, plural: &str, namespace: Option<&str>) -> Vec<String> {
        let Some((kind, _)) = kinds::by_plural_alone(plural) else {
            return Vec::new();
        };
        self.range(kind, namespace)
            .map(|(key, _)| key.name.clone())
            .collect()
    }
}
