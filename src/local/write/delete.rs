//! Deleting an object, or marking it where something still holds it.

use super::{Change, Decision, DeleteOptions, Desk, Operation};
use crate::local::kinds::Kind;
use crate::local::object;
use crate::local::status::ApiError;
use serde_json::{Value, json};

pub(super) fn decide(desk: &Desk<'_>, options: &DeleteOptions) -> Result<Decision, ApiError> {
    let kind = desk.kind();
    let name = &desk.request.name;
    let old = desk.stored()?;
    check_preconditions(kind, name, options, &old)?;
    desk.validate(Operation::Delete, name, None, Some(&old))?;
    let held = object::is_held(&old, kind.is_namespace());
    if held && object::is_deleting(&old) {
        return Ok(Decision {
            code: 200,
            change: None,
            answer: Some(old),
            warnings: Vec::new(),
        });
    }
    let key = desk.key();
    if held {
        return Ok(Decision {
            code: 200,
            change: Some(Change::Put(key, marked(desk, old))),
            answer: None,
            warnings: Vec::new(),
        });
    }
    let answer = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {
            "name": name,
            "group": kind.group,
            "kind": kind.plural,
            "uid": object::meta(&old, "uid").unwrap_or(""),
        },
    });
    Ok(Decision {
        code: 200,
        change: Some(Change::Remove(key, old)),
        answer: Some(answer),
        warnings: Vec::new(),
    })
}

fn check_preconditions(
    kind: &Kind,
    name: &str,
    options: &DeleteOptions,
    old: &Value,
) -> Result<(), ApiError> {
    for (what, wanted, field) in [
        ("UID", &options.uid, "uid"),
        (
            "ResourceVersion",
            &options.resource_version,
            "resourceVersion",
        ),
    ] {
        let Some(wanted) = wanted else { continue };
        let found = object::meta(old, field).unwrap_or("");
        if found != wanted {
            return Err(ApiError::conflict(
                kind,
                name,
                &format!(
                    "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
                ),
            ));
        }
    }
    Ok(())
}

/// The object on its way out, until nothing holds it.
fn marked(desk: &Desk<'_>, mut object: Value) -> Value {
    object::set_meta(&mut object, "deletionTimestamp", desk.now_text());
    object::set_meta(&mut object, "deletionGracePeriodSeconds", 0);
    if let Some(generation) = object
        .pointer("/metadata/generation")
        .and_then(Value::as_u64)
    {
        object::set_meta(&mut object, "generation", generation + 1);
    }
    if desk.kind().is_namespace() {
        let status = object::map_mut(&mut object)
            .entry("status")
            .or_insert(Value::Null);
        object::map_mut(status).insert("phase".to_owned(), "Terminating".into());
    }
    object
}
