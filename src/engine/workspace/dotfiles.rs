//! The two files by which a branch says what becomes of others: `.gitignore`, which `git add .` obeys, and
//! `.gitattributes`, of which only `filter=lfs` matters here (no other attribute changes what is stored).

use std::collections::{BTreeSet, HashMap};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};

use super::{Owner, Workspace, WorkspaceError};
use crate::git::{
    id::TreeId,
    objects::{Objects, ObjectsError},
    path::RepoPath,
    rebase::Access,
    tree::{Found, Mode, Node, edit::Edits},
};

/// What `git add . && git commit` would make of a checkout.
pub(super) struct Committable {
    /// The files, without new ones that are ignored.
    pub tree: TreeId,
    /// New files that are ignored: they stay in the workspace.
    pub ignored: Vec<(RepoPath, Node)>,
}

/// How a pointer of Git LFS begins; what is one already needs no filter.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// One kind of file, parsed once for each directory.
struct Rules<'a, T> {
    objects: &'a Objects,
    tree: &'a TreeId,
    name: &'static str,
    parse: fn(&str) -> T,
    known: HashMap<RepoPath, Option<T>>,
    /// Those that were found, and the root's in any case: what the outcome was read from.
    read: BTreeSet<RepoPath>,
}

impl<'a, T> Rules<'a, T> {
    fn new(
        objects: &'a Objects,
        tree: &'a TreeId,
        name: &'static str,
        parse: fn(&str) -> T,
    ) -> Self {
        Self {
            objects,
            tree,
            name,
            parse,
            known: HashMap::new(),
            read: BTreeSet::new(),
        }
    }

    fn of(&mut self, dir: &RepoPath) -> Result<Option<&T>, WorkspaceError> {
        if !self.known.contains_key(dir) {
            let rules = self.load(dir)?;
            self.known.insert(dir.clone(), rules);
        }
        Ok(self.known.get(dir).and_then(Option::as_ref))
    }

    fn load(&mut self, dir: &RepoPath) -> Result<Option<T>, WorkspaceError> {
        let path = dir.child(self.name)?;
        let Found::Node(node) = self.objects.find(self.tree, &path)? else {
            if dir.is_root() {
                self.read.insert(path);
            }
            return Ok(None);
        };
        self.read.insert(path);
        match (node.mode(), node.blob_id()) {
            (Some(Mode::File | Mode::Executable), Some(id)) => Ok(Some((self.parse)(
                &String::from_utf8_lossy(&self.objects.read_blob(&id)?),
            ))),
            _ => Ok(None), // git does not follow a link here
        }
    }
}

fn matcher<'a>(lines: impl Iterator<Item = &'a str>) -> Gitignore {
    let mut builder = GitignoreBuilder::new("");
    for line in lines {
        // A pattern that cannot be read matches nothing, as in git.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

fn ignore_rules(text: &str) -> Gitignore {
    matcher(text.lines())
}

/// Whether a new file is ignored: it or a directory that it is in, by the nearest rule that names it.
fn ignores(rules: &mut Rules<'_, Gitignore>, path: &RepoPath) -> Result<bool, WorkspaceError> {
    let mut prefixes: Vec<RepoPath> = path.ancestors().filter(|dir| !dir.is_root()).collect();
    prefixes.reverse();
    prefixes.push(path.clone());
    for prefix in &prefixes {
        for dir in prefix.ancestors() {
            let (Some(rules), Some(below)) = (rules.of(&dir)?, prefix.below(&dir)) else {
                continue;
            };
            match rules.matched(below.as_git(), prefix != path) {
                Match::Ignore(_) => return Ok(true),
                Match::Whitelist(_) => break,
                Match::None => {}
            }
        }
    }
    Ok(false)
}

/// The patterns of one `.gitattributes`, each with what it says of `filter=lfs`.
type LfsRules = Vec<(Gitignore, bool)>;

fn lfs_rules(text: &str) -> LfsRules {
    let mut macros: BTreeSet<&str> = BTreeSet::new();
    let mut rules = Vec::new();
    for line in text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with(['#', '!']))
    {
        let (pattern, attributes) =
            match line.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
                Some(quoted) => quoted,
                None => line.split_once(char::is_whitespace).unwrap_or((line, "")),
            };
        let mut verdict = None;
        for attribute in attributes.split_ascii_whitespace() {
            match attribute {
                "filter=lfs" => verdict = Some(true),
                "filter" | "-filter" | "!filter" => verdict = Some(false),
                other if other.starts_with("filter=") => verdict = Some(false),
                other if macros.contains(other) => verdict = Some(true),
                _ => {}
            }
        }
        match (pattern.strip_prefix("[attr]"), verdict) {
            (Some(name), Some(true)) => drop(macros.insert(name)),
            (None, Some(lfs)) => rules.push((matcher(std::iter::once(pattern)), lfs)),
            _ => {}
        }
    }
    rules
}

