//! From a path to the tree that it is in: which checkout, and through which links.

use super::{Kind, Workspace, WorkspaceError, kind_of_node};
use crate::git::{
    path::RepoPath,
    rebase::Access,
    tree::{Found, Mode, Node},
};

/// As many as Linux follows.
pub(super) const MOST_LINKS: usize = 40;

/// Which tree a path is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    /// A checkout, by its position in the state.
    Mount(usize),
    /// The files outside any checkout.
    Loose,
}

/// A path, and the same path inside the tree that owns it.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub owner: Owner,
    pub path: RepoPath,
    pub full: RepoPath,
}

impl Place {
    /// The full path of the first `depth` parts inside the owner.
    pub fn leading(&self, depth: usize) -> RepoPath {
        let steps = self.path.parts().count().saturating_sub(depth);
        std::iter::successors(Some(self.full.clone()), RepoPath::parent)
            .nth(steps)
            .unwrap_or_else(RepoPath::root)
    }
}

/// A place without links on the way, and what is there.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    pub place: Place,
    pub found: Found,
}

impl Workspace {
    /// Which tree owns the path, as it is written.
    pub(super) fn locate(&self, full: &RepoPath) -> Place {
        let mount = self
            .state
            .mounts
            .iter()
            .enumerate()
            .find_map(|(at, mount)| {
                let path = full.below(&mount.path)?;
                Some(Place {
                    owner: Owner::Mount(at),
                    path,
                    full: full.clone(),
                })
            });
        mount.unwrap_or_else(|| Place {
            owner: Owner::Loose,
            path: full.clone(),
            full: full.clone(),
        })
    }

    pub(super) fn find(&self, place: &Place) -> Result<Found, WorkspaceError> {
        match self.objects(place.owner) {
            Some(objects) => Ok(objects.find(&self.tree(place.owner), &place.path)?),
            None => Ok(Found::Absent),
        }
    }

    /// Follows links, the last part's own only if asked, until a place has none. A link that is followed was read.
    pub(super) fn resolve(
        &mut self,
        path: &RepoPath,
        follow_last: bool,
    ) -> Result<Spot, WorkspaceError> {
        let mut at = path.clone();
        for _ in 0..=MOST_LINKS {
            let place = self.locate(&at);
            let found = self.find(&place)?;
            let (link, node) = match found {
                Found::Blocked { depth, by } if is_link(by) => (place.leading(depth), by),
                Found::Node(node) if follow_last && is_link(node) => (place.full.clone(), node),
                found => return Ok(Spot { place, found }),
            };
            let rest = at.below(&link).unwrap_or_else(RepoPath::root);
            at = self.target(&link, node)?.join(&rest);
        }
        Err(WorkspaceError::LinkLoop {
            path: path.to_string(),
            limit: MOST_LINKS,
        })
    }

    fn target(&mut self, link: &RepoPath, node: Node) -> Result<RepoPath, WorkspaceError> {
        let place = self.locate(link);
        self.access(&place, Access::read);
        let target = String::from_utf8_lossy(&self.file(&place, node)?.bytes).into_owned();
        let dir = link.parent().unwrap_or_else(RepoPath::root);
        dir.follow(&target).map_err(|source| WorkspaceError::Link {
            link: link.to_string(),
            target,
            source,
        })
    }

    pub(super) fn mounts_below(&self, dir: &RepoPath) -> Vec<RepoPath> {
        let below = |path: &&RepoPath| path.below(dir).is_some_and(|rest| !rest.is_root());
        self.state
            .mounts
            .iter()
            .map(|mount| &mount.path)
            .filter(below)
            .cloned()
            .collect()
    }

    /// What is at a resolved place; the directories that lead to a checkout are directories, and so is the root.
    pub(super) fn kind_of(&self, spot: &Spot) -> Kind {
        match &spot.found {
            Found::Node(node) => kind_of_node(*node),
            _ if spot.place.full.is_root() || !self.mounts_below(&spot.place.full).is_empty() => {
                Kind::Dir
            }
            _ => Kind::Absent,
        }
    }
}

fn is_link(node: Node) -> bool {
    node.mode() == Some(Mode::Link)
}

#[cfg(test)]
mod tests;
