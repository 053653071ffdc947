//! Objects from one store into another, for a copy between checkouts of different repositories.

use git2::Oid;

use super::{
    super::{
        id::BlobId,
        objects::{Kind, Objects, ObjectsError, typed},
    },
    Node,
};

impl Objects {
    /// Makes sure that everything `node` stands for is here too, reading it from `from` where it is not.
    ///
    /// A submodule's commit is not fetched: it belongs to another repository in either place.
    pub fn carry(&self, from: &Objects, node: Node) -> Result<(), ObjectsError> {
        if node.is_tree() {
            self.carry_tree(from, node.oid())
        } else if let Some(id) = node.blob_id() {
            self.carry_blob(from, &id)
        } else {
            Ok(())
        }
    }

    fn carry_blob(&self, from: &Objects, id: &BlobId) -> Result<(), ObjectsError> {
        if !self.contains(id.as_str()) {
            self.write_blob(&from.read_blob(id)?)?;
        }
        Ok(())
    }

    /// A tree that is here may still lack parts (a mirror can be damaged), so its entries are looked at all the same.
    fn carry_tree(&self, from: &Objects, tree: Oid) -> Result<(), ObjectsError> {
        let entries = from.entries_at(tree)?;
        for entry in &entries {
            self.carry(from, entry.node)?;
        }
        let id: crate::git::id::TreeId = typed(Kind::Tree, tree)?;
        if !self.contains(id.as_str()) {
            self.write(Kind::Tree, &from.tree_bytes(tree)?)?;
        }
        Ok(())
    }
}
