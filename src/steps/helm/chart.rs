//! `Chart.yaml` and `Chart.lock`: which charts a chart is made of.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{engine::step::StepError, git::path::RepoPath, kargo::Timestamp};

/// The file that makes a directory a chart.
pub const CHART: &str = "Chart.yaml";
/// What was found for the versions that it asks for.
pub const LOCK: &str = "Chart.lock";
/// Where the charts are.
pub const CHARTS: &str = "charts";

/// One chart that another is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Dependency {
    /// The chart's name.
    pub name: String,
    /// A version, or a range of them.
    pub version: String,
    /// Where it is; empty for one that lies in `charts`.
    pub repository: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Listed {
    dependencies: Option<Vec<Dependency>>,
}

impl Dependency {
    /// The directory that it lies in, relative to its chart, where it is not brought from outside.
    pub fn local(&self) -> Option<&str> {
        self.repository.strip_prefix("file://")
    }
}

/// The dependencies that a `Chart.yaml` or `Chart.lock` lists.
pub fn dependencies(text: &str) -> Result<Vec<Dependency>, serde_saphyr::Error> {
    let listed: Option<Listed> = serde_saphyr::from_str(text)?;
    Ok(listed
        .and_then(|listed| listed.dependencies)
        .unwrap_or_default())
}

/// The local charts that a `Chart.yaml` speaks of, for the folder that Helm works in.
pub fn references(path: &RepoPath, bytes: &[u8]) -> Vec<String> {
    if path.name() != Some(CHART) {
        return Vec::new();
    }
    let listed = dependencies(&String::from_utf8_lossy(bytes)).unwrap_or_default();
    listed
        .iter()
        .filter_map(|one| one.local().map(str::to_owned))
        .collect()
}

/// A local chart has to lie in the workspace.
pub fn check_local(chart: &RepoPath, all: &[Dependency]) -> Result<(), StepError> {
    for one in all {
        let Some(path) = one.local() else { continue };
        chart.follow(path).map_err(|error| {
            StepError::config(format!(
                "the dependency {} of {chart} cannot be used",
                one.name
            ))
            .because(error)
            .hint("A local dependency is a path relative to its chart, inside the workspace")
        })?;
    }
    Ok(())
}

/// What became of each chart between two locks: another version, a first one, or none any more.
pub fn changes(before: &[Dependency], after: &[Dependency]) -> BTreeMap<String, Option<String>> {
    let mut known: BTreeMap<&str, &str> = BTreeMap::new();
    for one in before {
        known.insert(&one.name, &one.version);
    }
    let mut changes = BTreeMap::new();
    for one in after {
        let change = match known.remove(one.name.as_str()) {
            Some(old) if old == one.version => continue,
            Some(old) => format!("{old} -> {}", one.version),
            None => one.version.clone(),
        };
        changes.insert(one.name.clone(), Some(change));
    }
    changes.extend(known.into_keys().map(|name| (name.to_owned(), None)));
    changes
}

/// The lock to keep: the old one where only its time differs, and otherwise the new one with a time that is the same
/// whenever the step runs again.
pub fn settled_lock(before: Option<&str>, made: &str, when: &Timestamp) -> String {
    let timeless = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with("generated:"));
        lines.map(str::to_owned).collect()
    };
    if let Some(before) = before.filter(|before| timeless(before) == timeless(made)) {
        return before.to_owned();
    }
    let lines = made.split_inclusive('\n').map(|line| {
        if line.starts_with("generated:") {
            format!("generated: \"{when}\"\n")
        } else {
            line.to_owned()
        }
    });
    lines.collect()
}
