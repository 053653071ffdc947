//! Tar archives as values: written so that the same files give the same bytes, read as if somebody meant harm.

mod read;
mod write;

use std::collections::BTreeMap;

use crate::git::path::RepoPath;

pub use read::{Limits, Unpacked, read, safe_name};
pub use write::write;

/// The most that a file in an archive may have, in bytes; Kargo's number.
pub const FILE_MAX: u64 = 50 << 20;
/// The most that all files of an archive may have together, in bytes; Kargo's number.
pub const TOTAL_MAX: u64 = 100 << 20;

/// What an archive holds under one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A directory.
    Dir,
    /// A file.
    File {
        /// Its content.
        bytes: Vec<u8>,
        /// Whether its owner may run it: all that git keeps of a mode.
        executable: bool,
    },
    /// A symbolic link to this.
    Link(Vec<u8>),
}

/// An archive's entries by path.
pub type Entries = BTreeMap<RepoPath, Content>;

/// Why there is no archive, or no entries.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// Another format, known by its first bytes.
    #[error("it is {0}, which is not supported: only tar, plain or compressed with gzip, is")]
    Format(&'static str),
    /// Nothing at all.
    #[error("it is empty")]
    Empty,
    /// Not what it seems to be, or cut off.
    #[error("it is damaged, or not a tar archive")]
    Damaged(#[source] std::io::Error),
    /// One file is larger than allowed.
    #[error(
        "file {name} exceeds size limit of {limit} bytes: it exceeds the maximum allowed single file size"
    )]
    LargeFile {
        /// As written in the archive.
        name: String,
        /// In bytes.
        limit: u64,
    },
    /// All files together are larger than allowed.
    #[error(
        "total size would exceed limit of {0} bytes: the files exceed the maximum allowed size together"
    )]
    Large(u64),
    /// More entries than allowed.
    #[error("it has more than {0} entries")]
    Many(usize),
    /// It grows more than files of people do.
    #[error("it grows more than {0} times when it is unpacked")]
    Bomb(u64),
    /// A file and a directory, or a link and what is below it, with one path.
    #[error("{above} is not a directory in it, and yet {below} is in that")]
    Blocked {
        /// The file or link.
        above: String,
        /// The entry below.
        below: String,
    },
    /// The archive could not be put together.
    #[error("it cannot be written")]
    Unwritable(#[source] std::io::Error),
}
