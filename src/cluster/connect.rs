//! Getting a client: from a kubeconfig, or on a local cluster; and learning who we are there.

use std::{path::PathBuf, time::Duration};

use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::{
    Api, Client, Config,
    api::PostParams,
    config::{ExecInteractiveMode, KubeConfigOptions, Kubeconfig, KubeconfigError},
};

use super::{Error, Kind, error::Doing, limit};
use crate::{kargo::ProjectName, local, rules::admission::User};

/// What to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A cluster, by kubeconfig.
    Kubeconfig {
        /// The file; none is kubectl's rule (`KUBECONFIG`, then `~/.kube/config`, then in-cluster).
        file: Option<PathBuf>,
        /// The context; none is the current one.
        context: Option<String>,
    },
    /// The local cluster stored in a folder.
    Local(PathBuf),
}

/// As whom to act instead of oneself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impersonate {
    /// User name.
    pub user: Option<String>,
    /// Groups.
    pub groups: Vec<String>,
}

/// Which of the three settings this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// A real cluster.
    Cluster,
    /// The local cluster.
    Local,
}

/// A connection and what is known about it.
#[derive(Clone)]
pub struct Connection {
    /// Speaks to the API server.
    pub client: Client,
    /// Who we are there.
    pub who: User,
    /// Real or local.
    pub setting: Setting,
    /// The Project that the kubeconfig's context names.
    pub project: Option<ProjectName>,
    /// For people: the context's name, or `local DIR`.
    pub place: String,
    /// Keeps the local cluster alive for as long as somebody uses it.
    pub local: Option<std::sync::Arc<local::Attached>>,
}

/// Connects. `timeout` limits one request (not watches).
pub async fn connect(
    target: &Target,
    as_whom: &Impersonate,
    timeout: Option<Duration>,
) -> Result<Connection, Error> {
    match target {
        Target::Kubeconfig { file, context } => {
            let (config, context) = load(file.as_ref(), context.as_ref(), as_whom).await?;
            to_cluster(config, context, timeout).await
        }
        Target::Local(dir) => {
            let connection = to_local(dir.clone(), as_whom).await?;
            let client = match timeout {
                Some(timeout) => limit::requests(connection.client, timeout),
                None => connection.client,
            };
            Ok(Connection {
                client,
                ..connection
            })
        }
    }
}

/// The configuration, and the name of the context that it is of.
async fn load(
    file: Option<&PathBuf>,
    context: Option<&String>,
    as_whom: &Impersonate,
) -> Result<(Config, Option<String>), Error> {
    let options = KubeConfigOptions {
        context: context.cloned(),
        ..KubeConfigOptions::default()
    };
    let read = file.map_or_else(Kubeconfig::read, Kubeconfig::read_from);
    let named = match read {
        Ok(read) => {
            let name = context.cloned().or_else(|| read.current_context.clone());
            Config::from_custom_kubeconfig(read, &options)
                .await
                .map(|config| (config, name))
        }
        Err(error) => Err(error),
    };
    let (mut config, name) = match named {
        Ok(named) => named,
        Err(error) if file.is_none() && context.is_none() => {
            let config = Config::incluster().map_err(|_| unreadable(file, &error))?;
            (config, None)
        }
        Err(error) => return Err(unreadable(file, &error)),
    };
    if as_whom.user.is_some() {
        config.auth_info.impersonate = as_whom.user.clone();
        config.auth_info.impersonate_groups =
            (!as_whom.groups.is_empty()).then(|| as_whom.groups.clone());
    }
    // A plugin that asks on the terminal would hang behind the console, and what it says would be painted over it.
    if let Some(exec) = &mut config.auth_info.exec {
        exec.interactive_mode = Some(ExecInteractiveMode::Never);
    }
    Ok((config, name))
}

fn unreadable(file: Option<&PathBuf>, error: &KubeconfigError) -> Error {
    let name = file.map_or_else(
        || "the kubeconfig".to_owned(),
        |path| format!("kubeconfig {}", path.display()),
    );
    Error::new(
        Kind::Unreachable,
        format!("cannot use {name}"),
        error.to_string(),
    )
    .hint("Name one with --kubeconfig, or play without a cluster: tidewaiter demo")
}

