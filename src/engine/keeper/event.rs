//! Kubernetes Events with Kargo's reasons and annotations: history for people, never needed by us.

use std::collections::BTreeMap;

use serde_json::json;

use super::plan::Seen;
use crate::{
    engine::{journal::limits, port::Kind, tools::Tools},
    kargo::{
        Phase, ProjectName, Promotion, Timestamp, VerificationPhase, artifact::FreightCollection,
        meta,
    },
};

/// One piece of news about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct News {
    pub reason: String,
    pub message: String,
    pub warning: bool,
    /// Kind, name and uid of what it is about.
    pub about: (String, String, String),
    pub annotations: BTreeMap<String, String>,
}

/// An Event's message is at most this long.
const MESSAGE_MAX: usize = 1024;

fn annotations<const N: usize>(pairs: [(&str, String); N]) -> BTreeMap<String, String> {
    let filled = pairs.into_iter().filter(|(_, value)| !value.is_empty());
    filled
        .map(|(key, value)| (format!("{}{key}", meta::EVENT_PREFIX), value))
        .collect()
}

/// A Promotion has ended.
pub fn ended(promotion: &Promotion) -> News {
    let status = &promotion.status;
    let text = |time: Option<Timestamp>| time.map(|time| time.to_string()).unwrap_or_default();
    News {
        reason: format!("Promotion{}", status.phase),
        message: if status.message.is_empty() {
            format!("Promotion {}", status.phase)
        } else {
            status.message.clone()
        },
        warning: status.phase != Phase::Succeeded,
        about: (
            "Promotion".into(),
            promotion.name().into(),
            promotion.uid().into(),
        ),
        annotations: annotations([
            (
                "actor",
                promotion
                    .annotation(meta::CREATE_ACTOR)
                    .unwrap_or_default()
                    .to_owned(),
            ),
            ("project", promotion.project().to_string()),
            ("promotion-name", promotion.name().to_owned()),
            ("freight-name", promotion.spec.freight.to_string()),
            ("stage-name", promotion.spec.stage.to_string()),
            ("promotion-create-time", text(promotion.created_at())),
        ]),
    }
}

/// A verification has ended, for each piece of Freight.
pub fn verified(
    seen: &Seen<'_>,
    collection: &FreightCollection,
    phase: &VerificationPhase,
    message: &str,
) -> Vec<News> {
    let outcome = match phase {
        VerificationPhase::Successful => "Succeeded",
        VerificationPhase::Error => "Errored",
        other => other.as_str(),
    };
    let there = seen
        .freight
        .iter()
        .filter(|freight| collection.contains(&freight.freight_name()));
    let news = there.map(|freight| News {
        reason: format!("FreightVerification{outcome}"),
        message: if message.is_empty() {
            format!("Freight verification {outcome}")
        } else {
            message.to_owned()
        },
        warning: *phase != VerificationPhase::Successful,
        about: (
            "Freight".into(),
            freight.name().into(),
            freight.uid().into(),
        ),
        annotations: annotations([
            ("project", freight.project().to_string()),
            ("freight-name", freight.name().to_owned()),
            ("freight-alias", freight.alias().to_string()),
            ("stage-name", seen.stage.name().to_owned()),
            ("verification-start-time", seen.now.to_string()),
        ]),
    });
    news.collect()
}

/// Stores it. Losing one is said in the log and stops nothing.
pub async fn post(tools: &Tools, project: &ProjectName, news: News) {
    let (kind, name, uid) = news.about;
    let now = Timestamp::now();
    let mut message = limits::message(&news.message);
    let mut end = MESSAGE_MAX.min(message.len());
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    message.truncate(end);
    let version = format!("{}/v1alpha1", meta::KARGO_GROUP);
    let event = json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"generateName": format!("{name}."), "namespace": project, "annotations": news.annotations},
        "involvedObject": {"apiVersion": version, "kind": kind, "name": name, "namespace": project, "uid": uid},
        "reason": news.reason, "message": message,
        "type": if news.warning { "Warning" } else { "Normal" },
        "source": {"component": "tidewaiter"},
        "firstTimestamp": now, "lastTimestamp": now, "count": 1,
    });
    if let Err(error) = tools.port.create(Kind::Event, project, event).await {
        tracing::debug!(
            error = &error as &dyn std::error::Error,
            "an Event was not stored"
        );
    }
}
