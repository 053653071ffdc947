//! Finding objects by what people type: a name, the unique start of one, an alias; in one project or all.

use std::collections::BTreeSet;

use kube::{Api, Client, Resource, api::ListParams, core::NamespaceResourceScope};
use serde::de::DeserializeOwned;

use super::{Error, Kind, error::Doing};
use crate::kargo::{ApprovalRequest, Freight, Project, ProjectName, Promotion, Stage, StageName};

/// Objects per page of a list.
const PAGE: u32 = 500;

/// Where to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One Project.
    Project(ProjectName),
    /// All that this user may see.
    All,
}

impl Scope {
    /// The API of a namespaced kind in this scope.
    pub fn api<K>(&self, client: &Client) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        match self {
            Self::Project(project) => Api::namespaced(client.clone(), project.as_str()),
            Self::All => Api::all(client.clone()),
        }
    }

    /// For sentences: `project shop` or `all projects`.
    pub fn describe(&self) -> String {
        match self {
            Self::Project(project) => format!("project {project}"),
            Self::All => "all projects".to_owned(),
        }
    }
}

/// Everything of one kind in scope, page by page.
pub async fn list<K>(client: &Client, scope: &Scope) -> Result<Vec<K>, Error>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + DeserializeOwned
        + std::fmt::Debug,
{
    pages(scope.api(client), || {
        format!("cannot list {} in {}", K::plural(&()), scope.describe())
    })
    .await
}

/// All Projects.
pub async fn projects(client: &Client) -> Result<Vec<Project>, Error> {
    pages(Api::all(client.clone()), || {
        "cannot list projects".to_owned()
    })
    .await
}

async fn pages<K>(api: Api<K>, doing: impl Fn() -> String) -> Result<Vec<K>, Error>
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    let mut params = ListParams::default().limit(PAGE);
    let mut found = Vec::new();
    loop {
        let page = api.list(&params).await.doing(&doing)?;
        found.extend(page.items);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params.continue_token = Some(token),
            None => return Ok(found),
        }
    }
}

/// What a name that somebody typed points at.
fn choose<K>(
    found: Vec<K>,
    typed: &str,
    noun: &str,
    scope: &Scope,
    names: impl Fn(&K) -> Vec<String>,
) -> Result<K, Error>
where
    K: Resource,
{
    let doing = || format!("cannot find {noun} {typed:?} in {}", scope.describe());
    // Every name starts with nothing.
    if typed.is_empty() {
        return Err(Error::new(Kind::Invalid, doing(), "the name is empty"));
    }
    let exact = |object: &K| names(object).iter().any(|name| name == typed);
    let begins = |object: &K| names(object).iter().any(|name| name.starts_with(typed));
    let mut hits: Vec<K> = Vec::new();
    let mut starts: Vec<K> = Vec::new();
    for object in found {
        if exact(&object) {
            hits.push(object);
        } else if begins(&object) {
            starts.push(object);
        }
    }
    let mut candidates = if hits.is_empty() { starts } else { hits };
    match (candidates.pop(), candidates.len()) {
        (Some(only), 0) => Ok(only),
        (None, _) => Err(
            Error::new(Kind::NotFound, doing(), "there is none of that name")
                .hint(format!("See what there is: tidewaiter get {noun}s -A")),
        ),
        (Some(last), others) => {
            let mut shown: Vec<String> = candidates
                .iter()
                .take(3)
                .chain([&last])
                .map(full_name)
                .collect();
            shown.sort();
            Err(Error::new(
                Kind::NotFound,
                doing(),
                format!("{} match: {}", others + 1, shown.join(", ")),
            )
            .hint("Type more of the name, or name the project with -n"))
        }
    }
}

fn full_name<K: Resource>(object: &K) -> String {
    let meta = object.meta();
    format!(
        "{}/{}",
        meta.namespace.as_deref().unwrap_or_default(),
        meta.name.as_deref().unwrap_or_default()
    )
}

