//! Reading: formats by content, everything counted before it is kept, and no name that leads anywhere else.

use std::{
    cell::Cell,
    io::{self, Read},
    rc::Rc,
};

use flate2::read::MultiGzDecoder;
use tar::{Archive, Entry, EntryType};

use super::{ArchiveError, Content, Entries, FILE_MAX, TOTAL_MAX};
use crate::git::path::RepoPath;

/// How much an archive may be.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of one file.
    pub file: u64,
    /// Bytes of all files.
    pub total: u64,
    /// Entries, of whatever kind.
    pub entries: usize,
    /// How many times the compressed size the whole may be, beyond the first megabyte.
    pub ratio: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file: FILE_MAX,
            total: TOTAL_MAX,
            entries: 50_000,
            ratio: 250,
        }
    }
}

/// What an archive gave.
#[derive(Debug, Default)]
pub struct Unpacked {
    /// Directories, files and links by path; of two with one path the later counts.
    pub entries: Entries,
    /// Names that were left out, each with the reason.
    pub left_out: Vec<(String, &'static str)>,
}

const BEGINNINGS: [(&[u8], &str); 6] = [
    (b"BZh", "compressed with bzip2"),
    (b"\xfd7zXZ\0", "compressed with xz"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd"),
    (b"PK\x03\x04", "a zip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x04\x22\x4d\x18", "compressed with lz4"),
];
const GZIP: &[u8] = &[0x1f, 0x8b];

/// The path that an archive's name stands for; none where it is written in a way that could lead elsewhere.
///
/// `./x`, which `tar c .` writes, is `x`.
pub fn safe_name(name: &str) -> Option<RepoPath> {
    let plain = name.trim_start_matches("./");
    let unsafe_part = |part: &str| part == "." || part == "..";
    if plain.starts_with('/') || plain.contains('\\') || plain.split('/').any(unsafe_part) {
        return None;
    }
    RepoPath::parse(plain).ok()
}

/// Unpacks into memory. `strip` is the number of leading parts that each name loses.
pub fn read(bytes: &[u8], strip: u64, limits: Limits) -> Result<Unpacked, ArchiveError> {
    if bytes.is_empty() {
        return Err(ArchiveError::Empty);
    }
    // A tar archive begins with a name, which may look like anything.
    let is_tar = bytes.get(257..262) == Some(b"ustar");
    if let Some((_, format)) = BEGINNINGS
        .iter()
        .find(|(start, _)| !is_tar && bytes.starts_with(start))
    {
        return Err(ArchiveError::Format(format));
    }
    if bytes.starts_with(GZIP) && !is_tar {
        let most = (bytes.len() as u64)
            .saturating_mul(limits.ratio)
            .saturating_add(1 << 20);
        unpack(MultiGzDecoder::new(bytes), most, strip, limits)
    } else {
        unpack(bytes, u64::MAX, strip, limits)
    }
}

/// Counts what it hands on and ends in an error where that is too much.
struct Counted<R> {
    from: R,
    left: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(into)? as u64;
        match self.left.get().checked_sub(count) {
            Some(left) => self.left.set(left),
            None => {
                self.left.set(0);
                return Err(io::Error::other("too much"));
            }
        }
        Ok(count as usize)
    }
}

fn unpack(
    from: impl Read,
    by_ratio: u64,
    strip: u64,
    limits: Limits,
) -> Result<Unpacked, ArchiveError> {
    // Headers and padding take part: 2 KiB for an entry, and names in front of entries may be long.
    let by_size = limits.total.saturating_add(limits.entries as u64 * 2048);
    let left = Rc::new(Cell::new(by_ratio.min(by_size)));
    let counted = Counted {
        from,
        left: Rc::clone(&left),
    };
    let failed = |error: io::Error| match left.get() {
        0 if by_ratio < by_size => ArchiveError::Bomb(limits.ratio),
        0 => ArchiveError::Large(limits.total),
        _ => ArchiveError::Damaged(error),
    };
    let mut archive = Archive::new(counted);
    let (mut unpacked, mut total, mut seen) = (Unpacked::default(), 0_u64, 0_usize);
    for entry in archive.entries().map_err(failed)? {
        let mut entry = entry.map_err(failed)?;
        seen += 1;
        if seen > limits.entries {
            return Err(ArchiveError::Many(limits.entries));
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let Some(path) = wanted(&entry, &name, strip, &mut unpacked) else {
            continue;
        };
        let content = match kind(&entry, &name) {
            EntryType::Directory => Content::Dir,
            EntryType::Symlink => match link(&entry) {
                Some(target) => Content::Link(target),
                None => {
                    unpacked.left_out.push((name, "the link leads out"));
                    continue;
                }
            },
            _ => {
                let size = entry.size();
                if size > limits.file {
                    return Err(ArchiveError::LargeFile {
                        name,
                        limit: limits.file,
                    });
                }
                total = total.saturating_add(size);
                if total > limits.total {
                    return Err(ArchiveError::Large(limits.total));
                }
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes).map_err(failed)?;
                if (bytes.len() as u64) < size {
                    return Err(ArchiveError::Damaged(io::ErrorKind::UnexpectedEof.into()));
                }
                let executable = entry.header().mode().is_ok_and(|mode| mode & 0o100 != 0);
                Content::File { bytes, executable }
            }
        };
        // A directory that is named again changes nothing.
        if content != Content::Dir || !unpacked.entries.contains_key(&path) {
            unpacked.entries.insert(path, content);
        }
    }
    blocked(&unpacked.entries)?;
    Ok(unpacked)
}

/// An old archive writes a directory as a file whose name ends in a slash.
fn kind<R: Read>(entry: &Entry<'_, R>, name: &str) -> EntryType {
    match entry.header().entry_type() {
        EntryType::Regular if name.ends_with('/') => EntryType::Directory,
        kind => kind,
    }
}

/// Where an entry goes; none where it is left out.
fn wanted<R: Read>(
    entry: &Entry<'_, R>,
    name: &str,
    strip: u64,
    unpacked: &mut Unpacked,
) -> Option<RepoPath> {
    let mut leave_out = |why| unpacked.left_out.push((name.to_owned(), why));
    match kind(entry, name) {
        EntryType::Regular | EntryType::Directory | EntryType::Symlink => {}
        EntryType::XGlobalHeader => return None,
        EntryType::Link => {
            leave_out("it is a hard link");
            return None;
        }
        EntryType::Char | EntryType::Block | EntryType::Fifo => {
            leave_out("it is a device or a pipe");
            return None;
        }
        _ => {
            leave_out("it is of a kind that is not supported");
            return None;
        }
    }
    let strip = usize::try_from(strip).unwrap_or(usize::MAX);
    let parts: Vec<&str> = name.split('/').collect();
    let rest = parts.get(strip..).unwrap_or_default().join("/");
    // Stripping takes whole entries along, as tar does; `./` is the directory itself.
    if rest.trim_start_matches("./").trim_matches('/').is_empty() || rest == "." {
        return None;
    }
    let path = safe_name(&rest).filter(|path| !path.is_root());
    if path.is_none() {
        leave_out("its name leads out, or is not safe");
    }
    path
}

/// A link's target, if it is as safe as a name: then it also stays inside, whatever directory it is in.
fn link<R: Read>(entry: &Entry<'_, R>) -> Option<Vec<u8>> {
    let target = entry.link_name_bytes()?.into_owned();
    let text = std::str::from_utf8(&target).ok()?;
    if text.starts_with("./") {
        return None;
    }
    safe_name(text).map(|_| target)
}

fn blocked(entries: &Entries) -> Result<(), ArchiveError> {
    for below in entries.keys() {
        let above = below.ancestors().find(|dir| {
            matches!(
                entries.get(dir),
                Some(Content::File { .. } | Content::Link(_))
            )
        });
        if let Some(above) = above {
            return Err(ArchiveError::Blocked {
                above: above.to_string(),
                below: below.to_string(),
            });
        }
    }
    Ok(())
}