async fn to_cluster(
    config: Config,
    context: Option<String>,
    timeout: Option<Duration>,
) -> Result<Connection, Error> {
    let place = context.unwrap_or_else(|| config.cluster_url.to_string());
    let project =
        (config.default_namespace != "default").then(|| config.default_namespace.as_str().into());
    let host = config.cluster_url.to_string();
    let patience = timeout.unwrap_or(FIRST_ANSWER);
    let late = |what: &str| {
        let why = format!("{what} within {}", limit::human(patience));
        Error::new(Kind::TimedOut, format!("cannot connect to {host}"), why)
    };
    // Making the client runs the credential plugin, which may take its time.
    let making = tokio::task::spawn_blocking(move || Client::try_from(config));
    let made = within(patience, making).await;
    let client = match made {
        None => return Err(late("the kubeconfig's credential plugin gave nothing")),
        Some(Ok(client)) => client.doing(|| format!("cannot connect to {host}"))?,
        Some(Err(broke)) => {
            let doing = format!("cannot connect to {host}");
            return Err(Error::new(Kind::Unreachable, doing, broke.to_string()));
        }
    };
    let client = limit::requests(client, timeout.unwrap_or(limit::USUAL));
    let who = within(patience, ask_who(&client))
        .await
        .ok_or_else(|| late("no answer"))??;
    Ok(Connection {
        client,
        who,
        setting: Setting::Cluster,
        project,
        place,
        local: None,
    })
}

/// How long a connection may take to say its first word where no limit is given.
const FIRST_ANSWER: Duration = Duration::from_secs(15);

/// What `work` comes to, or nothing where it takes longer than `patience`; zero is for ever.
async fn within<T>(patience: Duration, work: impl Future<Output = T>) -> Option<T> {
    if patience.is_zero() {
        return Some(work.await);
    }
    tokio::time::timeout(patience, work).await.ok()
}

/// Who the API server takes us for. Servers older than 1.28 cannot say: then the name is empty.
async fn ask_who(client: &Client) -> Result<User, Error> {
    let reviews: Api<SelfSubjectReview> = Api::all(client.clone());
    match reviews
        .create(&PostParams::default(), &SelfSubjectReview::default())
        .await
    {
        Ok(review) => {
            let info = review
                .status
                .and_then(|status| status.user_info)
                .unwrap_or_default();
            Ok(User {
                name: info.username.unwrap_or_default(),
                uid: info.uid,
                groups: info.groups.unwrap_or_default(),
                impersonated_by: None,
            })
        }
        Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => Ok(User::default()),
        Err(error) => Err(Error::from_kube(
            "cannot ask the API server who we are",
            &error,
        )),
    }
}

async fn to_local(dir: PathBuf, as_whom: &Impersonate) -> Result<Connection, Error> {
    let place = format!("local {}", dir.display());
    let identity = local::Identity {
        user: as_whom.user.clone(),
        groups: as_whom.groups.clone(),
    };
    let attached = local::attach(&dir, &identity).await.map_err(|error| {
        Error::new(
            Kind::Unreachable,
            format!("cannot open the local cluster in {}", dir.display()),
            super::error::chain(&error),
        )
        .hint("Name a folder of your own with --local; it is made if it is not there")
    })?;
    Ok(Connection {
        client: attached.client.clone(),
        who: attached.user.clone(),
        setting: Setting::Local,
        project: None,
        place,
        local: Some(std::sync::Arc::new(attached)),
    })
}

impl Connection {
    /// The same as somebody else: on a local cluster its owner may act for others, and it is recorded.
    pub fn acting_as(&self, user: &str, groups: &[&str]) -> Option<Self> {
        let attached = self.local.as_ref()?;
        let mut other = User::named(user);
        other
            .groups
            .extend(groups.iter().map(|group| (*group).to_owned()));
        Some(self.as_user(attached, &other))
    }

    /// The same as the executor of a local cluster.
    pub fn as_executor(&self) -> Option<Self> {
        let attached = self.local.as_ref()?;
        Some(self.as_user(attached, &User::executor()))
    }

    fn as_user(&self, attached: &local::Attached, other: &User) -> Self {
        let who = attached.os_user().acting_as(other);
        Self {
            client: attached.client_for(other),
            who,
            ..self.clone()
        }
    }
}
