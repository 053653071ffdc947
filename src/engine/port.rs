//! What the engine asks of the cluster, as one small trait: read, list, follow, patch, create.
//!
//! `cluster::port` implements it over Kubernetes; tests use `fake::Fake`, which is stricter.
//! The plain methods deal in JSON; [`PortExt`] is what the engine calls.

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use futures::stream::BoxStream;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::kargo::{
    Approval, ApprovalRequest, Freight, ProjectConfig, ProjectName, Promotion, Stage, Warehouse,
};

pub mod change;
#[cfg(test)]
pub mod fake;

/// A kind of object that the engine deals with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Kind {
    Promotion,
    Stage,
    Freight,
    Warehouse,
    ProjectConfig,
    ApprovalRequest,
    Approval,
    ConfigMap,
    Secret,
    ServiceAccount,
    Event,
}

impl Kind {
    /// The kinds whose changes wake something.
    pub const FOLLOWED: [Self; 6] = [
        Self::ProjectConfig,
        Self::Freight,
        Self::Stage,
        Self::Promotion,
        Self::ApprovalRequest,
        Self::Approval,
    ];

    /// What the API calls it in paths and permissions.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Promotion => "promotions",
            Self::Stage => "stages",
            Self::Freight => "freights",
            Self::Warehouse => "warehouses",
            Self::ProjectConfig => "projectconfigs",
            Self::ApprovalRequest => "approvalrequests",
            Self::Approval => "approvals",
            Self::ConfigMap => "configmaps",
            Self::Secret => "secrets",
            Self::ServiceAccount => "serviceaccounts",
            Self::Event => "events",
        }
    }

    /// The word for people, and Kubernetes' `kind`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Promotion => "Promotion",
            Self::Stage => "Stage",
            Self::Freight => "Freight",
            Self::Warehouse => "Warehouse",
            Self::ProjectConfig => "ProjectConfig",
            Self::ApprovalRequest => "ApprovalRequest",
            Self::Approval => "Approval",
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
            Self::ServiceAccount => "ServiceAccount",
            Self::Event => "Event",
        }
    }
}

/// One object's address.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub struct Key {
    pub kind: Kind,
    pub project: ProjectName,
    pub name: String,
}

impl Key {
    /// The object `name` of that kind in a Project.
    pub fn new(kind: Kind, project: &ProjectName, name: impl AsRef<str>) -> Self {
        Self {
            kind,
            project: project.clone(),
            name: name.as_ref().to_owned(),
        }
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}/{}", self.kind.as_str(), self.project, self.name)
    }
}

/// Which part of an object a patch is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Everything but the status.
    Main,
    /// The status alone.
    Status,
}

/// What a follower hears.
#[derive(Clone, Debug)]
pub enum Change {
    /// The object is there, or is now like this.
    Applied(Kind, Value),
    /// The object is gone. Also sent for what vanished while nobody was listening.
    Deleted(Key),
    /// Everything that there was of all kinds has been sent once.
    Synced,
}

