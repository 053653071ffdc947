//! Why the workspace refuses or fails.

use super::folder::FolderError;
use crate::git::{commit::CommitError, objects::ObjectsError, path::InvalidPath};

/// What was asked of the workspace and why it was not done. Nothing has changed when one of these is returned.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// A path that could leave the workspace, or is no path.
    #[error(transparent)]
    Path(#[from] InvalidPath),
    /// A link that leads out of the workspace.
    #[error("{link} is a link to {target:?}, which cannot be followed")]
    Link {
        /// Where the link is.
        link: String,
        /// What it says.
        target: String,
        /// The rule that its target breaks.
        #[source]
        source: InvalidPath,
    },
    /// Links that lead to each other.
    #[error("{path} leads through more than {limit} links")]
    LinkLoop {
        /// The path as asked for.
        path: String,
        /// How many are followed.
        limit: usize,
    },
    /// A file was expected.
    #[error("{path} is a directory")]
    IsDirectory {
        /// Where.
        path: String,
    },
    /// A directory was expected, or a part of a path is a file.
    #[error("{path} is not a directory")]
    NotDirectory {
        /// Where.
        path: String,
    },
    /// Submodules are kept as they are and have no files here.
    #[error("{path} is a submodule, whose files are not part of the workspace")]
    Submodule {
        /// Where.
        path: String,
    },
    /// Nothing is there.
    #[error("{path} does not exist")]
    NotFound {
        /// Where.
        path: String,
    },
    /// A step that works on a checkout was given another path.
    #[error("{path} is not the root of a checkout")]
    NotCheckout {
        /// The path as asked for.
        path: String,
    },
    /// Files or another checkout are where a checkout should go.
    #[error("cannot check out at {path}: {by} is in the way")]
    Occupied {
        /// The checkout's path.
        path: String,
        /// What is there.
        by: String,
    },
    /// It would never end.
    #[error("cannot copy {from} into itself, to {to}")]
    IntoItself {
        /// The source.
        from: String,
        /// The target.
        to: String,
    },
    /// The pointer and the file would have to be made by Git LFS.
    #[error("{path} is kept in Git LFS (filter=lfs), which is not supported for writing")]
    Lfs {
        /// The file.
        path: String,
    },
    /// The mirror was removed; a fetch makes it again.
    #[error("the mirror of {repo_url} is gone")]
    MirrorGone {
        /// The repository as the clone step wrote it.
        repo_url: String,
    },
    /// Files that are changed but not committed do not fit onto the new commit.
    #[error("changes that are not committed do not fit onto {head}: {}", paths.join(", "))]
    Unfit {
        /// The commit that was to become the base.
        head: String,
        /// Where.
        paths: Vec<String>,
    },
    /// No commit could be made.
    #[error("cannot commit {path}")]
    Commit {
        /// The checkout.
        path: String,
        /// The message, name or object at fault.
        #[source]
        source: CommitError,
    },
    /// Files could not be put into a real folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A tag of that name was made before.
    #[error("the checkout at {path} has a tag {tag} already, at {commit}")]
    TagExists {
        /// The checkout.
        path: String,
        /// The tag's name.
        tag: String,
        /// What it names.
        commit: String,
    },
    /// There is nothing that a tag could name.
    #[error("the checkout at {path} has no commits")]
    NoCommits {
        /// The checkout.
        path: String,
    },
    /// No tag could be made.
    #[error("cannot tag {path}")]
    Tag {
        /// The checkout.
        path: String,
        /// The name or object at fault.
        #[source]
        source: CommitError,
    },
    /// An object could not be read or written.
    #[error(transparent)]
    Objects(#[from] ObjectsError),
}

impl WorkspaceError {
    /// Whether a fetch or a replay can help: something that was there is missing.
    pub fn is_absent(&self) -> bool {
        match self {
            Self::MirrorGone { .. } => true,
            Self::Objects(source)
            | Self::Commit {
                source: CommitError::Objects(source),
                ..
            }
            | Self::Tag {
                source: CommitError::Objects(source),
                ..
            } => source.is_absent(),
            _ => false,
        }
    }
}
