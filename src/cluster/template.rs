//! What a Promotion made now would run: the Stage's live template with its tasks put in place, as admission does it.

use std::collections::BTreeMap;

use kube::{Api, Client};

use super::{Error, Kind, error::Doing, find};
use crate::{
    kargo::{
        ClusterPromotionTask, Promotion, PromotionTask, Stage, step::TaskReference, task::TaskSpec,
    },
    rules::{
        retry,
        template::{self, Template},
    },
};

/// The live template of `stage`.
pub async fn live(client: &Client, stage: &Stage) -> Result<Template, Error> {
    let doing = || {
        format!(
            "cannot read the template of stage {}/{}",
            stage.project(),
            stage.name()
        )
    };
    let mut tasks: BTreeMap<(String, String), TaskSpec> = BTreeMap::new();
    for reference in stage.steps().iter().filter_map(|step| step.task.as_ref()) {
        let found = if reference.kind == "ClusterPromotionTask" {
            let api: Api<ClusterPromotionTask> = Api::all(client.clone());
            api.get_opt(&reference.name)
                .await
                .doing(doing)?
                .map(|task| task.spec)
        } else {
            let api = find::Scope::Project(stage.project()).api::<PromotionTask>(client);
            api.get_opt(&reference.name)
                .await
                .doing(doing)?
                .map(|task| task.spec)
        };
        if let Some(spec) = found {
            tasks.insert((reference.kind.clone(), reference.name.clone()), spec);
        }
    }
    let task = |reference: &TaskReference| {
        tasks
            .get(&(reference.kind.clone(), reference.name.clone()))
            .cloned()
    };
    template::instantiate(stage, &task)
        .map_err(|error| Error::new(Kind::Invalid, doing(), error.to_string()))
}

/// How a retry of `old` would differ from what it ran; nothing where it would run the same.
pub async fn differences(
    client: &Client,
    old: &Promotion,
    stage: &Stage,
) -> Result<Vec<String>, Error> {
    Ok(retry::differences(&old.spec, &live(client, stage).await?))
}
