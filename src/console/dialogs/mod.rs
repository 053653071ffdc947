//! What lies over a screen and takes the keys: questions about one object, captured when they opened, that start on
//! Cancel.

pub mod answer;
pub mod confirm;
pub mod draw;
pub mod promote;
pub mod quit;

use crossterm::event::Event;

use super::{keymap::Chord, message::Effect, state::State};

/// A dialog that is open.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum Dialog {
    Answer(Box<answer::AnswerDialog>),
    Confirm(Box<confirm::Confirm>),
    Promote(Box<promote::Promote>),
    Quit(quit::Quit),
}

impl Dialog {
    /// Keys and what they do, for the footer.
    pub fn hints(&self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Answer(dialog) if dialog.focus == answer::Focus::Comment => &[
                ("tab", "to the buttons"),
                ("enter", "new line"),
                ("pgdn", "the change"),
                ("esc", "cancel"),
            ],
            Self::Answer(_) => &[
                ("up down pgdn", "the change"),
                ("a-z", "comment"),
                ("tab", "next"),
                ("enter", "choose"),
                ("esc", "cancel"),
            ],
            Self::Promote(dialog) if !matches!(dialog.choice, promote::Choice::Sure { .. }) => &[
                ("a-z", "narrow"),
                ("up down", "move"),
                ("enter", "choose"),
                ("esc", "cancel"),
            ],
            Self::Quit(_) => &[("up down", "move"), ("enter", "choose"), ("esc", "cancel")],
            _ => &[("tab", "next"), ("enter", "choose"), ("esc", "cancel")],
        }
    }
}

/// What a dialog made of a key.
#[derive(Debug)]
pub enum Turn {
    /// It stays.
    Stay(Dialog),
    /// It closes, and this is to be done.
    Close(Vec<Effect>),
}

/// Gives the open dialog a key or a paste.
pub fn input(state: &mut State, event: &Event) -> Vec<Effect> {
    let Some(dialog) = state.dialog.take() else {
        return Vec::new();
    };
    let chord = match event {
        Event::Key(key) => Chord::of(key),
        _ => None,
    };
    let turn = match dialog {
        Dialog::Answer(dialog) => dialog.input(state, event, chord),
        Dialog::Confirm(dialog) => dialog.input(state, chord),
        Dialog::Promote(dialog) => dialog.input(state, chord),
        Dialog::Quit(dialog) => dialog.input(chord),
    };
    match turn {
        Turn::Stay(dialog) => {
            state.dialog = Some(dialog);
            Vec::new()
        }
        Turn::Close(effects) => effects,
    }
}

/// Moves among `count` buttons.
fn moved(at: usize, count: usize, chord: Chord) -> usize {
    let count = count.max(1);
    if chord.is("left") || chord.is("shift-tab") || chord.is("h") {
        (at + count - 1) % count
    } else if chord.is("right") || chord.is("tab") || chord.is("l") {
        (at + 1) % count
    } else {
        at
    }
}
