//! Leaving while promotions run in this process: what is to become of them.

use super::{
    super::{
        keymap::Chord,
        message::{Effect, Leave},
    },
    Dialog, Turn, moved,
};

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quit {
    /// The button under the cursor: Cancel, then [`CHOICES`].
    pub at: usize,
}

/// The ways to leave, and what each means.
pub const CHOICES: [(Leave, &str, &str); 3] = [
    (
        Leave::Finish,
        "Finish",
        "end what runs, start nothing, then leave",
    ),
    (
        Leave::HandOver,
        "Hand over",
        "stop at the next step; another executor goes on",
    ),
    (
        Leave::Stop,
        "Stop",
        "stop at once; what was recorded is kept",
    ),
];

impl Quit {
    pub(super) fn input(mut self, chord: Option<Chord>) -> Turn {
        let Some(chord) = chord else {
            return Turn::Stay(Dialog::Quit(self));
        };
        if chord.is("esc") || chord.is("q") {
            return Turn::Close(Vec::new());
        }
        if chord.is("enter") {
            let choice = self.at.checked_sub(1).and_then(|at| CHOICES.get(at));
            return Turn::Close(
                choice
                    .map(|(leave, ..)| Effect::Quit(*leave))
                    .into_iter()
                    .collect(),
            );
        }
        self.at = if chord.is("down") || chord.is("j") {
            (self.at + 1) % (CHOICES.len() + 1)
        } else if chord.is("up") || chord.is("k") {
            (self.at + CHOICES.len()) % (CHOICES.len() + 1)
        } else {
            moved(self.at, CHOICES.len() + 1, chord)
        };
        Turn::Stay(Dialog::Quit(self))
    }
}
