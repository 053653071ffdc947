use crate::{
    console::{
        fixtures::{Play, ago, freight, now, promotion, stage, step},
        message::{Change, Effect, FeedEvent, FeedState, Kind, Message, Row},
        theme::Theme,
    },
    kargo::{Phase, StepStatus, Timestamp},
    rules::rows::PromotionRow,
};

/// The sample of the design.
pub fn sample() -> Vec<PromotionRow> {
    let at = |row: PromotionRow, seconds| PromotionRow {
        created_at: ago(seconds),
        ..row
    };
    let mut gate = step(4, "gate", "wait-for-approval");
    gate.message = "1 of 2 approvals".into();
    let mut push = step(5, "push", "git-push");
    push.message = "landing, 3rd of 7".into();
    let otter = "calm-otter-0123456789";
    vec![
        at(
            PromotionRow {
                step: Some(gate),
                freight: otter.into(),
                ..promotion("shop", "prod", "p1")
            },
            720,
        ),
        at(
            PromotionRow {
                step: Some(push),
                freight: otter.into(),
                ..promotion("shop", "uat", "p2")
            },
            2,
        ),
        at(
            PromotionRow {
                phase: Phase::Pending,
                step: None,
                message: "waits for its turn".into(),
                ..promotion("pay", "prod", "p3")
            },
            60,
        ),
        at(
            PromotionRow {
                phase: Phase::Failed,
                step: Some(step(2, "update", "yaml-update")),
                message: "key image.tga: none".into(),
                ..promotion("shop", "test", "p4")
            },
            41 * 60,
        ),
        at(
            PromotionRow {
                phase: Phase::Succeeded,
                ..promotion("pay", "uat", "p5")
            },
            3 * 3600,
        ),
    ]
}

fn play(width: u16, height: u16) -> Play {
    let mut play = Play::new(width, height);
    play.freight(vec![freight("shop", "calm-otter", "2.3.1")]);
    play.stages(vec![stage("shop", "prod"), stage("pay", "prod")]);
    play.promotions(sample());
    play
}

#[test]
fn the_table_at_80_columns() {
    let lines = play(80, 24).lines();
    let expected = [
        " tidewaiter  prod-eu / all projects   ● live                        1 failed  5",
        "   PHASE     STAGE     FREIGHT    STEP       WHY                           AGE↓",
        " ◐ Running   shop/uat  calm-otter 5/6 push   landing, 3rd of 7               2s",
        " ◌ Pending   pay/prod  0123456    -          waits for its turn              1m",
        " ◔ Waiting   shop/prod calm-otter 4/6 gate   1 of 2 approvals               12m",
        " ✖ Failed    shop/test 0123456    2/6 update key image.tga: none            41m",
        " ✔ Succeeded pay/uat   0123456    6/6                                        3h",
    ];
    assert_eq!(lines[..7], expected);
    assert!(lines[7..22].iter().all(String::is_empty));
    assert_eq!(lines[22], "─".repeat(80));
    assert_eq!(
        lines[23],
        " enter open  x abort  p promote  / filter  : command  ? help  ctrl-c quit"
    );
}

#[test]
fn a_long_place_leaves_room_for_project_and_news() {
    let mut context = crate::console::fixtures::context();
    context.place = "local /very/long/path/to/a/folder/of/a/cluster/that/nobody/reads".into();
    let mut play = Play::with(context, 80, 24);
    play.promotions(sample());
    assert_eq!(
        play.lines()[0],
        " tidewaiter  local …/that/nobody/reads / all projects   ● live      1 failed  5"
    );
}

#[test]
fn a_wider_window_shows_more() {
    let lines = play(160, 45).lines();
    assert_eq!(
        lines[1].split_whitespace().collect::<Vec<_>>(),
        [
            "PHASE", "STAGE", "FREIGHT", "STEP", "WHY", "NAME", "CREATOR", "TOOK", "AGE↓"
        ]
    );
    assert!(lines[3].contains("waits for its turn") && lines[3].contains("kubernetes:ann"));
    assert_eq!(lines.len(), 45);
}

