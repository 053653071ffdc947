//! What all promotions share: settings, the cluster, git, the step kinds, and the line of news for people.

use std::{collections::HashMap, fmt, path::PathBuf, sync::Arc, time::Duration};

use sha2::{Digest, Sha256};
use tokio::sync::broadcast;

use super::{
    journal::Epoch,
    port::Port,
    step::{Person, Registry},
    workspace::{MirrorKey, MirrorPaths},
};
use crate::{
    git::{
        land::Landers,
        mirror::{Mirror, Mirrors},
    },
    kargo::{Alias, Phase, ProjectName, PromotionName, StageName, artifact::hex},
    rules::who::Identity,
};

/// Whether an answer to a gate is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verification {
    /// The API server inside the process has checked each one when it was made.
    ByServer,
    /// Nothing has; none counts.
    Required,
    /// Nothing has, and the executor was started to count them all the same.
    Waived,
}

/// Called at every boundary with its name (`push:intent`); true makes the run end there as a killed process would.
pub type Crash = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// How the executor was told to work.
#[derive(Clone)]
pub struct Settings {
    /// The shard's name; none is everything (a local cluster).
    pub shard: Option<String>,
    /// Who commits where a step names nobody.
    pub author: Person,
    /// Promotions that work at a time; waiting ones do not count.
    pub concurrency: usize,
    /// Whether answers are believed.
    pub verification: Verification,
    /// How the API server makes user names of claims.
    pub identity: Identity,
    /// This process's claim.
    pub epoch: Epoch,
    /// Where shared ConfigMaps and Secrets are; none where there are none.
    pub shared_namespace: Option<ProjectName>,
    /// For `ctx.uiBaseUrl`.
    pub ui_base_url: String,
    /// How long a step tries what may work later, where it has no timeout of its own.
    pub transient_budget: Duration,
    /// The first pause between two tries; the next ones double.
    pub first_pause: Duration,
    /// Within this time, consecutive workspace steps share a write.
    pub share_writes: Duration,
    /// Replays of one push.
    pub replays_max: u32,
    /// For tests.
    pub crash: Option<Crash>,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("shard", &self.shard)
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

impl Settings {
    /// The usual settings for a process that calls itself `holder`.
    pub fn new(holder: impl Into<String>) -> Self {
        Self {
            shard: None,
            author: Person {
                name: "Kargo".into(),
                email: "no-reply@kargo.io".into(),
            },
            concurrency: 64,
            verification: Verification::Required,
            identity: Identity::default(),
            epoch: Epoch {
                holder: holder.into(),
                transitions: 0,
            },
            shared_namespace: None,
            ui_base_url: String::new(),
            transient_budget: Duration::from_secs(300),
            first_pause: Duration::from_secs(1),
            share_writes: Duration::from_millis(300),
            replays_max: 10,
            crash: None,
        }
    }

    /// Whether the run has to end here. Only a test says so.
    pub fn crashes_at(&self, boundary: &str) -> bool {
        self.crash.as_ref().is_some_and(|crash| crash(boundary))
    }
}

/// What happened, for whoever watches.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Happening {
    pub project: ProjectName,
    pub stage: StageName,
    pub promotion: PromotionName,
    /// None for what concerns the promotion as a whole.
    pub step: Option<Alias>,
    pub what: What,
}

impl Happening {
    /// One line for people.
    pub fn line(&self) -> String {
        let place = format!("{}/{}", self.project, self.stage);
        let step = self
            .step
            .as_ref()
            .map(|step| format!("{step} "))
            .unwrap_or_default();
        let says = |text: &str| {
            if text.is_empty() {
                String::new()
            } else {
                format!(": {text}")
            }
        };
        let what = match &self.what {
            What::Started => format!("started ({})", self.promotion),
            What::Resumed => "goes on".to_owned(),
            What::StepStarted => "runs".to_owned(),
            What::StepEnded(status, message) => format!("{status}{}", says(message)),
            What::Retrying(why) => format!("is tried again{}", says(why)),
            What::Landing(text) | What::GateNews(text) => text.clone(),
            What::Replayed(why) => format!("is replayed{}", says(why)),
            What::GateOpened => "waits for approval".to_owned(),
            What::Ended(phase, message) => format!("{phase}{}", says(message)),
        };
        format!("{place:<14} {step}{what}").replace(['\n', '\r'], " ")
    }
}

