//! What a program finds in the folder, and what of it counts as read.

use super::{
    super::fixture::{Bench, path, recorded},
    *,
};

const SRC: &[(&str, &str)] = &[
    ("apps/prod/k.yaml", "../../base"),
    ("apps/prod/x", "1"),
    ("apps/test/k.yaml", ""),
    ("base/b", "../../outside"),
    ("other/o", "1"),
];

fn lines(file: &RepoPath, bytes: &[u8]) -> Vec<String> {
    match file.name() {
        Some("k.yaml" | "b") => String::from_utf8_lossy(bytes)
            .lines()
            .map(Into::into)
            .collect(),
        _ => Vec::new(),
    }
}

fn found(dir: &Path) -> Vec<String> {
    let made = super::super::folder::read(dir, LIMITS).unwrap();
    made.iter()
        .map(|made| format!("{} {}", made.mode, made.path))
        .collect()
}

#[test]
fn a_directory_comes_with_what_its_files_speak_of_and_all_of_it_was_read() {
    let bench = Bench::new(&["a"]);
    let mut workspace = bench.with("a", SRC);
    let into = tempfile::tempdir().unwrap();
    let exported = workspace
        .export(&[path("src/apps/prod")], into.path(), &lines)
        .unwrap();
    assert_eq!(
        found(into.path()),
        [
            "100644 src/apps/prod/k.yaml",
            "100644 src/apps/prod/x",
            "100644 src/base/b"
        ]
    );
    assert_eq!(recorded(&workspace), ["r apps/prod", "r base"]);
    let again = tempfile::tempdir().unwrap();
    let same = workspace.export(&[path("src/apps/prod")], again.path(), &lines);
    assert_eq!(same.unwrap().digest, exported.digest);
    workspace.write(&path("src/base/b"), b"new", None).unwrap();
    let again = tempfile::tempdir().unwrap();
    let other = workspace.export(&[path("src/apps/prod")], again.path(), &lines);
    assert_ne!(other.unwrap().digest, exported.digest);
}

#[test]
fn links_stay_links_and_lead_nowhere_else() {
    let bench = Bench::new(&["a"]);
    let mut workspace = bench.with("a", SRC);
    for (at, target) in [
        ("src/apps/prod/in", "../../other/o"),
        ("src/apps/prod/up", "../../.."),
        ("src/apps/prod/out", "../../../../etc"),
        ("src/apps/prod/abs", "/etc/passwd"),
        ("src/apps/prod/one", "two"),
        ("src/apps/prod/two", "one"),
        ("src/apps/prod/self", "self/x"),
        ("src/way", "apps"),
    ] {
        workspace
            .write(&path(at), target.as_bytes(), Some(Mode::Link))
            .unwrap();
    }
    let into = tempfile::tempdir().unwrap();
    let paths = [path("src/way/prod")];
    let exported = workspace
        .export(&paths, into.path(), &|_, _| Vec::new())
        .unwrap();
    assert_eq!(
        exported.left_out,
        [path("src/apps/prod/abs"), path("src/apps/prod/out")]
    );
    assert!(exported.hint().unwrap().contains("src/apps/prod/abs"));
    let found = found(into.path());
    for there in [
        "120000 src/way",
        "120000 src/apps/prod/in",
        "100644 src/other/o",
        "100644 src/apps/prod/x",
    ] {
        assert!(found.contains(&there.to_owned()), "{there}: {found:?}");
    }
    assert!(
        found
            .iter()
            .all(|line| !line.ends_with("/abs") && !line.ends_with("/out"))
    );
    let through = fs::read_to_string(into.path().join("src/way/prod/x")).unwrap();
    assert_eq!(
        through, "1",
        "the way of the configuration works in the folder"
    );
}

#[test]
fn what_is_not_there_is_left_to_the_program() {
    let bench = Bench::new(&["a"]);
    let mut workspace = bench.with("a", SRC);
    let into = tempfile::tempdir().unwrap();
    let exported = workspace
        .export(&[path("src/none/x")], into.path(), &lines)
        .unwrap();
    assert_eq!((found(into.path()), exported.hint()), (Vec::new(), None));
}
