//! Retry and abort: what will be done to which object, Cancel, and the button that does it.

use super::{
    super::{
        keymap::Chord,
        message::{Action, Effect, Key, Row},
        state::{Pending, State},
        subject,
    },
    Dialog, Turn, moved,
};

/// See the module.
#[derive(Debug)]
pub struct Confirm {
    /// The question.
    pub title: String,
    /// What is to be known before it is answered.
    pub lines: Vec<String>,
    /// How far these are scrolled.
    pub scroll: usize,
    /// The button that does it.
    pub verb: &'static str,
    /// Whether the cursor is on that button.
    pub yes: bool,
    action: Action,
    pending: Pending,
}

impl Confirm {
    /// Asks whether to abort the Promotion under the cursor.
    pub fn abort(state: &mut State) {
        let Some(row) = subject::promotion(state) else {
            return;
        };
        let key = row.key();
        let mut lines = vec![format!(
            "Freight {}",
            state.tables.index.freight_text(&row.project, &row.freight)
        )];
        if let Some(step) = &row.step {
            lines.push(format!(
                "It is at step {} of {}, {}.",
                step.number, row.steps, step.alias
            ));
        }
        lines.push("What it has pushed stays. The step that runs now is told to stop.".to_owned());
        state.dialog = Some(Dialog::Confirm(Box::new(Self {
            title: format!("Abort {}/{}?", row.project, row.name),
            lines,
            scroll: 0,
            verb: "Abort",
            yes: false,
            pending: Pending {
                text: format!("aborting {}", row.name),
                retry: None,
            },
            action: Action::Abort { promotion: key },
        })));
    }

    /// Asks whether to retry the Promotion under the cursor.
    pub fn retry(state: &mut State) {
        let Some(row) = subject::promotion(state) else {
            return;
        };
        let freight = state
            .tables
            .index
            .freight_text(&row.project, &row.freight)
            .to_owned();
        let lines = vec![
            format!(
                "A new Promotion of {freight} to {}/{}, from its first step.",
                row.project, row.stage
            ),
            "Gates ask again. The Stage's template of now is taken; if it is no longer what this one was made \
             from, the difference is shown first."
                .to_owned(),
        ];
        state.dialog = Some(Dialog::Confirm(Box::new(Self::of_retry(
            row.key(),
            lines,
            false,
        ))));
    }

    /// Asks again, now that the Stage's template is known to differ.
    pub fn retry_otherwise(promotion: Key, differences: &[String]) -> Dialog {
        let mut lines =
            vec!["The Stage's template is no longer what this Promotion was made from:".to_owned()];
        lines.extend(
            differences
                .iter()
                .map(|difference| format!("- {difference}")),
        );
        Dialog::Confirm(Box::new(Self::of_retry(promotion, lines, true)))
    }

    fn of_retry(promotion: Key, lines: Vec<String>, with_current_template: bool) -> Self {
        Self {
            title: format!("Retry {}/{}?", promotion.project, promotion.name),
            lines,
            scroll: 0,
            verb: if with_current_template {
                "Retry with it"
            } else {
                "Retry"
            },
            yes: false,
            pending: Pending {
                text: format!("retrying {}", promotion.name),
                retry: Some(promotion.clone()),
            },
            action: Action::Retry {
                promotion,
                with_current_template,
            },
        }
    }

    pub(super) fn input(mut self: Box<Self>, state: &mut State, chord: Option<Chord>) -> Turn {
        let Some(chord) = chord else {
            return Turn::Stay(Dialog::Confirm(self));
        };
        if chord.is("esc")
            || chord.is("q")
            || chord.is("ctrl-c")
            || (chord.is("enter") && !self.yes)
        {
            return Turn::Close(Vec::new());
        }
        if chord.is("enter") {
            let id = state.begin(self.pending);
            return Turn::Close(vec![Effect::Act {
                id,
                action: self.action,
            }]);
        }
        let lines = self.lines.len();
        if chord.is("down") || chord.is("j") || chord.is("pgdn") {
            self.scroll =
                (self.scroll + if chord.is("pgdn") { 10 } else { 1 }).min(lines.saturating_sub(1));
        } else if chord.is("up") || chord.is("k") || chord.is("pgup") {
            self.scroll = self
                .scroll
                .saturating_sub(if chord.is("pgup") { 10 } else { 1 });
        }
        self.yes = moved(usize::from(self.yes), 2, chord) == 1;
        Turn::Stay(Dialog::Confirm(self))
    }
}
