use serde_json::{Value, json};

use super::*;

fn promotion(steps: usize, status: Value) -> PromotionRow {
    let steps: Vec<Value> = (1..=steps)
        .map(|number| json!({"uses": "copy", "as": format!("s{number}")}))
        .collect();
    let object = json!({"metadata": {"name": "p", "namespace": "shop"}, "spec": {"stage": "prod", "steps": steps}, "status": status});
    PromotionRow::of(&serde_json::from_value(object).unwrap())
}

/// C80: 0 of 0, and a current step beyond the last.
#[test]
fn the_step_is_within_what_there_is() {
    let entry = json!([{"alias": "s1", "status": "Succeeded"}]);
    for (steps, status, number) in [
        (
            0,
            json!({"phase": "Running", "stepExecutionMetadata": entry}),
            None,
        ),
        (0, json!({"phase": "Succeeded"}), None),
        (
            5,
            json!({"phase": "Running", "currentStep": 7, "stepExecutionMetadata": entry}),
            Some(5),
        ),
        (
            5,
            json!({"phase": "Running", "currentStep": -3, "stepExecutionMetadata": entry}),
            Some(1),
        ),
        (
            5,
            json!({"phase": "Running", "currentStep": 1, "stepExecutionMetadata": entry}),
            Some(2),
        ),
        (5, json!({"phase": "Succeeded", "currentStep": 4}), Some(5)),
    ] {
        let row = promotion(steps, status.clone());
        assert_eq!(row.step.map(|step| step.number), number, "{status}");
        assert_eq!(row.steps, steps);
    }
}

/// C91: one that has not started is at no step.
#[test]
fn waiting_ones_are_at_no_step() {
    for phase in ["", "Pending", "Running"] {
        assert_eq!(promotion(3, json!({"phase": phase})).step, None, "{phase}");
    }
}

#[test]
fn a_bad_end_shows_the_step_that_was_bad() {
    let entries = |continues: bool| {
        json!([
            {"alias": "s1", "status": "Succeeded"},
            {"alias": "s2", "status": "Failed", "message": "A", "continueOnError": continues},
            {"alias": "s3", "status": "Errored", "message": "B", "errorCount": 2},
            {"alias": "s4", "status": "Skipped"},
        ])
    };
    let at = |continues: bool| {
        let row = promotion(
            4,
            json!({"phase": "Failed", "currentStep": 3, "stepExecutionMetadata": entries(continues)}),
        );
        row.step.unwrap()
    };
    assert_eq!((at(false).number, at(false).message.as_str()), (2, "A"));
    assert_eq!(
        (
            at(true).number,
            at(true).message.as_str(),
            at(true).error_count
        ),
        (3, "B", 2)
    );
}

/// C89: what other versions and other tools left out or wrote otherwise.
#[test]
fn odd_objects_have_rows() {
    let row = promotion(
        0,
        json!({"phase": "Paused", "message": null, "stepExecutionMetadata": null, "startedAt": "soon"}),
    );
    assert_eq!(
        (row.phase.as_str(), row.message.as_str(), row.started_at),
        ("Paused", "", None)
    );
    assert!(!row.aborting);
    let stage: Stage = serde_json::from_value(
        json!({"metadata": {"name": "s"}, "status": {"freightHistory": null, "health": 7}}),
    )
    .unwrap();
    let row = StageRow::of(&stage);
    assert!(row.control_flow && row.freight.is_empty() && !row.verifying && row.health.is_empty());
    let freight: Freight = serde_json::from_value(
        json!({"metadata": {"name": "f"}, "images": [null, {"repoURL": "h:5000/o/app"}]}),
    )
    .unwrap();
    let row = FreightRow::of(&freight);
    assert_eq!(
        (row.alias.as_str(), row.artifacts),
        ("", vec!["app".to_owned()])
    );
    let request: ApprovalRequest =
        serde_json::from_value(json!({"metadata": {"name": "r"}, "status": null})).unwrap();
    assert_eq!(RequestRow::of(&request).phase, RequestPhase::Open);
}

#[test]
fn an_abort_shows_until_the_end() {
    let with = |annotation: &str, phase: &str| {
        let object = json!({"metadata": {"name": "p", "annotations": {"kargo.akuity.io/abort": annotation}}, "status": {"phase": phase}});
        PromotionRow::of(&serde_json::from_value(object).unwrap()).aborting
    };
    assert!(with("terminate", "Running"));
    assert!(with(
        "{\"action\":\"terminate\",\"actor\":\"kubernetes:ann\"}",
        "Pending"
    ));
    assert!(!with("", "Running"));
    assert!(!with("terminate", "Aborted"));
}

#[test]
fn artifacts_are_short() {
    let freight: Freight = serde_json::from_value(json!({
        "metadata": {"name": "f", "labels": {"kargo.akuity.io/alias": "calm-otter"}},
        "images": [{"repoURL": "ghcr.io/org/app", "tag": "2.3.1"}, {"repoURL": "busybox", "digest": "sha256:ab"}],
        "charts": [{"repoURL": "https://c.example", "name": "web", "version": "1.0.0"}, {"repoURL": "oci://h.example/o/db", "version": "2"}],
        "commits": [{"repoURL": "https://h.example/o/repo.git", "id": "74291c2aaaaaaaa"}, {"repoURL": "git@h.example:o/r", "id": "1", "tag": "v1"}],
        "artifacts": [{"subscriptionName": "lib", "version": "3"}]
    }))
    .unwrap();
    let row = FreightRow::of(&freight);
    assert_eq!(row.alias.as_str(), "calm-otter");
    assert_eq!(
        row.artifacts,
        [
            "app:2.3.1",
            "busybox@sha256:ab",
            "web 1.0.0",
            "db 2",
            "repo@74291c2",
            "r@v1",
            "lib 3"
        ]
    );
}

#[test]
fn long_messages_are_cut_between_characters() {
    let row = promotion(0, json!({"message": "é".repeat(20_000)}));
    assert_eq!(row.message.chars().count(), MESSAGE_MAX + 1);
    assert!(row.message.ends_with("é…"));
}

#[test]
fn a_request_sums_its_files() {
    let request: ApprovalRequest = serde_json::from_value(json!({
        "metadata": {"name": "r"},
        "spec": {"change": {"digest": "d", "files": [{"path": "a", "added": 1, "removed": 2}, {"path": "b", "added": 3}]}}
    }))
    .unwrap();
    let row = RequestRow::of(&request);
    assert_eq!(
        (row.files, row.added, row.removed, row.digest.as_str()),
        (2, 4, 2, "d")
    );
}
