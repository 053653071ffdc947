//! Freight: named by its content, with an alias that is unique in its Project; fixed once it is there.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::kargo::{Freight, Stage, Warehouse, meta};
use crate::rules::freight_name::{self, chart_address, git_address};

use super::{Denial, Operation, Request, View, object, project, words};

const GROUP: &str = meta::KARGO_GROUP;

/// Name, time of discovery, alias and its label.
pub fn mutate(request: &Request<'_>, view: &dyn View, object: &mut Value) -> Result<(), Denial> {
    let freight: Freight = request.read(object)?;
    let creating = request.operation == Operation::Create;
    if creating {
        object::put(
            object,
            &["metadata", "name"],
            freight_name::of(&freight).as_str().into(),
        );
    }
    if freight.discovered_at.is_none() {
        let time = freight.created_at().unwrap_or(request.now);
        object::put(object, &["discoveredAt"], time.to_string().into());
    }
    let mut alias = freight.alias.as_str().to_owned();
    if alias.is_empty() && creating {
        let taken: Vec<Freight> = all(request, view)?;
        alias = words::alias(request.ulid.random(), |alias| {
            taken.iter().any(|one| one.alias() == *alias)
        });
        object::put(object, &["alias"], alias.as_str().into());
    }
    object::label(
        object,
        meta::ALIAS,
        Some(alias.as_str()).filter(|alias| !alias.is_empty()),
    );
    Ok(())
}

fn all(request: &Request<'_>, view: &dyn View) -> Result<Vec<Freight>, Denial> {
    view.list(GROUP, "freights", request.namespace)
        .iter()
        .map(|freight| request.read(freight))
        .collect()
}

/// Whether it may be stored or deleted; writes of its status are asked too.
pub fn validate(request: &Request<'_>, view: &dyn View) -> Result<(), Denial> {
    match request.operation {
        Operation::Create => validate_create(request, view),
        Operation::Update => validate_update(request, view),
        Operation::Delete => validate_delete(request, view),
    }
}

fn validate_create(request: &Request<'_>, view: &dyn View) -> Result<(), Denial> {
    project::require_project(request, view)?;
    let freight: Freight = request.read(request.object()?)?;
    if freight.commits.is_empty()
        && freight.images.is_empty()
        && freight.charts.is_empty()
        && freight.artifacts.is_empty()
    {
        return Err(request.invalid(
            "",
            "freight must contain at least one commit, image, or chart",
        ));
    }
    if let Some(other) = alias_holder(request, view, &freight)? {
        let text = format!(
            "{:?}: alias already used by another piece of Freight, {other}",
            freight.alias().as_str()
        );
        return Err(request.invalid("alias", text));
    }
    let warehouse = view.get(GROUP, "warehouses", request.namespace, &freight.origin.name);
    let Some(warehouse) = warehouse else {
        return Err(request.invalid(
            "warehouse",
            format!("{:?}: warehouse does not exist", freight.origin.name),
        ));
    };
    artifacts_fit(request, &freight, &request.read(&warehouse)?)
}

/// Another Freight of the Project with the same alias. (One of the same content is refused by its name.)
fn alias_holder(
    request: &Request<'_>,
    view: &dyn View,
    freight: &Freight,
) -> Result<Option<String>, Denial> {
    let alias = freight.alias();
    if alias.is_empty() {
        return Ok(None);
    }
    let others = all(request, view)?;
    let holder = others
        .iter()
        .find(|other| other.name() != freight.name() && other.alias() == alias);
    Ok(holder.map(|other| other.name().to_owned()))
}

/// Exactly one artifact for every subscription, and none beside them.
fn artifacts_fit(
    request: &Request<'_>,
    freight: &Freight,
    warehouse: &Warehouse,
) -> Result<(), Denial> {
    let mut counts: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for subscription in &warehouse.spec.subscriptions {
        let address = |kind: &str| object::text(subscription, &[kind, "repoURL"]);
        if subscription.get("git").is_some() {
            counts.insert(("commits", git_address(address("git"))), 0);
        }
        if subscription.get("image").is_some() {
            counts.insert(("images", address("image").to_owned()), 0);
        }
        if subscription.get("chart").is_some() {
            let name = object::text(subscription, &["chart", "name"]);
            counts.insert(("charts", chart_address(address("chart"), name)), 0);
        }
    }
    let commits = freight
        .commits
        .iter()
        .map(|commit| ("commits", git_address(&commit.repo_url)));
    let images = freight
        .images
        .iter()
        .map(|image| ("images", image.repo_url.clone()));
    let charts = freight
        .charts
        .iter()
        .map(|chart| ("charts", chart_address(&chart.repo_url, &chart.name)));
    for key in commits.chain(images).chain(charts) {
        match counts.get_mut(&key) {
            Some(count) => *count += 1,
            None => {
                let text = format!(
                    "{:?}: no subscription found in Warehouse {:?}",
                    key.1,
                    warehouse.name()
                );
                return Err(request.invalid(key.0, text));
            }
        }
    }
    for ((field, address), count) in counts {
        let problem = match count {
            1 => continue,
            0 => "no artifact found",
            _ => "multiple artifacts found",
        };
        let text = format!(
            "{problem} for subscription {address:?} of Warehouse {:?}",
            warehouse.name()
        );
        return Err(request.invalid(field, text));
    }
    Ok(())
}

fn validate_update(request: &Request<'_>, view: &dyn View) -> Result<(), Denial> {
    let freight: Freight = request.read(request.object()?)?;
    if let Some(other) = alias_holder(request, view, &freight)? {
        let alias = freight.alias();
        return Err(request.conflict(format!(
            "alias {:?} already used by another piece of Freight, {other}",
            alias.as_str()
        )));
    }
    let Some(old) = request.old else {
        return Ok(());
    };
    let old: Freight = request.read(old)?;
    for (field, same) in [
        ("origin", old.origin == freight.origin),
        ("commits", old.commits == freight.commits),
        ("images", old.images == freight.images),
        ("charts", old.charts == freight.charts),
        ("artifacts", old.artifacts == freight.artifacts),
    ] {
        if !same {
            return Err(request.invalid(field, "Freight is immutable"));
        }
    }
    Ok(())
}

fn validate_delete(request: &Request<'_>, view: &dyn View) -> Result<(), Denial> {
    let name = request.name.unwrap_or_default();
    let stages = view.list(GROUP, "stages", request.namespace);
    let stages: Vec<Stage> = stages
        .iter()
        .map(|stage| request.read(stage))
        .collect::<Result<_, _>>()?;
    let users: Vec<String> = stages
        .iter()
        .filter(|stage| {
            stage
                .status
                .freight_history
                .first()
                .is_some_and(|current| current.contains(&name.into()))
        })
        .map(|stage| format!("{:?}", stage.name()))
        .collect();
    if users.is_empty() {
        return Ok(());
    }
    Err(request.forbidden(format!(
        "freight is in-use by stages ({})",
        users.join(", ")
    )))
}
