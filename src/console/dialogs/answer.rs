//! Approve or reject: the change that is answered, a comment, and two buttons.

pub mod draw;

use crossterm::event::Event;
use tui_textarea::{TextArea, WrapMode};

use crate::{
    kargo::approval::{Change, Decision},
    rules::rows::RequestRow,
};

use super::{
    super::{
        keymap::Chord,
        message::{Action, Answer, Effect, Key, Row},
        state::{Pending, State},
        subject, verdict,
    },
    Dialog, Turn,
};

/// Longest comment, in bytes: what an Approval may hold.
const MESSAGE_MAX: usize = 4 * 1024;

/// Where the keys go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Focus {
    Comment,
    Cancel,
    Answer,
}

/// See the module.
#[derive(Debug)]
pub struct AnswerDialog {
    /// Whether the answer is yes.
    pub approve: bool,
    /// The request as it was when the dialog opened; its digest goes into the answer.
    pub row: RequestRow,
    /// The comment.
    pub comment: TextArea<'static>,
    /// Where the keys go.
    pub focus: Focus,
    /// Why the answer was not taken.
    pub error: Option<String>,
    /// The first line of the change in the window.
    pub scroll: usize,
}

impl AnswerDialog {
    /// Opens it for the request under the cursor.
    pub fn open(state: &mut State, approve: bool) {
        let Ok(row) = subject::request(state) else {
            return;
        };
        let mut comment = TextArea::default();
        comment.set_wrap_mode(WrapMode::WordOrGlyph);
        comment.set_hard_tab_indent(true);
        comment.set_placeholder_text("a comment, kept with the answer");
        state.dialog = Some(Dialog::Answer(Box::new(Self {
            approve,
            row,
            comment,
            focus: Focus::Cancel,
            error: None,
            scroll: 0,
        })));
    }

    /// Which request it answers.
    pub fn key(&self) -> Key {
        self.row.key()
    }

    /// Exactly the change that is answered, once known.
    pub fn change<'a>(&self, state: &'a State) -> Option<&'a Change> {
        state
            .request
            .of(&self.key())
            .map(|request| &request.spec.change)
            .filter(|change| change.digest == self.row.digest)
    }

    /// Why it cannot be answered any more, by what is known now.
    pub fn closed(&self, state: &State) -> Option<String> {
        match state.tables.requests.get(&self.key()) {
            Some(now) if now.digest != self.row.digest => {
                Some("the change is now another: look at it again".to_owned())
            }
            Some(now) => verdict::may_say(state, now, self.decision()).err(),
            None if state.tables.requests.total() == 0 => {
                verdict::may_say(state, &self.row, self.decision()).err()
            }
            None => Some("the request is gone".to_owned()),
        }
    }

    fn decision(&self) -> Decision {
        if self.approve {
            Decision::Approve
        } else {
            Decision::Reject
        }
    }

    /// What the answer is called.
    pub fn verb(&self) -> &'static str {
        if self.approve { "Approve" } else { "Reject" }
    }

    pub(super) fn input(
        mut self: Box<Self>,
        state: &mut State,
        event: &Event,
        chord: Option<Chord>,
    ) -> Turn {
        if let Event::Paste(text) = event {
            // Terminals send line breaks of a paste as CR.
            self.comment
                .insert_str(text.replace("\r\n", "\n").replace('\r', "\n"));
            self.focus = Focus::Comment;
            return Turn::Stay(Dialog::Answer(self));
        }
        let Some(chord) = chord else {
            return Turn::Stay(Dialog::Answer(self));
        };
        self.error = None;
        if chord.is("esc") || chord.is("ctrl-c") {
            return Turn::Close(Vec::new());
        }
        let order = [Focus::Comment, Focus::Cancel, Focus::Answer];
        let at = order
            .iter()
            .position(|focus| *focus == self.focus)
            .unwrap_or_default();
        let step = |by: usize| {
            order
                .get((at + by) % order.len())
                .copied()
                .unwrap_or(Focus::Cancel)
        };
        match self.focus {
            _ if chord.is("tab") => self.focus = step(1),
            _ if chord.is("shift-tab") => self.focus = step(2),
            _ if chord.is("pgup") || chord.is("pgdn") => self.scroll(state, chord),
            Focus::Comment => {
                if let Event::Key(key) = event {
                    self.comment.input(*key);
                }
            }
            Focus::Cancel if chord.is("enter") => return Turn::Close(Vec::new()),
            Focus::Answer if chord.is("enter") => return self.submit(state),
            Focus::Cancel if chord.is("right") => self.focus = Focus::Answer,
            Focus::Answer if chord.is("left") => self.focus = Focus::Cancel,
            // Whoever begins to type means the comment: the first letter must not be lost.
            _ if chord.typed().is_some() => {
                self.focus = Focus::Comment;
                if let Event::Key(key) = event {
                    self.comment.input(*key);
                }
            }
            _ => self.scroll(state, chord),
        }
        Turn::Stay(Dialog::Answer(self))
    }

    /// Moves through the change that is answered.
    fn scroll(&mut self, state: &State, chord: Chord) {
        let (last, room) = draw::reach(state, self);
        let page = room.saturating_sub(1).max(1);
        let from = self.scroll.min(last);
        self.scroll = match () {
            () if chord.is("up") => from.saturating_sub(1),
            () if chord.is("down") => from + 1,
            () if chord.is("pgup") => from.saturating_sub(page),
            () if chord.is("pgdn") => from + page,
            () if chord.is("home") => 0,
            () if chord.is("end") => last,
            () => from,
        }
        .min(last);
    }

    fn submit(mut self: Box<Self>, state: &mut State) -> Turn {
        let message = self.comment.lines().join("\n");
        let refusal = if message.len() > MESSAGE_MAX {
            Some(format!(
                "the comment has {} bytes, at most {MESSAGE_MAX} can be kept",
                message.len()
            ))
        } else {
            self.closed(state)
        };
        if refusal.is_some() {
            self.error = refusal;
            return Turn::Stay(Dialog::Answer(self));
        }
        let answer = Answer {
            project: self.row.project.clone(),
            request: self.row.name.clone(),
            uid: self.row.uid.clone(),
            digest: self.row.digest.clone(),
            message,
        };
        let doing = if self.approve {
            "approving"
        } else {
            "rejecting"
        };
        let text = format!("{doing} {} of {}", self.row.step, self.row.promotion);
        let id = state.begin(Pending { text, retry: None });
        let action = if self.approve {
            Action::Approve(answer)
        } else {
            Action::Reject(answer)
        };
        Turn::Close(vec![Effect::Act { id, action }])
    }
}
