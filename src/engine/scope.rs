//! What a promotion's expressions see, and their evaluation off the async threads.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use jiff::{Zoned, tz::TimeZone};
use serde_json::Value;

use super::{
    course::{Course, Past},
    port::{Port, PortError, PortExt},
    tools::Tools,
};
use crate::{
    expr::{self, kargo as view},
    git::url::RepoUrl,
    kargo::{
        Alias, Freight, ProjectName, Promotion, Stage, Timestamp, Warehouse,
        artifact::{FreightCollection, FreightReference, Origin},
        meta,
        promotion::StepMetadata,
        step::Variable,
    },
};

mod live;

use live::Live;

/// The unchanging part of what expressions see, and the secrets that have come up.
pub struct Scope {
    context: view::Context,
    vars: Vec<view::Var>,
    freight: view::FreightView,
    live: Arc<live::Seen>,
    secrets: Mutex<BTreeSet<String>>,
}

/// At which step, when, and after what.
#[derive(Clone, Debug)]
pub struct Moment {
    /// The step's index.
    pub at: usize,
    /// What `now()` gives.
    pub clock: Timestamp,
    /// What came before it. Of `metas`, only the entries of earlier steps are looked at.
    pub past: Past,
    /// Whether what was looked up before is good enough (a replay).
    pub again: bool,
}

/// An evaluated configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Configured {
    /// The configuration; may hold secrets, so it is never stored.
    pub value: Value,
    /// Its keyed digest.
    pub digest: String,
    /// Which version of which object was looked up for it.
    pub lookups: BTreeMap<String, String>,
}

impl Scope {
    /// Reads what the promotion's expressions may ask for about its Freight and the Warehouses it comes from.
    pub async fn read(
        tools: &Arc<Tools>,
        promotion: &Promotion,
        stage: &Stage,
        freight: &Freight,
        collection: &FreightCollection,
    ) -> Result<Self, PortError> {
        let project = promotion.project();
        let requested: Vec<Origin> = stage
            .spec
            .requested_freight
            .iter()
            .map(|request| request.origin.clone())
            .collect();
        let mut warehouses = BTreeMap::new();
        for origin in &requested {
            if let Some(warehouse) = tools.port.get::<Warehouse>(&project, &origin.name).await? {
                let subscriptions = warehouse
                    .spec
                    .subscriptions
                    .iter()
                    .filter_map(subscription)
                    .collect();
                warehouses.insert(origin.name.clone(), subscriptions);
            }
        }
        let actor = promotion.annotation(meta::CREATE_ACTOR).unwrap_or_default();
        let context = view::Context {
            ui_base_url: tools.settings.ui_base_url.clone(),
            project: project.to_string(),
            promotion: promotion.name().to_owned(),
            stage: promotion.spec.stage.to_string(),
            freight: promotion.spec.freight.to_string(),
            freight_alias: freight.alias().to_string(),
            freight_warehouse: freight.origin.name.clone(),
            actor: actor
                .split_once(':')
                .map_or("", |(_, name)| name)
                .to_owned(),
            rollback: promotion.annotation(meta::ROLLBACK) == Some("true"),
            step_alias: String::new(),
        };
        let freight = view::FreightView {
            requested: requested.iter().map(origin_view).collect(),
            warehouses,
            freight: collection.items.values().map(freight_view).collect(),
            git_names: view::GitNames(git_name),
        };
        let (port, shared): (Arc<dyn Port>, Option<ProjectName>) = (
            Arc::clone(&tools.port),
            tools.settings.shared_namespace.clone(),
        );
        Ok(Self {
            context,
            vars: promotion.spec.vars.iter().map(var).collect(),
            freight,
            live: Arc::new(live::Seen::new(port, project, shared)),
            secrets: Mutex::default(),
        })
    }

    /// Whether the step is to run.
    pub async fn decide(&self, course: &Course, moment: Moment) -> Result<bool, String> {
        let condition = course
            .steps
            .get(moment.at)
            .map(|step| step.condition.clone())
            .unwrap_or_default();
        let (result, _) = self
            .evaluate(course, moment, move |scope| {
                scope.should_run(Some(&condition))
            })
            .await?;
        result
    }

