//! Mirrors: bare local copies of remotes, one per (address, credential scope), kept across
//! restarts and shared by all promotions. Files: `open` (made, checked, taken over), `book` (what
//! is known of the remote's branches), `wishes` (many fetches made one), `bring` (one fetch, with
//! what can go wrong in it), `history` (walks), `pins`, `maintain`,
//! `incoming` (a watch on what a fetch brings).

use std::{
    collections::{BTreeSet, HashMap},
    fmt, io,
    path::{Path, PathBuf},
    str::FromStr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    branch::BranchName,
    command::Git,
    credentials::Credential,
    id::CommitId,
    transport::{Remote, RemoteError, ssh::Sharing},
    url::RepoUrl,
};

mod book;
mod bring;
pub(super) mod history;
mod incoming;
mod maintain;
mod open;
mod pins;
mod wishes;

pub use super::commit::HeaderKey;
use book::Book;
pub use book::{FetchedTips, RemoteTip};
use wishes::Wishes;

/// How long the answer to "which is the default branch?" is believed.
const DEFAULT_BRANCH_AGE: Duration = Duration::from_secs(600);

/// Distrust that arrives so soon after a mirror was begun anew is about the old one.
const SETTLED_FOR: Duration = Duration::from_secs(10);

/// A mirror's name in its directory and in the journal; says nothing about the credential.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MirrorKey(String);

impl MirrorKey {
    fn of(url: &RepoUrl, credential: &Credential, skips_tls: bool) -> Self {
        let mut hash = Sha256::new();
        let (address, scope) = (url.normalised(), credential.scope());
        let mut parts = vec![address.as_str(), scope.as_str(), url.user_info()];
        parts.extend(skips_tls.then_some("any certificate"));
        for part in parts {
            hash.update(part.len().to_be_bytes());
            hash.update(part);
        }
        let digest: String = hash
            .finalize()
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Self(format!("{}-{digest}", url.slug()))
    }

    /// The directory's name without `.git`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for MirrorKey {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if !text.is_empty() && text.chars().all(plain) {
            Ok(Self(text.to_owned()))
        } else {
            Err(format!("{text:?} is not a mirror's name"))
        }
    }
}

impl TryFrom<String> for MirrorKey {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<MirrorKey> for String {
    fn from(key: MirrorKey) -> String {
        key.0
    }
}

impl fmt::Display for MirrorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A mirror, or the directory of mirrors, cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
    /// Another process works on the same directory.
    #[error("the mirrors in {root} belong to another running tidewaiter (process {pid})")]
    Held {
        /// The directory of mirrors.
        root: String,
        /// As that process wrote it down.
        pid: String,
    },
    /// A repository of a kind that libgit2 cannot work with.
    #[error("{path} is {what}, which is not supported; remove it to have the mirror made anew")]
    Foreign {
        /// The mirror's directory.
        path: String,
        /// The kind.
        what: &'static str,
    },
    /// The file system said no.
    #[error("{doing} {path} failed")]
    Io {
        /// `creating`.
        doing: &'static str,
        /// The file or directory.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// libgit2 said no.
    #[error("{doing} in {path} failed")]
    Objects {
        /// `reading refs`.
        doing: String,
        /// The mirror's directory.
        path: String,
        /// Why.
        #[source]
        source: git2::Error,
    },
    /// The task that did it was stopped.
    #[error("{doing} was interrupted")]
    Interrupted {
        /// What was being done.
        doing: &'static str,
    },
}

/// Why the remote's branches are not known.
#[derive(Clone, Debug, thiserror::Error)]
pub enum FetchError {
    /// Asking the remote failed.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The mirror failed.
    #[error(transparent)]
    Mirror(Arc<MirrorError>),
    /// The remote's HEAD names no branch: it is empty, or its HEAD is detached.
    #[error("{url} has no default branch; name the branch")]
    NoDefaultBranch {
        /// Redacted.
        url: String,
    },
}

impl From<MirrorError> for FetchError {
    fn from(error: MirrorError) -> Self {
        Self::Mirror(Arc::new(error))
    }
}

/// The directory of mirrors. One process at a time owns it.
#[derive(Debug)]
pub struct Mirrors {
    root: PathBuf,
    git: Git,
    opened: tokio::sync::Mutex<HashMap<MirrorKey, Arc<Mirror>>>,
    ssh: Sharing,
    /// Locked while this lives; the system frees it when the process dies.
    owner: std::fs::File,
}

impl Drop for Mirrors {
    fn drop(&mut self) {
        // Closing is not enough: a child that was forked this very moment has the file open too.
        if let Err(error) = self.owner.unlock() {
            tracing::warn!(root = %self.root.display(), %error, "the mirrors could not be unlocked");
        }
    }
}

impl Mirrors {
    /// Takes over `root`, creating it where needed. Blocking, some milliseconds.
    pub fn open(root: &Path, git: Git) -> Result<Self, MirrorError> {
        let owner = open::take_root(root)?;
        open::scratch(&scratch_path(root))?;
        Ok(Self {
            root: root.to_owned(),
            git,
            opened: tokio::sync::Mutex::default(),
            ssh: Sharing::new(),
            owner,
        })
    }

