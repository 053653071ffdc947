//! Copying inside the workspace: directories by the id of their tree, between repositories with their objects.

use super::{Kind, Owner, Spot, Workspace, WorkspaceError};
use crate::git::{
    id::TreeId,
    objects::{Objects, ObjectsError},
    path::RepoPath,
    rebase::Access,
    tree::{Entry, Found, Mode, Node, edit::Edits},
};

/// Whether to take a path along: relative to the copied directory, and whether it is a directory.
type Keep<'a> = &'a dyn Fn(&RepoPath, bool) -> bool;

/// Entries that a copy found a link for, at its target's full path.
type Deferred = Vec<(RepoPath, Node)>;

impl Workspace {
    /// Copies a file, or a directory into one that may exist already: files are overwritten, others stay.
    ///
    /// Modes are kept. Links, submodules and `.git` are left out. `keep` is asked for each file and directory;
    /// a directory that it refuses is not entered.
    pub fn copy(
        &mut self,
        from: &RepoPath,
        to: &RepoPath,
        keep: Keep<'_>,
    ) -> Result<(), WorkspaceError> {
        let trees = self.trees();
        let done = self.copy_found(from, to, keep);
        if done.is_err() {
            self.set_trees(trees);
            if let Ok(target) = self.resolve(to, true) {
                self.access(&target.place, Access::read);
            }
        }
        done
    }

    fn copy_found(
        &mut self,
        from: &RepoPath,
        to: &RepoPath,
        keep: Keep<'_>,
    ) -> Result<(), WorkspaceError> {
        let source = self.resolve(from, true)?;
        let target = self.resolve(to, true)?;
        match self.kind_of(&source) {
            Kind::Dir if target.place.full.below(&source.place.full).is_some() => {
                Err(WorkspaceError::IntoItself {
                    from: from.to_string(),
                    to: to.to_string(),
                })
            }
            Kind::Dir => self.copy_dir(&source, &target.place.full, &RepoPath::root(), keep),
            Kind::Absent => {
                self.access(&source.place, Access::read);
                Err(WorkspaceError::NotFound {
                    path: from.to_string(),
                })
            }
            Kind::File | Kind::Link => {
                self.access(&source.place, Access::read);
                match source.found {
                    Found::Node(node) => {
                        self.copy_leaf(source.place.owner, node, &target.place.full)
                    }
                    _ => Ok(()),
                }
            }
        }
    }

    /// The trees of all owners; what was read stays recorded when they are put back.
    fn trees(&self) -> (Vec<TreeId>, Option<TreeId>) {
        (
            self.state
                .mounts
                .iter()
                .map(|mount| mount.tree.clone())
                .collect(),
            self.state.loose.clone(),
        )
    }

    fn set_trees(&mut self, (mounts, loose): (Vec<TreeId>, Option<TreeId>)) {
        for (mount, tree) in self.state.mounts.iter_mut().zip(mounts) {
            mount.tree = tree;
        }
        self.state.loose = loose;
    }

    fn copy_leaf(&mut self, from: Owner, node: Node, to: &RepoPath) -> Result<(), WorkspaceError> {
        let target = self.resolve(to, true)?;
        self.writable(&target)?;
        self.carry(from, target.place.owner, node)?;
        self.put(&target.place, Some(node))
    }

