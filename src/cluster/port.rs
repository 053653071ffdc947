//! The engine's view of the cluster, over Kubernetes' API.

use std::collections::BTreeSet;

use async_trait::async_trait;
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use kube::{
    Api, Client,
    api::{DynamicObject, ListParams, Patch, PatchParams, PostParams},
    core::{ApiResource, GroupVersionKind},
    runtime::watcher::{self, Event},
};
use serde_json::Value;

use super::{error::kind_of, watch};
use crate::{
    cluster::Kind as Answer,
    engine::port::{Change, Key, Kind, Part, Port, PortError},
    kargo::{ProjectName, meta},
};

/// Objects per page.
const PAGE: u32 = 500;

/// A cluster, as the engine sees it.
pub struct KubePort {
    client: Client,
}

impl KubePort {
    /// Speaks as the client's user.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    fn api(&self, kind: Kind, project: &ProjectName) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), project.as_str(), &resource(kind))
    }
}

/// How the API calls a kind.
fn resource(kind: Kind) -> ApiResource {
    let (group, version) = match kind {
        Kind::Promotion | Kind::Stage | Kind::Freight | Kind::Warehouse | Kind::ProjectConfig => {
            (meta::KARGO_GROUP, "v1alpha1")
        }
        Kind::ApprovalRequest | Kind::Approval => ("tidewaiter.dev", "v1alpha1"),
        Kind::ConfigMap | Kind::Secret | Kind::ServiceAccount | Kind::Event => ("", "v1"),
    };
    ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk(group, version, kind.as_str()),
        kind.plural(),
    )
}

/// What the server's answer means for the engine.
fn failed(key: &Key, doing: &str, error: kube::Error) -> PortError {
    let doing = format!("{doing} {key}");
    let kube::Error::Api(status) = &error else {
        return PortError::Unreachable {
            doing,
            source: Box::new(error),
        };
    };
    let said = status.message.clone();
    match kind_of(status) {
        Answer::Conflict => PortError::Conflict { key: key.clone() },
        Answer::NotFound => PortError::Gone { key: key.clone() },
        _ if status.code == 413 || said.contains("too large") || said.contains("Too long") => {
            PortError::TooLarge {
                key: key.clone(),
                said,
            }
        }
        Answer::Forbidden | Answer::Unauthorised => PortError::Forbidden { doing, said },
        Answer::Invalid | Answer::Absent => PortError::Invalid { doing, said },
        Answer::Unreachable | Answer::TimedOut => PortError::Unreachable {
            doing,
            source: Box::new(error),
        },
    }
}

fn value_of(key: &Key, object: &DynamicObject) -> Result<Value, PortError> {
    serde_json::to_value(object).map_err(|source| PortError::Unreadable {
        key: key.clone(),
        source,
    })
}

#[async_trait]
impl Port for KubePort {
    async fn read(&self, key: &Key) -> Result<Option<Value>, PortError> {
        match self.api(key.kind, &key.project).get_opt(&key.name).await {
            Ok(found) => found.map(|object| value_of(key, &object)).transpose(),
            // A name that no object can have, such as an empty one, names none.
            Err(kube::Error::BuildRequest(_)) => Ok(None),
            Err(error) => Err(failed(key, "reading", error)),
        }
    }

