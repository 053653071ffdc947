mod archives;
#[allow(dead_code, reason = "`tests/steps_peer.rs` uses the rest")]
mod bench;
mod charts;
mod data;
mod files;
mod git;
mod images;
mod objects;
mod paths;
mod programs;
#[allow(dead_code, reason = "the other tests that share it use the rest")]
pub mod server;
mod yaml;

use super::*;
use crate as tw;
use crate::engine::step::Class;

/// The promise of `design/replay.md`: who may run again is said by each step, and here once more for all.
#[test]
fn every_step_kind_and_its_class() {
    let registry = registry();
    let classes: Vec<(String, Class)> = registry
        .kinds()
        .iter()
        .map(|kind| (kind.to_string(), registry.find(kind).unwrap().class()))
        .collect();
    let expected = [
        ("compose-output", Class::Workspace),
        ("copy", Class::Workspace),
        ("delete", Class::Workspace),
        ("fail", Class::Workspace),
        ("file-write", Class::Workspace),
        ("git-clear", Class::Workspace),
        ("git-clone", Class::Workspace),
        ("git-commit", Class::Workspace),
        ("git-push", Class::AskableEffect),
        ("git-tag", Class::Workspace),
        ("helm-template", Class::Workspace),
        ("helm-update-chart", Class::Fetch),
        ("http", Class::UnknowableEffect),
        ("http-download", Class::Fetch),
        ("json-parse", Class::Workspace),
        ("json-update", Class::Workspace),
        ("kustomize-build", Class::Workspace),
        ("kustomize-set-image", Class::Workspace),
        ("set-freight-alias", Class::AskableEffect),
        ("set-metadata", Class::AskableEffect),
        ("tar", Class::Workspace),
        ("toml-parse", Class::Workspace),
        ("toml-update", Class::Workspace),
        ("untar", Class::Workspace),
        ("wait-for-approval", Class::Wait),
        ("yaml-merge", Class::Workspace),
        ("yaml-parse", Class::Workspace),
        ("yaml-update", Class::Workspace),
    ];
    assert_eq!(
        classes,
        expected.map(|(kind, class)| (kind.to_owned(), class))
    );
}

#[test]
fn another_step_can_be_added_and_an_unknown_one_is_not_found() {
    struct Other;
    #[async_trait::async_trait]
    impl Step for Other {
        fn kind(&self) -> StepKind {
            "other".into()
        }
        fn class(&self) -> Class {
            Class::Wait
        }
        fn check(&self, _: &serde_json::Value) -> Vec<String> {
            Vec::new()
        }
        async fn run(
            &self,
            _: crate::engine::step::StepCx<'_>,
            _: &serde_json::Value,
        ) -> Result<crate::engine::step::Outcome, crate::engine::step::StepError> {
            Ok(crate::engine::step::Outcome::succeeded(
                serde_json::Map::new(),
            ))
        }
    }
    let registry = registry().with(Other);
    assert!(registry.find(&"other".into()).is_some() && registry.kinds().contains("other"));
    assert!(registry.find(&"ohter".into()).is_none());
}