#[test]
fn enter_opens_the_object_under_the_cursor_whatever_moved_c74() {
    let mut play = Play::new(80, 24);
    let row = |n: i64| PromotionRow {
        created_at: ago(1_000 - n * 100),
        ..promotion("shop", "prod", &format!("p{n}"))
    };
    play.promotions((1..=5).map(row).collect());
    play.keys("jj");
    play.feed(FeedEvent::Promotions(Change::Upsert(vec![row(9), row(8)])));
    play.feed(FeedEvent::Promotions(Change::Delete(row(1).key())));
    play.keys("AN");
    assert_eq!(
        play.state
            .tables
            .promotions
            .current()
            .unwrap()
            .name
            .as_str(),
        "p3"
    );
    // A dialog keeps the object it was opened for.
    play.keys("x");
    play.feed(FeedEvent::Promotions(Change::Delete(row(3).key())));
    assert!(play.shows("Abort shop/p3?"));
    play.keys("<tab><enter>");
    assert!(
        matches!(&play.took()[..], [Effect::Act { action: crate::console::message::Action::Abort { promotion }, .. }]
        if promotion.name == "p3" && promotion.uid.as_str() == "uid-p3")
    );
}

#[test]
fn the_order_is_the_same_a_minute_later_c76() {
    let mut play = Play::new(80, 24);
    play.promotions(
        (0..10)
            .map(|n| PromotionRow {
                created_at: ago(55 + n % 3),
                ..promotion("shop", "prod", &format!("p{n}"))
            })
            .collect(),
    );
    let order = |play: &Play| {
        let table = &play.state.tables.promotions;
        (0..table.len())
            .map(|at| table.nth(at).unwrap().name.clone())
            .collect::<Vec<_>>()
    };
    let before = order(&play);
    play.state.now = now().plus(std::time::Duration::from_secs(60));
    play.send(Message::Tick);
    assert_eq!(order(&play), before);
    play.keys("A").keys("A");
    assert_eq!(order(&play), before);
}

#[test]
fn a_list_that_shrinks_takes_the_cursor_to_its_row_c83() {
    let mut play = Play::new(80, 24);
    play.promotions(
        (0..20)
            .map(|n| promotion("shop", "prod", &format!("p{n:02}")))
            .collect(),
    );
    play.keys("16").keys("1").keys("jjjjjjjjjjjjjjjj");
    assert_eq!(play.state.tables.promotions.at(), 16);
    let since = ago(30).unwrap();
    play.feed(FeedEvent::State(
        Kind::Promotions,
        FeedState::StaleSince {
            since,
            error: "connection reset".into(),
        },
    ));
    assert!(
        play.shows("! stale since 30s: connection"),
        "{:?}",
        play.lines()[0]
    );
    assert!(play.shows("shop/prod"), "a lost connection blanks nothing");
    play.promotions(vec![promotion("shop", "prod", "q")]);
    play.feed(FeedEvent::State(Kind::Promotions, FeedState::Live));
    assert_eq!(play.state.tables.promotions.at(), 0);
    assert!(play.lines()[0].contains("● live"));
}

#[test]
fn hostile_text_is_shown_and_spoils_nothing_c77() {
    let mut play = Play::new(80, 24);
    let message = "[red]x[0] [YELLOW] a[]b\u{1b}[31m\u{7}\t\r\u{1b}]8;;http://x\u{1b}\\";
    let mut broken = step(1, "clone", "git-clone");
    broken.message = message.into();
    play.promotions(vec![
        PromotionRow {
            step: Some(broken),
            ..promotion("shop", "prod", "p1")
        },
        PromotionRow {
            message: "x".repeat(32 * 1024),
            phase: Phase::Failed,
            step: None,
            ..promotion("shop", "uat", "p2")
        },
    ]);
    play.resize(160, 24);
    assert!(play.shows("[red]x[0] [YELLOW]"), "{:?}", play.lines());
    assert!(play.lines().concat().chars().all(|c| !c.is_control()));
    play.resize(80, 24);
    let long = play
        .lines()
        .into_iter()
        .find(|line| line.contains("shop/uat"))
        .unwrap();
    assert!(long.contains("xxx…"), "{long}");
}

#[test]
fn steps_out_of_range_do_no_harm_c80() {
    let mut play = Play::new(80, 24);
    play.promotions(vec![
        PromotionRow {
            steps: 0,
            step: None,
            ..promotion("shop", "a", "p1")
        },
        PromotionRow {
            steps: 5,
            step: Some(step(7, "late", "x")),
            ..promotion("shop", "b", "p2")
        },
        PromotionRow {
            steps: 0,
            phase: Phase::Succeeded,
            step: None,
            ..promotion("shop", "c", "p3")
        },
    ]);
    let line = |stage: &str| {
        play.lines()
            .into_iter()
            .find(|line| line.contains(stage))
            .unwrap()
    };
    assert!(line("shop/a").contains(" 0/0 "));
    assert!(line("shop/b").contains(" 5/5 late"));
    assert!(line("shop/c").contains(" 0/0 "));
}

