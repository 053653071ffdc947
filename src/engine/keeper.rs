//! A Stage's bookkeeping, as Kargo's Stage controller does it: `plan` decides (pure), this file does.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    journal::ledger::difference,
    port::{Key, Kind, Part, PortError, PortExt},
    tools::Tools,
};
use crate::{
    kargo::{
        Freight, Phase, ProjectConfig, ProjectName, Promotion, PromotionName, Stage, StageName,
        Timestamp, meta,
    },
    rules::{auto_promotion, queue, rows::PromotionRow},
};

mod book;
mod event;
pub mod plan;

pub use plan::{Plan, Seen, plan};

/// What a look at a Stage is based on.
#[derive(Clone)]
pub struct Snapshot {
    /// The Stage.
    pub stage: Arc<Stage>,
    /// All Promotions to it.
    pub promotions: Vec<PromotionRow>,
    /// All Freight of its Project.
    pub freight: Vec<Arc<Freight>>,
    /// Its Project's policies.
    pub config: Option<Arc<ProjectConfig>>,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Kept {
    /// The Stage as it is now, where it was written or had changed.
    pub stage: Option<Box<Stage>>,
    /// Another look is needed at once.
    pub again: bool,
    /// Another look is needed then.
    pub wake: Option<Timestamp>,
}

/// Looks at a Stage once and does what is to be done.
pub async fn keep(tools: &Tools, snapshot: Snapshot) -> Result<Kept, PortError> {
    let project = snapshot.stage.project();
    for row in snapshot
        .promotions
        .iter()
        .filter(|row| row.phase == Phase::New)
    {
        pend(tools, row).await?;
    }
    let ended = ended(tools, &project, &snapshot).await?;
    let open = open(tools, &project, &snapshot).await?;
    let now = Timestamp::now();
    let seen = Seen {
        stage: &snapshot.stage,
        promotions: &snapshot.promotions,
        ended: &ended,
        open: &open,
        freight: &snapshot.freight,
        config: snapshot.config.as_deref(),
        now,
        fresh_id: fresh_id(),
    };
    let plan = plan(&seen);
    carry_out(tools, &snapshot.stage, plan).await
}

/// A new Promotion becomes Pending: its Stage hears of nothing before that.
async fn pend(tools: &Tools, row: &PromotionRow) -> Result<(), PortError> {
    let patch = json!({"metadata": {"resourceVersion": row.resource_version}, "status": {"phase": Phase::Pending}});
    match tools
        .port
        .patch_status::<Promotion>(&row.project, row.name.as_str(), patch)
        .await
    {
        // A newer version is on its way to us.
        Err(PortError::Conflict { .. } | PortError::Gone { .. }) => Ok(()),
        result => result.map(drop),
    }
}

/// The Promotions that have ended and are not recorded, whole.
async fn ended(
    tools: &Tools,
    project: &ProjectName,
    snapshot: &Snapshot,
) -> Result<Vec<Promotion>, PortError> {
    let mut whole = Vec::new();
    for name in queue::unrecorded(&snapshot.stage, &snapshot.promotions) {
        whole.extend(tools.port.get::<Promotion>(project, name.as_str()).await?);
    }
    Ok(whole)
}

/// The Promotions that have not ended, whole; their annotations say what they mean for auto-promotion.
async fn open(
    tools: &Tools,
    project: &ProjectName,
    snapshot: &Snapshot,
) -> Result<Vec<Promotion>, PortError> {
    let mut whole = Vec::new();
    // A policy that cannot be applied is reported by the plan.
    if auto_promotion::enabled(snapshot.config.as_deref(), &snapshot.stage).unwrap_or(false) {
        for row in snapshot
            .promotions
            .iter()
            .filter(|row| !row.phase.is_terminal())
        {
            whole.extend(
                tools
                    .port
                    .get::<Promotion>(project, row.name.as_str())
                    .await?,
            );
        }
    }
    Ok(whole)
}

async fn carry_out(tools: &Tools, stage: &Stage, plan: Plan) -> Result<Kept, PortError> {
    let (project, name) = (stage.project(), stage.stage_name());
    let mut kept = Kept {
        again: plan.again,
        wake: plan.wake,
        ..Kept::default()
    };
    match write_stage(tools, stage, &plan).await {
        Ok(written) => kept.stage = written.map(Box::new),
        Err(PortError::Conflict { .. }) => {
            // Everything was decided on an older version.
            kept.stage = tools
                .port
                .get::<Stage>(&project, name.as_str())
                .await?
                .map(Box::new);
            return Ok(Kept {
                again: true,
                ..kept
            });
        }
        Err(PortError::Gone { .. }) => return Ok(Kept::default()),
        Err(error) => return Err(error),
    }
    for (freight, patch) in &plan.freight {
        let key = Key::new(Kind::Freight, &project, freight);
        match tools
            .port
            .patch(&key, Part::Status, json!({"status": patch}))
            .await
        {
            Err(PortError::Gone { .. }) | Ok(_) => {}
            Err(error) => return Err(error),
        }
    }
    if plan.finalizer == Some(false) {
        let stage = kept.stage.as_deref().unwrap_or(stage);
        kept.stage = finalizer(tools, stage, false).await?.map(Box::new);
    }
    for event in plan.events {
        event::post(tools, &project, event).await;
    }
    for freight in &plan.promote {
        promote(tools, &project, &name, freight).await?;
    }
    Ok(kept)
}

async fn promote(
    tools: &Tools,
    project: &ProjectName,
    stage: &StageName,
    freight: &Freight,
) -> Result<(), PortError> {
    let wanted = Promotion::request(project.as_str(), stage, &freight.freight_name());
    match tools.port.post(project, &wanted).await {
        Ok(made) => {
            let named: PromotionName = made.promotion_name();
            tracing::info!(%project, %stage, promotion = %named, "promoted by policy");
            Ok(())
        }
        Err(PortError::Forbidden { doing, said } | PortError::Invalid { doing, said }) => {
            // The rules are the server's; what they refuse is not tried again until something changes.
            tracing::warn!(%project, %stage, said, doing, "a promotion by policy was refused");
            Ok(())
        }
        Err(error) => Err(error),
    }
}

async fn write_stage(
    tools: &Tools,
    stage: &Stage,
    plan: &Plan,
) -> Result<Option<Stage>, PortError> {
    let mut written = None;
    if plan.finalizer == Some(true) {
        written = finalizer(tools, stage, true).await?;
    }
    let current = written.as_ref().unwrap_or(stage);
    let json = |status| serde_json::to_value(status).unwrap_or_default();
    let Some(patch) = difference(&json(&stage.status), &json(&plan.status)) else {
        return Ok(written);
    };
    let version = current
        .metadata
        .resource_version
        .clone()
        .unwrap_or_default();
    let patch = json!({"metadata": {"resourceVersion": version}, "status": patch});
    tools
        .port
        .patch_status::<Stage>(&stage.project(), stage.name(), patch)
        .await
        .map(Some)
}

/// Adds or takes away our hold on the Stage's deletion. None when the Stage went with it.
async fn finalizer(tools: &Tools, stage: &Stage, wanted: bool) -> Result<Option<Stage>, PortError> {
    let mut list = stage.metadata.finalizers.clone().unwrap_or_default();
    list.retain(|name| name != meta::FINALIZER);
    if wanted {
        list.push(meta::FINALIZER.to_owned());
    }
    let version = stage.metadata.resource_version.clone().unwrap_or_default();
    let patch = json!({"metadata": {"resourceVersion": version, "finalizers": list}});
    let key = Key::new(Kind::Stage, &stage.project(), stage.name());
    let value: Value = tools.port.patch(&key, Part::Main, patch).await?;
    serde_json::from_value(value)
        .map(|stage| wanted.then_some(stage))
        .map_err(|source| PortError::Unreadable { key, source })
}

/// A random id in UUID form.
fn fresh_id() -> String {
    let mut bytes = [0_u8; 16];
    // Without random numbers the time must do: ids only have to differ within one Stage.
    if getrandom::fill(&mut bytes).is_err() {
        bytes = u128::try_from(jiff::Timestamp::now().as_nanosecond())
            .unwrap_or_default()
            .to_be_bytes();
    }
    let hex = crate::kargo::artifact::hex(&bytes);
    let part = |range: std::ops::Range<usize>| hex.get(range).unwrap_or_default().to_owned();
    [
        part(0..8),
        part(8..12),
        format!("4{}", part(13..16)),
        format!("8{}", part(17..20)),
        part(20..32),
    ]
    .join("-")
}

#[cfg(test)]
mod tests;
