//! The console: from the start of the process to the first painted row, and 50,000 rows under the keys.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

mod measure;
#[path = "../tests/support/mod.rs"]
mod support;

use std::{
    fmt::Write as _,
    io::{self, Read, Write},
    num::NonZero,
    sync::mpsc::{Receiver, Sender, channel},
    time::{Duration, Instant},
};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use measure::{ms, ratio};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use serde_json::json;
use support::{World, project, set_key, stage};
use tidewaiter::{
    console::{
        Context, Message, Surface, Theme,
        message::{Change, FeedEvent},
        run,
    },
    kargo::{Promotion, Timestamp},
    rules::{rows::PromotionRow, who::Person},
};
use tokio::sync::mpsc;

const STORED: usize = 1_000;
const STARTS: u32 = 5;
/// To the first painted row.
const BAR: Duration = Duration::from_millis(300);
const ROWS: usize = 50_000;
const PAGE: usize = 500;

fn main() {
    start();
    rows();
}

fn start() {
    let world = World::new();
    let repository = world.repository("mono", &[("v.yaml", "tag: old\n")]);
    let steps = set_key(&repository, "v.yaml", "tag");
    world.apply(&(project("p") + &stage("p", "paintedstage", &steps)));
    let freight = world.freight("p", "1.2.3");
    let mut objects = String::new();
    let indented: String = steps.lines().map(|line| format!("  {line}\n")).collect();
    for n in 0..STORED {
        write!(
            objects,
            "apiVersion: kargo.akuity.io/v1alpha1\nkind: Promotion\nmetadata: {{name: paintedstage.{n:05}, namespace: p}}\nspec:\n  stage: paintedstage\n  freight: {freight}\n  steps:\n{indented}---\n"
        )
        .unwrap();
    }
    world.apply(&objects);
    let times: Vec<Duration> = (0..STARTS).map(|_| first_row(&world)).collect();
    let list = |args: &[&str]| {
        let begun = Instant::now();
        world.run(args).exits(0);
        begun.elapsed()
    };
    let table = list(&["get", "promotions"]);
    let best = times.iter().min().copied().unwrap();
    let worst = times.iter().max().copied().unwrap();
    println!("console: start with {STORED} promotions in a local store");
    println!(
        "  first painted row     {:>7.0} ms  ({:.0} at worst of {STARTS}; bar {:.0})",
        ms(best),
        ms(worst),
        ms(BAR)
    );
    println!("  get promotions        {:>7.0} ms", ms(table));
    println!(
        "  ratio                 {:>7.1} times the list for people who do not wait",
        ratio(best, table)
    );
    assert!(cfg!(debug_assertions) || best < BAR, "{best:?}");
}

/// In a terminal, until a row is on its screen.
fn first_row(world: &World) -> Duration {
    let pair = native_pty_system()
        .openpty(PtySize {
            rows: 24,
            cols: 80,
            pixel_width: 0,
            pixel_height: 0,
        })
        .unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_tidewaiter"));
    command.args(["--local".as_ref(), world.cluster().as_os_str()]);
    command.env("HOME", world.path().join("home"));
    command.env("XDG_STATE_HOME", world.path().join("home"));
    command.env("TERM", "xterm-256color");
    command.env("LC_ALL", "C.UTF-8");
    let mut reader = pair.master.try_clone_reader().unwrap();
    let size = |n| NonZero::new(n).unwrap();
    let mut screen = vt100::Parser::new(size(24), size(80), 0);
    let mut bytes = [0; 64 * 1024];
    let begun = Instant::now();
    let mut child = pair.slave.spawn_command(command).unwrap();
    let took = loop {
        let count = reader.read(&mut bytes).unwrap();
        screen.process(&bytes[..count]);
        if screen.screen().contents().contains("paintedstage") {
            break begun.elapsed();
        }
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "{}",
            screen.screen().contents()
        );
    };
    // Reading goes on, as a full terminal would keep it from leaving.
    let drain = std::thread::spawn(move || while matches!(reader.read(&mut bytes), Ok(1..)) {});
    let mut keys = pair.master.take_writer().unwrap();
    keys.write_all(b"q").unwrap();
    child.wait().unwrap();
    drop((pair, keys));
    drain.join().unwrap();
    took
}

