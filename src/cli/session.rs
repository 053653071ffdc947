//! A connection made from the flags, and which projects a verb looks at.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Failure, args::Global, failure::Exit};
use crate::{
    cluster::{
        self, Connection, Target,
        connect::Impersonate,
        find::{self, Scope},
    },
    kargo::ProjectName,
    local,
};

/// What to connect to by these flags.
pub fn target(global: &Global) -> Target {
    match &global.local {
        Some(dir) => Target::Local(dir.clone()),
        None => Target::Kubeconfig {
            file: global.kubeconfig.clone(),
            context: global.context.clone(),
        },
    }
}

/// The local clusters that this process has joined, to be left in order at its end.
static JOINED: Mutex<Vec<Arc<local::Attached>>> = Mutex::new(Vec::new());

/// Connects by these flags.
pub async fn connect(global: &Global) -> Result<Connection, Failure> {
    let as_whom = Impersonate {
        user: global.as_user.clone(),
        groups: global.as_group.clone(),
    };
    let connection = cluster::connect(&target(global), &as_whom, global.request_timeout).await?;
    if let Some(joined) = &connection.local {
        JOINED
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Arc::clone(joined));
    }
    Ok(connection)
}

/// Leaves the local clusters: other processes that are being answered get their answers first.
pub async fn leave() {
    let joined = std::mem::take(&mut *JOINED.lock().unwrap_or_else(PoisonError::into_inner));
    for cluster in joined {
        cluster.close().await;
    }
}

/// Where to look for objects by name: the project given, the context's, or (with -A, and on a local cluster without
/// one) everywhere.
pub fn scope(global: &Global, connection: &Connection) -> Scope {
    if global.all_namespaces {
        return Scope::All;
    }
    let given = global.namespace.as_deref().map(ProjectName::from);
    match given.or_else(|| connection.project.clone()) {
        Some(project) => Scope::Project(project),
        None => Scope::All,
    }
}

/// The one project that something is made in: the given one, or the only one there is.
pub async fn project(global: &Global, connection: &Connection) -> Result<ProjectName, Failure> {
    if let Scope::Project(project) = scope(global, connection) {
        return Ok(project);
    }
    let names: Vec<String> = find::projects(&connection.client)
        .await?
        .iter()
        .map(|project| project.name().to_owned())
        .collect();
    match names.as_slice() {
        [only] => Ok(only.as_str().into()),
        [] => Err(Failure::new(
            Exit::NotFound,
            "cannot tell which project is meant: there is none",
        )
        .hint("Create one: tidewaiter apply -f FILE")),
        several => Err(Failure::new(
            Exit::Usage,
            format!(
                "cannot tell which project is meant: there are {}",
                several.join(", ")
            ),
        )
        .hint("Name it with -n")),
    }
}
