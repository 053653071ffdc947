//! Where two trees differ, by mode and id, without entering what is equal.

use std::{cmp::Ordering, collections::BTreeMap};

use git2::Oid;

use super::{
    super::{
        id::TreeId,
        objects::{Kind, Objects, ObjectsError, oid},
        path::MOST_PARTS,
    },
    Node, entries_of, in_tree_order,
};

/// One path whose entry differs.
///
/// Directories that are on one side only are given as the files in them; only where a file became
/// a directory, or the other way round, is one side a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path's bytes, joined by slashes.
    pub(in crate::git) path: Vec<u8>,
    /// What was there.
    pub old: Option<Node>,
    /// What is there.
    pub new: Option<Node>,
}

/// Why a tree is not entered.
pub(in crate::git) const TOO_DEEP: &str = "it is nested deeper than any path goes";

/// How many parts the path of a directory has.
pub(in crate::git) fn depth(at: &[u8]) -> usize {
    if at.is_empty() {
        0
    } else {
        at.iter().filter(|&&b| b == b'/').count() + 1
    }
}

/// By name, what it is in the old tree and in the new.
type Differing = BTreeMap<Vec<u8>, (Option<Node>, Option<Node>)>;

impl Change {
    /// The path for people; bytes that are not UTF-8 are replaced.
    pub fn path(&self) -> String {
        String::from_utf8_lossy(&self.path).into_owned()
    }

    pub(in crate::git) fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.path.split(|&b| b == b'/')
    }
}

impl Objects {
    /// The differences between two trees, in the order of paths.
    pub fn changes(&self, old: &TreeId, new: &TreeId) -> Result<Vec<Change>, ObjectsError> {
        self.changes_at(
            oid(Kind::Tree, old.as_str())?,
            oid(Kind::Tree, new.as_str())?,
        )
    }

    pub(in crate::git) fn changes_at(
        &self,
        old: Oid,
        new: Oid,
    ) -> Result<Vec<Change>, ObjectsError> {
        let mut found = Vec::new();
        self.compare(old, new, &mut Vec::new(), &mut found)?;
        Ok(found)
    }

    fn compare(
        &self,
        old: Oid,
        new: Oid,
        at: &mut Vec<u8>,
        found: &mut Vec<Change>,
    ) -> Result<(), ObjectsError> {
        if old == new {
            return Ok(());
        }
        if depth(at) > MOST_PARTS {
            return Err(ObjectsError::damaged(Kind::Tree, new, TOO_DEEP));
        }
        for (name, (before, after)) in self.differing(old, new)? {
            let length = at.len();
            if length > 0 {
                at.push(b'/');
            }
            at.extend_from_slice(&name);
            match (before, after) {
                (Some(b), Some(a)) if b.is_tree() && a.is_tree() => {
                    self.compare(b.oid(), a.oid(), at, found)?
                }
                (Some(b), None) if b.is_tree() => {
                    self.compare(b.oid(), super::empty_oid(), at, found)?
                }
                (None, Some(a)) if a.is_tree() => {
                    self.compare(super::empty_oid(), a.oid(), at, found)?
                }
                (old, new) => found.push(Change {
                    path: at.clone(),
                    old,
                    new,
                }),
            }
            at.truncate(length);
        }
        Ok(())
    }

    /// The names whose nodes differ between two trees, side by side.
    fn differing(&self, old: Oid, new: Oid) -> Result<Differing, ObjectsError> {
        let (old_bytes, new_bytes) = (self.tree_bytes(old)?, self.tree_bytes(new)?);
        let mut olds = entries_of(&old_bytes, old);
        let mut news = entries_of(&new_bytes, new);
        let (mut before, mut after) = (olds.next().transpose()?, news.next().transpose()?);
        let mut differing = Differing::new();
        loop {
            let order = match (&before, &after) {
                (None, None) => return Ok(differing),
                (b, a) if b == a => Ordering::Equal,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(b), Some(a)) => in_tree_order(b, a),
            };
            if order.is_eq() && before == after {
                before = olds.next().transpose()?;
                after = news.next().transpose()?;
                continue;
            }
            if let (true, Some((name, node))) = (order.is_le(), before) {
                differing.entry(name.to_vec()).or_default().0 = Some(node);
                before = olds.next().transpose()?;
            }
            if let (true, Some((name, node))) = (order.is_ge(), after) {
                differing.entry(name.to_vec()).or_default().1 = Some(node);
                after = news.next().transpose()?;
            }
        }
    }
}
