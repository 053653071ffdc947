//! The loop: one message at a time into the state, then one picture, if it differs. Without messages nothing wakes
//! it but the moment at which a shown text changes.

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

use crossterm::event::{Event, EventStream};
use futures::{Stream, StreamExt};
use ratatui::{
    buffer::Buffer,
    layout::{Rect, Size},
};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
    time::sleep,
};

use crate::kargo::Timestamp;

use super::{
    message::{Effect, Leave, Message, Signal},
    state::{Context, State},
    terminal::{self, Surface},
    update::update,
    view::view,
};

/// How long messages are taken in before a picture is drawn.
const GATHER: Duration = Duration::from_millis(10);

/// How the console ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Why.
    pub how: How,
    /// Panics of other threads that were kept off the screen; where there are any, the exit code is not 0.
    pub panics: Vec<String>,
}

/// Why the console ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The person left.
    Quit(Leave),
    /// A signal came: what runs here is handed over, the exit code is 128 and the signal's number.
    Signal(Signal),
}

/// Why the console could not go on.
#[derive(Debug, thiserror::Error)]
pub enum ConsoleError {
    /// There is no terminal to draw on or no keyboard.
    #[error("the console needs a terminal: standard input and output are not one")]
    NoTerminal,
    /// The terminal takes nothing.
    #[error("writing to the terminal")]
    Write(#[source] io::Error),
    /// The keyboard gives nothing.
    #[error("reading keys from the terminal")]
    Read(#[source] io::Error),
    /// The terminal was closed.
    #[error("the terminal was closed")]
    Closed,
    /// Signals cannot be watched for.
    #[error("watching for signals")]
    Signals(#[source] io::Error),
    /// Whoever sends messages or does effects has ended.
    #[error("the part of the program that talks to the cluster has ended")]
    Gone,
}

/// Runs the console in the process's terminal until it ends; the terminal is given back before this returns.
pub async fn run_in_terminal(
    messages: mpsc::Receiver<Message>,
    effects: mpsc::Sender<Effect>,
    context: Context,
) -> Result<Exit, ConsoleError> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(ConsoleError::NoTerminal);
    }
    let signals = signals().map_err(ConsoleError::Signals)?;
    let mut surface = Surface::take_over().map_err(ConsoleError::Write)?;
    let input = futures::stream::select(EventStream::new().map(Told::Input), signals);
    let ended = drive(&mut surface, input, messages, effects, context).await;
    let left = surface.leave().map_err(ConsoleError::Write);
    match ended {
        // A terminal that is gone takes nothing back; the signal that said so is what counts.
        Ok(exit) if matches!(exit.how, How::Signal(_)) => Ok(exit),
        ended => ended.and_then(|exit| left.map(|()| exit)),
    }
}

/// Runs the console on any surface with any source of keys, until it ends.
pub async fn run<W: Write>(
    surface: &mut Surface<W>,
    input: impl Stream<Item = io::Result<Event>> + Unpin,
    messages: mpsc::Receiver<Message>,
    effects: mpsc::Sender<Effect>,
    context: Context,
) -> Result<Exit, ConsoleError> {
    drive(surface, input.map(Told::Input), messages, effects, context).await
}

/// What the process is told.
enum Told {
    Input(io::Result<Event>),
    Signal(Signal),
    /// Stop, as Ctrl-Z from outside.
    Stop,
    /// Continued after somebody else stopped it.
    Continued,
}

fn signals() -> io::Result<impl Stream<Item = Told> + Unpin> {
    let stop = SignalKind::from_raw(rustix::process::Signal::TSTP.as_raw());
    let cont = SignalKind::from_raw(rustix::process::Signal::CONT.as_raw());
    let (mut term, mut hup, mut int) = (
        signal(SignalKind::terminate())?,
        signal(SignalKind::hangup())?,
        signal(SignalKind::interrupt())?,
    );
    let (mut stop, mut cont) = (signal(stop)?, signal(cont)?);
    Ok(futures::stream::poll_fn(move |context| {
        use std::task::Poll::{Pending, Ready};
        let told = [
            (&mut term, Told::Signal(Signal::Terminate)),
            (&mut hup, Told::Signal(Signal::HangUp)),
            (&mut int, Told::Signal(Signal::Interrupt)),
            (&mut stop, Told::Stop),
            (&mut cont, Told::Continued),
        ];
        for (source, told) in told {
            if let Ready(Some(())) = source.poll_recv(context) {
                return Ready(Some(told));
            }
        }
        Pending
    }))
}

async fn drive<W: Write>(
    surface: &mut Surface<W>,
    mut input: impl Stream<Item = Told> + Unpin,
    mut messages: mpsc::Receiver<Message>,
    effects: mpsc::Sender<Effect>,
    context: Context,
) -> Result<Exit, ConsoleError> {
    let mut console = Console {
        state: State::new(context, surface.size()),
        surface,
        effects,
        panics: Vec::new(),
        stopped: false,
    };
    loop {
        let next_change = console.draw()?;
        let mut end = tokio::select! {
            told = input.next() => console.told(told)?,
            message = messages.recv() => console.take(message.ok_or(ConsoleError::Gone)?)?,
            () = until(next_change, console.state.context.now) => console.take(Message::Tick)?,
        };
        let started = Instant::now();
        while end.is_none() && started.elapsed() < GATHER {
            // Looked at with this task's own waker: crossterm keeps the first one that it is given until it woke it.
            end = tokio::select! {
                biased;
                told = input.next() => console.told(told)?,
                message = messages.recv() => console.take(message.ok_or(ConsoleError::Gone)?)?,
                () = std::future::ready(()) => break,
            };
        }
        if let Some(how) = end {
            let mut panics = console.panics;
            panics.extend(terminal::panics_elsewhere());
            return Ok(Exit { how, panics });
        }
    }
}

/// Sleeps until a shown text changes; for ever where none does.
async fn until(moment: Option<Timestamp>, now: fn() -> Timestamp) {
    match moment {
        Some(moment) => sleep(now().until(moment) + Duration::from_millis(1)).await,
        None => std::future::pending().await,
    }
}

struct Console<'a, W: Write> {
    state: State,
    surface: &'a mut Surface<W>,
    effects: mpsc::Sender<Effect>,
    panics: Vec<String>,
    /// Whether the terminal is given back until the process is continued.
    stopped: bool,
}

