//! Reading and writing the metadata of an object that is plain JSON.

use super::kinds::{self, KindId};
use serde_json::{Map, Value};

/// Where an object is: kind, namespace (empty for cluster-scoped kinds) and name. Sorts as lists do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) kind: KindId,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Key {
    pub(crate) fn new(kind: KindId, namespace: &str, name: &str) -> Self {
        Self {
            kind,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Whether it is of this kind and, if a namespace is asked for, in it.
    pub(crate) fn is_in(&self, kind: KindId, namespace: Option<&str>) -> bool {
        self.kind == kind && namespace.is_none_or(|ns| ns == self.namespace)
    }
}

/// An owner as an owner reference names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) kind: Option<KindId>,
    pub(crate) namespaced: bool,
    pub(crate) name: String,
    pub(crate) uid: String,
}

/// A string field of `metadata`, absent when empty.
pub(crate) fn meta<'a>(object: &'a Value, field: &str) -> Option<&'a str> {
    object
        .get("metadata")?
        .get(field)?
        .as_str()
        .filter(|text| !text.is_empty())
}

/// Sets a field of `metadata`; an object without `metadata` gets one.
pub(crate) fn set_meta(object: &mut Value, field: &str, value: impl Into<Value>) {
    metadata_mut(object).insert(field.to_owned(), value.into());
}

/// `metadata` as a map. Where the object holds something else, that is replaced: callers have
/// checked the shape of what came from outside.
pub(crate) fn metadata_mut(object: &mut Value) -> &mut Map<String, Value> {
    map_mut(map_mut(object).entry("metadata").or_insert(Value::Null))
}

/// The value as a map, made one if it was something else.
pub(crate) fn map_mut(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => map,
        #[expect(clippy::unreachable, reason = "made an object just above")]
        _ => unreachable!(),
    }
}

pub(crate) fn remove_meta(object: &mut Value, field: &str) {
    metadata_mut(object).remove(field);
}

pub(crate) fn is_deleting(object: &Value) -> bool {
    meta(object, "deletionTimestamp").is_some()
}

fn list_len(value: Option<&Value>) -> usize {
    value.and_then(Value::as_array).map_or(0, Vec::len)
}

/// Whether anything still holds the object: its finalizers, or a namespace's own.
pub(crate) fn is_held(object: &Value, is_namespace: bool) -> bool {
    list_len(object.pointer("/metadata/finalizers")) > 0
        || (is_namespace && list_len(object.pointer("/spec/finalizers")) > 0)
}

/// The owners that the object names.
pub(crate) fn owners(object: &Value) -> Vec<Owner> {
    let references = object
        .pointer("/metadata/ownerReferences")
        .and_then(Value::as_array);
    references
        .into_iter()
        .flatten()
        .filter_map(|reference| {
            let text = |field: &str| reference.get(field).and_then(Value::as_str);
            let found = kinds::by_kind(text("apiVersion")?, text("kind")?);
            Some(Owner {
                kind: found.map(|(id, _)| id),
                namespaced: found.is_some_and(|(_, kind)| kind.namespaced),
                name: text("name")?.to_owned(),
                uid: text("uid")?.to_owned(),
            })
        })
        .collect()
}
