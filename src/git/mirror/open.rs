//! Making mirrors, checking them, and taking over what an earlier process left.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read, Seek, Write},
    path::Path,
};

use super::MirrorError;

pub fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> MirrorError {
    let path = path.display().to_string();
    move |source| MirrorError::Io {
        doing,
        path,
        source,
    }
}

fn objects_error(doing: &str, path: &Path) -> impl FnOnce(git2::Error) -> MirrorError {
    let (doing, path) = (doing.to_owned(), path.display().to_string());
    move |source| MirrorError::Objects {
        doing,
        path,
        source,
    }
}

/// Locks the directory of mirrors for this process; the lock goes when the file is closed, which
/// the system does for a process that dies. The pid in it is for people.
pub fn take_root(root: &Path) -> Result<File, MirrorError> {
    fs::create_dir_all(root).map_err(io_error("creating", root))?;
    let path = root.join("owner");
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(io_error("opening", &path))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut pid = String::new();
            // Whoever holds it may be writing this very moment.
            let _read = file.read_to_string(&mut pid);
            return Err(MirrorError::Held {
                root: root.display().to_string(),
                pid: pid.trim().to_owned(),
            });
        }
        Err(TryLockError::Error(source)) => return Err(io_error("locking", &path)(source)),
    }
    file.set_len(0)
        .and_then(|()| file.rewind())
        .map_err(io_error("writing", &path))?;
    writeln!(file, "{}", std::process::id()).map_err(io_error("writing", &path))?;
    keys_directory(&root.join("keys"))?;
    Ok(file)
}

/// Key files of a process that was killed are still in it.
fn keys_directory(path: &Path) -> Result<(), MirrorError> {
    use std::os::unix::fs::DirBuilderExt;
    match fs::remove_dir_all(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(io_error("emptying", path)(e)),
        _ => {}
    }
    fs::DirBuilder::new()
        .mode(0o700)
        .create(path)
        .map_err(io_error("creating", path))
}

/// The repository for objects of no remote.
pub fn scratch(path: &Path) -> Result<(), MirrorError> {
    mirror(path).map(drop)
}

/// Opens the mirror, or makes it. A damaged one is put aside. Returns notes for people.
pub fn mirror(path: &Path) -> Result<Vec<String>, MirrorError> {
    if !path.exists() {
        return init(path).map(|()| Vec::new());
    }
    remove_locks(path)?;
    super::incoming::remove_parts(path);
    match damage(path)? {
        None => drop_unreadable_refs(path),
        Some(why) => renew(path, &why).map(|note| vec![note]),
    }
}

/// Puts the repository aside and makes an empty one in its place; returns the note.
pub fn renew(path: &Path, why: &str) -> Result<String, MirrorError> {
    let aside = (1_u32..)
        .map(|n| path.with_extension(format!("damaged-{n}")))
        .find(|aside| !aside.exists())
        .unwrap_or_else(|| path.with_extension("damaged"));
    fs::rename(path, &aside).map_err(io_error("putting aside", path))?;
    init(path)?;
    Ok(format!(
        "the mirror was damaged ({why}) and made anew; the old one is {}",
        aside.display()
    ))
}

/// By libgit2: `git init` would follow the user's settings for reftable and SHA-256.
fn init(path: &Path) -> Result<(), MirrorError> {
    let mut options = git2::RepositoryInitOptions::new();
    options
        .bare(true)
        .no_reinit(true)
        .external_template(false)
        .initial_head("tidewaiter");
    git2::Repository::init_opts(path, &options)
        .map(drop)
        .map_err(objects_error("creating a mirror", path))
}

/// Why the repository cannot be used, if it cannot; an error if it is one that we must not touch.
fn damage(path: &Path) -> Result<Option<String>, MirrorError> {
    if !path.join("HEAD").is_file() {
        return Ok(Some("HEAD is missing".to_owned()));
    }
    let config = path.join("config");
    let settings = match git2::Config::open(&config) {
        Ok(settings) if config.is_file() => settings,
        _ => {
            return Ok(Some(
                "its configuration is missing or unreadable".to_owned(),
            ));
        }
    };
    if let Some(what) = foreign(&settings) {
        return Err(MirrorError::Foreign {
            path: path.display().to_string(),
            what,
        });
    }
    Ok(git2::Repository::open_bare(path)
        .err()
        .map(|e| e.message().to_owned()))
}

/// Kinds of repository that libgit2 cannot open, or that would fetch behind our back.
fn foreign(settings: &git2::Config) -> Option<&'static str> {
    let is = |key: &str, value: &str| {
        settings
            .get_string(key)
            .is_ok_and(|v| v.eq_ignore_ascii_case(value))
    };
    if is("extensions.objectformat", "sha256") {
        Some("a SHA-256 repository")
    } else if is("extensions.refstorage", "reftable") {
        Some("a reftable repository")
    } else if settings.get_string("extensions.partialclone").is_ok() {
        Some("a partial clone")
    } else {
        None
    }
}

/// A ref whose object cannot be read is forgotten: a branch is fetched again, what a pin kept is lost
/// anyway, and each would fail every fetch.
fn drop_unreadable_refs(path: &Path) -> Result<Vec<String>, MirrorError> {
    let doing = "checking branches";
    let repository = git2::Repository::open_bare(path).map_err(objects_error(doing, path))?;
    let refs = repository
        .references()
        .map_err(objects_error(doing, path))?;
    let mut notes = Vec::new();
    for found in refs {
        let mut found = found.map_err(objects_error(doing, path))?;
        if found.kind() == Some(git2::ReferenceType::Direct) && found.peel_to_tree().is_err() {
            let name = found.name().unwrap_or("a ref").to_owned();
            found.delete().map_err(objects_error(doing, path))?;
            notes.push(format!("{name} could not be read and was forgotten"));
        }
    }
    Ok(notes)
}

/// Lock files of git commands that died with an earlier process: we own the directory, so no
/// living command has one.
fn remove_locks(directory: &Path) -> Result<(), MirrorError> {
    for entry in fs::read_dir(directory).map_err(io_error("listing", directory))? {
        let path = entry.map_err(io_error("listing", directory))?.path();
        if path.is_symlink() {
            continue;
        }
        // Objects are never locked, and there are many.
        if path.is_dir() && path.file_name().is_some_and(|name| name != "objects") {
            remove_locks(&path)?;
        } else if path.extension().is_some_and(|e| e == "lock") {
            fs::remove_file(&path).map_err(io_error("removing", &path))?;
        }
    }
    Ok(())
}
