//! A chain of commits onto a tip that moved: by path and object, where nothing that was read or written changed.
//!
//! Text is never merged. What does not fit is named, and the caller runs the steps again.

mod access;

use std::collections::BTreeSet;

use git2::Oid;

pub use access::Access;

use super::{
    id::{CommitId, TreeId},
    objects::{Kind, Objects, ObjectsError, oid},
    path::{MOST_PARTS, RepoPath},
    tree::{
        Found,
        compare::{Change, TOO_DEEP, depth},
        edit::Edits,
    },
};

/// How a chain of commits relates to a tip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rebased {
    /// The tip is what the chain was made on: it can go there as it is.
    Same,
    /// The chain made again on the tip, oldest first, without the commits that are there already.
    Onto(Vec<CommitId>),
    /// Everything that the chain writes is at the tip already.
    NoOp,
    /// The tip changed what was read or written, at these paths.
    Stale {
        /// In order; `.` where a whole listing of the root was read.
        paths: Vec<String>,
    },
}

/// The three trees of a rebase.
struct Sides {
    base: Oid,
    ours: Oid,
    tip: Oid,
}

/// Puts `commits` (oldest first, made on `base`) onto `tip`. A base or tip of none is a branch that does not exist.
///
/// An absent object is an error of its own, [`ObjectsError::is_absent`]: what is missing is fetched, or the steps run
/// again.
pub fn rebase(
    objects: &Objects,
    commits: &[CommitId],
    base: Option<&CommitId>,
    access: &Access,
    tip: Option<&CommitId>,
) -> Result<Rebased, ObjectsError> {
    if tip == base {
        return Ok(Rebased::Same);
    }
    let Some(last) = commits.last() else {
        return Ok(Rebased::NoOp);
    };
    let tree = |id: Option<&CommitId>| oid(Kind::Tree, objects.tree_of(id)?.as_str());
    let sides = Sides {
        base: tree(base)?,
        ours: tree(Some(last))?,
        tip: tree(tip)?,
    };
    let net = objects.changes_at(sides.base, sides.ours)?;

    let written = sides.unlike_ours(objects, &net, access)?;
    if written.not_there.is_empty() {
        return Ok(Rebased::NoOp);
    }
    let mut stale = written.stale;
    stale.extend(sides.read_stale(objects, access)?);
    if !stale.is_empty() {
        return Ok(Rebased::Stale {
            paths: stale.into_iter().collect(),
        });
    }
    chain(objects, commits, base, tip)
}

/// Writes, compared with the tip.
#[derive(Default)]
struct Written {
    /// Whose result the tip does not have.
    not_there: BTreeSet<String>,
    /// Whose result the tip does not have, and whose base it does not have either.
    stale: BTreeSet<String>,
}

impl Sides {
    fn at(&self, objects: &Objects, root: Oid, path: &RepoPath) -> Result<Found, ObjectsError> {
        objects.find_raw(root, path.parts().map(str::as_bytes))
    }

    fn unlike_ours(
        &self,
        objects: &Objects,
        net: &[Change],
        access: &Access,
    ) -> Result<Written, ObjectsError> {
        let mut written = Written::default();
        for change in net {
            let found = |root| objects.find_raw(root, change.parts());
            written.note(
                change.path(),
                &found(self.base)?,
                &found(self.ours)?,
                &found(self.tip)?,
            );
        }
        if self.base == self.tip {
            return Ok(written);
        }
        for path in access.writes() {
            let found = |root| self.at(objects, root, path);
            written.note(
                path.to_string(),
                &found(self.base)?,
                &found(self.ours)?,
                &found(self.tip)?,
            );
        }
        for (at, tree) in access.bulk() {
            self.bulk(objects, at, tree, &mut written)?;
        }
        Ok(written)
    }

    /// Every file of `tree` below `at`, entering only directories that base and tip do not share.
    fn bulk(
        &self,
        objects: &Objects,
        at: &RepoPath,
        tree: &TreeId,
        written: &mut Written,
    ) -> Result<(), ObjectsError> {
        let sides = [self.base, self.ours, self.tip].map(|root| self.at(objects, root, at));
        let [base, ours, tip] = sides;
        let mut path: Vec<u8> = at.as_git().into();
        bulk_below(
            objects,
            &mut path,
            oid(Kind::Tree, tree.as_str())?,
            [base?, ours?, tip?],
            written,
        )
    }

    fn read_stale(
        &self,
        objects: &Objects,
        access: &Access,
    ) -> Result<BTreeSet<String>, ObjectsError> {
        let mut stale = BTreeSet::new();
        if self.base == self.tip {
            return Ok(stale);
        }
        for path in access.reads() {
            if self.at(objects, self.base, path)? != self.at(objects, self.tip, path)? {
                stale.insert(path.to_string());
            }
        }
        for path in access.looks() {
            if kind(&self.at(objects, self.base, path)?) != kind(&self.at(objects, self.tip, path)?)
            {
                stale.insert(path.to_string());
            }
        }
        Ok(stale)
    }
}

