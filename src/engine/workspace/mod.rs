//! The files that a promotion works on: git trees, mounted at paths.
//!
//! Steps read and write through [`Workspace`], by [`RepoPath`]s from the workspace's root; links are followed inside
//! it or refused. What is read and written of each checkout is recorded, for the rebase. Between steps the workspace
//! is a [`WorkspaceState`]; it is opened for one job, and nothing of it is shared.

mod changes;
mod checkout;
mod copy;
mod dotfiles;
mod error;
mod export;
pub mod folder;
mod resolve;
mod state;
mod store;
mod tags;

use std::collections::HashMap;

pub use changes::changes_between;
pub use checkout::{Checkout, CommitOutcome, CommitRequest};
pub use error::WorkspaceError;
pub use export::{Exported, References};
pub use state::{MirrorKey, MirrorPaths, Mount, Pinned, Tagged, WorkspaceState};
pub use tags::TagWish;

use resolve::{Owner, Place, Spot};
use store::open_mirror;

use crate::git::{
    id::{BlobId, TreeId},
    objects::Objects,
    path::RepoPath,
    rebase::Access,
    tree::{Found, Mode, Node, edit::Edits},
};

/// What is at a path, without following a link that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing.
    Absent,
    /// A file, executable or not.
    File,
    /// A directory, or a submodule (which is empty here).
    Dir,
    /// A symbolic link.
    Link,
}

/// A file's content and mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// As stored: no filter, no line-ending conversion.
    pub bytes: Vec<u8>,
    /// File or Executable, or Link when the link itself was read.
    pub mode: Mode,
}

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The name alone.
    pub name: String,
    /// What it is.
    pub kind: Kind,
}

/// One file below a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walked {
    /// From the workspace's root.
    pub path: RepoPath,
    /// Links and submodules are named too, and not entered.
    pub mode: Mode,
    /// The content; none for a submodule.
    pub blob: Option<BlobId>,
}

/// The workspace, opened for one job.
pub struct Workspace {
    state: WorkspaceState,
    mirrors: HashMap<MirrorKey, Objects>,
    scratch_path: std::path::PathBuf,
    scratch: Option<Objects>,
}

impl Workspace {
    /// Opens the repositories that the state needs.
    pub fn open(state: WorkspaceState, paths: &dyn MirrorPaths) -> Result<Self, WorkspaceError> {
        let mut mirrors = HashMap::new();
        for mount in &state.mounts {
            if !mirrors.contains_key(&mount.mirror) {
                mirrors.insert(
                    mount.mirror.clone(),
                    open_mirror(&mount.mirror, &mount.repo_url, paths)?,
                );
            }
        }
        let scratch_path = paths.scratch();
        let scratch = state
            .loose
            .as_ref()
            .map(|_| Objects::open_or_create(&scratch_path))
            .transpose()?;
        Ok(Self {
            state,
            mirrors,
            scratch_path,
            scratch,
        })
    }

    /// The state as it is now.
    pub fn state(&self) -> &WorkspaceState {
        &self.state
    }

    /// Ends the job.
    pub fn into_state(self) -> WorkspaceState {
        self.state
    }

    /// What is at the path. A link that is the path's last part is not followed.
    pub fn kind(&mut self, path: &RepoPath) -> Result<Kind, WorkspaceError> {
        let spot = self.resolve(path, false)?;
        self.access(&spot.place, Access::look);
        Ok(self.kind_of(&spot))
    }

    /// The file's content, through links; none when nothing is there.
    pub fn read(&mut self, path: &RepoPath) -> Result<Option<File>, WorkspaceError> {
        let spot = self.resolve(path, true)?;
        match (self.kind_of(&spot), spot.found) {
            (Kind::Dir, _) => {
                self.access(&spot.place, Access::look);
                Err(WorkspaceError::IsDirectory {
                    path: path.to_string(),
                })
            }
            (_, Found::Node(node)) => {
                self.access(&spot.place, Access::read);
                self.file(&spot.place, node).map(Some)
            }
            _ => {
                self.access(&spot.place, Access::read);
                Ok(None)
            }
        }
    }

    /// Writes a file, through links, making directories as needed. Without a mode an existing file keeps
    /// its own and a new one is 644; with [`Mode::Link`] the content is a target, and an existing link is replaced.
    pub fn write(
        &mut self,
        path: &RepoPath,
        bytes: &[u8],
        mode: Option<Mode>,
    ) -> Result<(), WorkspaceError> {
        let (place, node) = self.prepare(path, bytes, mode)?;
        self.put(&place, Some(node))
    }

