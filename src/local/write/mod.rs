//! What a create, update, patch or delete makes of an object: pure decisions on the objects as
//! they are. The order is an API server's: read as its kind, mutated by admission, pruned again,
//! what the client may not set restored, checked by the schema, validated by admission.

mod create;
mod delete;
mod patch;
mod update;

use super::admission::{Admission, Denial, Operation, Review};
use super::kinds::{Kind, KindId};
use super::object::Key;
use super::schema;
use super::status::ApiError;
use super::store::Objects;
use super::user::UserInfo;
use jiff::Timestamp;
use serde_json::Value;

pub(crate) use patch::Patch;

/// What a client wants done.
#[derive(Clone, Debug)]
pub(crate) struct WriteRequest {
    pub(crate) kind_id: KindId,
    pub(crate) kind: &'static Kind,
    /// Empty for cluster-scoped kinds.
    pub(crate) namespace: String,
    /// Empty on create: the object says it.
    pub(crate) name: String,
    pub(crate) action: Action,
    pub(crate) part: Part,
    pub(crate) user: UserInfo,
    pub(crate) dry_run: bool,
    /// Unknown fields are an error instead of a warning.
    pub(crate) strict: bool,
}

/// The verb and what comes with it.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Create(Value),
    Replace(Value),
    Patch(Patch),
    Delete(DeleteOptions),
}

/// Which half of the object is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Main,
    Status,
    /// A namespace's `spec.finalizers`.
    Finalize,
}

impl Part {
    fn subresource(self) -> Option<&'static str> {
        match self {
            Self::Main => None,
            Self::Status => Some("status"),
            Self::Finalize => Some("finalize"),
        }
    }
}

/// What must hold for a deletion.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
}

/// What happens to the objects.
#[derive(Debug)]
pub(crate) enum Change {
    Put(Key, Value),
    /// With the last state of the object.
    Remove(Key, Value),
}

/// The outcome of a request that was not refused.
#[derive(Debug)]
pub(crate) struct Decision {
    pub(crate) code: u16,
    pub(crate) change: Option<Change>,
    /// What to answer; none for the object as changed, with its new version.
    pub(crate) answer: Option<Value>,
    pub(crate) warnings: Vec<String>,
}

/// An object as it goes over the wire must fit into one value of etcd.
const OBJECT_LIMIT: usize = 1536 * 1024;

/// Decides on a request.
pub(crate) fn decide(
    request: &WriteRequest,
    objects: &Objects,
    admission: &dyn Admission,
) -> Result<Decision, ApiError> {
    let desk = Desk {
        request,
        objects,
        admission,
        now: Timestamp::now(),
    };
    match &request.action {
        Action::Create(object) => create::decide(&desk, object),
        Action::Replace(object) => update::replace(&desk, object),
        Action::Patch(patch) => update::patch(&desk, patch),
        Action::Delete(options) => delete::decide(&desk, options),
    }
}

/// Everything a decision looks at.
struct Desk<'a> {
    request: &'a WriteRequest,
    objects: &'a Objects,
    admission: &'a dyn Admission,
    now: Timestamp,
}

impl Desk<'_> {
    fn kind(&self) -> &'static Kind {
        self.request.kind
    }

    fn key(&self) -> Key {
        Key::new(
            self.request.kind_id,
            &self.request.namespace,
            &self.request.name,
        )
    }

    /// Second precision, as Kubernetes' times have.
    fn now_text(&self) -> String {
        self.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// The stored object that the request names.
    fn stored(&self) -> Result<Value, ApiError> {
        self.objects
            .get(&self.key())
            .map(|stored| stored.value())
            .ok_or_else(|| ApiError::not_found(self.kind(), &self.request.name))
    }

    /// Prunes; what went is a warning, or a refusal if the client asked for strictness.
    fn conform(&self, object: &mut Value, warnings: &mut Vec<String>) -> Result<(), ApiError> {
        let mut dropped = Vec::new();
        schema::conform(self.request.kind_id, self.kind(), object, &mut dropped)?;
        let words = dropped
            .iter()
            .map(|path| format!("unknown field \"{path}\""));
        if self.request.strict && !dropped.is_empty() {
            let words: Vec<String> = words.collect();
            return Err(ApiError::bad_request(format!(
                "strict decoding error: {}",
                words.join(", ")
            )));
        }
        warnings.extend(words);
        Ok(())
    }

    /// Lets admission change the object, and prunes what it made of it.
    fn mutate(
        &self,
        operation: Operation,
        name: &str,
        object: &mut Value,
        old: Option<&Value>,
    ) -> Result<(), ApiError> {
        let review = self.review(operation, name, Some(object), old);
        let mutated = self.admission.mutate(&review, self.objects);
        if let Some(mutated) = mutated.map_err(|denial| refusal(&denial))? {
            *object = mutated;
            schema::conform(self.request.kind_id, self.kind(), object, &mut Vec::new())?;
        }
        Ok(())
    }

    /// Asks admission about the object as it would be stored, or about the one to be deleted.
    fn validate(
        &self,
        operation: Operation,
        name: &str,
        object: Option<&Value>,
        old: Option<&Value>,
    ) -> Result<(), ApiError> {
        let review = self.review(operation, name, object, old);
        let verdict = self.admission.validate(&review, self.objects);
        verdict.map_err(|denial| refusal(&denial))
    }

    fn review<'a>(
        &'a self,
        operation: Operation,
        name: &'a str,
        object: Option<&'a Value>,
        old: Option<&'a Value>,
    ) -> Review<'a> {
        let namespace = &self.request.namespace;
        Review {
            operation,
            group: self.kind().group,
            plural: self.kind().plural,
            subresource: self.request.part.subresource(),
            namespace: (!namespace.is_empty()).then_some(namespace),
            name,
            object,
            old,
            user: &self.request.user,
            now: self.now,
            dry_run: self.request.dry_run,
        }
    }

    /// Checks a finished object.
    fn check(&self, name: &str, object: &Value, old: Option<&Value>) -> Result<(), ApiError> {
        let causes = schema::check(self.request.kind_id, self.kind(), object, old);
        if !causes.is_empty() {
            return Err(ApiError::invalid(self.kind(), name, &causes));
        }
        if object.to_string().len() > OBJECT_LIMIT {
            return Err(ApiError::internal("etcdserver: request is too large"));
        }
        Ok(())
    }

    /// The object from outside must be one, of the kind that the path says.
    fn check_type(&self, object: &Value) -> Result<(), ApiError> {
        let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or("");
        if !object.is_object() || !object.get("metadata").is_none_or(Value::is_object) {
            return Err(ApiError::bad_request(
                "the body is not an object of Kubernetes",
            ));
        }
        for (field, expected) in [
            ("kind", self.kind().kind.to_owned()),
            ("apiVersion", self.kind().api_version()),
        ] {
            let found = text(field);
            if found != expected {
                return Err(ApiError::bad_request(format!(
                    "the object provided has {field} \"{found}\", and the request is for \"{expected}\""
                )));
            }
        }
        Ok(())
    }
}

fn refusal(denial: &Denial) -> ApiError {
    ApiError::new(denial.code, &denial.reason, denial.message.clone())
}
