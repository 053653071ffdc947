//! Editing JSON without touching any other byte.
//!
//! `tree` reads a file with the place of every value, without recursion, so that no depth is too deep; `key` takes a
//! path apart, `find` leads to a value, `write` decides how values and new members are written, `set` does it.

mod find;
pub mod key;
mod set;
pub mod tree;
pub mod value;
mod write;

#[cfg(test)]
mod random;
#[cfg(test)]
mod tests;

pub use set::set;
pub use write::scalar;

/// Why a JSON file was not edited. The file is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// Not JSON.
    #[error("it is not JSON: line {line}, column {column}: {why}")]
    NotJson {
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// What is there, and what should be.
        why: String,
    },
    /// A key that is none.
    #[error("the key {key:?} is not valid: {why}")]
    BadKey {
        /// As given.
        key: String,
        /// The rule that it breaks.
        why: String,
    },
    /// There is nothing at the key, and it is not one that can be made.
    #[error("the key {key} is not there: {why}")]
    Absent {
        /// As given.
        key: String,
        /// Where the way ends.
        why: String,
    },
    /// The value is none that an update can set.
    #[error("the value for key {key} is not a scalar: {why}")]
    NotScalar {
        /// As given.
        key: String,
        /// What it is.
        why: &'static str,
    },
}
