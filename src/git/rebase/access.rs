//! What steps read and wrote of one branch: what has to be unchanged at the tip for their result to hold there.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::git::{id::TreeId, path::RepoPath};

/// The paths, relative to the branch's root, that steps read and wrote since the base.
///
/// Values are not kept: whether a path changed is asked of base and tip themselves. A path that was not there
/// is a path that was read. What a step reads after it was written here is not a read of the base.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// Files by content and mode, directories with all that is below them (listings, globs, materialised folders).
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    reads: BTreeSet<RepoPath>,
    /// Paths of which only the kind (file, directory, link, nothing) was asked.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    looks: BTreeSet<RepoPath>,
    /// Single paths that were written or removed, also where that left them as they were.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    writes: BTreeSet<RepoPath>,
    /// Each file of this tree, at this path, was written or removed at once: by a copy or by git-clear.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    bulk: BTreeSet<(RepoPath, TreeId)>,
}

/// More single paths than this are kept as the directories that they are in: coarser, never wrong.
const READS_KEPT: usize = 256;

/// More single writes than this are kept as a tree.
const WRITES_KEPT: usize = 256;

impl Access {
    /// Nothing read or written.
    pub fn new() -> Self {
        Self::default()
    }

    /// The file, or the directory with all that is below it, was read (or found to be absent).
    pub fn read(&mut self, path: &RepoPath) {
        if self.writes.contains(path) || self.covered(path) {
            return;
        }
        self.reads.insert(path.clone());
        if self.reads.len() > READS_KEPT {
            self.coarsen();
        }
    }

    /// What kind of thing is at the path was asked, not what is in it.
    pub fn look(&mut self, path: &RepoPath) {
        if !path.is_root() && !self.writes.contains(path) && !self.covered(path) {
            self.looks.insert(path.clone());
        }
        if self.looks.len() > READS_KEPT {
            self.reads.append(&mut self.looks);
            self.coarsen();
        }
    }

    /// The path was written or removed.
    pub fn write(&mut self, path: &RepoPath) {
        self.writes.insert(path.clone());
    }

    /// Every file of `tree`, taken to be at `at`, was written or removed.
    pub fn write_all(&mut self, at: &RepoPath, tree: &TreeId) {
        self.bulk.insert((at.clone(), tree.clone()));
    }

    /// The single writes, once there are too many to be journalled one by one: to be made into a tree with a file
    /// at each of them, for [`Access::fold`].
    pub fn crowded(&self) -> Option<Vec<RepoPath>> {
        (self.writes.len() > WRITES_KEPT).then(|| self.writes.iter().cloned().collect())
    }

    /// Keeps the single writes as the files of `tree`, from the root.
    pub fn fold(&mut self, tree: &TreeId) {
        self.writes.clear();
        self.write_all(&RepoPath::root(), tree);
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What was read with its content, and whole directories.
    pub fn reads(&self) -> impl Iterator<Item = &RepoPath> {
        self.reads.iter()
    }

    /// What was only looked at.
    pub fn looks(&self) -> impl Iterator<Item = &RepoPath> {
        self.looks.iter()
    }

    /// What was written or removed by name.
    pub fn writes(&self) -> impl Iterator<Item = &RepoPath> {
        self.writes.iter()
    }

    /// What was written or removed as a whole.
    pub fn bulk(&self) -> impl Iterator<Item = (&RepoPath, &TreeId)> {
        self.bulk.iter().map(|(at, tree)| (at, tree))
    }

    fn covered(&self, path: &RepoPath) -> bool {
        self.reads.contains(path) || path.ancestors().any(|dir| self.reads.contains(&dir))
    }

    /// Replaces the reads below one directory by a read of it: the deepest one with a quarter of them or more.
    fn coarsen(&mut self) {
        let mut dirs: BTreeMap<RepoPath, usize> = BTreeMap::new();
        for dir in self.reads.iter().flat_map(RepoPath::ancestors) {
            *dirs.entry(dir).or_default() += 1;
        }
        let enough = self.reads.len() / 4;
        let full = dirs.into_iter().filter(|(_, count)| *count >= enough);
        if let Some((dir, _)) = full.max_by_key(|(dir, _)| dir.parts().count()) {
            self.reads.retain(|path| path.below(&dir).is_none());
            self.looks.retain(|path| path.below(&dir).is_none());
            self.reads.insert(dir);
        }
    }
}