    /// The step's configuration.
    pub async fn configure(&self, course: &Course, moment: Moment) -> Result<Configured, String> {
        let config = course
            .steps
            .get(moment.at)
            .and_then(|step| step.config.clone())
            .unwrap_or_default();
        let (result, lookups) = self
            .evaluate(course, moment, move |scope| scope.config(&config))
            .await?;
        let value = result?;
        let digest = course.tools.digest(course.uid.as_str(), &value.to_string());
        Ok(Configured {
            value,
            digest,
            lookups,
        })
    }

    async fn evaluate<T: Send + 'static>(
        &self,
        course: &Course,
        moment: Moment,
        work: impl FnOnce(&view::Scope<'_>) -> view::Outcome<T> + Send + 'static,
    ) -> Result<(Result<T, String>, BTreeMap<String, String>), String> {
        let Some(step) = course.steps.get(moment.at).cloned() else {
            return Err("there is no such step".into());
        };
        let earlier: BTreeSet<Alias> = course
            .steps
            .iter()
            .take(moment.at)
            .map(|step| step.alias.clone())
            .collect();
        let live = Live::new(
            Arc::clone(&self.live),
            moment.again,
            tokio::runtime::Handle::current(),
        );
        let (context, vars, freight) = (
            self.context.clone(),
            self.vars.clone(),
            self.freight.clone(),
        );
        let job = move || {
            let metas = moment
                .past
                .metas
                .iter()
                .filter(|meta| earlier.contains(&meta.alias));
            let scope = view::Scope {
                context: view::Context {
                    step_alias: step.alias.to_string(),
                    ..context
                },
                promotion_vars: vars,
                step_vars: step.vars.iter().map(var).collect(),
                outputs: outputs(&moment.past),
                steps: view::StepsView {
                    current_alias: step.alias.to_string(),
                    metas: metas.map(meta_view).collect(),
                },
                target: None,
                freight,
                lookups: &live,
                now: Some(moment.clock.0.to_zoned(TimeZone::UTC)),
            };
            let outcome = work(&scope);
            (outcome, live.versions())
        };
        let done = tokio::task::spawn_blocking(job).await;
        let (outcome, versions) =
            done.map_err(|error| format!("the evaluation stopped half-way: {error}"))?;
        self.secrets
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(outcome.secrets);
        Ok((outcome.result.map_err(|error| error.full()), versions))
    }

    /// The text without what came from a Secret.
    pub fn redact(&self, text: &str) -> String {
        let secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        let mut longest_first: Vec<&String> = secrets.iter().collect();
        longest_first.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        longest_first
            .into_iter()
            .fold(text.to_owned(), |text, secret| {
                text.replace(secret.as_str(), "***")
            })
    }
}

fn outputs(past: &Past) -> BTreeMap<String, expr::Value> {
    past.outputs
        .iter()
        .map(|(alias, output)| (alias.clone(), expr::Value::from_json(output)))
        .collect()
}

fn var(variable: &Variable) -> view::Var {
    view::Var {
        name: variable.name.clone(),
        value: variable.value.clone(),
    }
}

fn git_name(url: &str) -> String {
    url.parse::<RepoUrl>()
        .map_or_else(|_| url.to_owned(), |url| url.normalised())
}

fn origin_view(origin: &Origin) -> view::Origin {
    view::Origin {
        kind: origin.kind.clone(),
        name: origin.name.clone(),
    }
}

fn zoned(time: Option<Timestamp>) -> Option<Zoned> {
    time.map(|time| time.0.to_zoned(TimeZone::UTC))
}

fn meta_view(meta: &StepMetadata) -> view::StepMeta {
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

fn subscription(value: &Value) -> Option<view::Subscription> {
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

fn freight_view(reference: &FreightReference) -> view::Freight {
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
