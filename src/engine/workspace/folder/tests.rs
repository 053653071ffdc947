//! Folders come, hold, and go.

use std::os::unix::fs::symlink;

use super::*;

const SMALL: Limits = Limits {
    files: 3,
    bytes: 10,
};

#[test]
fn a_folder_is_private_and_goes_with_its_owner() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().join("state/folders");
    let folder = Folder::make(&root).unwrap();
    let path = folder.path().to_owned();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(&root).unwrap().mode() & 0o777, 0o700);
    fs::write(folder.dir("a/b").unwrap().join("x"), "1").unwrap();
    let closed = folder.dir("closed/in").unwrap();
    fs::set_permissions(&closed, Permissions::from_mode(0o000)).unwrap();
    assert_eq!(sweep(&root), 0, "it is in use");
    assert!(path.exists());
    drop(folder);
    assert_eq!(fs::read_dir(&root).unwrap().count(), 0);
}

#[test]
fn what_a_killed_process_left_is_swept() {
    let root = tempfile::tempdir().unwrap();
    let alive = Folder::make(root.path()).unwrap();
    // As a kill leaves it: the files stay, the lock is let go of.
    fs::create_dir_all(root.path().join("run-dead/files")).unwrap();
    fs::write(root.path().join("run-dead.lock"), "").unwrap();
    fs::create_dir_all(root.path().join("run-lost")).unwrap();
    assert_eq!(sweep(root.path()), 2);
    let left = fs::read_dir(root.path()).unwrap().count();
    assert_eq!((left, alive.path().is_dir()), (2, true));
    assert_eq!(sweep(&root.path().join("absent")), 0);
}

#[test]
fn what_comes_out_is_bounded_and_of_known_kinds() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("d")).unwrap();
    fs::write(at("d/x"), "12345").unwrap();
    fs::set_permissions(at("d/x"), Permissions::from_mode(0o4711)).unwrap();
    symlink("/etc/passwd", at("l")).unwrap();
    let made = read(dir.path(), LIMITS).unwrap();
    let found: Vec<(String, Mode, usize)> = made
        .iter()
        .map(|made| (made.path.to_string(), made.mode, made.bytes.len()))
        .collect();
    let wanted = [("d/x", Mode::Executable, 5), ("l", Mode::Link, 11)];
    assert_eq!(
        found,
        wanted.map(|(path, mode, size)| (path.to_owned(), mode, size))
    );

    assert!(matches!(
        read(dir.path(), SMALL),
        Err(FolderError::TooMuch { .. })
    ));
    fs::remove_file(at("l")).unwrap();
    assert!(read(dir.path(), SMALL).is_ok());
    fs::write(at("y"), "123456").unwrap();
    assert!(matches!(
        read(dir.path(), SMALL),
        Err(FolderError::TooMuch { .. })
    ));

    let _socket = std::os::unix::net::UnixListener::bind(at("s")).unwrap();
    let said = read(dir.path(), LIMITS).unwrap_err().to_string();
    assert!(
        said.contains("/s cannot be taken over: it is no file"),
        "{said}"
    );
    fs::remove_file(at("s")).unwrap();
    fs::create_dir(at(".git")).unwrap();
    let said = read(dir.path(), LIMITS).unwrap_err().to_string();
    assert!(said.contains(".git"), "{said}");
}
