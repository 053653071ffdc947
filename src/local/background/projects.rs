//! A Project has a namespace of its name, made for it and, unless told otherwise, taken along with it.

use super::{Due, Part, kind_id};
use crate::local::object::{self, Key};
use crate::local::store::Objects;
use crate::local::user::UserInfo;
use crate::local::write::Action;
use serde_json::{Value, json};

const FINALIZER: &str = "kargo.akuity.io/finalizer";
const PROJECT_LABEL: &str = "/metadata/labels/kargo.akuity.io~1project";
const KEEP: &str = "/metadata/annotations/kargo.akuity.io~1keep-namespace";

fn controller() -> UserInfo {
    UserInfo::service_account("kargo", "kargo-management-controller")
}

pub(super) fn due(objects: &Objects) -> Vec<Due> {
    let (Some(projects), Some(namespaces)) = (kind_id("projects"), kind_id("namespaces")) else {
        return Vec::new();
    };
    let mut due = Vec::new();
    for (key, stored) in objects.range(projects, None) {
        let place = Key::new(namespaces, "", &key.name);
        let namespace = objects.get(&place).map(|stored| stored.value());
        let project = stored.value();
        if stored.deleting {
            due.extend(unmake(key, &project, &place, namespace.as_ref()));
        } else {
            due.extend(make(key, &project, &place, namespace.as_ref()));
        }
    }
    // A namespace that is deleted by hand takes its Project along.
    for (key, stored) in objects.range(namespaces, None).filter(|(_, s)| s.deleting) {
        let project = Key::new(projects, "", &key.name);
        match objects.get(&project) {
            Some(project_stored) if !project_stored.deleting => {
                due.push(Due::delete(project, &project_stored.uid, controller()));
            }
            Some(_) => {}
            None => due.extend(release(key, &stored.value())),
        }
    }
    due
}

fn has_finalizer(object: &Value) -> bool {
    finalizers(object).contains(&FINALIZER)
}

fn finalizers(object: &Value) -> Vec<&str> {
    let list = object
        .pointer("/metadata/finalizers")
        .and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

fn is_projects(namespace: &Value) -> bool {
    namespace.pointer(PROJECT_LABEL).and_then(Value::as_str) == Some("true")
}

fn with_finalizers(key: &Key, object: &Value, finalizers: &[&str]) -> Due {
    let patch = json!({"metadata": {
        "finalizers": finalizers,
        "resourceVersion": object.pointer("/metadata/resourceVersion"),
    }});
    Due::merge(key.clone(), patch, controller())
}

/// Takes our finalizer away, if it is there.
fn release(key: &Key, object: &Value) -> Option<Due> {
    has_finalizer(object).then(|| {
        let mut rest = finalizers(object);
        rest.retain(|finalizer| *finalizer != FINALIZER);
        with_finalizers(key, object, &rest)
    })
}

fn make(key: &Key, project: &Value, place: &Key, namespace: Option<&Value>) -> Vec<Due> {
    if !has_finalizer(project) {
        let mut all = finalizers(project);
        all.push(FINALIZER);
        return vec![with_finalizers(key, project, &all)];
    }
    let Some(namespace) = namespace else {
        let object = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {
                "name": key.name,
                "labels": {"kargo.akuity.io/project": "true"},
                "finalizers": [FINALIZER],
            },
        });
        return vec![Due::new(
            place.clone(),
            Action::Create(object),
            controller(),
        )];
    };
    let (ready, reason, message) = if object::is_deleting(namespace) {
        return Vec::new();
    } else if is_projects(namespace) {
        ("True", "Synced", "Project is ready for use")
    } else {
        (
            "False",
            "NamespaceNotForProject",
            "a namespace of this name exists and is not labelled kargo.akuity.io/project=true",
        )
    };
    condition(key, project, ready, reason, message)
        .into_iter()
        .collect()
}

/// Sets the Ready condition where it says something else.
fn condition(key: &Key, project: &Value, status: &str, reason: &str, message: &str) -> Option<Due> {
    let conditions = project
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    let conditions = conditions.cloned().unwrap_or_default();
    let is_ready = |c: &Value| c.get("type").and_then(Value::as_str) == Some("Ready");
    let old = conditions.iter().find(|c| is_ready(c));
    let same = |field: &str, value: &str| {
        old.is_some_and(|c| c.get(field).and_then(Value::as_str) == Some(value))
    };
    if same("status", status) && same("reason", reason) {
        return None;
    }
    let mut all: Vec<Value> = conditions
        .iter()
        .filter(|c| !is_ready(c))
        .cloned()
        .collect();
    all.push(json!({
        "type": "Ready",
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        "observedGeneration": project.pointer("/metadata/generation"),
    }));
    let patch = json!({"status": {"conditions": all}});
    Some(Due {
        part: Part::Status,
        ..Due::merge(key.clone(), patch, controller())
    })
}

fn unmake(key: &Key, project: &Value, place: &Key, namespace: Option<&Value>) -> Vec<Due> {
    let keep = project.pointer(KEEP).and_then(Value::as_str) == Some("true");
    let Some(namespace) = namespace.filter(|namespace| is_projects(namespace)) else {
        return release(key, project).into_iter().collect();
    };
    if let Some(released) = release(place, namespace) {
        return vec![released];
    }
    if keep {
        return release(key, project).into_iter().collect();
    }
    if object::is_deleting(namespace) {
        return Vec::new();
    }
    let uid = object::meta(namespace, "uid").unwrap_or("");
    vec![Due::delete(place.clone(), uid, controller())]
}
