//! Look-ups while an expression runs: done once per promotion and again only for a step that runs for the first time.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;
use tokio::runtime::Handle;

use crate::{
    engine::port::{Key, Kind, Port, PortExt},
    expr::{HostError, kargo::Lookups},
    kargo::{ProjectName, meta},
};

/// What was looked up so far, for replays.
pub struct Seen {
    port: Arc<dyn Port>,
    project: ProjectName,
    shared: Option<ProjectName>,
    found: Mutex<HashMap<Key, Option<Found>>>,
}

#[derive(Clone)]
struct Found {
    version: String,
    value: Value,
    /// A Secret that says that it may be given to every Project.
    generic: bool,
}

impl Seen {
    pub fn new(port: Arc<dyn Port>, project: ProjectName, shared: Option<ProjectName>) -> Self {
        Self {
            port,
            project,
            shared,
            found: Mutex::default(),
        }
    }
}

/// The look-ups of one evaluation, on a thread that may block.
pub struct Live {
    seen: Arc<Seen>,
    again: bool,
    runtime: Handle,
    versions: Mutex<BTreeMap<String, String>>,
    /// An object is looked up once per evaluation.
    now: Mutex<HashMap<Key, Option<Found>>>,
}

impl Live {
    pub fn new(seen: Arc<Seen>, again: bool, runtime: Handle) -> Self {
        Self {
            seen,
            again,
            runtime,
            versions: Mutex::default(),
            now: Mutex::default(),
        }
    }

    /// Which version of which object was looked up.
    pub fn versions(&self) -> BTreeMap<String, String> {
        self.versions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn find(&self, key: Key) -> Result<Option<Found>, HostError> {
        let known = |map: &Mutex<HashMap<Key, Option<Found>>>| {
            map.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get(&key)
                .cloned()
        };
        let remembered =
            known(&self.now).or_else(|| self.again.then(|| known(&self.seen.found)).flatten());
        let found = match remembered {
            Some(found) => found,
            None => self.read(&key)?,
        };
        let version = found
            .as_ref()
            .map_or("absent", |found| &found.version)
            .to_owned();
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        versions.insert(format!("{}/{}", key.kind.as_str(), key.name), version);
        for map in [&self.now, &self.seen.found] {
            map.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(key.clone(), found.clone());
        }
        Ok(found)
    }

    fn read(&self, key: &Key) -> Result<Option<Found>, HostError> {
        let read = async {
            match key.kind {
                Kind::ConfigMap | Kind::Secret => {
                    let texts = self
                        .seen
                        .port
                        .texts(key.kind, &key.project, &key.name)
                        .await?;
                    Ok(texts.map(|texts| Found {
                        generic: texts
                            .labels
                            .get(meta::CRED_TYPE)
                            .is_some_and(|kind| kind == "generic"),
                        version: texts.version,
                        value: serde_json::to_value(texts.data).unwrap_or_default(),
                    }))
                }
                _ => Ok(self.seen.port.read(key).await?.map(|value| {
                    let text = |path: &str| {
                        value
                            .pointer(path)
                            .and_then(Value::as_str)
                            .unwrap_or_default()
                    };
                    let version = format!(
                        "{}@{}",
                        text("/metadata/uid"),
                        text("/metadata/resourceVersion")
                    );
                    Found {
                        version,
                        value,
                        generic: false,
                    }
                })),
            }
        };
        let result: Result<_, crate::engine::port::PortError> = self.runtime.block_on(read);
        result.map_err(|error| HostError::new(crate::engine::sentence(&error)))
    }

    fn texts(
        &self,
        kind: Kind,
        project: &ProjectName,
        name: &str,
    ) -> Result<Option<BTreeMap<String, String>>, HostError> {
        let found = self.find(Key::new(kind, project, name))?;
        Ok(found.and_then(|found| serde_json::from_value(found.value).ok()))
    }

    fn status(&self, kind: Kind, name: &str, path: &str) -> Result<Option<Value>, HostError> {
        let found = self.find(Key::new(kind, &self.seen.project, name))?;
        Ok(found.and_then(|found| found.value.pointer(path).cloned()))
    }
}

impl Lookups for Live {
    fn config_map(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, HostError> {
        self.texts(Kind::ConfigMap, &self.seen.project, name)
    }

    fn secret(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, HostError> {
        self.texts(Kind::Secret, &self.seen.project, name)
    }

    fn shared_config_map(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, HostError> {
        let Some(shared) = &self.seen.shared else {
            return Ok(None);
        };
        self.texts(Kind::ConfigMap, shared, name)
    }

    fn shared_secret(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, HostError> {
        let Some(shared) = &self.seen.shared else {
            return Ok(None);
        };
        let found = self
            .find(Key::new(Kind::Secret, shared, name))?
            .filter(|found| found.generic);
        Ok(found.and_then(|found| serde_json::from_value(found.value).ok()))
    }

    fn freight_metadata(&self, name: &str) -> Result<Option<Value>, HostError> {
        self.status(Kind::Freight, name, "/status/metadata")
    }

    fn freight_status(&self, name: &str) -> Result<Option<Value>, HostError> {
        self.status(Kind::Freight, name, "/status")
    }

    fn stage_metadata(&self, name: &str) -> Result<Option<Value>, HostError> {
        self.status(Kind::Stage, name, "/status/metadata")
    }
}
