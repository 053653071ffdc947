//! Objects from one store into another, for a copy between checkouts of different repositories.

use git2::{OdbLookupFlags, Oid};

use super::{
    super::objects::{Kind, Objects, ObjectsError},
    Node,
};

impl Objects {
    /// Makes sure that everything `node` stands for is here too, reading it from `from` where it is not.
    ///
    /// A submodule's commit is not fetched: it belongs to another repository in either place.
    pub fn carry(&self, from: &Objects, node: Node) -> Result<(), ObjectsError> {
        if node.is_tree() {
            // A tree that is here may still lack parts (a mirror can be damaged), so its entries are looked at too.
            for entry in from.entries_at(node.oid())? {
                self.carry(from, entry.node)?;
            }
            if !self.has(node.oid()) {
                self.write(Kind::Tree, &from.tree_bytes(node.oid())?)?;
            }
        } else if node.blob_id().is_some() && !self.has(node.oid()) {
            self.write(Kind::Blob, &from.read(Kind::Blob, node.oid())?)?;
        }
        Ok(())
    }

    /// Whether it is known to be here. Packs that came meanwhile are not looked for at every miss: writing an object
    /// once more does no harm.
    fn has(&self, id: Oid) -> bool {
        self.repo
            .odb()
            .is_ok_and(|odb| odb.exists_ext(id, OdbLookupFlags::NO_REFRESH))
    }
}
