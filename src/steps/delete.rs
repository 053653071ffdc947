//! `delete`: removes files, directories and links, named or matched.

use std::collections::BTreeSet;

use async_trait::async_trait;
use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    files,
    schema::{Object, Shape, list, some_text, typed, unless_empty},
};
use crate::{
    engine::{
        step::{Class, Outcome, Step, StepCx, StepError},
        workspace::{Kind, Workspace, WorkspaceError},
    },
    git::path::RepoPath,
    kargo::StepKind,
};

/// See the module.
pub struct Delete;

fn shape() -> Shape {
    Object::new()
        .optional("path", some_text())
        .optional("paths", list(some_text(), 1))
        .optional("pathsAreGlobs", Shape::Flag)
        .optional("strict", Shape::Flag)
        .exactly_one(&["path", "paths"])
        .into()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    #[serde(default, deserialize_with = "unless_empty")]
    path: Option<String>,
    paths: Option<Vec<String>>,
    #[serde(default)]
    paths_are_globs: bool,
    #[serde(default)]
    strict: bool,
}

/// What to look for.
enum Wanted {
    Path(RepoPath),
    Glob(Glob),
}

/// A pattern: `*` stays within a name, `**` does not.
struct Glob {
    pattern: String,
    matcher: GlobMatcher,
    /// The directory that the pattern names without wildcards: only what is below it is looked at.
    base: RepoPath,
    /// How deep a match can be; none with `**`.
    depth: Option<usize>,
}

fn is_wild(part: &str) -> bool {
    part.contains(['*', '?', '[', '{', '\\'])
}

fn wanted(field: &str, text: &str, globs: bool) -> Result<Wanted, StepError> {
    if !globs || !is_wild(text) {
        return files::path(field, text).map(Wanted::Path);
    }
    let refuse = |why: &str| {
        Err(
            StepError::config(format!("{field}: the pattern {text:?} {why}"))
                .hint("Give a pattern relative to the workspace, such as ./out/**/*.tmp"),
        )
    };
    if text.starts_with('/') {
        return refuse("is absolute");
    }
    let parts: Vec<&str> = text
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    if parts.contains(&"..") {
        return refuse("contains `..`");
    }
    let pattern = parts.join("/");
    let glob = GlobBuilder::new(&pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .build();
    let matcher = glob
        .map_err(|error| {
            StepError::config(format!("{field}: {text:?} is not a pattern")).because(error)
        })?
        .compile_matcher();
    let fixed: Vec<&str> = parts
        .iter()
        .take_while(|part| !is_wild(part))
        .copied()
        .collect();
    let base = if fixed.is_empty() {
        RepoPath::root()
    } else {
        files::path(field, &fixed.join("/"))?
    };
    // Alternatives can contain slashes, and then the number of parts says nothing.
    let depth = (!pattern.contains("**") && !pattern.contains('{')).then_some(parts.len());
    Ok(Wanted::Glob(Glob {
        pattern,
        matcher,
        base,
        depth,
    }))
}

impl Glob {
    /// All matches. A match is not looked into: it goes as a whole.
    fn matches(&self, workspace: &mut Workspace) -> Result<Vec<RepoPath>, StepError> {
        let mut found = Vec::new();
        let mut dirs = vec![self.base.clone()];
        while let Some(dir) = dirs.pop() {
            let listed = match workspace.list(&dir) {
                Ok(listed) => listed.unwrap_or_default(),
                Err(WorkspaceError::NotDirectory { .. }) => continue,
                Err(error) => {
                    return Err(files::failed(
                        format!("cannot look for {:?}", self.pattern),
                        error,
                    ));
                }
            };
            for entry in listed {
                let Ok(path) = dir.child(&entry.name) else {
                    continue;
                };
                if self.matcher.is_match(path.as_git()) {
                    found.push(path);
                } else if entry.kind == Kind::Dir
                    && self.depth.is_none_or(|depth| path.parts().count() < depth)
                {
                    dirs.push(path);
                }
            }
        }
        Ok(found)
    }
}

fn delete(workspace: &mut Workspace, wanted: &[Wanted], strict: bool) -> Result<usize, StepError> {
    let mut found = BTreeSet::new();
    for wanted in wanted {
        match wanted {
            Wanted::Path(path) => {
                if files::exists(workspace, path, &format!("cannot delete {path}"))? != Kind::Absent
                {
                    found.insert(path.clone());
                } else if strict {
                    return Err(StepError::errored(format!(
                        "cannot delete {path}: it does not exist"
                    ))
                    .hint("Without strict: true that is not an error"));
                }
            }
            Wanted::Glob(glob) => {
                let matches = glob.matches(workspace)?;
                if matches.is_empty() && strict {
                    return Err(StepError::errored(format!(
                        "no paths matched pattern {:?}",
                        glob.pattern
                    ))
                    .hint("Without strict: true that is not an error"));
                }
                found.extend(matches);
            }
        }
    }
    for path in &found {
        workspace
            .remove(path)
            .map_err(|error| files::failed(format!("cannot delete {path}"), error))?;
    }
    Ok(found.len())
}

#[async_trait]
impl Step for Delete {
    fn kind(&self) -> StepKind {
        "delete".into()
    }

    fn class(&self) -> Class {
        Class::Workspace
    }

    fn shape(&self) -> Shape {
        shape()
    }

    async fn run(&self, cx: StepCx<'_>, config: &Value) -> Result<Outcome, StepError> {
        let config: Config = typed(config)?;
        let globs = config.paths_are_globs;
        let mut all = Vec::new();
        if let Some(path) = &config.path {
            all.push(wanted("path", path, globs)?);
        }
        for (index, path) in config.paths.iter().flatten().enumerate() {
            all.push(wanted(&format!("paths.{index}"), path, globs)?);
        }
        let deleted = cx
            .files
            .edit(move |workspace| delete(workspace, &all, config.strict))
            .await?;
        let outcome = Outcome::succeeded(Map::new());
        Ok(if deleted == 0 {
            outcome.saying("nothing to delete")
        } else {
            outcome
        })
    }
}
