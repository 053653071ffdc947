//! The door through which the rules of Kargo's webhooks and of our policy are asked.
//!
//! The rules themselves are pure and live elsewhere; the server asks them for every write of every
//! client, in process or not, and keeps what they answer.

use super::user::UserInfo;
use jiff::Timestamp;
use serde_json::Value;

/// What is being done to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A new object.
    Create,
    /// A PUT or PATCH, of the object or of a subresource.
    Update,
    /// A deletion, also one that only marks the object because of finalizers.
    Delete,
}

/// One write that wants in.
#[derive(Clone, Debug)]
pub struct Review<'a> {
    /// What is being done.
    pub operation: Operation,
    /// API group, empty for core.
    pub group: &'a str,
    /// Plural resource name, such as `promotions`.
    pub plural: &'a str,
    /// `status` or another subresource; none for the object itself.
    pub subresource: Option<&'a str>,
    /// Namespace; none for cluster-scoped kinds.
    pub namespace: Option<&'a str>,
    /// Name in the request, which a mutation may replace on create.
    pub name: &'a str,
    /// The object as it would be stored; none on delete.
    pub object: Option<&'a Value>,
    /// The stored object; none on create.
    pub old: Option<&'a Value>,
    /// Who asks.
    pub user: &'a UserInfo,
    /// The server's clock.
    pub now: Timestamp,
    /// Whether nothing will be stored whatever the answer.
    pub dry_run: bool,
}

/// What admission may read: the objects as they are when the write is decided.
pub trait View {
    /// One object; `namespace` is none for cluster-scoped kinds.
    fn get(&self, plural: &str, namespace: Option<&str>, name: &str) -> Option<Value>;
    /// All objects of a kind, in one namespace or in all.
    fn list(&self, plural: &str, namespace: Option<&str>) -> Vec<Value>;
}

/// A refusal, with the HTTP code and reason that a cluster would answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// HTTP status code.
    pub code: u16,
    /// Kubernetes' machine-readable reason, such as `Forbidden`.
    pub reason: String,
    /// The sentence for people.
    pub message: String,
}

/// Decides on writes. It is called on the one thread that writes: it must be quick and must not
/// wait for anything.
pub trait Admission: Send + Sync {
    /// The object to store in place of the one in `review`, none to store that one, or a refusal.
    ///
    /// # Errors
    /// The refusal.
    fn admit(&self, review: &Review<'_>, objects: &dyn View) -> Result<Option<Value>, Denial>;
}

/// Lets everything in unchanged: for tests of the server itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct AdmitAll;

impl Admission for AdmitAll {
    fn admit(&self, _: &Review<'_>, _: &dyn View) -> Result<Option<Value>, Denial> {
        Ok(None)
    }
}
