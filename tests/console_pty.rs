//! The console in a real terminal: what it takes over it gives back, on every way out.
//!
//! The program under test is this test binary itself, told to run `child` in a pseudo terminal below a shell that
//! notes the terminal's settings before and after.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

use std::{
    io::{Read, Write},
    num::NonZero,
    path::PathBuf,
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};
use serde_json::json;
use tidewaiter::{
    console::{
        Context, Effect, How, Message, Theme,
        message::{Action, Change, FeedEvent, Leave},
        run_in_terminal,
    },
    kargo::{ApprovalRequest, Promotion, Timestamp},
    rules::{
        rows::{PromotionRow, RequestRow},
        who::Person,
    },
};
use tokio::sync::mpsc;

/// Whether the child's clock panics: the clock is asked while the console thinks and draws.
static CLOCK_BROKEN: AtomicBool = AtomicBool::new(false);

/// The comment that came out of the child's console.
static ANSWERED: Mutex<Option<String>> = Mutex::new(None);

fn clock() -> Timestamp {
    assert!(!CLOCK_BROKEN.load(Ordering::SeqCst), "the clock is broken");
    "2026-06-01T12:00:00Z".parse().unwrap()
}

/// The program in the terminal. What the key `enter` does depends on the scenario.
///
/// Run by the other tests, in a terminal; without a scenario there is nothing to play.
#[test]
fn child() {
    let Ok(scenario) = std::env::var("CONSOLE_SCENARIO") else {
        return;
    };
    if let Ok(path) = std::env::var("CONSOLE_PID") {
        std::fs::write(path, std::process::id().to_string()).unwrap();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let context = Context {
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
        now: clock,
    };
    let promotion: Promotion = serde_json::from_value(json!({
        "metadata": { "name": "p1", "namespace": "shop", "uid": "u1", "creationTimestamp": "2026-06-01T11:00:00Z" },
        "spec": { "stage": "prod", "freight": "abc" }, "status": { "phase": "Running" },
    }))
    .unwrap();
    let request: ApprovalRequest = serde_json::from_value(json!({
        "metadata": { "name": "r1", "namespace": "shop", "uid": "u2" },
        "spec": { "stage": "prod", "promotion": { "name": "p1", "uid": "u1" }, "step": "gate", "change": { "digest": "d" } },
    }))
    .unwrap();
    let requests = vec![RequestRow::of(&request)];
    let ended = runtime.block_on(async {
        let (messages, incoming) = mpsc::channel(16);
        let (outgoing, mut effects) = mpsc::channel(16);
        messages
            .send(Message::Feed(FeedEvent::Promotions(Change::Page(vec![
                PromotionRow::of(&promotion),
            ]))))
            .await
            .unwrap();
        messages
            .send(Message::Feed(FeedEvent::Promotions(Change::ListDone)))
            .await
            .unwrap();
        messages
            .send(Message::Feed(FeedEvent::Requests(Change::Page(requests))))
            .await
            .unwrap();
        tokio::spawn(async move {
            while let Some(effect) = effects.recv().await {
                match (effect, scenario.as_str()) {
                    (Effect::OpenPromotion(_), "panic-draw") => {
                        CLOCK_BROKEN.store(true, Ordering::SeqCst);
                        let _ = messages.send(Message::Tick).await;
                    }
                    (Effect::OpenPromotion(_), "panic-task") => {
                        let task = tokio::spawn(async { panic!("a task is broken") });
                        assert!(task.await.is_err());
                        messages.send(Message::Tick).await.unwrap();
                    }
                    (Effect::OpenPromotion(_), "gone") => return,
                    (
                        Effect::Act {
                            action: Action::Approve(answer),
                            ..
                        },
                        _,
                    ) => {
                        *ANSWERED.lock().unwrap() = Some(answer.message);
                    }
                    _ => {}
                }
            }
        });
        run_in_terminal(incoming, outgoing, context).await
    });
    let code = match &ended {
        Ok(exit) if !exit.panics.is_empty() => 1,
        Ok(exit) => match exit.how {
            How::Quit(Leave::Finish) => 0,
            How::Quit(_) => 9,
            How::Signal(signal) => 128 + signal.number(),
        },
        Err(_) => 5,
    };
    println!("{ended:?}");
    println!("answered={:?}", ANSWERED.lock().unwrap());
    std::process::exit(code);
}

struct Terminal {
    parser: Arc<Mutex<vt100::Parser>>,
    raw: Arc<Mutex<Vec<u8>>>,
    keys: Box<dyn Write + Send>,
    master: Box<dyn MasterPty + Send>,
    shell: Box<dyn portable_pty::Child + Send + Sync>,
    pid_file: PathBuf,
    _folder: tempfile::TempDir,
}

impl Terminal {
    /// The console alone, with one Promotion; what `enter` does there depends on the scenario.
    fn start(scenario: &str) -> Self {
        let myself = std::env::current_exe().unwrap();
        let terminal = Self::of(
            &[myself.to_str().unwrap(), "--exact", "child", "--nocapture"],
            scenario,
            &[],
        );
        terminal.until("shop/prod", |terminal| {
            terminal.alternate() && terminal.text().contains("shop/prod")
        });
        terminal
    }

    fn of(program: &[&str], scenario: &str, environment: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let pid_file = folder.path().join("pid");
        let pair = native_pty_system()
            .openpty(PtySize {
                rows: 24,
                cols: 80,
                pixel_width: 0,
                pixel_height: 0,
            })
            .unwrap();
        let mut command = CommandBuilder::new("sh");
        // A signal for the whole group must not end the shell before it has noted the settings.
        let script = r#"trap : HUP TERM INT; echo "before=$(stty -g)"; "$0" "$@"
            echo "status=$?"; echo "after=$(stty -g)"; read -r line"#;
        command.args(["-c", script]);
        command.args(program);
        command.env("HOME", folder.path());
        command.env("XDG_STATE_HOME", folder.path());
        command.env("GIT_CONFIG_GLOBAL", "/dev/null");
        command.env("LC_ALL", "C.UTF-8");
        command.cwd(folder.path());
        command.env("CONSOLE_SCENARIO", scenario);
        command.env("CONSOLE_PID", &pid_file);
        command.env("TERM", "xterm-256color");
        command.env("RUST_BACKTRACE", "0");
        for name in ["NO_COLOR", "TIDEWAITER_ASCII"] {
            command.env_remove(name);
        }
        for (name, value) in environment {
            command.env(name, value);
        }
        for name in ["DISPLAY", "WAYLAND_DISPLAY"] {
            command.env_remove(name);
        }
        let shell = pair.slave.spawn_command(command).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let size = |n| NonZero::new(n).unwrap();
        let parser = Arc::new(Mutex::new(vt100::Parser::new(size(24), size(80), 0)));
        let raw = Arc::new(Mutex::new(Vec::new()));
        let (screen, all) = (parser.clone(), raw.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                screen.lock().unwrap().process(&bytes[..count]);
                all.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        let keys = pair.master.take_writer().unwrap();
        Self {
            parser,
            raw,
            keys,
            master: pair.master,
            shell,
            pid_file,
            _folder: folder,
        }
    }

    fn text(&self) -> String {
        self.parser.lock().unwrap().screen().contents()
    }

    fn alternate(&self) -> bool {
        self.parser.lock().unwrap().screen().alternate_screen()
    }

    fn until(&self, what: &str, mut done: impl FnMut(&Self) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !done(self) {
            assert!(
                Instant::now() < deadline,
                "no {what:?} in:\n{}",
                self.text()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    fn pid(&self) -> String {
        std::fs::read_to_string(&self.pid_file).unwrap()
    }

    fn kill(&self, signal: &str) {
        assert!(
            Command::new("kill")
                .args([signal, &self.pid()])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Waits for the shell's last word; gives what is on the normal screen and the status.
    fn ended(&mut self) -> (String, String) {
        self.until("after=", |terminal| {
            !terminal.alternate() && terminal.text().contains("after=")
        });
        let text = self.text().replace('\n', " ");
        let all = String::from_utf8_lossy(&self.raw.lock().unwrap()).into_owned();
        let setting = |name: &str| {
            let from = all.rfind(name).unwrap() + name.len();
            all[from..]
                .split(|c: char| c.is_whitespace())
                .next()
                .unwrap()
                .to_owned()
        };
        assert_eq!(
            setting("before="),
            setting("after="),
            "the terminal's settings are as before"
        );
        for (on, off) in [("\x1b[?2004h", "\x1b[?2004l"), ("\x1b[?25l", "\x1b[?25h")] {
            assert!(all.rfind(on) < all.rfind(off), "{on:?} stays on");
        }
        let status = setting("status=");
        self.press("\n");
        let _ = self.shell.wait();
        (text, status)
    }
}

#[test]
fn leaving_gives_the_terminal_back() {
    let mut terminal = Terminal::start("plain");
    terminal.press("q");
    let (text, status) = terminal.ended();
    assert_eq!(status, "0", "{text}");
}

#[test]
fn a_comment_comes_through_the_terminal_byte_exact_c73() {
    let mut terminal = Terminal::start("plain");
    terminal.press("a\t\t");
    terminal.until("> comment", |terminal| {
        terminal.text().contains("> comment")
    });
    terminal.press("looks [fine] 👍🏽\rzweite Zeile: ü");
    terminal.press("\x1b[200~\r\tpasted\x1b[201~");
    terminal.until("pasted", |terminal| terminal.text().contains("pasted"));
    terminal.press("\t\t\r");
    terminal.until("approving", |terminal| {
        terminal.text().contains("approving gate")
    });
    terminal.press("q");
    let (text, _) = terminal.ended();
    let expected = format!(
        "answered={:?}",
        Some("looks [fine] 👍🏽\nzweite Zeile: ü\n\tpasted")
    );
    let all = String::from_utf8_lossy(&terminal.raw.lock().unwrap()).into_owned();
    assert!(all.contains(&expected), "{expected} in {text}");
}

#[test]
fn a_panic_in_drawing_is_read_on_the_normal_screen_c82() {
    let mut terminal = Terminal::start("panic-draw");
    terminal.press("\r");
    let (text, status) = terminal.ended();
    assert_eq!(status, "101", "{text}");
    assert!(text.contains("the clock is broken"), "{text}");
}

#[test]
fn a_panic_in_a_task_is_shown_and_told_at_the_end_c82() {
    let mut terminal = Terminal::start("panic-task");
    terminal.press("\r");
    terminal.until("internal error", |terminal| {
        terminal.text().contains("internal error: panicked at")
    });
    assert!(terminal.alternate());
    terminal.press("q");
    let (text, status) = terminal.ended();
    assert_eq!(status, "1", "{text}");
    assert!(text.contains("a task is broken"), "{text}");
}

#[test]
fn an_error_gives_the_terminal_back_c82() {
    let mut terminal = Terminal::start("gone");
    terminal.press("\r");
    let (text, status) = terminal.ended();
    assert_eq!(status, "5", "{text}");
    assert!(text.contains("Err(Gone)"), "{text}");
}

#[test]
fn signals_give_the_terminal_back_c82() {
    for (signal, status) in [("-TERM", "143"), ("-HUP", "129"), ("-INT", "130")] {
        let mut terminal = Terminal::start("plain");
        terminal.kill(signal);
        assert_eq!(terminal.ended().1, status, "{signal}");
    }
}

#[test]
fn stopped_and_continued_it_comes_back_c82() {
    for stop in ["key", "signal"] {
        let mut terminal = Terminal::start("plain");
        match stop {
            "key" => terminal.press("\x1a"),
            _ => terminal.kill("-TSTP"),
        }
        let state = format!("/proc/{}/stat", terminal.pid());
        terminal.until("a stopped process", |terminal| {
            let stopped = std::fs::read_to_string(&state).is_ok_and(|stat| stat.contains(") T "));
            stopped && !terminal.alternate()
        });
        terminal
            .master
            .resize(PtySize {
                rows: 24,
                cols: 60,
                pixel_width: 0,
                pixel_height: 0,
            })
            .unwrap();
        terminal
            .parser
            .lock()
            .unwrap()
            .screen_mut()
            .set_size(NonZero::new(24).unwrap(), NonZero::new(60).unwrap());
        terminal.kill("-CONT");
        terminal.until("shop/prod", |terminal| {
            terminal.alternate() && terminal.text().contains("shop/prod")
        });
        terminal.until("the new width", |terminal| {
            terminal.text().lines().any(|line| line == "─".repeat(60))
        });
        terminal.press("q");
        assert_eq!(terminal.ended().1, "0", "{stop}");
    }
}

impl Terminal {
    /// The whole program in its demo.
    fn demo(environment: &[(&str, &str)]) -> Self {
        let program = [env!("CARGO_BIN_EXE_tidewaiter"), "demo", "--dir", "demo"];
        let terminal = Self::of(&program, "none", environment);
        terminal.shows("for you");
        terminal
    }

    fn shows(&self, text: &str) {
        self.until(text, |terminal| terminal.text().contains(text));
    }

    /// Goes back, and waits until that is seen: an escape with a key right behind it is another key.
    fn escape(&mut self, from: &str) {
        self.press("\x1b");
        self.until("the way back", |terminal| !terminal.text().contains(from));
    }

    fn resize(&self, cols: u16, rows: u16) {
        let size = |n| NonZero::new(n).unwrap();
        let mut parser = self.parser.lock().unwrap();
        parser.screen_mut().set_size(size(rows), size(cols));
        drop(parser);
        let size = PtySize {
            rows,
            cols,
            pixel_width: 0,
            pixel_height: 0,
        };
        self.master.resize(size).unwrap();
    }

    /// Leaves a console that executes, at once.
    fn stop(&mut self) {
        self.press("\x03");
        self.shows("> Cancel");
        self.press("jjj\r");
        let (text, status) = self.ended();
        assert_eq!(status, "0", "{text}");
    }
}

/// The whole program: the demo's gate is found in the inbox, looked at and approved with a comment of two lines,
/// what failed is retried, Freight is chosen for a Stage.
#[test]
fn the_demo_is_played_in_its_console() {
    let mut terminal = Terminal::demo(&[]);
    terminal.press("2");
    terminal.shows("may answer");
    terminal.press("\r");
    terminal.shows("What will be pushed");
    terminal.shows(" +  tag: ");
    terminal.press("a");
    terminal.shows("[ Cancel ]");
    terminal.shows("│ +  tag: ");
    terminal.press("fine with me\rreally");
    terminal.shows("> comment");
    terminal.shows("fine with me");
    terminal.press("\t\t\r");
    terminal.shows("approved gate");
    terminal.press("r");
    terminal.shows("fine with me");
    terminal.shows("really");

    terminal.press("1/failed\r");
    terminal.shows("Failed");
    terminal.press("R");
    terminal.shows("[ Cancel ]");
    terminal.press("\t\r");
    terminal.shows("created ");
    terminal.escape("created ");
    terminal.press("3");
    terminal.shows("SHARD");
    terminal.press("p");
    terminal.shows("Promote ");
    terminal.escape("Promote ");
    terminal.stop();
}

#[test]
fn a_storm_of_sizes_ends_in_a_whole_picture_c79() {
    let mut terminal = Terminal::demo(&[]);
    for step in 0..60_u16 {
        terminal.resize(3 + (step * 37) % 180, 2 + (step * 13) % 60);
    }
    terminal.resize(100, 30);
    terminal.until("a whole picture", |terminal| {
        let text = terminal.text();
        let lines: Vec<&str> = text.lines().collect();
        lines.len() == 30
            && lines[0].contains("tidewaiter")
            && lines[28] == "─".repeat(100)
            && lines[29].contains("enter open")
    });
    terminal.stop();
}

#[test]
fn without_colours_and_beyond_ascii_nothing_is_written() {
    let mut terminal = Terminal::demo(&[("NO_COLOR", "1"), ("TIDEWAITER_ASCII", "1")]);
    terminal.press("a");
    terminal.shows("[ Cancel ]");
    assert!(terminal.text().is_ascii(), "{}", terminal.text());
    let raw = String::from_utf8_lossy(&terminal.raw.lock().unwrap()).into_owned();
    for colour in ["\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[38;"] {
        assert!(!raw.contains(colour), "{colour:?}");
    }
    terminal.escape("[ Cancel ]");
    terminal.stop();
}

/// With nothing to tell, nothing is written.
#[test]
fn an_idle_console_writes_nothing() {
    let mut terminal = Terminal::start("plain");
    let mut before = usize::MAX;
    terminal.until("rest", |terminal| {
        let now = terminal.raw.lock().unwrap().len();
        let rests = std::mem::replace(&mut before, now) == now;
        std::thread::sleep(Duration::from_millis(200));
        rests
    });
    let quiet = Instant::now();
    while quiet.elapsed() < Duration::from_secs(3) {
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(terminal.raw.lock().unwrap().len(), before);
    }
    terminal.press("q");
    terminal.ended();
}
