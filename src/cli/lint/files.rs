//! The files that are looked into: those that are named, and those of the folders that are named.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use super::{
    super::{Exit, Failure},
    source::Source,
};

/// A file, and whether it was named itself or only found in a folder.
pub struct File {
    /// Its text.
    pub source: Source,
    /// It was named on the command line.
    pub named: bool,
}

/// Reads everything; a file that cannot be read ends it.
pub fn read(paths: &[PathBuf]) -> Result<Vec<File>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            let mut bytes = Vec::new();
            io::stdin()
                .read_to_end(&mut bytes)
                .map_err(|error| unreadable(Path::new("standard input"), &error))?;
            files.push(file(Path::new("-"), "<stdin>", &bytes, true)?);
        } else if path.is_dir() {
            let mut found = Vec::new();
            walk(path, &mut found)?;
            for path in found {
                files.push(open(&path, false)?);
            }
        } else {
            files.push(open(path, true)?);
        }
    }
    Ok(files)
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(
        Exit::Usage,
        format!("cannot read {}: {error}", path.display()),
    )
}

fn open(path: &Path, named: bool) -> Result<File, Failure> {
    let bytes = fs::read(path).map_err(|error| unreadable(path, &error))?;
    file(path, &path.display().to_string(), &bytes, named)
}

fn file(path: &Path, name: &str, bytes: &[u8], named: bool) -> Result<File, Failure> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        // Something that only has such a name.
        Err(_) if !named => "",
        Err(error) => return Err(unreadable(path, &format!("it is not UTF-8: {error}"))),
    };
    Ok(File {
        source: Source::new(name, text),
        named,
    })
}

/// The YAML and JSON files below, in order; hidden folders are left out, and links to folders are not followed.
fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let entries = fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
    let mut entries = entries
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| unreadable(folder, &error))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let kind = entry
            .file_type()
            .map_err(|error| unreadable(&path, &error))?;
        if kind.is_dir() {
            if !entry.file_name().to_string_lossy().starts_with('.') {
                walk(&path, found)?;
            }
        } else if path.is_file()
            && path
                .extension()
                .is_some_and(|end| ["yaml", "yml", "json"].iter().any(|known| end == *known))
        {
            found.push(path);
        }
    }
    Ok(())
}
