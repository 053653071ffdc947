use crossterm::event::Event;

use crate::{
    console::{
        fixtures::{Play, context, promotion, request, whole_request},
        message::{Action, ActionId, Answer, Change, Effect, FeedEvent, Message},
    },
    kargo::approval::{RequestPhase, Response},
    rules::rows::RequestRow,
};

fn inbox(rows: Vec<RequestRow>) -> Play {
    let mut play = Play::new(80, 24);
    play.promotions(vec![promotion("shop", "prod", "p1")])
        .requests(rows)
        .keys("2");
    play.took();
    play
}

fn answers(effects: Vec<Effect>) -> Vec<Action> {
    effects
        .into_iter()
        .filter_map(|effect| match effect {
            Effect::Act { action, .. } => Some(action),
            _ => None,
        })
        .collect()
}

#[test]
fn an_answer_starts_on_cancel_and_carries_the_digest_that_was_seen() {
    let row = request("shop", "prod", "p1", "gate");
    let mut play = inbox(vec![row.clone()]);
    play.keys("a")
        .send(Message::Request(Box::new(whole_request(&row))));
    assert!(play.shows("Approve shop/prod?") && play.shows("1 file +1 −1   digest sha256:p1-gate"));
    assert!(play.shows("apps/prod/values.yaml  +1 −1") && play.shows("[ Cancel ]"));
    play.keys("<enter>");
    assert_eq!(answers(play.took()), [], "enter alone answers nothing");
    play.keys("a<tab><enter>");
    assert_eq!(
        answers(play.took()),
        [Action::Approve(Answer {
            project: "shop".into(),
            request: "p1-gate".into(),
            uid: "uid-p1-gate".into(),
            digest: "sha256:p1-gate".into(),
            message: String::new(),
        })]
    );
    assert!(play.shows("approving gate of p1"));
    play.send(Message::Done {
        id: ActionId(1),
        text: "approved: 1 of 2".into(),
    });
    assert!(play.shows("✔ approved: 1 of 2"));
}

#[test]
fn a_comment_stays_byte_exact_c73() {
    let mut play = inbox(vec![request("shop", "prod", "p1", "gate")]);
    play.keys("n<tab><tab>Not<space>now 👩‍💻".replace("👩‍💻", "").as_str());
    play.send(Message::Input(Event::Paste(
        "👩‍💻 [red]\r\n\tsecond line ".into(),
    )));
    play.keys("<tab><tab><enter>");
    let [Action::Reject(answer)] = &answers(play.took())[..] else {
        panic!("one rejection")
    };
    assert_eq!(answer.message, "Not now 👩‍💻 [red]\n\tsecond line ");
}

#[test]
fn a_pasted_comment_cannot_spoil_the_screen_c77() {
    let mut play = inbox(vec![request("shop", "prod", "p1", "gate")]);
    play.keys("a").send(Message::Input(Event::Paste(
        "\u{1b}[31mred\u{7}\u{9b}2J".into(),
    )));
    let drawn: String = play.lines().concat();
    assert!(
        drawn.contains("[31mred") && drawn.chars().all(|c| !c.is_control()),
        "{drawn:?}"
    );
}

#[test]
fn keys_in_a_comment_do_nothing_else() {
    let mut play = inbox(vec![request("shop", "prod", "p1", "gate")]);
    play.keys("a<tab><tab>q:?x/<enter>n<tab><tab><enter>");
    let [Action::Approve(answer)] = &answers(play.took())[..] else {
        panic!("one approval")
    };
    assert_eq!(answer.message, "q:?x/\nn");
}

#[test]
fn a_comment_too_long_to_be_kept_is_refused_before_it_is_sent() {
    let mut play = inbox(vec![request("shop", "prod", "p1", "gate")]);
    play.keys("a")
        .send(Message::Input(Event::Paste("é".repeat(2_049))));
    play.keys("<tab><tab><enter>");
    assert!(play.shows("the comment has 4098 bytes, at most 4096 can be kept"));
    assert_eq!(answers(play.took()), []);
}