#[test]
fn what_is_not_known_is_a_dash_and_unknown_words_stay_c89() {
    let mut play = Play::new(80, 24);
    play.promotions(vec![PromotionRow {
        phase: Phase::from("Paused".to_owned()),
        step: None,
        steps: 0,
        created_at: None,
        started_at: None,
        freight: "".into(),
        creator: String::new(),
        ..promotion("shop", "prod", "p1")
    }]);
    let row = &play.lines()[2];
    assert!(
        row.starts_with(" ? Paused shop/prod -       -    there is no Stage"),
        "{row}"
    );
    assert!(row.ends_with(" -"), "{row}");
    let mut bare = stage("shop", "prod");
    (bare.health, bare.created_at, bare.requests) = (String::new(), None, Vec::new());
    play.stages(vec![bare]).keys("3");
    assert!(
        play.lines()[2].starts_with(" shop/prod -       -"),
        "{:?}",
        play.lines()[2]
    );
    play.freight(vec![freight("shop", "", "1")]).keys("4");
    assert!(
        play.lines()[2].starts_with(" -012345"),
        "{:?}",
        play.lines()[2]
    );
}

#[test]
fn states_are_told_apart_without_colour_c91() {
    let mut context = crate::console::fixtures::context();
    context.theme = Theme {
        colour: false,
        ascii: true,
    };
    let mut play = Play::with(context, 80, 24);
    let mut again = step(2, "clone", "git-clone");
    (again.status, again.error_count) = (Some(StepStatus::Running), 2);
    play.promotions(vec![
        PromotionRow {
            phase: Phase::New,
            step: None,
            ..promotion("s", "a", "p1")
        },
        PromotionRow {
            phase: Phase::Pending,
            step: None,
            ..promotion("s", "b", "p2")
        },
        PromotionRow {
            step: Some(again),
            ..promotion("s", "c", "p3")
        },
        PromotionRow {
            phase: Phase::Aborted,
            ..promotion("s", "d", "p4")
        },
        PromotionRow {
            phase: Phase::Errored,
            ..promotion("s", "e", "p5")
        },
    ]);
    let signs: Vec<String> = play.lines()[2..7]
        .iter()
        .map(|line| line[1..2].to_owned())
        .collect();
    assert_eq!(signs, [".", "o", "r", "/", "!"]);
    assert!(play.shows("2/6 clone") && play.shows("attempt 3"));
    assert!(play.lines().concat().is_ascii());
    let buffer = play.picture();
    assert!(
        buffer
            .content
            .iter()
            .all(|cell| cell.fg == ratatui::style::Color::Reset)
    );
}

#[test]
fn ages_are_never_negative_and_zones_are_named_c92() {
    let mut context = crate::console::fixtures::context();
    context.zone = jiff::tz::TimeZone::get("Asia/Kolkata").unwrap();
    let mut play = Play::with(context, 80, 24);
    let ahead: Timestamp = "2026-06-01T12:01:30.123456789Z".parse().unwrap();
    play.promotions(vec![PromotionRow {
        created_at: Some(ahead),
        ..promotion("shop", "prod", "p1")
    }]);
    assert!(play.lines()[2].ends_with(" 0s"));
    play.send(Message::Trouble("it broke".into())).keys("e");
    assert!(play.shows("17:30:00 IST  it broke"), "{:?}", play.lines());
    play.keys("Z");
    assert!(play.shows("12:00:00 UTC  it broke"));
}

#[test]
fn one_project_or_all() {
    let mut play = play(80, 24);
    play.keys(":project<space>pay<enter>");
    assert_eq!(play.state.tables.promotions.len(), 2);
    assert!(
        play.lines()[0].contains("prod-eu / pay") && play.lines()[0].ends_with("2 of 5"),
        "{:?}",
        play.lines()[0]
    );
    assert!(play.lines()[2].contains(" prod  ") && !play.shows("pay/prod "));
    assert!(
        !play.lines()[0].contains("failed"),
        "what is counted is of the Project too"
    );
    play.keys("0");
    assert_eq!(play.state.tables.promotions.len(), 5);
    assert!(play.lines()[0].contains("1 failed"));
    play.keys(":project<space>nowhere<enter>");
    assert!(
        play.shows("no Promotions in this Project; 0 shows all"),
        "{:?}",
        play.lines()
    );
}

