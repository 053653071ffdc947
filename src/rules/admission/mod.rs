//! What the webhooks of Kargo, and the policy of our own kinds, make of a write.
//!
//! `local` asks here; on a real cluster the webhooks answer. Mutation comes first, then the server's schema, then
//! validation. What the schema says is not repeated here, and nothing here does more than a cluster would: no look at a
//! repository, a step kind or an expression.

mod approval;
mod freight;
mod object;
mod project;
mod promotion;
mod stage;
mod steps;
mod words;

use serde::de::DeserializeOwned;
use serde_json::Value;
use ulid::Ulid;

use crate::kargo::{Timestamp, meta};

pub use approval::POLICY;

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Operation {
    Create,
    Update,
    Delete,
}

/// Who does it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// As the server authenticated it.
    pub name: String,
    /// Where there is one.
    pub uid: Option<String>,
    /// All groups.
    pub groups: Vec<String>,
    /// The real user behind `--as`.
    pub impersonated_by: Option<String>,
}

/// One write.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// What is being done.
    pub operation: Operation,
    /// API group, empty for core.
    pub group: &'a str,
    /// `promotions`.
    pub plural: &'a str,
    /// `status`, or none.
    pub subresource: Option<&'a str>,
    /// None for cluster-scoped kinds.
    pub namespace: Option<&'a str>,
    /// None where the server is to make one up.
    pub name: Option<&'a str>,
    /// As it would be stored; none on delete.
    pub object: Option<&'a Value>,
    /// As it is stored; none on create.
    pub old: Option<&'a Value>,
    /// Who does it.
    pub user: &'a User,
    /// The server's clock.
    pub now: Timestamp,
    /// Later than every one before (see [`super::names::next_ulid`]): the order of Promotions, and the only randomness.
    pub ulid: Ulid,
    /// The account of the executor, which is the control plane here; none where nobody executes.
    pub executor: Option<&'a str>,
}

impl Request<'_> {
    fn by_executor(&self) -> bool {
        self.executor
            .is_some_and(|executor| executor == self.user.name)
    }

    /// The requester as annotations name them.
    fn actor(&self) -> String {
        format!("kubernetes:{}", self.user.name)
    }

    fn denied(&self, code: u16, reason: &str, message: String) -> Denial {
        Denial {
            code,
            reason: reason.to_owned(),
            message,
        }
    }

    /// 422, as for a field that a schema refuses.
    fn invalid(&self, field: &str, problem: impl std::fmt::Display) -> Denial {
        let name = self
            .object
            .or(self.old)
            .map(|object| object::text(object, &["metadata", "name"]));
        let name = name
            .filter(|name| !name.is_empty())
            .or(self.name)
            .unwrap_or_default();
        self.denied(
            422,
            "Invalid",
            format!(
                "{}.{} {name:?} is invalid: {field}: {problem}",
                self.plural, self.group
            ),
        )
    }

    /// 403.
    fn forbidden(&self, problem: impl std::fmt::Display) -> Denial {
        let name = self.name.unwrap_or_default();
        self.denied(
            403,
            "Forbidden",
            format!(
                "{}.{} {name:?} is forbidden: {problem}",
                self.plural, self.group
            ),
        )
    }

    /// 409.
    fn conflict(&self, problem: impl std::fmt::Display) -> Denial {
        let name = self.name.unwrap_or_default();
        let target = format!("{}.{}", self.plural, self.group);
        self.denied(
            409,
            "Conflict",
            format!("Operation cannot be fulfilled on {target} {name:?}: {problem}"),
        )
    }

    /// 500: also what Kargo's webhook answers where a create or update is not permitted.
    fn internal(&self, problem: impl std::fmt::Display) -> Denial {
        self.denied(
            500,
            "InternalError",
            format!("Internal error occurred: {problem}"),
        )
    }

    /// The object, which creates and updates have.
    fn object(&self) -> Result<&Value, Denial> {
        self.object
            .ok_or_else(|| self.denied(400, "BadRequest", "the request has no object".into()))
    }

    fn read<T: DeserializeOwned>(&self, value: &Value) -> Result<T, Denial> {
        serde_json::from_value(value.clone()).map_err(|error| {
            self.denied(
                400,
                "BadRequest",
                format!("{}.{}: cannot be read: {error}", self.plural, self.group),
            )
        })
    }
}

/// The objects as they are when the write is decided.
pub trait View {
    /// One object; `namespace` is none for cluster-scoped kinds.
    fn get(&self, group: &str, plural: &str, namespace: Option<&str>, name: &str) -> Option<Value>;

    /// All of a kind, in one namespace or in all.
    fn list(&self, group: &str, plural: &str, namespace: Option<&str>) -> Vec<Value>;

    /// Whether `user` may do `verb` to one object: what a SubjectAccessReview would say. Everybody may, by default.
    fn authorized(
        &self,
        user: &User,
        verb: &str,
        group: &str,
        plural: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> bool {
        let _ = (user, verb, group, plural, namespace, name);
        true
    }
}

/// Why a write is refused, as the API server answers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Denial {
    /// HTTP status.
    pub code: u16,
    /// `status.reason`: `Invalid`, `Forbidden`.
    pub reason: String,
    /// For people.
    pub message: String,
}

/// The object as webhooks change it; none where they leave it. Runs before the schema is checked.
pub fn mutate(request: &Request<'_>, view: &dyn View) -> Result<Option<Value>, Denial> {
    if request.group != meta::KARGO_GROUP
        || request.subresource.is_some()
        || request.operation == Operation::Delete
    {
        return Ok(None);
    }
    let before = request.object()?;
    let mut object = before.clone();
    match request.plural {
        "promotions" => promotion::mutate(request, view, &mut object)?,
        "freights" => freight::mutate(request, view, &mut object)?,
        "stages" => stage::mutate(request, &mut object),
        "warehouses" => stage::label_shard(&mut object),
        _ => {}
    }
    Ok((object != *before).then_some(object))
}

/// Whether the object may be stored, after mutation and schema.
pub fn validate(request: &Request<'_>, view: &dyn View) -> Result<(), Denial> {
    match (request.group, request.plural, request.subresource) {
        (meta::KARGO_GROUP, "promotions", None) => promotion::validate(request, view),
        (meta::KARGO_GROUP, "freights", None | Some("status")) => freight::validate(request, view),
        (meta::KARGO_GROUP, "stages", None) => stage::validate(request, view),
        (meta::KARGO_GROUP, "warehouses", None) => project::validate_warehouse(request, view),
        (meta::KARGO_GROUP, "projects", None) => project::validate_project(request, view),
        (meta::KARGO_GROUP, "projectconfigs", None) => project::validate_config(request, view),
        (meta::KARGO_GROUP, "promotiontasks" | "clusterpromotiontasks", None) => {
            stage::validate_task(request, view)
        }
        (meta::GROUP, "approvals", _) => approval::validate_answer(request, view),
        (meta::GROUP, "approvalrequests", _) => approval::validate_question(request),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
