use std::{
    io::{self, Write},
    num::NonZero,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use crossterm::event::Event;
use futures::StreamExt;
use ratatui::layout::Size;
use tokio::sync::mpsc;

use crate::{
    console::{
        Context, Effect, Exit, How, Message, Surface,
        fixtures::{context, now, promotion},
        keymap::Chord,
        message::{Change, FeedEvent, Leave, Row, Signal},
        run::{ConsoleError, run},
    },
    kargo::Timestamp,
};

/// A writer that keeps what is written, and how often it was flushed.
#[derive(Clone, Default)]
struct Screen(Arc<Mutex<(Vec<u8>, usize)>>);

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().0.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().unwrap().1 += 1;
        Ok(())
    }
}

impl Screen {
    fn flushes(&self) -> usize {
        self.0.lock().unwrap().1
    }

    fn text(&self) -> String {
        let mut parser =
            vt100::Parser::new(NonZero::new(24).unwrap(), NonZero::new(80).unwrap(), 0);
        parser.process(&self.0.lock().unwrap().0);
        parser.screen().contents()
    }

    async fn wait_for(&self, text: &str) {
        self.until(|screen| screen.text().contains(text), text)
            .await;
    }

    async fn until(&self, done: impl Fn(&Self) -> bool, what: &str) {
        let deadline = std::time::Instant::now() + Duration::from_secs(20);
        while !done(self) {
            assert!(
                std::time::Instant::now() < deadline,
                "no {what:?} in:\n{}",
                self.text()
            );
            tokio::task::yield_now().await;
        }
    }
}

struct Running {
    screen: Screen,
    keys: mpsc::UnboundedSender<io::Result<Event>>,
    messages: mpsc::Sender<Message>,
    effects: mpsc::Receiver<Effect>,
    ended: tokio::task::JoinHandle<Result<Exit, ConsoleError>>,
}

fn start(context: Context) -> Running {
    let screen = Screen::default();
    let (keys, mut input) = mpsc::unbounded_channel();
    let (messages, incoming) = mpsc::channel(64);
    let (outgoing, effects) = mpsc::channel(64);
    let out = screen.clone();
    let ended = tokio::spawn(async move {
        let mut surface = Surface::on(
            out,
            Size {
                width: 80,
                height: 24,
            },
        )
        .unwrap();
        let input = futures::stream::poll_fn(move |context| input.poll_recv(context)).boxed();
        run(&mut surface, input, incoming, outgoing, context).await
    });
    Running {
        screen,
        keys,
        messages,
        effects,
        ended,
    }
}

impl Running {
    fn press(&self, key: &str) {
        self.keys
            .send(Ok(Event::Key(Chord::parse(key).unwrap().event())))
            .unwrap();
    }

    async fn feed(&self, event: FeedEvent) {
        self.messages.send(Message::Feed(event)).await.unwrap();
    }
}

#[tokio::test]
async fn messages_become_pictures_and_keys_become_effects() {
    let mut console = start(context());
    console
        .feed(FeedEvent::Promotions(Change::Page(vec![promotion(
            "shop", "prod", "p1",
        )])))
        .await;
    console.feed(FeedEvent::Promotions(Change::ListDone)).await;
    console.screen.wait_for("shop/prod").await;
    console.press("enter");
    assert_eq!(
        console.effects.recv().await,
        Some(Effect::OpenPromotion(promotion("shop", "prod", "p1").key()))
    );
    console.press("c");
    console.screen.wait_for("copied 2 bytes").await;
    console.press("q");
    let exit = console.ended.await.unwrap().unwrap();
    assert_eq!(exit.how, How::Quit(Leave::Finish));
    let written = String::from_utf8(console.screen.0.lock().unwrap().0.clone()).unwrap();
    assert!(
        written.contains("\x1b]52;c;cDE=\x07"),
        "copied text goes to the terminal"
    );
    assert!(
        written.ends_with("\x1b[?1049l\x1b[?25h"),
        "the terminal is given back"
    );
}

#[tokio::test]
async fn nothing_is_drawn_while_nothing_changes() {
    let console = start(context());
    console.feed(FeedEvent::Promotions(Change::ListDone)).await;
    console.screen.wait_for("no Promotions").await;
    let before = console.screen.flushes();
    // Messages that change no text, and a key that does nothing here.
    for _ in 0..20 {
        console.messages.send(Message::Tick).await.unwrap();
        console.feed(FeedEvent::Promotions(Change::ListDone)).await;
        console.press("j");
    }
    console
        .screen
        .until(|_| console.messages.capacity() == 64, "empty queue")
        .await;
    console.press("?");
    console.screen.wait_for("say yes").await;
    assert_eq!(console.screen.flushes(), before + 1);
}

#[tokio::test]
async fn an_age_is_drawn_when_it_changes_and_not_before() {
    static SECOND: AtomicI64 = AtomicI64::new(0);
    let start_second = now().as_second();
    SECOND.store(start_second * 1_000 + 900, Ordering::SeqCst);
    fn clock() -> Timestamp {
        Timestamp(jiff::Timestamp::from_millisecond(SECOND.load(Ordering::SeqCst)).unwrap())
    }
    let console = start(Context {
        now: clock,
        ..context()
    });
    let mut row = promotion("shop", "prod", "p1");
    row.created_at = Some(Timestamp(
        jiff::Timestamp::from_second(start_second - 5).unwrap(),
    ));
    console
        .feed(FeedEvent::Promotions(Change::Page(vec![row])))
        .await;
    console.screen.wait_for(" 5s").await;
    // The clock goes over the second while the loop sleeps for the tenth that was left.
    SECOND.store(start_second * 1_000 + 1_001, Ordering::SeqCst);
    console.screen.wait_for(" 6s").await;
}

#[tokio::test]
async fn a_signal_ends_it_and_is_told() {
    let console = start(context());
    console
        .messages
        .send(Message::Signal(Signal::Terminate))
        .await
        .unwrap();
    let exit = console.ended.await.unwrap().unwrap();
    assert_eq!(
        (exit.how, Signal::Terminate.number()),
        (How::Signal(Signal::Terminate), 15)
    );
}

#[tokio::test]
async fn a_lost_keyboard_or_program_is_an_error() {
    let Running {
        keys,
        ended,
        messages: _messages,
        effects: _effects,
        ..
    } = start(context());
    drop(keys);
    assert!(matches!(ended.await.unwrap(), Err(ConsoleError::Closed)));
    let Running {
        keys: _keys,
        ended,
        messages,
        effects: _effects,
        ..
    } = start(context());
    drop(messages);
    assert!(matches!(ended.await.unwrap(), Err(ConsoleError::Gone)));
}
