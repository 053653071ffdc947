//! What kustomizations speak of: paths to be there, remote parts, and files beyond their own directory.

use std::{fs, path::Path};

use serde_json::Value;

use crate::{
    git::path::RepoPath,
    steps::{
        kustomize_set_image::NAMES,
        yaml::{self, Update},
    },
};

/// Fields whose texts may be remote.
const MAY_BE_REMOTE: [&str; 12] = [
    "resources",
    "bases",
    "components",
    "crds",
    "configurations",
    "generators",
    "transformers",
    "validators",
    "patches",
    "patchesStrategicMerge",
    "replacements",
    "openapi",
];

/// Where files from elsewhere are put, in a kustomization's own directory.
const BROUGHT: &str = ".brought";

/// A kustomization that is larger than this is none.
const SIZE_MAX: usize = 1 << 20;

fn kustomization(path: &RepoPath, bytes: &[u8]) -> Option<Value> {
    let named = path.name().is_some_and(|name| NAMES.contains(&name));
    if !named || bytes.len() > SIZE_MAX {
        return None;
    }
    serde_saphyr::from_str(std::str::from_utf8(bytes).ok()?).ok()
}

/// Every text in a value with the key that leads to it.
fn texts(value: &Value, key: &str, found: &mut Vec<(String, String)>) {
    let below = |name: &str| match key {
        "" => name.to_owned(),
        key => format!("{key}.{name}"),
    };
    match value {
        Value::String(text) => found.push((key.to_owned(), text.clone())),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                texts(item, &below(&index.to_string()), found);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                texts(
                    value,
                    &below(&name.replace('\\', "\\\\").replace('.', "\\.")),
                    found,
                );
            }
        }
        _ => {}
    }
}

/// `key=path` is how generators give a file another name.
fn plain(text: &str) -> &str {
    text.rsplit_once('=').map_or(text, |(_, path)| path)
}

/// Paths that a kustomization may load, right or wrong.
pub fn references(path: &RepoPath, bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(value) = kustomization(path, bytes) {
        texts(&value, "", &mut found);
    }
    found
        .into_iter()
        .map(|(_, text)| plain(&text).to_owned())
        .filter(|text| text.contains("..") && !text.contains('\n'))
        .collect()
}

/// As kustomize tells: an address, `user@host:path`, or GitHub without a scheme.
fn is_remote(text: &str) -> bool {
    let text = text.trim();
    let github = ["git::", "github.com/", "github.com:"];
    let scp = text
        .split_once('@')
        .is_some_and(|(user, rest)| !user.contains('/') && rest.contains(':'));
    !text.contains('\n')
        && (text.contains("://") || scp || github.iter().any(|start| text.starts_with(start)))
}

/// Whether a kustomization asks for something from outside: a remote part, or a chart from a repository.
pub fn remote(path: &RepoPath, bytes: &[u8]) -> Option<String> {
    let value = kustomization(path, bytes)?;
    let mut found = Vec::new();
    for name in MAY_BE_REMOTE {
        if let Some(value) = value.get(name) {
            texts(value, "", &mut found);
        }
    }
    let charts = value.get("helmCharts").and_then(Value::as_array);
    let repos = charts
        .into_iter()
        .flatten()
        .filter_map(|chart| chart.get("repo")?.as_str());
    let repo = repos.map(str::to_owned).find(|repo| !repo.is_empty());
    let texts = found.into_iter().map(|(_, text)| text);
    texts.chain(repo).find(|text| is_remote(text))
}

/// Brings files that a kustomization takes from beyond its own directory into it, in the folder at `files`: kustomize
/// itself may then stay strict, and nothing of the machine can be rendered.
pub fn bring_in(files: &Path, kustomizations: &[RepoPath]) -> std::io::Result<()> {
    for path in kustomizations {
        let at = files.join(path.as_git());
        let Ok(bytes) = fs::read(&at) else { continue };
        let (Some(value), Some(dir)) = (kustomization(path, &bytes), path.parent()) else {
            continue;
        };
        let mut found = Vec::new();
        texts(&value, "", &mut found);
        let mut updates = Vec::new();
        for (key, text) in found {
            let outside = Some(plain(&text)).filter(|text| text.contains(".."));
            let led = outside.and_then(|text| dir.follow(text).ok());
            let Some((led, name)) = led.as_ref().and_then(|led| Some((led, led.name()?))) else {
                continue;
            };
            let from = files.join(led.as_git());
            // What is a directory is a base of its own, which kustomize loads from anywhere.
            if led.below(&dir).is_some() || !inside(&from, files) || !from.is_file() {
                continue;
            }
            let to = format!("{BROUGHT}/{}/{name}", updates.len());
            let beside = files.join(dir.as_git()).join(&to);
            if let Some(parent) = beside.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::copy(&from, &beside)?;
            let kept = text.strip_suffix(plain(&text)).unwrap_or_default();
            updates.push(Update {
                key,
                value: format!("{kept}{to}").into(),
            });
        }
        let text = String::from_utf8_lossy(&bytes);
        // Where it cannot be edited kustomize says what it does not load.
        if let (false, Ok(edited)) = (updates.is_empty(), yaml::set(&text, &updates)) {
            fs::write(&at, edited)?;
        }
    }
    Ok(())
}

fn inside(path: &Path, files: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    match (real(path), real(files)) {
        (Some(path), Some(files)) => path.starts_with(files),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::remote;

    #[test]
    fn what_is_remote_is_told_from_paths() {
        for (text, wanted) in [
            ("https://example.com/x?ref=v1", true),
            ("ssh://git@example.com/x", true),
            ("git@example.com:x.git", true),
            ("org-1@github.com:x/y", true),
            ("github.com/x/y//base?ref=v1", true),
            ("org-base/x", false),
            ("../base", false),
            ("dir@2x/a.yaml", false),
            ("a.yaml", false),
        ] {
            let file = format!("resources: [{text:?}]\nlabels: [\"https://x\"]\n");
            let path = "k/kustomization.yaml".parse().unwrap();
            assert_eq!(remote(&path, file.as_bytes()).is_some(), wanted, "{text}");
        }
        let path = "k/kustomization.yml".parse().unwrap();
        let chart = b"helmCharts:\n- name: a\n  repo: https://charts.example\n";
        assert!(remote(&path, chart).is_some());
        assert!(remote(&"k/other.yaml".parse().unwrap(), chart).is_none());
    }
}
