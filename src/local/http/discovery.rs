//! What is served, in the form that clients discover it.

use crate::local::kinds::{self, Kind};
use serde_json::{Value, json};

/// Groups that have no objects, only questions.
const REVIEW_GROUPS: &[(&str, &[(&str, &str)])] = &[
    (
        "authentication.k8s.io",
        &[("selfsubjectreviews", "SelfSubjectReview")],
    ),
    (
        "authorization.k8s.io",
        &[
            ("selfsubjectaccessreviews", "SelfSubjectAccessReview"),
            ("subjectaccessreviews", "SubjectAccessReview"),
        ],
    ),
];

/// Clients read a Kubernetes version from here: the one whose behaviour is followed.
pub(super) fn version() -> Value {
    json!({
        "major": "1",
        "minor": "33",
        "gitVersion": format!("v1.33.0+tidewaiter.{}", env!("CARGO_PKG_VERSION")),
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

pub(super) fn core_versions() -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [],
    })
}

/// Groups with their versions, in the order of the table.
fn group_versions() -> Vec<(&'static str, &'static str)> {
    let mut found: Vec<(&str, &str)> = Vec::new();
    let served = kinds::all().map(|(_, kind)| (kind.group, kind.version));
    for pair in served.chain(REVIEW_GROUPS.iter().map(|(group, _)| (*group, "v1"))) {
        if !pair.0.is_empty() && !found.contains(&pair) {
            found.push(pair);
        }
    }
    found
}

fn group_value(group: &str, version: &str) -> Value {
    let version = json!({"groupVersion": format!("{group}/{version}"), "version": version});
    json!({"name": group, "versions": [version], "preferredVersion": version})
}

pub(super) fn groups() -> Value {
    let groups: Vec<Value> = group_versions()
        .into_iter()
        .map(|(group, version)| group_value(group, version))
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

pub(super) fn group(name: &str) -> Option<Value> {
    let (group, version) = group_versions().into_iter().find(|(g, _)| *g == name)?;
    let mut value = group_value(group, version);
    let map = value.as_object_mut()?;
    map.insert("kind".to_owned(), "APIGroup".into());
    map.insert("apiVersion".to_owned(), "v1".into());
    Some(value)
}

/// The resources of a group and version; none if there are none.
pub(super) fn resources(group: &str, version: &str) -> Option<Value> {
    let mut resources = Vec::new();
    for (_, kind) in kinds::all() {
        if kind.group == group && kind.version == version {
            resources.push(resource(kind));
            if kind.status {
                resources.push(subresource(kind, "status"));
            }
        }
    }
    let reviews = REVIEW_GROUPS
        .iter()
        .filter(|(g, _)| *g == group && version == "v1");
    for (plural, kind) in reviews.flat_map(|(_, kinds)| kinds.iter()) {
        resources.push(json!({
            "name": plural, "singularName": kind.to_lowercase(), "namespaced": false,
            "kind": kind, "verbs": ["create"],
        }));
    }
    if resources.is_empty() {
        return None;
    }
    let group_version = if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    };
    Some(json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": resources,
    }))
}

fn resource(kind: &Kind) -> Value {
    json!({
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "shortNames": kind.short_names,
        "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
    })
}

fn subresource(kind: &Kind, name: &str) -> Value {
    json!({
        "name": format!("{}/{name}", kind.plural),
        "singularName": "",
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": ["get", "patch", "update"],
    })
}
