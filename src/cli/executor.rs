//! The executor as verbs start it: refused where it must not run, under a claim, with its counts.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde::Serialize;
use tokio::{
    sync::{broadcast, watch},
    task::JoinHandle,
    time::Instant,
};

pub use crate::engine::tools::Happening;
use crate::{
    cluster::{
        self, Connection,
        find::{self, Scope},
        lease::{self, Claim, Claims, Epoch, RENEWAL},
        port::KubePort,
    },
    config::Folders,
    engine::{
        journal,
        supervisor::{Summary, Supervisor},
        tools::{Settings, Tools, Verification},
    },
    git::{
        command::{Git, GitSettings},
        counters::{CounterSnapshot, Counters},
        land::{LandSettings, Landers},
        mirror::Mirrors,
    },
    kargo::{Phase, Promotion},
    rules::rows::PromotionRow,
    steps,
};

use super::{
    Failure,
    args::{Global, Run},
    failure::Exit,
};

/// Where the claim of a local cluster's executor is kept.
const LOCAL_NAMESPACE: &str = "kargo";
const LOCAL_CLAIM: &str = "tidewaiter-executor";

/// Where Kargo keeps ConfigMaps and Secrets that all Projects share, by its default.
pub const SHARED_NAMESPACE: &str = "kargo-shared-resources";

/// An executor at work in this process.
pub struct Executor {
    tools: Arc<Tools>,
    counters: Counters,
    shutdown: watch::Sender<bool>,
    work: JoinHandle<Option<Summary>>,
    claim: JoinHandle<Claims>,
}

/// What was done, for machines.
#[derive(Clone, Debug, Serialize)]
pub struct Counts {
    /// Promotions by phase.
    pub promotions: BTreeMap<String, usize>,
    /// What git did.
    pub git: CounterSnapshot,
    /// What is waited for, and for whom.
    pub waiting: Vec<Waiting>,
}

/// One promotion that waits.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Waiting {
    pub project: String,
    pub stage: String,
    pub promotion: String,
    pub what: String,
}

/// Starts it for good.
pub async fn start(
    global: &Global,
    connection: &Connection,
    wanted: &Run,
) -> Result<Executor, Failure> {
    begin(global, connection, wanted, false).await
}

/// Starts it until nothing can go on.
pub async fn start_until_idle(
    global: &Global,
    connection: &Connection,
    wanted: &Run,
) -> Result<Executor, Failure> {
    begin(global, connection, wanted, true).await
}

async fn begin(
    global: &Global,
    connection: &Connection,
    wanted: &Run,
    until_idle: bool,
) -> Result<Executor, Failure> {
    let own = connection
        .as_executor()
        .ok_or_else(|| Failure::new(Exit::Refused, "cannot execute: no local cluster"))?;
    let counters = Counters::default();
    let git = Git::new(GitSettings::default(), counters.clone());
    git.version().await.map_err(|error| {
        Failure::new(Exit::Failed, format!("cannot execute promotions: {error}"))
            .hint("Install git 2.39 or newer and see that it is in PATH")
    })?;
    let (claims, epoch) = claim(&own, wanted).await?;
    let tools = tools(global, &own, wanted, &epoch, git)?;
    clean_up(&own, &tools).await?;
    let (shutdown, told) = watch::channel(false);
    let supervisor = Supervisor::new(Arc::clone(&tools));
    let claim = tokio::spawn(keep(claims, epoch, shutdown.clone()));
    let work = tokio::spawn(async move {
        if until_idle {
            Some(supervisor.run_until_idle(told).await)
        } else {
            supervisor.run(told).await;
            None
        }
    });
    Ok(Executor {
        tools,
        counters,
        shutdown,
        work,
        claim,
    })
}

/// Whether these flags may execute at all; asked before anything is connected to.
pub fn check(global: &Global, wanted: &Run) -> Result<(), Failure> {
    match (&global.local, &wanted.shard) {
        (Some(_), _) => Ok(()),
        (None, None) => Err(Failure::new(
            Exit::Refused,
            "cannot execute everything on a real cluster: its own controllers do",
        )
        .hint("Give some Stages a shard and name it: run --shard NAME; or use a local cluster: --local DIR")),
        (None, Some(shard)) => Err(Failure::new(
            Exit::Refused,
            format!("cannot execute shard {shard} on a real cluster: health checks, AnalysisRuns and the heartbeat are not there yet"),
        )
        .hint("Watch, approve, retry and promote work on a real cluster; executing works with --local DIR")),
    }
}

