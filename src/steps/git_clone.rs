//! `git-clone`: mounts branches, commits or tags of a repository in the workspace.
//!
//! The output `commits` has an entry for each checkout that has a commit: a branch that `create` lets begin with the
//! first push has none yet, so that nothing later takes an empty text for an id.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    committer::AuthorConfig,
    files,
    schema::{self, Object, Shape, list, some_text, text, typed, unless_empty},
};
use crate::{
    engine::{
        step::{Class, Found, Origin, Outcome, Revision, Step, StepCx, StepError},
        workspace::{Checkout, Mount},
    },
    git::path::RepoPath,
    kargo::StepKind,
};

/// See the module.
pub struct GitClone;

fn shape() -> Shape {
    let checkout = Object::new()
        .required("path", some_text())
        .optional("as", text())
        .optional("branch", text())
        .optional("commit", text())
        .optional("tag", text())
        .optional("create", Shape::Flag)
        .optional("sparse", list(some_text(), 0))
        .at_most_one(&["branch", "commit", "tag"]);
    Object::new()
        .required("repoURL", some_text())
        .required("checkout", list(checkout, 1))
        .optional("author", schema::author())
        .optional("insecureSkipTLSVerify", Shape::Flag)
        .optional("recurseSubmodules", Shape::Flag)
        .optional("blobless", Shape::Flag)
        .into()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    #[serde(rename = "repoURL")]
    repo_url: String,
    checkout: Vec<Entry>,
    author: Option<AuthorConfig>,
    #[serde(default, rename = "insecureSkipTLSVerify")]
    skips_tls: bool,
    #[serde(default)]
    blobless: bool,
}

#[derive(Deserialize)]
struct Entry {
    path: String,
    #[serde(default, rename = "as", deserialize_with = "unless_empty")]
    alias: Option<String>,
    #[serde(default, deserialize_with = "unless_empty")]
    branch: Option<String>,
    #[serde(default, deserialize_with = "unless_empty")]
    commit: Option<String>,
    #[serde(default, deserialize_with = "unless_empty")]
    tag: Option<String>,
    #[serde(default)]
    create: bool,
    #[serde(default)]
    sparse: Vec<String>,
}

impl Entry {
    fn revision(&self, field: &str) -> Result<Revision, StepError> {
        let invalid = |part: &str, error: Box<dyn std::error::Error + Send + Sync>| {
            StepError::config(format!("{field}.{part} cannot be checked out")).because(error)
        };
        if let Some(branch) = &self.branch {
            let name = branch
                .parse()
                .map_err(|error| invalid("branch", Box::new(error)))?;
            return Ok(Revision::Branch {
                name,
                create: self.create,
            });
        }
        if let Some(commit) = &self.commit {
            let id = commit
                .parse()
                .map_err(|error| invalid("commit", Box::new(error)))?;
            return Ok(Revision::Commit(id));
        }
        Ok(self.tag.clone().map_or(Revision::Default, Revision::Tag))
    }

    /// How the outputs name it.
    fn name(&self) -> &str {
        self.alias.as_deref().unwrap_or(&self.path)
    }

    /// For people, when it is not there.
    fn wanted(&self) -> String {
        match (&self.branch, &self.commit, &self.tag) {
            (Some(branch), _, _) => format!("the branch {branch}"),
            (_, Some(commit), _) => format!("the commit {commit}"),
            (_, _, Some(tag)) => format!("the tag {tag}"),
            _ => "the default branch".to_owned(),
        }
    }
}

/// What the shape cannot say: names and places are taken once, and what is not done is not silently left out.
fn check_together(config: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    if config.get("recurseSubmodules") == Some(&Value::Bool(true)) {
        problems.push("recurseSubmodules: is not supported: clone the submodule's repository as a checkout of its own".to_owned());
    }
    let (mut names, mut paths) = (BTreeMap::new(), BTreeMap::new());
    let checkouts = config
        .get("checkout")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    for (index, checkout) in checkouts.iter().enumerate() {
        let field = |name: &str| {
            checkout
                .get(name)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
        };
        if let Some(alias) = field("as")
            && names.insert(alias, index).is_some()
        {
            problems.push(format!(
                "duplicate checkout alias {alias:?} at checkout[{index}]"
            ));
        }
        if let Some(path) = field("path").and_then(|path| RepoPath::parse(path).ok())
            && let Some(other) = paths.insert(path.clone(), index)
        {
            problems.push(format!(
                "checkout.{index}.path: {path} is the path of checkout.{other} already"
            ));
        }
    }
    problems
}

