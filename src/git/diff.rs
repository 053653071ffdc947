//! A change as people see it: files with counts, bounded text, and a digest that says whether two changes are the same.

use std::{collections::BTreeSet, fmt::Write as _};

use git2::{DiffLineType, DiffOptions, Patch};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    id::TreeId,
    objects::{Kind, Objects, ObjectsError},
    tree::{Mode, Node, compare::Change},
};

/// How much of a change is put into words. The digest always covers all of it.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The longest text, in bytes, with the mark where it is cut.
    pub text: usize,
    /// The most files that are named.
    pub files: usize,
    /// Larger files are compared by id alone, as binary ones are.
    pub file: usize,
}

impl Default for Limits {
    /// What an ApprovalRequest holds: 64 KiB of text, 1000 files; files up to 1 MiB are compared by line.
    fn default() -> Self {
        Self {
            text: 64 << 10,
            files: 1000,
            file: 1 << 20,
        }
    }
}

/// One file of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// From the root that the comparison was given.
    pub path: String,
    /// None when it was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// None when it is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_mode: Option<Mode>,
    /// Lines added; 0 for a binary file.
    pub added: usize,
    /// Lines removed; 0 for a binary file.
    pub removed: usize,
    /// Not text, or too large to compare by line.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub binary: bool,
}

/// A change: what differs between trees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileChanges {
    /// In the order of paths; at most as many as the limit says.
    pub files: Vec<FileChange>,
    /// How many more there are.
    #[serde(default)]
    pub more_files: usize,
    /// A unified diff, ended by a line that says so where it is cut.
    pub text: String,
    /// Whether the text is cut.
    #[serde(default)]
    pub cut: bool,
    /// Equal for equal changes: over path, modes and the lines that come and go, in 64 hexadecimal digits.
    /// What surrounds them does not count, so an equal change of another base has an equal digest.
    pub digest: String,
}

/// The line that ends a text that was cut.
pub const CUT_MARK: &str = "[cut here: the change is longer]\n";

/// Collects a change over several trees, say all checkouts of a workspace.
#[derive(Debug)]
pub struct Differ {
    limits: Limits,
    files: Vec<FileChange>,
    more_files: usize,
    text: String,
    cut: bool,
    /// One digest per file, by path: the order in which trees are added does not matter.
    digests: BTreeSet<(String, [u8; 32])>,
}

/// The difference between two trees of one repository.
pub fn diff(
    objects: &Objects,
    old: &TreeId,
    new: &TreeId,
    limits: Limits,
) -> Result<FileChanges, ObjectsError> {
    let mut differ = Differ::new(limits);
    differ.add(objects, "", old, new)?;
    Ok(differ.finish())
}

/// One side of a file: its mode and content, or its id where the content is not compared.
struct Side {
    node: Option<Node>,
    bytes: Vec<u8>,
    /// Compared by id alone.
    opaque: bool,
}

impl Differ {
    /// Nothing yet.
    pub fn new(limits: Limits) -> Self {
        let (files, text, digests) = (Vec::new(), String::new(), BTreeSet::new());
        Self {
            limits,
            files,
            more_files: 0,
            text,
            cut: false,
            digests,
        }
    }

    /// Adds what differs between two trees, with `prefix` (empty, or ending in a slash) before each path.
    pub fn add(
        &mut self,
        objects: &Objects,
        prefix: &str,
        old: &TreeId,
        new: &TreeId,
    ) -> Result<(), ObjectsError> {
        for change in objects.changes(old, new)? {
            for file in leaves(objects, change)? {
                self.add_file(objects, prefix, &file)?;
            }
        }
        Ok(())
    }

    /// The whole change.
    pub fn finish(mut self) -> FileChanges {
        if self.cut {
            self.text.push_str(CUT_MARK);
        }
        let mut digest = Sha256::new();
        for (path, file) in &self.digests {
            feed(&mut digest, path.as_bytes());
            feed(&mut digest, file);
        }
        FileChanges {
            files: self.files,
            more_files: self.more_files,
            text: self.text,
            cut: self.cut,
            digest: hex(&digest.finalize()),
        }
    }

    fn add_file(
        &mut self,
        objects: &Objects,
        prefix: &str,
        change: &Change,
    ) -> Result<(), ObjectsError> {
        let path = format!("{prefix}{}", change.path());
        let sides = [
            self.side(objects, change.old)?,
            self.side(objects, change.new)?,
        ];
        let [old, new] = &sides;
        let mut digest = Sha256::new();
        feed(&mut digest, mode_text(change.old).as_bytes());
        feed(&mut digest, mode_text(change.new).as_bytes());
        let mut file = FileChange {
            path: path.clone(),
            mode: change.new.and_then(Node::mode),
            old_mode: change.old.and_then(Node::mode),
            added: 0,
            removed: 0,
            binary: old.opaque || new.opaque,
        };
        let body = if file.binary {
            for side in &sides {
                feed(
                    &mut digest,
                    side.node
                        .map_or(String::new(), |node| node.oid().to_string())
                        .as_bytes(),
                );
            }
            "Binary files differ\n".to_owned()
        } else {
            lines(&path, old, new, &mut file, &mut digest)?
        };
        self.digests
            .insert((path.clone(), digest.finalize().into()));
        self.write_text(&header(&path, change, file.binary), &body);
        if self.files.len() < self.limits.files {
            self.files.push(file);
        } else {
            self.more_files += 1;
        }
        Ok(())
    }

