//! What Kargo's definitions demand of a field wherever it occurs: the same parts are built into
//! Promotions, Stages and the copies of one in the other.

use crate::local::names;
use crate::local::status::Cause;
use serde_json::Value;

/// A demand on all fields of a name.
struct Demand {
    field: &'static str,
    of: Of,
    /// Must be there.
    required: &'static [&'static str],
    /// Must not be empty where they are there.
    filled: &'static [&'static str],
    more: fn(&Value, &str, &mut Vec<Cause>),
}

/// What a demand is about.
#[derive(Clone, Copy)]
enum Of {
    TheObject,
    /// Each item of the list, or value of the map.
    Each,
}

const PLAIN: Demand = Demand {
    field: "",
    of: Of::Each,
    required: &[],
    filled: &[],
    more: |_, _, _| {},
};

const DEMANDS: &[Demand] = &[
    Demand {
        field: "origin",
        of: Of::TheObject,
        required: &["kind", "name"],
        more: origin,
        ..PLAIN
    },
    Demand {
        field: "artifacts",
        required: &["subscriptionName", "version"],
        filled: &["artifactType", "subscriptionName", "version"],
        ..PLAIN
    },
    Demand {
        field: "conditions",
        required: &["type", "status", "reason", "message", "lastTransitionTime"],
        filled: &["type", "reason"],
        more: condition,
        ..PLAIN
    },
    Demand {
        field: "freightCollection",
        of: Of::TheObject,
        required: &["id"],
        ..PLAIN
    },
    Demand {
        field: "freightHistory",
        required: &["id"],
        ..PLAIN
    },
    Demand {
        field: "analysisRun",
        of: Of::TheObject,
        required: &["namespace", "name", "phase"],
        ..PLAIN
    },
    Demand {
        field: "healthChecks",
        required: &["uses"],
        filled: &["uses"],
        ..PLAIN
    },
    Demand {
        field: "vars",
        required: &["name"],
        more: variable,
        ..PLAIN
    },
    Demand {
        field: "task",
        of: Of::TheObject,
        required: &["name"],
        more: task,
        ..PLAIN
    },
    Demand {
        field: "currentPromotion",
        of: Of::TheObject,
        required: &["name"],
        ..PLAIN
    },
    Demand {
        field: "lastPromotion",
        of: Of::TheObject,
        required: &["name"],
        ..PLAIN
    },
    Demand {
        field: "autoPromotionHolds",
        required: &["freightName", "origin"],
        ..PLAIN
    },
    Demand {
        field: "effectiveAutoPromotionHolds",
        required: &["freightName", "origin"],
        ..PLAIN
    },
    Demand {
        field: "requestedFreight",
        required: &["origin", "sources"],
        ..PLAIN
    },
    Demand {
        field: "matchExpressions",
        required: &["key", "operator"],
        ..PLAIN
    },
    Demand {
        field: "analysisTemplates",
        required: &["name"],
        ..PLAIN
    },
    Demand {
        field: "args",
        required: &["name", "value"],
        ..PLAIN
    },
];

/// Checks one field of an object by its name.
pub(super) fn check(field: &str, path: &str, value: &Value, causes: &mut Vec<Cause>) {
    for demand in DEMANDS.iter().filter(|demand| demand.field == field) {
        match (demand.of, value) {
            (Of::TheObject, object) => demand.check(object, path, causes),
            (Of::Each, Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    demand.check(item, &format!("{path}[{index}]"), causes);
                }
            }
            (Of::Each, Value::Object(map)) => {
                for (key, item) in map {
                    demand.check(item, &format!("{path}[{key}]"), causes);
                }
            }
            (Of::Each, _) => {}
        }
    }
    if field == "conditions" {
        told_apart(value, path, "type", causes);
    }
}

impl Demand {
    fn check(&self, object: &Value, path: &str, causes: &mut Vec<Cause>) {
        if !object.is_object() {
            return;
        }
        for name in self.required {
            if object.get(*name).is_none() {
                causes.push(Cause::required(format!("{path}.{name}")));
            }
        }
        for name in self.filled {
            if object.get(*name).and_then(Value::as_str) == Some("") {
                causes.push(Cause::invalid(
                    format!("{path}.{name}"),
                    format!("\"\": {path}.{name} in body should be at least 1 chars long"),
                ));
            }
        }
        (self.more)(object, path, causes);
    }
}

/// A text field must be one of these, if it is there.
fn one_of(object: &Value, path: &str, field: &str, known: &[&str], causes: &mut Vec<Cause>) {
    let Some(found) = object.get(field).and_then(Value::as_str) else {
        return;
    };
    if !known.contains(&found) {
        causes.push(Cause::unsupported(
            format!("{path}.{field}"),
            &format!("{found:?}"),
            &known
                .iter()
                .map(|word| format!("{word:?}"))
                .collect::<Vec<_>>(),
        ));
    }
}

fn origin(object: &Value, path: &str, causes: &mut Vec<Cause>) {
    one_of(object, path, "kind", &["Warehouse"], causes);
}

fn task(object: &Value, path: &str, causes: &mut Vec<Cause>) {
    one_of(
        object,
        path,
        "kind",
        &["PromotionTask", "ClusterPromotionTask"],
        causes,
    );
    if let Some(name) = object
        .get("name")
        .and_then(Value::as_str)
        .filter(|name| !names::is_dns_subdomain(name))
    {
        causes.push(Cause::invalid(
            format!("{path}.name"),
            format!("{name:?}: not the name of an object"),
        ));
    }
}

fn condition(object: &Value, path: &str, causes: &mut Vec<Cause>) {
    one_of(
        object,
        path,
        "status",
        &["True", "False", "Unknown"],
        causes,
    );
    let reason = object.get("reason").and_then(Value::as_str).unwrap_or("A");
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ',' | ':');
    let fits = reason.len() <= 1024
        && reason.starts_with(|c: char| c.is_ascii_alphabetic())
        && reason.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && reason.chars().all(inner);
    if !fits && !reason.is_empty() {
        causes.push(Cause::invalid(
            format!("{path}.reason"),
            format!("{reason:?}: must be one CamelCase word"),
        ));
    }
    if object
        .get("message")
        .and_then(Value::as_str)
        .is_some_and(|message| message.len() > 32768)
    {
        causes.push(Cause::too_long(
            format!("{path}.message"),
            "may not be more than 32768 bytes",
        ));
    }
}

fn variable(object: &Value, path: &str, causes: &mut Vec<Cause>) {
    let name = object.get("name").and_then(Value::as_str).unwrap_or("A");
    let fits = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !fits {
        causes.push(Cause::invalid(
            format!("{path}.name"),
            format!("{name:?}: must be letters, digits and '_', not beginning with a digit"),
        ));
    }
}

/// A list whose items are told apart by one field holds each value once.
fn told_apart(list: &Value, path: &str, key: &str, causes: &mut Vec<Cause>) {
    let mut seen = Vec::new();
    for (index, item) in list.as_array().into_iter().flatten().enumerate() {
        let value = item.get(key).unwrap_or(&Value::Null);
        if seen.contains(&value) {
            causes.push(Cause {
                reason: "FieldValueDuplicate",
                field: format!("{path}[{index}]"),
                message: format!("Duplicate value: {value}"),
            });
        }
        seen.push(value);
    }
}
