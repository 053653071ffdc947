//! What is being promoted: `warehouse`, `commitFrom`, `imageFrom`, `chartFrom`, `artifactFrom`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::env::HostError;
use super::super::value::{Field, Record, Value};
use super::{go_type, only_text, wrong_count};

/// Where Freight comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// `Warehouse`.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// A Git commit in Freight.
#[derive(Clone, Debug, Default)]
pub struct Commit {
    /// As the Freight has it.
    pub repo_url: String,
    /// The full id.
    pub id: String,
    /// Or "".
    pub branch: String,
    /// Or "".
    pub tag: String,
    /// Its subject.
    pub message: String,
    /// Name and address.
    pub author: String,
    /// Name and address.
    pub committer: String,
    /// Or "".
    pub subscription_name: String,
}

/// A container image in Freight.
#[derive(Clone, Debug, Default)]
pub struct Image {
    /// As the Freight has it.
    pub repo_url: String,
    /// Its tag.
    pub tag: String,
    /// Its digest.
    pub digest: String,
    /// Annotations found on it.
    pub annotations: BTreeMap<String, String>,
    /// Or "".
    pub subscription_name: String,
}

/// A Helm chart in Freight.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// As the Freight has it.
    pub repo_url: String,
    /// "" for a chart in an OCI registry.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Or "".
    pub subscription_name: String,
}

/// Anything else in Freight.
#[derive(Clone, Debug, Default)]
pub struct Artifact {
    /// Its type.
    pub artifact_type: String,
    /// The subscription that found it.
    pub subscription_name: String,
    /// Its version.
    pub version: String,
    /// What the subscription says about it; an object, or null.
    pub metadata: serde_json::Value,
}

/// One piece of Freight of the promotion.
#[derive(Clone, Debug, Default)]
pub struct Freight {
    /// Where it comes from.
    pub origin: Origin,
    /// Commits in it.
    pub commits: Vec<Commit>,
    /// Images in it.
    pub images: Vec<Image>,
    /// Charts in it.
    pub charts: Vec<Chart>,
    /// Anything else in it.
    pub artifacts: Vec<Artifact>,
}

/// What a Warehouse subscribes to.
#[derive(Clone, Debug)]
pub enum Subscription {
    /// A Git repository.
    Git {
        /// As the Warehouse has it.
        repo_url: String,
    },
    /// An image repository.
    Image {
        /// As the Warehouse has it.
        repo_url: String,
    },
    /// A chart repository, or one chart in an OCI registry.
    Chart {
        /// As the Warehouse has it.
        repo_url: String,
        /// "" for a chart in an OCI registry.
        name: String,
    },
    /// Anything else.
    Other {
        /// Its name.
        name: String,
    },
}

/// How addresses of Git repositories are made comparable. The rule lives in `git`, so the engine passes it.
#[derive(Clone, Copy, Debug)]
pub struct GitNames(pub fn(&str) -> String);

impl Default for GitNames {
    /// Addresses as they are written.
    fn default() -> Self {
        Self(str::to_owned)
    }
}

/// All that the functions look at.
#[derive(Clone, Debug, Default)]
pub struct FreightView {
    /// The origins that the Stage requests Freight from, in order.
    pub requested: Vec<Origin>,
    /// The subscriptions of those Warehouses by name. A Warehouse that is missing here makes a
    /// function fail that has to look through it.
    pub warehouses: BTreeMap<String, Vec<Subscription>>,
    /// The promotion's Freight.
    pub freight: Vec<Freight>,
    /// How addresses of Git repositories are compared; images and charts are by exact text.
    pub git_names: GitNames,
}

const ORIGIN_TYPE: &str = "v1alpha1.FreightOrigin";

fn record(type_name: &'static str, fields: Vec<(&'static str, &'static str, Value)>) -> Value {
    let fields = fields
        .into_iter()
        .map(|(name, json, value)| Field {
            name,
            json,
            omit_empty: true,
            value,
        })
        .collect();
    Value::Record(Arc::new(Record { type_name, fields }))
}

impl Origin {
    fn to_value(&self) -> Value {
        record(
            ORIGIN_TYPE,
            vec![
                ("Kind", "kind", Value::from(&*self.kind)),
                ("Name", "name", Value::from(&*self.name)),
            ],
        )
    }

    fn from_value(value: &Value) -> Option<Self> {
        let Value::Record(record) = value else {
            return None;
        };
        let text = |name| record.get(name)?.as_str().map(str::to_owned);
        (record.type_name == ORIGIN_TYPE).then_some(Self {
            kind: text("Kind")?,
            name: text("Name")?,
        })
    }
}

