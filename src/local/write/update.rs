//! Replacing and patching an object or its status.

use super::{Change, Decision, Desk, Operation, Part, Patch};
use crate::local::object;
use crate::local::status::{ApiError, Cause};
use serde_json::{Map, Value};

/// Metadata that belongs to the server.
const SYSTEM_FIELDS: &[&str] = &[
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
    "managedFields",
    "resourceVersion",
    "name",
    "namespace",
];

pub(super) fn replace(desk: &Desk<'_>, given: &Value) -> Result<Decision, ApiError> {
    desk.check_type(given)?;
    for (field, expected) in [
        ("name", &desk.request.name),
        ("namespace", &desk.request.namespace),
    ] {
        let found = object::meta(given, field);
        if found.is_some_and(|found| found != expected) || (field == "name" && found.is_none()) {
            return Err(ApiError::bad_request(format!(
                "the {field} of the object ({}) does not match the {field} on the URL ({expected})",
                found.unwrap_or("")
            )));
        }
    }
    let old = desk.stored()?;
    if object::meta(given, "resourceVersion").is_none() && !desk.kind().unconditional_put {
        let cause = Cause::invalid(
            "metadata.resourceVersion",
            "0x0: must be specified for an update",
        );
        return Err(ApiError::invalid(desk.kind(), &desk.request.name, &[cause]));
    }
    update(desk, old, given.clone())
}

pub(super) fn patch(desk: &Desk<'_>, patch: &Patch) -> Result<Decision, ApiError> {
    let old = desk.stored()?;
    let patched = patch.apply(old.clone())?;
    for field in ["name", "namespace"] {
        if object::meta(&patched, field) != object::meta(&old, field) {
            return Err(ApiError::bad_request(format!(
                "the patch changes the {field} of the object"
            )));
        }
    }
    desk.check_type(&patched)?;
    update(desk, old, patched)
}

fn update(desk: &Desk<'_>, old: Value, mut new: Value) -> Result<Decision, ApiError> {
    let name = &desk.request.name;
    check_preconditions(desk, &old, &new)?;
    let mut warnings = Vec::new();
    desk.conform(&mut new, &mut warnings)?;
    let mut new = merged(desk, &old, new);
    desk.mutate(Operation::Update, name, &mut new, Some(&old))?;
    // Once more: admission may not set what belongs to the server or to the other half either.
    let mut new = merged(desk, &old, new);
    if desk.kind().generation && counts_as_new_generation(desk, &old, &new) {
        let generation = old.pointer("/metadata/generation").and_then(Value::as_u64);
        object::set_meta(&mut new, "generation", generation.unwrap_or(0) + 1);
    }
    desk.check(name, &new, Some(&old))?;
    check_finalizers(desk, &old, &new)?;
    desk.validate(Operation::Update, name, Some(&new), Some(&old))?;
    let key = desk.key();
    let gone = object::is_deleting(&new) && !object::is_held(&new, desk.kind().is_namespace());
    let (change, answer) = if gone {
        (Some(Change::Remove(key, new)), None)
    } else if new == old {
        (None, Some(old))
    } else {
        (Some(Change::Put(key, new)), None)
    };
    Ok(Decision {
        code: 200,
        change,
        answer,
        warnings,
    })
}

/// A version or uid in the new object is one that it must have been made from.
fn check_preconditions(desk: &Desk<'_>, old: &Value, new: &Value) -> Result<(), ApiError> {
    let name = &desk.request.name;
    if let Some(uid) = object::meta(new, "uid")
        && Some(uid) != object::meta(old, "uid")
    {
        let found = object::meta(old, "uid").unwrap_or("");
        return Err(ApiError::conflict(
            desk.kind(),
            name,
            &format!(
                "Precondition failed: UID in precondition: {uid}, UID in object meta: {found}"
            ),
        ));
    }
    match object::meta(new, "resourceVersion") {
        Some(version) if Some(version) != object::meta(old, "resourceVersion") => {
            Err(ApiError::outdated(desk.kind(), name))
        }
        _ => Ok(()),
    }
}

/// The part of `new` that this request may write, on top of `old`.
fn merged(desk: &Desk<'_>, old: &Value, new: Value) -> Value {
    match desk.request.part {
        Part::Main => {
            let mut new = new;
            restore_system_fields(old, &mut new);
            if desk.kind().status {
                take_field(old, &mut new, &["status"]);
            }
            if desk.kind().is_namespace() {
                take_field(old, &mut new, &["spec", "finalizers"]);
            }
            new
        }
        Part::Status => {
            let mut merged = old.clone();
            take_field(&new, &mut merged, &["status"]);
            merged
        }
        Part::Finalize => {
            let mut merged = old.clone();
            take_field(&new, &mut merged, &["spec", "finalizers"]);
            merged
        }
    }
}

fn restore_system_fields(old: &Value, new: &mut Value) {
    let empty = Map::new();
    let old = old
        .get("metadata")
        .and_then(Value::as_object)
        .unwrap_or(&empty);
    let metadata = object::metadata_mut(new);
    for field in SYSTEM_FIELDS {
        match old.get(*field) {
            Some(value) => metadata.insert((*field).to_owned(), value.clone()),
            None => metadata.remove(*field),
        };
    }
}

/// Makes the field at `path` in `to` what it is in `from`, absent if it is absent there.
fn take_field(from: &Value, to: &mut Value, path: &[&str]) {
    let Some((last, parents)) = path.split_last() else {
        return;
    };
    let mut source = Some(from);
    let mut target = to;
    for parent in parents {
        source = source.and_then(|value| value.get(*parent));
        target = object::map_mut(target)
            .entry(*parent)
            .or_insert(Value::Null);
    }
    let target = object::map_mut(target);
    match source.and_then(|value| value.get(*last)) {
        Some(value) => target.insert((*last).to_owned(), value.clone()),
        None => target.remove(*last),
    };
}

/// Metadata never counts, and status does not where it is a subresource.
fn counts_as_new_generation(desk: &Desk<'_>, old: &Value, new: &Value) -> bool {
    let content = |object: &Value| -> Map<String, Value> {
        let mut content = object.as_object().cloned().unwrap_or_default();
        content.remove("metadata");
        if desk.kind().status {
            content.remove("status");
        }
        content
    };
    content(old) != content(new)
}

/// An object that is being deleted cannot be held by more.
fn check_finalizers(desk: &Desk<'_>, old: &Value, new: &Value) -> Result<(), ApiError> {
    if !object::is_deleting(old) {
        return Ok(());
    }
    let of = |object: &Value| -> Vec<Value> {
        let list = object.pointer("/metadata/finalizers");
        list.and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let before = of(old);
    if of(new).iter().all(|finalizer| before.contains(finalizer)) {
        return Ok(());
    }
    let cause = Cause::forbidden(
        "metadata.finalizers",
        "no new finalizers can be added if the object is being deleted",
    );
    Err(ApiError::invalid(desk.kind(), &desk.request.name, &[cause]))
}