/// Before anything is fetched: another checkout is not replaced, nested or overlaid.
fn check_free(mounts: &[Mount], path: &RepoPath, field: &str) -> Result<(), StepError> {
    match mounts
        .iter()
        .find(|mount| path.below(&mount.path).is_some() || mount.path.below(path).is_some())
    {
        None => Ok(()),
        Some(mount) => Err(StepError::config(format!(
            "{field}: {path} is taken by the checkout of {} at {}",
            mount.repo_url, mount.path
        ))
        .hint("Give every checkout of the promotion a path of its own")),
    }
}

fn summary(found: &Found) -> String {
    let commit = found
        .commit
        .as_ref()
        .map(|commit| commit.short().to_owned());
    match (&found.branch, commit) {
        (Some(branch), Some(commit)) => format!("{branch} at {commit}"),
        (Some(branch), None) => format!("{branch} is new"),
        (None, commit) => commit.unwrap_or_default(),
    }
}

#[async_trait]
impl Step for GitClone {
    fn kind(&self) -> StepKind {
        "git-clone".into()
    }

    fn class(&self) -> Class {
        Class::Workspace
    }

    fn shape(&self) -> Shape {
        shape()
    }

    fn check(&self, config: &Value) -> Vec<String> {
        let mut problems = shape().check(config);
        problems.extend(check_together(config));
        problems
    }

    async fn run(&self, cx: StepCx<'_>, config: &Value) -> Result<Outcome, StepError> {
        let config: Config = typed(config)?;
        let author = config
            .author
            .as_ref()
            .map(AuthorConfig::person)
            .transpose()?;
        let (mut paths, mut revisions) = (Vec::new(), Vec::new());
        for (index, entry) in config.checkout.iter().enumerate() {
            let field = format!("checkout.{index}");
            let path = files::path(&format!("{field}.path"), &entry.path)?;
            check_free(&cx.files.state.mounts, &path, &format!("{field}.path"))?;
            paths.push(path);
            revisions.push(entry.revision(&field)?);
        }
        let origin = Origin {
            url: &config.repo_url,
            skips_tls: config.skips_tls,
        };
        let found = cx.repositories.find(origin, &revisions).await?;
        if found.len() != revisions.len() {
            return Err(StepError::errored(format!(
                "{} revisions of {} were asked for and {} found",
                revisions.len(),
                config.repo_url,
                found.len()
            )));
        }
        let (mut commits, mut said, mut checkouts) = (Map::new(), Vec::new(), Vec::new());
        for ((entry, path), found) in config.checkout.iter().zip(paths).zip(found) {
            if found.commit.is_none() && !entry.create {
                return Err(StepError::errored(format!(
                    "{} does not exist in {}",
                    entry.wanted(),
                    config.repo_url
                ))
                .hint("Set create: true to start it with the first push"));
            }
            said.push(summary(&found));
            if let Some(commit) = &found.commit {
                commits.insert(entry.name().to_owned(), Value::String(commit.to_string()));
            }
            checkouts.push(Checkout {
                path,
                repo_url: config.repo_url.clone(),
                skips_tls: config.skips_tls,
                mirror: found.mirror,
                branch: found.branch,
                create: entry.create,
                author: author.clone(),
                base: found.commit,
            });
        }
        if config.checkout.iter().any(|entry| !entry.sparse.is_empty()) {
            said.push(
                "sparse is not needed here: all paths are there, none is written to a disk"
                    .to_owned(),
            );
        }
        if config.blobless {
            said.push(
                "blobless is not needed here: the mirror is kept, and only new objects are fetched"
                    .to_owned(),
            );
        }
        let mirrors = cx.files.mirrors();
        cx.files
            .edit(move |workspace| {
                checkouts.into_iter().try_for_each(|checkout| {
                    let doing = format!("cannot check out at {}", checkout.path);
                    workspace
                        .mount(checkout, mirrors.as_ref())
                        .map_err(|error| files::failed(doing, error))
                })
            })
            .await?;
        let output = Map::from_iter([("commits".to_owned(), Value::Object(commits))]);
        Ok(Outcome::succeeded(output).saying(said.join("; ")))
    }
}