/// Why the cluster did not do it.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// The `resourceVersion` is not the newest.
    #[error("{key} was changed by somebody else meanwhile")]
    Conflict {
        /// What was to be changed.
        key: Key,
    },
    /// There is none.
    #[error("{key} does not exist")]
    Gone {
        /// What was to be changed.
        key: Key,
    },
    /// Not allowed to us: trying again cannot help.
    #[error("{doing}: {said}")]
    Forbidden {
        /// What was tried.
        doing: String,
        /// The server's words.
        said: String,
    },
    /// Not valid, or of a kind that the server does not know: trying again cannot help.
    #[error("{doing}: {said}")]
    Invalid {
        /// What was tried.
        doing: String,
        /// The server's words.
        said: String,
    },
    /// More than the server stores.
    #[error("{key} is too large to be stored: {said}")]
    TooLarge {
        /// What was to be changed.
        key: Key,
        /// The server's words.
        said: String,
    },
    /// May work later.
    #[error("{doing}")]
    Unreachable {
        /// What was tried.
        doing: String,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// What came back is not such an object.
    #[error("{key} cannot be read")]
    Unreadable {
        /// What was read.
        key: Key,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
}

impl PortError {
    /// Whether the same call may work later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }
}

/// The cluster.
#[async_trait]
pub trait Port: Send + Sync {
    /// The object as it is now, past every cache.
    async fn read(&self, key: &Key) -> Result<Option<Value>, PortError>;

    /// All objects of a kind, of one Project or of all.
    async fn list(
        &self,
        kind: Kind,
        project: Option<&ProjectName>,
    ) -> Result<Vec<Value>, PortError>;

    /// Changes of [`Kind::FOLLOWED`], beginning with everything that there is. Ends only with the port.
    fn follow(&self) -> BoxStream<'static, Change>;

    /// A merge patch. With `metadata.resourceVersion` in it, it counts only on that version.
    async fn patch(&self, key: &Key, part: Part, patch: Value) -> Result<Value, PortError>;

    /// A new object, as the server made it.
    async fn create(
        &self,
        kind: Kind,
        project: &ProjectName,
        object: Value,
    ) -> Result<Value, PortError>;
}

/// A Rust type that is a kind.
pub trait Object: DeserializeOwned + Serialize + Send + Sync {
    /// Which.
    const KIND: Kind;
}

macro_rules! objects {
    ($($type:ident),+) => {$(
        impl Object for $type {
            const KIND: Kind = Kind::$type;
        }
    )+};
}

objects!(
    Promotion,
    Stage,
    Freight,
    Warehouse,
    ProjectConfig,
    ApprovalRequest,
    Approval
);

/// Longest pause between two tries of a call that may work later.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The same with types.
#[async_trait]
pub trait PortExt: Port {
    /// The object as it is now.
    async fn get<T: Object>(
        &self,
        project: &ProjectName,
        name: &str,
    ) -> Result<Option<T>, PortError> {
        let key = Key::new(T::KIND, project, name);
        self.read(&key)
            .await?
            .map(|value| typed(&key, value))
            .transpose()
    }

    /// All objects of a type; what cannot be read is left out, as it must not stop the others.
    async fn all<T: Object>(&self, project: Option<&ProjectName>) -> Result<Vec<T>, PortError> {
        let values = self.list(T::KIND, project).await?;
        Ok(values
            .into_iter()
            .filter_map(|value| serde_json::from_value(value).ok())
            .collect())
    }

    /// Patches the status and returns the object as it is then.
    async fn patch_status<T: Object>(
        &self,
        project: &ProjectName,
        name: &str,
        patch: Value,
    ) -> Result<T, PortError> {
        let key = Key::new(T::KIND, project, name);
        typed(&key, self.patch(&key, Part::Status, patch).await?)
    }

    /// Stores a new object.
    async fn post<T: Object>(&self, project: &ProjectName, object: &T) -> Result<T, PortError> {
        let key = Key::new(T::KIND, project, "(new)");
        let value = serde_json::to_value(object).map_err(|source| PortError::Unreadable {
            key: key.clone(),
            source,
        })?;
        typed(&key, self.create(T::KIND, project, value).await?)
    }

    /// The texts of a ConfigMap or Secret (decoded); none where it does not exist.
    async fn texts(
        &self,
        kind: Kind,
        project: &ProjectName,
        name: &str,
    ) -> Result<Option<Texts>, PortError> {
        Ok(self
            .read(&Key::new(kind, project, name))
            .await?
            .map(|value| Texts::of(kind, &value)))
    }
}

impl<P: Port + ?Sized> PortExt for P {}

fn typed<T: Object>(key: &Key, value: Value) -> Result<T, PortError> {
    serde_json::from_value(value).map_err(|source| PortError::Unreadable {
        key: key.clone(),
        source,
    })
}

/// What a ConfigMap or Secret says, and which version of it said so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// `uid@resourceVersion`.
    pub version: String,
    /// Labels, for Secrets that are shared.
    pub labels: BTreeMap<String, String>,
    /// Text by key; what is not UTF-8 is left out.
    pub data: BTreeMap<String, String>,
}

impl Texts {
    /// What a Secret says.
    pub fn of_secret(value: &Value) -> Self {
        Self::of(Kind::Secret, value)
    }

    fn of(kind: Kind, value: &Value) -> Self {
        let strings = |pointer: &str| -> BTreeMap<String, String> {
            let map = value.pointer(pointer).and_then(Value::as_object);
            map.into_iter()
                .flatten()
                .filter_map(|(key, text)| Some((key.clone(), text.as_str()?.to_owned())))
                .collect()
        };
        let text = |pointer: &str| {
            value
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let mut data = strings("/data");
        if kind == Kind::Secret {
            data = data
                .into_iter()
                .filter_map(|(key, text)| Some((key, decoded(&text)?)))
                .collect();
            data.extend(strings("/stringData"));
        }
        Self {
            version: format!(
                "{}@{}",
                text("/metadata/uid"),
                text("/metadata/resourceVersion")
            ),
            labels: strings("/metadata/labels"),
            data,
        }
    }
}

fn decoded(text: &str) -> Option<String> {
    use base64::Engine;
    String::from_utf8(
        base64::engine::general_purpose::STANDARD
            .decode(text)
            .ok()?,
    )
    .ok()
}

/// Calls until it works, or fails for good. The cluster being away stops nothing but time.
pub async fn patiently<T, F, R>(mut call: F) -> Result<T, PortError>
where
    F: FnMut() -> R + Send,
    R: Future<Output = Result<T, PortError>> + Send,
    T: Send,
{
    let mut pause = Duration::from_millis(100);
    loop {
        match call().await {
            Err(error) if error.is_transient() => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the cluster cannot be reached; trying again"
                );
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            result => return result,
        }
    }
}
