//! A cluster in memory that is stricter than the real one: every status write must name the version that it is
//! based on (the keeper's entries in Freight excepted, whose writes must commute), nulls may not be stored, unknown status keys are errors.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use futures::{StreamExt, stream::BoxStream};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::{Change, Key, Kind, Part, Port, PortError};
use crate::kargo::ProjectName;

type Hook = Box<dyn Fn(&Key, &Value) + Send + Sync>;

/// What is answered instead.
pub type Answer = fn(&Key) -> PortError;

#[derive(Default)]
pub struct Fake {
    objects: Mutex<BTreeMap<Key, Value>>,
    followers: Mutex<Vec<UnboundedSender<Change>>>,
    version: AtomicU64,
    /// Status writes by object.
    pub writes: Mutex<BTreeMap<Key, u32>>,
    /// What every Promotion status was, write by write.
    pub history: Mutex<Vec<(String, Value)>>,
    /// While set, every call fails as if the network were away.
    pub away: AtomicBool,
    /// Every patch that was taken, also one that changed nothing.
    pub patches: Mutex<Vec<(Key, Value)>>,
    /// Answers to the next patches of a kind's part, instead of doing them.
    pub answers: Mutex<Vec<(Kind, Part, Answer)>>,
    /// Refuse statuses larger than this.
    pub status_max: Option<usize>,
    on_write: Mutex<Option<Hook>>,
}

impl Fake {
    pub fn put(&self, kind: Kind, mut object: Value) -> Value {
        let version = self.version.fetch_add(1, Ordering::SeqCst) + 1;
        let meta = object["metadata"].as_object_mut().unwrap();
        if !meta.contains_key("name") {
            let prefix = meta
                .get("generateName")
                .and_then(Value::as_str)
                .unwrap_or("x-")
                .to_owned();
            meta.insert("name".into(), json!(format!("{prefix}{version:05}")));
        }
        meta.entry("uid")
            .or_insert_with(|| json!(format!("00000000-0000-0000-0000-{version:012}")));
        meta.entry("creationTimestamp")
            .or_insert_with(|| json!("2026-01-01T00:00:00Z"));
        meta.insert("resourceVersion".into(), json!(version.to_string()));
        let key = Key::new(
            kind,
            &ProjectName::from(meta["namespace"].as_str().unwrap_or_default()),
            meta["name"].as_str().unwrap(),
        );
        self.store(key, object)
    }

    fn store(&self, key: Key, object: Value) -> Value {
        self.objects
            .lock()
            .unwrap()
            .insert(key.clone(), object.clone());
        self.tell(Change::Applied(key.kind, object.clone()));
        object
    }

    fn tell(&self, change: Change) {
        self.followers
            .lock()
            .unwrap()
            .retain(|follower| follower.send(change.clone()).is_ok());
    }

    pub fn delete(&self, key: &Key) {
        self.objects.lock().unwrap().remove(key);
        self.tell(Change::Deleted(key.clone()));
    }

    pub fn look(&self, kind: Kind, project: &str, name: &str) -> Option<Value> {
        self.objects
            .lock()
            .unwrap()
            .get(&Key::new(kind, &project.into(), name))
            .cloned()
    }

    pub fn on_write(&self, hook: impl Fn(&Key, &Value) + Send + Sync + 'static) {
        *self.on_write.lock().unwrap() = Some(Box::new(hook));
    }

    fn reachable(&self, doing: &str) -> Result<(), PortError> {
        if self.away.load(Ordering::SeqCst) {
            let source =
                std::io::Error::new(std::io::ErrorKind::ConnectionRefused, "connection refused")
                    .into();
            return Err(PortError::Unreachable {
                doing: doing.into(),
                source,
            });
        }
        Ok(())
    }
}

fn no_nulls(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(items) => items.iter().all(no_nulls),
        Value::Object(map) => map.values().all(no_nulls),
        _ => true,
    }
}

#[async_trait]
impl Port for Fake {
    async fn read(&self, key: &Key) -> Result<Option<Value>, PortError> {
        self.reachable("reading")?;
        Ok(self.objects.lock().unwrap().get(key).cloned())
    }

    async fn list(
        &self,
        kind: Kind,
        project: Option<&ProjectName>,
    ) -> Result<Vec<Value>, PortError> {
        self.reachable("listing")?;
        let objects = self.objects.lock().unwrap();
        let wanted =
            |key: &Key| key.kind == kind && project.is_none_or(|project| key.project == *project);
        Ok(objects
            .iter()
            .filter(|(key, _)| wanted(key))
            .map(|(_, value)| value.clone())
            .collect())
    }

