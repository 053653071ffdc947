use serde_json::{Value, json};

use super::*;

const NOW: &str = "2026-08-21T12:00:00Z";

fn promotion(phase: &str) -> PromotionRow {
    let object = json!({"metadata": {"name": "p", "uid": "p1"}, "spec": {"stage": "prod", "freight": "f"}, "status": {"phase": phase}});
    PromotionRow::of(&serde_json::from_value(object).unwrap())
}

fn request(uid: &str, phase: &str, group: &str) -> RequestRow {
    let object = json!({
        "metadata": {"name": "r", "uid": uid},
        "spec": {"promotion": {"name": "p", "uid": "p1"}, "approvers": [{"claim": "groups", "value": group}], "minApprovals": 1},
        "status": {"phase": phase}
    });
    RequestRow::of(&serde_json::from_value(object).unwrap())
}

fn stage(change: Value) -> StageRow {
    let mut object = json!({
        "metadata": {"name": "prod"},
        "spec": {
            "requestedFreight": [{"origin": {"kind": "Warehouse", "name": "w"}, "sources": {"stages": ["test"]}}],
            "promotionTemplate": {"spec": {"steps": [{"uses": "fail"}]}}
        }
    });
    for (key, value) in change.as_object().unwrap() {
        object[key] = value.clone();
    }
    StageRow::of(&serde_json::from_value(object).unwrap())
}

/// Asks as ann, of the group leads.
fn with<T>(read_only: bool, refused: &[(Action, &str)], ask: impl Fn(&Actor<'_>) -> T) -> T {
    let person = Person {
        name: "ann".into(),
        uid: String::new(),
        groups: vec!["leads".into()],
    };
    let refused = refused
        .iter()
        .map(|(action, reason)| (*action, (*reason).to_owned()))
        .collect();
    let directory = Directory {
        roles: Some(Default::default()),
        ..Directory::default()
    };
    ask(&Actor {
        person: &person,
        directory: &directory,
        read_only,
        refused: &refused,
        now: NOW.parse().unwrap(),
    })
}

#[test]
fn promotions() {
    let (mine, others, closed) = (
        request("r1", "Open", "leads"),
        request("r2", "Open", "ops"),
        request("r3", "Approved", "leads"),
    );
    let mut aborting = promotion("Running");
    aborting.aborting = true;
    let stranger = PromotionRow {
        uid: "p2".into(),
        ..promotion("Running")
    };
    let no_gate = Err("it does not wait for an approval");
    let not_listed = Err("you are not among its approvers: 1 approval of group ops");
    type Case<'a> = (
        Action,
        PromotionRow,
        Vec<&'a RequestRow>,
        Result<(), &'a str>,
    );
    let cases: Vec<Case<'_>> = vec![
        (Action::Approve, promotion("Running"), vec![&mine], Ok(())),
        (Action::Reject, promotion("Running"), vec![&mine], Ok(())),
        (Action::Approve, promotion("Running"), vec![], no_gate),
        (
            Action::Approve,
            promotion("Running"),
            vec![&closed],
            no_gate,
        ),
        (Action::Approve, stranger, vec![&mine], no_gate),
        (
            Action::Approve,
            promotion("Running"),
            vec![&others],
            not_listed,
        ),
        (
            Action::Reject,
            promotion("Running"),
            vec![&others],
            not_listed,
        ),
        (
            Action::Approve,
            promotion("Running"),
            vec![&others, &mine],
            Ok(()),
        ),
        (
            Action::Approve,
            promotion("Failed"),
            vec![&mine],
            Err("it has ended: Failed"),
        ),
        (Action::Retry, promotion("Failed"), vec![], Ok(())),
        (Action::Retry, promotion("Succeeded"), vec![], Ok(())),
        (
            Action::Retry,
            promotion("Pending"),
            vec![],
            Err("it has not ended"),
        ),
        (
            Action::Retry,
            promotion("Paused"),
            vec![],
            Err("it has not ended"),
        ),
        (Action::Abort, promotion(""), vec![], Ok(())),
        (Action::Abort, promotion("Running"), vec![], Ok(())),
        (
            Action::Abort,
            aborting,
            vec![],
            Err("an abort has been asked for"),
        ),
        (
            Action::Abort,
            promotion("Aborted"),
            vec![],
            Err("it has ended: Aborted"),
        ),
        (Action::Refresh, promotion("Running"), vec![], Ok(())),
        (
            Action::Refresh,
            promotion("Succeeded"),
            vec![],
            Err("it has ended: Succeeded"),
        ),
        (
            Action::Promote,
            promotion("Running"),
            vec![],
            Err("that is done with a Stage"),
        ),
    ];
    for (action, row, requests, expected) in cases {
        let got = with(false, &[], |actor| {
            on_promotion(action, &row, &requests, actor)
        });
        assert_eq!(
            got,
            expected.map_err(str::to_owned),
            "{action:?} {}",
            row.phase
        );
    }
}

