//! What the cluster will refuse this user in a Project: asked beforehand, so that a key can say so.

use std::collections::BTreeMap;

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::{Api, Client, api::PostParams};

use crate::{
    kargo::{
        ProjectName,
        meta::{GROUP, KARGO_GROUP},
    },
    rules::permissions::Action,
};

/// What each action does to the cluster, as RBAC knows it: verb, group, resource.
const NEEDED: [(Action, &str, &str, &str); 8] = [
    (Action::Approve, "create", GROUP, "approvals"),
    (Action::Reject, "create", GROUP, "approvals"),
    (Action::Retry, "create", KARGO_GROUP, "promotions"),
    (Action::Promote, "create", KARGO_GROUP, "promotions"),
    (Action::Abort, "patch", KARGO_GROUP, "promotions"),
    (Action::Refresh, "patch", KARGO_GROUP, "promotions"),
    (Action::Verify, "patch", KARGO_GROUP, "stages"),
    (Action::AbortVerification, "patch", KARGO_GROUP, "stages"),
];

/// The actions that will be refused, with a reason. What cannot be asked is left out: it is tried, and then the
/// cluster says no itself.
pub async fn refused(client: &Client, project: &ProjectName) -> BTreeMap<Action, String> {
    let api: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let mut refused = BTreeMap::new();
    let mut known: BTreeMap<(&str, &str, &str), bool> = BTreeMap::new();
    for (action, verb, group, resource) in NEEDED {
        let question = (verb, group, resource);
        let allowed = match known.get(&question) {
            Some(allowed) => *allowed,
            None => {
                let review = review(project, verb, group, resource);
                let Ok(answer) = api.create(&PostParams::default(), &review).await else {
                    continue;
                };
                let allowed = answer.status.is_some_and(|status| status.allowed);
                known.insert(question, allowed);
                allowed
            }
        };
        if !allowed {
            refused.insert(
                action,
                format!("you may not {verb} {resource} in {project}"),
            );
        }
    }
    refused
}

fn review(
    project: &ProjectName,
    verb: &str,
    group: &str,
    resource: &str,
) -> SelfSubjectAccessReview {
    SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(ResourceAttributes {
                namespace: Some(project.to_string()),
                verb: Some(verb.to_owned()),
                group: Some(group.to_owned()),
                resource: Some(resource.to_owned()),
                ..ResourceAttributes::default()
            }),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    }
}
