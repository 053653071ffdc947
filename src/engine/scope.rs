//! What a promotion's expressions see, and their evaluation off the async threads.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use jiff::tz::TimeZone;
use serde_json::Value;

use super::{
    course::{Course, Past},
    port::{Port, PortError, PortExt},
    tools::Tools,
};
use crate::{
    expr::kargo as kargo_view,
    kargo::{
        Alias, Freight, ProjectName, Promotion, PromotionStep, Stage, Timestamp, Warehouse,
        artifact::{FreightCollection, Origin},
        meta,
    },
};

mod live;
pub mod trial;
mod view;

use live::Live;

/// Where a promotion's expressions look things up.
#[derive(Clone)]
pub struct Outside {
    /// The cluster.
    pub port: Arc<dyn Port>,
    /// Where shared ConfigMaps and Secrets are; none where there are none.
    pub shared_namespace: Option<ProjectName>,
    /// For `ctx.uiBaseUrl`.
    pub ui_base_url: String,
}

impl Outside {
    /// Where the executor's promotions look.
    pub fn of(tools: &Tools) -> Self {
        Self {
            port: Arc::clone(&tools.port),
            shared_namespace: tools.settings.shared_namespace.clone(),
            ui_base_url: tools.settings.ui_base_url.clone(),
        }
    }
}

/// The unchanging part of what expressions see, and the secrets that have come up.
pub struct Scope {
    context: kargo_view::Context,
    vars: Vec<kargo_view::Var>,
    freight: kargo_view::FreightView,
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
        outside: &Outside,
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
            let found = outside.port.get::<Warehouse>(&project, &origin.name);
            if let Some(warehouse) = found.await? {
                let subscriptions = &warehouse.spec.subscriptions;
                let seen = subscriptions.iter().filter_map(view::subscription);
                warehouses.insert(origin.name.clone(), seen.collect());
            }
        }
        let actor = promotion.annotation(meta::CREATE_ACTOR).unwrap_or_default();
        let context = kargo_view::Context {
            ui_base_url: outside.ui_base_url.clone(),
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
        let freight = kargo_view::FreightView {
            requested: requested.iter().map(view::origin_view).collect(),
            warehouses,
            freight: collection.items.values().map(view::freight_view).collect(),
            git_names: kargo_view::GitNames(view::git_name),
        };
        let seen = live::Seen::new(
            Arc::clone(&outside.port),
            project,
            outside.shared_namespace.clone(),
        );
        Ok(Self {
            context,
            vars: promotion.spec.vars.iter().map(view::var).collect(),
            freight,
            live: Arc::new(seen),
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
            .evaluate(&course.steps, moment, move |scope| {
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
            .evaluate(&course.steps, moment, move |scope| scope.config(&config))
            .await?;
        let value = result?;
        let digest = course.tools.digest(course.uid.as_str(), &value.to_string());
        Ok(Configured {
            value,
            digest,
            lookups,
        })
    }

    /// Works on what is seen at that moment; behind the last step, what one more step would see.
    async fn evaluate<T: Send + 'static>(
        &self,
        steps: &[PromotionStep],
        moment: Moment,
        work: impl FnOnce(&kargo_view::Scope<'_>) -> kargo_view::Outcome<T> + Send + 'static,
    ) -> Result<(Result<T, String>, BTreeMap<String, String>), String> {
        let step = steps.get(moment.at).cloned().unwrap_or_default();
        let earlier: BTreeSet<Alias> = steps
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
            let scope = kargo_view::Scope {
                context: kargo_view::Context {
                    step_alias: step.alias.to_string(),
                    ..context
                },
                promotion_vars: vars,
                step_vars: step.vars.iter().map(view::var).collect(),
                outputs: view::outputs(&moment.past.outputs),
                steps: kargo_view::StepsView {
                    current_alias: step.alias.to_string(),
                    metas: metas.map(view::meta_view).collect(),
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
