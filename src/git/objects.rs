//! One object store, opened for one job: blobs in and out, and the errors of everything that reads objects.

use std::{
    cell::RefCell,
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Once},
};

use git2::{ObjectType, Oid, Repository, RepositoryInitOptions, RepositoryOpenFlags};

use super::id::BlobId;

/// What was being read or written when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file's content.
    Blob,
    /// A directory.
    Tree,
    /// A commit.
    Commit,
    /// An annotated tag.
    Tag,
}

impl Kind {
    pub(super) fn git2(self) -> ObjectType {
        match self {
            Self::Blob => ObjectType::Blob,
            Self::Tree => ObjectType::Tree,
            Self::Commit => ObjectType::Commit,
            Self::Tag => ObjectType::Tag,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blob => "file content",
            Self::Tree => "tree",
            Self::Commit => "commit",
            Self::Tag => "tag",
        })
    }
}

/// Why an object could not be had or made.
#[derive(Debug, thiserror::Error)]
pub enum ObjectsError {
    /// No repository there, or not one that libgit2 can open.
    #[error("cannot open the git repository {path}")]
    Open {
        /// Its folder.
        path: PathBuf,
        /// What libgit2 says.
        #[source]
        source: git2::Error,
    },
    /// A repository for loose files could not be made.
    #[error("cannot create the git repository {path}")]
    Create {
        /// Its folder.
        path: PathBuf,
        /// What the system or libgit2 says.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Never fetched, removed, damaged, or not of this kind: fetch it again, or run the steps again.
    #[error("{kind} {id} is not in the mirror")]
    Absent {
        /// What it should have been.
        kind: Kind,
        /// Its id.
        id: String,
        /// What libgit2 says, or what about its bytes is wrong.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The disk is full or read-only, most often.
    #[error("cannot write a {kind}")]
    Write {
        /// What was to be written.
        kind: Kind,
        /// What libgit2 says.
        #[source]
        source: git2::Error,
    },
    /// A part of a path is a file, so nothing can be below it.
    #[error("{at} is not a directory")]
    InTheWay {
        /// The file's path.
        at: String,
    },
    /// Two blobs could not be compared.
    #[error("cannot compare the two versions of {path}")]
    Compare {
        /// The file's path.
        path: String,
        /// What libgit2 says.
        #[source]
        source: git2::Error,
    },
}

impl ObjectsError {
    /// Whether a fetch or a replay can help: the object is missing or unreadable, everything else works.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent { .. })
    }

    pub(super) fn damaged(kind: Kind, id: Oid, why: &'static str) -> Self {
        Self::Absent {
            kind,
            id: id.to_string(),
            source: why.into(),
        }
    }
}

/// Trees are read again and again along the changed paths of one job; 16 MiB of them are kept.
const TREES_KEPT: usize = 16 << 20;

/// A bare repository's objects. Open one per job; it can move to another thread but not be shared.
pub struct Objects {
    pub(super) repo: Repository,
    trees: RefCell<TreeMemory>,
}

#[derive(Default)]
struct TreeMemory {
    bytes: usize,
    known: HashMap<Oid, Arc<[u8]>>,
}

impl Objects {
    /// Opens the bare repository at `path` itself, without looking in its parents.
    pub fn open(path: &Path) -> Result<Self, ObjectsError> {
        settle_libgit2();
        let flags = RepositoryOpenFlags::BARE
            | RepositoryOpenFlags::NO_SEARCH
            | RepositoryOpenFlags::NO_DOTGIT;
        let no_ceilings: [&str; 0] = [];
        let repo = Repository::open_ext(path, flags, no_ceilings).map_err(|source| {
            ObjectsError::Open {
                path: path.to_owned(),
                source,
            }
        })?;
        Ok(Self {
            repo,
            trees: RefCell::default(),
        })
    }

    /// Opens the bare repository at `path`, making it first if nothing is there.
    ///
    /// It is made beside and moved into place, so that two jobs that meet here never see half of one.
    pub fn open_or_create(path: &Path) -> Result<Self, ObjectsError> {
        if !path.exists() {
            create_bare(path).map_err(|source| ObjectsError::Create {
                path: path.to_owned(),
                source,
            })?;
        }
        Self::open(path)
    }

