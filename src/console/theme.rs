//! How things look: a sign and a colour for every state. The sign alone tells states apart; colour only helps.

use ratatui::style::{Color, Modifier, Style};

use crate::kargo::{Phase, StepStatus};

/// What this terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    /// Whether colours are used: the sixteen that the terminal's own palette defines.
    pub colour: bool,
    /// Whether only ASCII signs are drawn.
    pub ascii: bool,
}

impl Default for Theme {
    fn default() -> Self {
        Self {
            colour: true,
            ascii: false,
        }
    }
}

/// The state that a sign stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Mark {
    /// Not reached, or made and not yet seen by an executor.
    New,
    Pending,
    Running,
    /// Running, and somebody or something outside has to act first.
    Waiting,
    /// Running again after an error.
    Retrying,
    Succeeded,
    Skipped,
    Failed,
    Errored,
    Aborted,
    Unknown,
}

impl Mark {
    /// The sign of a Promotion's phase.
    pub fn of_phase(phase: &Phase) -> Self {
        match phase {
            Phase::New => Self::New,
            Phase::Pending => Self::Pending,
            Phase::Running => Self::Running,
            Phase::Succeeded => Self::Succeeded,
            Phase::Failed => Self::Failed,
            Phase::Errored => Self::Errored,
            Phase::Aborted => Self::Aborted,
            Phase::Unknown(_) => Self::Unknown,
        }
    }

    /// The sign of a step's status after `errors` errors.
    pub fn of_step(status: Option<&StepStatus>, errors: i32) -> Self {
        match status {
            None => Self::New,
            Some(StepStatus::Running) if errors > 0 => Self::Retrying,
            Some(StepStatus::Running) => Self::Running,
            Some(StepStatus::Succeeded) => Self::Succeeded,
            Some(StepStatus::Skipped) => Self::Skipped,
            Some(StepStatus::Aborted) => Self::Aborted,
            Some(StepStatus::Failed) => Self::Failed,
            Some(StepStatus::Errored) => Self::Errored,
            Some(StepStatus::Unknown(_)) => Self::Unknown,
        }
    }
}

/// Every mark, for tests and the help.
pub const MARKS: [(Mark, &str); 11] = [
    (Mark::New, "not reached"),
    (Mark::Pending, "queued"),
    (Mark::Running, "running"),
    (Mark::Waiting, "waits for somebody"),
    (Mark::Retrying, "running again after an error"),
    (Mark::Succeeded, "succeeded"),
    (Mark::Skipped, "skipped"),
    (Mark::Failed, "failed"),
    (Mark::Errored, "could not be done"),
    (Mark::Aborted, "aborted"),
    (Mark::Unknown, "a state this version does not know"),
];

impl Theme {
    /// From the environment: `NO_COLOR`, `TERM`, `TIDEWAITER_ASCII` and the locale.
    pub fn from_env(var: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| var(name).filter(|value| !value.is_empty());
        let term = set("TERM").unwrap_or_default();
        let locale = set("LC_ALL")
            .or_else(|| set("LC_CTYPE"))
            .or_else(|| set("LANG"))
            .unwrap_or_default();
        let utf8 = locale
            .to_ascii_lowercase()
            .replace('-', "")
            .contains("utf8");
        let ascii = match set("TIDEWAITER_ASCII").as_deref() {
            Some("0" | "false" | "no") => false,
            Some(_) => true,
            None => !utf8,
        };
        Self {
            colour: set("NO_COLOR").is_none() && term != "dumb",
            ascii,
        }
    }

