//! What is known of a Project's people: the claims of its Kargo roles.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Client;

use super::find::{self, Scope};
use crate::{
    kargo::{ProjectName, meta},
    rules::{
        admission::User,
        who::{self, Directory, Identity, Person},
    },
};

/// The Project's directory. Where its ServiceAccounts may not be read, rules by role cannot be judged here.
pub async fn directory(client: &Client, project: &ProjectName) -> Directory {
    let accounts = find::list::<ServiceAccount>(client, &Scope::Project(project.clone())).await;
    let roles = accounts
        .ok()
        .map(|accounts| accounts.iter().filter_map(role).collect::<BTreeMap<_, _>>());
    Directory {
        project: project.clone(),
        identity: Identity::default(),
        roles,
    }
}

fn role(account: &ServiceAccount) -> Option<(String, who::Claims)> {
    let annotation = account.metadata.annotations.as_ref()?.get(meta::CLAIMS)?;
    // A ServiceAccount whose claims cannot be read maps nobody.
    let claims = who::parse_claims(annotation).ok()?;
    Some((account.metadata.name.clone()?, claims))
}

/// The user as the rules know people.
pub fn person(user: &User) -> Person {
    Person {
        name: user.name.clone(),
        uid: user.uid.clone().unwrap_or_default(),
        groups: user.groups.clone(),
    }
}
