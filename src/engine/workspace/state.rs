//! The workspace as it is journalled: ids and paths, nothing that needs a repository to be opened.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::engine::step::{Origin, Person};
use crate::git::{
    branch::BranchName,
    id::{CommitId, TagId, TreeId},
    path::RepoPath,
    rebase::Access,
    tag::TagName,
};

pub use crate::git::mirror::MirrorKey;

/// Everything a promotion works on, between two steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceState {
    /// The checkouts; no two overlap.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<Mount>,
    /// The files outside any checkout, in the scratch repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loose: Option<TreeId>,
}

/// One checkout: a branch's tree at a path, with what was done to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mount {
    /// Where in the workspace.
    pub path: RepoPath,
    /// The repository as the clone step wrote it.
    pub repo_url: String,
    /// Whether any certificate of its host will do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skips_tls: bool,
    /// The mirror that has its objects.
    pub mirror: MirrorKey,
    /// None for a checkout of a commit or tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<BranchName>,
    /// Whether the branch may be made by the first push.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub create: bool,
    /// Who its commits are by, where the clone step says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Person>,
    /// What it was made from; none for a branch that does not exist yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<CommitId>,
    /// Made on top of the base and not landed, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<CommitId>,
    /// Its tags, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<TagName, Tagged>,
    /// The head as it landed on a branch that is not this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<CommitId>,
    /// The files as they are now, committed or not.
    pub tree: TreeId,
    /// What was read and written since the base.
    #[serde(default, skip_serializing_if = "Access::is_empty")]
    pub access: Access,
}

/// A tag that was made in a checkout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tagged {
    /// The tag's own object.
    pub id: TagId,
    /// What it names.
    pub commit: CommitId,
}

impl Mount {
    /// The repository, and how it is spoken to.
    pub fn origin(&self) -> Origin<'_> {
        Origin {
            url: &self.repo_url,
            skips_tls: self.skips_tls,
        }
    }

    /// The last commit: ours, or the base; none on a branch without commits.
    pub fn head(&self) -> Option<&CommitId> {
        self.commits.last().or(self.base.as_ref())
    }
}

/// An object that has to outlive maintenance as long as a state names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pinned {
    /// The mirror that it is in.
    pub mirror: MirrorKey,
    /// A commit, a tree or a tag.
    pub id: String,
}

impl WorkspaceState {
    /// What to pin in the mirrors before this state is journalled. The loose tree is in the scratch
    /// repository, where nothing is ever collected.
    pub fn pinned(&self) -> Vec<Pinned> {
        let of = |mount: &Mount| {
            let bulk: Vec<&str> = mount.access.bulk().map(|(_, tree)| tree.as_str()).collect();
            let head = mount.head().map(CommitId::as_str);
            let base = mount.base.as_ref().map(CommitId::as_str);
            let elsewhere = mount.elsewhere.as_ref().map(CommitId::as_str);
            let tags = mount.tags.values().map(|tag| tag.id.as_str());
            let ids = [Some(mount.tree.as_str()), head, base, elsewhere]
                .into_iter()
                .flatten()
                .chain(tags)
                .chain(bulk);
            ids.filter(|id| *id != TreeId::empty().as_str())
                .map(|id| Pinned {
                    mirror: mount.mirror.clone(),
                    id: id.to_owned(),
                })
                .collect::<Vec<_>>()
        };
        let mut pinned: Vec<Pinned> = self.mounts.iter().flat_map(of).collect();
        pinned.sort();
        pinned.dedup();
        pinned
    }
}

/// Where the repositories are on this machine.
pub trait MirrorPaths {
    /// The bare repository of a mirror; none when it is gone.
    fn path(&self, key: &MirrorKey) -> Option<PathBuf>;
    /// Where the files outside any checkout are kept; it is created when first needed, and never collected.
    fn scratch(&self) -> PathBuf;
    /// Where real folders are made for programs that need files; beside the scratch repository.
    fn folders(&self) -> PathBuf {
        self.scratch().with_file_name("folders")
    }
}
