//! Promotions: named, filled in from the Stage's live template and bound to the Stage on create; fixed afterwards.

use serde_json::{Value, json};

use crate::kargo::{
    ClusterPromotionTask, Freight, ProjectConfig, Promotion, PromotionTask, Stage,
    artifact::Origin, meta, step::TaskReference, task::TaskSpec,
};
use crate::rules::{auto_promotion, availability, names, template};

use super::{Denial, Operation, Request, View, object, project};

const GROUP: &str = meta::KARGO_GROUP;

fn stage_of(request: &Request<'_>, view: &dyn View, promotion: &Value) -> Result<Stage, Denial> {
    let name = object::text(promotion, &["spec", "stage"]);
    if name.is_empty() {
        return Err(request.invalid("spec.stage", "Required value"));
    }
    let stage = view.get(GROUP, "stages", request.namespace, name);
    let stage =
        stage.ok_or_else(|| request.invalid("spec.stage", format!("Stage {name:?} not found")))?;
    request.read(&stage)
}

fn freight_of(request: &Request<'_>, view: &dyn View) -> Result<Vec<Freight>, Denial> {
    view.list(GROUP, "freights", request.namespace)
        .iter()
        .map(|freight| request.read(freight))
        .collect()
}

/// Steps, in Kargo's order.
pub fn mutate(request: &Request<'_>, view: &dyn View, promotion: &mut Value) -> Result<(), Denial> {
    let stage = stage_of(request, view, promotion)?;
    match request.operation {
        Operation::Create => create(request, view, &stage, promotion)?,
        _ => {
            for key in [
                meta::CREATE_ACTOR,
                meta::AUTO_PROMOTION_HOLD,
                meta::AUTO_PROMOTION_RESUME,
            ] {
                let before = request
                    .old
                    .map(|old| object::annotation(old, key))
                    .filter(|value| !value.is_empty());
                object::annotate(promotion, key, before);
            }
            object::sign(request, promotion, meta::ABORT, "action");
        }
    }
    bind(&stage, promotion);
    Ok(())
}

fn create(
    request: &Request<'_>,
    view: &dyn View,
    stage: &Stage,
    promotion: &mut Value,
) -> Result<(), Denial> {
    resolve_origin(request, view, stage, promotion)?;
    let freight = object::text(promotion, &["spec", "freight"]).to_owned();
    if freight.is_empty() {
        return Err(request.invalid(
            "spec",
            "exactly one of spec.freight or spec.origin must be set",
        ));
    }
    let name = names::promotion(&stage.stage_name(), &freight.as_str().into(), request.ulid);
    object::put(promotion, &["metadata", "name"], name.as_str().into());
    if !request.by_executor() {
        object::annotate(promotion, meta::CREATE_ACTOR, Some(&request.actor()));
    }
    object::sign(request, promotion, meta::ABORT, "action");
    fill_in(request, view, stage, promotion)?;
    mark_intent(request, view, stage, &freight, promotion)
}

/// Puts the Freight that auto-promotion would choose in the place of an origin.
fn resolve_origin(
    request: &Request<'_>,
    view: &dyn View,
    stage: &Stage,
    promotion: &mut Value,
) -> Result<(), Denial> {
    let Some(origin) = object::at(promotion, &["spec", "origin"]) else {
        return Ok(());
    };
    if !object::text(promotion, &["spec", "freight"]).is_empty() {
        return Ok(());
    }
    let origin: Origin = request.read(origin)?;
    let all = freight_of(request, view)?;
    let candidate =
        auto_promotion::candidate(stage, &origin, &all, request.now).ok_or_else(|| {
            let text = format!(
                "no auto-promotion candidate found for origin {:?} on Stage {:?}",
                origin.key(),
                stage.name()
            );
            request.invalid("spec.origin", text)
        })?;
    object::put(promotion, &["spec", "freight"], candidate.name().into());
    object::remove(promotion, &["spec", "origin"]);
    Ok(())
}

/// Steps and variables of the live template; what the caller sent is dropped.
fn fill_in(
    request: &Request<'_>,
    view: &dyn View,
    stage: &Stage,
    promotion: &mut Value,
) -> Result<(), Denial> {
    let find =
        |reference: &TaskReference| -> Option<TaskSpec> { task_of(request, view, reference) };
    let template = template::instantiate(stage, &find).map_err(|error| match error {
        template::TemplateError::NoSteps { .. } => {
            let text = format!(
                "Stage {:?} in namespace {:?} defines no promotion steps",
                stage.name(),
                stage.project().as_str()
            );
            request.invalid("spec.stage", text)
        }
        template::TemplateError::NoTask { .. } => request.denied(
            404,
            "NotFound",
            format!("failed to inflate Promotion steps: {error}"),
        ),
        template::TemplateError::NoValue { .. } => {
            request.internal(format!("failed to inflate Promotion steps: {error}"))
        }
    })?;
    object::put(promotion, &["spec", "steps"], json!(template.steps));
    object::remove(promotion, &["spec", "vars"]);
    if !template.vars.is_empty() {
        object::put(promotion, &["spec", "vars"], json!(template.vars));
    }
    Ok(())
}

fn task_of(request: &Request<'_>, view: &dyn View, reference: &TaskReference) -> Option<TaskSpec> {
    if reference.kind == "ClusterPromotionTask" {
        let task = view.get(GROUP, "clusterpromotiontasks", None, &reference.name)?;
        return serde_json::from_value::<ClusterPromotionTask>(task)
            .ok()
            .map(|task| task.spec);
    }
    let task = view.get(GROUP, "promotiontasks", request.namespace, &reference.name)?;
    serde_json::from_value::<PromotionTask>(task)
        .ok()
        .map(|task| task.spec)
}

