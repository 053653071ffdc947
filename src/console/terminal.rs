//! The terminal itself: taken over, drawn to, and given back on every way out.
//!
//! Ways out: the end of the loop, an error (both by dropping [`Surface`]), a panic (the hook), a signal (the loop),
//! and Ctrl-Z (given back, stopped, taken over again).

use std::{
    cell::Cell,
    io::{self, Write},
    panic,
    sync::{
        Mutex, Once, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use base64::{Engine, engine::general_purpose::STANDARD};
use crossterm::{
    cursor::{Hide, Show},
    event::{DisableBracketedPaste, EnableBracketedPaste},
    execute, queue,
    style::ResetColor,
    terminal::{
        BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
        LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
    },
};
use ratatui::{
    backend::{Backend, CrosstermBackend},
    buffer::Buffer,
    layout::{Rect, Size},
};

/// Whether the process's terminal is taken over now.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// Panics of other threads while the terminal was taken over: printing them would spoil the picture.
static ELSEWHERE: Mutex<Vec<String>> = Mutex::new(Vec::new());

thread_local! {
    /// Whether this thread is changing or drawing the console's state: a panic then is the console's end.
    static DRAWING: Cell<bool> = const { Cell::new(false) };
}

/// A picture that changes on a writer, with the modes that it needs.
#[derive(Debug)]
pub struct Surface<W: Write> {
    backend: CrosstermBackend<W>,
    shown: Buffer,
    size: Size,
    /// Whether the writer is the process's own terminal, whose modes are changed too.
    real: bool,
    entered: bool,
}

impl Surface<io::BufWriter<io::Stdout>> {
    /// Takes over the process's terminal.
    pub fn take_over() -> io::Result<Self> {
        let (width, height) = crossterm::terminal::size()?;
        install_panic_hook();
        let out = io::BufWriter::with_capacity(64 * 1024, io::stdout());
        let mut surface = Self::new(out, Size { width, height }, true);
        surface.enter()?;
        Ok(surface)
    }
}

impl<W: Write> Surface<W> {
    /// Draws on any writer, of whose terminal's modes nothing is known; for tests and recordings.
    pub fn on(out: W, size: Size) -> io::Result<Self> {
        let mut surface = Self::new(out, size, false);
        surface.enter()?;
        Ok(surface)
    }

    fn new(out: W, size: Size, real: bool) -> Self {
        let shown = Buffer::empty(Rect::default());
        Self {
            backend: CrosstermBackend::new(out),
            shown,
            size,
            real,
            entered: false,
        }
    }

    /// The size of the window.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Whether it is the process's own terminal.
    pub fn is_real(&self) -> bool {
        self.real
    }

    /// Takes the terminal over, with an empty picture.
    pub fn enter(&mut self) -> io::Result<()> {
        // From here on there is something to give back, however far this comes.
        self.entered = true;
        if self.real {
            TAKEN.store(true, Ordering::SeqCst);
            enable_raw_mode()?;
            let (width, height) = crossterm::terminal::size()?;
            self.size = Size { width, height };
        }
        execute!(
            self.backend,
            EnterAlternateScreen,
            EnableBracketedPaste,
            Hide,
            Clear(ClearType::All)
        )?;
        self.shown = Buffer::empty(Rect::default());
        Ok(())
    }

    /// Gives the terminal back.
    pub fn leave(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.entered) {
            return Ok(());
        }
        if self.real {
            Write::flush(&mut self.backend)?;
            return restore();
        }
        give_back(&mut self.backend)
    }

    /// The window has another size.
    pub fn resize(&mut self, size: Size) {
        self.size = size;
    }

    /// Forgets what is shown: the next picture is drawn whole.
    pub fn forget(&mut self) {
        self.shown = Buffer::empty(Rect::default());
    }

    /// Draws a picture: only what differs from the one before, nothing where nothing does. Says whether anything did.
    pub fn draw(&mut self, picture: Buffer) -> io::Result<bool> {
        let anew = self.shown.area != picture.area;
        let before = if anew {
            Buffer::empty(picture.area)
        } else {
            std::mem::take(&mut self.shown)
        };
        let changes = before.diff(&picture);
        let changed = anew || !changes.is_empty();
        if changed {
            queue!(self.backend, BeginSynchronizedUpdate)?;
            if anew {
                queue!(self.backend, ResetColor, Clear(ClearType::All))?;
            }
            self.backend.draw(changes.into_iter())?;
            queue!(self.backend, EndSynchronizedUpdate)?;
            Write::flush(&mut self.backend)?;
        }
        self.shown = picture;
        Ok(changed)
    }

    /// Puts text on the clipboard of whoever sits before the terminal, byte for byte (OSC 52).
    pub fn copy(&mut self, text: &str) -> io::Result<()> {
        write!(self.backend, "\x1b]52;c;{}\x07", STANDARD.encode(text))?;
        Write::flush(&mut self.backend)
    }
}

impl<W: Write> Drop for Surface<W> {
    fn drop(&mut self) {
        // On the way out there is nobody left to tell; whoever wants to know calls `leave`.
        let _ = self.leave();
    }
}

fn give_back(out: &mut impl Write) -> io::Result<()> {
    execute!(
        out,
        EndSynchronizedUpdate,
        DisableBracketedPaste,
        ResetColor,
        LeaveAlternateScreen,
        Show
    )
}

/// Gives the process's terminal back, if it is taken over; callable from anywhere, any number of times.
pub fn restore() -> io::Result<()> {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return Ok(());
    }
    // Both are tried: a terminal that is gone takes no bytes, one that is redirected has no modes.
    let bytes = give_back(&mut io::stdout().lock());
    let modes = disable_raw_mode();
    bytes.and(modes)
}