    /// Writes many files at once, as [`Workspace::write`] does one: each directory is rewritten once, not once
    /// for every file in it. Of two with one path the later counts.
    pub fn write_all<'a>(
        &mut self,
        files: impl IntoIterator<Item = (&'a RepoPath, &'a [u8], Option<Mode>)>,
    ) -> Result<(), WorkspaceError> {
        let mut edits: HashMap<Owner, Edits> = HashMap::new();
        for (path, bytes, mode) in files {
            let (place, node) = self.prepare(path, bytes, mode)?;
            edits
                .entry(place.owner)
                .or_default()
                .put(&place.path, Some(node));
        }
        for (owner, edits) in edits {
            self.edit(owner, &edits)?;
            let written = self.opened(owner)?.edit(&TreeId::empty(), &edits)?;
            self.wrote_all(owner, &RepoPath::root(), &written);
        }
        Ok(())
    }

    /// Stores the content and says where it goes.
    fn prepare(
        &mut self,
        path: &RepoPath,
        bytes: &[u8],
        mode: Option<Mode>,
    ) -> Result<(Place, Node), WorkspaceError> {
        let spot = self.resolve(path, mode != Some(Mode::Link))?;
        if mode == Some(Mode::Gitlink) {
            return Err(WorkspaceError::Submodule {
                path: path.to_string(),
            });
        }
        let existing = self.writable(&spot)?;
        self.refuse_lfs(spot.place.owner, &spot.place.path, bytes)?;
        let id = self.objects_to_write(spot.place.owner)?.write_blob(bytes)?;
        let node = match existing {
            Some(node) if node.mode() != Some(Mode::Link) => {
                let node = node.with_content(&id)?;
                mode.map_or(node, |mode| node.with_mode(mode))
            }
            _ => Node::leaf(mode.unwrap_or(Mode::File), &id)?,
        };
        Ok((spot.place, node))
    }

    /// Removes a file, a link (not its target), or a directory with all that is in it; checkouts in it are
    /// forgotten. Says whether anything was there.
    pub fn remove(&mut self, path: &RepoPath) -> Result<bool, WorkspaceError> {
        let full = self.resolve(path, false)?.place.full;
        let before = self.state.mounts.len();
        self.state
            .mounts
            .retain(|mount| mount.path.below(&full).is_none());
        let unmounted = self.state.mounts.len() < before;
        if full.is_root() {
            return Ok(self.state.loose.take().is_some() || unmounted);
        }
        let place = self.locate(&full);
        let Found::Node(node) = self.find(&place)? else {
            self.access(&place, Access::read);
            return Ok(unmounted);
        };
        if node.is_tree() {
            self.access(&place, Access::read);
        }
        self.put(&place, None)?;
        Ok(true)
    }

    /// Where the path leads once links are followed, the last part's own too. Nothing has to be there.
    pub fn real(&mut self, path: &RepoPath) -> Result<RepoPath, WorkspaceError> {
        Ok(self.resolve(path, true)?.place.full)
    }

    /// A checkout that lies below the path, and not at it.
    pub fn checkout_below(&mut self, path: &RepoPath) -> Result<Option<RepoPath>, WorkspaceError> {
        let full = self.real(path)?;
        Ok(self.mounts_below(&full).into_iter().next())
    }

    /// The names in a directory, sorted; none when nothing is there. Names that no path can have (not UTF-8,
    /// spellings of `.git`) are left out.
    pub fn list(&mut self, path: &RepoPath) -> Result<Option<Vec<Listed>>, WorkspaceError> {
        let spot = self.resolve(path, true)?;
        self.access(&spot.place, Access::read);
        match self.kind_of(&spot) {
            Kind::Absent => Ok(None),
            Kind::Dir => self.names(&spot).map(Some),
            _ => Err(WorkspaceError::NotDirectory {
                path: path.to_string(),
            }),
        }
    }

    /// All files below a directory, or the file itself, in the order of paths; empty when nothing is there.
    pub fn walk(&mut self, path: &RepoPath) -> Result<Vec<Walked>, WorkspaceError> {
        let spot = self.resolve(path, true)?;
        self.access(&spot.place, Access::read);
        let mut found = Vec::new();
        self.walk_spot(&spot, &mut found)?;
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    /// A blob that [`Workspace::walk`] or another look at the path named.
    pub fn blob(&self, at: &RepoPath, id: &BlobId) -> Result<Vec<u8>, WorkspaceError> {
        let owner = self.locate(at).owner;
        match self.objects(owner) {
            Some(objects) => Ok(objects.read_blob(id)?),
            None => Err(WorkspaceError::NotFound {
                path: at.to_string(),
            }),
        }
    }

    fn walk_spot(&mut self, spot: &Spot, found: &mut Vec<Walked>) -> Result<(), WorkspaceError> {
        let below: Vec<RepoPath> = self.mounts_below(&spot.place.full);
        if let Found::Node(node) = spot.found {
            self.walk_node(spot.place.owner, &spot.place.full, node, found)?;
        }
        for path in below {
            let spot = self.resolve(&path, false)?;
            self.access(&spot.place, Access::read);
            self.walk_spot(&spot, found)?;
        }
        Ok(())
    }

    fn walk_node(
        &self,
        owner: Owner,
        at: &RepoPath,
        node: Node,
        found: &mut Vec<Walked>,
    ) -> Result<(), WorkspaceError> {
        if let Some(mode) = node.mode() {
            found.push(Walked {
                path: at.clone(),
                mode,
                blob: node.blob_id(),
            });
        }
        let (Some(tree), Some(objects)) = (node.tree_id(), self.objects(owner)) else {
            return Ok(());
        };
        for entry in objects.entries(&tree)? {
            if let Some(path) = entry.name().and_then(|name| at.child(name).ok()) {
                self.walk_node(owner, &path, entry.node, found)?;
            }
        }
        Ok(())
    }

    fn names(&self, spot: &Spot) -> Result<Vec<Listed>, WorkspaceError> {
        let mut names = std::collections::BTreeMap::new();
        if let (Found::Node(node), Some(objects)) = (&spot.found, self.objects(spot.place.owner))
            && let Some(tree) = node.tree_id()
        {
            for entry in objects.entries(&tree)? {
                if let Some(name) = entry
                    .name()
                    .filter(|name| spot.place.full.child(name).is_ok())
                {
                    names.insert(name.to_owned(), kind_of_node(entry.node));
                }
            }
        }
        for mount in self.mounts_below(&spot.place.full) {
            if let Some(name) = mount
                .below(&spot.place.full)
                .and_then(|rest| rest.parts().next().map(str::to_owned))
            {
                names.insert(name, Kind::Dir);
            }
        }
        Ok(names
            .into_iter()
            .map(|(name, kind)| Listed { name, kind })
            .collect())
    }

    fn file(&self, place: &Place, node: Node) -> Result<File, WorkspaceError> {
        match (self.objects(place.owner), node.blob_id(), node.mode()) {
            (Some(objects), Some(id), Some(mode)) => Ok(File {
                bytes: objects.read_blob(&id)?,
                mode,
            }),
            _ => Err(WorkspaceError::IsDirectory {
                path: place.full.to_string(),
            }),
        }
    }

    /// The file that a write would replace; an error where no file can be, which then was found out by a look.
    fn writable(&mut self, spot: &Spot) -> Result<Option<Node>, WorkspaceError> {
        let writable = self.replaced(spot);
        if writable.is_err() {
            self.refused(spot);
        }
        writable
    }

    /// That something could not be done at a place rests on what is there.
    fn refused(&mut self, spot: &Spot) {
        let record = if matches!(spot.found, Found::Node(_)) {
            Access::look
        } else {
            Access::read
        };
        self.access(&spot.place, record);
    }

    fn replaced(&self, spot: &Spot) -> Result<Option<Node>, WorkspaceError> {
        let full = spot.place.full.to_string();
        match &spot.found {
            Found::Node(node) if node.mode() == Some(Mode::Gitlink) => {
                Err(WorkspaceError::Submodule { path: full })
            }
            _ if self.kind_of(spot) == Kind::Dir => Err(WorkspaceError::IsDirectory { path: full }),
            Found::Node(node) => Ok(Some(*node)),
            Found::Absent => Ok(None),
            Found::Blocked { depth, by } => {
                let path = spot.place.leading(*depth).to_string();
                Err(if by.mode() == Some(Mode::Gitlink) {
                    WorkspaceError::Submodule { path }
                } else {
                    WorkspaceError::NotDirectory { path }
                })
            }
        }
    }
}

fn kind_of_node(node: Node) -> Kind {
    match node.mode() {
        None | Some(Mode::Gitlink) => Kind::Dir,
        Some(Mode::Link) => Kind::Link,
        Some(Mode::File | Mode::Executable) => Kind::File,
    }
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod sound;
#[cfg(test)]
mod tests;
