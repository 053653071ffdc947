use crate::console::{
    fixtures::{Play, freight, promotion, request, stage, whole_promotion, whole_request},
    message::{Change, Detail, FeedEvent, Message, Row},
};

/// Every screen and dialog, one after the other.
const TOURS: [&str; 13] = [
    "",
    "<enter>",
    "<enter>D<tab>",
    "2",
    "2<enter>",
    "2a",
    "2a<tab><tab>",
    "3p",
    "4p<enter><enter>",
    "?G",
    ":",
    "/p",
    "x",
];

fn play() -> Play {
    let mut play = Play::new(80, 24);
    play.stages(vec![stage("shop", "prod")])
        .freight(vec![freight("shop", "calm-otter", "2")]);
    play.promotions(
        (0..127)
            .map(|n| promotion("shop", "prod", &format!("p{n:03}")))
            .collect(),
    );
    play.requests(vec![request("shop", "prod", "p000", "gate")]);
    play
}

fn arrive(play: &mut Play) {
    let row = promotion("shop", "prod", "p000");
    let detail = Detail {
        promotion: whole_promotion(&row),
        changes: Vec::new(),
        whole: None,
    };
    play.send(Message::Detail(Box::new(detail)));
    play.send(Message::Request(Box::new(whole_request(&request(
        "shop", "prod", "p000", "gate",
    )))));
}

#[test]
fn no_size_breaks_any_screen_c79() {
    for tour in TOURS {
        let mut play = play();
        play.keys(tour);
        arrive(&mut play);
        for (width, height) in [
            (0, 0),
            (1, 1),
            (3, 2),
            (40, 8),
            (41, 9),
            (80, 1),
            (1, 80),
            (80, 24),
            (500, 200),
            (80, 24),
        ] {
            play.resize(width, height);
            play.picture();
            play.keys("j<pgdn>G<up>");
            play.picture();
        }
    }
}

#[test]
fn below_the_least_size_one_line_says_so_c79() {
    let mut play = play();
    play.resize(39, 24);
    assert_eq!(play.lines()[0], "too small: 40x8 needed");
    assert!(play.lines()[1..].iter().all(String::is_empty));
    play.resize(3, 2);
    assert_eq!(play.lines()[0], "too");
    play.resize(40, 8);
    assert!(play.shows("shop/prod"));
}

#[test]
fn the_window_grows_while_the_list_shrinks_c79() {
    let mut play = play();
    play.keys("G");
    assert_eq!(
        (
            play.state.tables.promotions.at(),
            play.state.tables.promotions.offset()
        ),
        (126, 107)
    );
    play.resize(3, 2);
    for n in 72..127 {
        play.feed(FeedEvent::Promotions(Change::Delete(
            promotion("shop", "prod", &format!("p{n:03}")).key(),
        )));
    }
    play.resize(200, 60);
    let table = &play.state.tables.promotions;
    assert_eq!((table.len(), table.at(), table.offset()), (72, 71, 16));
    assert!(play.lines()[57].contains("shop/prod"));
}

#[test]
fn pages_and_ends_move_the_cursor() {
    let mut play = play();
    let at = |play: &Play| play.state.tables.promotions.at();
    play.keys("<pgdn>");
    assert_eq!(at(&play), 20);
    play.keys("<ctrl-d>");
    assert_eq!(at(&play), 30);
    play.keys("<ctrl-u><pgup><up>");
    assert_eq!(at(&play), 0);
    play.keys("<end>");
    assert_eq!(at(&play), 126);
    play.keys("gj");
    assert_eq!(at(&play), 1);
}

#[test]
fn help_and_palette_come_from_the_table() {
    let mut play = play();
    play.resize(120, 80);
    play.keys("?");
    for spec in crate::console::commands::TABLE {
        assert!(
            play.shows(spec.help) && play.shows(spec.name),
            "{}",
            spec.name
        );
    }
    play.keys("?");
    play.keys(":stag");
    assert!(play.shows("stages               3"), "{:?}", play.lines());
    play.keys("<enter>");
    assert!(play.lines()[1].starts_with(" STAGE"));
    play.keys(":abrt");
    assert!(
        !play.shows("end a Promotion where it is"),
        "abort is not for Stages"
    );
    play.keys("<esc>1:abrt");
    assert!(play.shows("end a Promotion where it is"));
    play.keys("<enter>");
    assert!(play.shows("Abort shop/p000?"));
}

#[test]
fn enter_leads_from_everything_to_its_promotions() {
    let mut play = play();
    play.keys("3<enter>");
    assert_eq!(play.state.tables.promotions.len(), 127);
    assert!(
        play.lines()[22].contains("/shop/prod"),
        "{}",
        play.lines()[22]
    );
    play.keys("4<enter>");
    assert!(play.shows("nothing has \"calm-otter\""));
    play.keys("2<enter>").took();
    play.send(Message::Request(Box::new(whole_request(&request(
        "shop", "prod", "p000", "gate",
    )))));
    play.keys("<enter>");
    assert_eq!(
        play.took(),
        [crate::console::Effect::OpenPromotion(
            promotion("shop", "prod", "p000").key()
        ),]
    );
    play.keys("<esc>");
    assert!(
        play.shows("What will be pushed"),
        "the request is still there below"
    );
}

#[test]
fn a_stop_is_taken_even_while_typing() {
    let mut play = play();
    play.keys(":abc<ctrl-z>");
    assert!(play.state.suspend && play.shows(":abc"));
    play.keys("<esc>:q<enter>");
    assert_eq!(
        play.took(),
        [crate::console::Effect::Quit(
            crate::console::message::Leave::Finish
        )]
    );
}

#[test]
fn an_error_stays_until_it_is_dismissed() {
    let mut play = play();
    play.send(Message::Trouble("the token was refused".into()));
    play.state.now = play.state.now.plus(std::time::Duration::from_secs(3_600));
    play.send(Message::Tick).keys("jj");
    assert!(play.lines()[22].contains("✖ the token was refused"));
    play.keys("<esc>");
    assert!(!play.shows("the token was refused"));
    play.keys("e");
    assert!(play.shows("the token was refused"));
}

#[test]
fn what_the_executor_does_is_followed() {
    let mut play = play();
    for n in 0..60 {
        play.send(Message::Happening(format!("landed {n}")));
    }
    play.keys("5");
    assert!(play.shows("landed 59") && !play.shows("landed 10"));
    play.send(Message::Happening("landed 60".into()));
    assert!(play.shows("landed 60"));
    play.keys("<pgup>")
        .send(Message::Happening("landed 61".into()));
    assert!(
        !play.shows("landed 61"),
        "who reads further up is left there"
    );
    play.keys("G");
    assert!(play.shows("landed 61"));
}