    fn side(&self, objects: &Objects, node: Option<Node>) -> Result<Side, ObjectsError> {
        let content = node.and_then(|node| node.blob_id());
        let (bytes, opaque) = match &content {
            None => (Vec::new(), node.is_some()), // a submodule
            Some(id) if objects.blob_size(id)? > self.limits.file => (Vec::new(), true),
            Some(id) => {
                let bytes = objects.read_blob(id)?;
                let binary = bytes.iter().take(8000).any(|&b| b == 0);
                (bytes, binary)
            }
        };
        Ok(Side {
            node,
            bytes,
            opaque,
        })
    }

    /// Adds text as far as it goes; lines are not split.
    fn write_text(&mut self, header: &str, body: &str) {
        if self.cut {
            return;
        }
        let room = self.limits.text.saturating_sub(CUT_MARK.len());
        for line in header
            .split_inclusive('\n')
            .chain(body.split_inclusive('\n'))
        {
            if self.text.len() + line.len() > room {
                self.cut = true;
                return;
            }
            self.text.push_str(line);
        }
    }
}

/// A change of files only: where one side is a directory, the files in it.
fn leaves(objects: &Objects, change: Change) -> Result<Vec<Change>, ObjectsError> {
    let is_tree = |node: Option<Node>| node.is_some_and(Node::is_tree);
    if !is_tree(change.old) && !is_tree(change.new) {
        return Ok(vec![change]);
    }
    let mut found = Vec::new();
    for (node, is_old) in [(change.old, true), (change.new, false)] {
        let Some(node) = node else { continue };
        let side = |path, node| match is_old {
            true => Change {
                path,
                old: Some(node),
                new: None,
            },
            false => Change {
                path,
                old: None,
                new: Some(node),
            },
        };
        let Some(tree) = node.tree_id() else {
            found.push(side(change.path.clone(), node));
            continue;
        };
        for inner in objects.changes(&TreeId::empty(), &tree)? {
            let path = [change.path.as_slice(), b"/", &inner.path].concat();
            found.extend(inner.new.map(|node| side(path, node)));
        }
    }
    Ok(found)
}

fn mode_text(node: Option<Node>) -> &'static str {
    node.and_then(Node::mode).map_or("000000", Mode::as_str)
}

/// The lines before the first hunk, as git writes them.
fn header(path: &str, change: &Change, binary: bool) -> String {
    let path = shown(path);
    let mut text = format!("diff --git a/{path} b/{path}\n");
    let (old, new) = (mode_text(change.old), mode_text(change.new));
    let modes = match (change.old, change.new) {
        (None, _) => format!("new file mode {new}\n"),
        (_, None) => format!("deleted file mode {old}\n"),
        _ if old != new => format!("old mode {old}\nnew mode {new}\n"),
        _ => String::new(),
    };
    text.push_str(&modes);
    let content_equal = change.old.map(Node::oid) == change.new.map(Node::oid);
    if !binary && !content_equal {
        let name = |side: Option<Node>, letter| {
            side.map_or("/dev/null".to_owned(), |_| format!("{letter}/{path}"))
        };
        let _ = write!(
            text,
            "--- {}\n+++ {}\n",
            name(change.old, 'a'),
            name(change.new, 'b')
        );
    }
    text
}

/// A path that cannot end its line early or move the cursor.
fn shown(path: &str) -> String {
    if path.chars().any(|c| c.is_control() || c == '"') {
        format!("{path:?}")
    } else {
        path.to_owned()
    }
}

/// The hunks; counts the lines and feeds them to the digest, with their exact bytes.
fn lines(
    path: &str,
    old: &Side,
    new: &Side,
    file: &mut FileChange,
    digest: &mut Sha256,
) -> Result<String, ObjectsError> {
    let failed = |source| ObjectsError::Compare {
        path: path.to_owned(),
        source,
    };
    let mut options = DiffOptions::new();
    options.context_lines(3).force_text(true);
    let mut text = String::new();
    let mut patch = Patch::from_buffers(&old.bytes, None, &new.bytes, None, Some(&mut options))
        .map_err(failed)?;
    let mut line = |line: git2::DiffLine<'_>| {
        let content = String::from_utf8_lossy(line.content());
        match line.origin_value() {
            DiffLineType::Addition => {
                file.added += 1;
                feed(digest, b"+");
                feed(digest, line.content());
                text.push('+');
            }
            DiffLineType::Deletion => {
                file.removed += 1;
                feed(digest, b"-");
                feed(digest, line.content());
                text.push('-');
            }
            DiffLineType::Context => text.push(' '),
            DiffLineType::FileHeader | DiffLineType::Binary => return true,
            _ => {}
        }
        text.push_str(&content);
        true
    };
    patch.print(&mut |_, _, l| line(l)).map_err(failed)?;
    Ok(text)
}

/// Adds a part with its length, so that two parts never read as one.
fn feed(digest: &mut Sha256, part: &[u8]) {
    digest.update(part.len().to_be_bytes());
    digest.update(part);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl Objects {
    fn blob_size(&self, id: &super::id::BlobId) -> Result<usize, ObjectsError> {
        let oid = super::objects::oid(Kind::Blob, id.as_str())?;
        let header = self.repo.odb().and_then(|odb| odb.read_header(oid));
        let absent = |source| ObjectsError::Absent {
            kind: Kind::Blob,
            id: id.to_string(),
            source: Box::new(source),
        };
        header.map(|(size, _)| size).map_err(absent)
    }
}

#[cfg(test)]
mod tests;
