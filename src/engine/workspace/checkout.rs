//! Checkouts: mount, clear, commit, and move onto what was landed.

use std::collections::BTreeMap;

use super::{
    MirrorKey, MirrorPaths, Mount, Owner, Workspace, WorkspaceError, dotfiles::Committable,
    open_mirror,
};
use crate::git::{
    branch::BranchName,
    commit::{HeaderKey, NewCommit, Person},
    id::{CommitId, TreeId},
    path::RepoPath,
    rebase::{Access, Fitted, fit},
    tree::{Found, edit::Edits},
};

/// A branch, commit or tag to be mounted, fetched already.
#[derive(Clone, Debug)]
pub struct Checkout {
    /// Where in the workspace.
    pub path: RepoPath,
    /// The repository as the step wrote it.
    pub repo_url: String,
    /// Whether any certificate of its host will do.
    pub skips_tls: bool,
    /// The mirror that has `base`.
    pub mirror: MirrorKey,
    /// None for a commit or tag.
    pub branch: Option<BranchName>,
    /// Whether the first push may make the branch.
    pub create: bool,
    /// Who its commits are by, unless git-commit says otherwise.
    pub author: Option<crate::engine::step::Person>,
    /// The commit; none for a branch that does not exist yet.
    pub base: Option<CommitId>,
}

/// A commit that a step asks for.
#[derive(Clone, Debug)]
pub struct CommitRequest<'a> {
    /// As written; cleaned as `git commit -m` does.
    pub message: &'a str,
    /// Author and committer, as in Kargo.
    pub author: &'a Person,
    /// When the step started (journalled), in seconds since 1970: the author's date.
    pub when: i64,
    /// Promotion and step, by which the commit is found on the branch.
    pub header: Option<&'a HeaderKey>,
}

/// What became of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitOutcome {
    /// It was made.
    Made {
        /// The commit.
        id: CommitId,
        /// How many files it changes.
        files: usize,
    },
    /// The files are those of the head, which is this (none on a branch without commits).
    NothingToCommit(Option<CommitId>),
}

impl Workspace {
    /// Mounts a checkout where nothing is yet.
    pub fn mount(
        &mut self,
        checkout: Checkout,
        paths: &dyn MirrorPaths,
    ) -> Result<(), WorkspaceError> {
        self.free_for_mount(&checkout.path)?;
        if !self.mirrors.contains_key(&checkout.mirror) {
            let objects = open_mirror(&checkout.mirror, &checkout.repo_url, paths)?;
            self.mirrors.insert(checkout.mirror.clone(), objects);
        }
        let Checkout {
            path,
            repo_url,
            skips_tls,
            mirror,
            branch,
            create,
            author,
            base,
        } = checkout;
        let tree = match self.mirrors.get(&mirror) {
            Some(objects) => objects.tree_of(base.as_ref())?,
            None => return Err(WorkspaceError::MirrorGone { repo_url }),
        };
        let access = Access::new();
        self.state.mounts.push(Mount {
            path,
            repo_url,
            skips_tls,
            mirror,
            branch,
            create,
            author,
            base,
            commits: Vec::new(),
            tags: BTreeMap::new(),
            elsewhere: None,
            tree,
            access,
        });
        Ok(())
    }

    fn free_for_mount(&self, path: &RepoPath) -> Result<(), WorkspaceError> {
        let occupied = |by: String| {
            Err(WorkspaceError::Occupied {
                path: path.to_string(),
                by,
            })
        };
        let overlaps =
            |mount: &&Mount| path.below(&mount.path).is_some() || mount.path.below(path).is_some();
        if let Some(other) = self.state.mounts.iter().find(overlaps) {
            return occupied(format!("the checkout at {}", other.path));
        }
        let place = self.locate(path);
        match self.find(&place)? {
            Found::Node(node) if !(path.is_root() && node.tree_id() == Some(TreeId::empty())) => {
                occupied(format!("what is at {path}"))
            }
            Found::Blocked { depth, .. } => occupied(place.leading(depth).to_string()),
            Found::Node(_) | Found::Absent => Ok(()),
        }
    }

