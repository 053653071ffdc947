//! The rules that writes have to pass by default: Kargo's webhooks and our policy, which are pure and
//! live in `rules::admission`. What they cannot know by themselves is given to them here: the last
//! name, randomness, and who the executor is.

use super::admission::{Admission, Denial, Operation, Review, View};
use super::user::UserInfo;
use crate::kargo::Timestamp;
use crate::rules::{admission, names};
use serde_json::Value;
use std::sync::{Mutex, PoisonError};
use ulid::Ulid;

/// Kargo's rules and ours.
#[derive(Debug)]
pub struct KargoRules {
    /// The account that is the control plane here.
    executor: String,
    /// Names of Promotions have to rise, also over restarts and when the clock is set back.
    last: Mutex<Option<Ulid>>,
}

impl Default for KargoRules {
    fn default() -> Self {
        Self::new(&UserInfo::executor().name)
    }
}

impl KargoRules {
    /// Rules under which `executor` is the account of the executor.
    #[must_use]
    pub fn new(executor: &str) -> Self {
        Self {
            executor: executor.to_owned(),
            last: Mutex::new(None),
        }
    }

    fn next_ulid(&self, now: Timestamp, objects: &dyn View) -> Result<Ulid, Denial> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let previous = last.or_else(|| newest_ulid(objects));
        let mut entropy = [0; 16];
        getrandom::fill(&mut entropy).map_err(|error| Denial {
            code: 500,
            reason: "InternalError".to_owned(),
            message: format!("asking the system for random bytes: {error}"),
        })?;
        let next = names::next_ulid(previous, now, u128::from_be_bytes(entropy));
        *last = Some(next);
        Ok(next)
    }

    fn request<'a>(&'a self, review: &Review<'a>, ulid: Ulid) -> admission::Request<'a> {
        admission::Request {
            operation: review.operation,
            group: review.group,
            plural: review.plural,
            subresource: review.subresource,
            namespace: review.namespace,
            name: (!review.name.is_empty()).then_some(review.name),
            object: review.object,
            old: review.old,
            user: review.user,
            now: Timestamp(review.now),
            ulid,
            executor: Some(&self.executor),
        }
    }
}

/// The newest ULID in the names of stored Promotions: `stage.ulid.freight`.
fn newest_ulid(objects: &dyn View) -> Option<Ulid> {
    let names = objects.names("promotions", None);
    let ulids = names.iter().filter_map(|name| {
        let part = name.rsplit('.').nth(1)?;
        Ulid::from_string(&part.to_uppercase()).ok()
    });
    ulids.max()
}

impl Admission for KargoRules {
    fn mutate(&self, review: &Review<'_>, objects: &dyn View) -> Result<Option<Value>, Denial> {
        let names_one = review.plural == "promotions" && review.operation == Operation::Create;
        let ulid = if names_one {
            self.next_ulid(Timestamp(review.now), objects)?
        } else {
            Ulid::nil()
        };
        admission::mutate(&self.request(review, ulid), &Objects(objects))
    }

    fn validate(&self, review: &Review<'_>, objects: &dyn View) -> Result<(), Denial> {
        admission::validate(&self.request(review, Ulid::nil()), &Objects(objects))
    }
}

/// The store as the rules read it. Plurals are unique here, so the group says nothing more.
struct Objects<'a>(&'a dyn View);

impl admission::View for Objects<'_> {
    fn get(
        &self,
        _group: &str,
        plural: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> Option<Value> {
        self.0.get(plural, namespace, name)
    }

    fn list(&self, _group: &str, plural: &str, namespace: Option<&str>) -> Vec<Value> {
        self.0.list(plural, namespace)
    }
}