#[test]
fn a_filter_narrows_as_it_is_typed() {
    let mut play = play(80, 24);
    play.keys("/OTTER");
    assert_eq!(play.state.tables.promotions.len(), 2);
    assert!(play.shows("/OTTER"));
    play.keys("<enter>");
    assert!(
        play.lines()[22].starts_with("── /OTTER "),
        "{:?}",
        play.lines()[22]
    );
    play.keys("<esc>");
    assert_eq!(play.state.tables.promotions.len(), 5);
    play.keys("/zzz<enter>");
    assert!(play.shows("nothing has \"zzz\"; esc clears the filter"));
    play.keys("/<backspace><esc>");
    assert_eq!(
        play.state.lenses.promotions.filter, "zzz",
        "escape while typing keeps what was"
    );
}

#[test]
fn kinds_say_what_is_known_of_them() {
    let mut play = Play::new(80, 24);
    assert!(play.shows("loading"));
    play.feed(FeedEvent::State(
        Kind::Promotions,
        FeedState::Forbidden("promotions is forbidden".into()),
    ));
    assert!(
        play.shows("you may not see these: promotions is forbidden") && play.shows("! forbidden")
    );
    play.keys("2").feed(FeedEvent::State(
        Kind::Requests,
        FeedState::Absent("no such resource".into()),
    ));
    assert!(play.shows("the cluster does not have these"));
}

#[test]
fn the_first_page_is_shown_while_the_list_goes_on() {
    let mut play = Play::new(80, 24);
    play.feed(FeedEvent::Promotions(Change::Page(sample())));
    assert!(play.lines()[0].contains("loading") && play.shows("shop/uat"));
    play.feed(FeedEvent::Promotions(Change::ListDone));
    assert!(play.lines()[0].contains("● live"));
}

/// Time for a change, a key and a picture in a table of so many pages of 500 rows.
fn cost_of_a_change(pages: u32) -> std::time::Duration {
    let mut play = Play::new(80, 24);
    for page in 0..pages {
        let rows = (0..500_u32)
            .map(|n| {
                let n = page * 500 + n;
                let age = i64::from(n.wrapping_mul(7919) % 50_000);
                PromotionRow {
                    created_at: ago(age),
                    phase: Phase::Succeeded,
                    ..promotion("shop", "prod", &format!("p{n}"))
                }
            })
            .collect();
        play.feed(FeedEvent::Promotions(Change::Page(rows)));
        if page == 0 {
            assert!(
                play.shows("shop/prod"),
                "the first page is drawn while the list goes on"
            );
        }
    }
    play.feed(FeedEvent::Promotions(Change::ListDone));
    let started = std::time::Instant::now();
    for n in 0..50 {
        play.feed(FeedEvent::Promotions(Change::Upsert(vec![promotion(
            "shop",
            "prod",
            &format!("p{n}"),
        )])));
        play.keys("j");
        play.picture();
    }
    assert_eq!(
        play.state.tables.promotions.len(),
        usize::try_from(pages).unwrap() * 500
    );
    started.elapsed()
}

#[test]
fn a_change_among_fifty_thousand_rows_costs_little_more_than_among_few_c88() {
    let (few, many) = (cost_of_a_change(1), cost_of_a_change(100));
    println!("50 changes, keys and pictures: {few:?} among 500 rows, {many:?} among 50,000");
    assert!(many < few * 20, "{few:?} {many:?}");
}

#[test]
fn stages_stand_in_the_order_of_their_pipeline() {
    let after = |name: &str, before: &str| {
        let mut row = stage("shop", name);
        row.requests[0].sources.direct = false;
        row.requests[0].sources.stages = vec![before.into()];
        row
    };
    let mut play = Play::new(80, 24);
    play.stages(vec![
        after("live", "qa"),
        after("qa", "test"),
        stage("shop", "test"),
        stage("pay", "zoo"),
    ])
    .keys("3");
    let names: Vec<String> = play.lines()[2..6]
        .iter()
        .map(|line| line.split_whitespace().next().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["pay/zoo", "shop/test", "shop/qa", "shop/live"]);
}

#[test]
fn the_end_of_a_long_place_is_never_given_up() {
    let mut context = crate::console::fixtures::context();
    context.place = "local /tmp/some/where/cluster".into();
    context.executing = true;
    let mut play = Play::with(context, 80, 24);
    play.promotions(sample())
        .requests(vec![crate::console::fixtures::request(
            "shop", "prod", "p1", "gate",
        )]);
    let header = &play.lines()[0];
    for said in ["local …/where/cluster / all projects", "● live", "1 failed"] {
        assert!(header.contains(said), "no {said} in {header}");
    }
}
