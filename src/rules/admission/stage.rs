//! Stages: shard label, requests for verification signed, template rules. Tasks share those rules.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::kargo::{PromotionTask, Stage, meta, stage::FreightRequest};

use super::{Denial, Operation, Request, View, crd, object, project};

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
    crd::variables(request, "spec.vars", &stage.spec.vars)?;
    requests(request, &stage.spec.requested_freight)?;
    if let Some(template) = &stage.spec.promotion_template {
        let field = "spec.promotionTemplate.spec.steps";
        crd::variables(
            request,
            "spec.promotionTemplate.spec.vars",
            &template.spec.vars,
        )?;
        // A template without the field is a control-flow Stage; an empty list is refused by the schema.
        if object::at(
            request.object()?,
            &["spec", "promotionTemplate", "spec", "steps"],
        )
        .is_some()
        {
            crd::template_steps(request, field, &template.spec.steps)?;
        }
        crd::aliases(request, field, &template.spec.steps)?;
    }
    Ok(())
}

fn requests(request: &Request<'_>, requests: &[FreightRequest]) -> Result<(), Denial> {
    let field = "spec.requestedFreight";
    crd::not_empty(request, field, requests.len())?;
    let mut seen = BTreeSet::new();
    for (index, one) in requests.iter().enumerate() {
        let field = format!("{field}[{index}]");
        crd::origin(request, &format!("{field}.origin"), &one.origin)?;
        if !seen.insert(one.origin.key()) {
            let text = format!(
                "freight with origin {} requested multiple times",
                one.origin.key()
            );
            return Err(request.invalid(&field, text));
        }
        let sources = &one.sources;
        if !sources.required_soak_time.is_empty() {
            crd::duration(
                request,
                &format!("{field}.sources.requiredSoakTime"),
                &sources.required_soak_time,
            )?;
        }
        let strategy = format!("{field}.sources.availabilityStrategy");
        crd::word(
            request,
            &strategy,
            &sources.availability_strategy,
            &["", "All", "OneOf"],
        )?;
        if let Some(options) = &sources.auto_promotion_options {
            let policy = format!("{field}.sources.autoPromotionOptions.selectionPolicy");
            crd::word(
                request,
                &policy,
                &options.selection_policy,
                &["", "NewestFreight", "MatchUpstream"],
            )?;
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
    crd::variables(request, "spec.vars", &task.spec.vars)?;
    crd::plain_steps(request, "spec.steps", &task.spec.steps)?;
    crd::aliases(request, "spec.steps", &task.spec.steps)
}
