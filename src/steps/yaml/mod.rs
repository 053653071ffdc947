//! Editing YAML without touching any other byte.
//!
//! `tree` reads a file with the place of every node, `key` and `find` lead to one, `scalar` decides how a value is
//! written, `set` replaces values, `list` adds and removes entries, `merge` lays files over each other. Every edit is proved by reading the result: it
//! must be the old tree with that one change, or the edit is refused.

mod block;
pub mod find;
mod graft;
pub mod key;
pub mod list;
mod merge;
mod near;
mod place;
mod proof;
pub mod scalar;
pub mod set;
pub mod tree;

#[cfg(test)]
mod tests;

pub use merge::{Merged, Unmerged, merge};
pub use set::{Editor, Update, set};

/// Why a YAML file was not edited. The file is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum YamlError {
    /// Not YAML at all.
    #[error("it is not YAML: line {line}, column {column}: {why}")]
    NotYaml {
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// The parser's words.
        why: String,
    },
    /// Deeper than we follow.
    #[error("it is nested more than {0} levels deep")]
    TooDeep(usize),
    /// YAML of a form whose places in the text we cannot tell for sure.
    #[error("line {0} is written in a form that cannot be edited safely")]
    Unplaceable(usize),
    /// A key that is none.
    #[error("the key {key:?} is not valid: {why}")]
    BadKey {
        /// As given.
        key: String,
        /// The rule that it breaks.
        why: &'static str,
    },
    /// There is nothing at the key.
    #[error("the key {key} is not there: {why}")]
    Absent {
        /// As given.
        key: String,
        /// Where the way ends, and what is there instead.
        why: String,
    },
    /// There is something at the key, or on the way, that we do not change.
    #[error("the key {key} cannot be set: {why}")]
    Unsettable {
        /// As given.
        key: String,
        /// What is there, and what to do.
        why: String,
    },
    /// The proof failed: the edit would have changed more or less than it should.
    #[error(
        "setting {0} would change more of the file than this one value, so nothing was changed"
    )]
    Unproved(String),
}
