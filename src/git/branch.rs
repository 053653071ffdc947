//! Branch names that git accepts.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A branch's short name (`main`, `env/prod`), valid by `git check-ref-format --branch`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BranchName(String);

/// A text that git would refuse as a branch name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{name:?} is not a branch name: {why}")]
pub struct InvalidBranch {
    /// The text as given.
    pub name: String,
    /// The first rule that it breaks.
    pub why: &'static str,
}

impl BranchName {
    /// The short name, without `refs/heads/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The full ref on the remote.
    pub fn full_ref(&self) -> String {
        format!("refs/heads/{}", self.0)
    }
}

/// The first rule of `git check-ref-format` that the short name of a branch or tag breaks.
pub(super) fn broken_rule(name: &str) -> Option<&'static str> {
    let bad_part = |part: &str| part.is_empty() || part.starts_with('.') || part.ends_with(".lock");
    if name.is_empty() {
        Some("it is empty")
    } else if name.starts_with('-') {
        Some("it starts with a dash")
    } else if name.contains("..") || name.contains("@{") {
        Some("it contains `..` or `@{`")
    } else if name
        .chars()
        .any(|c| c.is_ascii_control() || " ~^:?*[\\".contains(c))
    {
        Some("it contains a character that git reserves")
    } else if name.ends_with('.') {
        Some("it ends with a dot")
    } else if name.split('/').any(bad_part) {
        Some("a part is empty, starts with a dot, or ends in `.lock`")
    } else {
        None
    }
}

impl FromStr for BranchName {
    type Err = InvalidBranch;
    fn from_str(name: &str) -> Result<Self, InvalidBranch> {
        let reserved = matches!(name, "@" | "HEAD").then_some("the name is reserved");
        match broken_rule(name).or(reserved) {
            None => Ok(Self(name.to_owned())),
            Some(why) => Err(InvalidBranch {
                name: name.to_owned(),
                why,
            }),
        }
    }
}

impl TryFrom<String> for BranchName {
    type Error = InvalidBranch;
    fn try_from(name: String) -> Result<Self, InvalidBranch> {
        name.parse()
    }
}

impl From<BranchName> for String {
    fn from(name: BranchName) -> String {
        name.0
    }
}

impl fmt::Display for BranchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_gits_own_rules() {
        for good in [
            "main",
            "env/prod",
            "a.b/c",
            "a./b",
            "kargo/promotion/x.01.y",
            "ü",
        ] {
            assert!(good.parse::<BranchName>().is_ok(), "{good}");
        }
        for bad in [
            "", "-x", "a..b", "a b", "a/", "/a", "a//b", ".a", "a.lock", "a/.b", "@", "a@{1}",
            "a~1", "a\0b", "a.",
        ] {
            assert!(bad.parse::<BranchName>().is_err(), "{bad:?}");
        }
    }
}
