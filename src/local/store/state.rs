//! What readers see: the objects, the version, and the history that watches and pages go back to.

use super::objects::{Objects, Stored};
use crate::local::kinds::KindId;
use crate::local::object::Key;
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One change of one object.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) version: u64,
    pub(crate) key: Key,
    pub(crate) before: Option<Arc<Stored>>,
    /// None when the object went.
    pub(crate) after: Option<Arc<Stored>>,
    /// The last state of an object that went, with the version of its deletion.
    pub(crate) gone: Option<Bytes>,
}

/// How much history is kept: as many events, and no older ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HistoryLimits {
    pub(crate) events: usize,
    pub(crate) age: Duration,
}

/// Everything that reads are served from.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) objects: Objects,
    pub(crate) version: u64,
    /// Nothing before this version can be reconstructed.
    compacted: u64,
    history: VecDeque<(Instant, Arc<Event>)>,
    limits: HistoryLimits,
}

impl State {
    pub(crate) fn new(objects: Objects, version: u64, limits: HistoryLimits) -> Self {
        Self {
            objects,
            version,
            compacted: version,
            history: VecDeque::new(),
            limits,
        }
    }

    /// Makes committed events visible, and forgets what is beyond the limits.
    pub(crate) fn publish(&mut self, events: Vec<Event>, now: Instant) {
        for event in events {
            self.objects.set(&event.key, event.after.clone());
            self.version = event.version;
            self.history.push_back((now, Arc::new(event)));
        }
        self.forget(now);
    }

    /// Drops history beyond the limits; also called by readers, as time passes without writes.
    pub(crate) fn forget(&mut self, now: Instant) {
        while let Some((at, event)) = self.history.front() {
            let too_many = self.history.len() > self.limits.events;
            if !too_many && now.duration_since(*at) <= self.limits.age {
                break;
            }
            self.compacted = event.version;
            self.history.pop_front();
        }
    }

    /// Drops all history, as a cluster's compaction may at any time.
    pub(crate) fn compact(&mut self) {
        self.history.clear();
        self.compacted = self.version;
    }

    /// Whether the state at `version` can still be told.
    pub(crate) fn reaches(&self, version: u64) -> bool {
        version >= self.compacted
    }

    /// Up to `limit` events after `version`; none if they are no longer all there.
    pub(crate) fn events_after(&self, version: u64, limit: usize) -> Option<Vec<Arc<Event>>> {
        if !self.reaches(version) {
            return None;
        }
        let start = self
            .history
            .partition_point(|(_, event)| event.version <= version);
        let events = self.history.range(start..).take(limit);
        Some(events.map(|(_, event)| Arc::clone(event)).collect())
    }

    /// Objects of a kind as they were at `version`: the present, with later events undone.
    pub(crate) fn snapshot(
        &self,
        kind: KindId,
        namespace: Option<&str>,
        version: u64,
    ) -> Option<BTreeMap<Key, Arc<Stored>>> {
        if !self.reaches(version) {
            return None;
        }
        let mut objects: BTreeMap<Key, Arc<Stored>> = self
            .objects
            .range(kind, namespace)
            .map(|(key, stored)| (key.clone(), Arc::clone(stored)))
            .collect();
        for (_, event) in self.history.iter().rev() {
            if event.version <= version {
                break;
            }
            if !event.key.is_in(kind, namespace) {
                continue;
            }
            match &event.before {
                Some(before) => objects.insert(event.key.clone(), Arc::clone(before)),
                None => objects.remove(&event.key),
            };
        }
        Some(objects)
    }
}
