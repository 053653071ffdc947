//! What a row of Kargo's table gives: the cluster's objects, Freight, steps and vars.

use std::collections::BTreeMap;

use base64::Engine as _;
use serde_json::Value as Json;

use super::super::peer::value;
use crate::expr::env::HostError;
use crate::expr::kargo::{
    Artifact, Chart, Commit, Context, Freight, FreightView, Image, Lookups, Origin, Scope,
    StepMeta, StepsView, Subscription, Var,
};

pub(super) fn text(json: &Json) -> String {
    json.as_str().unwrap_or_default().to_owned()
}

pub(super) fn list(json: &Json) -> &[Json] {
    json.as_array().map_or(&[], Vec::as_slice)
}

/// The objects that the source's fake API holds.
pub(super) struct Objects<'c> {
    pub objects: &'c [Json],
    pub direct: bool,
}

impl Objects<'_> {
    fn find(&self, kind: &str, name: &str) -> Option<&Json> {
        self.objects
            .iter()
            .find(|object| object["kind"] == kind && object["metadata"]["name"] == name)
    }

    fn data(&self, kind: &str, name: &str) -> Option<BTreeMap<String, String>> {
        let object = self.find(kind, name)?;
        let generic = object["metadata"]["labels"]["kargo.akuity.io/cred-type"] == "generic";
        if kind == "Secret" && !self.direct && !generic {
            return None;
        }
        let data = object["data"].as_object()?;
        Some(
            data.iter()
                .map(|(key, json)| {
                    let given = text(json);
                    let decoded = match kind {
                        "Secret" => base64::engine::general_purpose::STANDARD
                            .decode(given)
                            .map(|bytes| String::from_utf8(bytes).unwrap())
                            .unwrap(),
                        _ => given,
                    };
                    (key.clone(), decoded)
                })
                .collect(),
        )
    }
}

impl Lookups for Objects<'_> {
    fn config_map(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, HostError> {
        Ok(self.data("ConfigMap", name))
    }
    fn secret(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, HostError> {
        Ok(self.data("Secret", name))
    }
    fn shared_config_map(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, HostError> {
        Ok(self.data("ConfigMap", name))
    }
    fn shared_secret(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, HostError> {
        Ok(self.data("Secret", name))
    }
    fn freight_metadata(&self, name: &str) -> Result<Option<Json>, HostError> {
        let found = self.find("Freight", name);
        Ok(found.and_then(|freight| freight["status"].get("metadata").cloned()))
    }
    fn freight_status(&self, name: &str) -> Result<Option<Json>, HostError> {
        Ok(self
            .find("Freight", name)
            .map(|freight| freight["status"].clone()))
    }
    fn stage_metadata(&self, name: &str) -> Result<Option<Json>, HostError> {
        let found = self.find("Stage", name);
        Ok(found.and_then(|stage| stage["status"].get("metadata").cloned()))
    }
}

pub(super) fn origin(json: &Json) -> Origin {
    Origin {
        kind: text(&json["kind"]),
        name: text(&json["name"]),
    }
}

pub(super) fn freight(json: &Json) -> Freight {
    Freight {
        origin: origin(&json["origin"]),
        commits: list(&json["commits"])
            .iter()
            .map(|json| Commit {
                repo_url: text(&json["repoURL"]),
                id: text(&json["id"]),
                ..Commit::default()
            })
            .collect(),
        images: list(&json["images"])
            .iter()
            .map(|json| Image {
                repo_url: text(&json["repoURL"]),
                tag: text(&json["tag"]),
                ..Image::default()
            })
            .collect(),
        charts: list(&json["charts"])
            .iter()
            .map(|json| Chart {
                repo_url: text(&json["repoURL"]),
                name: text(&json["name"]),
                version: text(&json["version"]),
                ..Chart::default()
            })
            .collect(),
        artifacts: list(&json["artifacts"])
            .iter()
            .map(|json| Artifact {
                subscription_name: text(&json["subscriptionName"]),
                version: text(&json["version"]),
                ..Artifact::default()
            })
            .collect(),
    }
}

pub(super) fn subscription(json: &Json) -> Subscription {
    if let Some(git) = json.get("git") {
        return Subscription::Git {
            repo_url: text(&git["repoURL"]),
        };
    }
    if let Some(image) = json.get("image") {
        return Subscription::Image {
            repo_url: text(&image["repoURL"]),
        };
    }
    if let Some(chart) = json.get("chart") {
        return Subscription::Chart {
            repo_url: text(&chart["repoURL"]),
            name: text(&chart["name"]),
        };
    }
    Subscription::Other {
        name: text(&json["name"]),
    }
}

pub(super) fn freight_view(requests: &Json, items: Vec<Freight>, objects: &[Json]) -> FreightView {
    FreightView {
        requested: list(requests)
            .iter()
            .map(|request| origin(&request["origin"]))
            .collect(),
        warehouses: objects
            .iter()
            .filter(|object| object["kind"] == "Warehouse")
            .map(|object| {
                let subscriptions = list(&object["spec"]["subscriptions"]);
                (
                    text(&object["metadata"]["name"]),
                    subscriptions.iter().map(subscription).collect(),
                )
            })
            .collect(),
        freight: items,
        ..FreightView::default()
    }
}

pub(super) fn steps(alias: &Json, metas: &Json) -> StepsView {
    StepsView {
        current_alias: text(alias),
        metas: list(metas)
            .iter()
            .map(|json| StepMeta {
                alias: text(&json["alias"]),
                status: text(&json["status"]),
                continue_on_error: json["continueOnError"] == true,
                ..StepMeta::default()
            })
            .collect(),
    }
}

pub(super) fn vars(json: &Json) -> Vec<Var> {
    list(json)
        .iter()
        .map(|json| Var {
            name: text(&json["name"]),
            value: text(&json["value"]),
        })
        .collect()
}

pub(super) fn scope<'o>(case: &Json, lookups: &'o Objects<'o>) -> Scope<'o> {
    let context = &case["context"];
    let items = context["freight"]["items"].as_object();
    let items = items.into_iter().flatten().map(|(_, json)| freight(json));
    Scope {
        context: Context {
            project: text(&context["project"]),
            promotion: text(&context["promotion"]),
            stage: text(&context["stage"]),
            freight: text(&context["targetFreightRef"]["name"]),
            freight_warehouse: text(&context["targetFreightRef"]["origin"]["name"]),
            actor: text(&context["actor"]),
            ..Context::default()
        },
        promotion_vars: vars(&context["vars"]),
        step_vars: vars(&case["step"]["vars"]),
        outputs: context["state"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(alias, json)| (alias.clone(), value(json)))
            .collect(),
        steps: steps(&case["step"]["as"], &context["stepExecutionMetadata"]),
        target: None,
        freight: freight_view(
            &context["freightRequests"],
            items.collect(),
            lookups.objects,
        ),
        lookups,
        now: None,
    }
}