    async fn list(
        &self,
        kind: Kind,
        project: Option<&ProjectName>,
    ) -> Result<Vec<Value>, PortError> {
        let api = match project {
            Some(project) => self.api(kind, project),
            None => Api::all_with(self.client.clone(), &resource(kind)),
        };
        let key = Key::new(kind, project.unwrap_or(&ProjectName::default()), "(all)");
        let mut params = ListParams::default().limit(PAGE);
        let mut found = Vec::new();
        loop {
            let page = api
                .list(&params)
                .await
                .map_err(|error| failed(&key, "listing", error))?;
            for object in &page.items {
                found.push(with_types(kind, value_of(&key, object)?));
            }
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params.continue_token = Some(token),
                None => return Ok(found),
            }
        }
    }

    fn follow(&self) -> BoxStream<'static, Change> {
        let kinds = Kind::FOLLOWED.map(|kind| follow_kind(self.client.clone(), kind));
        let mut missing: BTreeSet<Kind> = Kind::FOLLOWED.into_iter().collect();
        stream::select_all(kinds)
            .flat_map(move |heard| {
                let changes = match heard {
                    Heard::Change(change) => vec![change],
                    Heard::Listed(kind) => {
                        let was_missing = missing.remove(&kind);
                        if was_missing && missing.is_empty() {
                            vec![Change::Synced]
                        } else {
                            Vec::new()
                        }
                    }
                };
                stream::iter(changes)
            })
            .boxed()
    }

    async fn patch(&self, key: &Key, part: Part, patch: Value) -> Result<Value, PortError> {
        let api = self.api(key.kind, &key.project);
        let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
        let patched = match part {
            Part::Main => api.patch(&key.name, &params, &patch).await,
            Part::Status => api.patch_status(&key.name, &params, &patch).await,
        };
        value_of(
            key,
            &patched.map_err(|error| failed(key, "changing", error))?,
        )
    }

    async fn create(
        &self,
        kind: Kind,
        project: &ProjectName,
        object: Value,
    ) -> Result<Value, PortError> {
        let key = Key::new(
            kind,
            project,
            object
                .pointer("/metadata/name")
                .and_then(Value::as_str)
                .unwrap_or("(new)"),
        );
        let object: DynamicObject =
            serde_json::from_value(object).map_err(|source| PortError::Unreadable {
                key: key.clone(),
                source,
            })?;
        let created = self
            .api(kind, project)
            .create(&PostParams::default(), &object)
            .await;
        value_of(
            &key,
            &created.map_err(|error| failed(&key, "creating", error))?,
        )
    }
}

/// Items of a list may come without their kind.
fn with_types(kind: Kind, mut value: Value) -> Value {
    if let Some(map) = value.as_object_mut() {
        map.entry("kind").or_insert_with(|| kind.as_str().into());
        map.entry("apiVersion")
            .or_insert_with(|| resource(kind).api_version.into());
    }
    value
}

enum Heard {
    Change(Change),
    /// Everything that there was of the kind has been passed on.
    Listed(Kind),
}

/// One kind's changes. After a new list, what is no longer in it is told as deleted.
fn follow_kind(client: Client, kind: Kind) -> BoxStream<'static, Heard> {
    let api: Api<DynamicObject> = Api::all_with(client, &resource(kind));
    let events = watch::objects(api, watcher::Config::default());
    let mut book = Book::default();
    events
        .flat_map(move |event| {
            stream::iter(match event {
                Ok(event) => book.enter(kind, event),
                Err(error) => {
                    tracing::warn!(
                        kind = kind.as_str(),
                        error = &error as &dyn std::error::Error,
                        "a watch fails"
                    );
                    Vec::new()
                }
            })
        })
        .boxed()
}

/// The names of a kind that have been passed on.
#[derive(Default)]
struct Book {
    known: BTreeSet<(String, String)>,
    listing: BTreeSet<(String, String)>,
}

impl Book {
    fn enter(&mut self, kind: Kind, event: Event<DynamicObject>) -> Vec<Heard> {
        match event {
            Event::Init => {
                self.listing.clear();
                Vec::new()
            }
            Event::InitApply(object) => {
                self.listing.insert(name_of(&object));
                self.apply(kind, &object)
            }
            Event::InitDone => {
                let listed = std::mem::take(&mut self.listing);
                let gone: Vec<_> = self.known.difference(&listed).cloned().collect();
                let mut heard: Vec<Heard> = gone
                    .into_iter()
                    .map(|name| self.delete(kind, name))
                    .collect();
                heard.push(Heard::Listed(kind));
                heard
            }
            Event::Apply(object) => self.apply(kind, &object),
            Event::Delete(object) => vec![self.delete(kind, name_of(&object))],
        }
    }

    fn apply(&mut self, kind: Kind, object: &DynamicObject) -> Vec<Heard> {
        self.known.insert(name_of(object));
        let value = serde_json::to_value(object).map(|value| with_types(kind, value));
        value
            .into_iter()
            .map(|value| Heard::Change(Change::Applied(kind, value)))
            .collect()
    }

    fn delete(&mut self, kind: Kind, name: (String, String)) -> Heard {
        self.known.remove(&name);
        Heard::Change(Change::Deleted(Key::new(
            kind,
            &name.0.as_str().into(),
            name.1,
        )))
    }
}

fn name_of(object: &DynamicObject) -> (String, String) {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    (
        text(&object.metadata.namespace),
        text(&object.metadata.name),
    )
}
