//! A namespace that goes takes everything in it along, and goes when nothing is left.

use super::{Due, Part, Patch, kind_id};
use crate::local::object::Key;
use crate::local::store::{Objects, Stored};
use crate::local::user::UserInfo;
use crate::local::write::Action;
use serde_json::json;

fn controller() -> UserInfo {
    UserInfo::service_account("kube-system", "namespace-controller")
}

pub(super) fn due(objects: &Objects) -> Vec<Due> {
    let Some(id) = kind_id("namespaces") else {
        return Vec::new();
    };
    objects
        .range(id, None)
        .filter(|(_, stored)| stored.deleting)
        .flat_map(|(key, stored)| empty(objects, key, stored))
        .collect()
}

fn empty(objects: &Objects, key: &Key, stored: &Stored) -> Vec<Due> {
    let mut content = objects.in_namespace(&key.name).peekable();
    if content.peek().is_none() {
        return finalize(key, stored).into_iter().collect();
    }
    content
        .filter_map(|key| {
            let stored = objects.get(key)?;
            // What is held by finalizers is waited for.
            (!stored.deleting).then(|| Due::delete(key.clone(), &stored.uid, controller()))
        })
        .collect()
}

fn finalize(key: &Key, stored: &Stored) -> Option<Due> {
    let value = stored.value();
    let finalizers = value.pointer("/spec/finalizers")?.as_array()?;
    if finalizers.is_empty() {
        return None;
    }
    let patch = json!({"spec": {"finalizers": null}});
    Some(Due {
        part: Part::Finalize,
        ..Due::new(
            key.clone(),
            Action::Patch(Patch::Merge(patch)),
            controller(),
        )
    })
}
