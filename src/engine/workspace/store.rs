//! The trees behind the paths: which repository has them, how they are replaced, and what is noted of it.

use super::{
    MirrorKey, MirrorPaths, Workspace, WorkspaceError,
    resolve::{Owner, Place},
};
use crate::git::{
    id::TreeId,
    objects::Objects,
    path::RepoPath,
    rebase::Access,
    tree::{Mode, Node, edit::Edits},
};

impl Workspace {
    /// Puts one entry and records the write.
    pub(super) fn put(&mut self, place: &Place, node: Option<Node>) -> Result<(), WorkspaceError> {
        let mut edits = Edits::new();
        edits.put(&place.path, node);
        self.edit(place.owner, &edits)?;
        self.access(place, Access::write);
        self.fold_writes(place.owner)
    }

    /// Keeps the journal small however many files are written one by one.
    pub(super) fn fold_writes(&mut self, owner: Owner) -> Result<(), WorkspaceError> {
        let Owner::Mount(at) = owner else {
            return Ok(());
        };
        let Some(paths) = self
            .state
            .mounts
            .get(at)
            .and_then(|mount| mount.access.crowded())
        else {
            return Ok(());
        };
        let objects = self.opened(owner)?;
        let mark = Node::leaf(Mode::File, &objects.write_blob(b"")?)?;
        let mut edits = Edits::new();
        paths.iter().for_each(|path| edits.put(path, Some(mark)));
        let tree = objects.edit(&TreeId::empty(), &edits)?;
        if let Some(mount) = self.state.mounts.get_mut(at) {
            mount.access.fold(&tree);
        }
        Ok(())
    }

    pub(super) fn wrote_all(&mut self, owner: Owner, at: &RepoPath, tree: &TreeId) {
        if let Owner::Mount(position) = owner
            && let Some(mount) = self.state.mounts.get_mut(position)
        {
            mount.access.write_all(at, tree);
        }
    }

    pub(super) fn edit(&mut self, owner: Owner, edits: &Edits) -> Result<(), WorkspaceError> {
        let before = self.tree(owner);
        let after = self.objects_to_write(owner)?.edit(&before, edits)?;
        self.set_tree(owner, after);
        Ok(())
    }

    pub(super) fn tree(&self, owner: Owner) -> TreeId {
        match owner {
            Owner::Mount(at) => self.state.mounts.get(at).map(|mount| mount.tree.clone()),
            Owner::Loose => self.state.loose.clone(),
        }
        .unwrap_or_else(TreeId::empty)
    }

    pub(super) fn set_tree(&mut self, owner: Owner, tree: TreeId) {
        match owner {
            Owner::Mount(at) => {
                if let Some(mount) = self.state.mounts.get_mut(at) {
                    mount.tree = tree;
                }
            }
            Owner::Loose => self.state.loose = Some(tree),
        }
    }

    pub(super) fn access(&mut self, place: &Place, record: fn(&mut Access, &RepoPath)) {
        if let Owner::Mount(at) = place.owner
            && let Some(mount) = self.state.mounts.get_mut(at)
        {
            record(&mut mount.access, &place.path);
        }
    }

    /// The store of an owner; none for loose files while there are none.
    pub(super) fn objects(&self, owner: Owner) -> Option<&Objects> {
        match owner {
            Owner::Mount(at) => self.mirrors.get(&self.state.mounts.get(at)?.mirror),
            Owner::Loose => self.scratch.as_ref(),
        }
    }

    /// The store of an owner, which must exist.
    pub(super) fn opened(&self, owner: Owner) -> Result<&Objects, WorkspaceError> {
        self.objects(owner).ok_or_else(|| {
            let mount = match owner {
                Owner::Mount(at) => self.state.mounts.get(at),
                Owner::Loose => None,
            };
            WorkspaceError::MirrorGone {
                repo_url: mount
                    .map(|mount| mount.repo_url.clone())
                    .unwrap_or_default(),
            }
        })
    }

    /// The store of an owner; the one for loose files is made if this is the first of them.
    pub(super) fn objects_to_write(&mut self, owner: Owner) -> Result<&Objects, WorkspaceError> {
        if owner == Owner::Loose && self.scratch.is_none() {
            self.scratch = Some(Objects::open_or_create(&self.scratch_path)?);
        }
        self.opened(owner)
    }
}

pub(super) fn open_mirror(
    key: &MirrorKey,
    repo_url: &str,
    paths: &dyn MirrorPaths,
) -> Result<Objects, WorkspaceError> {
    let gone = || WorkspaceError::MirrorGone {
        repo_url: repo_url.to_owned(),
    };
    Ok(Objects::open(
        &paths
            .path(key)
            .filter(|path| path.exists())
            .ok_or_else(gone)?,
    )?)
}