impl Commit {
    fn to_value(&self) -> Value {
        record(
            "v1alpha1.GitCommit",
            vec![
                ("RepoURL", "repoURL", Value::from(&*self.repo_url)),
                ("ID", "id", Value::from(&*self.id)),
                ("Branch", "branch", Value::from(&*self.branch)),
                ("Tag", "tag", Value::from(&*self.tag)),
                ("Message", "message", Value::from(&*self.message)),
                ("Author", "author", Value::from(&*self.author)),
                ("Committer", "committer", Value::from(&*self.committer)),
                (
                    "SubscriptionName",
                    "subscriptionName",
                    Value::from(&*self.subscription_name),
                ),
            ],
        )
    }
}

impl Image {
    fn to_value(&self) -> Value {
        let annotations = Value::texts(self.annotations.clone());
        record(
            "v1alpha1.Image",
            vec![
                ("RepoURL", "repoURL", Value::from(&*self.repo_url)),
                ("Tag", "tag", Value::from(&*self.tag)),
                ("Digest", "digest", Value::from(&*self.digest)),
                ("Annotations", "annotations", annotations),
                (
                    "SubscriptionName",
                    "subscriptionName",
                    Value::from(&*self.subscription_name),
                ),
            ],
        )
    }
}

impl Chart {
    fn to_value(&self) -> Value {
        record(
            "v1alpha1.Chart",
            vec![
                ("RepoURL", "repoURL", Value::from(&*self.repo_url)),
                ("Name", "name", Value::from(&*self.name)),
                ("Version", "version", Value::from(&*self.version)),
                (
                    "SubscriptionName",
                    "subscriptionName",
                    Value::from(&*self.subscription_name),
                ),
            ],
        )
    }
}

impl Artifact {
    /// Kargo's own struct here has no JSON names, so Go writes the field names.
    fn to_value(&self) -> Value {
        let metadata = match &self.metadata {
            serde_json::Value::Null => serde_json::Value::Object(serde_json::Map::new()),
            other => other.clone(),
        };
        let fields = [
            ("ArtifactType", Value::from(&*self.artifact_type)),
            ("SubscriptionName", Value::from(&*self.subscription_name)),
            ("Version", Value::from(&*self.version)),
            ("Metadata", Value::from_json(&metadata)),
        ];
        Value::Record(Arc::new(Record {
            type_name: "function.expressionFriendlyArtifactReference",
            fields: fields
                .into_iter()
                .map(|(name, value)| Field {
                    name,
                    json: name,
                    omit_empty: false,
                    value,
                })
                .collect(),
        }))
    }
}

pub(super) fn call(
    view: &FreightView,
    name: &str,
    arguments: &[Value],
) -> Option<Result<Value, HostError>> {
    Some(match name {
        "warehouse" => warehouse(arguments),
        "commitFrom" => commit_from(view, arguments),
        "imageFrom" => image_from(view, arguments),
        "chartFrom" => chart_from(view, arguments),
        "artifactFrom" => artifact_from(view, arguments),
        _ => return None,
    })
}

fn warehouse(arguments: &[Value]) -> Result<Value, HostError> {
    let name = only_text(arguments, "argument")?;
    if name.is_empty() {
        return Err(HostError::new("name must not be empty"));
    }
    let origin = Origin {
        kind: "Warehouse".to_owned(),
        name: name.to_owned(),
    };
    Ok(origin.to_value())
}

fn first_text(value: &Value) -> Result<&str, HostError> {
    value.as_str().ok_or_else(|| {
        HostError::new(format!(
            "first argument must be string, got {}",
            go_type(value)
        ))
    })
}

fn origin(value: &Value, which: &str) -> Result<Origin, HostError> {
    Origin::from_value(value).ok_or_else(|| {
        HostError::new(format!(
            "{which} argument must be FreightOrigin, got {}",
            go_type(value)
        ))
    })
}

/// A text, and maybe an origin.
fn text_and_origin(arguments: &[Value]) -> Result<(&str, Option<Origin>), HostError> {
    match arguments {
        [text] => Ok((first_text(text)?, None)),
        [text, second] => Ok((first_text(text)?, Some(origin(second, "second")?))),
        other => Err(wrong_count("1-2", other.len())),
    }
}

