//! Watching: lists and watches one kind and passes on small rows, never whole objects.
//!
//! A failing watch never empties what is shown: it says in which state it is, and goes on trying with growing pauses.

use std::{fmt::Debug, time::Duration};

use futures::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use kube::{
    Api, Resource,
    runtime::watcher::{self, Event},
};
use serde::de::DeserializeOwned;

use super::error::kind_of;
use crate::cluster::{Error, Kind};

/// What happened to a kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Change<R> {
    /// A list begins: what is not named until [`Change::Listed`] is gone.
    Listing,
    /// A row of the list, or one that is new or changed.
    Upsert(R),
    /// The list is complete.
    Listed,
    /// The object of this row is gone.
    Delete(R),
    /// The connection fails; what is shown stays, and is as old as the last good answer.
    Stale(String),
    /// This user may not list the kind.
    Forbidden(String),
    /// The kind is not installed.
    Absent(String),
}

/// The changes of one kind, made into rows by `row`. Runs for ever; drop it to stop.
pub fn rows<K, R>(
    api: Api<K>,
    row: impl Fn(&K) -> R + Send + 'static,
) -> impl Stream<Item = Change<R>> + Send
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
    R: Send + 'static,
{
    objects(api, watcher::Config::default()).map(move |event| match event {
        Ok(Event::Init) => Change::Listing,
        Ok(Event::InitApply(object) | Event::Apply(object)) => Change::Upsert(row(&object)),
        Ok(Event::InitDone) => Change::Listed,
        Ok(Event::Delete(object)) => Change::Delete(row(&object)),
        Err(error) => failure(&error),
    })
}

/// The changes of one object, whole.
pub fn one<K>(api: Api<K>, name: &str) -> impl Stream<Item = Change<K>> + Send
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    objects(api, config).map(|event| match event {
        Ok(Event::Init) => Change::Listing,
        Ok(Event::InitApply(object) | Event::Apply(object)) => Change::Upsert(object),
        Ok(Event::InitDone) => Change::Listed,
        Ok(Event::Delete(object)) => Change::Delete(object),
        Err(error) => failure(&error),
    })
}

/// The events of one kind, whole objects, for ever. A watch that cannot *start* because its version is too old
/// (some proxies answer HTTP 410 where the API server sends the event) begins again with a list: kube's own watcher
/// would ask for that version for ever.
pub fn objects<K>(
    api: Api<K>,
    config: watcher::Config,
) -> impl Stream<Item = watcher::Result<Event<K>>> + Send
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let begin = move || watcher::watcher(api.clone(), config.clone().page_size(PAGE)).boxed();
    let first = (begin(), Pauses::default(), Pauses::default());
    stream::unfold((first, begin), |(state, begin)| async move {
        let (mut running, mut pauses, mut starts) = state;
        let event = running.next().await?;
        match &event {
            Err(watcher::Error::WatchStartFailed(kube::Error::Api(status)))
                if status.code == 410 =>
            {
                running = delayed(starts.next(), begin());
            }
            Err(_) => running = delayed(pauses.next(), running),
            // That a list begins shows nothing yet: kube says so before it asks.
            Ok(Event::Init) => {}
            Ok(Event::InitApply(_) | Event::InitDone) => pauses = Pauses::default(),
            // Lists work although no watch can start; what a watch brings shows that one did.
            Ok(Event::Apply(_) | Event::Delete(_)) => {
                (pauses, starts) = (Pauses::default(), Pauses::default());
            }
        }
        Some((event, ((running, pauses, starts), begin)))
    })
}

/// The stream, asked no sooner than after the pause.
fn delayed<T: Send + 'static>(
    pause: Option<Duration>,
    events: BoxStream<'static, T>,
) -> BoxStream<'static, T> {
    let pause = tokio::time::sleep(pause.unwrap_or(LONGEST_PAUSE));
    stream::once(pause)
        .flat_map(move |()| stream::empty())
        .chain(events)
        .boxed()
}

fn failure<R>(error: &watcher::Error) -> Change<R> {
    let status = match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status)) => Some(status.as_ref()),
        watcher::Error::WatchError(status) => Some(status.as_ref()),
        _ => None,
    };
    match status.map(|status| (kind_of(status), status.message.clone())) {
        Some((Kind::Forbidden, message)) => Change::Forbidden(message),
        Some((Kind::Absent, message)) => Change::Absent(message),
        Some((_, message)) => Change::Stale(message),
        None => Change::Stale(reason(error)),
    }
}

/// The reason without kube's wrappers.
fn reason(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(inner)
        | watcher::Error::WatchStartFailed(inner)
        | watcher::Error::WatchFailed(inner) => Error::from_kube("", inner).why,
        other => other.to_string(),
    }
}

/// Pauses between tries: from half a second doubling to half a minute, so that a refused token costs a few calls a
/// minute and no more.
#[derive(Clone, Debug)]
struct Pauses {
    next: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        Self { next: FIRST_PAUSE }
    }
}

/// Objects per page of the list: the first page is on the screen while the others come.
const PAGE: u32 = 250;
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

impl Iterator for Pauses {
    type Item = Duration;
    fn next(&mut self) -> Option<Duration> {
        let pause = self.next;
        self.next = (pause * 2).min(LONGEST_PAUSE);
        Some(pause)
    }
}