    /// Whether the object is there, without reading it.
    pub fn contains(&self, id: &str) -> bool {
        match (self.repo.odb(), Oid::from_str(id)) {
            (Ok(odb), Ok(oid)) => odb.exists(oid),
            _ => false,
        }
    }

    /// A file's content.
    pub fn read_blob(&self, id: &BlobId) -> Result<Vec<u8>, ObjectsError> {
        self.read(Kind::Blob, oid(Kind::Blob, id.as_str())?)
    }

    /// Stores a file's content as it is: no filters, no line-ending conversion.
    pub fn write_blob(&self, bytes: &[u8]) -> Result<BlobId, ObjectsError> {
        let id = self.write(Kind::Blob, bytes)?;
        typed(Kind::Blob, id)
    }

    pub(super) fn read(&self, kind: Kind, id: Oid) -> Result<Vec<u8>, ObjectsError> {
        let absent = |source: git2::Error| ObjectsError::Absent {
            kind,
            id: id.to_string(),
            source: Box::new(source),
        };
        let odb = self.repo.odb().map_err(absent)?;
        let object = odb.read(id).map_err(absent)?;
        if object.kind() != kind.git2() {
            return Err(ObjectsError::damaged(
                kind,
                id,
                "the object is of another kind",
            ));
        }
        Ok(object.data().to_vec())
    }

    pub(super) fn write(&self, kind: Kind, bytes: &[u8]) -> Result<Oid, ObjectsError> {
        let failed = |source| ObjectsError::Write { kind, source };
        self.repo
            .odb()
            .map_err(failed)?
            .write(kind.git2(), bytes)
            .map_err(failed)
    }

    /// A tree's bytes, remembered for the rest of the job.
    pub(super) fn tree_bytes(&self, id: Oid) -> Result<Arc<[u8]>, ObjectsError> {
        if id == super::tree::empty_oid() {
            return Ok(Arc::from([].as_slice()));
        }
        if let Some(known) = self.trees.borrow().known.get(&id) {
            return Ok(known.clone());
        }
        let bytes: Arc<[u8]> = self.read(Kind::Tree, id)?.into();
        let mut trees = self.trees.borrow_mut();
        if trees.bytes + bytes.len() > TREES_KEPT {
            *trees = TreeMemory::default();
        }
        trees.bytes += bytes.len();
        trees.known.insert(id, bytes.clone());
        Ok(bytes)
    }
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Objects({})", self.repo.path().display())
    }
}

/// Process-wide settings of libgit2, made before the first repository is opened.
///
/// Whether a tree's entries exist is our own affair (`strict_object_creation` would look each one up);
/// that what is read has the id it was asked by stays checked: a damaged object must count as absent.
fn settle_libgit2() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        git2::opts::strict_object_creation(false);
        git2::opts::strict_hash_verification(true);
    });
}

fn create_bare(path: &Path) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    settle_libgit2();
    let parent = path.parent().unwrap_or_else(|| Path::new("."));
    std::fs::create_dir_all(parent)?;
    let beside = tempfile::Builder::new()
        .prefix(".new-")
        .tempdir_in(parent)?;
    let mut options = RepositoryInitOptions::new();
    options
        .bare(true)
        .external_template(false)
        .initial_head("main");
    Repository::init_opts(beside.path(), &options)?;
    match std::fs::rename(beside.path(), path) {
        Err(_) if path.join("HEAD").exists() => Ok(()), // somebody else was first
        done => Ok(done?),
    }
}

/// The id of an object whose text was checked when its newtype was made.
pub(super) fn oid(kind: Kind, id: &str) -> Result<Oid, ObjectsError> {
    Oid::from_str(id).map_err(|source| ObjectsError::Absent {
        kind,
        id: id.to_owned(),
        source: Box::new(source),
    })
}

/// A libgit2 id as one of ours.
pub(super) fn typed<T: std::str::FromStr>(kind: Kind, id: Oid) -> Result<T, ObjectsError> {
    id.to_string()
        .parse()
        .map_err(|_| ObjectsError::damaged(kind, id, "the id is not a SHA-1"))
}

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
