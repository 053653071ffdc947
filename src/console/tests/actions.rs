use crate::{
    console::{
        fixtures::{Play, context, freight, promotion, stage},
        message::{Action, ActionId, Effect, Leave, Message, Row, Signal},
    },
    kargo::{Phase, artifact::Origin},
    rules::rows::{FreightRow, PromotionRow, StageRow},
};

fn play() -> Play {
    let mut play = Play::new(80, 24);
    play.stages(vec![
        StageRow {
            freight: vec!["red-fox-0123456789".into()],
            ..stage("shop", "prod")
        },
        stage("pay", "prod"),
        StageRow {
            control_flow: true,
            ..stage("shop", "fan")
        },
    ]);
    play.freight(vec![
        freight("shop", "red-fox", "2.3.0"),
        freight("shop", "calm-otter", "2.3.1"),
        FreightRow {
            origin: Origin::warehouse("else"),
            ..freight("shop", "odd-owl", "9")
        },
    ]);
    play.promotions(vec![PromotionRow {
        phase: Phase::Failed,
        ..promotion("shop", "prod", "p1")
    }]);
    play
}

fn acts(play: &mut Play) -> Vec<Action> {
    let effects = play.took().into_iter();
    effects
        .filter_map(|effect| {
            if let Effect::Act { action, .. } = effect {
                Some(action)
            } else {
                None
            }
        })
        .collect()
}

#[test]
fn promote_shows_what_differs_and_starts_on_cancel() {
    let mut play = play();
    play.keys("3");
    play.keys("jjp");
    assert!(
        play.shows("Promote which Freight to shop/prod?"),
        "{:?}",
        play.lines()
    );
    assert!(
        !play.shows("odd-owl"),
        "Freight of another origin is not offered"
    );
    assert!(
        play.lines()
            .iter()
            .any(|line| line.contains("red-fox") && line.contains("is there now"))
    );
    play.keys("otter<enter>");
    assert!(
        play.shows("2.3.0") && play.shows("2.3.1"),
        "{:?}",
        play.lines()
    );
    play.keys("<enter>");
    assert_eq!(acts(&mut play), []);
    play.keys("potter<enter><right><enter>");
    let promote = Action::Promote {
        project: "shop".into(),
        stage: "prod".into(),
        freight: "calm-otter-0123456789".into(),
    };
    assert_eq!(acts(&mut play), [promote]);
}

#[test]
fn promote_from_freight_asks_for_the_stage() {
    let mut play = play();
    play.keys("4p");
    assert!(
        play.shows("Promote to which Stage?") && play.shows("> shop/prod"),
        "{:?}",
        play.lines()
    );
    assert!(!play.shows("shop/fan") && !play.shows("pay/prod"));
    play.keys("<enter>");
    let under = play
        .state
        .tables
        .freight
        .current()
        .unwrap()
        .alias
        .to_string();
    assert!(play.shows(&format!("> {under}")));
}

#[test]
fn a_retry_shows_how_the_template_differs_before_it_takes_it() {
    let mut play = play();
    let key = play.state.tables.promotions.current().unwrap().key();
    play.keys("R<enter>R<right><enter>");
    assert_eq!(
        acts(&mut play),
        [Action::Retry {
            promotion: key.clone(),
            with_current_template: false
        }]
    );
    play.send(Message::TemplateDiffers {
        id: ActionId(1),
        differences: vec!["step b is new".into()],
    });
    assert!(
        play.shows("Retry shop/p1?") && play.shows("- step b is new") && play.shows("[ Cancel ]"),
        "{:?}",
        play.lines()
    );
    play.keys("<tab><enter>");
    assert_eq!(
        acts(&mut play),
        [Action::Retry {
            promotion: key,
            with_current_template: true
        }]
    );
}

#[test]
fn a_question_that_comes_back_takes_no_keys_from_who_types() {
    let mut play = play();
    play.keys("R<right><enter>:err");
    play.send(Message::TemplateDiffers {
        id: ActionId(1),
        differences: Vec::new(),
    });
    assert!(play.state.dialog.is_none());
    play.keys("<esc>e");
    assert!(play.shows("p1 was not retried") && play.shows("retry again"));
}

#[test]
fn what_cannot_be_done_says_why() {
    let mut play = play();
    play.keys("x");
    assert!(
        play.lines()[22].contains("cannot abort: it has ended"),
        "{}",
        play.lines()[22]
    );
    play.promotions(vec![PromotionRow {
        aborting: true,
        ..promotion("shop", "prod", "p1")
    }])
    .keys("xR");
    assert!(play.lines()[22].contains("cannot retry: it has not ended"));
    play.keys("<esc>:abo");
    assert!(play.shows("abort"), "the palette names it all the same");
    assert_eq!(acts(&mut play), []);
}

#[test]
fn a_failure_is_told_with_its_hint() {
    let mut play = play();
    play.keys("3v");
    assert!(play.shows("cannot verify: there is no Freight to verify"));
    play.promotions(vec![promotion("shop", "prod", "p1")])
        .keys("1r");
    assert_eq!(acts(&mut play).len(), 1);
    assert!(play.shows("refreshing p1"));
    play.send(Message::Failed {
        id: ActionId(1),
        text: "refused".into(),
        hint: "ask ann".into(),
    });
    assert!(play.shows("✖ refused (ask ann)") && !play.shows("refreshing"));
}

#[test]
fn leaving_asks_only_where_promotions_run() {
    let mut play = play();
    play.keys("q");
    assert_eq!(play.took(), [Effect::Quit(Leave::Finish)]);
    let mut context = context();
    context.executing = true;
    let mut play = Play::with(context, 80, 24);
    play.keys("<ctrl-c>");
    assert!(play.shows("> Cancel") && play.shows("Hand over"));
    play.keys("<enter>");
    assert_eq!(play.took(), []);
    play.keys("<ctrl-c>jj<enter>");
    assert_eq!(play.took(), [Effect::Quit(Leave::HandOver)]);
    play.send(Message::Signal(Signal::Terminate));
    assert_eq!(play.took(), [Effect::Quit(Leave::HandOver)]);
}
