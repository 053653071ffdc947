//! What an object of a kind may contain, as its resource definition would say it.
//!
//! Kargo's kinds and ours have the schemas of our types: fields that these do not know vanish, except
//! where the type holds arbitrary JSON. Core kinds go through their own types, as in an API server,
//! which also brings times to the precision of their field.

mod demands;
mod rule;
mod shape;

use super::kinds::{Kind, KindId};
use super::object;
use super::status::{ApiError, Cause};
use crate::kargo;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace, Secret, ServiceAccount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::generate::SchemaSettings;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use shape::Shape;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// How objects of a kind are brought to their stored form.
enum Typing {
    /// Pruned and checked by a schema.
    Shape(Shape),
    /// Read into its type and written again.
    Typed(fn(Value) -> Result<Value, serde_json::Error>),
    /// Kept as it is: the definition preserves unknown fields everywhere.
    Open,
}

/// The schemas of all kinds, derived once.
struct Schemas {
    kinds: BTreeMap<KindId, Typing>,
    metadata: Shape,
}

fn schemas() -> &'static Schemas {
    static SCHEMAS: OnceLock<Schemas> = OnceLock::new();
    SCHEMAS.get_or_init(|| Schemas {
        kinds: super::kinds::all()
            .map(|(id, kind)| (id, typing(kind)))
            .collect(),
        metadata: metadata_shape(),
    })
}

fn typing(kind: &Kind) -> Typing {
    let ours = kargo::schema::KINDS
        .iter()
        .find(|k| k.group == kind.group && k.plural == kind.plural);
    if let Some(ours) = ours {
        let schema = (ours.schema)();
        return Typing::Shape(Shape::compile(schema.as_value()));
    }
    match kind.plural {
        "namespaces" => Typing::Typed(retype::<Namespace>),
        "secrets" => Typing::Typed(retype::<Secret>),
        "configmaps" => Typing::Typed(retype::<ConfigMap>),
        "events" => Typing::Typed(retype::<Event>),
        "serviceaccounts" => Typing::Typed(retype::<ServiceAccount>),
        "leases" => Typing::Typed(retype::<Lease>),
        _ => Typing::Open,
    }
}

fn retype<T: DeserializeOwned + Serialize>(object: Value) -> Result<Value, serde_json::Error> {
    serde_json::to_value(serde_json::from_value::<T>(object)?)
}

fn metadata_shape() -> Shape {
    let settings = SchemaSettings::openapi3().with(|s| s.inline_subschemas = true);
    let schema = settings
        .into_generator()
        .into_root_schema_for::<ObjectMeta>();
    Shape::compile(schema.as_value())
}

/// What was dropped from an object, as paths such as `spec.unknown`.
pub(crate) type Dropped = Vec<String>;

/// Brings an object to the form that would be stored: unknown fields and nulls gone, times and
/// defaults as the definition has them.
///
/// The error is the 400 of an object that cannot be read as its kind at all.
pub(crate) fn conform(
    id: KindId,
    kind: &Kind,
    object: &mut Value,
    dropped: &mut Dropped,
) -> Result<(), ApiError> {
    let all = schemas();
    if let Some(metadata) = object.get_mut("metadata") {
        let mut causes = Vec::new();
        all.metadata.prune(metadata, "metadata", dropped);
        all.metadata.check(metadata, "metadata", &mut causes);
        if let Some(cause) = causes.first() {
            return Err(unreadable(
                kind,
                format!("{}: {}", cause.field, cause.message),
            ));
        }
    }
    match all.kinds.get(&id) {
        Some(Typing::Shape(shape)) => shape.prune_object(object, dropped),
        Some(Typing::Typed(retype)) => {
            if kind.plural == "secrets" {
                fold_string_data(object);
            }
            let typed = retype(object.take()).map_err(|e| unreadable(kind, e.to_string()))?;
            *object = typed;
            name_itself(kind, object);
        }
        Some(Typing::Open) | None => {}
    }
    demands::fill_defaults(kind, object);
    Ok(())
}

fn unreadable(kind: &Kind, why: String) -> ApiError {
    ApiError::bad_request(format!(
        "{} in version \"{}\" cannot be handled as a {}: {why}",
        kind.kind, kind.version, kind.kind
    ))
}

/// `apiVersion` and `kind`, which lists of typed objects leave out.
fn name_itself(kind: &Kind, object: &mut Value) {
    let map = object::map_mut(object);
    map.insert("apiVersion".to_owned(), Value::from(kind.api_version()));
    map.insert("kind".to_owned(), Value::from(kind.kind));
}

/// A Secret's `stringData` is only for writing: it ends up encoded in `data`.
fn fold_string_data(object: &mut Value) {
    use base64::Engine as _;
    let map = object::map_mut(object);
    let Some(Value::Object(plain)) = map.remove("stringData") else {
        return;
    };
    let data = object::map_mut(map.entry("data").or_insert(Value::Null));
    for (key, value) in plain {
        if let Value::String(text) = value {
            let encoded = base64::engine::general_purpose::STANDARD.encode(text);
            data.insert(key, Value::from(encoded));
        }
    }
}

/// Everything that is wrong with a conformed object; `old` is what it replaces.
pub(crate) fn check(id: KindId, kind: &Kind, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    super::names::check_metadata(kind.name_rule, object, &mut causes);
    if let Some(Typing::Shape(shape)) = schemas().kinds.get(&id) {
        shape.check_object(object, &mut causes);
        shape.visit_object(object, &mut |place, path, value| {
            demands::check_place(kind, place, path, value, &mut causes);
        });
    }
    demands::check_whole(kind, object, old, &mut causes);
    causes
}

/// Something in an object that a server would drop or refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// Such as `spec.steps[0].retry.timeout`.
    pub field: String,
    /// What is wrong; empty for a field that would only be dropped, since nothing knows it.
    pub message: String,
}

/// What the definition of its kind finds in an object that nobody stores; `None` for kinds that are not served.
pub fn look_over(object: &Value) -> Option<Vec<Flaw>> {
    let text = |field: &str| object.get(field).and_then(Value::as_str);
    let (id, kind) = super::kinds::by_kind(text("apiVersion")?, text("kind")?)?;
    let (mut object, mut dropped) = (object.clone(), Dropped::new());
    if let Err(error) = conform(id, kind, &mut object, &mut dropped) {
        return Some(vec![Flaw {
            field: "metadata".into(),
            message: error.message,
        }]);
    }
    let unknown = dropped.into_iter().map(|field| Flaw {
        field,
        message: String::new(),
    });
    let wrong = check(id, kind, &object, None)
        .into_iter()
        .map(|cause| Flaw {
            field: cause.field,
            message: cause.message,
        });
    Some(unknown.chain(wrong).collect())
}

#[cfg(test)]
mod tests;
