//! What a cluster does by itself, some time after the change that calls for it: collecting what has
//! lost its owners, emptying namespaces that go, making namespaces for Projects.
//!
//! All of it goes through the same door as everybody's writes, under the account that does it in a
//! real cluster.

mod expiry;
mod garbage;
mod namespaces;
mod projects;

use super::kinds::{self, KindId};
use super::object::Key;
use super::status::ApiError;
use super::store::{Event, State, Store};
use super::user::UserInfo;
use super::write::{Action, DeleteOptions, Part, Patch, WriteRequest};
use futures::stream::{self, StreamExt as _};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Pause before what failed is tried again.
const RETRY: Duration = Duration::from_secs(2);
/// Pause between two looks for what has expired.
const EXPIRY: Duration = Duration::from_secs(60);
/// Writes under way at the same time.
const AT_ONCE: usize = 100;
/// Events looked at in one pass.
const CHUNK: usize = 500;

/// What changed since the last pass.
#[derive(Debug, Default)]
struct Changes {
    /// Everything has to be looked at: at the start, and when history was lost.
    all: bool,
    touched: BTreeSet<Key>,
    gone: BTreeSet<String>,
}

impl Changes {
    fn everything() -> Self {
        Self {
            all: true,
            ..Self::default()
        }
    }

    fn of(events: &[Arc<Event>]) -> Self {
        let mut changes = Self::default();
        for event in events {
            changes.touched.insert(event.key.clone());
            if let (None, Some(before)) = (&event.after, &event.before) {
                changes.gone.insert(before.uid.clone());
            }
        }
        changes
    }

    /// Whether objects of a kind may have changed.
    fn concern(&self, plural: &str) -> bool {
        let id = kinds::by_plural_alone(plural).map(|(id, _)| id);
        self.all || self.touched.iter().any(|key| Some(key.kind) == id)
    }
}

/// A write that is due.
#[derive(Debug)]
struct Due {
    key: Key,
    action: Action,
    part: Part,
    user: UserInfo,
}

impl Due {
    fn new(key: Key, action: Action, user: UserInfo) -> Self {
        Self {
            key,
            action,
            part: Part::Main,
            user,
        }
    }

    fn delete(key: Key, uid: &str, user: UserInfo) -> Self {
        let options = DeleteOptions {
            uid: Some(uid.to_owned()),
            resource_version: None,
        };
        Self::new(key, Action::Delete(options), user)
    }

    fn merge(key: Key, patch: Value, user: UserInfo) -> Self {
        Self::new(key, Action::Patch(Patch::Merge(patch)), user)
    }

    /// True if it failed for a reason that may pass.
    async fn perform_or_tell(self, store: &Store) -> bool {
        let what = format!("{:?} by {}", self.key, self.user.name);
        match self.perform(store).await {
            Ok(()) => false,
            // Somebody was faster; their change brings the next pass.
            Err(error) if matches!(error.code, 404 | 409 | 503) => false,
            Err(error) => {
                tracing::warn!(what, error = error.message, "background work was refused");
                true
            }
        }
    }

    async fn perform(self, store: &Store) -> Result<(), ApiError> {
        let kind = kinds::by_id(self.key.kind).ok_or_else(ApiError::no_such_path)?;
        let creates = matches!(self.action, Action::Create(_));
        let request = WriteRequest {
            kind_id: self.key.kind,
            kind,
            namespace: self.key.namespace,
            name: if creates {
                String::new()
            } else {
                self.key.name
            },
            action: self.action,
            part: self.part,
            user: self.user,
            dry_run: false,
            strict: false,
        };
        store.write(request).await.map(|_| ())
    }
}

/// The id of a kind that is in the table.
fn kind_id(plural: &str) -> Option<KindId> {
    kinds::by_plural_alone(plural).map(|(id, _)| id)
}

/// Works until the store is closed. The store is held weakly, for it must be able to go.
pub(crate) async fn run(store: Weak<Store>, event_age: Duration) {
    let Some(mut follow) = store.upgrade().map(|store| store.follow()) else {
        return;
    };
    let mut changes = Changes::everything();
    let mut seen = 0;
    let mut expiry = tokio::time::interval(EXPIRY);
    loop {
        follow.borrow_and_update();
        let Some(strong) = store.upgrade() else {
            return;
        };
        let failed = pass(&strong, &changes, &mut seen).await;
        drop(strong);
        let retry = async {
            if failed {
                tokio::time::sleep(RETRY).await;
            } else {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            changed = follow.changed() => {
                if changed.is_err() || !*follow.borrow() {
                    return;
                }
            }
            () = retry => seen = 0,
            _ = expiry.tick() => {
                if let Some(strong) = store.upgrade() {
                    let now = jiff::Timestamp::now();
                    let due = strong.read(|state| expiry::due(&state.objects, now, event_age));
                    perform(&strong, due).await;
                }
            }
        }
        changes = match store.upgrade() {
            Some(strong) => strong.read(|state| since(state, &mut seen)),
            None => return,
        };
    }
}

/// What happened after `seen`, which moves on.
fn since(state: &State, seen: &mut u64) -> Changes {
    match state.events_after(*seen, CHUNK) {
        Some(events) if *seen > 0 => {
            if let Some(last) = events.last() {
                *seen = last.version;
            }
            Changes::of(&events)
        }
        _ => {
            *seen = state.version;
            Changes::everything()
        }
    }
}

/// Does everything that the changes call for, and what that calls for in turn. True if something
/// failed and has to be tried again.
async fn pass(store: &Store, changes: &Changes, seen: &mut u64) -> bool {
    if changes.all {
        *seen = store.read(|state| state.version).max(*seen);
    }
    let due: Vec<Due> = store.read(|state| {
        let objects = &state.objects;
        let mut due = garbage::due(objects, changes);
        due.extend(namespaces::due(objects));
        if changes.concern("projects") || changes.concern("namespaces") {
            due.extend(projects::due(objects));
        }
        due
    });
    perform(store, due).await
}

/// Performs writes at once, as they share commits. True if one failed and has to be tried again.
async fn perform(store: &Store, due: Vec<Due>) -> bool {
    let outcomes = stream::iter(due)
        .map(|due| due.perform_or_tell(store))
        .buffer_unordered(AT_ONCE);
    outcomes
        .fold(false, |any, failed| async move { any || failed })
        .await
}
