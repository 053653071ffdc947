//! What keeps a promotion's objects: refs `refs/tidewaiter/<promotion uid>/<name>` in the mirrors, and `fetched/<uid>`
//! beside them for what came from elsewhere.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
};

use super::{MirrorError, open::io_error};

fn failed(doing: String, path: &Path) -> impl FnOnce(git2::Error) -> MirrorError {
    let path = path.display().to_string();
    move |source| MirrorError::Objects {
        doing,
        path,
        source,
    }
}

pub fn pin(repository: &Path, uid: &str, name: &str, id: &str) -> Result<(), MirrorError> {
    let set = || {
        let id = git2::Oid::from_str(id)?;
        let repository = git2::Repository::open_bare(repository)?;
        repository
            .reference(&format!("refs/tidewaiter/{uid}/{name}"), id, true, "")
            .map(drop)
    };
    set().map_err(failed(format!("pinning {id}"), repository))
}

pub fn unpin_all(repository: &Path, uid: &str) -> Result<(), MirrorError> {
    let clear = || {
        let opened = git2::Repository::open_bare(repository)?;
        for found in opened.references_glob(&format!("refs/tidewaiter/{uid}/*"))? {
            found?.delete()?;
        }
        Ok(())
    };
    clear().map_err(failed(
        format!("unpinning the objects of {uid}"),
        repository,
    ))
}

/// The promotions whose objects are kept.
pub fn promotions(repository: &Path) -> Result<BTreeSet<String>, MirrorError> {
    let look = || {
        let opened = git2::Repository::open_bare(repository)?;
        let mut uids = BTreeSet::new();
        for name in opened.references_glob("refs/tidewaiter/*")?.names() {
            uids.extend(name?.split('/').nth(2).map(str::to_owned));
        }
        Ok(uids)
    };
    look().map_err(failed("listing pinned objects".to_owned(), repository))
}

/// Where a promotion's fetched content is, below the directory of mirrors.
pub fn fetched(root: &Path, uid: &str) -> PathBuf {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let name: String = uid
        .chars()
        .map(|c| if plain(c) { c } else { '_' })
        .collect();
    root.join("fetched").join(name)
}

/// Removes the content at a place of [`fetched`]; none there is fine.
pub fn forget_fetched(at: &Path) -> Result<(), MirrorError> {
    match std::fs::remove_dir_all(at) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(io_error("removing", at)(error))
        }
        _ => Ok(()),
    }
}

/// Removes the content of all promotions but these.
pub fn forget_fetched_but(root: &Path, kept: &BTreeSet<String>) -> Result<(), MirrorError> {
    let kept: BTreeSet<PathBuf> = kept.iter().map(|uid| fetched(root, uid)).collect();
    let all = root.join("fetched");
    let entries = match std::fs::read_dir(&all) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(io_error("listing", &all))?,
    };
    for entry in entries {
        let path = entry.map_err(io_error("listing", &all))?.path();
        if !kept.contains(&path) {
            forget_fetched(&path)?;
        }
    }
    Ok(())
}
