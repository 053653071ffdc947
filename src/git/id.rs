//! Object ids, one type per kind of object, so that a tree is never taken for a commit.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A text that is no object id: not 40 hexadecimal digits.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not a git object id (40 hexadecimal digits)")]
pub struct InvalidId(pub String);

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The 40 lower-case hexadecimal digits.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The first seven digits, for people.
            pub fn short(&self) -> &str {
                self.0.get(..7).unwrap_or(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                if text.len() == 40 && text.bytes().all(|b| b.is_ascii_hexdigit()) {
                    Ok(Self(text.to_ascii_lowercase()))
                } else {
                    Err(InvalidId(text.to_owned()))
                }
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;
            fn try_from(text: String) -> Result<Self, InvalidId> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.short())
            }
        }
    };
}

id! {
    /// A commit's SHA-1.
    ///
    /// ```compile_fail
    /// # use tidewaiter::git::id::{CommitId, TreeId};
    /// fn tree_of(_: &TreeId) {}
    /// let commit: CommitId = "0000000000000000000000000000000000000001".parse().unwrap();
    /// tree_of(&commit);
    /// ```
    CommitId
}
id! {
    /// A tree's SHA-1.
    TreeId
}
id! {
    /// A blob's SHA-1.
    BlobId
}
id! {
    /// An annotated tag's SHA-1.
    TagId
}
