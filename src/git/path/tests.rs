use super::*;

fn parsed(text: &str) -> Result<String, &'static str> {
    RepoPath::parse(text)
        .map(|path| path.to_string())
        .map_err(|e| {
            assert_eq!(e.path, text, "the error names the path as written");
            e.why
        })
}

#[test]
fn paths_are_brought_into_normal_form() {
    let table = [
        ("a", "a"),
        ("./src/x", "src/x"),
        ("a//b/", "a/b"),
        ("a/./b", "a/b"),
        (".", "."),
        ("./", "."),
        ("a/..", "."),
        ("a/../b", "b"),
        ("a/b/../../c", "c"),
        ("-rf", "-rf"),
        ("--upload-pack=x/y", "--upload-pack=x/y"),
        ("a b/ü/日本", "a b/ü/日本"),
        (".gitignore", ".gitignore"),
        (".github/x", ".github/x"),
        ("git~2", "git~2"),
        ("x.git", "x.git"),
        (".git-keep", ".git-keep"),
        ("...", "..."),
        ("a\\b", "a\\b"),
    ];
    for (text, normal) in table {
        assert_eq!(parsed(text), Ok(normal.to_owned()), "{text:?}");
    }
}

#[test]
fn c64_paths_that_leave_the_workspace_are_refused_by_name() {
    let table = [
        ("", EMPTY),
        ("/", ABSOLUTE),
        ("/etc/passwd", ABSOLUTE),
        ("//x", ABSOLUTE),
        ("..", ESCAPES),
        ("../x", ESCAPES),
        ("a/../../x", ESCAPES),
        ("a/b/../../..", ESCAPES),
        ("./..", ESCAPES),
        ("..\\x", ESCAPES),
        ("a/..\\..\\x", ESCAPES),
        ("a\0b", NUL),
        (".git", DOT_GIT),
        ("./.git/config", DOT_GIT),
        ("a/.git/hooks/x", DOT_GIT),
        (".GIT/config", DOT_GIT),
        (".Git", DOT_GIT),
        (".git ", DOT_GIT),
        (".git. . ", DOT_GIT),
        (".git...", DOT_GIT),
        ("git~1/config", DOT_GIT),
        ("GIT~1", DOT_GIT),
        (".git::$INDEX_ALLOCATION/x", DOT_GIT),
        (".git:stream", DOT_GIT),
        (".g\u{200c}it/config", DOT_GIT),
        ("\u{feff}.git", DOT_GIT),
        (".git\u{200d}", DOT_GIT),
        ("a/.git\\config", DOT_GIT),
        ("a\\.git", DOT_GIT),
        // Even where a later `..` would undo it.
        (".git/../a", DOT_GIT),
    ];
    for (text, why) in table {
        assert_eq!(parsed(text), Err(why), "{text:?}");
    }
    let said = RepoPath::parse("a/../../x").unwrap_err().to_string();
    assert!(said.contains("a/../../x"), "{said}");
}

/// Every text of up to six of these pieces: what parses is in normal form, stays inside and parses to itself.
#[test]
fn whatever_parses_is_safe_and_stable() {
    let pieces = [
        "a", ".", "..", "/", ".git", "\\", "B", "\u{200c}", "~1", "git",
    ];
    let mut texts = vec![String::new()];
    let mut parsed = 0;
    for _ in 0..5 {
        texts = texts
            .iter()
            .flat_map(|text| pieces.iter().map(move |piece| format!("{text}{piece}")))
            .collect();
        for text in &texts {
            let Ok(path) = RepoPath::parse(text) else {
                continue;
            };
            parsed += 1;
            let shown = path.to_string();
            assert_eq!(RepoPath::parse(&shown).as_ref(), Ok(&path), "{text:?}");
            assert!(
                !shown.starts_with('/') && !shown.ends_with('/') && !shown.contains("//"),
                "{text:?}"
            );
            for part in path.parts() {
                assert!(!matches!(part, "" | "." | ".."), "{text:?}");
                assert!(
                    !part
                        .to_lowercase()
                        .replace('\u{200c}', "")
                        .split('\\')
                        .any(|p| p == ".git"),
                    "{text:?}"
                );
            }
            // As deep as counting says, so nothing was dropped or invented.
            let depth = text.split('/').fold(0usize, |depth, part| match part {
                "" | "." => depth,
                ".." => depth - 1,
                _ => depth + 1,
            });
            assert_eq!(path.parts().count(), depth, "{text:?}");
        }
    }
    assert!(
        parsed > 10_000,
        "only {parsed} were paths: the generator is off"
    );
}

#[test]
fn depth_has_a_limit() {
    let deep = "a/".repeat(512);
    assert_eq!(parsed(&format!("{deep}b")), Err(DEEP));
    assert!(RepoPath::parse(&deep).unwrap().child("b").is_err());
    assert!(
        RepoPath::parse(&format!("{deep}../b")).is_ok(),
        "what counts is where it leads"
    );
}

#[test]
fn parts_parents_and_places() {
    let path: RepoPath = "a/b/c".parse().unwrap();
    let root = RepoPath::root();
    assert_eq!(path.parts().collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(path.parent(), Some("a/b".parse().unwrap()));
    assert_eq!(root.parent(), None);
    assert_eq!(path.name(), Some("c"));
    assert_eq!(
        path.ancestors().map(|p| p.to_string()).collect::<Vec<_>>(),
        ["a/b", "a", "."]
    );
    assert_eq!(
        path.below(&"a".parse().unwrap()),
        Some("b/c".parse().unwrap())
    );
    assert_eq!(path.below(&root), Some(path.clone()));
    assert_eq!(path.below(&path), Some(root.clone()));
    assert_eq!(
        "ab".parse::<RepoPath>()
            .unwrap()
            .below(&"a".parse().unwrap()),
        None
    );
    assert_eq!(root.join(&path), path);
    assert_eq!(path.join(&root), path);
    assert_eq!(root.child("x").unwrap().join(&path).to_string(), "x/a/b/c");
    for name in ["", ".", "..", "a/b", ".git", "GIT~1", "a\0"] {
        assert!(root.child(name).is_err(), "{name:?}");
    }
    assert_eq!(path.follow("../../x").unwrap().to_string(), "a/x");
    assert!(path.follow("../../../../x").is_err());
}

#[test]
fn journalled_paths_are_checked_again() {
    let path: RepoPath = serde_json::from_str("\"a/b\"").unwrap();
    assert_eq!(serde_json::to_string(&path).unwrap(), "\"a/b\"");
    assert_eq!(serde_json::to_string(&RepoPath::root()).unwrap(), "\".\"");
    assert!(serde_json::from_str::<RepoPath>("\"../x\"").is_err());
}