/// Whether an executor works on the local cluster, here or in another process.
pub async fn runs(connection: &Connection) -> Result<bool, Failure> {
    Ok(lease::is_held(&connection.client, LOCAL_NAMESPACE, LOCAL_CLAIM, has_ended).await?)
}

/// How long the executor's word on something is worth waiting for: on a local cluster it is known when nobody is
/// there to say it.
pub async fn patience(connection: &Connection) -> Result<Duration, Failure> {
    let nobody = connection.local.is_some() && !runs(connection).await?;
    Ok(if nobody { Duration::ZERO } else { WORD })
}

/// An executor at work answers within this.
const WORD: Duration = Duration::from_secs(5);

/// Waits for the claim, telling once who has it.
async fn claim(connection: &Connection, wanted: &Run) -> Result<(Claims, Epoch), Failure> {
    let name = wanted.shard.as_ref().map_or_else(
        || LOCAL_CLAIM.to_owned(),
        |shard| format!("{LOCAL_CLAIM}-{shard}"),
    );
    let mut claims = Claims::new(
        connection.client.clone(),
        LOCAL_NAMESPACE,
        &name,
        &holder(),
        has_ended,
    );
    let (mut told, end) = (false, Instant::now() + PATIENCE);
    loop {
        match claims.attempt().await {
            Ok(Claim::Held(epoch)) => return Ok((claims, epoch)),
            // The owner of the store left in the middle: another takes its place in a moment.
            Err(error) if error.kind == cluster::Kind::Unreachable && Instant::now() < end => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Err(error) => return Err(error.into()),
            Ok(Claim::Taken { by, left }) => {
                if !told {
                    eprintln!("{by} executes already; waiting for it to stop");
                    told = true;
                }
                tokio::time::sleep(left.min(Duration::from_secs(1))).await;
            }
        }
    }
}

/// How long the store is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

fn host() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

/// A name for this process that no other has: the host, the process, and a random part.
fn holder() -> String {
    format!(
        "{}/{}/{}",
        host(),
        std::process::id(),
        ulid::Ulid::generate().to_string().to_lowercase()
    )
}

/// Whether a holder was a process of this machine that is there no more. A process that has its number by chance
/// keeps the claim until its term is over.
fn has_ended(holder: &str) -> bool {
    let mut parts = holder.split('/');
    let (here, pid) = (
        parts.next() == Some(&host()),
        parts.next().and_then(|pid| pid.parse().ok()),
    );
    let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) else {
        return false;
    };
    here && rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH)
}

/// Renews the claim until it is lost; then writing stops at once.
async fn keep(mut claims: Claims, epoch: Epoch, shutdown: watch::Sender<bool>) -> Claims {
    let mut stop = shutdown.subscribe();
    loop {
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return claims,
            () = tokio::time::sleep(RENEWAL) => {}
        }
        match claims.attempt().await {
            Ok(Claim::Held(held)) if held == epoch => {}
            Ok(_) => {
                tracing::error!("the claim to execute is lost: another process has it");
                shutdown.send_replace(true);
                return claims;
            }
            Err(error) => tracing::warn!("the claim to execute cannot be renewed: {error}"),
        }
    }
}

fn tools(
    global: &Global,
    own: &Connection,
    wanted: &Run,
    epoch: &Epoch,
    git: Git,
) -> Result<Arc<Tools>, Failure> {
    let root = Folders::of_user().mirrors(global.local.as_deref());
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new(
            Exit::Failed,
            format!("cannot use the mirrors in {}: {error}", root.display()),
        )
    };
    let mirrors = Arc::new(Mirrors::open(&root, git).map_err(|error| failed(&error))?);
    let mut settings = Settings::new(&epoch.holder);
    settings.shard.clone_from(&wanted.shard);
    settings.verification = Verification::ByServer;
    settings.epoch = journal::Epoch {
        holder: epoch.holder.clone(),
        transitions: u64::try_from(epoch.transitions).unwrap_or_default(),
    };
    settings.shared_namespace = Some(SHARED_NAMESPACE.into());
    settings.crash = crash_from_environment();
    let port = Arc::new(KubePort::new(own.client.clone()));
    let landers = Landers::new(LandSettings::default());
    let tools = Tools::new(
        settings,
        port,
        Arc::new(steps::registry()),
        mirrors,
        landers,
    );
    tools.map(Arc::new).map_err(|error| failed(&error))
}

