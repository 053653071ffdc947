//! Real directories into a store and out of it, for what programs bring in.

use std::path::Path;

use crate::{
    engine::step::StepError,
    git::{
        id::TreeId,
        objects::Objects,
        path::RepoPath,
        tree::{Mode, Node, edit::Edits},
    },
};

fn failed(
    doing: &str,
    at: &Path,
    error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> StepError {
    StepError::errored(format!("cannot {doing} {}", at.display())).because(error)
}

/// Stores everything below `dir`: files, their executable bit, links as links. Blocking.
pub fn take_in(objects: &Objects, dir: &Path) -> Result<TreeId, StepError> {
    let mut edits = Edits::new();
    collect(objects, dir, &RepoPath::root(), &mut edits)?;
    objects
        .edit(&TreeId::empty(), &edits)
        .map_err(|error| failed("store", dir, error))
}

fn collect(
    objects: &Objects,
    dir: &Path,
    at: &RepoPath,
    edits: &mut Edits,
) -> Result<(), StepError> {
    use std::os::unix::{ffi::OsStrExt, fs::PermissionsExt};
    let read = |error| failed("read", dir, error);
    for entry in std::fs::read_dir(dir).map_err(read)? {
        let entry = entry.map_err(read)?;
        let path = entry.path();
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            return Err(failed("store", &path, "its name is not UTF-8"));
        };
        let inner = at
            .child(name)
            .map_err(|error| failed("store", &path, error))?;
        let about = path
            .symlink_metadata()
            .map_err(|error| failed("read", &path, error))?;
        let (mode, bytes) = if about.is_dir() {
            collect(objects, &path, &inner, edits)?;
            continue;
        } else if about.is_symlink() {
            let target = std::fs::read_link(&path).map_err(|error| failed("read", &path, error))?;
            (Mode::Link, target.as_os_str().as_bytes().to_vec())
        } else if about.is_file() {
            let runs = about.permissions().mode() & 0o100 != 0;
            let mode = if runs { Mode::Executable } else { Mode::File };
            let bytes = std::fs::read(&path).map_err(|error| failed("read", &path, error))?;
            (mode, bytes)
        } else {
            return Err(failed("store", &path, "it is no file, directory or link"));
        };
        let blob = objects.write_blob(&bytes);
        let node = blob.and_then(|blob| Node::leaf(mode, &blob));
        let node = node.map_err(|error| failed("store", &path, error))?;
        edits.put(&inner, Some(node));
    }
    Ok(())
}

/// Writes what [`take_in`] stored into `dir`, which exists; what is there already is overwritten. Blocking.
pub fn put_out(objects: &Objects, tree: &TreeId, dir: &Path) -> Result<(), StepError> {
    use std::os::unix::{ffi::OsStringExt, fs::PermissionsExt};
    let entries = objects.entries(tree);
    for entry in entries.map_err(|error| failed("write", dir, error))? {
        let Some(name) = entry
            .name()
            .filter(|name| RepoPath::root().child(name).is_ok())
        else {
            continue;
        };
        let path = dir.join(name);
        let write = |error: std::io::Error| failed("write", &path, error);
        if let Some(tree) = entry.node.tree_id() {
            std::fs::create_dir_all(&path).map_err(write)?;
            put_out(objects, &tree, &path)?;
        } else if let (Some(blob), Some(mode)) = (entry.node.blob_id(), entry.node.mode()) {
            let bytes = objects.read_blob(&blob);
            let bytes = bytes.map_err(|error| failed("write", &path, error))?;
            // A link that is there already would be followed.
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(write(error));
                }
                _ => {}
            }
            if mode == Mode::Link {
                let target = std::ffi::OsString::from_vec(bytes);
                std::os::unix::fs::symlink(target, &path).map_err(write)?;
                continue;
            }
            std::fs::write(&path, bytes).map_err(write)?;
            if mode == Mode::Executable {
                let permissions = std::fs::Permissions::from_mode(0o755);
                std::fs::set_permissions(&path, permissions).map_err(write)?;
            }
        }
    }
    Ok(())
}
