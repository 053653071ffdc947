//! Another tree from a tree and some edits; every directory on the way is rewritten once, everything else is shared.

use std::collections::BTreeMap;

use git2::Oid;

use super::{
    super::{
        id::TreeId,
        objects::{Kind, Objects, ObjectsError, oid},
        path::RepoPath,
    },
    Entry, Node,
};

/// What shall be at which path. A later edit of the same path, or of one above it, replaces the earlier.
#[derive(Clone, Debug, Default)]
pub struct Edits(BTreeMap<Vec<u8>, Edit>);

#[derive(Clone, Debug)]
enum Edit {
    /// This, or nothing, in the place of whatever was there.
    Put(Option<Node>),
    /// A directory that keeps its other entries.
    Within(Edits),
}

impl Edits {
    /// No edits yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `path` shall be `node`, or nothing. The root itself cannot be put: it has no entry.
    pub fn put(&mut self, path: &RepoPath, node: Option<Node>) {
        let parts: Vec<&[u8]> = path.parts().map(str::as_bytes).collect();
        self.put_raw(&parts, node);
    }

    /// The entry of this name, directly in the root, shall be `node`, or nothing.
    pub fn put_entry(&mut self, entry: &Entry, node: Option<Node>) {
        self.put_raw(&[&entry.name], node);
    }

    pub(in crate::git) fn put_raw(&mut self, parts: &[&[u8]], node: Option<Node>) {
        match parts {
            [] => {}
            [name] => {
                self.0.insert(name.to_vec(), Edit::Put(node));
            }
            [dir, rest @ ..] => {
                let edit = self
                    .0
                    .entry(dir.to_vec())
                    .or_insert_with(|| Edit::Within(Self::new()));
                if let Edit::Put(_) = edit {
                    *edit = Edit::Within(Self::new());
                }
                if let Edit::Within(edits) = edit {
                    edits.put_raw(rest, node);
                }
            }
        }
    }

    /// Whether anything is put in place here or below; a removal below a file is no obstacle.
    fn puts_something(&self) -> bool {
        self.0.values().any(|edit| match edit {
            Edit::Put(node) => node.is_some(),
            Edit::Within(edits) => edits.puts_something(),
        })
    }
}

impl Objects {
    /// The tree with the edits made. Directories appear as needed and go with their last entry.
    ///
    /// A file where an edit needs a directory is an error; put nothing at its path first to replace it.
    pub fn edit(&self, root: &TreeId, edits: &Edits) -> Result<TreeId, ObjectsError> {
        let root = oid(Kind::Tree, root.as_str())?;
        Self::tree_typed(self.edit_at(root, edits, &mut Vec::new())?)
    }

    pub(in crate::git) fn edit_at(
        &self,
        tree: Oid,
        edits: &Edits,
        at: &mut Vec<u8>,
    ) -> Result<Oid, ObjectsError> {
        if edits.is_empty() {
            return Ok(tree);
        }
        let mut pending: BTreeMap<&[u8], &Edit> = edits
            .0
            .iter()
            .map(|(name, edit)| (name.as_slice(), edit))
            .collect();
        let before = self.entries_at(tree)?;
        let mut after = Vec::with_capacity(before.len() + pending.len());
        for entry in &before {
            match pending.remove(entry.name.as_slice()) {
                None => after.push(entry.clone()),
                Some(edit) => after.extend(self.edited(&entry.name, Some(entry.node), edit, at)?),
            }
        }
        for (name, edit) in pending {
            after.extend(self.edited(name, None, edit, at)?);
        }
        if after == before {
            Ok(tree)
        } else {
            self.write_entries(after)
        }
    }

    /// One entry after its edit; none when it is gone.
    fn edited(
        &self,
        name: &[u8],
        before: Option<Node>,
        edit: &Edit,
        at: &mut Vec<u8>,
    ) -> Result<Option<Entry>, ObjectsError> {
        let node = match edit {
            Edit::Put(node) => *node,
            Edit::Within(edits) => {
                let length = at.len();
                at.extend_from_slice(name);
                let inner = match before {
                    None => self.edit_at(super::empty_oid(), edits, &mut with_slash(at))?,
                    Some(dir) if dir.is_tree() => {
                        self.edit_at(dir.oid(), edits, &mut with_slash(at))?
                    }
                    Some(_) if edits.puts_something() => {
                        return Err(ObjectsError::InTheWay {
                            at: String::from_utf8_lossy(at).into_owned(),
                        });
                    }
                    Some(file) => {
                        at.truncate(length);
                        return Ok(Some(Entry {
                            name: name.to_vec(),
                            node: file,
                        }));
                    }
                };
                at.truncate(length);
                (inner != super::empty_oid()).then(|| Node::tree_of(inner))
            }
        };
        Ok(node.map(|node| Entry {
            name: name.to_vec(),
            node,
        }))
    }
}

fn with_slash(at: &[u8]) -> Vec<u8> {
    let mut dir = at.to_vec();
    dir.push(b'/');
    dir
}
