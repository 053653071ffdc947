//! Tags of a checkout: made on its head, and made again where its commits land under other ids.

use std::collections::BTreeMap;

use super::{Owner, Tagged, Workspace, WorkspaceError};
use crate::git::{
    commit::Person,
    id::CommitId,
    objects::{Objects, ObjectsError},
    path::RepoPath,
    tag::{NewTag, TagName},
};

/// A tag that a step asks for.
#[derive(Clone, Debug)]
pub struct TagWish<'a> {
    /// Its name.
    pub name: &'a TagName,
    /// As written.
    pub message: &'a str,
    /// Who makes it.
    pub tagger: &'a Person,
    /// When the step started (journalled), in seconds since 1970.
    pub when: i64,
    /// Whether one of the same name goes.
    pub force: bool,
}

impl Workspace {
    /// Tags the head of a checkout: the commit as it landed, where it was pushed to another branch.
    pub fn tag(&mut self, path: &RepoPath, wish: &TagWish<'_>) -> Result<CommitId, WorkspaceError> {
        let at = self.checkout_at(path)?;
        let objects = self.opened(Owner::Mount(at))?;
        let Some(mount) = self.state.mounts.get(at) else {
            return Err(not_checkout(path));
        };
        let (path, head) = (
            path.to_string(),
            mount.elsewhere.as_ref().or_else(|| mount.head()),
        );
        if let Some(old) = mount.tags.get(wish.name).filter(|_| !wish.force) {
            return Err(WorkspaceError::TagExists {
                path,
                tag: wish.name.to_string(),
                commit: old.commit.to_string(),
            });
        }
        let Some(commit) = head.cloned() else {
            return Err(WorkspaceError::NoCommits { path });
        };
        let new = NewTag {
            name: wish.name,
            commit: &commit,
            tagger: wish.tagger,
            time: wish.when,
            message: wish.message,
        };
        let id = objects
            .make_tag(&new)
            .map_err(|source| WorkspaceError::Tag { path, source })?;
        let made = Tagged {
            id,
            commit: commit.clone(),
        };
        if let Some(mount) = self.state.mounts.get_mut(at) {
            mount.tags.insert(wish.name.clone(), made);
        }
        Ok(commit)
    }

    /// The checkout's commits are on another branch as (or below) `head`: its tags name them there.
    pub fn landed_elsewhere(
        &mut self,
        path: &RepoPath,
        head: &CommitId,
    ) -> Result<(), WorkspaceError> {
        let at = self.checkout_at(path)?;
        let tags = self.tags_with(at, head)?;
        if let Some(mount) = self.state.mounts.get_mut(at) {
            mount.tags = tags;
            mount.elsewhere = (mount.head() != Some(head)).then(|| head.clone());
        }
        Ok(())
    }

    /// The tags of a checkout whose commits have landed as (or below) `head`.
    pub(super) fn tags_with(
        &self,
        at: usize,
        head: &CommitId,
    ) -> Result<BTreeMap<TagName, Tagged>, WorkspaceError> {
        let Some(mount) = self.state.mounts.get(at) else {
            return Ok(BTreeMap::new());
        };
        let mut tags = mount.tags.clone();
        if tags
            .values()
            .all(|tag| !mount.commits.contains(&tag.commit))
        {
            return Ok(tags);
        }
        let objects = self.opened(Owner::Mount(at))?;
        let landed = landed(objects, &mount.commits, head)?;
        for tag in tags.values_mut() {
            let position = mount.commits.iter().position(|own| *own == tag.commit);
            let Some(now) = position.and_then(|position| landed.get(position)) else {
                continue;
            };
            if *now != tag.commit {
                tag.id = objects.tag_again(&tag.id, now)?;
                tag.commit = now.clone();
            }
        }
        Ok(tags)
    }
}

fn not_checkout(path: &RepoPath) -> WorkspaceError {
    WorkspaceError::NotCheckout {
        path: path.to_string(),
    }
}

/// Where each of `ours` is in the history that ends in `head`. Landed commits are known by their marks. One whose
/// change the branch had already has landed as what is below the next: the branch as it was with that change.
fn landed(
    objects: &Objects,
    ours: &[CommitId],
    head: &CommitId,
) -> Result<Vec<CommitId>, ObjectsError> {
    let (mut at, mut found) = (head.clone(), Vec::new());
    for own in ours.iter().rev() {
        found.push(at.clone());
        let commit = match objects.commit(&at) {
            Ok(commit) => commit,
            // Where the history is cut off, nothing of ours is.
            Err(error) if error.is_absent() => continue,
            Err(error) => return Err(error),
        };
        let marked = commit.header.is_some() && commit.header == objects.header_of(own)?;
        if let (true, Some(parent)) = (marked || at == *own, commit.parents.first()) {
            at = parent.clone();
        }
    }
    found.reverse();
    Ok(found)
}