    /// The mirror for this address and credential: the same one for all spellings of the address.
    pub async fn mirror(
        &self,
        url: &RepoUrl,
        credential: &Credential,
    ) -> Result<Arc<Mirror>, MirrorError> {
        self.mirror_by(url, credential, false).await
    }

    /// The same, if `skips_tls` another one that takes any certificate: what came from an unproven host is kept apart.
    pub async fn mirror_by(
        &self,
        url: &RepoUrl,
        credential: &Credential,
        skips_tls: bool,
    ) -> Result<Arc<Mirror>, MirrorError> {
        let key = MirrorKey::of(url, credential, skips_tls);
        let mut opened = self.opened.lock().await;
        if let Some(mirror) = opened.get(&key) {
            return Ok(Arc::clone(mirror));
        }
        let path = self.directory(&key);
        let notes = blocking("opening a mirror", {
            let path = path.clone();
            move || open::mirror(&path)
        })
        .await?;
        let keys = self.root.join("keys");
        let remote = Remote::new(
            self.git.clone(),
            url.clone(),
            credential.clone(),
            keys,
            &self.ssh,
        )
        .skipping_tls_checks(skips_tls);
        let mirror = Arc::new(Mirror::new(path, key.clone(), remote, notes));
        opened.insert(key, Arc::clone(&mirror));
        Ok(mirror)
    }

    /// Where a mirror of this or an earlier run is; `None` where it is not there any more.
    pub fn path(&self, key: &MirrorKey) -> Option<PathBuf> {
        Some(self.directory(key)).filter(|path| path.is_dir())
    }

    /// A bare repository for objects that belong to no remote.
    pub fn scratch(&self) -> PathBuf {
        scratch_path(&self.root)
    }

    /// Lets go of a promotion's objects in every mirror, also those that this run did not open.
    /// Blocking.
    pub fn unpin_all(&self, promotion_uid: &str) -> Result<(), MirrorError> {
        pins::forget_fetched(&self.fetched(promotion_uid))?;
        self.on_disk()?
            .iter()
            .try_for_each(|path| pins::unpin_all(path, promotion_uid))
    }

    /// Where a promotion keeps what its steps brought in from elsewhere than repositories; a bare repository of its
    /// own, so that it can go as a whole with the promotion. It is made when first needed.
    pub fn fetched(&self, promotion_uid: &str) -> PathBuf {
        pins::fetched(&self.root, promotion_uid)
    }

    /// Lets go of what a process that was killed left pinned: everything but the objects of `kept`.
    /// Blocking.
    pub fn unpin_all_but(&self, kept: &BTreeSet<String>) -> Result<(), MirrorError> {
        pins::forget_fetched_but(&self.root, kept)?;
        for path in self.on_disk()? {
            for gone in pins::promotions(&path)?.difference(kept) {
                pins::unpin_all(&path, gone)?;
            }
        }
        Ok(())
    }

    /// The repositories of all mirrors, the damaged ones left out.
    fn on_disk(&self) -> Result<Vec<PathBuf>, MirrorError> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.root).map_err(open::io_error("listing", &self.root))? {
            let path = entry.map_err(open::io_error("listing", &self.root))?.path();
            let is_mirror = path.extension().is_some_and(|e| e == "git");
            if is_mirror && git2::Repository::open_bare(&path).is_ok() {
                found.push(path);
            }
        }
        Ok(found)
    }

    /// Where a mirror below `root` is, for looking only: needs no ownership of the directory.
    pub fn path_below(root: &Path, key: &MirrorKey) -> Option<PathBuf> {
        Some(directory_below(root, key)).filter(|path| path.is_dir())
    }

    fn directory(&self, key: &MirrorKey) -> PathBuf {
        directory_below(&self.root, key)
    }
}

fn directory_below(root: &Path, key: &MirrorKey) -> PathBuf {
    root.join(format!("{key}.git"))
}

/// Where the objects of no remote are, below a directory of mirrors.
pub fn scratch_path(root: &Path) -> PathBuf {
    root.join("scratch.git")
}

/// One bare copy of one remote.
#[derive(Debug)]
pub struct Mirror {
    path: PathBuf,
    key: MirrorKey,
    pub(super) remote: Remote,
    book: Mutex<Book>,
    wishes: Mutex<Wishes>,
    /// Held by whatever changes depth or replaces the repository.
    depth: tokio::sync::Mutex<()>,
    default_branch: tokio::sync::Mutex<Option<(BranchName, Instant)>>,
    notes: Mutex<Vec<String>>,
    /// When it was last begun anew.
    replaced: Mutex<Option<Instant>>,
}

