//! Paths and text files in the workspace, with errors that a person can act on.

use crate::{
    engine::{
        step::StepError,
        workspace::{Kind, Workspace, WorkspaceError},
    },
    git::{commit::CommitError, path::RepoPath},
};

/// A path of the configuration, refused before anything is accessed.
pub fn path(field: &str, text: &str) -> Result<RepoPath, StepError> {
    RepoPath::parse(text).map_err(|error| {
        StepError::config(format!("{field} is not a path inside the workspace"))
            .because(error)
            .hint("Give a path relative to the workspace, such as ./src")
    })
}

/// What to do about it follows from what the workspace says.
pub fn failed(doing: impl Into<String>, error: WorkspaceError) -> StepError {
    use WorkspaceError as E;
    let doing = doing.into();
    let made =
        match &error {
            gone if gone.is_absent() => {
                StepError::transient(doing).hint("The repository is fetched again on the next try")
            }
            E::Path(_) | E::Link { .. } | E::LinkLoop { .. } => {
                StepError::config(doing).hint("Steps stay inside the workspace, also through links")
            }
            E::IsDirectory { .. } => StepError::config(doing).hint("Give the path of a file in it"),
            E::Submodule { .. } => StepError::config(doing)
                .hint("Clone the submodule's repository as a checkout of its own"),
            E::TagExists { .. } => StepError::refused(doing)
                .hint("Give it another name, or set `force: true` to make it anew"),
            E::NoCommits { .. } => StepError::config(doing).hint("Commit something first"),
            E::NotCheckout { .. } => {
                StepError::config(doing).hint("Give the path of a git-clone checkout")
            }
            E::Lfs { .. } => StepError::config(doing)
                .hint("Keep the file out of Git LFS, or change it elsewhere"),
            E::IntoItself { .. } => StepError::config(doing),
            E::Occupied { .. } => StepError::config(doing)
                .hint("Give every checkout of the promotion a path of its own"),
            E::Commit {
                source: CommitError::EmptyMessage | CommitError::UnusableName { .. },
                ..
            } => StepError::config(doing),
            _ => StepError::errored(doing),
        };
    made.because(error)
}

/// A file's text.
pub fn read_text(
    workspace: &mut Workspace,
    at: &RepoPath,
    doing: &str,
) -> Result<String, StepError> {
    match workspace.read(at).map_err(|error| failed(doing, error))? {
        Some(file) => String::from_utf8(file.bytes).map_err(|error| {
            let offset = error.utf8_error().valid_up_to();
            StepError::config(format!(
                "{doing}: {at} is not UTF-8 text, from byte {offset} on"
            ))
            .hint("Convert the file to UTF-8")
        }),
        None => Err(absent(workspace, at, doing)),
    }
}

/// The error about a file that is not there, with what is there instead.
fn absent(workspace: &mut Workspace, at: &RepoPath, doing: &str) -> StepError {
    let error = StepError::errored(format!("{doing}: there is no file {at}"));
    let around = at
        .parent()
        .and_then(|dir| Some((workspace.list(&dir).ok()??, dir)));
    match around {
        Some((listed, dir)) => {
            let names: Vec<&str> = listed.iter().map(|entry| entry.name.as_str()).collect();
            let near = similar::get_close_matches(at.name().unwrap_or(""), &names, 3, 0.6);
            match near.is_empty() {
                true => error.hint(format!("{dir} is there, without it")),
                false => error.hint(format!("{dir} has {}", near.join(", "))),
            }
        }
        None => match at.parent() {
            Some(dir) => error.hint(format!("The directory {dir} is not there either")),
            None => error,
        },
    }
}

/// Writes a file's text, keeping the mode that it has.
pub fn write_text(
    workspace: &mut Workspace,
    at: &RepoPath,
    text: &str,
    doing: &str,
) -> Result<(), StepError> {
    workspace
        .write(at, text.as_bytes(), None)
        .map_err(|error| failed(doing, error))
}

/// What is at a path; a link that is there counts as itself.
pub fn exists(workspace: &mut Workspace, at: &RepoPath, doing: &str) -> Result<Kind, StepError> {
    workspace.kind(at).map_err(|error| failed(doing, error))
}
