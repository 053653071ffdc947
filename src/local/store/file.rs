//! The file: objects as JSON with a checksum each, in a redb database of our own format.
//!
//! A damaged database can open without error, or bring the library to panic, and opening it writes
//! to it. So a file is first opened as a copy in memory, checked to the last value, and touched only
//! when everything is right.

use super::objects::{Objects, Stored};
use super::state::Event;
use crate::local::kinds;
use crate::local::object::Key;
use bytes::Bytes;
use redb::{Builder, Database, Durability, ReadableDatabase, ReadableTable, TableDefinition};
use sha2::{Digest, Sha256};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

/// Resource, namespace and name, separated by slashes; the checksum and JSON of the object.
const OBJECTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("objects");
/// Facts about the file: see the constants below.
const FACTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("facts");

const FORMAT_FACT: &str = "format";
const VERSION_FACT: &str = "version";
/// What the file says it is, before its format version.
const MAGIC: &str = "tidewaiter local store ";
/// The format that this program writes and reads.
const FORMAT: u32 = 1;
const REDB_MAGIC: &[u8] = b"redb\x1A\x0A\xA9\x0D\x0A";
const CHECKSUM_LENGTH: usize = 16;
/// redb's default would be a gigabyte, and reads are served from memory here.
const CACHE: usize = 16 * 1024 * 1024;

/// Why a local cluster's store was not opened. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder or a file in it cannot be used.
    #[error("opening the local store {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// Another process owns the store.
    #[error("the local store {} is in use by another process", path.display())]
    InUse {
        /// The lock file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{} is not a store of tidewaiter: it was left as it is", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A newer program wrote it.
    #[error("{} has the format version {found}, and this program knows {FORMAT}: it was left as it is", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version that it has.
        found: String,
    },
    /// The file is broken.
    #[error("the local store {} is damaged ({what}): it was left as it is", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// The thread that writes could not be started.
    #[error("starting the writer of the local store")]
    Writer(#[source] std::io::Error),
    /// There is no tokio runtime to run background work on.
    #[error("a local cluster needs a running tokio runtime")]
    NoRuntime,
}

/// Why a commit failed; nothing of it is stored.
#[derive(Debug, thiserror::Error)]
#[error("writing to the local store")]
pub(crate) struct CommitFailed(#[source] Box<redb::Error>);

/// The open file, held by the writer alone.
pub(crate) struct Disk {
    database: Database,
}

/// What a file held.
pub(crate) struct Loaded {
    pub(crate) objects: Objects,
    pub(crate) version: u64,
}

impl Disk {
    /// Opens the file, or makes it if there is none. The caller holds the folder's lock.
    pub(crate) fn open(path: &Path) -> Result<(Self, Loaded), OpenError> {
        let io = |source| OpenError::Io {
            path: path.to_owned(),
            source,
        };
        match std::fs::symlink_metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => create(path)?,
            Err(error) => return Err(io(error)),
            Ok(_) => {}
        }
        let content = std::fs::read(path).map_err(io)?;
        let loaded = check_copy(path, content)?;
        let database = builder()
            .open(path)
            .map_err(|error| not_opened(path, error))?;
        Ok((Self { database }, loaded))
    }

    /// A store that lives in memory only.
    pub(crate) fn in_memory() -> Result<(Self, Loaded), OpenError> {
        let path = Path::new("(memory)");
        let database = builder()
            .create_with_backend(redb::backends::InMemoryBackend::new())
            .map_err(|error| damaged(path, &error))?;
        stamp(&database).map_err(|error| damaged(path, &error))?;
        let loaded = Loaded {
            objects: Objects::default(),
            version: 1,
        };
        Ok((Self { database }, loaded))
    }

    /// Stores the events of a batch in one durable transaction.
    pub(crate) fn commit(&self, events: &[Event]) -> Result<(), CommitFailed> {
        self.commit_or(events)
            .map_err(|error| CommitFailed(Box::new(error)))
    }

    fn commit_or(&self, events: &[Event]) -> Result<(), redb::Error> {
        let Some(last) = events.last() else {
            return Ok(());
        };
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(Durability::Immediate)?;
        {
            let mut objects = transaction.open_table(OBJECTS)?;
            for event in events {
                let key = file_key(&event.key);
                match &event.after {
                    Some(stored) => {
                        objects.insert(key.as_str(), sealed(&key, &stored.text).as_slice())?
                    }
                    None => objects.remove(key.as_str())?,
                };
            }
            let mut facts = transaction.open_table(FACTS)?;
            let version = last.version.to_string();
            facts.insert(
                VERSION_FACT,
                sealed(VERSION_FACT, version.as_bytes()).as_slice(),
            )?;
        }
        transaction.commit()?;
        Ok(())
    }
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE);
    builder
}

