//! Editing TOML without touching any other byte.
//!
//! `toml_edit` reads a file and says where each value is; the new text is spliced in by us, since `toml_edit` writes
//! line ends in its own way. `key` takes a key apart, `find` follows it, `write` decides how a value is written.

mod find;
pub mod key;
mod set;
pub mod write;

#[cfg(test)]
mod random;
#[cfg(test)]
mod tests;

use toml_edit::Document;

pub use set::set;

/// Why a TOML file was not edited. The file is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TomlError {
    /// Not TOML.
    #[error("error parsing input: it is not TOML: line {line}, column {column}: {why}")]
    NotToml {
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// The parser's words.
        why: String,
    },
    /// A key that is none.
    #[error("the key {key:?} is not valid: {why}")]
    BadKey {
        /// As given.
        key: String,
        /// The rule that it breaks.
        why: &'static str,
    },
    /// There is nothing at the key.
    #[error("error finding key {key}: key path not found: {why}")]
    Absent {
        /// As given.
        key: String,
        /// Where the way ends, and what is there instead.
        why: String,
    },
    /// There is something at the key that holds values.
    #[error("error finding key {key}: key path addresses {kind} instead of a scalar node")]
    NotScalar {
        /// As given.
        key: String,
        /// Kargo's word for what it is.
        kind: &'static str,
    },
    /// The value cannot be written.
    #[error("error formatting value for key {key}: {why}")]
    Value {
        /// As given.
        key: String,
        /// What it is.
        why: &'static str,
    },
    /// The proof failed: the file would not have read as it should.
    #[error("setting {0} would not give a file that reads as wanted, so nothing was changed")]
    Unproved(String),
}

/// Reads a file; its nodes know their bytes.
pub fn read(text: &str) -> Result<Document<&str>, TomlError> {
    Document::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let before = text
            .get(..at)
            .unwrap_or(text)
            .trim_start_matches('\u{feff}');
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        TomlError::NotToml {
            line: before.matches('\n').count() + 1,
            column: before.get(line_start..).unwrap_or("").chars().count() + 1,
            why: error.message().replace('\n', "; "),
        }
    })
}
