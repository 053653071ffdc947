//! Objects whose owners are all gone go too. Owners are told apart by uid: a new one of the same
//! name is another.

use super::{Changes, Due};
use crate::local::object::{Key, Owner};
use crate::local::store::{Objects, Stored};
use crate::local::user::UserInfo;
use serde_json::{Value, json};

pub(super) fn due(objects: &Objects, changes: &Changes) -> Vec<Due> {
    let orphaned = |stored: &Stored| {
        stored
            .owners
            .iter()
            .any(|owner| changes.gone.contains(&owner.uid))
    };
    if !changes.all && changes.gone.is_empty() {
        let touched = changes.touched.iter();
        return touched
            .filter_map(|key| verdict(objects, key, objects.get(key)?))
            .collect();
    }
    objects
        .iter()
        .filter(|(key, stored)| changes.all || changes.touched.contains(*key) || orphaned(stored))
        .filter_map(|(key, stored)| verdict(objects, key, stored))
        .collect()
}

/// Whether an owner may still be there. One of a kind that is not served cannot be looked up.
fn is_there(objects: &Objects, dependent: &Key, owner: &Owner) -> bool {
    let Some(kind) = owner.kind else { return true };
    let namespace = if owner.namespaced {
        dependent.namespace.as_str()
    } else {
        ""
    };
    objects
        .get(&Key::new(kind, namespace, &owner.name))
        .is_some_and(|found| found.uid == owner.uid)
}

fn verdict(objects: &Objects, key: &Key, stored: &Stored) -> Option<Due> {
    if stored.deleting || stored.owners.is_empty() {
        return None;
    }
    let (there, gone): (Vec<&Owner>, Vec<&Owner>) = stored
        .owners
        .iter()
        .partition(|owner| is_there(objects, key, owner));
    let user = UserInfo::service_account("kube-system", "generic-garbage-collector");
    if gone.is_empty() {
        None
    } else if there.is_empty() {
        Some(Due::delete(key.clone(), &stored.uid, user))
    } else {
        let patch = without(&stored.value(), &gone);
        Some(Due::merge(key.clone(), patch, user))
    }
}

/// A patch that takes owners away which are gone while others remain.
fn without(object: &Value, gone: &[&Owner]) -> Value {
    let references = object
        .pointer("/metadata/ownerReferences")
        .and_then(Value::as_array);
    let kept: Vec<&Value> = references
        .into_iter()
        .flatten()
        .filter(|reference| {
            let uid = reference.get("uid").and_then(Value::as_str);
            !gone.iter().any(|owner| Some(owner.uid.as_str()) == uid)
        })
        .collect();
    json!({"metadata": {
        "ownerReferences": kept,
        "resourceVersion": object.pointer("/metadata/resourceVersion"),
    }})
}
