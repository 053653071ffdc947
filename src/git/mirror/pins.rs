//! Refs that keep a promotion's objects: `refs/tidewaiter/<promotion uid>/<name>`.

use std::{collections::BTreeSet, path::Path};

use super::MirrorError;

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