    /// The checkout whose root the path is, through links.
    pub fn checkout(&mut self, path: &RepoPath) -> Result<&Mount, WorkspaceError> {
        let at = self.checkout_at(path)?;
        self.state
            .mounts
            .get(at)
            .ok_or_else(|| WorkspaceError::NotCheckout {
                path: path.to_string(),
            })
    }

    pub(super) fn checkout_at(&mut self, path: &RepoPath) -> Result<usize, WorkspaceError> {
        let place = self.resolve(path, true)?.place;
        match place.owner {
            Owner::Mount(at) if place.path.is_root() => Ok(at),
            _ => Err(WorkspaceError::NotCheckout {
                path: path.to_string(),
            }),
        }
    }

    /// Removes all files of a checkout but new ones that are ignored, as `git add . && git rm -r .` does.
    /// Only what is removed counts as touched: what others added to the branch stays.
    pub fn clear(&mut self, path: &RepoPath) -> Result<(), WorkspaceError> {
        let at = self.checkout_at(path)?;
        let Committable {
            tree: removed,
            ignored,
        } = self.committable(at)?;
        let mut left = Edits::new();
        for (path, node) in ignored {
            left.put(&path, Some(node));
        }
        let tree = self
            .opened(Owner::Mount(at))?
            .edit(&TreeId::empty(), &left)?;
        if let Some(mount) = self.state.mounts.get_mut(at) {
            mount.tree = tree;
            mount.access.write_all(&RepoPath::root(), &removed);
        }
        Ok(())
    }

    /// Commits a checkout's files on its head; new files that are ignored are left out, as by `git add .`.
    pub fn commit(
        &mut self,
        path: &RepoPath,
        request: &CommitRequest<'_>,
    ) -> Result<CommitOutcome, WorkspaceError> {
        let at = self.checkout_at(path)?;
        let tree = self.committable(at)?.tree;
        let objects = self.opened(Owner::Mount(at))?;
        let head = self
            .state
            .mounts
            .get(at)
            .and_then(|mount| mount.head().cloned());
        let old = objects.tree_of(head.as_ref())?;
        if old == tree {
            return Ok(CommitOutcome::NothingToCommit(head));
        }
        let files = objects.changes(&old, &tree)?.len();
        let new = NewCommit {
            parent: head.as_ref(),
            tree: &tree,
            message: request.message,
            author: request.author,
            author_time: request.when,
            committer: request.author,
            header: request.header,
        };
        let made = objects
            .make_commit(&new)
            .map_err(|source| WorkspaceError::Commit {
                path: path.to_string(),
                source,
            })?;
        if let Some(mount) = self.state.mounts.get_mut(at) {
            mount.commits.push(made.clone());
            mount.elsewhere = None;
        }
        Ok(CommitOutcome::Made { id: made, files })
    }

    /// The checkout's commits are on the branch as (or below) `head`: it goes on from there, with nothing read or
    /// written yet. Files changed since the last commit are carried along where `head` did not touch them.
    pub fn landed(&mut self, path: &RepoPath, head: &CommitId) -> Result<(), WorkspaceError> {
        let at = self.checkout_at(path)?;
        let tags = self.tags_with(at, head)?;
        let owner = Owner::Mount(at);
        let now = self.tree(owner);
        let objects = self.opened(owner)?;
        let Some(mount) = self.state.mounts.get(at) else {
            return Err(WorkspaceError::NotCheckout {
                path: path.to_string(),
            });
        };
        let changes = objects.changes(&objects.tree_of(mount.head())?, &now)?;
        let onto = objects.tree_of(Some(head))?;
        let tree = match fit(objects, &changes, &onto)? {
            Fitted::Tree(tree) => tree,
            Fitted::Stale(paths) => {
                return Err(WorkspaceError::Unfit {
                    head: head.to_string(),
                    paths,
                });
            }
        };
        if let Some(mount) = self.state.mounts.get_mut(at) {
            let keep = if changes.is_empty() {
                Access::new()
            } else {
                std::mem::take(&mut mount.access)
            };
            *mount = Mount {
                base: Some(head.clone()),
                commits: Vec::new(),
                tags,
                elsewhere: None,
                tree,
                access: keep,
                ..mount.clone()
            };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