/// A screen that says when a picture has been written.
struct Screen(Sender<Instant>);

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        // Nobody listens any more at the end.
        let _ = self.0.send(Instant::now());
        Ok(())
    }
}

fn now() -> Timestamp {
    "2026-06-01T12:00:00Z".parse().unwrap()
}

fn row(n: usize) -> PromotionRow {
    let promotion: Promotion = serde_json::from_value(json!({
        "metadata": {"name": format!("stage{}.{n:026}", n % 97), "namespace": format!("project{}", n % 31),
            "uid": format!("00000000-0000-0000-0000-{n:012}"), "resourceVersion": n.to_string(),
            "creationTimestamp": format!("2026-05-{:02}T{:02}:{:02}:00Z", n % 28 + 1, n % 24, n % 60)},
        "spec": {"stage": format!("stage{}", n % 97), "freight": format!("{n:040x}"),
            "steps": [{"uses": "git-clone", "as": "clone"}, {"uses": "git-push", "as": "push"}]},
        "status": {"phase": if n.is_multiple_of(7) { "Failed" } else { "Succeeded" }, "currentStep": 1},
    }))
    .unwrap();
    PromotionRow::of(&promotion)
}

fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = text.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * 4096
}

fn rows() {
    let before = resident();
    let pages: Vec<Vec<PromotionRow>> = (0..ROWS / PAGE)
        .map(|page| (page * PAGE..(page + 1) * PAGE).map(row).collect())
        .collect();
    let memory = resident().saturating_sub(before);
    let (painted, pictures) = channel();
    let (messages, incoming) = mpsc::channel(1_024);
    let (outgoing, mut effects) = mpsc::channel(64);
    let (press, keys) = futures::channel::mpsc::unbounded::<io::Result<Event>>();
    let console = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            tokio::spawn(async move { while effects.recv().await.is_some() {} });
            let size = ratatui::layout::Size {
                width: 120,
                height: 50,
            };
            let mut surface = Surface::on(Screen(painted), size).unwrap();
            run(&mut surface, keys, incoming, outgoing, context())
                .await
                .unwrap()
        });
    });
    let begun = Instant::now();
    for page in pages {
        let event = FeedEvent::Promotions(Change::Page(page));
        messages.blocking_send(Message::Feed(event)).unwrap();
    }
    let done = FeedEvent::Promotions(Change::ListDone);
    messages.blocking_send(Message::Feed(done)).unwrap();
    let listed = last(&pictures, Duration::from_millis(1_500)).unwrap() - begun;
    println!("console: {ROWS} rows");
    println!(
        "  memory of the rows    {:>7.1} MB",
        memory as f64 / f64::from(1 << 20)
    );
    println!("  list taken in         {:>7.0} ms", ms(listed));
    let measure = |what: &str, text: &str| {
        let times: Vec<Duration> = text
            .chars()
            .map(|key| {
                let begun = Instant::now();
                let event = Event::Key(KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE));
                press.unbounded_send(Ok(event)).unwrap();
                // What is drawn later has changed by itself.
                pictures
                    .recv_timeout(Duration::from_secs(10))
                    .map(|at| at - begun)
                    .unwrap()
            })
            .collect();
        println!(
            "  {what:<21} {:>7.1} ms at worst",
            ms(times.into_iter().max().unwrap())
        );
    };
    measure("a step down", "jjjjjjjj");
    measure("sort by another", "NSAP");
    measure("filter, a letter", "/stage42");
    let leave = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    press.unbounded_send(Ok(Event::Key(leave))).unwrap();
    console.join().unwrap();
}

/// The last picture before it has been still for a while.
fn last(pictures: &Receiver<Instant>, still: Duration) -> Option<Instant> {
    let mut last = None;
    while let Ok(at) = pictures.recv_timeout(still) {
        last = Some(at);
    }
    last
}

fn context() -> Context {
    Context {
        person: Person {
            name: "ann".into(),
            ..Person::default()
        },
        place: "here".into(),
        project: None,
        readonly: false,
        executing: false,
        zone: jiff::tz::TimeZone::UTC,
        theme: Theme::default(),
        now,
    }
}
