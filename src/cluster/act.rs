//! What people do to promotions, Freight and Stages: one function a deed, each safe to repeat.

use std::{collections::BTreeMap, time::Duration};

use kube::{
    Api, Client,
    api::{ListParams, Patch, PatchParams, PostParams},
};
use serde_json::json;

use super::{Error, Kind, error::Doing, find, limit};
use crate::kargo::{
    Freight, FreightName, ProjectName, Promotion, PromotionName, Stage, StageName, Timestamp,
    artifact::Origin, meta, promotion::PromotionSpec,
};

/// What to promote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// This piece.
    Freight(FreightName),
    /// The newest that is available of this Warehouse.
    Origin(String),
}

/// A mark for one deed, so that a POST whose answer was lost is recognised instead of repeated.
fn request_id() -> String {
    ulid::Ulid::generate().to_string().to_lowercase()
}

/// Creates a Promotion and returns it under the name that admission gave it. A POST is not idempotent: where the
/// answer is lost, the object is looked for by its mark before anything is sent again.
pub async fn promote(
    client: &Client,
    project: &ProjectName,
    stage: &StageName,
    what: &What,
    annotations: BTreeMap<String, String>,
) -> Result<Promotion, Error> {
    let mark = request_id();
    let mut promotion = Promotion::request(project.as_str(), stage, &FreightName::default());
    promotion.spec = PromotionSpec {
        stage: stage.clone(),
        ..PromotionSpec::default()
    };
    match what {
        What::Freight(name) => promotion.spec.freight = name.clone(),
        What::Origin(warehouse) => promotion.spec.origin = Some(Origin::warehouse(warehouse)),
    }
    let mut all = annotations;
    all.insert(meta::REQUEST_ID.to_owned(), mark.clone());
    promotion.metadata.annotations = Some(all);

    let api: Api<Promotion> = Api::namespaced(client.clone(), project.as_str());
    let doing = || format!("cannot promote to stage {project}/{stage}");
    match api
        .create(&PostParams::default(), &promotion)
        .await
        .doing(doing)
    {
        Err(error) if matches!(error.kind, Kind::Unreachable | Kind::TimedOut) => {
            find_marked(&api, &mark).await.ok_or(error)
        }
        answer => answer,
    }
}

async fn find_marked(api: &Api<Promotion>, mark: &str) -> Option<Promotion> {
    let list = api.list(&ListParams::default()).await.ok()?;
    list.items
        .into_iter()
        .find(|promotion| promotion.annotation(meta::REQUEST_ID) == Some(mark))
}

/// Repeats a Promotion that has ended: a new one of the same Freight.
pub async fn retry(client: &Client, old: &Promotion) -> Result<Promotion, Error> {
    let annotations = BTreeMap::from([(meta::RETRY_OF.to_owned(), old.name().to_owned())]);
    let what = What::Freight(old.spec.freight.clone());
    promote(client, &old.project(), &old.spec.stage, &what, annotations).await
}

/// Asks the executor to stop a Promotion.
pub async fn abort(
    client: &Client,
    project: &ProjectName,
    name: &PromotionName,
) -> Result<Promotion, Error> {
    annotate(client, project, name, meta::ABORT, "terminate", "abort").await
}

/// Asks the executor to look at a Promotion now; returns the token that it will echo.
pub async fn refresh(
    client: &Client,
    project: &ProjectName,
    name: &PromotionName,
) -> Result<String, Error> {
    let token = request_id();
    annotate(client, project, name, meta::REFRESH, &token, "refresh").await?;
    Ok(token)
}

/// The Promotion once its executor has looked at it because of `token`; none where it did not within `limit`.
pub async fn refreshed(
    client: &Client,
    promotion: &Promotion,
    token: &str,
    limit: Duration,
) -> Result<Option<Promotion>, Error> {
    let (project, name) = (promotion.project(), promotion.name());
    let api: Api<Promotion> = Api::namespaced(client.clone(), project.as_str());
    limit::poll(limit, || async {
        let now = api
            .get(name)
            .await
            .doing(|| format!("cannot get promotion {project}/{name}"))?;
        Ok((now.status.last_handled_refresh == token).then_some(now))
    })
    .await
}

async fn annotate(
    client: &Client,
    project: &ProjectName,
    name: &PromotionName,
    key: &str,
    value: &str,
    verb: &str,
) -> Result<Promotion, Error> {
    let api: Api<Promotion> = Api::namespaced(client.clone(), project.as_str());
    let patch = json!({ "metadata": { "annotations": { key: value } } });
    api.patch(name.as_str(), &PatchParams::default(), &Patch::Merge(patch))
        .await
        .doing(|| format!("cannot {verb} promotion {project}/{name}"))
}

/// Makes Freight available to a Stage, whatever its sources say (Kargo's manual approval). The API server does not
/// check that this user may promote to the Stage, nor that the Stage requests this Freight: we do the second.
pub async fn approve_freight(
    client: &Client,
    freight: &Freight,
    stage: &Stage,
) -> Result<Freight, Error> {
    let (project, name) = (freight.project(), freight.name());
    let doing = || {
        format!(
            "cannot approve freight {} for stage {project}/{}",
            freight.alias(),
            stage.name()
        )
    };
    if !stage
        .spec
        .requested_freight
        .iter()
        .any(|request| request.origin == freight.origin)
    {
        let why = format!(
            "the stage does not request freight of {}",
            freight.origin.key()
        );
        return Err(Error::new(Kind::Invalid, doing(), why));
    }
    let api: Api<Freight> = Api::namespaced(client.clone(), project.as_str());
    let approved = json!({ stage.name(): { "approvedAt": Timestamp::now() } });
    let patch = json!({ "status": { "approvedFor": approved } });
    api.patch_status(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .doing(doing)
}

/// Asks for another verification of what is in a Stage.
pub async fn verify(client: &Client, stage: &Stage) -> Result<(), Error> {
    let (project, name) = (stage.project(), stage.name());
    let doing = || format!("cannot verify stage {project}/{name}");
    let last = stage
        .status
        .freight_history
        .first()
        .and_then(|collection| collection.verification_history.first());
    let Some(id) = last
        .map(|verification| verification.id.clone())
        .filter(|id| !id.is_empty())
    else {
        return Err(Error::new(
            Kind::Invalid,
            doing(),
            "nothing in it has been verified yet",
        )
        .hint("Promote something to it first"));
    };
    let api: Api<Stage> = Api::namespaced(client.clone(), project.as_str());
    let patch = json!({ "metadata": { "annotations": { meta::REVERIFY: id } } });
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .doing(doing)?;
    Ok(())
}

/// The Stages that take Freight of this origin from `stage` and can be promoted to.
pub async fn downstream(
    client: &Client,
    stage: &Stage,
    origin: &Origin,
) -> Result<Vec<Stage>, Error> {
    let scope = find::Scope::Project(stage.project());
    let all: Vec<Stage> = find::list(client, &scope).await?;
    let name = stage.stage_name();
    Ok(all
        .into_iter()
        .filter(|other| {
            !other.is_control_flow()
                && other.spec.requested_freight.iter().any(|request| {
                    request.origin == *origin && request.sources.stages.contains(&name)
                })
        })
        .collect())
}