impl FreightView {
    /// The origin asked for, or the only requested one whose Warehouse subscribes to the thing.
    fn resolve(
        &self,
        asked: Option<Origin>,
        what: &str,
        subscribes: impl Fn(&Subscription) -> bool,
    ) -> Result<Option<Origin>, HostError> {
        if asked.is_some() {
            return Ok(asked);
        }
        let mut found: Option<&Origin> = None;
        for origin in &self.requested {
            let subscriptions = self
                .warehouses
                .get(&origin.name)
                .ok_or_else(|| HostError::new(format!("Warehouse {:?} not found", origin.name)))?;
            for _ in subscriptions.iter().filter(|each| subscribes(each)) {
                if found.is_some() {
                    return Err(HostError::new(format!(
                        "multiple requested Freight could potentially provide {what}; \
                         please provide a Freight origin to disambiguate"
                    )));
                }
                found = Some(origin);
            }
        }
        Ok(found.cloned())
    }

    /// The first matching part of Freight from that origin; nil without an origin or a match.
    fn pick<'v, T: 'v>(
        &'v self,
        origin: Option<Origin>,
        parts: impl Fn(&'v Freight) -> &'v [T],
        matches: impl Fn(&T) -> bool,
        to_value: impl Fn(&T) -> Value,
    ) -> Value {
        let Some(origin) = origin else {
            return Value::Nil;
        };
        self.freight
            .iter()
            .filter(|freight| freight.origin == origin)
            .flat_map(parts)
            .find(|part| matches(part))
            .map_or(Value::Nil, to_value)
    }
}

fn commit_from(view: &FreightView, arguments: &[Value]) -> Result<Value, HostError> {
    let (asked, origin) = text_and_origin(arguments)?;
    let GitNames(name) = view.git_names;
    let repo = name(asked);
    let what = format!("a commit from repo {asked}");
    let origin = view.resolve(origin, &what, |subscription| {
        matches!(subscription, Subscription::Git { repo_url } if name(repo_url) == repo)
    })?;
    Ok(view.pick(
        origin,
        |freight| &freight.commits,
        |commit| name(&commit.repo_url) == repo,
        Commit::to_value,
    ))
}

fn image_from(view: &FreightView, arguments: &[Value]) -> Result<Value, HostError> {
    let (repo, origin) = text_and_origin(arguments)?;
    let what = format!("a container image from repo {repo}");
    let origin = view.resolve(
        origin,
        &what,
        |subscription| matches!(subscription, Subscription::Image { repo_url } if repo_url == repo),
    )?;
    Ok(view.pick(
        origin,
        |freight| &freight.images,
        |image| image.repo_url == repo,
        Image::to_value,
    ))
}

fn chart_from(view: &FreightView, arguments: &[Value]) -> Result<Value, HostError> {
    let (repo, chart, origin) = chart_arguments(arguments)?;
    let what = format!("a chart from repo {repo}");
    let origin = view.resolve(origin, &what, |subscription| {
        matches!(
            subscription,
            Subscription::Chart { repo_url, name } if repo_url == repo && name == chart
        )
    })?;
    Ok(view.pick(
        origin,
        |freight| &freight.charts,
        |found| found.repo_url == repo && found.name == chart,
        Chart::to_value,
    ))
}

/// Address, then name or origin, then origin.
fn chart_arguments(arguments: &[Value]) -> Result<(&str, &str, Option<Origin>), HostError> {
    match arguments {
        [url] => Ok((first_text(url)?, "", None)),
        [url, Value::Str(name)] => Ok((first_text(url)?, name, None)),
        [url, second] => {
            let url = first_text(url)?;
            let origin = Origin::from_value(second).ok_or_else(|| {
                HostError::new(format!(
                    "second argument must be string or FreightOrigin, got {}",
                    go_type(second)
                ))
            })?;
            Ok((url, "", Some(origin)))
        }
        [url, Value::Str(name), third] if !name.is_empty() => {
            Ok((first_text(url)?, name, Some(origin(third, "third")?)))
        }
        [_, second, _] => Err(HostError::new(format!(
            "when using three arguments, second argument must be string, got {}",
            go_type(second)
        ))),
        other => Err(wrong_count("1-3", other.len())),
    }
}

fn artifact_from(view: &FreightView, arguments: &[Value]) -> Result<Value, HostError> {
    let (subscription, origin) = text_and_origin(arguments)?;
    let what = format!("an artifact from subscription {subscription}");
    let origin = view.resolve(
        origin,
        &what,
        |each| matches!(each, Subscription::Other { name } if name == subscription),
    )?;
    Ok(view.pick(
        origin,
        |freight| &freight.artifacts,
        |artifact| artifact.subscription_name == subscription,
        Artifact::to_value,
    ))
}