impl<W: Write> Console<'_, W> {
    /// Draws the state; gives the moment from which on that is out of date.
    fn draw(&mut self) -> Result<Option<Timestamp>, ConsoleError> {
        if self.stopped {
            return Ok(None);
        }
        let Size { width, height } = self.state.size;
        if std::mem::take(&mut self.state.redraw_all) {
            self.surface.forget();
        }
        let mut picture = Buffer::empty(Rect {
            x: 0,
            y: 0,
            width,
            height,
        });
        let next = terminal::guarded(|| {
            self.state.now = (self.state.context.now)();
            view(&self.state, &mut picture)
        });
        self.surface.draw(picture).map_err(ConsoleError::Write)?;
        Ok(next)
    }

    fn told(&mut self, told: Option<Told>) -> Result<Option<How>, ConsoleError> {
        match told.ok_or(ConsoleError::Closed)? {
            Told::Input(event) => {
                let event = event.map_err(ConsoleError::Read)?;
                if let Event::Resize(width, height) = event {
                    self.surface.resize(Size { width, height });
                }
                self.take(Message::Input(event))
            }
            Told::Signal(signal) => self.take(Message::Signal(signal)),
            Told::Stop => self.suspend().map(|()| None),
            Told::Continued => self.resume().map(|()| None),
        }
    }

    fn take(&mut self, message: Message) -> Result<Option<How>, ConsoleError> {
        for panic in terminal::panics_elsewhere() {
            self.state
                .trouble(format!("internal error: {panic}"), "please report it");
            self.panics.push(panic);
        }
        let signal = match &message {
            Message::Signal(signal) => Some(*signal),
            _ => None,
        };
        let effects = terminal::guarded(|| {
            self.state.now = (self.state.context.now)();
            update(&mut self.state, message)
        });
        for effect in effects {
            match effect {
                Effect::Quit(leave) => {
                    return Ok(Some(signal.map_or(How::Quit(leave), How::Signal)));
                }
                Effect::Copy(text) => {
                    self.surface.copy(&text).map_err(ConsoleError::Write)?;
                    if self.surface.is_real() {
                        terminal::copy_to_desktop(text);
                    }
                }
                effect => match self.effects.try_send(effect) {
                    Ok(()) => {}
                    Err(mpsc::error::TrySendError::Full(_)) => {
                        self.state.trouble(
                            "too much is being done at once; that was not begun",
                            "try again",
                        );
                    }
                    Err(mpsc::error::TrySendError::Closed(_)) => return Err(ConsoleError::Gone),
                },
            }
        }
        if std::mem::take(&mut self.state.suspend) {
            self.suspend()?;
        }
        Ok(None)
    }

    fn suspend(&mut self) -> Result<(), ConsoleError> {
        if !self.surface.is_real() {
            return Ok(());
        }
        self.surface.leave().map_err(ConsoleError::Write)?;
        // The stop may reach this thread only a moment later: what follows waits for the signal to go on.
        self.stopped = true;
        terminal::stop_self().map_err(ConsoleError::Signals)
    }

    fn resume(&mut self) -> Result<(), ConsoleError> {
        self.stopped = false;
        self.surface.enter().map_err(ConsoleError::Write)?;
        self.state.size = self.surface.size();
        Ok(())
    }
}
