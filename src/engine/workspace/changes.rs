//! What changed: since the bases (what an approver sees), or between two states (what a step did).

use super::{MirrorPaths, Mount, Workspace, WorkspaceError, WorkspaceState, open_mirror};
use crate::git::{
    diff::{Differ, FileChanges, Limits},
    id::TreeId,
    objects::Objects,
    path::RepoPath,
};

impl Workspace {
    /// What a push of every checkout would change, all of them together, with the checkout's path before each file.
    /// Files outside the checkouts are nobody's change.
    pub fn change(&self, limits: Limits) -> Result<FileChanges, WorkspaceError> {
        let mut differ = Differ::new(limits);
        for (at, mount) in self.state.mounts.iter().enumerate() {
            let objects = self.opened(super::Owner::Mount(at))?;
            let tree = self.sort_out(at)?.0.tree;
            differ.add(
                objects,
                &prefix(&mount.path),
                &objects.tree_of(mount.base.as_ref())?,
                &tree,
            )?;
        }
        Ok(differ.finish())
    }
}

/// What happened between two states, loose files included. A checkout that is new counts from its base.
pub fn changes_between(
    before: &WorkspaceState,
    after: &WorkspaceState,
    paths: &dyn MirrorPaths,
    limits: Limits,
) -> Result<FileChanges, WorkspaceError> {
    let mut differ = Differ::new(limits);
    for mount in &after.mounts {
        let objects = open_mirror(&mount.mirror, &mount.repo_url, paths)?;
        let was = before
            .mounts
            .iter()
            .find(|was| was.path == mount.path && was.mirror == mount.mirror);
        let old = match was {
            Some(was) => was.tree.clone(),
            None => objects.tree_of(mount.base.as_ref())?,
        };
        differ.add(&objects, &prefix(&mount.path), &old, &mount.tree)?;
    }
    for gone in before
        .mounts
        .iter()
        .filter(|was| !after.mounts.iter().any(|mount| mount.path == was.path))
    {
        forget(&mut differ, gone, paths)?;
    }
    if before.loose != after.loose {
        let tree = |state: &WorkspaceState| state.loose.clone().unwrap_or_else(TreeId::empty);
        differ.add(
            &Objects::open_or_create(&paths.scratch())?,
            "",
            &tree(before),
            &tree(after),
        )?;
    }
    Ok(differ.finish())
}

/// A checkout that a step removed: all its files go.
fn forget(
    differ: &mut Differ,
    gone: &Mount,
    paths: &dyn MirrorPaths,
) -> Result<(), WorkspaceError> {
    let objects = open_mirror(&gone.mirror, &gone.repo_url, paths)?;
    Ok(differ.add(&objects, &prefix(&gone.path), &gone.tree, &TreeId::empty())?)
}

fn prefix(path: &RepoPath) -> String {
    if path.is_root() {
        String::new()
    } else {
        format!("{path}/")
    }
}
