//! Writing: names in order, one time for all, nobody's files.

use std::{
    ffi::OsStr,
    io::{self, Write},
    os::unix::ffi::OsStrExt,
    path::Path,
};

use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

use super::{ArchiveError, Content, Entries, FILE_MAX, TOTAL_MAX};
use crate::git::path::RepoPath;

/// 1980, the first day that every archive format knows.
const WHEN: u64 = 315_532_800;
/// In a gzip header: the system is not said.
const NO_SYSTEM: u8 = 255;

/// The archive of these entries: the same entries give the same bytes.
pub fn write(entries: &Entries, gzip: bool) -> Result<Vec<u8>, ArchiveError> {
    let mut total = 0_u64;
    for (path, content) in entries {
        let Content::File { bytes, .. } = content else {
            continue;
        };
        let size = bytes.len() as u64;
        if size > FILE_MAX {
            return Err(ArchiveError::LargeFile {
                name: path.to_string(),
                limit: FILE_MAX,
            });
        }
        total += size;
    }
    if total > TOTAL_MAX {
        return Err(ArchiveError::Large(TOTAL_MAX));
    }
    if gzip {
        let encoder = GzBuilder::new()
            .mtime(0)
            .operating_system(NO_SYSTEM)
            .write(Vec::new(), Compression::default());
        let encoder = tar(entries, encoder).map_err(ArchiveError::Unwritable)?;
        encoder.finish().map_err(ArchiveError::Unwritable)
    } else {
        tar(entries, Vec::new()).map_err(ArchiveError::Unwritable)
    }
}

fn tar<W: Write>(entries: &Entries, to: W) -> io::Result<W> {
    let mut builder = Builder::new(to);
    // Kargo walks directories: what is in one follows it, before its neighbours whose names only begin like it.
    let mut ordered: Vec<(&RepoPath, &Content)> = entries.iter().collect();
    ordered.sort_by(|(a, _), (b, _)| a.parts().cmp(b.parts()));
    for (path, content) in ordered {
        let path = path.as_git();
        match content {
            Content::Dir => {
                let mut header = header(EntryType::Directory, 0o755, 0);
                builder.append_data(&mut header, format!("{path}/"), io::empty())?;
            }
            Content::File { bytes, executable } => {
                let mode = if *executable { 0o755 } else { 0o644 };
                let mut header = header(EntryType::Regular, mode, bytes.len() as u64);
                builder.append_data(&mut header, path, bytes.as_slice())?;
            }
            Content::Link(target) => {
                let mut header = header(EntryType::Symlink, 0o777, 0);
                builder.append_link(&mut header, path, Path::new(OsStr::from_bytes(target)))?;
            }
        }
    }
    builder.into_inner()
}

fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(WHEN);
    header.set_uid(0);
    header.set_gid(0);
    header
}
