//! Patches: how a request says what shall be different.

use crate::local::status::ApiError;
use serde_json::Value;

/// Operations of one JSON patch at most, as in Kubernetes.
const OPERATIONS_LIMIT: usize = 10_000;

/// A patch as it was sent.
#[derive(Clone, Debug)]
pub(crate) enum Patch {
    /// RFC 7396: null deletes, arrays are replaced whole.
    Merge(Value),
    /// RFC 6902.
    Json(json_patch::Patch),
}

impl Patch {
    /// Reads a patch by its content type.
    ///
    /// A strategic merge patch is taken as a merge patch for core kinds (lists are replaced whole,
    /// where a cluster would merge some); custom kinds refuse it, as there. Server-side apply is not
    /// offered for any.
    pub(crate) fn parse(content_type: &str, body: &[u8], core: bool) -> Result<Self, ApiError> {
        let unreadable = |error: serde_json::Error| {
            ApiError::bad_request(format!("error decoding patch: {error}"))
        };
        match content_type {
            "application/merge-patch+json" => {
                Self::merge(serde_json::from_slice(body).map_err(unreadable)?)
            }
            "application/strategic-merge-patch+json" if core => {
                let patch: Value = serde_json::from_slice(body).map_err(unreadable)?;
                if has_directive(&patch) {
                    return Err(ApiError::unsupported_media(
                        "directives of strategic merge patches are not offered by a local cluster: use a merge patch",
                    ));
                }
                Self::merge(patch)
            }
            "application/json-patch+json" => {
                let patch: json_patch::Patch = serde_json::from_slice(body).map_err(unreadable)?;
                if patch.0.len() > OPERATIONS_LIMIT {
                    return Err(ApiError::new(
                        413,
                        "RequestEntityTooLarge",
                        format!(
                            "The allowed maximum operations in a JSON patch is {OPERATIONS_LIMIT}, got {}",
                            patch.0.len()
                        ),
                    ));
                }
                Ok(Self::Json(patch))
            }
            "application/apply-patch+yaml" | "application/apply-patch+cbor" => {
                Err(ApiError::unsupported_media(
                    "server-side apply is not offered by a local cluster: create the object, or replace or merge-patch it",
                ))
            }
            other => Err(ApiError::unsupported_media(format!(
                "the body of the request was in an unknown format ({other:?}): accepted media types include: application/json-patch+json, application/merge-patch+json"
            ))),
        }
    }

    fn merge(patch: Value) -> Result<Self, ApiError> {
        if patch.is_object() {
            Ok(Self::Merge(patch))
        } else {
            Err(ApiError::bad_request(
                "error decoding patch: a merge patch is an object",
            ))
        }
    }

    /// The object with the patch applied.
    pub(super) fn apply(&self, mut object: Value) -> Result<Value, ApiError> {
        match self {
            Self::Merge(patch) => json_patch::merge(&mut object, patch),
            Self::Json(patch) => json_patch::patch(&mut object, patch).map_err(|error| {
                let message = format!(
                    "the server rejected our request due to an error in our request: {error}"
                );
                ApiError::new(422, "Invalid", message)
            })?,
        }
        if object.is_object() {
            Ok(object)
        } else {
            Err(ApiError::bad_request("the patch leaves no object"))
        }
    }
}

/// Whether a strategic merge patch uses one of its own words, such as `$patch: delete`.
fn has_directive(patch: &Value) -> bool {
    match patch {
        Value::Object(map) => map
            .iter()
            .any(|(key, value)| key.starts_with('$') || has_directive(value)),
        Value::Array(items) => items.iter().any(has_directive),
        _ => false,
    }
}
