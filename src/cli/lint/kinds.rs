//! What is known of step kinds by name, also of those that this version does not run.

use super::source::{Content, Node};
use crate::expr::template;

/// The fields of a step.
pub const STEP_FIELDS: [&str; 8] = [
    "uses",
    "task",
    "as",
    "if",
    "continueOnError",
    "retry",
    "vars",
    "config",
];

/// Kargo's step kinds, those of the vendor's platform included.
pub const KARGOS: [&str; 45] = [
    "argocd-update",
    "argocd-wait",
    "compose-output",
    "copy",
    "delete",
    "fail",
    "file-write",
    "get-user-input",
    "gha-dispatch-workflow",
    "gha-wait-for-workflow",
    "git-clear",
    "git-clone",
    "git-commit",
    "git-merge-pr",
    "git-open-pr",
    "git-push",
    "git-tag",
    "git-wait-for-pr",
    "github-push",
    "hcl-update",
    "helm-template",
    "helm-update-chart",
    "http",
    "http-download",
    "jfrog-evidence",
    "jira",
    "json-parse",
    "json-update",
    "kustomize-build",
    "kustomize-set-image",
    "oci-download",
    "oci-push",
    "record-audit-event",
    "send-message",
    "set-freight-alias",
    "set-metadata",
    "tar",
    "toml-parse",
    "toml-update",
    "untar",
    "wait-for-approval",
    "yaml-merge",
    "yaml-parse",
    "yaml-update",
    "tf-apply",
];

/// Whether it changes something outside the workspace.
pub fn is_effect(uses: &str) -> bool {
    matches!(
        uses,
        "git-push"
            | "github-push"
            | "git-open-pr"
            | "git-merge-pr"
            | "argocd-update"
            | "http"
            | "oci-push"
            | "set-metadata"
            | "set-freight-alias"
            | "send-message"
            | "jira"
            | "gha-dispatch-workflow"
            | "tf-apply"
    )
}

/// Whether it asks people.
pub fn is_gate(uses: &str) -> bool {
    uses == "wait-for-approval"
}

/// Whether what is in this field of the configuration is stored or shown to people.
pub fn is_shown(uses: &str, way: &[String]) -> bool {
    let first = way.first().map_or("", String::as_str);
    match uses {
        "compose-output" | "wait-for-approval" | "set-metadata" | "set-freight-alias" => true,
        "git-commit" | "git-tag" | "fail" => first == "message",
        "git-open-pr" => matches!(first, "title" | "description" | "labels"),
        _ => false,
    }
}

/// What the expressions of a field see that are written without delimiters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Raw {
    /// `response`.
    Response,
    /// The fields of the document.
    Document,
}

/// Whether a field of the configuration is an expression without delimiters.
pub fn raw(uses: &str, way: &[String]) -> Option<Raw> {
    let way: Vec<&str> = way.iter().map(String::as_str).collect();
    match (uses, way.as_slice()) {
        ("http", ["outputs", _, "fromExpression"])
        | ("http", ["successExpression" | "failureExpression" | "errorExpression"]) => {
            Some(Raw::Response)
        }
        ("json-parse" | "yaml-parse" | "toml-parse", ["outputs", _, "fromExpression"]) => {
            Some(Raw::Document)
        }
        _ => None,
    }
}

/// The names of a step's outputs, where its kind and configuration tell them all.
pub fn outputs(uses: &str, config: Option<&Node>) -> Option<Vec<String>> {
    let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    match uses {
        "git-clone" => names(&["commits"]),
        "git-commit" | "git-tag" => names(&["commit"]),
        "git-push" => names(&["commit", "branch", "commitURL", "attempts"]),
        "git-open-pr" => names(&["pr"]),
        "git-wait-for-pr" => names(&["pr", "commit"]),
        "argocd-update" => names(&["apps"]),
        "argocd-wait" => names(&["apps", "healthStatus"]),
        "json-update"
        | "yaml-update"
        | "toml-update"
        | "yaml-merge"
        | "helm-update-chart"
        | "kustomize-set-image" => names(&["commitMessage"]),
        "oci-push" => names(&["image", "digest", "tag"]),
        "wait-for-approval" => names(&["responses"]),
        "copy" | "delete" | "file-write" | "git-clear" | "fail" => names(&[]),
        "compose-output" => match &config?.content {
            Content::Map(entries) => Some(entries.iter().map(|entry| entry.name.clone()).collect()),
            _ => None,
        },
        "http" | "json-parse" | "yaml-parse" | "toml-parse" => match config?.get("outputs") {
            None => names(&[]),
            Some(list) => list
                .items()
                .iter()
                .map(|item| {
                    let name = item.text_at(&["name"]);
                    (!template::is_template(name)).then(|| name.to_owned())
                })
                .collect(),
        },
        _ => None,
    }
}
