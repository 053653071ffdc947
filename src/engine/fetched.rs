//! What steps bring in from outside. It is kept in a repository of the promotion's own beside the mirrors, its ids in
//! the journal: a retry, a restart and a replay use it again instead of fetching. Where it was lost it is fetched
//! again, and has to be the same.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::sync::{mpsc, oneshot};

use super::{journal::Journal, step::StepError};
use crate::{
    git::{
        id::{BlobId, InvalidId, TreeId},
        objects::{Objects, ObjectsError},
        tree::Node,
    },
    kargo::{Alias, artifact::hex},
};

pub mod folder;

/// Content that was brought in: a file's, or a directory's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Kept {
    /// One file's content.
    Blob(BlobId),
    /// A directory.
    Tree(TreeId),
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blob(id) => write!(f, "blob {id}"),
            Self::Tree(id) => write!(f, "tree {id}"),
        }
    }
}

impl FromStr for Kept {
    type Err = InvalidId;
    fn from_str(text: &str) -> Result<Self, InvalidId> {
        match text.split_once(' ') {
            Some(("blob", id)) => id.parse().map(Self::Blob),
            Some(("tree", id)) => id.parse().map(Self::Tree),
            _ => Err(InvalidId(text.to_owned())),
        }
    }
}

impl TryFrom<String> for Kept {
    type Error = InvalidId;
    fn try_from(text: String) -> Result<Self, InvalidId> {
        text.parse()
    }
}

impl From<Kept> for String {
    fn from(kept: Kept) -> String {
        kept.to_string()
    }
}

/// Everything that one promotion's steps have brought in, by step and by (the digest of) the name.
#[derive(Debug, Default)]
pub struct Book(Mutex<BTreeMap<Alias, BTreeMap<String, Kept>>>);

impl Book {
    /// Takes over what the journal knows.
    pub fn read(&self, journal: &Journal) {
        let known = journal.steps.iter().filter(|(_, r)| !r.fetched.is_empty());
        let known = known.map(|(alias, record)| (alias.clone(), record.fetched.clone()));
        self.entries().extend(known);
    }

    /// Notes everything in the journal.
    pub fn write(&self, journal: &mut Journal) {
        for (alias, kept) in self.entries().iter() {
            journal.step(alias).fetched.clone_from(kept);
        }
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<Alias, BTreeMap<String, Kept>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asked to write the journal; told when that is done.
pub type Recorder = mpsc::Sender<oneshot::Sender<()>>;

/// What one step has brought in, and brings.
pub struct Fetched {
    store: PathBuf,
    salt: String,
    alias: Alias,
    book: Arc<Book>,
    recorder: Option<Recorder>,
}

impl Fetched {
    /// For the step `alias` of the promotion with the uid `salt`, whose repository is (or will be) at `store`. Without
    /// a recorder, what is brought in reaches the journal with its next write.
    pub fn new(
        store: PathBuf,
        salt: impl Into<String>,
        alias: Alias,
        book: Arc<Book>,
        recorder: Option<Recorder>,
    ) -> Self {
        let salt = salt.into();
        Self {
            store,
            salt,
            alias,
            book,
            recorder,
        }
    }

    /// What was brought in under `name` before, if it is still here. The name has to tell apart whatever the step may
    /// bring in: with another address or version comes another name. Only its digest is kept.
    pub async fn get(&self, name: &str) -> Result<Option<Kept>, StepError> {
        let Some(kept) = self.known(name) else {
            return Ok(None);
        };
        let (store, asked) = (self.store.clone(), kept.clone());
        let look = move || {
            if !store.is_dir() {
                return false;
            }
            let whole = Objects::open(&store).and_then(|objects| is_whole(&objects, &asked));
            if whole.is_err()
                && let Err(error) = std::fs::remove_dir_all(&store)
            {
                tracing::warn!(store = %store.display(), %error, "a damaged store could not be removed");
            }
            whole.is_ok()
        };
        Ok(blocking(look).await?.then_some(kept))
    }

    /// Keeps what `make` writes into the store, under `name`; its id is in the journal when this returns. An error
    /// where other content was brought in under that name before.
    pub async fn put<F>(&self, name: &str, make: F) -> Result<Kept, StepError>
    where
        F: FnOnce(&Objects) -> Result<Kept, StepError> + Send + 'static,
    {
        let store = self.store.clone();
        let write = move || {
            let objects = Objects::open_or_create(&store).map_err(|error| {
                StepError::transient("cannot keep what was fetched").because(error)
            })?;
            make(&objects)
        };
        let kept = blocking(write).await??;
        match self.known(name) {
            Some(before) if before == kept => return Ok(kept),
            Some(_) => {
                return Err(StepError::conflict(
                    "what the step fetched is lost here, and what it fetches now is something else: a different change",
                )
                .hint("Promote again, so that everything is made from what is there now"));
            }
            None => {}
        }
        self.note(name, kept.clone());
        if let Some(recorder) = &self.recorder {
            let (done, recorded) = oneshot::channel();
            // Whoever does not answer has ended the run, and this step with it.
            if recorder.send(done).await.is_ok() {
                drop(recorded.await);
            }
        }
        Ok(kept)
    }

    /// Where the content is: for jobs that open it themselves, such as an edit of the workspace.
    pub fn store(&self) -> &Path {
        &self.store
    }

    fn note(&self, name: &str, kept: Kept) {
        let mut entries = self.book.entries();
        let of_step = entries.entry(self.alias.clone()).or_default();
        of_step.insert(self.key(name), kept);
    }

    fn known(&self, name: &str) -> Option<Kept> {
        let key = self.key(name);
        self.book.entries().get(&self.alias)?.get(&key).cloned()
    }

    /// Addresses may hold secrets, and the journal is read by many.
    fn key(&self, name: &str) -> String {
        let mut hash = Sha256::new();
        for part in [self.salt.as_str(), name] {
            hash.update(part.len().to_be_bytes());
            hash.update(part);
        }
        hex(&hash.finalize()).chars().take(24).collect()
    }
}

/// Reads all of it: what is damaged counts as lost.
fn is_whole(objects: &Objects, kept: &Kept) -> Result<(), ObjectsError> {
    match kept {
        Kept::Blob(id) => objects.read_blob(id).map(drop),
        Kept::Tree(id) => {
            for entry in objects.entries(id)? {
                let node: Node = entry.node;
                let below = node.tree_id().map(Kept::Tree);
                if let Some(kept) = below.or_else(|| node.blob_id().map(Kept::Blob)) {
                    is_whole(objects, &kept)?;
                }
            }
            Ok(())
        }
    }
}

async fn blocking<T: Send + 'static>(
    job: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StepError> {
    tokio::task::spawn_blocking(job)
        .await
        .map_err(|error| StepError::errored("the step stopped half-way").because(error))
}

#[cfg(test)]
mod tests;
