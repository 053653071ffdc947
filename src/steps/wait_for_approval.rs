//! `wait-for-approval`: asks people. What it asks is here; the question, the answers and their counting are the
//! engine's.

use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;

use super::schema::{Object, Shape, list, some_text, text, typed};
use crate::{
    engine::step::{Class, Plan, Question, Step},
    kargo::{StepKind, approval::ApproverRule},
    rules::durations::GoDuration,
};

/// See the module.
pub struct WaitForApproval;

/// The slow look behind the events.
const POLL: Duration = Duration::from_secs(30);

fn shape() -> Shape {
    let rule = Object::new()
        .optional("claim", text())
        .optional("value", text())
        .optional("role", text())
        .optional("required", Shape::Flag);
    Object::new()
        .optional("approvers", list(rule, 0))
        .optional("minApprovals", Shape::Integer { min: Some(1) })
        .optional("excludeCreator", Shape::Flag)
        .optional("supersede", Shape::Flag)
        .optional("pollInterval", some_text())
        .into()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Config {
    approvers: Vec<ApproverRule>,
    min_approvals: f64,
    exclude_creator: bool,
    supersede: bool,
    poll_interval: String,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            approvers: Vec::new(),
            min_approvals: 1.0,
            exclude_creator: false,
            supersede: false,
            poll_interval: String::new(),
        }
    }
}

impl Config {
    fn poll(&self) -> Result<Duration, String> {
        if self.poll_interval.is_empty() {
            return Ok(POLL);
        }
        let poll: GoDuration = self
            .poll_interval
            .parse()
            .map_err(|error| format!("pollInterval: {error}"))?;
        if poll.is_none() {
            Err("pollInterval: must be more than zero".to_owned())
        } else {
            Ok(poll.to_std())
        }
    }
}

/// What is wrong with one rule.
fn check_rule(at: usize, rule: &ApproverRule) -> Option<String> {
    let problem = match (
        rule.claim.as_str(),
        rule.value.is_empty(),
        rule.role.is_empty(),
    ) {
        ("", true, false) | ("groups" | "email" | "sub", false, true) => return None,
        ("", _, true) => "names neither a claim nor a role",
        (_, _, false) => "names a claim and a role; make two rules of it",
        (_, true, true) => "names a claim without a value",
        (_, false, true) => {
            "names a claim other than groups, email and sub, which is all that is known of a user here"
        }
    };
    Some(format!("approvers.{at}: {problem}"))
}

#[async_trait]
impl Step for WaitForApproval {
    fn kind(&self) -> StepKind {
        "wait-for-approval".into()
    }

    fn class(&self) -> Class {
        Class::Wait
    }

    fn shape(&self) -> Shape {
        shape()
    }

    fn check(&self, config: &Value) -> Vec<String> {
        let mut problems = shape().check(config);
        if !problems.is_empty() {
            return problems;
        }
        match typed::<Config>(config) {
            Ok(config) => {
                problems.extend(
                    config
                        .approvers
                        .iter()
                        .enumerate()
                        .filter_map(|(at, rule)| check_rule(at, rule)),
                );
                problems.extend(config.poll().err());
            }
            Err(error) => problems.push(error.sentence()),
        }
        problems
    }

    fn plan(&self, config: &Value) -> Plan {
        let Ok(config) = typed::<Config>(config) else {
            return Plan::Run;
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be a whole number of 1 or more"
        )]
        let min_approvals = config.min_approvals as u32;
        Plan::Ask(Question {
            poll: config.poll().unwrap_or(POLL),
            approvers: config.approvers,
            min_approvals: min_approvals.max(1),
            exclude_creator: config.exclude_creator,
            supersede: config.supersede,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rules_are_claims_or_roles() {
        let good = json!({"approvers": [
            {"claim": "groups", "value": "leads", "required": true}, {"role": "release-manager"},
        ], "minApprovals": 2});
        assert_eq!(WaitForApproval.check(&good), Vec::<String>::new());
        let Plan::Ask(question) = WaitForApproval.plan(&good) else {
            panic!()
        };
        assert_eq!(
            (
                question.min_approvals,
                question.approvers.len(),
                question.poll
            ),
            (2, 2, POLL)
        );
        let Plan::Ask(question) = WaitForApproval.plan(&json!({})) else {
            panic!()
        };
        assert_eq!((question.min_approvals, question.approvers.len()), (1, 0));
    }

    #[test]
    fn what_cannot_be_is_named() {
        for (config, word) in [
            (json!({"approvers": [{}]}), "approvers.0"),
            (
                json!({"approvers": [{"claim": "groups"}]}),
                "without a value",
            ),
            (
                json!({"approvers": [{"claim": "groups", "value": "x", "role": "y"}]}),
                "two rules",
            ),
            (
                json!({"approvers": [{"claim": "team", "value": "x"}]}),
                "groups, email and sub",
            ),
            (json!({"minApprovals": 0}), "minApprovals"),
            (json!({"pollInterval": "soon"}), "pollInterval"),
            (json!({"minimum": 1}), "minimum"),
        ] {
            let problems = WaitForApproval.check(&config);
            assert!(
                problems.iter().any(|problem| problem.contains(word)),
                "{config}: {problems:?}"
            );
        }
    }
}