fn in_lfs(rules: &mut Rules<'_, LfsRules>, path: &RepoPath) -> Result<bool, WorkspaceError> {
    for dir in path.ancestors() {
        let (Some(rules), Some(below)) = (rules.of(&dir)?, path.below(&dir)) else {
            continue;
        };
        let says =
            |(pattern, _): &&(Gitignore, bool)| pattern.matched(below.as_git(), false).is_ignore();
        if let Some((_, lfs)) = rules.iter().rev().find(says) {
            return Ok(*lfs);
        }
    }
    Ok(false)
}

impl Workspace {
    /// Refuses content for a path that the branch keeps in Git LFS, unless it is a pointer already.
    pub(super) fn refuse_lfs(
        &self,
        owner: Owner,
        path: &RepoPath,
        bytes: &[u8],
    ) -> Result<(), WorkspaceError> {
        let (Owner::Mount(_), Some(objects)) = (owner, self.objects(owner)) else {
            return Ok(());
        };
        let tree = self.tree(owner);
        let mut rules = Rules::new(objects, &tree, ".gitattributes", lfs_rules);
        if !bytes.starts_with(LFS_POINTER) && in_lfs(&mut rules, path)? {
            return Err(WorkspaceError::Lfs {
                path: path.to_string(),
            });
        }
        Ok(())
    }

    /// What a commit of the checkout would have in it.
    pub(super) fn committable(&mut self, at: usize) -> Result<Committable, WorkspaceError> {
        let (committable, read) = self.sort_out(at)?;
        if let Some(mount) = self.state.mounts.get_mut(at) {
            read.iter()
                .for_each(|path| Access::read(&mut mount.access, path));
        }
        Ok(committable)
    }

    /// The same without a record; also the files that it was decided by.
    pub(super) fn sort_out(
        &self,
        at: usize,
    ) -> Result<(Committable, BTreeSet<RepoPath>), WorkspaceError> {
        let owner = Owner::Mount(at);
        let (objects, tree) = (self.opened(owner)?, self.tree(owner));
        let head = objects.tree_of(self.state.mounts.get(at).and_then(|mount| mount.head()))?;
        let mut ignore = Rules::new(objects, &tree, ".gitignore", ignore_rules);
        let mut attributes = Rules::new(objects, &tree, ".gitattributes", lfs_rules);
        let (mut ignored, mut without) = (Vec::new(), Edits::new());
        for change in objects.changes(&head, &tree)? {
            let (Ok(path), Some(node)) = (RepoPath::parse(&change.path()), change.new) else {
                continue;
            };
            if change.old.is_none() && ignores(&mut ignore, &path)? {
                without.put(&path, None);
                ignored.push((path, node));
            } else if in_lfs(&mut attributes, &path)? && !is_pointer(objects, node)? {
                return Err(WorkspaceError::Lfs {
                    path: path.to_string(),
                });
            }
        }
        let read = ignore.read.into_iter().chain(attributes.read).collect();
        Ok((
            Committable {
                tree: objects.edit(&tree, &without)?,
                ignored,
            },
            read,
        ))
    }
}

/// Whether nothing would have to be filtered: a pointer, or no regular file.
fn is_pointer(objects: &Objects, node: Node) -> Result<bool, ObjectsError> {
    match (node.mode(), node.blob_id()) {
        (Some(Mode::File | Mode::Executable), Some(id)) => {
            Ok(objects.read_blob(&id)?.starts_with(LFS_POINTER))
        }
        _ => Ok(true),
    }
}

#[cfg(test)]
mod tests;