#[test]
fn after_the_deadline_nothing_is_offered_c68() {
    let mut row = request("shop", "prod", "p1", "gate");
    row.deadline = Some(crate::console::fixtures::now().plus(std::time::Duration::from_secs(2)));
    let mut play = inbox(vec![row]);
    assert!(play.shows("a approve") && play.lines()[0].contains("1 waits for you"));
    let mut buffer = play.picture();
    assert_eq!(
        crate::console::view::view(&play.state, &mut buffer)
            .unwrap()
            .to_string(),
        "2026-06-01T12:00:03Z",
        "the picture says when it is out of date"
    );
    play.keys("a<tab>");
    assert!(play.shows("[ Approve ]"));
    play.state.now = play.state.now.plus(std::time::Duration::from_secs(3));
    play.send(Message::Tick);
    assert!(
        !play.shows("[ Approve ]") && play.shows("2026-06-01"),
        "{:?}",
        play.lines()
    );
    play.keys("<enter>");
    assert_eq!(answers(play.took()), []);
    play.keys("<esc>");
    assert!(!play.shows("a approve") && !play.lines()[0].contains("for you"));
    play.keys("a");
    assert!(play.state.dialog.is_none() && play.lines()[22].contains("cannot approve"));
}

#[test]
fn two_gates_of_one_promotion_are_answered_apart_c71() {
    let (a, b) = (
        request("shop", "prod", "p1", "gate"),
        request("shop", "prod", "p1", "other"),
    );
    let mut play = inbox(vec![a.clone(), b.clone()]);
    play.keys("1a");
    assert!(
        play.lines()[22].contains("2 gates are open"),
        "{:?}",
        play.lines()[22]
    );
    play.keys("2a<tab><enter>jn<tab><enter>");
    let sent = answers(play.took());
    assert!(
        matches!(&sent[..], [Action::Approve(first), Action::Reject(second)]
        if first.uid == a.uid && second.uid == b.uid && first.digest != second.digest)
    );
}

#[test]
fn on_a_promotion_s_screen_the_step_under_the_cursor_is_answered_c71() {
    let (a, b) = (
        request("shop", "prod", "p1", "gate"),
        request("shop", "prod", "p1", "push"),
    );
    let mut play = inbox(vec![a, b.clone()]);
    play.keys("1<enter>");
    let promotion = crate::console::fixtures::whole_promotion(&promotion("shop", "prod", "p1"));
    let detail = crate::console::message::Detail {
        promotion,
        changes: Vec::new(),
        whole: None,
    };
    play.send(Message::Detail(Box::new(detail)));
    play.keys("ga");
    assert!(
        play.lines()[22].contains("2 gates are open"),
        "{}",
        play.lines()[22]
    );
    play.keys("Gn<tab><enter>");
    assert!(matches!(&answers(play.took())[..], [Action::Reject(answer)] if answer.uid == b.uid));
}

#[test]
fn a_change_that_became_another_is_not_answered() {
    let row = request("shop", "prod", "p1", "gate");
    let mut play = inbox(vec![row.clone()]);
    play.keys("a<tab>");
    play.feed(FeedEvent::Requests(Change::Upsert(vec![RequestRow {
        digest: "sha256:new".into(),
        ..row.clone()
    }])));
    assert!(play.shows("the change is now another"));
    play.keys("<enter>");
    assert_eq!(answers(play.took()), []);
    play.feed(FeedEvent::Requests(Change::Upsert(vec![RequestRow {
        phase: RequestPhase::Rejected,
        ..row
    }])));
    play.keys("<tab><tab><enter>");
    assert_eq!(answers(play.took()), []);
}

