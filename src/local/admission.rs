//! The door through which the rules of Kargo's webhooks and of our policy are asked.
//!
//! The rules themselves are pure and live elsewhere; the server asks them for every write of every
//! client, in process or not, and keeps what they answer.

use super::user::UserInfo;
pub use crate::rules::admission::{Denial, Operation};
use jiff::Timestamp;
use serde_json::Value;

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
    /// Names of all objects of a kind, which costs less than the objects.
    fn names(&self, plural: &str, namespace: Option<&str>) -> Vec<String>;
}

/// Decides on writes. It is called on the one thread that writes: it must be quick and must not
/// wait for anything.
pub trait Admission: Send + Sync {
    /// The object to go on with in place of the one in `review`, before the schema is checked; none
    /// to go on with that one. Not asked about deletions.
    ///
    /// # Errors
    /// The refusal.
    fn mutate(&self, review: &Review<'_>, objects: &dyn View) -> Result<Option<Value>, Denial> {
        let _ = (review, objects);
        Ok(None)
    }

    /// Whether the object may be stored or deleted: it is what would be stored, checked by the schema.
    ///
    /// # Errors
    /// The refusal.
    fn validate(&self, review: &Review<'_>, objects: &dyn View) -> Result<(), Denial> {
        let _ = (review, objects);
        Ok(())
    }
}

/// Lets everything in unchanged: for tests of the server itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct AdmitAll;

impl Admission for AdmitAll {}
