//! Keys as text and as what the terminal sends. Which key does what is in [`super::commands`].

use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// One key with its modifiers; a letter's case is its shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Chord {
    code: KeyCode,
    ctrl: bool,
    alt: bool,
}

/// Keys that have a word for a name.
const NAMED: [(&str, KeyCode); 16] = [
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("shift-tab", KeyCode::BackTab),
    ("space", KeyCode::Char(' ')),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("pgup", KeyCode::PageUp),
    ("pgdn", KeyCode::PageDown),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("del", KeyCode::Delete),
    ("ins", KeyCode::Insert),
    ("backspace", KeyCode::Backspace),
];

impl Chord {
    /// Reads `a`, `A`, `ctrl-c`, `alt-x`, `enter`, `pgup`.
    pub fn parse(text: &str) -> Option<Self> {
        let (mut rest, mut ctrl, mut alt) = (text, false, false);
        loop {
            if let Some(after) = rest.strip_prefix("ctrl-").filter(|after| !after.is_empty()) {
                (rest, ctrl) = (after, true);
            } else if let Some(after) = rest.strip_prefix("alt-").filter(|after| !after.is_empty())
            {
                (rest, alt) = (after, true);
            } else {
                break;
            }
        }
        let named = NAMED
            .iter()
            .find(|(name, _)| *name == rest)
            .map(|(_, code)| *code);
        let mut chars = rest.chars();
        let code = match (named, chars.next(), chars.next()) {
            (Some(code), ..) => code,
            (None, Some(c), None) => KeyCode::Char(c),
            _ => return None,
        };
        Some(Self { code, ctrl, alt })
    }

    /// What was pressed; none for a release.
    pub fn of(event: &KeyEvent) -> Option<Self> {
        if event.kind == KeyEventKind::Release {
            return None;
        }
        let ctrl = event.modifiers.contains(KeyModifiers::CONTROL);
        let code = match event.code {
            // Terminals differ in whether they send the shifted letter, the shift, or both.
            KeyCode::Char(c) if event.modifiers.contains(KeyModifiers::SHIFT) => {
                KeyCode::Char(c.to_uppercase().next().unwrap_or(c))
            }
            KeyCode::Char(c) if ctrl => KeyCode::Char(c.to_ascii_lowercase()),
            KeyCode::Tab if event.modifiers.contains(KeyModifiers::SHIFT) => KeyCode::BackTab,
            code => code,
        };
        Some(Self {
            code,
            ctrl,
            alt: event.modifiers.contains(KeyModifiers::ALT),
        })
    }

    /// The character that it types into a line of text.
    pub fn typed(&self) -> Option<char> {
        match self.code {
            KeyCode::Char(c) if !self.ctrl && !self.alt => Some(c),
            _ => None,
        }
    }

    /// Whether it is this key of [`Chord::parse`].
    pub fn is(&self, text: &str) -> bool {
        Self::parse(text).as_ref() == Some(self)
    }

    /// The event that a terminal sends for it.
    pub fn event(&self) -> KeyEvent {
        let mut modifiers = KeyModifiers::NONE;
        modifiers.set(KeyModifiers::CONTROL, self.ctrl);
        modifiers.set(KeyModifiers::ALT, self.alt);
        KeyEvent::new(self.code, modifiers)
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ctrl {
            f.write_str("ctrl-")?;
        }
        if self.alt {
            f.write_str("alt-")?;
        }
        match (NAMED.iter().find(|(_, code)| *code == self.code), self.code) {
            (Some((name, _)), _) => f.write_str(name),
            (None, KeyCode::Char(c)) => write!(f, "{c}"),
            (None, other) => write!(f, "{other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_event_are_two_forms_of_one_key() {
        for text in [
            "a",
            "A",
            "?",
            ":",
            "ctrl-c",
            "alt-b",
            "enter",
            "pgup",
            "shift-tab",
            "space",
            "-",
        ] {
            let chord = Chord::parse(text).unwrap();
            assert_eq!(chord.to_string(), text);
            assert_eq!(Chord::of(&chord.event()), Some(chord));
        }
        assert_eq!(Chord::parse("abc"), None);
        assert_eq!(Chord::parse(""), None);
        let shifted = KeyEvent::new(KeyCode::Char('r'), KeyModifiers::SHIFT);
        assert_eq!(Chord::of(&shifted), Chord::parse("R"));
        let released = KeyEvent::new_with_kind(
            KeyCode::Char('r'),
            KeyModifiers::NONE,
            KeyEventKind::Release,
        );
        assert_eq!(Chord::of(&released), None);
    }
}