/// A panic while the console thinks or draws gives the terminal back first, so that its message can be read. One in
/// another thread is kept for the console to show: whoever waits for that thread decides what it means.
fn install_panic_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if DRAWING.get() {
                let _ = restore();
            }
            if TAKEN.load(Ordering::SeqCst) {
                ELSEWHERE
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(info.to_string());
            } else {
                before(info);
            }
        }));
    });
}

/// Panics of other threads since the last call.
pub fn panics_elsewhere() -> Vec<String> {
    std::mem::take(&mut *ELSEWHERE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Does `work` so that a panic in it gives the terminal back.
pub fn guarded<T>(work: impl FnOnce() -> T) -> T {
    struct Unset;
    impl Drop for Unset {
        fn drop(&mut self) {
            DRAWING.set(false);
        }
    }
    DRAWING.set(true);
    let _unset = Unset;
    work()
}

/// Puts text on the clipboard of this machine's desktop, if it has one. On a thread of its own: a display that does
/// not answer must not hold up the console.
pub fn copy_to_desktop(text: String) {
    let desktop = ["WAYLAND_DISPLAY", "DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some());
    if !desktop && cfg!(not(target_os = "macos")) {
        return;
    }
    std::thread::spawn(move || {
        // The owner of the selection serves it: it has to live as long as the process.
        static CLIPBOARD: Mutex<Option<arboard::Clipboard>> = Mutex::new(None);
        let mut kept = CLIPBOARD.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.is_none() {
            *kept = arboard::Clipboard::new().ok();
        }
        if let Some(clipboard) = kept.as_mut()
            && let Err(error) = clipboard.set_text(text)
        {
            tracing::debug!(%error, "the desktop's clipboard took nothing");
        }
    });
}

/// Stops this process as Ctrl-Z does; returns when it is continued.
pub fn stop_self() -> io::Result<()> {
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(text: &str) -> Buffer {
        Buffer::with_lines([text])
    }

    #[test]
    fn what_is_the_same_is_not_drawn_again() {
        let mut out = Vec::new();
        let mut surface = Surface::on(
            &mut out,
            Size {
                width: 5,
                height: 1,
            },
        )
        .unwrap();
        assert!(surface.draw(picture("hello")).unwrap());
        assert!(!surface.draw(picture("hello")).unwrap());
        assert!(surface.draw(picture("hallo")).unwrap());
        surface.forget();
        assert!(surface.draw(picture("hallo")).unwrap());
    }

    #[test]
    fn a_surface_gives_back_what_it_took() {
        let mut out = Vec::new();
        drop(
            Surface::on(
                &mut out,
                Size {
                    width: 5,
                    height: 1,
                },
            )
            .unwrap(),
        );
        let text = String::from_utf8(out).unwrap();
        for (on, off) in [
            ("\x1b[?1049h", "\x1b[?1049l"),
            ("\x1b[?2004h", "\x1b[?2004l"),
            ("\x1b[?25l", "\x1b[?25h"),
        ] {
            assert!(text.find(on).unwrap() < text.rfind(off).unwrap(), "{on:?}");
        }
    }

    #[test]
    fn copied_text_is_byte_equal_c77() {
        let source = "[red]x[0]\u{1b}[31m\u{7}\t\r\n👩‍💻";
        let mut out = Vec::new();
        Surface::on(
            &mut out,
            Size {
                width: 5,
                height: 1,
            },
        )
        .unwrap()
        .copy(source)
        .unwrap();
        let text = String::from_utf8(out).unwrap();
        let coded = text
            .split("\x1b]52;c;")
            .nth(1)
            .unwrap()
            .split('\x07')
            .next()
            .unwrap();
        assert_eq!(STANDARD.decode(coded).unwrap(), source.as_bytes());
    }
}