/// One piece of news.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The promotion runs.
    Started,
    /// It goes on after a wait or a restart.
    Resumed,
    /// The step runs.
    StepStarted,
    /// The step is over: its status, and its message.
    StepEnded(String, String),
    /// The step will be tried again: why.
    Retrying(String),
    /// Its commits wait for their turn, or are being pushed.
    Landing(String),
    /// Steps run again on another commit: why.
    Replayed(String),
    /// People are asked.
    GateOpened,
    /// Somebody answered, or the question changed.
    GateNews(String),
    /// The promotion is over.
    Ended(Phase, String),
}

/// What all promotions share.
pub struct Tools {
    /// How to work.
    pub settings: Settings,
    /// The cluster.
    pub port: Arc<dyn Port>,
    /// The step kinds.
    pub registry: Arc<dyn Registry>,
    /// Local copies of remotes.
    pub mirrors: Arc<Mirrors>,
    /// The queues before remote branches.
    pub landers: Landers,
    /// Mirrors in use, by the name that journals have for them.
    opened: std::sync::Mutex<HashMap<MirrorKey, Arc<Mirror>>>,
    /// Kept beside the mirrors: whoever reads a journal cannot try configurations against its digests.
    digest_key: Vec<u8>,
    news: broadcast::Sender<Happening>,
}

/// News kept for a slow reader.
const NEWS_KEPT: usize = 1024;

impl Tools {
    /// Puts them together. Blocking: reads or makes a small file beside the mirrors.
    pub fn new(
        settings: Settings,
        port: Arc<dyn Port>,
        registry: Arc<dyn Registry>,
        mirrors: Arc<Mirrors>,
        landers: Landers,
    ) -> std::io::Result<Self> {
        let (news, _) = broadcast::channel(NEWS_KEPT);
        // Left by a process that was killed.
        super::workspace::folder::sweep(&mirrors.scratch().with_file_name("folders"));
        let digest_key = digest_key(&mirrors.scratch().with_file_name("digests.key"))?;
        Ok(Self {
            settings,
            port,
            registry,
            mirrors,
            landers,
            opened: std::sync::Mutex::default(),
            digest_key,
            news,
        })
    }

    /// A digest of `text` for one promotion that tells nothing to whoever has not the key.
    pub fn digest(&self, uid: &str, text: &str) -> String {
        let mut hash = Sha256::new();
        for part in [self.digest_key.as_slice(), uid.as_bytes(), text.as_bytes()] {
            hash.update(part.len().to_be_bytes());
            hash.update(part);
        }
        hex(&hash.finalize())
    }

    /// News from now on.
    pub fn news(&self) -> broadcast::Receiver<Happening> {
        self.news.subscribe()
    }

    /// Tells whoever listens.
    pub fn tell(&self, happening: Happening) {
        // Nobody listening is no error.
        drop(self.news.send(happening));
    }

    /// Remembers a mirror by the name that journals have for it, which this is.
    pub fn remember(&self, mirror: &Arc<Mirror>) -> MirrorKey {
        let key = mirror.key().clone();
        let mut opened = self
            .opened
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        opened.insert(key.clone(), Arc::clone(mirror));
        key
    }

    /// A mirror that was opened in this run.
    pub fn opened(&self, key: &MirrorKey) -> Option<Arc<Mirror>> {
        self.opened
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .get(key)
            .cloned()
    }

    /// Where the mirrors are.
    pub fn paths(&self) -> Arc<dyn MirrorPaths + Send + Sync> {
        Arc::new(Paths(Arc::clone(&self.mirrors)))
    }
}

fn digest_key(path: &std::path::Path) -> std::io::Result<Vec<u8>> {
    use std::{io::Write, os::unix::fs::OpenOptionsExt};
    match std::fs::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        other => return other,
    }
    let mut key = vec![0; 32];
    getrandom::fill(&mut key).map_err(std::io::Error::other)?;
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(&key)?;
    Ok(key)
}

struct Paths(Arc<Mirrors>);

impl MirrorPaths for Paths {
    fn path(&self, key: &MirrorKey) -> Option<PathBuf> {
        self.0.path(key)
    }

    fn scratch(&self) -> PathBuf {
        self.0.scratch()
    }
}
