//! GET with `watch`: a stream of events, one JSON object a line.
//!
//! A watch holds no queue. It remembers the version that it has sent and reads on in the history;
//! one that reads so slowly that the history has gone on without it is told to list again.

use super::read::{self, View};
use super::reply::{self, ReplyBody};
use super::route::Place;
use super::{Call, WatchTimes};
use crate::local::kinds::{Kind, KindId};
use crate::local::object;
use crate::local::selector::Selector;
use crate::local::status::ApiError;
use crate::local::store::{Event, State, Store, Stored};
use bytes::{BufMut, Bytes, BytesMut};
use futures::Stream;
use http::Response;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Events taken from the history in one go.
const CHUNK: usize = 100;

struct Watch {
    store: Arc<Store>,
    follow: tokio::sync::watch::Receiver<bool>,
    id: KindId,
    kind: &'static Kind,
    namespace: Option<String>,
    selector: Selector,
    view: View,
    /// Everything up to here has been sent or did not matter.
    sent: u64,
    lines: VecDeque<Bytes>,
    bookmarks: Option<Duration>,
    next_bookmark: Instant,
    end: Instant,
    over: bool,
}

pub(super) fn watch(
    store: &Arc<Store>,
    times: WatchTimes,
    call: &Call,
    place: &Place,
) -> Result<Response<ReplyBody>, ApiError> {
    let query = &call.query;
    let mut selector = read::selector(query)?;
    if let Some(name) = &place.name {
        if place.subresource.is_some() {
            return Err(ApiError::method_not_allowed());
        }
        selector = selector.and_name(name);
    }
    let timeout = query
        .number("timeoutSeconds")?
        .filter(|seconds| *seconds > 0);
    let timeout = timeout.map_or(times.timeout, Duration::from_secs);
    let bookmarks = query.flag("allowWatchBookmarks").then_some(times.bookmarks);
    let start = Start::of(call)?;
    let now = Instant::now();
    let mut watch = Watch {
        store: Arc::clone(store),
        follow: store.follow(),
        id: place.id,
        kind: place.kind,
        namespace: place.namespace.clone(),
        selector,
        view: View::of(&call.headers, &call.query),
        sent: 0,
        lines: VecDeque::new(),
        bookmarks,
        next_bookmark: now + times.bookmarks,
        end: now + timeout,
        over: false,
    };
    store.forget_old();
    let begun = store.read(|state| watch.begin(state, start));
    if let Err(error) = begun {
        // As an event: clients start a watch that fails outright again with the same version.
        watch.fail(&error);
    }
    Ok(reply::stream(watch.into_stream()))
}

/// Where a watch begins.
#[derive(Clone, Copy, Debug)]
enum Start {
    /// All objects as ADDED, then what happens; whether a bookmark says where the first part ends.
    WithObjects { min_version: u64, marked: bool },
    /// Only what happens from now on.
    Now,
    /// What happened strictly after a version.
    After(u64),
}

