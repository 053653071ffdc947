//! Reading a promotion's record back for people: what each step changed, and all of it together.
//!
//! Needs the mirrors of the executor that ran it; where they are elsewhere, or gone, there is nothing to show.

use std::collections::BTreeMap;

use crate::{
    engine::{
        journal::Journal,
        workspace::{MirrorKey, MirrorPaths, WorkspaceState},
    },
    git::{
        diff::{Differ, FileChanges, Limits},
        id::TreeId,
        objects::Objects,
        path::RepoPath,
    },
    kargo::{Alias, Promotion},
};

/// What a promotion has changed so far.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Per step, in order, where a step changed a checkout.
    pub steps: Vec<(Alias, FileChanges)>,
    /// Everything that was pushed, or will be.
    pub whole: Option<FileChanges>,
}

/// One checkout on its way through the steps.
struct Track {
    mirror: MirrorKey,
    first: TreeId,
    last: TreeId,
}

/// The changes of `promotion`, as far as their objects can be read.
pub fn changes(promotion: &Promotion, paths: &dyn MirrorPaths) -> Changes {
    let Ok(journal) = Journal::read(&promotion.status) else {
        return Changes::default();
    };
    let mut tracks: BTreeMap<RepoPath, Track> = BTreeMap::new();
    let mut found = Changes::default();
    for step in &promotion.spec.steps {
        let Some(record) = journal.steps.get(&step.alias) else {
            continue;
        };
        let mut differ = Differ::new(Limits::default());
        let mut changed = false;
        for (path, tree) in &record.trees {
            let Ok(tree) = tree.parse::<TreeId>() else {
                continue;
            };
            let known = mirror_of(&journal, path);
            match tracks.get_mut(path) {
                Some(track) => {
                    changed |= add(&mut differ, &track.mirror, path, &track.last, &tree, paths);
                    track.last = tree;
                }
                // The first tree of a checkout is what was cloned: nobody's change.
                None => {
                    if let Some(mirror) = known {
                        tracks.insert(
                            path.clone(),
                            Track {
                                mirror,
                                first: tree.clone(),
                                last: tree,
                            },
                        );
                    }
                }
            }
        }
        if changed {
            found.steps.push((step.alias.clone(), differ.finish()));
        }
    }
    let mut differ = Differ::new(Limits::default());
    let mut any = false;
    for (path, track) in &tracks {
        any |= add(
            &mut differ,
            &track.mirror,
            path,
            &track.first,
            &track.last,
            paths,
        );
    }
    found.whole = any.then(|| differ.finish());
    found
}

/// The mirror of the checkout at `path`, now or right after a push.
fn mirror_of(journal: &Journal, path: &RepoPath) -> Option<MirrorKey> {
    let in_state = |state: &WorkspaceState| {
        state
            .mounts
            .iter()
            .find(|mount| mount.path == *path)
            .map(|mount| mount.mirror.clone())
    };
    journal
        .workspace
        .iter()
        .chain(journal.landed.values())
        .find_map(in_state)
}

/// Adds the difference of two trees; false where there is none or it cannot be read.
fn add(
    differ: &mut Differ,
    mirror: &MirrorKey,
    path: &RepoPath,
    old: &TreeId,
    new: &TreeId,
    paths: &dyn MirrorPaths,
) -> bool {
    if old == new {
        return false;
    }
    let Some(objects) = paths
        .path(mirror)
        .and_then(|place| Objects::open(&place).ok())
    else {
        return false;
    };
    let prefix = if path.is_root() {
        String::new()
    } else {
        format!("{path}/")
    };
    differ.add(&objects, &prefix, old, new).is_ok()
}