fn damaged(path: &Path, what: &dyn std::fmt::Display) -> OpenError {
    OpenError::Damaged {
        path: path.to_owned(),
        what: what.to_string(),
    }
}

/// Why the library could not open or make a file.
fn not_opened(path: &Path, error: impl Into<redb::Error>) -> OpenError {
    match error.into() {
        redb::Error::Io(source) => OpenError::Io {
            path: path.to_owned(),
            source,
        },
        redb::Error::DatabaseAlreadyOpen => OpenError::InUse {
            path: path.to_owned(),
        },
        other => damaged(path, &other),
    }
}

/// Makes a new store beside its place and moves it there whole, so that a crash leaves none or one.
fn create(path: &Path) -> Result<(), OpenError> {
    let io = |source| OpenError::Io {
        path: path.to_owned(),
        source,
    };
    let unfinished = path.with_extension("redb.unfinished");
    match std::fs::remove_file(&unfinished) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(io(error)),
        _ => {}
    }
    let database = builder()
        .create(&unfinished)
        .map_err(|error| not_opened(&unfinished, error))?;
    stamp(&database).map_err(|error| not_opened(&unfinished, error))?;
    drop(database);
    std::fs::rename(&unfinished, path).map_err(io)?;
    if let Some(folder) = path.parent() {
        std::fs::File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(io)?;
    }
    Ok(())
}

/// Writes the facts of an empty store.
fn stamp(database: &Database) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    {
        transaction.open_table(OBJECTS)?;
        let mut facts = transaction.open_table(FACTS)?;
        let format = format!("{MAGIC}{FORMAT}");
        facts.insert(
            FORMAT_FACT,
            sealed(FORMAT_FACT, format.as_bytes()).as_slice(),
        )?;
        facts.insert(VERSION_FACT, sealed(VERSION_FACT, b"1").as_slice())?;
    }
    transaction.commit()?;
    Ok(())
}

/// `resource/namespace/name`: none of the three can hold a slash.
fn file_key(key: &Key) -> String {
    let kind = kinds::by_id(key.kind).map(|kind| kind.resource());
    format!(
        "{}/{}/{}",
        kind.unwrap_or_default(),
        key.namespace,
        key.name
    )
}

fn parse_file_key(text: &str) -> Option<Key> {
    let mut parts = text.split('/');
    let (kind, _) = kinds::by_resource(parts.next()?)?;
    let key = Key::new(kind, parts.next()?, parts.next()?);
    parts.next().is_none().then_some(key)
}

/// The checksum covers the key too: a value under another name is damage.
fn checksum(key: &str, content: &[u8]) -> Vec<u8> {
    let mut hash = Sha256::new();
    hash.update((key.len() as u64).to_be_bytes());
    hash.update(key.as_bytes());
    hash.update(content);
    let mut sum = hash.finalize().to_vec();
    sum.truncate(CHECKSUM_LENGTH);
    sum
}

fn sealed(key: &str, content: &[u8]) -> Vec<u8> {
    let mut value = checksum(key, content);
    value.extend_from_slice(content);
    value
}

fn unsealed<'a>(key: &str, value: &'a [u8]) -> Option<&'a [u8]> {
    let (sum, content) = value.split_at_checked(CHECKSUM_LENGTH)?;
    (checksum(key, content) == sum).then_some(content)
}

/// Reads everything from a copy of the file, in memory.
fn check_copy(path: &Path, content: Vec<u8>) -> Result<Loaded, OpenError> {
    if !content.starts_with(REDB_MAGIC) {
        return Err(OpenError::Foreign {
            path: path.to_owned(),
        });
    }
    let read = AssertUnwindSafe(|| read_copy(path, content));
    std::panic::catch_unwind(read)
        .unwrap_or_else(|_| Err(damaged(path, &"its structure cannot be read")))
}

