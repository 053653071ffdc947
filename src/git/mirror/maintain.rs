//! Keeping a mirror small in files: our own maintenance, since git's would run when it likes.

use std::{fs, path::Path};

use super::{FetchError, Mirror};
use crate::git::{
    command::{Call, args},
    credentials::Prepared,
    transport::{RemoteError, Trouble},
};

/// Loose objects that lookups and directories bear well.
const LOOSE: usize = 4000;
/// Packs that every lookup of an absent object goes through.
const PACKS: usize = 40;

impl Mirror {
    /// Rolls loose objects and small packs up, where there are many; says whether it did. Nothing is
    /// pruned: a promotion's objects are unreachable until they are pinned.
    pub async fn maintain(&self) -> Result<bool, FetchError> {
        let path = self.path.clone();
        let due = super::blocking("counting a mirror's files", move || Ok(is_due(&path))).await?;
        if !due {
            return Ok(false);
        }
        let _depth = self.depth.lock().await;
        let call = Call {
            verb: "repack",
            args: args(["--geometric=2", "-d", "-l", "-q", "--no-write-bitmap-index"]),
            repository: Some(&self.path),
            login: Prepared::default(),
            deadline: None,
        };
        let failed = |words: String, source| RemoteError {
            doing: "repacking the mirror of".to_owned(),
            url: self.remote.url.to_string(),
            trouble: Trouble::Program,
            words,
            source,
        };
        match self.remote.git.run(call).await {
            Ok(said) if said.success => Ok(true),
            Ok(said) => Err(failed(said.stderr.trim().to_owned(), None).into()),
            Err(why) => Err(failed(why.to_string(), Some(why)).into()),
        }
    }
}

/// Object ids are spread evenly, so one folder of 256 stands for all.
fn is_due(mirror: &Path) -> bool {
    let count =
        |folder: &str| fs::read_dir(mirror.join("objects").join(folder)).map_or(0, Iterator::count);
    let packs = fs::read_dir(mirror.join("objects/pack"))
        .into_iter()
        .flatten()
        .flatten();
    let packs = packs
        .filter(|entry| entry.path().extension().is_some_and(|e| e == "pack"))
        .count();
    count("17") * 256 > LOOSE || packs > PACKS
}
