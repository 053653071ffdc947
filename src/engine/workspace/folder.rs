//! Real folders for programs that need files: private, bounded, and gone afterwards, also after a kill.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, Read},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, OFlags, flock};

use crate::git::{path::RepoPath, tree::Mode};

/// How many files, and how many bytes in all, go into a folder or come out of it.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Files and links.
    pub files: usize,
    /// Bytes of all of them.
    pub bytes: u64,
}

/// As much as a checkout that people edit by hand may be.
pub const LIMITS: Limits = Limits {
    files: 50_000,
    bytes: 512 << 20,
};

/// Why files could not be put into a folder or taken out of one.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The disk said no.
    #[error("cannot {doing} {path}")]
    Io {
        /// With a verb.
        doing: &'static str,
        /// The file or folder.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// More than the limits.
    #[error("{path} holds more than {files} files or {bytes} bytes")]
    TooMuch {
        /// The folder.
        path: String,
        /// The limit.
        files: usize,
        /// The limit.
        bytes: u64,
    },
    /// A socket, a pipe or a device, or a name that no path can have.
    #[error("{path} cannot be taken over: {why}")]
    Odd {
        /// Where.
        path: String,
        /// What is wrong with it.
        why: String,
    },
}

impl FolderError {
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::Io {
            doing,
            path,
            source,
        }
    }
}

/// What is left of the limits.
pub(super) struct Budget {
    limits: Limits,
    files: usize,
    bytes: u64,
}

impl Budget {
    pub fn new(limits: Limits) -> Self {
        let Limits { files, bytes } = limits;
        Self {
            limits,
            files,
            bytes,
        }
    }

    /// One more file of that size.
    pub fn take(&mut self, at: &Path, bytes: u64) -> Result<(), FolderError> {
        match (self.files.checked_sub(1), self.bytes.checked_sub(bytes)) {
            (Some(files), Some(left)) => {
                self.files = files;
                self.bytes = left;
                Ok(())
            }
            _ => Err(FolderError::TooMuch {
                path: at.display().to_string(),
                files: self.limits.files,
                bytes: self.limits.bytes,
            }),
        }
    }
}

/// A folder of our own. It is removed when this is dropped; should the process be killed, the next one does it.
pub struct Folder {
    path: PathBuf,
    lock: PathBuf,
    /// Held as long as the folder is in use; the system lets go of it when the process ends, however that happens.
    _held: File,
}

impl Folder {
    /// A new one in `root`, which is made if needed. Blocking.
    pub fn make(root: &Path) -> Result<Self, FolderError> {
        let private = |path: &Path, recursive| {
            let mut builder = DirBuilder::new();
            builder.mode(0o700).recursive(recursive).create(path)
        };
        private(root, true).map_err(FolderError::io("make the folder", root))?;
        loop {
            let made = tempfile::Builder::new()
                .prefix("run-")
                .suffix(".lock")
                .tempfile_in(root)
                .map_err(FolderError::io("make a file in", root))?;
            let (held, lock) = made.keep().map_err(|error| FolderError::Io {
                doing: "keep a file in",
                path: root.display().to_string(),
                source: error.error,
            })?;
            let locked = flock(&held, FlockOperation::NonBlockingLockExclusive).is_ok();
            // Somebody who sweeps may have taken the lock for a dead one's.
            if locked && held.metadata().is_ok_and(|about| about.nlink() > 0) {
                let path = lock.with_extension("");
                private(&path, false).map_err(FolderError::io("make the folder", &path))?;
                return Ok(Self {
                    path,
                    lock,
                    _held: held,
                });
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A directory in it, made if needed.
    pub fn dir(&self, name: &str) -> Result<PathBuf, FolderError> {
        let path = self.path.join(name);
        fs::create_dir_all(&path).map_err(FolderError::io("make the folder", &path))?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        remove(&self.path, &self.lock);
    }
}

/// The folder first: without its lock it would still be known for garbage.
fn remove(path: &Path, lock: &Path) {
    let folder = fs::remove_dir_all(path).or_else(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => {
            make_writable(path);
            fs::remove_dir_all(path)
        }
        _ => Err(error),
    });
    for done in [folder, fs::remove_file(lock)] {
        if let Err(error) = done.or_else(absent_is_fine) {
            tracing::warn!(folder = %path.display(), %error, "a folder could not be removed");
        }
    }
}

/// What a program has made read-only cannot be removed as it is.
fn make_writable(dir: &Path) {
    // What does not work here shows when the folder cannot be removed.
    let _ = fs::set_permissions(dir, Permissions::from_mode(0o700));
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_writable(&entry.path());
        }
    }
}

fn absent_is_fine(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    }
}

/// Removes the folders in `root` whose processes are gone, and says how many. Blocking.
pub fn sweep(root: &Path) -> usize {
    let names = |root: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(root).into_iter().flatten();
        entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect()
    };
    let mut removed = 0;
    let all = names(root);
    for path in &all {
        let dead = if path.extension().is_some_and(|end| end == "lock") {
            let open = OpenOptions::new().write(true).open(path);
            open.is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok())
        } else {
            !path.with_extension("lock").exists()
        };
        if dead {
            let folder = path.with_extension("");
            removed += usize::from(folder.is_dir());
            remove(&folder, &folder.with_extension("lock"));
        }
    }
    removed
}

/// A file or link that a program made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// From the folder that was read.
    pub path: RepoPath,
    /// Its content, or a link's target.
    pub bytes: Vec<u8>,
    /// File, Executable or Link.
    pub mode: Mode,
}

/// Everything below `dir`, in the order of paths; links are not followed. Blocking.
pub fn read(dir: &Path, limits: Limits) -> Result<Vec<Made>, FolderError> {
    let mut made = Vec::new();
    let mut budget = Budget::new(limits);
    let mut dirs = vec![(dir.to_owned(), RepoPath::root())];
    while let Some((dir, at)) = dirs.pop() {
        let listed = fs::read_dir(&dir).map_err(FolderError::io("read", &dir))?;
        for entry in listed {
            let entry = entry.map_err(FolderError::io("read", &dir))?;
            let path = entry.path();
            let odd = |why: String| FolderError::Odd {
                path: path.display().to_string(),
                why,
            };
            let name = entry.file_name();
            let name = name
                .to_str()
                .ok_or_else(|| odd("its name is not UTF-8".into()))?;
            let inner = at.child(name).map_err(|error| odd(error.to_string()))?;
            let about = entry.metadata().map_err(FolderError::io("read", &path))?;
            if about.is_dir() {
                dirs.push((path, inner));
                continue;
            }
            budget.take(&path, about.len())?;
            let (bytes, mode) = if about.is_symlink() {
                use std::os::unix::ffi::OsStringExt;
                let target = fs::read_link(&path).map_err(FolderError::io("read", &path))?;
                (target.into_os_string().into_vec(), Mode::Link)
            } else if about.is_file() {
                let runs = about.mode() & 0o100 != 0;
                let mode = if runs { Mode::Executable } else { Mode::File };
                (content(&path, about.len())?, mode)
            } else {
                return Err(odd("it is no file, directory or link".into()));
            };
            made.push(Made {
                path: inner,
                bytes,
                mode,
            });
        }
    }
    made.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(made)
}

/// At most the size that was counted, of the very file that was looked at: not of what a link leads to.
fn content(path: &Path, size: u64) -> Result<Vec<u8>, FolderError> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut bytes = Vec::new();
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
        .and_then(|file| file.take(size).read_to_end(&mut bytes))
        .map_err(FolderError::io("read", path))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
