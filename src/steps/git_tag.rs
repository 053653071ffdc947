//! `git-tag`: an annotated tag on the head of a checkout. It gets to the remote by a `git-push` with `tag`.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    committer, files,
    schema::{Object, Shape, some_text, typed},
};
use crate::{
    engine::{
        step::{Class, Outcome, Step, StepCx, StepError},
        workspace::TagWish,
    },
    git::tag::TagName,
    kargo::StepKind,
};

/// See the module.
pub struct GitTag;

fn shape() -> Shape {
    Object::new()
        .required("path", some_text())
        .required("tag", some_text())
        .required("message", some_text())
        .optional("force", Shape::Flag)
        .into()
}

#[derive(Deserialize)]
struct Config {
    path: String,
    tag: String,
    message: String,
    #[serde(default)]
    force: bool,
}

/// The name, or the rule that it breaks.
pub fn name(text: &str) -> Result<TagName, StepError> {
    text.parse()
        .map_err(|error| StepError::config("tag").because(error))
}

#[async_trait]
impl Step for GitTag {
    fn kind(&self) -> StepKind {
        "git-tag".into()
    }

    fn class(&self) -> Class {
        Class::Workspace
    }

    fn shape(&self) -> Shape {
        shape()
    }

    fn check(&self, config: &Value) -> Vec<String> {
        let mut problems = shape().check(config);
        if problems.is_empty()
            && let Err(error) = typed::<Config>(config).and_then(|config| name(&config.tag))
        {
            problems.push(error.sentence());
        }
        problems
    }

    async fn run(&self, cx: StepCx<'_>, config: &Value) -> Result<Outcome, StepError> {
        let config: Config = typed(config)?;
        let at = files::path("path", &config.path)?;
        let tag = name(&config.tag)?;
        let doing = format!("cannot make the tag {tag} at {at}");
        let (path, words) = (at.clone(), doing.clone());
        let mount = cx.files.edit(move |workspace| {
            let mount = workspace.checkout(&path).cloned();
            mount.map_err(|error| files::failed(words, error))
        });
        let mount = mount.await?;
        // With `force` too a tag on the remote is never moved; that is the push's to say.
        if !config.force && cx.repositories.has_tag(mount.origin(), &tag).await? {
            return Err(StepError::refused(format!(
                "{doing}: {} has one of that name",
                mount.repo_url
            ))
            .hint("Tags are not moved: give this one another name"));
        }
        let tagger = committer::for_git(&mount.author.unwrap_or(cx.around.author.clone()));
        let when = cx.around.started_at.as_second();
        let (message, force, named) = (config.message, config.force, tag.clone());
        let commit = cx.files.edit(move |workspace| {
            let wish = TagWish {
                name: &named,
                message: &message,
                tagger: &tagger,
                when,
                force,
            };
            workspace
                .tag(&at, &wish)
                .map_err(|error| files::failed(doing, error))
        });
        let commit = commit.await?;
        let output = Map::from_iter([("commit".to_owned(), Value::from(commit.as_str()))]);
        Ok(Outcome::succeeded(output).saying(format!("{tag} at {}", commit.short())))
    }
}