    fn follow(&self) -> BoxStream<'static, Change> {
        let (sender, receiver) = unbounded_channel();
        for (key, object) in self.objects.lock().unwrap().iter() {
            if Kind::FOLLOWED.contains(&key.kind) {
                sender
                    .send(Change::Applied(key.kind, object.clone()))
                    .unwrap();
            }
        }
        sender.send(Change::Synced).unwrap();
        self.followers.lock().unwrap().push(sender);
        futures::stream::unfold(receiver, |mut receiver| async {
            Some((receiver.recv().await?, receiver))
        })
        .boxed()
    }

    async fn patch(&self, key: &Key, part: Part, patch: Value) -> Result<Value, PortError> {
        self.reachable("patching")?;
        {
            let mut answers = self.answers.lock().unwrap();
            let of = |(kind, at, _): &(Kind, Part, Answer)| *kind == key.kind && *at == part;
            if let Some(position) = answers.iter().position(of) {
                return Err(answers.remove(position).2(key));
            }
        }
        let mut objects = self.objects.lock().unwrap();
        let Some(old) = objects.get(key) else {
            return Err(PortError::Gone { key: key.clone() });
        };
        let based_on = patch.pointer("/metadata/resourceVersion").cloned();
        // What is replaced as a whole rests on what was read; the Stages' entries are each their own.
        let commutes = part == Part::Status && patch.pointer("/status/metadata").is_none();
        if key.kind == Kind::Freight && commutes {
            assert!(
                based_on.is_none(),
                "writes to Freight must commute: {patch}"
            );
        } else {
            assert!(
                based_on.is_some(),
                "a write to {key} names no version: {patch}"
            );
        }
        if based_on.is_some_and(|version| version != old["metadata"]["resourceVersion"]) {
            return Err(PortError::Conflict { key: key.clone() });
        }
        self.patches
            .lock()
            .unwrap()
            .push((key.clone(), patch.clone()));
        let mut new = old.clone();
        match part {
            Part::Status => {
                let extra: Vec<_> = patch
                    .as_object()
                    .unwrap()
                    .keys()
                    .filter(|k| !["metadata", "status"].contains(&k.as_str()))
                    .collect();
                assert!(extra.is_empty(), "a status patch with {extra:?}");
                json_patch::merge(&mut new, &json!({"status": patch["status"]}));
            }
            Part::Main => {
                assert!(
                    patch.get("status").is_none(),
                    "status is written through its own address"
                );
                json_patch::merge(&mut new, &patch);
            }
        }
        assert!(
            no_nulls(&new["status"]) || new["status"].is_null(),
            "a null was stored: {}",
            new["status"]
        );
        if let Some(max) = self.status_max {
            let size = new["status"].to_string().len();
            if size > max {
                return Err(PortError::TooLarge {
                    key: key.clone(),
                    said: format!("{size} bytes, at most {max}"),
                });
            }
        }
        if new == *old {
            return Ok(new);
        }
        let version = self.version.fetch_add(1, Ordering::SeqCst) + 1;
        new["metadata"]["resourceVersion"] = json!(version.to_string());
        if part == Part::Status {
            *self.writes.lock().unwrap().entry(key.clone()).or_default() += 1;
            if key.kind == Kind::Promotion {
                self.history
                    .lock()
                    .unwrap()
                    .push((key.name.clone(), new["status"].clone()));
            }
        }
        let deleting = new.pointer("/metadata/deletionTimestamp").is_some();
        let held = new
            .pointer("/metadata/finalizers")
            .and_then(Value::as_array)
            .is_some_and(|list| !list.is_empty());
        if deleting && !held {
            objects.remove(key);
            drop(objects);
            self.tell(Change::Deleted(key.clone()));
            return Ok(new);
        }
        objects.insert(key.clone(), new.clone());
        drop(objects);
        self.tell(Change::Applied(key.kind, new.clone()));
        if let Some(hook) = self.on_write.lock().unwrap().as_ref() {
            hook(key, &new);
        }
        Ok(new)
    }

    async fn create(
        &self,
        kind: Kind,
        project: &ProjectName,
        mut object: Value,
    ) -> Result<Value, PortError> {
        self.reachable("creating")?;
        object["metadata"]["namespace"] = json!(project);
        Ok(self.put(kind, object))
    }
}
