//! The claim to execute: a Lease that one process holds, renews, and gives back. Two executors never run one shard.

use std::time::Duration;

use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff,
};
use kube::{
    Api, Client,
    api::{ObjectMeta, PostParams},
};

use super::{Error, Kind, error::Doing};

/// How long a claim stands without being renewed.
pub const TERM: Duration = Duration::from_secs(15);
/// How often it is renewed.
pub const RENEWAL: Duration = Duration::from_secs(5);

/// Which claim this is: writes carry it, so that those of a former holder can be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// Who holds it: host, process and a random part.
    pub holder: String,
    /// How often the Lease has changed hands.
    pub transitions: i32,
}

/// What trying to get the claim came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It is ours.
    Held(Epoch),
    /// Somebody else has it, for at most this much longer.
    Taken {
        /// The holder's name for itself.
        by: String,
        /// Time until it lapses unless renewed.
        left: Duration,
    },
}

/// Whether somebody holds the claim `name`, as far as can be told without waiting.
pub async fn is_held(
    client: &Client,
    namespace: &str,
    name: &str,
    has_ended: fn(&str) -> bool,
) -> Result<bool, Error> {
    let api: Api<Lease> = Api::namespaced(client.clone(), namespace);
    let lease = api
        .get_opt(name)
        .await
        .doing(|| format!("cannot read lease {name}"))?;
    let holder = lease
        .and_then(|lease| lease.spec)
        .and_then(|spec| spec.holder_identity);
    Ok(holder.is_some_and(|holder| !holder.is_empty() && !has_ended(&holder)))
}

/// The Lease of one shard in one namespace.
pub struct Claims {
    api: Api<Lease>,
    name: String,
    holder: String,
    /// Whether the process behind a holder's name is known to have ended.
    has_ended: fn(&str) -> bool,
    /// When *our* clock saw the present holder's last renewal: its clock is not compared with ours.
    seen: Option<(String, tokio::time::Instant)>,
}

impl Claims {
    /// The claim `name` (not Kargo's heartbeat, which is no lock), for the process that calls itself `holder`.
    /// `has_ended` may know that a holder is gone, so that its term need not be waited for.
    pub fn new(
        client: Client,
        namespace: &str,
        name: &str,
        holder: &str,
        has_ended: fn(&str) -> bool,
    ) -> Self {
        let api = Api::namespaced(client, namespace);
        Self {
            api,
            name: name.to_owned(),
            holder: holder.to_owned(),
            has_ended,
            seen: None,
        }
    }

    /// Takes the claim where it is free or has lapsed, renews it where it is ours.
    pub async fn attempt(&mut self) -> Result<Claim, Error> {
        let doing = format!("cannot claim lease {}", self.name);
        let Some(lease) = self.api.get_opt(&self.name).await.doing(|| doing.clone())? else {
            return self.create(&doing).await;
        };
        let spec = lease.spec.clone().unwrap_or_default();
        let holder = spec.holder_identity.clone().unwrap_or_default();
        if holder != self.holder && !holder.is_empty() && !(self.has_ended)(&holder) {
            let left = self.time_left(&lease, &spec);
            if !left.is_zero() {
                return Ok(Claim::Taken { by: holder, left });
            }
        }
        let transitions =
            spec.lease_transitions.unwrap_or_default() + i32::from(holder != self.holder);
        self.replace(lease, transitions, &holder, &doing).await
    }

    /// How long the present holder may still be silent, by what this process has seen of it.
    fn time_left(&mut self, lease: &Lease, spec: &LeaseSpec) -> Duration {
        let term = Duration::from_secs(
            u64::try_from(spec.lease_duration_seconds.unwrap_or_default()).unwrap_or(15),
        );
        let version = lease.metadata.resource_version.clone().unwrap_or_default();
        let now = tokio::time::Instant::now();
        match &self.seen {
            Some((seen, at)) if *seen == version => (*at + term).saturating_duration_since(now),
            _ => {
                self.seen = Some((version, now));
                term
            }
        }
    }

    async fn create(&self, doing: &str) -> Result<Claim, Error> {
        let lease = Lease {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                ..ObjectMeta::default()
            },
            spec: Some(self.spec(0, None)),
        };
        match self
            .api
            .create(&PostParams::default(), &lease)
            .await
            .doing(|| doing.to_owned())
        {
            Ok(_) => Ok(Claim::Held(Epoch {
                holder: self.holder.clone(),
                transitions: 0,
            })),
            Err(error) if error.kind == Kind::Conflict => self.taken(),
            Err(error) => Err(error),
        }
    }

    async fn replace(
        &self,
        mut lease: Lease,
        transitions: i32,
        before: &str,
        doing: &str,
    ) -> Result<Claim, Error> {
        let acquired = lease
            .spec
            .as_ref()
            .and_then(|spec| spec.acquire_time.clone())
            .filter(|_| before == self.holder);
        lease.spec = Some(self.spec(transitions, acquired));
        match self
            .api
            .replace(&self.name, &PostParams::default(), &lease)
            .await
            .doing(|| doing.to_owned())
        {
            Ok(_) => Ok(Claim::Held(Epoch {
                holder: self.holder.clone(),
                transitions,
            })),
            Err(error) if error.kind == Kind::Conflict => self.taken(),
            Err(error) => Err(error),
        }
    }

    /// Another process was faster: its claim is seen at the next attempt.
    fn taken(&self) -> Result<Claim, Error> {
        Ok(Claim::Taken {
            by: "another process".into(),
            left: TERM,
        })
    }

    fn spec(&self, transitions: i32, acquired: Option<MicroTime>) -> LeaseSpec {
        let now = MicroTime(jiff::Timestamp::now());
        LeaseSpec {
            holder_identity: Some(self.holder.clone()),
            lease_duration_seconds: i32::try_from(TERM.as_secs()).ok(),
            acquire_time: Some(acquired.unwrap_or_else(|| now.clone())),
            renew_time: Some(now),
            lease_transitions: Some(transitions),
            ..LeaseSpec::default()
        }
    }

    /// Gives the claim back, so that the next process need not wait for it to lapse.
    pub async fn release(&self) -> Result<(), Error> {
        let doing = || format!("cannot release lease {}", self.name);
        let Some(mut lease) = self.api.get_opt(&self.name).await.doing(doing)? else {
            return Ok(());
        };
        let Some(spec) = lease
            .spec
            .as_mut()
            .filter(|spec| spec.holder_identity.as_deref() == Some(&self.holder))
        else {
            return Ok(());
        };
        spec.holder_identity = Some(String::new());
        match self
            .api
            .replace(&self.name, &PostParams::default(), &lease)
            .await
            .doing(doing)
        {
            Err(error) if error.kind != Kind::Conflict => Err(error),
            _ => Ok(()),
        }
    }
}