impl Written {
    fn note(&mut self, path: String, base: &Found, ours: &Found, tip: &Found) {
        if same(tip, ours) {
            return;
        }
        // A write that changed nothing still asks for its result; but while the tip has the base's entry, that is it.
        if base != tip {
            self.stale.insert(path.clone());
        }
        self.not_there.insert(path);
    }
}

/// Equal as results: a path below a file is as absent as any other.
fn same(a: &Found, b: &Found) -> bool {
    match (a, b) {
        (Found::Node(a), Found::Node(b)) => a == b,
        (Found::Node(_), _) | (_, Found::Node(_)) => false,
        _ => true,
    }
}

/// What somebody sees who only asks what is there.
fn kind(found: &Found) -> Option<u8> {
    use super::tree::Mode;
    match found {
        Found::Node(node) => Some(match node.mode() {
            None => 0,
            Some(Mode::File | Mode::Executable) => 1,
            Some(Mode::Link) => 2,
            Some(Mode::Gitlink) => 3,
        }),
        Found::Absent | Found::Blocked { .. } => None,
    }
}

fn bulk_below(
    objects: &Objects,
    path: &mut Vec<u8>,
    tree: Oid,
    [base, ours, tip]: [Found; 3],
    written: &mut Written,
) -> Result<(), ObjectsError> {
    if base == tip {
        return Ok(()); // the net changes say the rest
    }
    if depth(path) > MOST_PARTS {
        return Err(ObjectsError::damaged(Kind::Tree, tree, TOO_DEEP));
    }
    for entry in objects.entries_at(tree)? {
        let length = path.len();
        if length > 0 {
            path.push(b'/');
        }
        path.extend_from_slice(&entry.name);
        let below = |found: &Found| match found {
            Found::Node(dir) if dir.is_tree() => {
                objects.find_raw(dir.oid(), std::iter::once(entry.name.as_slice()))
            }
            Found::Node(file) => Ok(Found::Blocked {
                depth: 0,
                by: *file,
            }),
            other => Ok(other.clone()),
        };
        let sides = [below(&base)?, below(&ours)?, below(&tip)?];
        if entry.node.is_tree() {
            bulk_below(objects, path, entry.node.oid(), sides, written)?;
        } else {
            let [base, ours, tip] = &sides;
            written.note(String::from_utf8_lossy(path).into_owned(), base, ours, tip);
        }
        path.truncate(length);
    }
    Ok(())
}

/// How changes fit onto another tree.
pub enum Fitted {
    /// The tree with them.
    Tree(TreeId),
    /// Paths where that tree has neither the old entry nor the new.
    Stale(Vec<String>),
}

/// Makes `changes` on `onto`: an entry that is the old one becomes the new one, one that is the new already stays.
pub fn fit(objects: &Objects, changes: &[Change], onto: &TreeId) -> Result<Fitted, ObjectsError> {
    let root = oid(Kind::Tree, onto.as_str())?;
    let (mut edits, mut stale) = (Edits::new(), Vec::new());
    for change in changes {
        let there = objects.find_raw(root, change.parts())?;
        let is = |node: Option<_>| match (&there, node) {
            (Found::Node(there), Some(node)) => *there == node,
            (Found::Absent, None) => true,
            _ => false,
        };
        let gone_anyway = change.new.is_none() && matches!(there, Found::Blocked { .. });
        if is(change.old) {
            let parts: Vec<&[u8]> = change.parts().collect();
            edits.put_raw(&parts, change.new);
        } else if !(is(change.new) || gone_anyway) {
            stale.push(change.path());
        }
    }
    if stale.is_empty() {
        Ok(Fitted::Tree(objects.edit(onto, &edits)?))
    } else {
        Ok(Fitted::Stale(stale))
    }
}

fn chain(
    objects: &Objects,
    commits: &[CommitId],
    base: Option<&CommitId>,
    tip: Option<&CommitId>,
) -> Result<Rebased, ObjectsError> {
    let (mut before, mut onto, mut parent) =
        (objects.tree_of(base)?, objects.tree_of(tip)?, tip.cloned());
    let mut made = Vec::new();
    for id in commits {
        let commit = objects.commit(id)?;
        match fit(objects, &objects.changes(&before, &commit.tree)?, &onto)? {
            Fitted::Stale(paths) => return Ok(Rebased::Stale { paths }),
            Fitted::Tree(tree) if tree == onto => {}
            Fitted::Tree(tree) => {
                let again = objects.make_again(&commit, parent.as_ref(), &tree)?;
                made.push(again.clone());
                (onto, parent) = (tree, Some(again));
            }
        }
        before = commit.tree;
    }
    Ok(if made.is_empty() {
        Rebased::NoOp
    } else {
        Rebased::Onto(made)
    })
}

#[cfg(test)]
mod tests;