/// The Promotion that `typed` names: exactly, or by the start of its name.
pub async fn promotion(client: &Client, scope: &Scope, typed: &str) -> Result<Promotion, Error> {
    if let Scope::Project(_) = scope {
        match scope.api::<Promotion>(client).get_opt(typed).await {
            Ok(Some(promotion)) => return Ok(promotion),
            Ok(None) | Err(kube::Error::BuildRequest(_)) => {}
            Err(error) => {
                return Err(Error::from_kube(
                    format!("cannot get promotion {typed:?}"),
                    &error,
                ));
            }
        }
    }
    let all = list::<Promotion>(client, scope).await?;
    choose(all, typed, "promotion", scope, |promotion| {
        vec![promotion.name().to_owned()]
    })
}

/// The Freight that `typed` names: by name, its start, or its alias.
pub async fn freight(client: &Client, scope: &Scope, typed: &str) -> Result<Freight, Error> {
    let all = list::<Freight>(client, scope).await?;
    choose(all, typed, "freight", scope, |freight| {
        vec![freight.name().to_owned(), freight.alias().into()]
    })
    .map_err(|error| Error {
        hint: error
            .hint
            .map(|_| "See what there is: tidewaiter get freight -A".into()),
        ..error
    })
}

/// The Freight with exactly this alias.
pub async fn freight_by_alias(
    client: &Client,
    scope: &Scope,
    alias: &str,
) -> Result<Freight, Error> {
    let all = list::<Freight>(client, scope).await?;
    let hits = all
        .into_iter()
        .filter(|freight| freight.alias().as_str() == alias)
        .collect();
    choose(hits, alias, "freight", scope, |freight| {
        vec![freight.alias().into()]
    })
}

/// The Stage of this exact name.
pub async fn stage(client: &Client, scope: &Scope, name: &StageName) -> Result<Stage, Error> {
    let hits: Vec<Stage> = list::<Stage>(client, scope)
        .await?
        .into_iter()
        .filter(|stage| stage.name() == name.as_str())
        .collect();
    choose(hits, name.as_str(), "stage", scope, |stage| {
        vec![stage.name().to_owned()]
    })
}

/// The requests of the one Promotion that `typed` names, oldest first; none where no Promotion of that name asks
/// anything. Who may only answer need not be allowed to read Promotions.
pub async fn gates(
    client: &Client,
    scope: &Scope,
    typed: &str,
) -> Result<Vec<ApprovalRequest>, Error> {
    let mut requests = list::<ApprovalRequest>(client, scope)
        .await
        .map_err(|error| match error.kind {
            Kind::Absent => Error::new(
                Kind::Absent,
                format!("cannot find what promotion {typed:?} asks"),
                "this cluster has no approvalrequests.tidewaiter.dev: our CRD is not installed",
            )
            .hint("Have an administrator install tidewaiter's CRDs; without them no gate can be answered"),
            _ => error,
        })?;
    requests.sort_by(|a, b| (a.created_at(), a.name()).cmp(&(b.created_at(), b.name())));
    let of = |request: &ApprovalRequest| (request.project(), request.spec.promotion.name.clone());
    let exact = requests
        .iter()
        .any(|request| request.spec.promotion.name.as_str() == typed);
    requests.retain(|request| {
        let name = request.spec.promotion.name.as_str();
        name == typed || (!exact && !typed.is_empty() && name.starts_with(typed))
    });
    let promotions: BTreeSet<_> = requests.iter().map(of).collect();
    if promotions.len() > 1 {
        let shown: Vec<String> = promotions
            .iter()
            .take(4)
            .map(|(project, name)| format!("{project}/{name}"))
            .collect();
        let doing = format!("cannot find promotion {typed:?} in {}", scope.describe());
        let why = format!("{} match: {}", promotions.len(), shown.join(", "));
        return Err(Error::new(Kind::NotFound, doing, why)
            .hint("Type more of the name, or name the project with -n"));
    }
    Ok(requests)
}

/// The requests of a Promotion, oldest first.
pub async fn requests_of(
    client: &Client,
    promotion: &Promotion,
) -> Result<Vec<ApprovalRequest>, Error> {
    let scope = Scope::Project(promotion.project());
    let mut requests: Vec<ApprovalRequest> = list::<ApprovalRequest>(client, &scope)
        .await?
        .into_iter()
        .filter(|request| request.spec.promotion.uid == promotion.uid())
        .collect();
    requests.sort_by(|a, b| (a.created_at(), a.name()).cmp(&(b.created_at(), b.name())));
    Ok(requests)
}