    /// `within` is where `source` is, seen from the directory that is copied.
    fn copy_dir(
        &mut self,
        source: &Spot,
        to: &RepoPath,
        within: &RepoPath,
        keep: Keep<'_>,
    ) -> Result<(), WorkspaceError> {
        let whole =
            self.mounts_below(&source.place.full).is_empty() && self.mounts_below(to).is_empty();
        if whole {
            return self.copy_tree(source, to, within, keep);
        }
        for listed in self.names(source)? {
            let inner = within.child(&listed.name)?;
            let child = self.resolve(&source.place.full.child(&listed.name)?, false)?;
            if !keep(&inner, listed.kind == Kind::Dir) {
                continue;
            }
            let to = to.child(&listed.name)?;
            match (listed.kind, child.found.clone()) {
                (Kind::Dir, _) => self.copy_dir(&child, &to, &inner, keep)?,
                (Kind::File, Found::Node(node)) => {
                    self.access(&child.place, Access::read);
                    self.copy_leaf(child.place.owner, node, &to)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn copy_tree(
        &mut self,
        source: &Spot,
        to: &RepoPath,
        within: &RepoPath,
        keep: Keep<'_>,
    ) -> Result<(), WorkspaceError> {
        self.access(&source.place, Access::read);
        let (Found::Node(node), Some(objects)) = (&source.found, self.objects(source.place.owner))
        else {
            return Ok(());
        };
        let Some(tree) = node.tree_id() else {
            return Ok(());
        };
        let taken = filtered(objects, &tree, within, keep)?;
        if taken == TreeId::empty() {
            return Ok(());
        }
        self.place_tree(source.place.owner, &taken, to)
    }

    /// Puts the files of a tree of `from` below `to`.
    fn place_tree(
        &mut self,
        from: Owner,
        tree: &TreeId,
        to: &RepoPath,
    ) -> Result<(), WorkspaceError> {
        let target = self.resolve(to, true)?;
        let (owner, at) = (target.place.owner, target.place.path.clone());
        let node = Node::tree(tree)?;
        self.carry(from, owner, node)?;
        let (mut edits, mut deferred) = (Edits::new(), Vec::new());
        match target.found {
            Found::Node(dir) if dir.is_tree() => {
                let there = dir.tree_id().unwrap_or_else(TreeId::empty);
                self.merge(
                    owner,
                    &there,
                    tree,
                    &target.place.full,
                    &at,
                    &mut edits,
                    &mut deferred,
                )?;
            }
            Found::Absent if at.is_root() => self.set_tree(owner, tree.clone()),
            Found::Absent => edits.put(&at, Some(node)),
            _ => {
                self.writable(&target)?;
                return Err(WorkspaceError::NotDirectory {
                    path: to.to_string(),
                });
            }
        }
        self.edit(owner, &edits)?;
        self.wrote_all(owner, &at, tree);
        for (path, node) in deferred {
            match node.tree_id() {
                Some(tree) => self.place_tree(owner, &tree, &path)?,
                None => self.copy_leaf(owner, node, &path)?,
            }
        }
        Ok(())
    }

    /// The edits that bring the files of `new` into `there`; what would go through a link is put off.
    #[expect(
        clippy::too_many_arguments,
        reason = "a recursion over two trees with three results"
    )]
    fn merge(
        &self,
        owner: Owner,
        there: &TreeId,
        new: &TreeId,
        full: &RepoPath,
        at: &RepoPath,
        edits: &mut Edits,
        deferred: &mut Deferred,
    ) -> Result<(), WorkspaceError> {
        let Some(objects) = self.objects(owner).filter(|_| there != new) else {
            return Ok(());
        };
        let known: std::collections::HashMap<String, Node> = objects
            .entries(there)?
            .into_iter()
            .filter_map(|e| Some((e.name()?.to_owned(), e.node)))
            .collect();
        for entry in objects.entries(new)? {
            let Some(name) = entry.name() else {
                continue; // such a name cannot be written to either
            };
            let (full, at) = (full.child(name)?, at.child(name)?);
            let path = || full.to_string();
            match (known.get(name), entry.node.tree_id()) {
                (None, _) => edits.put(&at, Some(entry.node)),
                (Some(old), _) if old.mode() == Some(Mode::Link) => {
                    deferred.push((full, entry.node))
                }
                (Some(old), _) if old.mode() == Some(Mode::Gitlink) => {
                    return Err(WorkspaceError::Submodule { path: path() });
                }
                (Some(old), Some(inner)) => match old.tree_id() {
                    Some(there) => {
                        self.merge(owner, &there, &inner, &full, &at, edits, deferred)?
                    }
                    None => return Err(WorkspaceError::NotDirectory { path: path() }),
                },
                (Some(old), None) if old.is_tree() => {
                    return Err(WorkspaceError::IsDirectory { path: path() });
                }
                (Some(_), None) => edits.put(&at, Some(entry.node)),
            }
        }
        Ok(())
    }

    /// Makes the objects of `from` available to `to`.
    fn carry(&mut self, from: Owner, to: Owner, node: Node) -> Result<(), WorkspaceError> {
        let mirror = |owner| match owner {
            Owner::Mount(at) => self.state.mounts.get(at).map(|mount| mount.mirror.clone()),
            Owner::Loose => None,
        };
        if mirror(from) == mirror(to) {
            return Ok(());
        }
        self.objects_to_write(to)?;
        if let (Some(from), Some(to)) = (self.objects(from), self.objects(to)) {
            to.carry(from, node)?;
        }
        Ok(())
    }
}

/// The tree without links, submodules and what `keep` refuses; the same id where that is nothing.
fn filtered(
    objects: &Objects,
    tree: &TreeId,
    within: &RepoPath,
    keep: Keep<'_>,
) -> Result<TreeId, ObjectsError> {
    let mut dropped = Edits::new();
    for entry in objects.entries(tree)? {
        let node = kept(objects, &entry, within, keep)?;
        if node != Some(entry.node) {
            dropped.put_entry(&entry, node);
        }
    }
    objects.edit(tree, &dropped)
}

/// What becomes of one entry in a copy.
fn kept(
    objects: &Objects,
    entry: &Entry,
    within: &RepoPath,
    keep: Keep<'_>,
) -> Result<Option<Node>, ObjectsError> {
    // A name that no path can have cannot be asked about: `.git` stays behind, and so does what is not UTF-8.
    let Some(path) = entry.name().and_then(|name| within.child(name).ok()) else {
        return Ok(None);
    };
    match (entry.node.mode(), entry.node.tree_id()) {
        (Some(Mode::Link | Mode::Gitlink), _) => Ok(None),
        (Some(_), _) => Ok(keep(&path, false).then_some(entry.node)),
        (None, Some(tree)) if keep(&path, true) => match filtered(objects, &tree, &path, keep)? {
            empty if empty == TreeId::empty() => Ok(None),
            tree => Ok(Some(Node::tree(&tree)?)),
        },
        (None, _) => Ok(None),
    }
}

#[cfg(test)]
mod tests;