/// Lets go of what a killed executor kept for promotions that have ended since.
async fn clean_up(own: &Connection, tools: &Tools) -> Result<(), Failure> {
    let promotions = find::list::<Promotion>(&own.client, &Scope::All).await?;
    let active = |promotion: &&Promotion| !promotion.status.phase.is_terminal();
    let kept = promotions
        .iter()
        .filter(active)
        .map(|promotion| promotion.uid().into())
        .collect();
    let mirrors = Arc::clone(&tools.mirrors);
    let cleaned = tokio::task::spawn_blocking(move || mirrors.unpin_all_but(&kept)).await;
    if let Ok(Err(error)) = cleaned {
        tracing::warn!("what earlier promotions kept in the mirrors stays: {error}");
    }
    Ok(())
}

/// Tests of the whole program kill it at a step boundary by number; a release build cannot be told to.
#[cfg(debug_assertions)]
fn crash_from_environment() -> Option<crate::engine::tools::Crash> {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let at: usize = std::env::var("TIDEWAITER_CRASH_AT").ok()?.parse().ok()?;
    let passed = AtomicUsize::new(0);
    Some(Arc::new(move |_: &str| {
        if passed.fetch_add(1, Ordering::SeqCst) + 1 == at {
            // As a power cut would: nothing is flushed, nothing is handed over.
            let _ = rustix::process::kill_process(
                rustix::process::getpid(),
                rustix::process::Signal::KILL,
            );
        }
        false
    }))
}

#[cfg(not(debug_assertions))]
fn crash_from_environment() -> Option<crate::engine::tools::Crash> {
    None
}

impl Executor {
    /// What happens from now on.
    pub fn happenings(&self) -> broadcast::Receiver<Happening> {
        self.tools.news()
    }

    /// What git has done so far.
    pub fn counts(&self) -> Counts {
        Counts {
            promotions: BTreeMap::new(),
            git: self.counters.snapshot(),
            waiting: Vec::new(),
        }
    }

    /// Waits until no promotion works any more; those that wait for somebody do not count.
    pub async fn quiet(&self, connection: &Connection) -> Result<(), Failure> {
        loop {
            let rows = find::list::<Promotion>(&connection.client, &Scope::All).await?;
            let works = |row: &PromotionRow| {
                row.phase == Phase::Running
                    && row
                        .step
                        .as_ref()
                        .is_none_or(|step| step.kind != "wait-for-approval")
            };
            if !rows.iter().map(PromotionRow::of).any(|row| works(&row)) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
    }

    /// Asks it to hand over, from another task.
    pub fn stopper(&self) -> watch::Sender<bool> {
        self.shutdown.clone()
    }

    /// Its end, when it was started until idle (or told to stop); what it came to.
    pub async fn finished(self) -> Result<Counts, Failure> {
        let Self {
            work,
            claim,
            shutdown,
            counters,
            ..
        } = self;
        let summary = work.await.map_err(|error| broke(&error))?;
        shutdown.send_replace(true);
        release(claim).await;
        let summary = summary.unwrap_or_default();
        Ok(Counts {
            promotions: summary.phases,
            git: counters.snapshot(),
            waiting: summary
                .waiting
                .into_iter()
                .map(|waiting| Waiting {
                    project: waiting.project.into(),
                    stage: waiting.stage.into(),
                    promotion: waiting.promotion.into(),
                    what: waiting.what,
                })
                .collect(),
        })
    }

    /// Stops it so that the next one can go on where it was.
    pub async fn hand_over(self) -> Result<(), Failure> {
        self.shutdown.send_replace(true);
        self.finished().await.map(|_| ())
    }
}

async fn release(claim: JoinHandle<Claims>) {
    if let Ok(claims) = claim.await {
        // The store may be closed already; then the claim lapses by itself.
        let _ = claims.release().await;
    }
}

fn broke(error: &tokio::task::JoinError) -> Failure {
    Failure::new(Exit::Failed, format!("the executor broke: {error}"))
}
