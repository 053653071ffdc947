//! The engine's view of the cluster ([`crate::engine::port`]) over a Kubernetes client.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use async_trait::async_trait;
use futures::{StreamExt, stream::BoxStream};
use kube::{
    Api, Client, Error,
    api::{ListParams, Patch, PatchParams, PostParams},
    core::{ApiResource, DynamicObject, GroupVersionKind},
    runtime::{
        WatchStreamExt,
        watcher::{self, Event},
    },
};
use serde_json::Value;

use crate::{
    engine::port::{Change, Key, Kind, Part, Port, PortError},
    kargo::{ProjectName, meta},
};

/// How many objects a list asks for at a time.
const PAGE: u32 = 500;

/// The cluster behind a client.
#[derive(Clone)]
pub struct ClusterPort {
    client: Client,
}

impl ClusterPort {
    /// Uses this client, whose user is the executor's.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    fn of(&self, kind: Kind, project: &ProjectName) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), project.as_str(), &resource(kind))
    }
}

fn resource(kind: Kind) -> ApiResource {
    let (group, version, plural) = match kind {
        Kind::Promotion => (meta::KARGO_GROUP, "v1alpha1", "promotions"),
        Kind::Stage => (meta::KARGO_GROUP, "v1alpha1", "stages"),
        Kind::Freight => (meta::KARGO_GROUP, "v1alpha1", "freights"),
        Kind::Warehouse => (meta::KARGO_GROUP, "v1alpha1", "warehouses"),
        Kind::ProjectConfig => (meta::KARGO_GROUP, "v1alpha1", "projectconfigs"),
        Kind::ApprovalRequest => (meta::GROUP, "v1alpha1", "approvalrequests"),
        Kind::Approval => (meta::GROUP, "v1alpha1", "approvals"),
        Kind::ConfigMap => ("", "v1", "configmaps"),
        Kind::Secret => ("", "v1", "secrets"),
        Kind::ServiceAccount => ("", "v1", "serviceaccounts"),
        Kind::Event => ("", "v1", "events"),
    };
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind.as_str()), plural)
}

fn json(key: &Key, object: &DynamicObject) -> Result<Value, PortError> {
    serde_json::to_value(object).map_err(|source| PortError::Unreadable { key: key.clone(), source })
}

/// The kind of a failure, by what the server said.
fn failure(doing: String, key: &Key, error: Error) -> PortError {
    let Error::Api(status) = &error else { return PortError::Unreachable { doing, source: Box::new(error) } };
    let key = key.clone();
    if status.is_conflict() || status.is_already_exists() {
        return PortError::Conflict { key };
    }
    if status.message.contains("too large") || status.code == 413 {
        return PortError::TooLarge { key, said: status.message.clone() };
    }
    match status.code {
        404 => PortError::Gone { key },
        // What may be otherwise in a moment: no login, too much asked, the server in trouble.
        401 | 408 | 429 | 500.. => PortError::Unreachable { doing, source: Box::new(error) },
        _ => PortError::Forbidden { doing, said: status.message.clone() },
    }
}

#[async_trait]
impl Port for ClusterPort {
    async fn read(&self, key: &Key) -> Result<Option<Value>, PortError> {
        let found = self.of(key.kind, &key.project).get_opt(&key.name).await;
        let found = found.map_err(|error| failure(format!("cannot read {key}"), key, error))?;
        found.map(|object| json(key, &object)).transpose()
    }

    async fn list(&self, kind: Kind, project: Option<&ProjectName>) -> Result<Vec<Value>, PortError> {
        let everywhere = ProjectName::default();
        let key = Key::new(kind, project.unwrap_or(&everywhere), "(all)");
        let api = match project {
            Some(project) => self.of(kind, project),
            None => Api::all_with(self.client.clone(), &resource(kind)),
        };
        let (mut params, mut all) = (ListParams::default().limit(PAGE), Vec::new());
        loop {
            let page = api.list(&params).await;
            let page = page.map_err(|error| failure(format!("cannot list {}s", kind.as_str()), &key, error))?;
            for object in &page.items {
                all.push(json(&key, object)?);
            }
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => return Ok(all),
            }
        }
    }

    fn follow(&self) -> BoxStream<'static, Change> {
        let streams = Kind::FOLLOWED.map(|kind| {
            let api = Api::<DynamicObject>::all_with(self.client.clone(), &resource(kind));
            let config = watcher::Config::default().page_size(PAGE);
            watcher::watcher(api, config).default_backoff().map(move |event| (kind, event)).boxed()
        });
        let heard = futures::stream::select_all(streams);
        let state = (heard, Known::default(), VecDeque::new());
        let next = |(mut heard, mut known, mut changes): (_, Known, VecDeque<Change>)| async move {
            loop {
                if let Some(change) = changes.pop_front() {
                    return Some((change, (heard, known, changes)));
                }
                let (kind, event) = StreamExt::next(&mut heard).await?;
                known.hear(kind, event, &mut changes);
            }
        };
        futures::stream::unfold(state, next).boxed()
    }

    async fn patch(&self, key: &Key, part: Part, patch: Value) -> Result<Value, PortError> {
        let api = self.of(key.kind, &key.project);
        let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
        let patched = match part {
            Part::Main => api.patch(&key.name, &params, &patch).await,
            Part::Status => api.patch_status(&key.name, &params, &patch).await,
        };
        json(key, &patched.map_err(|error| failure(format!("cannot change {key}"), key, error))?)
    }

    async fn create(&self, kind: Kind, project: &ProjectName, object: Value) -> Result<Value, PortError> {
        let key = Key::new(kind, project, "(new)");
        let object: DynamicObject =
            serde_json::from_value(object).map_err(|source| PortError::Unreadable { key: key.clone(), source })?;
        let made = self.of(kind, project).create(&PostParams::default(), &object).await;
        json(&key, &made.map_err(|error| failure(format!("cannot create {key}"), &key, error))?)
    }
}

