//! Stages: shard label, requests for verification signed, aliases of steps. Tasks share that rule.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::kargo::{PromotionTask, Stage, meta, stage::FreightRequest};

use super::{Denial, Operation, Request, View, object, project, steps};

/// The shard as a label; who asked for, or against, a verification.
pub fn mutate(request: &Request<'_>, stage: &mut Value) {
    label_shard(stage);
    object::sign(request, stage, meta::REVERIFY, "id");
    object::sign(request, stage, meta::ABORT, "id");
}

/// `spec.shard` as a label.
pub fn label_shard(object: &mut Value) {
    let shard = object::text(object, &["spec", "shard"]).to_owned();
    object::label(
        object,
        meta::SHARD,
        Some(shard.as_str()).filter(|shard| !shard.is_empty()),
    );
}

/// Whether a Stage may be stored; every deletion may.
pub fn validate(request: &Request<'_>, view: &dyn View) -> Result<(), Denial> {
    if request.operation == Operation::Delete {
        return Ok(());
    }
    if request.operation == Operation::Create {
        project::require_project(request, view)?;
    }
    let stage: Stage = request.read(request.object()?)?;
    requests(request, &stage.spec.requested_freight)?;
    let field = "spec.promotionTemplate.spec.steps";
    steps::bare_tasks(request, field, stage.steps())?;
    steps::aliases(request, field, stage.steps())
}

/// One request for each origin.
fn requests(request: &Request<'_>, requests: &[FreightRequest]) -> Result<(), Denial> {
    let mut seen = BTreeSet::new();
    for (index, one) in requests.iter().enumerate() {
        if !seen.insert(one.origin.key()) {
            let text = format!(
                "freight with origin {} requested multiple times",
                one.origin.key()
            );
            return Err(request.invalid(&format!("spec.requestedFreight[{index}]"), text));
        }
    }
    Ok(())
}

/// Whether a PromotionTask or ClusterPromotionTask may be stored.
pub fn validate_task(request: &Request<'_>, view: &dyn View) -> Result<(), Denial> {
    if request.operation == Operation::Delete {
        return Ok(());
    }
    if request.operation == Operation::Create && request.namespace.is_some() {
        project::require_project(request, view)?;
    }
    // Both kinds have the same spec.
    let task: PromotionTask = request.read(request.object()?)?;
    steps::aliases(request, "spec.steps", &task.spec.steps)
}
