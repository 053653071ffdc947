//! Trees as values: look a path up, list a directory, and (in [`edit`]) make another tree that shares the rest.
//!
//! Trees are read and written byte by byte here. That keeps what libgit2's builders lose or stumble over
//! (old modes such as 100664, names that are not UTF-8, a panic at NUL) and visits only what a path leads through.

pub mod carry;
pub mod compare;
pub mod edit;

use std::{cmp::Ordering, fmt, sync::Arc};

use git2::Oid;
use serde::{Deserialize, Serialize};

use super::{
    id::{BlobId, TreeId},
    objects::{Kind, Objects, ObjectsError, oid, typed},
    path::RepoPath,
};

/// The tree without entries; git knows it even where nobody stored it.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const EMPTY_TREE_BYTES: [u8; 20] = [
    0x4b, 0x82, 0x5d, 0xc6, 0x42, 0xcb, 0x6e, 0xb9, 0xa0, 0x60, 0xe5, 0x4b, 0xf8, 0xd6, 0x92, 0x88,
    0xfb, 0xee, 0x49, 0x04,
];

/// What a path that is no directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    /// An ordinary file, 100644 (or an older spelling of it, which is kept).
    File,
    /// A file that may be run, 100755.
    Executable,
    /// A symbolic link, 120000; its content is the target.
    Link,
    /// A submodule's commit, 160000; there is nothing below it here.
    Gitlink,
}

impl Mode {
    /// The mode as git writes it, six octal digits.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "100644",
            Self::Executable => "100755",
            Self::Link => "120000",
            Self::Gitlink => "160000",
        }
    }

    fn bits(self) -> u32 {
        match self {
            Self::File => 0o100_644,
            Self::Executable => 0o100_755,
            Self::Link => 0o120_000,
            Self::Gitlink => 0o160_000,
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

const TREE_BITS: u32 = 0o40_000;
const TYPE_BITS: u32 = 0o170_000;

/// What a tree's entry points to: a directory, file, link or submodule, by mode and id. Equal nodes are equal all the way down.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Node {
    bits: u32,
    oid: Oid,
}

impl Node {
    /// A directory.
    pub fn tree(id: &TreeId) -> Result<Self, ObjectsError> {
        Ok(Self {
            bits: TREE_BITS,
            oid: oid(Kind::Tree, id.as_str())?,
        })
    }

    /// A file or link with that content; for [`Mode::Gitlink`] the id is a commit's.
    pub fn leaf(mode: Mode, id: &BlobId) -> Result<Self, ObjectsError> {
        Ok(Self {
            bits: mode.bits(),
            oid: oid(Kind::Blob, id.as_str())?,
        })
    }

    pub(super) fn tree_of(oid: Oid) -> Self {
        Self {
            bits: TREE_BITS,
            oid,
        }
    }

    pub(super) fn oid(self) -> Oid {
        self.oid
    }

    /// Whether it is a directory.
    pub fn is_tree(self) -> bool {
        self.bits & TYPE_BITS == TREE_BITS
    }

    /// What kind of leaf it is; none for a directory.
    pub fn mode(self) -> Option<Mode> {
        match self.bits & TYPE_BITS {
            TREE_BITS => None,
            0o120_000 => Some(Mode::Link),
            0o160_000 => Some(Mode::Gitlink),
            _ if self.bits & 0o100 != 0 => Some(Mode::Executable),
            _ => Some(Mode::File),
        }
    }

    /// The directory's tree; none for a leaf.
    pub fn tree_id(self) -> Option<TreeId> {
        if self.is_tree() {
            self.oid.to_string().parse().ok()
        } else {
            None
        }
    }

    /// The content of a file or link; none for a directory or submodule.
    pub fn blob_id(self) -> Option<BlobId> {
        match self.mode() {
            None | Some(Mode::Gitlink) => None,
            Some(_) => self.oid.to_string().parse().ok(),
        }
    }

    /// The same content with another mode, unless the mode is that already (older spellings of it are kept).
    pub fn with_mode(self, mode: Mode) -> Self {
        if self.mode() == Some(mode) {
            self
        } else {
            Self {
                bits: mode.bits(),
                ..self
            }
        }
    }

    /// Other content with the same mode.
    pub fn with_content(self, id: &BlobId) -> Result<Self, ObjectsError> {
        Ok(Self {
            oid: oid(Kind::Blob, id.as_str())?,
            ..self
        })
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:06o} {}", self.bits, self.oid)
    }
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A directory, file, link or submodule.
    Node(Node),
    /// Nothing, though the directories on the way may exist.
    Absent,
    /// Nothing, since this part of the path is a file, link or submodule.
    Blocked {
        /// How many parts of the path lead to it.
        depth: usize,
        /// What is there.
        by: Node,
    },
}

/// One name in a directory. Names are bytes in git; those that are not UTF-8 are kept but cannot be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub(super) name: Vec<u8>,
    /// What the name stands for.
    pub node: Node,
}

impl Entry {
    /// The name, where it is UTF-8.
    pub fn name(&self) -> Option<&str> {
        std::str::from_utf8(&self.name).ok()
    }
}