/// What has been heard of, so that a new list tells what vanished unheard.
#[derive(Default)]
struct Known {
    objects: BTreeMap<Kind, BTreeSet<Key>>,
    /// While a kind is being listed: those that the list has.
    listed: BTreeMap<Kind, BTreeSet<Key>>,
    /// Kinds whose first list is over, or that cannot be listed.
    settled: BTreeSet<Kind>,
    synced: bool,
}

impl Known {
    fn hear(&mut self, kind: Kind, event: Result<Event<DynamicObject>, watcher::Error>, changes: &mut VecDeque<Change>) {
        match event {
            Ok(Event::Init) => {
                self.listed.insert(kind, BTreeSet::new());
            }
            Ok(Event::InitApply(object)) => {
                self.listed.entry(kind).or_default().insert(key_of(kind, &object));
                self.applied(kind, &object, changes);
            }
            Ok(Event::InitDone) => {
                let listed = self.listed.remove(&kind).unwrap_or_default();
                let before = self.objects.insert(kind, listed.clone()).unwrap_or_default();
                changes.extend(before.difference(&listed).cloned().map(Change::Deleted));
                self.settled(kind, changes);
            }
            Ok(Event::Apply(object)) => self.applied(kind, &object, changes),
            Ok(Event::Delete(object)) => {
                let key = key_of(kind, &object);
                self.objects.entry(kind).or_default().remove(&key);
                changes.push_back(Change::Deleted(key));
            }
            Err(error) => {
                tracing::warn!(kind = kind.as_str(), error = &error as &dyn std::error::Error, "a watch failed; trying again");
                // A kind that is not there, or not for us, holds up nothing.
                if let watcher::Error::InitialListFailed(Error::Api(status)) = &error
                    && matches!(status.code, 403 | 404)
                {
                    self.settled(kind, changes);
                }
            }
        }
    }

    fn applied(&mut self, kind: Kind, object: &DynamicObject, changes: &mut VecDeque<Change>) {
        match serde_json::to_value(object) {
            Ok(value) => {
                self.objects.entry(kind).or_default().insert(key_of(kind, object));
                changes.push_back(Change::Applied(kind, value));
            }
            Err(error) => tracing::warn!(kind = kind.as_str(), %error, "an object cannot be read"),
        }
    }

    fn settled(&mut self, kind: Kind, changes: &mut VecDeque<Change>) {
        self.settled.insert(kind);
        if !self.synced && Kind::FOLLOWED.iter().all(|kind| self.settled.contains(kind)) {
            self.synced = true;
            changes.push_back(Change::Synced);
        }
    }
}

fn key_of(kind: Kind, object: &DynamicObject) -> Key {
    let project = object.metadata.namespace.as_deref().unwrap_or_default().into();
    Key::new(kind, &project, object.metadata.name.as_deref().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(name: &str) -> DynamicObject {
        serde_json::from_value(json!({"metadata": {"name": name, "namespace": "shop"}})).unwrap()
    }

    #[test]
    fn a_second_list_tells_what_vanished() {
        let (mut known, mut changes) = (Known::default(), VecDeque::new());
        let kind = Kind::Stage;
        for names in [vec!["a", "b"], vec!["b", "c"]] {
            changes.clear();
            known.hear(kind, Ok(Event::Init), &mut changes);
            for name in names {
                known.hear(kind, Ok(Event::InitApply(object(name))), &mut changes);
            }
            known.hear(kind, Ok(Event::InitDone), &mut changes);
        }
        let gone: Vec<String> = changes
            .iter()
            .filter_map(|change| match change {
                Change::Deleted(key) => Some(key.to_string()),
                _ => None,
            })
            .collect();
        assert_eq!(gone, ["Stage shop/a"]);
    }

    #[test]
    fn all_is_known_when_every_kind_was_listed_or_cannot_be() {
        let (mut known, mut changes) = (Known::default(), VecDeque::new());
        for kind in Kind::FOLLOWED {
            assert!(!changes.iter().any(|change| matches!(change, Change::Synced)));
            if kind == Kind::Approval {
                let status = kube::core::Status::failure("no such thing", "NotFound").with_code(404);
                let error = watcher::Error::InitialListFailed(Error::Api(Box::new(status)));
                known.hear(kind, Err(error), &mut changes);
            } else {
                known.hear(kind, Ok(Event::Init), &mut changes);
                known.hear(kind, Ok(Event::InitDone), &mut changes);
            }
        }
        assert!(matches!(changes.back(), Some(Change::Synced)));
    }
}
