//! `git-commit`: commits what changed in a checkout.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    committer::{self, AuthorConfig},
    files,
    schema::{self, Object, Shape, some_text, typed},
};
use crate::{
    engine::{
        step::{Class, Outcome, Step, StepCx, StepError},
        workspace::{CommitOutcome, CommitRequest},
    },
    git::commit::HeaderKey,
    kargo::StepKind,
};

/// See the module.
pub struct GitCommit;

fn shape() -> Shape {
    Object::new()
        .required("path", some_text())
        .required("message", some_text())
        .optional("author", schema::author())
        .into()
}

#[derive(Deserialize)]
struct Config {
    path: String,
    message: String,
    author: Option<AuthorConfig>,
}

fn output(commit: &str) -> Map<String, Value> {
    Map::from_iter([("commit".to_owned(), Value::String(commit.to_owned()))])
}

#[async_trait]
impl Step for GitCommit {
    fn kind(&self) -> StepKind {
        "git-commit".into()
    }

    fn class(&self) -> Class {
        Class::Workspace
    }

    fn shape(&self) -> Shape {
        shape()
    }

    async fn run(&self, cx: StepCx<'_>, config: &Value) -> Result<Outcome, StepError> {
        let config: Config = typed(config)?;
        let at = files::path("path", &config.path)?;
        let named = config.author.map(|author| author.person()).transpose()?;
        let default = cx.around.author.clone();
        let when = cx.around.started_at.as_second();
        let header = HeaderKey {
            promotion_uid: cx.around.uid.as_str().to_owned(),
            step: cx.around.alias.as_str().to_owned(),
        };
        let message = config.message;
        let outcome = cx.files.edit(move |workspace| {
            let cloned = workspace
                .checkout(&at)
                .map_err(|error| files::failed(format!("cannot commit {at}"), error))?
                .author
                .clone();
            let author = committer::for_git(&named.or(cloned).unwrap_or(default));
            let request = CommitRequest {
                message: &message,
                author: &author,
                when,
                header: Some(&header),
            };
            workspace
                .commit(&at, &request)
                .map_err(|error| files::failed(format!("cannot commit {at}"), error))
        });
        match outcome.await? {
            CommitOutcome::Made { id, files } => {
                let noun = if files == 1 { "file" } else { "files" };
                let said = format!("{}, {files} {noun}", id.short());
                Ok(Outcome::succeeded(output(id.as_str())).saying(said))
            }
            CommitOutcome::NothingToCommit(head) => {
                let output = head.map(|head| output(head.as_str())).unwrap_or_default();
                Ok(Outcome::skipped(output, "nothing to commit"))
            }
        }
    }
}
