//! Reads the imports of `src/` and fails on a wrong arrow between folders.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use regex::Regex;

/// Folder → what it may import from.
const ARROWS: &[(&str, &[&str])] = &[
    ("kargo", &[]),
    ("rules", &["kargo"]),
    ("git", &[]),
    ("expr", &[]),
    ("engine", &["kargo", "rules", "git", "expr"]),
    ("steps", &["kargo", "rules", "git", "expr", "engine"]),
    ("local", &["kargo", "rules"]),
    ("cluster", &["kargo", "rules", "local", "engine"]),
    ("console", &["kargo", "rules"]),
    (
        "cli",
        &[
            "kargo",
            "rules",
            "git",
            "expr",
            "engine",
            "steps",
            "local",
            "cluster",
            "console",
            "config",
            "telemetry",
        ],
    ),
];

/// Crate or path → the only folders that may name it.
const KEPT_IN: &[(&str, &[&str])] = &[
    (r"\bratatui\b|\bcrossterm\b|\btui_textarea\b", &["console"]),
    (r"\bgit2\b", &["git"]),
    (r"\bredb\b|\bhyper\b|\bhyper_util\b", &["local"]),
    (
        r"kube::Client\b|kube::\{[^}]*\bClient\b",
        &["cluster", "local"],
    ),
    (r"\bclap\b", &["cli"]),
];

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
}

/// (folder, file below src, code without comments and without test modules' files)
fn sources() -> Vec<(String, String, String)> {
    let mut paths = Vec::new();
    files(&source(), &mut paths);
    let comment = Regex::new(r"(?m)//.*$").unwrap();
    paths
        .into_iter()
        .filter(|path| !is_for_tests(path))
        .map(|path| {
            let relative = path.strip_prefix(source()).unwrap().to_path_buf();
            let folder = relative
                .components()
                .next()
                .unwrap()
                .as_os_str()
                .to_string_lossy()
                .trim_end_matches(".rs")
                .to_owned();
            let text = fs::read_to_string(&path).unwrap();
            (
                folder,
                relative.display().to_string(),
                comment.replace_all(&text, "").into_owned(),
            )
        })
        .collect()
}

/// Test modules may build on anything.
fn is_for_tests(path: &Path) -> bool {
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    ["tests", "fixture", "fixtures"].contains(&name.as_str())
        || path.components().any(|part| part.as_os_str() == "tests")
}

/// Everything imported by `use crate::…` (braces at the first level included) or named as `crate::…`.
fn imported(code: &str) -> BTreeSet<String> {
    let plain = Regex::new(r"\bcrate::([a-z_]+)").unwrap();
    let braces = Regex::new(r"(?s)\bcrate::\{(.*?)\};").unwrap();
    let mut names: BTreeSet<String> = plain
        .captures_iter(code)
        .map(|found| found[1].to_owned())
        .collect();
    for found in braces.captures_iter(code) {
        let mut depth = 0;
        let mut word = String::new();
        for c in found[1].chars().chain([',']) {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    let first = word
                        .trim()
                        .split("::")
                        .next()
                        .unwrap_or_default()
                        .trim()
                        .to_owned();
                    if !first.is_empty() {
                        names.insert(first);
                    }
                    word.clear();
                }
                _ => word.push(c),
            }
        }
    }
    names
}

#[test]
fn folders_look_in_one_direction_only() {
    let mut wrong = Vec::new();
    for (folder, file, code) in sources() {
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == folder) else {
            continue;
        };
        for name in imported(&code) {
            if name != folder && !allowed.contains(&name.as_str()) {
                wrong.push(format!("{file} imports {name}"));
            }
        }
    }
    assert!(wrong.is_empty(), "wrong arrows:\n{}", wrong.join("\n"));
}

#[test]
fn every_folder_has_its_arrows() {
    let folders: BTreeSet<String> = sources().into_iter().map(|(folder, _, _)| folder).collect();
    let known: BTreeSet<&str> = ARROWS.iter().map(|(name, _)| *name).collect();
    let unknown: Vec<_> = folders
        .iter()
        .filter(|name| {
            !known.contains(name.as_str())
                && !["main", "lib", "config", "telemetry"].contains(&name.as_str())
        })
        .collect();
    assert!(unknown.is_empty(), "folders without a rule: {unknown:?}");
}

#[test]
fn libraries_stay_in_their_folder() {
    let mut wrong = Vec::new();
    for (pattern, folders) in KEPT_IN {
        let pattern = Regex::new(pattern).unwrap();
        for (folder, file, code) in sources() {
            if !folders.contains(&folder.as_str()) && pattern.is_match(&code) {
                wrong.push(format!("{file} names {pattern}"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "libraries out of place:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn the_engine_is_the_clusters_only_through_its_port() {
    let others = Regex::new(r"engine::([a-z_]+)").unwrap();
    for (folder, file, code) in sources() {
        if folder == "cluster" {
            for found in others.captures_iter(&code) {
                assert_eq!(
                    &found[1], "port",
                    "{file} reaches into engine::{}",
                    &found[1]
                );
            }
        }
    }
}
