//! `git-push`: brings a checkout's commits onto a branch, or one of its tags to the remote. What it asks for is here; the queue before the branch, the
//! rebase and the replay are the engine's.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;

use super::{
    git_tag,
    schema::{Object, Shape, some_text, text, typed, unless_empty},
};
use crate::{
    engine::step::{Class, Plan, PushOrder, PushTarget, Step, StepError},
    git::branch::BranchName,
    kargo::StepKind,
};

/// See the module.
pub struct GitPush;

/// Hosts whose pages for commits are known.
const PROVIDERS: &[&str] = &["azure", "bitbucket", "gitea", "github", "gitlab"];

fn shape() -> Shape {
    Object::new()
        .required("path", some_text())
        .optional("targetBranch", text())
        .optional("generateTargetBranch", Shape::Flag)
        .optional("tag", text())
        .optional("force", Shape::Flag)
        .optional("maxAttempts", Shape::Count)
        .optional("provider", Shape::OneOf(PROVIDERS))
        .at_most_one(&["targetBranch", "generateTargetBranch", "tag"])
        .into()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    path: String,
    #[serde(default, deserialize_with = "unless_empty")]
    target_branch: Option<String>,
    #[serde(default)]
    generate_target_branch: Option<bool>,
    #[serde(default, deserialize_with = "unless_empty")]
    tag: Option<String>,
    #[serde(default)]
    force: bool,
    max_attempts: Option<f64>,
    #[serde(default, deserialize_with = "unless_empty")]
    provider: Option<String>,
}

impl Config {
    fn target(&self) -> Result<PushTarget, StepError> {
        if let Some(tag) = &self.tag {
            return Ok(PushTarget::Tag(git_tag::name(tag)?));
        }
        Ok(match &self.target_branch {
            Some(name) => {
                let branch: BranchName = name
                    .parse()
                    .map_err(|error| StepError::config("targetBranch").because(error))?;
                PushTarget::Branch(branch)
            }
            None if self.generate_target_branch == Some(true) => PushTarget::Generated,
            None => PushTarget::CheckedOut,
        })
    }
}

#[async_trait]
impl Step for GitPush {
    fn kind(&self) -> StepKind {
        "git-push".into()
    }

    fn class(&self) -> Class {
        Class::AskableEffect
    }

    fn shape(&self) -> Shape {
        shape()
    }

    fn check(&self, config: &Value) -> Vec<String> {
        let mut problems = shape().check(config);
        let tags = config
            .get("tag")
            .and_then(Value::as_str)
            .is_some_and(|tag| !tag.is_empty());
        if tags && config.get("force") == Some(&Value::Bool(true)) {
            problems.push("force: cannot be set together with tag: tags are not moved".to_owned());
        }
        if problems.is_empty()
            && let Err(error) = typed::<Config>(config).and_then(|config| config.target())
        {
            problems.push(error.sentence());
        }
        problems
    }

    fn plan(&self, config: &Value) -> Plan {
        let order = typed::<Config>(config).and_then(|config| {
            Ok(PushOrder {
                target: config.target()?,
                force: config.force,
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "checked to be a whole number of 1 or more"
                )]
                max_attempts: config.max_attempts.map(|attempts| attempts as u32),
                provider: config.provider,
                path: config.path,
            })
        });
        // What has passed `check` can be read; what has not is said by `run`.
        order.map_or(Plan::Run, Plan::Push)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn order(config: Value) -> PushOrder {
        assert_eq!(GitPush.check(&config), Vec::<String>::new());
        match GitPush.plan(&config) {
            Plan::Push(order) => order,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn where_it_goes() {
        assert_eq!(
            order(json!({"path": "./out"})).target,
            PushTarget::CheckedOut
        );
        assert_eq!(
            order(json!({"path": "out", "targetBranch": "", "generateTargetBranch": true})).target,
            PushTarget::Generated
        );
        assert_eq!(
            order(json!({"path": "out", "tag": "v1", "targetBranch": "", "generateTargetBranch": false})).target,
            PushTarget::Tag("v1".parse().unwrap())
        );
        let named = order(
            json!({"path": "out", "targetBranch": "env/a", "maxAttempts": 3.0, "force": true}),
        );
        assert_eq!(named.target, PushTarget::Branch("env/a".parse().unwrap()));
        assert_eq!((named.max_attempts, named.force), (Some(3), true));
    }

    #[test]
    fn what_cannot_be_is_named() {
        for (config, word) in [
            (json!({}), "path"),
            (json!({"path": "x", "tag": "v1", "force": true}), "force"),
            (json!({"path": "x", "tag": "-v1"}), "starts with a dash"),
            (
                json!({"path": "x", "targetBranch": "a", "tag": "v1"}),
                "targetBranch and tag are given",
            ),
            (
                json!({"path": "x", "targetBranch": "a", "generateTargetBranch": true}),
                "generateTargetBranch",
            ),
            (json!({"path": "x", "targetBranch": "a..b"}), "a..b"),
            (json!({"path": "x", "maxAttempts": 0}), "maxAttempts"),
            (json!({"path": "x", "provider": "sourcehut"}), "provider"),
            (json!({"path": "x", "brnch": "a"}), "brnch"),
        ] {
            let problems = GitPush.check(&config);
            assert!(
                problems.iter().any(|problem| problem.contains(word)),
                "{config}: {problems:?}"
            );
        }
    }
}