    /// The sign of a state, one column wide.
    pub fn sign(&self, mark: Mark) -> &'static str {
        let (unicode, ascii) = match mark {
            Mark::New => ("·", "."),
            Mark::Pending => ("◌", "o"),
            Mark::Running => ("◐", ">"),
            Mark::Waiting => ("◔", "w"),
            Mark::Retrying => ("↻", "r"),
            Mark::Succeeded => ("✔", "+"),
            Mark::Skipped => ("»", "-"),
            Mark::Failed => ("✖", "x"),
            Mark::Errored => ("!", "!"),
            Mark::Aborted => ("⊘", "/"),
            Mark::Unknown => ("?", "?"),
        };
        if self.ascii { ascii } else { unicode }
    }

    /// The style of a state.
    pub fn mark(&self, mark: Mark) -> Style {
        match mark {
            Mark::New | Mark::Skipped => self.dim(),
            Mark::Pending => self.fg(Color::Blue),
            Mark::Running => self.fg(Color::Cyan),
            Mark::Waiting | Mark::Retrying => self.fg(Color::Yellow),
            Mark::Succeeded => self.fg(Color::Green),
            Mark::Failed | Mark::Errored => self.fg(Color::Red).add_modifier(Modifier::BOLD),
            Mark::Aborted | Mark::Unknown => self.fg(Color::Magenta),
        }
    }

    fn fg(&self, colour: Color) -> Style {
        if self.colour {
            Style::new().fg(colour)
        } else {
            Style::new()
        }
    }

    /// Of less weight.
    pub fn dim(&self) -> Style {
        self.fg(Color::DarkGray)
    }

    /// Headings and column names.
    pub fn strong(&self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// A key that can be pressed.
    pub fn key(&self) -> Style {
        self.fg(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    /// The row or button that the cursor is on.
    pub fn cursor(&self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Something went well.
    pub fn good(&self) -> Style {
        self.fg(Color::Green)
    }

    /// Something went wrong.
    pub fn bad(&self) -> Style {
        self.fg(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// Look here.
    pub fn warn(&self) -> Style {
        self.fg(Color::Yellow)
    }

    /// A rule across the window.
    pub fn line(&self) -> &'static str {
        if self.ascii { "-" } else { "─" }
    }

    /// `left` becomes `right`.
    pub fn arrow(&self) -> &'static str {
        if self.ascii { "->" } else { "→" }
    }

    /// Beside a feed that is up to date.
    pub fn live(&self) -> &'static str {
        if self.ascii { "*" } else { "●" }
    }

    /// Minus, as wide as a plus.
    pub fn minus(&self) -> &'static str {
        if self.ascii { "-" } else { "−" }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_state_has_its_own_sign_without_colour_c91() {
        for ascii in [false, true] {
            let theme = Theme {
                colour: false,
                ascii,
            };
            let signs: BTreeSet<_> = MARKS.iter().map(|(mark, _)| theme.sign(*mark)).collect();
            assert_eq!(signs.len(), MARKS.len());
            assert!(signs.iter().all(|sign| super::super::text::width(sign) == 1 && (!ascii || sign.is_ascii())));
            assert!(MARKS.iter().all(|(mark, _)| theme.mark(*mark).fg.is_none()));
        }
    }

    #[test]
    fn colours_are_the_terminal_s_own_sixteen() {
        let theme = Theme::default();
        for (mark, _) in MARKS {
            assert!(!matches!(
                theme.mark(mark).fg,
                Some(Color::Rgb(..) | Color::Indexed(_))
            ));
        }
    }

    #[test]
    fn the_environment_decides() {
        let with = |pairs: &'static [(&str, &str)]| {
            Theme::from_env(|name| {
                pairs
                    .iter()
                    .find(|(key, _)| *key == name)
                    .map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(
            with(&[("LANG", "en_GB.UTF-8")]),
            Theme {
                colour: true,
                ascii: false
            }
        );
        assert_eq!(
            with(&[("LANG", "C")]),
            Theme {
                colour: true,
                ascii: true
            }
        );
        assert_eq!(
            with(&[("LC_ALL", "C"), ("LANG", "C.utf8")]),
            Theme {
                colour: true,
                ascii: true
            }
        );
        assert_eq!(
            with(&[("LANG", "C.utf8"), ("NO_COLOR", "1")]),
            Theme {
                colour: false,
                ascii: false
            }
        );
        assert_eq!(
            with(&[("LANG", "C.utf8"), ("TIDEWAITER_ASCII", "1")]),
            Theme {
                colour: true,
                ascii: true
            }
        );
        assert_eq!(
            with(&[("LANG", "C.utf8"), ("TERM", "dumb")]),
            Theme {
                colour: false,
                ascii: false
            }
        );
    }
}
