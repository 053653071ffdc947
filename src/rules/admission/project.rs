//! Projects and their namespaces, ProjectConfigs, Warehouses.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::kargo::{ProjectConfig, meta, project_config::PromotionPolicy};
use crate::rules::auto_promotion;

use super::{Denial, Operation, Request, View, object};

fn is_project(namespace: &Value) -> bool {
    object::text(namespace, &["metadata", "labels", meta::PROJECT]) == "true"
}

/// Kargo's namespaced kinds live in a Project's namespace.
pub fn require_project(request: &Request<'_>, view: &dyn View) -> Result<(), Denial> {
    let name = request.namespace.unwrap_or_default();
    match view.get("", "namespaces", None, name) {
        None => Err(request.denied(404, "NotFound", format!("namespaces {name:?} not found"))),
        Some(namespace) if is_project(&namespace) => Ok(()),
        Some(_) => Err(request.invalid("metadata.namespace", format!("{name:?} is not a Project"))),
    }
}

/// A Project takes a new namespace, or one that is labelled for it and stays.
pub fn validate_project(request: &Request<'_>, view: &dyn View) -> Result<(), Denial> {
    if request.operation != Operation::Create {
        return Ok(());
    }
    let name = object::text(request.object()?, &["metadata", "name"]);
    match view.get("", "namespaces", None, name) {
        Some(namespace) if !is_project(&namespace) => Err(request.conflict(format!(
            "namespace {name:?} already exists and is not labelled {}=true",
            meta::PROJECT
        ))),
        Some(namespace) if object::at(&namespace, &["metadata", "deletionTimestamp"]).is_some() => {
            Err(request.conflict(format!(
                "namespace {name:?} is still being terminated; try again when it is gone"
            )))
        }
        _ => Ok(()),
    }
}

/// A ProjectConfig has its Project's name, and its policies can be told apart.
pub fn validate_config(request: &Request<'_>, view: &dyn View) -> Result<(), Denial> {
    if request.operation == Operation::Delete {
        return Ok(());
    }
    let config: ProjectConfig = request.read(request.object()?)?;
    if Some(config.name()) != request.namespace {
        let text = format!(
            "{:?} must be the Project's name, {:?}",
            config.name(),
            request.namespace.unwrap_or_default()
        );
        return Err(request.invalid("metadata.name", text));
    }
    policies(request, &config.spec.promotion_policies)?;
    let namespace = view.get(
        "",
        "namespaces",
        None,
        request.namespace.unwrap_or_default(),
    );
    if request.operation == Operation::Create
        && !namespace.is_some_and(|namespace| is_project(&namespace))
    {
        return Err(request.forbidden(format!(
            "its namespace is no Project (missing {:?} label)",
            meta::PROJECT
        )));
    }
    Ok(())
}

/// Each names its Stages in a way that can be read, and none a Stage that another has named.
fn policies(request: &Request<'_>, policies: &[PromotionPolicy]) -> Result<(), Denial> {
    let mut seen = BTreeMap::new();
    for (index, policy) in policies.iter().enumerate() {
        let field = format!("spec.promotionPolicies[{index}]");
        let name = policy
            .stage_selector
            .as_ref()
            .map_or(&policy.stage, |selector| &selector.name);
        if let Err(error) = auto_promotion::check_name(name) {
            return Err(request.invalid(&format!("{field}.stageSelector.name"), error));
        }
        if name.is_empty() || name.contains(':') {
            continue;
        }
        if let Some(first) = seen.insert(name, index) {
            let text =
                format!("{name:?}: stage name already defined at spec.promotionPolicies[{first}]");
            return Err(request.invalid(&field, text));
        }
    }
    Ok(())
}

/// Whether a Warehouse may be stored.
pub fn validate_warehouse(request: &Request<'_>, view: &dyn View) -> Result<(), Denial> {
    if request.operation == Operation::Create {
        require_project(request, view)?;
    }
    Ok(())
}