#[test]
fn looking_only_and_known_refusals_come_first() {
    let mine = request("r1", "Open", "leads");
    for action in [
        Action::Approve,
        Action::Reject,
        Action::Retry,
        Action::Abort,
        Action::Refresh,
    ] {
        let got = with(true, &[], |actor| {
            on_promotion(action, &promotion("Running"), &[&mine], actor)
        });
        assert_eq!(got, Err("read-only".into()), "{action:?}");
    }
    let refused = [(Action::Abort, "you may not patch promotions in shop")];
    let ask = |action| {
        with(false, &refused, |actor| {
            on_promotion(action, &promotion("Running"), &[&mine], actor)
        })
    };
    assert_eq!(
        ask(Action::Abort),
        Err("you may not patch promotions in shop".into())
    );
    assert_eq!(ask(Action::Approve), Ok(()));
}

#[test]
fn stages() {
    let history = |phase: &str| json!({"status": {"freightHistory": [{"id": "x", "items": {"Warehouse/w": {"name": "f"}}, "verificationHistory": [{"phase": phase}]}]}});
    for (action, row, expected) in [
        (Action::Promote, stage(json!({})), Ok(())),
        (
            Action::Promote,
            stage(json!({"spec": {}})),
            Err("it has no steps: Freight passes it without a Promotion"),
        ),
        (Action::Refresh, stage(json!({})), Ok(())),
        (
            Action::Verify,
            stage(json!({})),
            Err("there is no Freight to verify"),
        ),
        (Action::Verify, stage(history("Failed")), Ok(())),
        (
            Action::Verify,
            stage(history("Running")),
            Err("its verification runs"),
        ),
        (Action::AbortVerification, stage(history("Running")), Ok(())),
        (
            Action::AbortVerification,
            stage(history("Failed")),
            Err("no verification runs"),
        ),
        (
            Action::Retry,
            stage(json!({})),
            Err("that is done with a Promotion"),
        ),
    ] {
        let got = with(false, &[], |actor| on_stage(action, &row, actor));
        assert_eq!(got, expected.map_err(str::to_owned), "{action:?}");
    }
}

#[test]
fn freight() {
    let row = |origin: &str, status: Value| {
        let object = json!({"metadata": {"name": "f"}, "origin": {"kind": "Warehouse", "name": origin}, "status": status});
        FreightRow::of(&serde_json::from_value(object).unwrap())
    };
    let approved = json!({"approvedFor": {"prod": {}}});
    for (action, row, expected) in [
        (
            Action::Promote,
            row("w", json!({})),
            Err("not verified in test"),
        ),
        (
            Action::Promote,
            row("w", json!({"verifiedIn": {"test": {}}})),
            Ok(()),
        ),
        (Action::Promote, row("w", approved.clone()), Ok(())),
        (Action::ApproveFreight, row("w", json!({})), Ok(())),
        (
            Action::ApproveFreight,
            row("v", json!({})),
            Err("the Stage takes no Freight of Warehouse/v"),
        ),
        (
            Action::ApproveFreight,
            row("w", approved),
            Err("it is approved for prod already"),
        ),
        (
            Action::Refresh,
            row("w", json!({})),
            Err("that is not done with Freight"),
        ),
    ] {
        let got = with(false, &[], |actor| {
            on_freight(action, &row, &stage(json!({})), actor)
        });
        assert_eq!(got, expected.map_err(str::to_owned), "{action:?}");
    }
}
