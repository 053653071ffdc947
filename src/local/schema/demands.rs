//! What the resource definitions demand beyond types: defaults, required fields, and the rules
//! that Kargo writes as expressions.
//!
//! The Rust types read leniently, so their schemas require nothing; what is required is said here.

use crate::local::kinds::Kind;
use crate::local::object;
use crate::local::status::Cause;
use serde_json::Value;

const KARGO: &str = "kargo.akuity.io";
const OURS: &str = "tidewaiter.dev";

/// Fills in what the definition has a default for.
pub(super) fn fill_defaults(kind: &Kind, object: &mut Value) {
    match (kind.group, kind.plural) {
        (KARGO, "warehouses") => {
            fill(object.get_mut("spec"), "interval", "5m0s");
            fill(object.get_mut("spec"), "freightCreationPolicy", "Automatic");
        }
        ("", "secrets") => fill(Some(object), "type", "Opaque"),
        _ => {}
    }
}

fn fill(object: Option<&mut Value>, field: &str, value: &str) {
    if let Some(Value::Object(map)) = object {
        map.entry(field).or_insert_with(|| Value::from(value));
    }
}

/// Checks the demands of a kind.
pub(super) fn check(kind: &Kind, object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    match (kind.group, kind.plural) {
        (KARGO, "promotions") => promotion(object, causes),
        (KARGO, "stages") => stage(object, causes),
        (KARGO, "freights") => {
            needs(object, "/origin", causes);
        }
        (KARGO, "warehouses") => warehouse(object, causes),
        (KARGO, "promotiontasks" | "clusterpromotiontasks") => task(object, causes),
        (KARGO, "projectconfigs") => project_config(object, causes),
        (OURS, "approvalrequests") => approval_request(object, old, causes),
        (OURS, "approvals") => approval(object, old, causes),
        ("", "events") => event(object, causes),
        _ => {}
    }
}

/// Whether there is a value that is not an empty text; a cause if not.
fn needs(object: &Value, pointer: &str, causes: &mut Vec<Cause>) -> bool {
    let there = object
        .pointer(pointer)
        .is_some_and(|value| value.as_str() != Some(""));
    if !there {
        causes.push(Cause::required(dotted(pointer)));
    }
    there
}

fn dotted(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}

fn is_filled_list(value: Option<&Value>) -> bool {
    value
        .and_then(Value::as_array)
        .is_some_and(|list| !list.is_empty())
}

fn too_few(field: &str) -> Cause {
    Cause::invalid(
        field,
        format!("0: {field} in body should have at least 1 items"),
    )
}

fn is_set(object: &Value, field: &str) -> bool {
    object
        .get(field)
        .is_some_and(|value| value.as_str() != Some(""))
}

fn promotion(object: &Value, causes: &mut Vec<Cause>) {
    let Some(spec) = object.get("spec") else {
        causes.push(Cause::required("spec"));
        return;
    };
    needs(object, "/spec/stage", causes);
    if is_set(spec, "freight") == is_set(spec, "origin") {
        causes.push(Cause::invalid(
            "spec",
            "\"object\": exactly one of freight and origin must be given",
        ));
    }
    match spec.get("steps").and_then(Value::as_array) {
        None => causes.push(Cause::required("spec.steps")),
        Some(steps) if steps.is_empty() => causes.push(too_few("spec.steps")),
        Some(steps) => {
            for (index, step) in steps.iter().enumerate() {
                if !is_set(step, "uses") || is_set(step, "task") {
                    causes.push(Cause::invalid(
                        format!("spec.steps[{index}]"),
                        "\"object\": a Promotion's step must have uses and no task",
                    ));
                }
            }
        }
    }
}

fn warehouse(object: &Value, causes: &mut Vec<Cause>) {
    if needs(object, "/spec", causes) && !is_filled_list(object.pointer("/spec/subscriptions")) {
        causes.push(too_few("spec.subscriptions"));
    }
}

