//! The files of a local cluster's folder, and its lock.

use super::store::OpenError;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// A socket's path may have 108 bytes with the closing zero.
const SOCKET_PATH_LIMIT: usize = 107;

/// A local cluster's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    folder: PathBuf,
}

/// Held by the one process that owns the store.
#[derive(Debug)]
pub(crate) struct OwnerLock {
    _file: File,
}

impl Place {
    pub(crate) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.folder.join("store.redb")
    }

    pub(crate) fn lock_file(&self) -> PathBuf {
        self.folder.join("lock")
    }

    /// The socket in the folder, if the path is short enough for one.
    pub(crate) fn own_socket(&self) -> Option<PathBuf> {
        let path = self.folder.join("api.sock");
        (path.as_os_str().len() <= SOCKET_PATH_LIMIT).then_some(path)
    }

    /// Says where the socket is when it does not fit into the folder.
    pub(crate) fn socket_record(&self) -> PathBuf {
        self.folder.join("api.sock.path")
    }

    /// Where the owner's socket should be; none if there is no owner or it has not said yet.
    pub(crate) fn socket(&self) -> Option<PathBuf> {
        if let Some(path) = self.own_socket() {
            return Some(path);
        }
        let recorded = std::fs::read_to_string(self.socket_record()).ok()?;
        Some(PathBuf::from(recorded.trim_end_matches('\n')))
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether any process holds the lock. Looking takes it for a moment, which whoever tries to
    /// take it just then has to forgive by trying again.
    pub(crate) fn has_owner(&self) -> bool {
        let file = OpenOptions::new().write(true).open(self.lock_file());
        file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// Makes the folder if need be, for its owner alone, and takes its lock. None if another
    /// process has it.
    pub(crate) fn lock(&self) -> Result<Option<OwnerLock>, OpenError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| OpenError::Io { path, source }
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)
            .map_err(io(&self.folder))?;
        let path = self.lock_file();
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(io(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(OwnerLock { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(io(&path)(error)),
        }
    }
}