impl Start {
    fn of(call: &Call) -> Result<Self, ApiError> {
        let query = &call.query;
        let version = read::version(query)?;
        let matching = query.get("resourceVersionMatch");
        match query.get("sendInitialEvents") {
            Some("true") => {
                if matching != Some("NotOlderThan") {
                    return Err(ApiError::bad_request(
                        "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
                    ));
                }
                if !query.flag("allowWatchBookmarks") {
                    return Err(ApiError::bad_request(
                        "sendInitialEvents: Forbidden: sendInitialEvents requires allowWatchBookmarks",
                    ));
                }
                Ok(Self::WithObjects {
                    min_version: version.unwrap_or(0),
                    marked: true,
                })
            }
            Some("false") => Ok(match version {
                None | Some(0) => Self::Now,
                Some(version) => Self::After(version),
            }),
            Some(other) => Err(ApiError::bad_request(format!(
                "sendInitialEvents: Invalid value: {other:?}"
            ))),
            None if matching.is_some() => Err(ApiError::bad_request(
                "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            )),
            None => Ok(match version {
                None | Some(0) => Self::WithObjects {
                    min_version: 0,
                    marked: false,
                },
                Some(version) => Self::After(version),
            }),
        }
    }
}

impl Watch {
    fn begin(&mut self, state: &State, start: Start) -> Result<(), ApiError> {
        match start {
            Start::Now => self.sent = state.version,
            Start::After(version) => {
                // From the future: the store was replaced by another. A list tells what is there.
                if !state.reaches(version) || version > state.version {
                    return Err(too_old(version, state.version));
                }
                self.sent = version;
            }
            Start::WithObjects {
                min_version,
                marked,
            } => {
                if min_version > state.version {
                    return Err(ApiError::too_large_version(min_version, state.version));
                }
                self.sent = state.version;
                let objects = state.objects.range(self.id, self.namespace.as_deref());
                let lines: Vec<Bytes> = objects
                    .filter(|(key, stored)| self.selector.matches(key, &stored.labels))
                    .map(|(_, stored)| line("ADDED", &self.view.text(self.kind, stored)))
                    .collect();
                self.lines.extend(lines);
                if marked {
                    self.bookmark(true);
                }
            }
        }
        Ok(())
    }

    fn fail(&mut self, error: &ApiError) {
        let status = Bytes::from(error.to_status().to_string());
        self.lines.push_back(line("ERROR", &status));
        self.over = true;
    }

    fn bookmark(&mut self, ends_initial_events: bool) {
        let mut metadata =
            json!({"resourceVersion": self.sent.to_string(), "creationTimestamp": null});
        if ends_initial_events {
            object::map_mut(&mut metadata).insert(
                "annotations".to_owned(),
                json!({"k8s.io/initial-events-end": "true"}),
            );
        }
        let object = json!({
            "kind": self.kind.kind,
            "apiVersion": self.kind.api_version(),
            "metadata": metadata,
        });
        let text = self
            .view
            .of_text(self.kind, &Bytes::from(object.to_string()));
        self.lines.push_back(line("BOOKMARK", &text));
        if let Some(every) = self.bookmarks {
            self.next_bookmark = Instant::now() + every;
        }
    }

    /// Turns new history into lines. False when there was none.
    fn read_on(&mut self) -> bool {
        let events = self.store.read(|state| {
            let events = state.events_after(self.sent, CHUNK);
            events.ok_or_else(|| too_old(self.sent, state.version))
        });
        let events = match events {
            Ok(events) => events,
            Err(error) => {
                self.fail(&error);
                return true;
            }
        };
        for event in &events {
            self.sent = event.version;
            if let Some(line) = self.line_of(event) {
                self.lines.push_back(line);
            }
        }
        !events.is_empty()
    }

    /// What an event is under the selector: an object that no longer matches is gone for this
    /// watch, one that matches now is new.
    fn line_of(&self, event: &Event) -> Option<Bytes> {
        if !event.key.is_in(self.id, self.namespace.as_deref()) {
            return None;
        }
        let matches = |stored: &Option<Arc<Stored>>| {
            stored
                .as_ref()
                .is_some_and(|stored| self.selector.matches(&event.key, &stored.labels))
        };
        match (matches(&event.before), matches(&event.after)) {
            (false, false) => None,
            (true, false) => {
                let text = match (&event.gone, &event.before) {
                    (Some(gone), _) => self.view.of_text(self.kind, gone),
                    (None, Some(before)) => self
                        .view
                        .of_text(self.kind, &at_version(before, event.version)),
                    (None, None) => return None,
                };
                Some(line("DELETED", &text))
            }
            (before, true) => {
                let word = if before { "MODIFIED" } else { "ADDED" };
                let text = self.view.text(self.kind, event.after.as_ref()?);
                Some(line(word, &text))
            }
        }
    }

    fn into_stream(self) -> impl Stream<Item = Bytes> + Send + 'static {
        futures::stream::unfold(self, |mut watch| async move {
            let chunk = watch.next().await?;
            Some((chunk, watch))
        })
    }

    /// The next line, or none at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(line) = self.lines.pop_front() {
                return Some(line);
            }
            if self.over {
                return None;
            }
            let open = *self.follow.borrow_and_update();
            if self.read_on() {
                continue;
            }
            // Closed: end as at a timeout, and let the client come back.
            if !open {
                return None;
            }
            let far = self.end + Duration::from_secs(1);
            let bookmark_at = if self.bookmarks.is_some() {
                self.next_bookmark
            } else {
                far
            };
            tokio::select! {
                _ = self.follow.changed() => {}
                () = tokio::time::sleep_until(bookmark_at.min(self.end)) => {
                    self.over = Instant::now() >= self.end;
                    if self.bookmarks.is_some() {
                        self.bookmark(false);
                    }
                }
            }
        }
    }
}

fn too_old(asked: u64, current: u64) -> ApiError {
    ApiError::expired(format!("too old resource version: {asked} ({current})"))
}

/// An object that left a selector, with the version at which it did.
fn at_version(stored: &Stored, version: u64) -> Bytes {
    let mut value: Value = stored.value();
    object::set_meta(&mut value, "resourceVersion", version.to_string());
    Bytes::from(value.to_string())
}

fn line(word: &str, object: &Bytes) -> Bytes {
    let mut line = BytesMut::with_capacity(object.len() + 40);
    line.extend_from_slice(b"{\"type\":\"");
    line.extend_from_slice(word.as_bytes());
    line.extend_from_slice(b"\",\"object\":");
    line.extend_from_slice(object);
    line.put_slice(b"}\n");
    line.freeze()
}