fn stage(object: &Value, causes: &mut Vec<Cause>) {
    if !needs(object, "/spec", causes) {
        return;
    }
    match object
        .pointer("/spec/requestedFreight")
        .and_then(Value::as_array)
    {
        None => causes.push(Cause::required("spec.requestedFreight")),
        Some(list) if list.is_empty() => causes.push(too_few("spec.requestedFreight")),
        Some(_) => {}
    }
    if object.pointer("/spec/promotionTemplate").is_some() {
        let steps = object.pointer("/spec/promotionTemplate/spec/steps");
        let field = "spec.promotionTemplate.spec.steps";
        if let Some(Value::Array(steps)) = steps {
            if steps.is_empty() {
                causes.push(too_few(field));
            }
            for (index, step) in steps.iter().enumerate() {
                template_step(step, &format!("{field}[{index}]"), causes);
            }
        }
    }
}

fn template_step(step: &Value, field: &str, causes: &mut Vec<Cause>) {
    if is_set(step, "uses") == is_set(step, "task") {
        causes.push(Cause::invalid(
            field,
            "\"object\": exactly one of uses and task must be given",
        ));
    }
    if is_set(step, "task")
        && (step.get("continueOnError") == Some(&Value::Bool(true)) || is_set(step, "retry"))
    {
        causes.push(Cause::invalid(
            field,
            "\"object\": a step with a task has neither continueOnError nor retry",
        ));
    }
}

fn task(object: &Value, causes: &mut Vec<Cause>) {
    if !needs(object, "/spec", causes) {
        return;
    }
    let Some(Value::Array(steps)) = object.pointer("/spec/steps") else {
        causes.push(Cause::required("spec.steps"));
        return;
    };
    if steps.is_empty() {
        causes.push(too_few("spec.steps"));
    }
    for (index, step) in steps.iter().enumerate() {
        if !is_set(step, "uses") || is_set(step, "task") {
            causes.push(Cause::invalid(
                format!("spec.steps[{index}]"),
                "\"object\": a task's step must have uses and no task",
            ));
        }
    }
}

fn project_config(object: &Value, causes: &mut Vec<Cause>) {
    let policies = object
        .pointer("/spec/promotionPolicies")
        .and_then(Value::as_array);
    for (index, policy) in policies.into_iter().flatten().enumerate() {
        if is_set(policy, "stage") == is_set(policy, "stageSelector") {
            causes.push(Cause::invalid(
                format!("spec.promotionPolicies[{index}]"),
                "\"object\": exactly one of stage and stageSelector must be given",
            ));
        }
    }
}

fn approval_request(object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    if needs(object, "/spec", causes) {
        for field in ["stage", "step", "promotion"] {
            needs(object, &format!("/spec/{field}"), causes);
        }
    }
    same_spec(object, old, causes);
}

fn approval(object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    if needs(object, "/spec", causes) {
        for field in ["request", "requestUid", "stage", "decision", "user"] {
            needs(object, &format!("/spec/{field}"), causes);
        }
        let message = object
            .pointer("/spec/message")
            .and_then(Value::as_str)
            .unwrap_or("");
        if message.len() > 4096 {
            causes.push(Cause::too_long(
                "spec.message",
                "may not be more than 4096 bytes",
            ));
        }
        let groups = object.pointer("/spec/groups").and_then(Value::as_array);
        if groups.is_some_and(|list| list.len() > 16) {
            causes.push(Cause::invalid("spec.groups", "must have at most 16 items"));
        }
    }
    same_spec(object, old, causes);
}

fn same_spec(object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    if old.is_some_and(|old| old.get("spec") != object.get("spec")) {
        causes.push(Cause::invalid("spec", "\"object\": spec is immutable"));
    }
}

/// An Event lies in the namespace of its object, or in `default` for cluster-scoped ones.
fn event(object: &Value, causes: &mut Vec<Cause>) {
    let own = object::meta(object, "namespace").unwrap_or("");
    let involved = object
        .pointer("/involvedObject/namespace")
        .and_then(Value::as_str)
        .unwrap_or("");
    let fits = if involved.is_empty() {
        own == "default"
    } else {
        own == involved
    };
    if !fits {
        causes.push(Cause::invalid(
            "involvedObject.namespace",
            format!("{involved:?}: does not match event.namespace"),
        ));
    }
}
