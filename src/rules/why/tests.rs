use serde_json::{Value, json};

use super::*;

const NOW: &str = "2026-08-21T12:00:00Z";
const ULID: &str = "01k36z5q3zsa2xw3b6gqk1f0a";

fn name(order: u32) -> String {
    format!("prod.{ULID}{order}.abcdef{order}")
}

/// A Promotion of the Stage prod, made a minute ago.
fn row(order: u32, phase: &str, status: Value) -> PromotionRow {
    let mut object = json!({
        "metadata": {"name": name(order), "namespace": "pay", "creationTimestamp": "2026-08-21T11:59:00Z",
                     "labels": {"kargo.akuity.io/shard": "east"}},
        "spec": {"stage": "prod", "freight": "f", "steps": [{"uses": "git-push", "as": "push"}, {"uses": "fail", "as": "x"}]},
        "status": {"phase": phase}
    });
    for (key, value) in status.as_object().unwrap() {
        object["status"][key] = value.clone();
    }
    PromotionRow::of(&serde_json::from_value(object).unwrap())
}

fn stage(shard: &str, status: Value) -> StageRow {
    let object = json!({"metadata": {"name": "prod", "namespace": "pay"}, "spec": {"shard": shard}, "status": status});
    StageRow::of(&serde_json::from_value(object).unwrap())
}

fn ask(
    row: &PromotionRow,
    stage: Option<&StageRow>,
    others: &[&PromotionRow],
    request: Option<&RequestRow>,
) -> String {
    why(row, stage, others, request, NOW.parse().unwrap())
}

#[test]
fn waiting_ones() {
    let calm = stage("east", json!({}));
    let verifying = stage(
        "east",
        json!({"freightHistory": [{"id": "x", "verificationHistory": [{"phase": "Running"}]}]}),
    );
    let turn = stage("east", json!({"currentPromotion": {"name": name(5)}}));
    let moved = stage("west", json!({}));
    let pending = row(5, "Pending", json!({}));
    let (running, first, later, ended) = (
        row(7, "Running", json!({})),
        row(3, "Pending", json!({})),
        row(6, "Pending", json!({})),
        row(1, "Failed", json!({})),
    );
    let elsewhere = PromotionRow {
        stage: "test".into(),
        ..first.clone()
    };
    let mut fresh = row(5, "", json!({}));
    fresh.created_at = Some("2026-08-21T11:59:55Z".parse().unwrap());
    let mut shardless = row(5, "", json!({}));
    shardless.shard = String::new();
    type Case<'a> = (
        &'a PromotionRow,
        Option<&'a StageRow>,
        Vec<&'a PromotionRow>,
        &'a str,
    );
    let (unseen, paused) = (
        row(5, "", json!({})),
        row(5, "Paused", json!({"message": "by hand"})),
    );
    let cases: Vec<Case<'_>> = vec![
        (
            &pending,
            Some(&calm),
            vec![&pending, &later, &ended, &elsewhere],
            "waits for its turn",
        ),
        (
            &pending,
            Some(&calm),
            vec![&running],
            "behind pay/prod.…abcdef7",
        ),
        (
            &pending,
            Some(&calm),
            vec![&running, &first, &pending],
            "behind pay/prod.…abcdef3 and 1 more",
        ),
        (
            &pending,
            Some(&verifying),
            vec![],
            "verification of current freight runs",
        ),
        (&pending, Some(&turn), vec![], "its turn; starting"),
        (
            &pending,
            Some(&moved),
            vec![],
            "the Stage moved to shard west",
        ),
        (&pending, None, vec![], "there is no Stage prod"),
        (
            &unseen,
            Some(&calm),
            vec![&running],
            "no executor has seen it (shard east)",
        ),
        (&shardless, Some(&calm), vec![], "no executor has seen it"),
        (
            &fresh,
            Some(&calm),
            vec![&running],
            "behind pay/prod.…abcdef7",
        ),
        (&fresh, Some(&calm), vec![], ""),
        (&paused, Some(&calm), vec![], "by hand"),
    ];
    for (row, stage, others, expected) in cases {
        assert_eq!(ask(row, stage, &others, None), expected);
    }
}

#[test]
fn running_ones() {
    let request = |phase: &str, more: Value| {
        let mut object = json!({"metadata": {"name": "r"}, "spec": {"minApprovals": 2}, "status": {"phase": phase}});
        for (path, value) in more.as_object().unwrap() {
            let (parent, key) = path.rsplit_once('/').unwrap();
            object.pointer_mut(parent).unwrap()[key] = value.clone();
        }
        RequestRow::of(&serde_json::from_value(object).unwrap())
    };
    let step = |entry: Value| row(5, "Running", json!({"stepExecutionMetadata": [entry]}));
    let landing =
        step(json!({"alias": "push", "status": "Running", "message": "landing, 3rd of 7"}));
    let again = step(
        json!({"alias": "push", "status": "Errored", "errorCount": 2, "message": "no route to host"}),
    );
    let plain = step(json!({"alias": "push", "status": "Running"}));
    let said = json!({"/status/message": "1 of 2 approvals; needs platform-leads"});
    let soon = json!({"/spec/deadline": "2026-08-21T12:05:00Z"});
    let over = json!({"/spec/deadline": "2026-08-21T11:59:00Z"});
    let unstarted = row(5, "Running", json!({}));
    for (row, request, expected) in [
        (&landing, None, "landing, 3rd of 7"),
        (&again, None, "attempt 3: no route to host"),
        (&plain, None, ""),
        (
            &plain,
            Some(request("Open", said)),
            "1 of 2 approvals; needs platform-leads",
        ),
        (&plain, Some(request("Open", json!({}))), "0 of 2 approvals"),
        (
            &plain,
            Some(request("Open", soon)),
            "0 of 2 approvals; 5m left",
        ),
        (
            &plain,
            Some(request("Open", over)),
            "0 of 2 approvals; its time is over",
        ),
        (
            &landing,
            Some(request("Approved", json!({}))),
            "landing, 3rd of 7",
        ),
        (&unstarted, None, ""),
    ] {
        assert_eq!(ask(row, None, &[], request.as_ref()), expected);
    }
    let mut aborting = landing;
    aborting.aborting = true;
    assert_eq!(ask(&aborting, None, &[], None), "abort asked for");
}

#[test]
fn ended_ones() {
    let failed = json!({"message": "step \"x\" failed", "currentStep": 1, "stepExecutionMetadata": [
        {"alias": "push", "status": "Succeeded", "message": "pushed"}, {"alias": "x", "status": "Failed", "message": "key image.tga: none"}]});
    let silent = json!({"message": "the workspace is gone", "stepExecutionMetadata": [{"alias": "push", "status": "Errored"}]});
    for (row, expected) in [
        (row(5, "Succeeded", json!({"message": "Skipped"})), ""),
        (row(5, "Failed", failed), "key image.tga: none"),
        (row(5, "Errored", silent), "the workspace is gone"),
        (
            row(
                5,
                "Aborted",
                json!({"message": "Promotion terminated by kubernetes:ann"}),
            ),
            "Promotion terminated by kubernetes:ann",
        ),
    ] {
        assert_eq!(ask(&row, None, &[], None), expected);
    }
}

#[test]
fn an_answer_is_one_short_line() {
    let long = format!("a\n  b\t{}", "é".repeat(200));
    let got = ask(&row(5, "Failed", json!({"message": long})), None, &[], None);
    assert_eq!(got.chars().count(), 60);
    assert!(got.starts_with("a b é") && got.ends_with("é…"), "{got}");
}