/// The order of entries in a tree: a directory sorts as if its name ended in a slash.
fn in_tree_order(a: &(&[u8], Node), b: &(&[u8], Node)) -> Ordering {
    let common = a.0.len().min(b.0.len());
    let heads = a.0.get(..common).cmp(&b.0.get(..common));
    let next =
        |(name, node): &(&[u8], Node)| name.get(common).copied().or(node.is_tree().then_some(b'/'));
    heads.then_with(|| next(a).cmp(&next(b)))
}

/// A tree's bytes, read entry by entry without copying.
struct Entries<'a> {
    rest: &'a [u8],
    of: Oid,
}

impl<'a> Entries<'a> {
    fn split_first(&self) -> Option<(&'a [u8], Node, &'a [u8])> {
        let space = self.rest.iter().position(|&b| b == b' ')?;
        let (mode, rest) = self.rest.split_at_checked(space)?;
        let bits = u32::from_str_radix(std::str::from_utf8(mode).ok()?, 8).ok()?;
        let rest = rest.get(1..)?;
        let nul = rest.iter().position(|&b| b == 0)?;
        let (name, rest) = rest.split_at_checked(nul)?;
        let (id, rest) = rest.get(1..)?.split_at_checked(20)?;
        let oid = Oid::from_bytes(id).ok()?;
        let sound = !name.is_empty() && !name.contains(&b'/');
        sound.then_some((name, Node { bits, oid }, rest))
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<(&'a [u8], Node), ObjectsError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        if let Some((name, node, rest)) = self.split_first() {
            self.rest = rest;
            return Some(Ok((name, node)));
        }
        self.rest = &[];
        Some(Err(ObjectsError::damaged(
            Kind::Tree,
            self.of,
            "its bytes are not those of a tree",
        )))
    }
}

fn entries_of(bytes: &[u8], of: Oid) -> Entries<'_> {
    Entries { rest: bytes, of }
}

pub(super) fn empty_oid() -> Oid {
    Oid::from_bytes(&EMPTY_TREE_BYTES).unwrap_or(Oid::ZERO_SHA1)
}

impl TreeId {
    /// The tree without entries.
    pub fn empty() -> Self {
        match EMPTY_TREE.parse() {
            Ok(id) => id,
            Err(_) => unreachable!("the constant is 40 hexadecimal digits"),
        }
    }
}

impl Objects {
    pub(super) fn entries_at(&self, tree: Oid) -> Result<Vec<Entry>, ObjectsError> {
        let bytes = self.tree_bytes(tree)?;
        entries_of(&bytes, tree)
            .map(|entry| {
                entry.map(|(name, node)| Entry {
                    name: name.to_vec(),
                    node,
                })
            })
            .collect()
    }

    fn named(&self, tree: Oid, name: &[u8]) -> Result<Option<Node>, ObjectsError> {
        let bytes: Arc<[u8]> = self.tree_bytes(tree)?;
        for entry in entries_of(&bytes, tree) {
            let (found, node) = entry?;
            if found == name {
                return Ok(Some(node));
            }
        }
        Ok(None)
    }

    /// What is at a path whose parts are bytes, below `root`.
    pub(super) fn find_raw<'a>(
        &self,
        root: Oid,
        parts: impl Iterator<Item = &'a [u8]>,
    ) -> Result<Found, ObjectsError> {
        let mut at = Node::tree_of(root);
        for (depth, part) in parts.enumerate() {
            if !at.is_tree() {
                return Ok(Found::Blocked { depth, by: at });
            }
            match self.named(at.oid, part)? {
                Some(node) => at = node,
                None => return Ok(Found::Absent),
            }
        }
        Ok(Found::Node(at))
    }

    /// What is at `path` in the tree; the root is a directory.
    pub fn find(&self, root: &TreeId, path: &RepoPath) -> Result<Found, ObjectsError> {
        self.find_raw(
            oid(Kind::Tree, root.as_str())?,
            path.parts().map(str::as_bytes),
        )
    }

    /// The entries of one tree, in git's order.
    pub fn entries(&self, tree: &TreeId) -> Result<Vec<Entry>, ObjectsError> {
        self.entries_at(oid(Kind::Tree, tree.as_str())?)
    }

    /// Stores a tree with these entries, in any order; one name only once.
    pub(super) fn write_entries(&self, mut entries: Vec<Entry>) -> Result<Oid, ObjectsError> {
        entries.sort_by(|a, b| in_tree_order(&(&a.name, a.node), &(&b.name, b.node)));
        let mut bytes = Vec::with_capacity(entries.len() * 48);
        for entry in &entries {
            bytes.extend_from_slice(format!("{:o} ", entry.node.bits).as_bytes());
            bytes.extend_from_slice(&entry.name);
            bytes.push(0);
            bytes.extend_from_slice(entry.node.oid.as_bytes());
        }
        self.write(Kind::Tree, &bytes)
    }

    pub(super) fn tree_typed(id: Oid) -> Result<TreeId, ObjectsError> {
        typed(Kind::Tree, id)
    }
}

#[cfg(test)]
mod tests;
