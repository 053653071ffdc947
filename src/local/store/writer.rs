//! The one thread that writes.

use super::file::{Disk, Loaded};
use super::objects::{Objects, Stored};
use super::state::{Event, HistoryLimits, State};
use crate::local::admission::Admission;
use crate::local::object;
use crate::local::status::ApiError;
use crate::local::write::{self, Change, Decision, WriteRequest};
use bytes::Bytes;
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError, RwLock, mpsc};
use std::thread::JoinHandle;
use std::time::Instant;
use tokio::sync::{oneshot, watch};

/// Requests that share one commit at most. A batch is well inside the history, so that a watch
/// which keeps up is never cut off by one.
const BATCH: usize = 200;

/// What a write came to.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) code: u16,
    pub(crate) text: Bytes,
    /// For the client to show, such as fields that were dropped.
    pub(crate) warnings: Vec<String>,
}

enum Job {
    Write(
        Box<WriteRequest>,
        oneshot::Sender<Result<Written, ApiError>>,
    ),
    Stop,
}

/// Readers' view of the objects and the way to the writer.
pub(crate) struct Store {
    state: RwLock<State>,
    /// Marked changed with every publication; false once the store is closed.
    open: watch::Sender<bool>,
    jobs: mpsc::Sender<Job>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl Store {
    /// Starts the writer over a file and what it held. `guard` is dropped when the file is closed.
    pub(crate) fn start(
        disk: Disk,
        loaded: Loaded,
        limits: HistoryLimits,
        admission: Arc<dyn Admission>,
        guard: impl Send + 'static,
    ) -> std::io::Result<Arc<Self>> {
        let (jobs, queue) = mpsc::channel();
        let Loaded { objects, version } = loaded;
        let store = Arc::new(Self {
            state: RwLock::new(State::new(objects.clone(), version, limits)),
            open: watch::Sender::new(true),
            jobs,
            writer: Mutex::new(None),
        });
        let readers = Arc::downgrade(&store);
        let thread = std::thread::Builder::new()
            .name("local-store".to_owned())
            .spawn(move || {
                let mut writer = Writer {
                    disk,
                    head: objects,
                    version,
                    admission,
                };
                loop {
                    let (batch, last) = next_batch(&queue);
                    let Some(readers) = readers.upgrade() else {
                        break;
                    };
                    writer.run(batch, &readers);
                    if last {
                        break;
                    }
                }
                drop(writer);
                drop(guard);
            })?;
        *store.writer.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(store)
    }

    /// Reads the state, which holds up publishing: callers take what they need and let go.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// Wakes up with every change; the value is whether the store is still open.
    pub(crate) fn follow(&self) -> watch::Receiver<bool> {
        self.open.subscribe()
    }

    /// Whether the store has not been closed.
    pub(crate) fn is_open(&self) -> bool {
        *self.open.borrow()
    }

    /// Drops all history; watches and pages that need it get 410.
    pub(crate) fn compact(&self) {
        self.change(State::compact);
        self.open.send_modify(|_| {});
    }

    /// Drops the history that has become too old, which no write may come to do.
    pub(crate) fn forget_old(&self) {
        self.change(|state| state.forget(Instant::now()));
    }

    /// Has the writer decide on a request; returns when the outcome is on disk and visible.
    pub(crate) async fn write(&self, request: WriteRequest) -> Result<Written, ApiError> {
        let (answer, answered) = oneshot::channel();
        self.jobs
            .send(Job::Write(Box::new(request), answer))
            .map_err(|_| ApiError::closed())?;
        answered.await.map_err(|_| ApiError::closed())?
    }

    /// Queues requests whose outcome nobody waits for: all later ones come after them.
    pub(crate) fn submit(&self, requests: Vec<WriteRequest>) {
        for request in requests {
            let (answer, _) = oneshot::channel();
            // A writer that has ended already answers everybody else with 503.
            let _ = self.jobs.send(Job::Write(Box::new(request), answer));
        }
    }

    /// Closes the file after what is already queued. Waits for it: a batch takes milliseconds.
    pub(crate) fn stop(&self) {
        let thread = self
            .writer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            // A writer that ended by itself has closed everything already.
            let _ = self.jobs.send(Job::Stop);
            if thread.join().is_err() {
                tracing::error!("the writer of the local store had panicked");
            }
        }
        self.open.send_replace(false);
    }
}