impl Mirror {
    fn new(path: PathBuf, key: MirrorKey, remote: Remote, notes: Vec<String>) -> Self {
        Self {
            path,
            key,
            remote,
            book: Mutex::default(),
            wishes: Mutex::default(),
            depth: tokio::sync::Mutex::default(),
            default_branch: tokio::sync::Mutex::default(),
            notes: Mutex::new(notes),
            replaced: Mutex::default(),
        }
    }

    /// The bare repository, to be opened per job and not kept open: a damaged one is replaced.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its name in the journal.
    pub fn key(&self) -> &MirrorKey {
        &self.key
    }

    /// The remote's address.
    pub fn url(&self) -> &RepoUrl {
        &self.remote.url
    }

    /// What people should know, oldest first: that it was damaged and made anew, for example.
    pub fn notes(&self) -> Vec<String> {
        locked(&self.notes).clone()
    }

    /// Where the remote's branch was when last heard of in this run; `None`: never asked.
    pub fn tip(&self, branch: &BranchName) -> Option<RemoteTip> {
        locked(&self.book).tip(branch)
    }

    /// [`Mirror::tip`], unless it was heard longer ago than `age`.
    pub(super) fn recent_tip(&self, branch: &BranchName, age: Duration) -> Option<RemoteTip> {
        locked(&self.book).recent_tip(branch, age)
    }

    /// Brings the branches here and says where they are on the remote, at a moment **after** this
    /// call. Calls that meet share one `git fetch`. A branch that is not there is an answer.
    pub async fn fetch(
        self: &Arc<Self>,
        branches: &[BranchName],
    ) -> Result<FetchedTips, FetchError> {
        wishes::fetch(self, branches).await
    }

    /// The branch that the remote's HEAD names, remembered for ten minutes.
    pub async fn default_branch(&self) -> Result<BranchName, FetchError> {
        let mut remembered = self.default_branch.lock().await;
        match &*remembered {
            Some((branch, when)) if when.elapsed() < DEFAULT_BRANCH_AGE => {
                return Ok(branch.clone());
            }
            _ => {}
        }
        let Some(branch) = self.remote.head_branch(&self.path).await? else {
            return Err(FetchError::NoDefaultBranch {
                url: self.remote.url.to_string(),
            });
        };
        *remembered = Some((branch.clone(), Instant::now()));
        Ok(branch)
    }

    /// Keeps an object (a commit or a tree) and all it needs until [`Mirror::unpin_all`]; to be
    /// called before its id is journalled. Blocking, well under a millisecond.
    pub fn pin(&self, promotion_uid: &str, name: &str, id: &str) -> Result<(), MirrorError> {
        pins::pin(&self.path, promotion_uid, name, id)
    }

    /// Lets go of a promotion's objects. Blocking.
    pub fn unpin_all(&self, promotion_uid: &str) -> Result<(), MirrorError> {
        pins::unpin_all(&self.path, promotion_uid)
    }

    /// An object that should be here cannot be read: the mirror is put aside and begun anew. What was
    /// pinned in it is lost, so promotions in progress replay.
    pub async fn distrust(&self, why: &str) -> Result<(), FetchError> {
        let asked = Instant::now();
        let _depth = self.depth.lock().await;
        // Many meet the same damage at once.
        let settled = locked(&self.replaced).is_some_and(|when| when + SETTLED_FOR > asked);
        if settled {
            Ok(())
        } else {
            self.replace(why).await
        }
    }

    /// Our push put the branch there.
    pub(super) async fn pushed(
        &self,
        branch: &BranchName,
        head: &CommitId,
    ) -> Result<(), MirrorError> {
        locked(&self.book).learnt_by_push(branch, head);
        self.in_objects("noting a push", {
            let (branch, head) = (branch.clone(), head.clone());
            move |repository| book::set_ref(repository, &branch, Some(&head))
        })
        .await
    }

    /// Runs `job` on the opened repository, off the async threads.
    pub(super) async fn in_objects<T: Send + 'static>(
        &self,
        doing: &'static str,
        job: impl FnOnce(&git2::Repository) -> Result<T, git2::Error> + Send + 'static,
    ) -> Result<T, MirrorError> {
        let path = self.path.clone();
        blocking(doing, move || {
            git2::Repository::open_bare(&path)
                .and_then(|repository| job(&repository))
                .map_err(|source| MirrorError::Objects {
                    doing: doing.to_owned(),
                    path: path.display().to_string(),
                    source,
                })
        })
        .await
    }

    fn note(&self, note: String) {
        tracing::warn!(mirror = %self.key, "{note}");
        locked(&self.notes).push(note);
    }
}

async fn blocking<T: Send + 'static>(
    doing: &'static str,
    job: impl FnOnce() -> Result<T, MirrorError> + Send + 'static,
) -> Result<T, MirrorError> {
    tokio::task::spawn_blocking(job)
        .await
        .unwrap_or(Err(MirrorError::Interrupted { doing }))
}

/// What these locks guard is whole after every statement, so a panic elsewhere does not spoil it.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
