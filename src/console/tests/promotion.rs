use serde_json::json;

use crate::console::{
    fixtures::{Play, promotion, request, whole_promotion, whole_request},
    message::{Change, Detail, Effect, FeedEvent, FileCount, FileDiff, Message, Row, StepChange},
};

const DIFF: &str = "--- a/apps/prod/values.yaml\n+++ b/apps/prod/values.yaml\n@@ -1 +1 @@\n-  tag: 2.3.0   # keep\n+  tag: 2.3.1   # keep\n";

fn change() -> FileDiff {
    FileDiff {
        files: vec![FileCount {
            path: "apps/prod/values.yaml".into(),
            added: 1,
            removed: 1,
        }],
        diff: DIFF.into(),
    }
}

fn detail() -> Detail {
    Detail {
        promotion: whole_promotion(&promotion("shop", "prod", "p1")),
        changes: vec![StepChange {
            alias: "update".into(),
            change: change(),
        }],
        whole: Some(change()),
    }
}

fn open() -> Play {
    let mut play = Play::new(80, 24);
    play.promotions(vec![promotion("shop", "prod", "p1")])
        .requests(vec![request("shop", "prod", "p1", "gate")]);
    play.keys("<enter>");
    assert_eq!(
        play.took(),
        [Effect::OpenPromotion(promotion("shop", "prod", "p1").key())]
    );
    play.send(Message::Detail(Box::new(detail())));
    play
}

#[test]
fn steps_with_sign_time_and_message() {
    let play = open();
    let lines = play.lines();
    assert_eq!(
        lines[2..8],
        [
            " ✔ 1 clone      git-clone         400ms   main at 74291c2",
            " ✔ 2 update     yaml-update         2ms   apps/prod/values.yaml  +1 −1",
            " » 3 tidy       delete              <1s",
            " ◔ 4 gate       wait-for-approval   12m   1 of 2 approvals",
            " · 5 push       git-push",
            "─── 4 gate ─────────────────────────────────────────────────────────────────────",
        ]
    );
    assert!(lines[1].ends_with("◔ Waiting for 12m"), "{}", lines[1]);
}

#[test]
fn the_gate_shows_what_it_asks_about() {
    let mut play = open();
    assert_eq!(
        play.took(),
        [Effect::FetchRequest(
            request("shop", "prod", "p1", "gate").key()
        )]
    );
    play.send(Message::Request(Box::new(whole_request(&request(
        "shop", "prod", "p1", "gate",
    )))));
    play.resize(80, 45);
    assert!(
        play.shows("What will be pushed: 1 file +1 −1") && play.shows("+  tag: 2.3.1"),
        "{:?}",
        play.lines()
    );
    play.keys("k");
    assert_eq!(play.took(), [Effect::CloseRequest]);
}

#[test]
fn a_step_s_change_and_the_whole_change() {
    let mut play = open();
    play.keys("kk");
    assert!(
        play.shows("─ 2 update ─")
            && play.shows("-  tag: 2.3.0   # keep")
            && play.shows("commitMessage")
    );
    play.keys("D");
    assert!(play.shows("the whole change") && play.shows("+  tag: 2.3.1"));
    play.keys("c");
    assert!(play.took().contains(&Effect::Copy(DIFF.into())));
}

#[test]
fn a_long_message_is_read_to_its_end_c77() {
    let mut play = open();
    let mut detail = detail();
    let long = format!("{}END", "x".repeat(32 * 1024));
    detail.promotion.status.step_execution_metadata[3]
        .message
        .clone_from(&long);
    play.send(Message::Detail(Box::new(detail)));
    assert!(!play.shows("xEND"));
    play.keys("<tab>G<tab>");
    assert!(
        play.shows("xEND") || {
            play.keys("<tab><up><up><tab>");
            play.shows("xEND")
        },
        "{:?}",
        play.lines()
    );
    play.keys("y");
    assert!(play.took().contains(&Effect::Copy(long)));
}

#[test]
fn it_is_live_and_its_cursor_follows_until_it_is_moved() {
    let mut play = open();
    let mut on = detail();
    on.promotion.status.current_step = 4;
    on.promotion.status.step_execution_metadata.push(
        serde_json::from_value(
            json!({ "alias": "push", "status": "Running", "errorCount": 2, "message": "refused" }),
        )
        .unwrap(),
    );
    play.send(Message::Detail(Box::new(on.clone())));
    assert!(play.shows("─ 5 push ─") && play.shows("↻ 5 push") && play.shows("attempt 3; refused"));
    play.keys("g");
    on.promotion.status.current_step = 3;
    play.send(Message::Detail(Box::new(on)));
    assert!(play.shows("─ 1 clone ─"));
}

#[test]
fn what_came_for_another_is_not_shown() {
    let mut play = open();
    let mut other = detail();
    other.promotion.metadata.uid = Some("uid-other".into());
    other.promotion.status.message = "other".into();
    play.send(Message::Detail(Box::new(other)));
    assert_eq!(
        play.state
            .detail
            .value
            .as_ref()
            .unwrap()
            .promotion
            .uid()
            .as_str(),
        "uid-p1"
    );
    play.send(Message::DetailFailed {
        uid: "uid-p1".into(),
        error: "gone".into(),
    });
    assert!(play.shows("1 clone"), "what was read stays readable");
    play.feed(FeedEvent::Promotions(Change::Page(vec![promotion(
        "shop", "prod", "p2",
    )])));
    play.feed(FeedEvent::Promotions(Change::ListDone));
    assert!(
        play.lines()[1].ends_with("(deleted)"),
        "{}",
        play.lines()[1]
    );
    play.keys("<esc>");
    assert!(play.took().contains(&Effect::CloseDetail));
}

#[test]
fn a_promotion_without_steps_opens_c80_c89() {
    let mut play = Play::new(80, 24);
    play.promotions(vec![promotion("shop", "prod", "p1")])
        .keys("<enter>");
    assert!(play.shows("loading"));
    let mut bare = detail();
    bare.promotion.spec.steps.clear();
    bare.promotion.status = Default::default();
    bare.promotion.status.current_step = 7;
    play.send(Message::Detail(Box::new(bare)));
    assert!(play.shows("it has no steps"));
    play.keys("jjG<tab>jD").picture();
}