type Waiting = (
    Box<WriteRequest>,
    oneshot::Sender<Result<Written, ApiError>>,
);

/// All requests that wait, up to a batch, and whether there will be no more.
fn next_batch(queue: &mpsc::Receiver<Job>) -> (Vec<Waiting>, bool) {
    let mut batch = Vec::new();
    let mut next = queue.recv().ok();
    while let Some(job) = next {
        match job {
            Job::Write(request, answer) => batch.push((request, answer)),
            // Requests queued behind it see their channel close.
            Job::Stop => return (batch, true),
        }
        if batch.len() >= BATCH {
            return (batch, false);
        }
        next = queue.try_recv().ok();
    }
    let closed = batch.is_empty();
    (batch, closed)
}

struct Writer {
    disk: Disk,
    /// The objects as decided so far, ahead of what readers see until the commit.
    head: Objects,
    version: u64,
    admission: Arc<dyn Admission>,
}

impl Writer {
    fn run(&mut self, batch: Vec<Waiting>, readers: &Store) {
        let before = self.version;
        let mut events = Vec::new();
        let mut answers = Vec::new();
        for (request, answer) in batch {
            answers.push((answer, self.decide(&request, &mut events)));
        }
        if let Err(error) = self.disk.commit(&events) {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "the local store was not written"
            );
            self.take_back(events, before);
            let why = std::error::Error::source(&error)
                .map(ToString::to_string)
                .unwrap_or_default();
            for (answer, _) in answers {
                // Whoever no longer waits has gone away by itself, here and below.
                let _ = answer.send(Err(ApiError::internal(format!("{error}: {why}"))));
            }
            return;
        }
        if !events.is_empty() {
            readers.change(|state| state.publish(events, Instant::now()));
            readers.open.send_modify(|_| {});
        }
        for (answer, outcome) in answers {
            let _ = answer.send(outcome);
        }
    }

    fn decide(
        &mut self,
        request: &WriteRequest,
        events: &mut Vec<Event>,
    ) -> Result<Written, ApiError> {
        let decide = AssertUnwindSafe(|| write::decide(request, &self.head, &*self.admission));
        let decision = std::panic::catch_unwind(decide)
            .unwrap_or_else(|_| Err(ApiError::internal("deciding on the request panicked")))?;
        Ok(self.apply(request, decision, events))
    }

    fn apply(
        &mut self,
        request: &WriteRequest,
        decision: Decision,
        events: &mut Vec<Event>,
    ) -> Written {
        let Decision {
            code,
            change,
            answer,
            warnings,
        } = decision;
        let written = |text| Written {
            code,
            text,
            warnings,
        };
        let (key, mut value, stays) = match change {
            Some(Change::Put(key, value)) => (key, value, true),
            Some(Change::Remove(key, value)) => (key, value, false),
            None => return written(text_of(&answer.unwrap_or(Value::Null))),
        };
        if request.dry_run {
            return written(text_of(answer.as_ref().unwrap_or(&value)));
        }
        self.version += 1;
        object::set_meta(&mut value, "resourceVersion", self.version.to_string());
        let stored = Arc::new(Stored::new(&value));
        let text = stored.text.clone();
        let after = stays.then_some(stored);
        let before = self.head.set(&key, after.clone());
        let gone = (!stays).then(|| text.clone());
        events.push(Event {
            version: self.version,
            key,
            before,
            after,
            gone,
        });
        match answer {
            Some(answer) => written(text_of(&answer)),
            None => written(text),
        }
    }

    /// Undoes a batch that could not be committed.
    fn take_back(&mut self, events: Vec<Event>, version: u64) {
        for event in events.into_iter().rev() {
            self.head.set(&event.key, event.before);
        }
        self.version = version;
    }
}

fn text_of(value: &Value) -> Bytes {
    Bytes::from(value.to_string())
}
