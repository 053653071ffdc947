//! Paths inside a tree or a workspace, safe by construction: no value of [`RepoPath`] leads out or into `.git`.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A relative path in normal form: parts joined by `/`, none of them empty, `.`, `..` or a spelling of `.git`.
///
/// The empty list of parts is the root, written `.`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RepoPath(String);

/// A text that is refused as a path, before anything is accessed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("the path {path:?} is refused: {why}")]
pub struct InvalidPath {
    /// The text as given.
    pub path: String,
    /// The rule that it breaks.
    pub why: &'static str,
}

const ABSOLUTE: &str = "it is absolute, and a path starts at the workspace";
const ESCAPES: &str = "it leaves the workspace";
const DOT_GIT: &str = "`.git` is not part of the workspace, in any spelling";
const NUL: &str = "it contains a NUL character";
const DEEP: &str = "it has more than 512 parts";
const EMPTY: &str = "it is empty; `.` is the root";

/// How deep trees are entered. A hostile repository could be deep enough to exhaust a thread's stack.
pub(super) const MOST_PARTS: usize = 512;

impl RepoPath {
    /// The root, `.`.
    pub const fn root() -> Self {
        Self(String::new())
    }

    /// Reads a path as a step's configuration has it: `./a//b/` is `a/b`, `a/../b` is `b`, `../x` is refused.
    pub fn parse(text: &str) -> Result<Self, InvalidPath> {
        Self::root().follow(text)
    }

    /// Where `text` leads, seen from this directory; `..` may climb as far as the root.
    ///
    /// This is also how the target of a link is read, with the link's directory as `self`.
    pub fn follow(&self, text: &str) -> Result<Self, InvalidPath> {
        let refuse = |why| InvalidPath {
            path: text.to_owned(),
            why,
        };
        if text.is_empty() {
            return Err(refuse(EMPTY));
        }
        if text.starts_with('/') {
            return Err(refuse(ABSOLUTE));
        }
        if text.contains('\0') {
            return Err(refuse(NUL));
        }
        let mut parts: Vec<&str> = self.parts().collect();
        for part in text.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop().ok_or_else(|| refuse(ESCAPES))?;
                }
                _ => {
                    if let Some(why) = unsafe_part(part) {
                        return Err(refuse(why));
                    }
                    parts.push(part);
                }
            }
        }
        if parts.len() > MOST_PARTS {
            Err(refuse(DEEP))
        } else {
            Ok(Self(parts.join("/")))
        }
    }

    /// The parts in order; none for the root.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/').filter(|part| !part.is_empty())
    }

    /// Whether this is `.`.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The directory that it is in; none for the root.
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        Some(Self(
            self.0
                .rsplit_once('/')
                .map_or(String::new(), |(dir, _)| dir.to_owned()),
        ))
    }

    /// The last part; none for the root.
    pub fn name(&self) -> Option<&str> {
        self.parts().next_back()
    }

    /// `other` below this path.
    pub fn join(&self, other: &RepoPath) -> Self {
        if self.is_root() {
            other.clone()
        } else if other.is_root() {
            self.clone()
        } else {
            Self(format!("{}/{}", self.0, other.0))
        }
    }

    /// The entry called `name` in this directory; refused where `name` is not one safe part.
    pub fn child(&self, name: &str) -> Result<Self, InvalidPath> {
        let why = match name {
            "" => Some(EMPTY),
            "." | ".." => Some("it is not the name of an entry"),
            _ if name.contains('/') => Some("a name has no slash"),
            _ if name.contains('\0') => Some(NUL),
            _ if self.parts().count() >= MOST_PARTS => Some(DEEP),
            _ => unsafe_part(name),
        };
        match why {
            Some(why) => Err(InvalidPath {
                path: name.to_owned(),
                why,
            }),
            None if self.is_root() => Ok(Self(name.to_owned())),
            None => Ok(Self(format!("{}/{name}", self.0))),
        }
    }

    /// This path as seen from `dir`; none when it is not `dir` or below it.
    pub fn below(&self, dir: &RepoPath) -> Option<Self> {
        if dir.is_root() {
            return Some(self.clone());
        }
        let rest = self.0.strip_prefix(dir.0.as_str())?;
        if rest.is_empty() {
            Some(Self::root())
        } else {
            rest.strip_prefix('/').map(|rest| Self(rest.to_owned()))
        }
    }

    /// The directories that it lies in, nearest first, ending with the root.
    pub fn ancestors(&self) -> impl Iterator<Item = RepoPath> {
        std::iter::successors(self.parent(), RepoPath::parent)
    }

    /// The path as git writes it in a tree: empty for the root, never `.`.
    pub fn as_git(&self) -> &str {
        &self.0
    }
}

/// Why a part that is neither empty nor `.` nor `..` is refused.
///
/// A backslash separates on Windows, where somebody may check the repository out; so its pieces count as parts.
fn unsafe_part(part: &str) -> Option<&'static str> {
    for piece in part.split('\\') {
        if piece == ".." {
            return Some(ESCAPES);
        }
        if is_dot_git(piece) {
            return Some(DOT_GIT);
        }
    }
    None
}

/// Characters that HFS+ leaves out when it compares names: `.g<U+200C>it` opens `.git` there.
fn ignored_by_hfs(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

/// Whether some file system takes `part` for `.git`: other case, NTFS's short name, stream or trailing dots, HFS+.
fn is_dot_git(part: &str) -> bool {
    let plain: String = part
        .chars()
        .filter(|&c| !ignored_by_hfs(c))
        .map(|c| c.to_ascii_lowercase())
        .collect();
    [".git", "git~1"].iter().any(|name| {
        plain.strip_prefix(name).is_some_and(|rest| {
            let rest = rest.trim_start_matches([' ', '.']);
            rest.is_empty() || rest.starts_with(':')
        })
    })
}

impl FromStr for RepoPath {
    type Err = InvalidPath;
    fn from_str(text: &str) -> Result<Self, InvalidPath> {
        Self::parse(text)
    }
}

impl TryFrom<String> for RepoPath {
    type Error = InvalidPath;
    fn try_from(text: String) -> Result<Self, InvalidPath> {
        Self::parse(&text)
    }
}

impl From<RepoPath> for String {
    fn from(path: RepoPath) -> String {
        path.to_string()
    }
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_root() { "." } else { &self.0 })
    }
}

impl fmt::Debug for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RepoPath({self})")
    }
}

#[cfg(test)]
mod tests;
