//! Kargo's resources as expressions see them.

use std::collections::BTreeMap;

use jiff::{Zoned, tz::TimeZone};
use serde_json::{Map, Value};

use crate::{
    expr::{self, kargo as view},
    git::url::RepoUrl,
    kargo::{
        Timestamp,
        artifact::{FreightReference, Origin},
        promotion::StepMetadata,
        step::Variable,
    },
};

pub(super) fn outputs(outputs: &Map<String, Value>) -> BTreeMap<String, expr::Value> {
    outputs
        .iter()
        .map(|(alias, output)| (alias.clone(), expr::Value::from_json(output)))
        .collect()
}

pub(super) fn var(variable: &Variable) -> view::Var {
    view::Var {
        name: variable.name.clone(),
        value: variable.value.clone(),
    }
}

pub(super) fn git_name(url: &str) -> String {
    url.parse::<RepoUrl>()
        .map_or_else(|_| url.to_owned(), |url| url.normalised())
}

pub(super) fn origin_view(origin: &Origin) -> view::Origin {
    view::Origin {
        kind: origin.kind.clone(),
        name: origin.name.clone(),
    }
}

fn zoned(time: Option<Timestamp>) -> Option<Zoned> {
    time.map(|time| time.0.to_zoned(TimeZone::UTC))
}

pub(super) fn meta_view(meta: &StepMetadata) -> view::StepMeta {
    view::StepMeta {
        alias: meta.alias.to_string(),
        continue_on_error: meta.continue_on_error,
        started_at: zoned(meta.started_at),
        finished_at: zoned(meta.finished_at),
        error_count: u32::try_from(meta.error_count).unwrap_or(0),
        status: meta
            .status
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        message: meta.message.clone(),
    }
}

pub(super) fn subscription(value: &Value) -> Option<view::Subscription> {
    let text = |kind: &str, field: &str| value.get(kind)?.get(field)?.as_str().map(str::to_owned);
    if value.get("git").is_some() {
        return text("git", "repoURL").map(|repo_url| view::Subscription::Git { repo_url });
    }
    if value.get("image").is_some() {
        return text("image", "repoURL").map(|repo_url| view::Subscription::Image { repo_url });
    }
    if value.get("chart").is_some() {
        let name = text("chart", "name").unwrap_or_default();
        return text("chart", "repoURL")
            .map(|repo_url| view::Subscription::Chart { repo_url, name });
    }
    Some(view::Subscription::Other {
        name: value.get("name")?.as_str()?.to_owned(),
    })
}

pub(super) fn freight_view(reference: &FreightReference) -> view::Freight {
    let origin = reference
        .origin
        .as_ref()
        .map(origin_view)
        .unwrap_or_default();
    let commits = reference.commits.iter().map(|commit| view::Commit {
        repo_url: commit.repo_url.clone(),
        id: commit.id.clone(),
        branch: commit.branch.clone(),
        tag: commit.tag.clone(),
        message: commit.message.clone(),
        author: commit.author.clone(),
        committer: commit.committer.clone(),
        subscription_name: commit.subscription_name.clone(),
    });
    let images = reference.images.iter().map(|image| view::Image {
        repo_url: image.repo_url.clone(),
        tag: image.tag.clone(),
        digest: image.digest.clone(),
        annotations: image.annotations.clone(),
        subscription_name: image.subscription_name.clone(),
    });
    let charts = reference.charts.iter().map(|chart| view::Chart {
        repo_url: chart.repo_url.clone(),
        name: chart.name.clone(),
        version: chart.version.clone(),
        subscription_name: chart.subscription_name.clone(),
    });
    let artifacts = reference.artifacts.iter().map(|artifact| view::Artifact {
        artifact_type: artifact.artifact_type.clone(),
        subscription_name: artifact.subscription_name.clone(),
        version: artifact.version.clone(),
        metadata: artifact.metadata.clone().unwrap_or_default(),
    });
    view::Freight {
        origin,
        commits: commits.collect(),
        images: images.collect(),
        charts: charts.collect(),
        artifacts: artifacts.collect(),
    }
}
