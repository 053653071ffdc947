//! Objects as the rows of a table, which is how `kubectl get` asks for them.

use crate::local::kinds::Kind;
use crate::rules::durations;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// How much of the object comes with its row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Include {
    Nothing,
    #[default]
    Metadata,
    Object,
}

/// One column and where its cells come from.
struct Column {
    name: &'static str,
    from: From,
}

enum From {
    /// The value at a path.
    Path(&'static [&'static str]),
    /// A field of the condition `Ready`.
    Ready(&'static str),
    /// How long ago the time at a path was.
    Ago(&'static [&'static str]),
}

const fn path(name: &'static str, path: &'static [&'static str]) -> Column {
    let from = From::Path(path);
    Column { name, from }
}

const fn ready(name: &'static str, field: &'static str) -> Column {
    let from = From::Ready(field);
    Column { name, from }
}

/// The columns between the name and the age: for Kargo's kinds those that its definitions have.
fn columns(plural: &str) -> &'static [Column] {
    match plural {
        "projects" | "projectconfigs" => {
            const { &[ready("Ready", "status"), ready("Status", "message")] }
        }
        "warehouses" => const { &[path("Shard", &["spec", "shard"])] },
        "freights" => {
            const {
                &[
                    path("Alias", &["metadata", "labels", "kargo.akuity.io/alias"]),
                    path("Origin (Kind)", &["origin", "kind"]),
                    path("Origin (Name)", &["origin", "name"]),
                ]
            }
        }
        "stages" => {
            const {
                &[
                    path("Shard", &["spec", "shard"]),
                    path("Current Freight", &["status", "freightSummary"]),
                    path("Health", &["status", "health", "status"]),
                    ready("Ready", "status"),
                    ready("Status", "message"),
                ]
            }
        }
        "promotions" => {
            const {
                &[
                    path("Shard", &["metadata", "labels", "kargo.akuity.io/shard"]),
                    path("Stage", &["spec", "stage"]),
                    path("Freight", &["spec", "freight"]),
                    path("Phase", &["status", "phase"]),
                ]
            }
        }
        "approvalrequests" => {
            const {
                &[
                    path("Stage", &["spec", "stage"]),
                    path("Promotion", &["spec", "promotion", "name"]),
                    path("Step", &["spec", "step"]),
                    path("Phase", &["status", "phase"]),
                ]
            }
        }
        "approvals" => {
            const {
                &[
                    path("Request", &["spec", "request"]),
                    path("User", &["spec", "user"]),
                    path("Decision", &["spec", "decision"]),
                    path("Reason", &["status", "reason"]),
                ]
            }
        }
        "applications" => {
            const {
                &[
                    path("Sync Status", &["status", "sync", "status"]),
                    path("Health Status", &["status", "health", "status"]),
                ]
            }
        }
        "namespaces" => const { &[path("Status", &["status", "phase"])] },
        "secrets" => const { &[path("Type", &["type"])] },
        "leases" => const { &[path("Holder", &["spec", "holderIdentity"])] },
        "events" => {
            const {
                &[
                    path("Type", &["type"]),
                    path("Reason", &["reason"]),
                    path("Object", &["involvedObject", "name"]),
                    path("Message", &["message"]),
                ]
            }
        }
        _ => &[],
    }
}

const NAME: Column = path("Name", &["metadata", "name"]);
const AGE: Column = Column {
    name: "Age",
    from: From::Ago(&["metadata", "creationTimestamp"]),
};

fn all(kind: &Kind) -> impl Iterator<Item = &'static Column> {
    let between = columns(kind.plural).iter();
    std::iter::once(&NAME).chain(between).chain([&AGE])
}

/// A table of objects; the metadata is a list's, or has an object's version.
pub(super) fn of(
    kind: &Kind,
    include: Include,
    metadata: &Value,
    objects: impl Iterator<Item = Value>,
) -> Value {
    let now = Timestamp::now();
    let definitions: Vec<Value> = all(kind)
        .map(|column| {
            let format = if column.name == NAME.name { "name" } else { "" };
            json!({"name": column.name, "type": "string", "format": format, "description": "", "priority": 0})
        })
        .collect();
    let rows: Vec<Value> = objects
        .map(|object| {
            let cells: Vec<Value> = all(kind).map(|column| cell(column, &object, now)).collect();
            json!({"cells": cells, "object": included(include, object)})
        })
        .collect();
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": definitions,
        "rows": rows,
    })
}

/// The table of one object, unless it is something else than an object of the kind.
pub(super) fn of_one(kind: &Kind, include: Include, object: Value) -> Value {
    if object.get("kind").and_then(Value::as_str) != Some(kind.kind) {
        return object;
    }
    let version = object.pointer("/metadata/resourceVersion").cloned();
    let metadata = json!({"resourceVersion": version});
    of(kind, include, &metadata, std::iter::once(object))
}

fn included(include: Include, object: Value) -> Value {
    match include {
        Include::Nothing => Value::Null,
        Include::Metadata => super::read::partial(&object),
        Include::Object => object,
    }
}

fn cell(column: &Column, object: &Value, now: Timestamp) -> Value {
    let at = |path: &[&str]| {
        path.iter()
            .try_fold(object, |value, field| value.get(field))
    };
    match column.from {
        From::Path(path) => at(path).cloned().unwrap_or(Value::Null),
        From::Ready(field) => {
            let conditions = at(&["status", "conditions"]).and_then(Value::as_array);
            let is_ready = |one: &&Map<String, Value>| one.get("type") == Some(&"Ready".into());
            let mut conditions = conditions
                .into_iter()
                .flatten()
                .filter_map(Value::as_object);
            let found = conditions.find(is_ready);
            found
                .and_then(|one| one.get(field))
                .cloned()
                .unwrap_or(Value::Null)
        }
        From::Ago(path) => {
            let time = at(path).and_then(Value::as_str);
            let time = time.and_then(|text| text.parse::<Timestamp>().ok());
            // Less than nothing is a clock that was set.
            let age = time.map(|time| now.duration_since(time).try_into().unwrap_or_default());
            age.map_or_else(|| "<unknown>".into(), |age| durations::human(age).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::kinds;

    #[test]
    fn a_row_has_a_cell_for_every_column() {
        let object = json!({"kind": "Stage", "metadata": {"name": "prod", "resourceVersion": "7"},
            "status": {"conditions": [{"type": "Other"}, {"type": "Ready", "status": "True"}]}});
        let (_, kind) = kinds::by_plural_alone("stages").unwrap();
        let table = of_one(kind, Include::Nothing, object);
        assert_eq!(table["metadata"]["resourceVersion"], "7");
        assert_eq!(
            table["rows"],
            json!([{"cells": ["prod", null, null, null, "True", null, "<unknown>"], "object": null}])
        );
        let names: Vec<&str> = table["columnDefinitions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|column| column["name"].as_str().unwrap())
            .collect();
        assert_eq!(
            names,
            [
                "Name",
                "Shard",
                "Current Freight",
                "Health",
                "Ready",
                "Status",
                "Age"
            ]
        );
        let status = json!({"kind": "Status"});
        assert_eq!(of_one(kind, Include::Object, status.clone()), status);
    }
}