/// Marks what a person's Promotion means for auto-promotion: of the candidate it lifts a hold, of anything else it
/// makes one. Only where auto-promotion is on; a caller's own marks are dropped.
fn mark_intent(
    request: &Request<'_>,
    view: &dyn View,
    stage: &Stage,
    freight: &str,
    promotion: &mut Value,
) -> Result<(), Denial> {
    let actor = object::annotation(promotion, meta::CREATE_ACTOR);
    if request.by_executor() && (actor.is_empty() || actor.starts_with("controller:")) {
        return Ok(());
    }
    object::annotate(promotion, meta::AUTO_PROMOTION_HOLD, None);
    object::annotate(promotion, meta::AUTO_PROMOTION_RESUME, None);
    let project = request.namespace.unwrap_or_default();
    let config = view.get(GROUP, "projectconfigs", request.namespace, project);
    let config: Option<ProjectConfig> = config.map(|config| request.read(&config)).transpose()?;
    let all = freight_of(request, view)?;
    if let Some(intent) =
        auto_promotion::intent(config.as_ref(), stage, &freight.into(), &all, request.now)
    {
        let (key, value) = intent.annotation();
        object::annotate(promotion, key, Some(&value));
    }
    Ok(())
}

/// Shard and Stage as labels and annotation, and the Stage as its owner.
fn bind(stage: &Stage, promotion: &mut Value) {
    let shard = Some(stage.spec.shard.as_str()).filter(|shard| !shard.is_empty());
    object::label(promotion, meta::SHARD, shard);
    object::label(
        promotion,
        meta::STAGE,
        Some(&meta::label_value(stage.name())),
    );
    object::annotate(promotion, meta::STAGE, Some(stage.name()));
    if !is_request_child(promotion) {
        let owner = json!([{
            "apiVersion": stage.api_version, "kind": stage.kind, "name": stage.name(), "uid": stage.uid(),
            "controller": true, "blockOwnerDeletion": true,
        }]);
        object::put(promotion, &["metadata", "ownerReferences"], owner);
    }
}

/// Whether a PromotionRequest made it (enterprise only).
fn is_request_child(promotion: &Value) -> bool {
    object::list(promotion, &["metadata", "ownerReferences"])
        .iter()
        .any(|owner| {
            owner.get("controller") == Some(&Value::Bool(true))
                && object::text(owner, &["kind"]) == "PromotionRequest"
                && object::text(owner, &["apiVersion"]).starts_with(GROUP)
        })
}

/// Whether it may be stored or deleted.
pub fn validate(request: &Request<'_>, view: &dyn View) -> Result<(), Denial> {
    let subject = request.object.or(request.old);
    let stage_name = subject
        .map(|promotion| object::text(promotion, &["spec", "stage"]))
        .unwrap_or_default();
    let permitted = view.authorized(
        request.user,
        "promote",
        GROUP,
        "stages",
        request.namespace,
        stage_name,
    );
    let refusal = |action: &str| {
        let user = &request.user.name;
        format!("subject {user:?} is not permitted to {action} Promotions for Stage {stage_name:?}")
    };
    match request.operation {
        Operation::Delete if permitted => Ok(()),
        Operation::Delete => Err(request.forbidden(refusal("delete"))),
        Operation::Update if !permitted => {
            Err(request.internal(request.forbidden(refusal("update"))))
        }
        Operation::Update => validate_update(request),
        Operation::Create => {
            project::require_project(request, view)?;
            if !permitted {
                return Err(request.internal(request.forbidden(refusal("create"))));
            }
            validate_create(request, view)
        }
    }
}

fn validate_create(request: &Request<'_>, view: &dyn View) -> Result<(), Denial> {
    let object = request.object()?;
    let promotion: Promotion = request.read(object)?;
    target_needs_request(request, object)?;
    let stage = stage_of(request, view, object)?;
    if stage.spec.targets.is_some() && !is_request_child(object) {
        let text = format!(
            "Stage {:?} selects Targets; it takes no Promotions of its own",
            stage.name()
        );
        return Err(request.invalid("spec.stage", text));
    }
    let name = promotion.spec.freight.as_str();
    let freight = view.get(GROUP, "freights", request.namespace, name);
    let freight: Option<Freight> = freight.map(|freight| request.read(&freight)).transpose()?;
    let why = match freight {
        None => "there is none of that name".to_owned(),
        Some(freight) => match availability::available(&stage, &freight, request.now) {
            Ok(()) => return Ok(()),
            Err(why) => why.to_string(),
        },
    };
    Err(request.invalid(
        "spec.freight",
        format!("{name:?}: Freight is not available to this Stage: {why}"),
    ))
}

fn target_needs_request(request: &Request<'_>, promotion: &Value) -> Result<(), Denial> {
    if object::text(promotion, &["spec", "target"]).is_empty() || is_request_child(promotion) {
        return Ok(());
    }
    Err(request.invalid(
        "spec.target",
        "a Promotion may name a Target only when created by a PromotionRequest",
    ))
}

fn validate_update(request: &Request<'_>) -> Result<(), Denial> {
    let object = request.object()?;
    let promotion: Promotion = request.read(object)?;
    let old: Option<Promotion> = request.old.map(|old| request.read(old)).transpose()?;
    if old.is_some_and(|old| old.spec != promotion.spec) {
        return Err(request.invalid("spec", "spec is immutable"));
    }
    target_needs_request(request, object)
}