fn read_copy(path: &Path, content: Vec<u8>) -> Result<Loaded, OpenError> {
    let broken = |error: &dyn std::fmt::Display| damaged(path, error);
    let database = builder()
        .set_check_integrity_on_open(true)
        .create_with_backend(Copy::new(content))
        .map_err(|error| broken(&error))?;
    let transaction = database.begin_read().map_err(|error| broken(&error))?;
    let facts = match transaction.open_table(FACTS) {
        Ok(facts) => facts,
        Err(redb::TableError::Storage(error)) => return Err(broken(&error)),
        Err(_) => {
            return Err(OpenError::Foreign {
                path: path.to_owned(),
            });
        }
    };
    let fact = |name: &str| -> Result<String, OpenError> {
        let value = facts.get(name).map_err(|error| broken(&error))?;
        let text = value
            .as_ref()
            .and_then(|value| unsealed(name, value.value()))
            .and_then(|content| String::from_utf8(content.to_vec()).ok());
        text.ok_or_else(|| broken(&format!("no valid {name}")))
    };
    let format = fact(FORMAT_FACT)?;
    match format.strip_prefix(MAGIC) {
        Some(version) if version == FORMAT.to_string() => {}
        Some(version) => {
            return Err(OpenError::Newer {
                path: path.to_owned(),
                found: version.to_owned(),
            });
        }
        None => {
            return Err(OpenError::Foreign {
                path: path.to_owned(),
            });
        }
    }
    let version = fact(VERSION_FACT)?
        .parse()
        .map_err(|error: std::num::ParseIntError| broken(&error))?;
    let mut objects = Objects::default();
    let table = transaction
        .open_table(OBJECTS)
        .map_err(|error| broken(&error))?;
    for entry in table.iter().map_err(|error| broken(&error))? {
        let (key, value) = entry.map_err(|error| broken(&error))?;
        let (name, stored) = read_object(key.value(), value.value()).ok_or_else(|| {
            broken(&format!(
                "the object {:?} is not what was stored",
                key.value()
            ))
        })?;
        objects.set(&name, Some(Arc::new(stored)));
    }
    Ok(Loaded { objects, version })
}

fn read_object(key: &str, value: &[u8]) -> Option<(Key, Stored)> {
    let content = unsealed(key, value)?;
    let object = serde_json::from_slice(content).ok()?;
    let stored = Stored::with_text(&object, Bytes::copy_from_slice(content));
    Some((parse_file_key(key)?, stored))
}

/// A file's content in memory, for opening it without touching it.
struct Copy {
    content: RwLock<Vec<u8>>,
    /// A damaged header may ask for any length: repairing an intact file needs little more.
    most: usize,
}

impl std::fmt::Debug for Copy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Copy")
            .field("most", &self.most)
            .finish_non_exhaustive()
    }
}

impl Copy {
    fn new(content: Vec<u8>) -> Self {
        Self {
            most: content
                .len()
                .saturating_mul(2)
                .saturating_add(64 * 1024 * 1024),
            content: RwLock::new(content),
        }
    }

    fn span(offset: u64, length: usize) -> Option<std::ops::Range<usize>> {
        let start = usize::try_from(offset).ok()?;
        Some(start..start.checked_add(length)?)
    }
}

fn outside() -> std::io::Error {
    std::io::Error::from(std::io::ErrorKind::UnexpectedEof)
}

impl redb::StorageBackend for Copy {
    fn len(&self) -> Result<u64, std::io::Error> {
        Ok(self
            .content
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), std::io::Error> {
        let content = self.content.read().unwrap_or_else(PoisonError::into_inner);
        let span = Self::span(offset, out.len()).and_then(|span| content.get(span));
        out.copy_from_slice(span.ok_or_else(outside)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<(), std::io::Error> {
        let len = usize::try_from(len).map_err(|_| outside())?;
        if len > self.most {
            return Err(outside());
        }
        self.content
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .resize(len, 0);
        Ok(())
    }

    fn sync_data(&self) -> Result<(), std::io::Error> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), std::io::Error> {
        let mut content = self.content.write().unwrap_or_else(PoisonError::into_inner);
        let span = Self::span(offset, data.len()).and_then(|span| content.get_mut(span));
        span.ok_or_else(outside)?.copy_from_slice(data);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
