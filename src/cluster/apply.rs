//! `apply -f`: creates what is not there, replaces what is. A Promotion is always created.

use std::time::Duration;

use kube::{
    Api, Client,
    api::{DynamicObject, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::Value;

use super::{Error, Kind, error::Doing};
use crate::kargo::{Project, schema::KINDS};

/// What became of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It is new; admission may have given it another name.
    Created(String),
    /// It was there.
    Configured(String),
    /// It was there and is the same.
    Unchanged(String),
}

/// Kinds outside Kargo that may be applied: (group, version, kind, plural, namespaced).
const CORE: &[(&str, &str, &str, &str, bool)] = &[
    ("", "v1", "Namespace", "namespaces", false),
    ("", "v1", "Secret", "secrets", true),
    ("", "v1", "ConfigMap", "configmaps", true),
    ("", "v1", "ServiceAccount", "serviceaccounts", true),
    (
        "argoproj.io",
        "v1alpha1",
        "Application",
        "applications",
        true,
    ),
];

/// Conflicts that are answered by reading again.
const CONFLICTS: u32 = 5;
/// How long the namespace of a Project is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

fn resource_of(group: &str, version: &str, kind: &str) -> Option<(ApiResource, bool)> {
    let ours = KINDS
        .iter()
        .filter(|_| version == "v1alpha1")
        .map(|k| (k.group, k.kind, k.plural, k.namespaced));
    let core = CORE
        .iter()
        .filter(|row| row.1 == version)
        .map(|row| (row.0, row.2, row.3, row.4));
    let (_, _, plural, namespaced) = ours
        .chain(core)
        .find(|row| row.0 == group && row.1 == kind)?;
    let resource =
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
    Some((resource, namespaced))
}

/// Applies one object. `project` is where it goes if it names no namespace.
pub async fn apply(
    client: &Client,
    object: Value,
    project: Option<&str>,
) -> Result<Applied, Error> {
    let mut object: DynamicObject = serde_json::from_value(object).map_err(|error| {
        Error::new(
            Kind::Invalid,
            "cannot apply an object",
            format!("it is no Kubernetes object: {error}"),
        )
    })?;
    let types = object.types.clone().unwrap_or_default();
    let (group, version) = types
        .api_version
        .split_once('/')
        .unwrap_or(("", &types.api_version));
    let name = object.metadata.name.clone().unwrap_or_default();
    let label = format!("{}/{name}", types.kind.to_lowercase());
    let doing = || format!("cannot apply {label}");
    let Some((resource, namespaced)) = resource_of(group, version, &types.kind) else {
        let why = format!(
            "kind {} of {:?} is not one that this program knows",
            types.kind, types.api_version
        );
        return Err(Error::new(Kind::Invalid, doing(), why).hint("Use kubectl for other kinds"));
    };
    let api: Api<DynamicObject> = if namespaced {
        let namespace = object
            .metadata
            .namespace
            .clone()
            .or_else(|| project.map(str::to_owned))
            .ok_or_else(|| {
                Error::new(Kind::Invalid, doing(), "it names no namespace")
                    .hint("Name the project with -n")
            })?;
        object.metadata.namespace = Some(namespace.clone());
        Api::namespaced_with(client.clone(), &namespace, &resource)
    } else {
        Api::all_with(client.clone(), &resource)
    };
    if types.kind == "Promotion" || name.is_empty() {
        let created = api
            .create(&PostParams::default(), &object)
            .await
            .doing(doing)?;
        return Ok(Applied::Created(format!(
            "{}/{}",
            types.kind.to_lowercase(),
            created.metadata.name.unwrap_or_default()
        )));
    }
    let namespace = object.metadata.namespace.clone();
    let (mut conflicts, end) = (0, tokio::time::Instant::now() + PATIENCE);
    loop {
        match put(&api, object.clone(), &name, &label).await.doing(doing) {
            Err(error) if error.kind == Kind::Conflict && conflicts < CONFLICTS => conflicts += 1,
            // A Project's namespace comes into being a moment after the Project.
            Err(error)
                if error.kind == Kind::NotFound
                    && tokio::time::Instant::now() < end
                    && is_project(client, namespace.as_deref()).await =>
            {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            answer => return answer,
        }
    }
}

async fn is_project(client: &Client, namespace: Option<&str>) -> bool {
    let Some(name) = namespace else { return false };
    matches!(
        Api::<Project>::all(client.clone()).get_opt(name).await,
        Ok(Some(_))
    )
}

async fn put(
    api: &Api<DynamicObject>,
    mut object: DynamicObject,
    name: &str,
    label: &str,
) -> Result<Applied, kube::Error> {
    let Some(found) = api.get_opt(name).await? else {
        let created = api.create(&PostParams::default(), &object).await?;
        let kind = label.split('/').next().unwrap_or_default();
        return Ok(Applied::Created(format!(
            "{kind}/{}",
            created.metadata.name.unwrap_or_default()
        )));
    };
    object
        .metadata
        .resource_version
        .clone_from(&found.metadata.resource_version);
    let replaced = api.replace(name, &PostParams::default(), &object).await?;
    if replaced.metadata.resource_version == found.metadata.resource_version {
        Ok(Applied::Unchanged(label.to_owned()))
    } else {
        Ok(Applied::Configured(label.to_owned()))
    }
}
