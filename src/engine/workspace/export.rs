//! Parts of the workspace into a real folder, at the same paths, with whatever they lead to.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs::{self, OpenOptions},
    io::Write,
    os::unix::{ffi::OsStrExt, fs::OpenOptionsExt, fs::symlink},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use super::{
    Found, Kind, Workspace, WorkspaceError,
    folder::{Budget, FolderError, LIMITS},
    resolve::MOST_LINKS,
};
use crate::{
    git::{path::RepoPath, rebase::Access, tree::Mode},
    kargo::artifact::hex,
};

/// Which other paths a file speaks of: relative to the directory that it is in, right or wrong.
pub type References<'a> = &'a dyn Fn(&RepoPath, &[u8]) -> Vec<String>;

/// What was put into the folder.
#[derive(Debug, Default)]
pub struct Exported {
    /// Links that were left out since they lead out of the workspace.
    pub left_out: Vec<RepoPath>,
    /// Of all paths, modes and contents: equal where a program would find the same.
    pub digest: String,
}

impl Exported {
    /// What to tell people when something was not found in the folder.
    pub fn hint(&self) -> Option<String> {
        let names: Vec<String> = self.left_out.iter().map(ToString::to_string).collect();
        (!names.is_empty()).then(|| {
            let names = names.join(", ");
            format!("Links that lead out of the workspace were left out: {names}")
        })
    }
}

struct Export<'a> {
    into: &'a Path,
    references: References<'a>,
    budget: Budget,
    /// What is in the folder already, with all that is below it.
    done: Vec<RepoPath>,
    /// Each with the number of links that led to it.
    waiting: Vec<(RepoPath, usize)>,
    seen: BTreeSet<RepoPath>,
    left_out: Vec<RepoPath>,
    digest: Sha256,
}

impl Workspace {
    /// Puts these files and directories into the folder `into`, links among them as links, and everything that their
    /// links and `references` lead to inside the workspace. All of it counts as read. Paths that lead nowhere are
    /// left to the program to miss.
    pub fn export(
        &mut self,
        paths: &[RepoPath],
        into: &Path,
        references: References<'_>,
    ) -> Result<Exported, WorkspaceError> {
        let mut export = Export {
            into,
            references,
            budget: Budget::new(LIMITS),
            done: Vec::new(),
            waiting: paths.iter().rev().map(|path| (path.clone(), 0)).collect(),
            seen: BTreeSet::new(),
            left_out: Vec::new(),
            digest: Sha256::new(),
        };
        while let Some((path, links)) = export.waiting.pop() {
            if links <= MOST_LINKS && export.seen.insert(path.clone()) {
                self.export_one(&path, links, &mut export)?;
            }
        }
        Ok(Exported {
            left_out: export.left_out,
            digest: hex(&export.digest.finalize()),
        })
    }

    fn export_one(
        &mut self,
        path: &RepoPath,
        links: usize,
        export: &mut Export<'_>,
    ) -> Result<(), WorkspaceError> {
        // The links on the way, or the program would not find its way; what they lead to comes later.
        let prefixes: Vec<RepoPath> = path.ancestors().filter(|dir| !dir.is_root()).collect();
        for prefix in prefixes.iter().rev().chain([path]) {
            if export.covers(prefix) {
                return Ok(());
            }
            let spot = self.resolve(prefix, false)?;
            if self.kind_of(&spot) == Kind::Link
                && let Found::Node(node) = spot.found
            {
                self.access(&spot.place, Access::read);
                let here = self.file(&spot.place, node)?.bytes;
                export.link(prefix, &here)?;
                if let (Some(rest), Some(parent)) = (path.below(prefix), prefix.parent())
                    && let Some(target) = target(&parent, &here)
                {
                    export.waiting.push((target.join(&rest), links + 1));
                }
                return Ok(());
            }
        }
        for file in self.walk(path)? {
            if export.covers(&file.path) {
                continue;
            }
            let Some(blob) = &file.blob else {
                export.make_dir(&file.path)?;
                continue;
            };
            let bytes = self.blob(&file.path, blob)?;
            match file.mode {
                Mode::Link => {
                    export.link(&file.path, &bytes)?;
                    if let Some(target) = file.path.parent().and_then(|dir| target(&dir, &bytes)) {
                        export.waiting.push((target, links + 1));
                    }
                }
                mode => {
                    export.file(&file.path, &bytes, mode)?;
                    let named = (export.references)(&file.path, &bytes);
                    let dir = file.path.parent().unwrap_or_else(RepoPath::root);
                    let led = named.iter().filter_map(|text| dir.follow(text).ok());
                    // What is below its own directory comes with that.
                    let elsewhere = led.filter(|to| to.below(path).is_none());
                    export.waiting.extend(elsewhere.map(|to| (to, links)));
                }
            }
        }
        let spot = self.resolve(path, false)?;
        if self.kind_of(&spot) == Kind::Dir {
            export.make_dir(path)?;
        }
        export.done.push(path.clone());
        Ok(())
    }
}

/// Where a link leads, if that is inside the workspace.
fn target(dir: &RepoPath, link: &[u8]) -> Option<RepoPath> {
    dir.follow(std::str::from_utf8(link).ok()?).ok()
}

impl Export<'_> {
    fn covers(&self, path: &RepoPath) -> bool {
        self.done.iter().any(|done| path.below(done).is_some())
    }

    fn place(&mut self, path: &RepoPath, mode: Mode, bytes: &[u8]) -> Result<PathBuf, FolderError> {
        let at = self.into.join(path.as_git());
        self.budget.take(&at, bytes.len() as u64)?;
        for part in [path.as_git().as_bytes(), mode.as_str().as_bytes(), bytes] {
            self.digest.update(part.len().to_be_bytes());
            self.digest.update(part);
        }
        if let Some(parent) = at.parent() {
            fs::create_dir_all(parent).map_err(FolderError::io("make the folder", parent))?;
        }
        Ok(at)
    }

    fn make_dir(&self, path: &RepoPath) -> Result<(), FolderError> {
        let at = self.into.join(path.as_git());
        fs::create_dir_all(&at).map_err(FolderError::io("make the folder", &at))
    }

    fn file(&mut self, path: &RepoPath, bytes: &[u8], mode: Mode) -> Result<(), FolderError> {
        let at = self.place(path, mode, bytes)?;
        let mode = if mode == Mode::Executable {
            0o755
        } else {
            0o644
        };
        // Nothing is there: where something is, two names are one on this disk, and one would be lost.
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&at)
            .and_then(|mut file| file.write_all(bytes))
            .map_err(FolderError::io("write", &at))
    }

    /// A link as it is, if it leads to some place inside.
    fn link(&mut self, path: &RepoPath, bytes: &[u8]) -> Result<(), FolderError> {
        let inside = path.parent().and_then(|dir| target(&dir, bytes)).is_some();
        if !inside {
            if !self.left_out.contains(path) {
                self.left_out.push(path.clone());
            }
            return Ok(());
        }
        let at = self.into.join(path.as_git());
        if at.symlink_metadata().is_ok() {
            return Ok(());
        }
        let at = self.place(path, Mode::Link, bytes)?;
        symlink(OsStr::from_bytes(bytes), &at).map_err(FolderError::io("write", &at))
    }
}

#[cfg(test)]
mod tests;
