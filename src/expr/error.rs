//! Where an expression went wrong, and how that is shown: message, line and column, and a caret.

use std::fmt;

/// A stretch of the expression's text, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    pub(super) fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }
}

/// A [`Span`] as a person reads it. Shown as `(line:column)` and the line with a caret below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    /// The whole line that the place is in.
    pub text: String,
}

impl Place {
    /// Finds line and column of `span` in `source`.
    pub fn of(source: &str, span: Span) -> Self {
        let mut at = span.start.min(source.len());
        while !source.is_char_boundary(at) {
            at -= 1;
        }
        let (before, after) = source.split_at(at);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let head = before.get(line_start..).unwrap_or_default();
        let tail = after.split('\n').next().unwrap_or_default();
        Self {
            line: before.matches('\n').count() + 1,
            column: head.chars().count() + 1,
            text: format!("{head}{tail}"),
        }
    }
}

/// Characters of a line that are shown.
const MOST_SHOWN: usize = 200;

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}:{})", self.line, self.column)?;
        if self.text.is_empty() {
            return Ok(());
        }
        // Of a very long line only what is around the place.
        let skipped = match self.text.chars().nth(MOST_SHOWN) {
            Some(_) => self.column.saturating_sub(MOST_SHOWN / 2),
            None => 0,
        };
        let shown: String = self.text.chars().skip(skipped).take(MOST_SHOWN).collect();
        write!(
            f,
            "\n | {}\n | {}^",
            shown.replace('\t', " "),
            ".".repeat(self.column.saturating_sub(1).saturating_sub(skipped))
        )
    }
}

/// The text is not an expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} {place}")]
pub struct ParseError {
    /// What is wrong, without the place.
    pub message: String,
    /// Where, in bytes of the expression.
    pub span: Span,
    /// Where, for people.
    pub place: Place,
}

/// The expression could not be evaluated with the values it was given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} {place}")]
pub struct EvalError {
    /// What is wrong, without the place.
    pub message: String,
    /// Where, in bytes of the expression.
    pub span: Span,
    /// Where, for people.
    pub place: Place,
}