#[test]
fn the_inbox_is_read_from_its_oldest_question() {
    let at = |name: &str, seconds, phase| RequestRow {
        created_at: crate::console::fixtures::ago(seconds),
        phase,
        ..request("shop", "prod", name, "gate")
    };
    let mut answered = at("old", 9_000, RequestPhase::Approved);
    answered.responses = vec![Response {
        user: "bob".into(),
        action: "approve".into(),
        ..Response::default()
    }];
    let play = inbox(vec![
        at("b", 60, RequestPhase::Open),
        answered,
        at("a", 600, RequestPhase::Open),
    ]);
    let ages: Vec<String> = play.lines()[2..5]
        .iter()
        .map(|line| line.split_whitespace().last().unwrap().to_owned())
        .collect();
    assert_eq!(ages, ["10m", "1m", "2h"]);
    assert!(
        play.lines()[4].starts_with(" ✔ Approved") && play.lines()[4].contains("1 of 2: bob"),
        "{}",
        play.lines()[4]
    );
}

#[test]
fn nothing_is_changed_in_read_only_mode() {
    let mut context = context();
    context.readonly = true;
    let mut play = Play::with(context, 80, 24);
    play.promotions(vec![promotion("shop", "prod", "p1")])
        .requests(vec![request("shop", "prod", "p1", "gate")]);
    assert!(play.lines()[0].contains("read-only") && !play.shows("x abort"));
    play.keys("anRxprv2anp");
    assert!(play.state.dialog.is_none() && answers(play.took()).is_empty());
    assert!(play.lines()[22].contains("read-only"), "{:?}", play.lines());
    play.keys("<esc>?");
    assert!(play.shows("(read-only)"));
    play.keys("?:approve");
    assert!(!play.shows("say yes"));
}

#[test]
fn typing_on_a_button_begins_the_comment_and_loses_nothing() {
    let mut play = inbox(vec![request("shop", "prod", "p1", "gate")]);
    play.keys("a<tab>fine<space>with<space>me<enter>hjkl<tab><tab><enter>");
    let [Action::Approve(answer)] = &answers(play.took())[..] else {
        panic!("one approval")
    };
    assert_eq!(answer.message, "fine with me\nhjkl");
}

#[test]
fn the_dialog_shows_every_line_that_will_be_pushed() {
    let row = request("shop", "prod", "p1", "gate");
    let mut whole = whole_request(&row);
    for n in 0..60 {
        whole.spec.change.diff.push_str(&format!("+line {n}\n"));
    }
    let mut play = inbox(vec![row]);
    play.keys("a").send(Message::Request(Box::new(whole)));
    assert!(play.shows("-  tag: 2.3.0") && play.shows("+  tag: 2.3.1"));
    assert!(play.shows("[ Cancel ]") && !play.shows("+line 59"));
    let mut seen = play.lines().join("\n");
    for _ in 0..8 {
        play.keys("<pgdn>");
        seen.push_str(&play.lines().join("\n"));
    }
    assert!(play.shows("+line 59") && play.shows("[ Cancel ]"));
    assert!((0..60).all(|n| seen.contains(&format!("+line {n}"))));
    play.keys("<up>");
    assert!(!play.shows("+line 59"), "one line back from the end");
    play.keys("<home>");
    assert!(play.shows("-  tag: 2.3.0"));
    play.keys("<enter>");
    assert!(play.state.dialog.is_none(), "the cursor is still on Cancel");
}

#[test]
fn the_inbox_opens_on_the_first_open_question() {
    let at = |name: &str, phase| RequestRow {
        phase,
        ..request("shop", "prod", name, "gate")
    };
    let mut play = inbox(vec![
        at("a", RequestPhase::Open),
        at("b", RequestPhase::Open),
    ]);
    play.keys("1")
        .feed(FeedEvent::Requests(Change::Upsert(vec![at(
            "a",
            RequestPhase::Approved,
        )])));
    play.keys("2a<tab><enter>");
    assert!(
        matches!(&answers(play.took())[..], [Action::Approve(answer)] if answer.request.as_str() == "b-gate")
    );
}
