//! `ignore`: gitignore patterns in a step's configuration.

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::{engine::step::StepError, git::path::RepoPath};

/// The patterns, relative to the directory that the step works on. `.git` is not part of any workspace tree, so nothing
/// needs saying about it.
pub struct Ignores(Gitignore);

impl Ignores {
    /// One pattern a line, as in a `.gitignore`.
    pub fn parse(text: &str) -> Result<Self, StepError> {
        let mut builder = GitignoreBuilder::new("");
        for (number, line) in text.lines().enumerate() {
            builder.add_line(None, line).map_err(|error| {
                StepError::config(format!(
                    "ignore, line {}, is not a gitignore pattern",
                    number + 1
                ))
                .because(error)
            })?;
        }
        builder
            .build()
            .map(Self)
            .map_err(|error| StepError::config("ignore cannot be used").because(error))
    }

    /// Whether this entry itself is left out. Who walks a tree does not enter a directory that is.
    pub fn entry(&self, path: &RepoPath, is_dir: bool) -> bool {
        self.0.matched(path.as_git(), is_dir).is_ignore()
    }

    /// Whether it is left out itself or by a directory that it is in.
    pub fn within(&self, path: &RepoPath, is_dir: bool) -> bool {
        let above = |dir: RepoPath| !dir.is_root() && self.entry(&dir, true);
        self.entry(path, is_dir) || path.ancestors().any(above)
    }
}
