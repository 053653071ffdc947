//! Creating an object.

use super::{Change, Decision, Desk, Operation};
use crate::local::object::{self, Key};
use crate::local::status::{ApiError, Cause};
use serde_json::{Value, json};

/// What generated names end in: no vowels, so no words, and nothing that looks like another.
const NAME_ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const NAME_SUFFIX: usize = 5;
/// Prefix of a generated name at most, so that names stay labels.
const NAME_PREFIX: usize = 63 - NAME_SUFFIX;
const NAME_TRIES: usize = 8;

pub(super) fn decide(desk: &Desk<'_>, given: &Value) -> Result<Decision, ApiError> {
    let kind = desk.kind();
    desk.check_type(given)?;
    let mut object = given.clone();
    let mut warnings = Vec::new();
    if object::meta(&object, "resourceVersion").is_some_and(|version| version != "0") {
        return Err(ApiError::new(
            500,
            "",
            "resourceVersion should not be set on objects to be created",
        ));
    }
    place(desk, &mut object)?;
    desk.conform(&mut object, &mut warnings)?;
    name(desk, &mut object)?;
    let name = object::meta(&object, "name").unwrap_or("").to_owned();
    check_namespace(desk, &name)?;
    desk.mutate(Operation::Create, &name, &mut object, None)?;

    // Admission may have renamed it.
    let name = object::meta(&object, "name").unwrap_or("").to_owned();
    let key = Key::new(desk.request.kind_id, &desk.request.namespace, &name);
    finish(desk, &mut object)?;
    desk.check(&name, &object, None)?;
    desk.validate(Operation::Create, &name, Some(&object), None)?;
    if desk.objects.get(&key).is_some() {
        return Err(ApiError::already_exists(kind, &name));
    }
    Ok(Decision {
        code: 201,
        change: Some(Change::Put(key, object)),
        answer: None,
        warnings,
    })
}

/// The namespace is the path's; an object may repeat it, not contradict it. Cluster-scoped objects
/// lose one that they bring.
fn place(desk: &Desk<'_>, object: &mut Value) -> Result<(), ApiError> {
    let wanted = desk.request.namespace.as_str();
    if wanted.is_empty() {
        object::remove_meta(object, "namespace");
        return Ok(());
    }
    match object::meta(object, "namespace") {
        Some(given) if given != wanted => Err(ApiError::bad_request(format!(
            "the namespace of the provided object ({given:?}) does not match the namespace sent on the request ({wanted:?})"
        ))),
        _ => {
            object::set_meta(object, "namespace", wanted);
            Ok(())
        }
    }
}

fn name(desk: &Desk<'_>, object: &mut Value) -> Result<(), ApiError> {
    if object::meta(object, "name").is_some() {
        return Ok(());
    }
    let Some(prefix) = object::meta(object, "generateName") else {
        return Err(ApiError::invalid(
            desk.kind(),
            "",
            &[Cause {
                message: "Required value: name or generateName is required".to_owned(),
                ..Cause::required("metadata.name")
            }],
        ));
    };
    let prefix: String = prefix.chars().take(NAME_PREFIX).collect();
    for _ in 0..NAME_TRIES {
        let name = format!("{prefix}{}", random_suffix()?);
        let key = Key::new(desk.request.kind_id, &desk.request.namespace, &name);
        if desk.objects.get(&key).is_none() {
            object::set_meta(object, "name", name);
            return Ok(());
        }
    }
    Err(ApiError::already_exists(desk.kind(), &prefix))
}

fn random_suffix() -> Result<String, ApiError> {
    let mut bytes = [0u8; NAME_SUFFIX];
    random(&mut bytes)?;
    Ok(bytes
        .iter()
        .filter_map(|byte| NAME_ALPHABET.get(usize::from(*byte) % NAME_ALPHABET.len()))
        .map(|byte| char::from(*byte))
        .collect())
}

fn random(bytes: &mut [u8]) -> Result<(), ApiError> {
    getrandom::fill(bytes)
        .map_err(|error| ApiError::internal(format!("asking the system for random bytes: {error}")))
}

/// A random (version 4) UUID.
fn new_uid() -> Result<String, ApiError> {
    let mut bytes = [0u8; 16];
    random(&mut bytes)?;
    let number = u128::from_be_bytes(bytes);
    let number = (number & !(0xF << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{number:032x}");
    let mut uid = String::with_capacity(36);
    for (index, digit) in hex.chars().enumerate() {
        if matches!(index, 8 | 12 | 16 | 20) {
            uid.push('-');
        }
        uid.push(digit);
    }
    Ok(uid)
}

fn check_namespace(desk: &Desk<'_>, name: &str) -> Result<(), ApiError> {
    let kind = desk.kind();
    if !kind.namespaced {
        return Ok(());
    }
    let namespace = &desk.request.namespace;
    let Some(stored) = desk.objects.namespace(namespace) else {
        let message = format!("namespaces \"{namespace}\" not found");
        return Err(ApiError::new(404, "NotFound", message));
    };
    if stored.deleting {
        return Err(ApiError::forbidden(
            kind,
            name,
            &format!(
                "unable to create new content in namespace {namespace} because it is being terminated"
            ),
        ));
    }
    Ok(())
}

/// What the server sets, and what a create may not.
fn finish(desk: &Desk<'_>, object: &mut Value) -> Result<(), ApiError> {
    let kind = desk.kind();
    place(desk, object)?;
    let metadata = object::metadata_mut(object);
    for field in [
        "resourceVersion",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
        "generation",
        "managedFields",
    ] {
        metadata.remove(field);
    }
    metadata.insert("uid".to_owned(), new_uid()?.into());
    metadata.insert("creationTimestamp".to_owned(), desk.now_text().into());
    if kind.generation {
        metadata.insert("generation".to_owned(), 1.into());
    }
    if kind.status {
        object::map_mut(object).remove("status");
    }
    if kind.is_namespace() {
        begin_namespace(object);
    }
    Ok(())
}

/// A namespace is active, is labelled with its name, and waits for its content when it goes.
fn begin_namespace(object: &mut Value) {
    let name = object::meta(object, "name").unwrap_or("").to_owned();
    let labels = object::metadata_mut(object)
        .entry("labels")
        .or_insert(Value::Null);
    object::map_mut(labels).insert("kubernetes.io/metadata.name".to_owned(), name.into());
    let map = object::map_mut(object);
    map.insert("spec".to_owned(), json!({"finalizers": ["kubernetes"]}));
    map.insert("status".to_owned(), json!({"phase": "Active"}));
}
