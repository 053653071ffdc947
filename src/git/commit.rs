//! Commits: made byte by byte, so that they can carry the header by which a landed one is recognised.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    id::{CommitId, TreeId},
    objects::{Kind, Objects, ObjectsError, oid, typed},
};

/// The header's name. git keeps and ignores headers that it does not know.
const HEADER: &str = "tidewaiter";

/// Who made a commit, and for which step: what `tidewaiter <promotion uid> <step>` in its header says.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HeaderKey {
    /// The Promotion's uid.
    pub promotion_uid: String,
    /// The alias of the step.
    pub step: String,
}

/// An author or committer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// The name; not empty once git's punctuation is taken off.
    pub name: String,
    /// The address; may be empty.
    pub email: String,
}

/// A commit to be made.
#[derive(Clone, Debug)]
pub struct NewCommit<'a> {
    /// None for the first commit of a branch.
    pub parent: Option<&'a CommitId>,
    /// The whole content.
    pub tree: &'a TreeId,
    /// As written; it is cleaned the way `git commit -m` does.
    pub message: &'a str,
    /// Who made the change.
    pub author: &'a Person,
    /// When it was made, in seconds since 1970; written as UTC.
    pub author_time: i64,
    /// Who commits it.
    pub committer: &'a Person,
    /// The mark to find it by.
    pub header: Option<&'a HeaderKey>,
}

/// Why a commit cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// git refuses it as well.
    #[error("the commit message is empty")]
    EmptyMessage,
    /// Nothing is left of the name without `<`, `>` and the punctuation at its ends.
    #[error("{name:?} is not a name that git accepts for an author or committer")]
    UnusableName {
        /// The name as given.
        name: String,
    },
    /// The mark would not be readable again.
    #[error("{text:?} cannot be part of a commit's header")]
    UnusableHeader {
        /// The uid or alias as given.
        text: String,
    },
    /// Parent or tree unreadable, or the commit not written.
    #[error(transparent)]
    Objects(#[from] ObjectsError),
}

/// A commit as it is stored. Lines are kept as bytes, so that making it again elsewhere changes nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The content.
    pub tree: TreeId,
    /// Usually one; none for a first commit.
    pub parents: Vec<CommitId>,
    /// Whose it is, if it is ours.
    pub header: Option<HeaderKey>,
    /// The message, as text.
    pub message: String,
    /// The author's date, in seconds since 1970.
    pub author_time: i64,
    /// The committer's date, in seconds since 1970.
    pub committer_time: i64,
    author_line: Vec<u8>,
    committer_line: Vec<u8>,
    /// Headers after the committer, and the message.
    rest: Vec<u8>,
}

impl fmt::Display for HeaderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.promotion_uid, self.step)
    }
}

impl HeaderKey {
    fn line(&self) -> Result<String, CommitError> {
        for text in [&self.promotion_uid, &self.step] {
            if text.is_empty() || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
                return Err(CommitError::UnusableHeader { text: text.clone() });
            }
        }
        Ok(format!("{HEADER} {self}\n"))
    }

    fn parse(value: &str) -> Option<Self> {
        let (uid, step) = value.split_once(' ')?;
        Some(Self {
            promotion_uid: uid.to_owned(),
            step: step.to_owned(),
        })
    }
}

impl Person {
    /// `name <email>` as git would write it: without what would end the field early, trimmed of punctuation.
    pub(super) fn field(&self) -> Result<String, CommitError> {
        let clean = |text: &str| -> String {
            let kept: String = text
                .chars()
                .filter(|c| !matches!(c, '<' | '>' | '\n' | '\0'))
                .collect();
            let crud = |c: char| {
                c.is_ascii_control() || matches!(c, ' ' | '.' | ',' | ':' | ';' | '"' | '\\' | '\'')
            };
            kept.trim_matches(crud).to_owned()
        };
        let name = clean(&self.name);
        if name.is_empty() {
            return Err(CommitError::UnusableName {
                name: self.name.clone(),
            });
        }
        Ok(format!("{name} <{}>", clean(&self.email)))
    }
}

/// The message as `git commit -m` stores it: no spaces at line ends, no empty lines around it or two in a row.
pub(super) fn cleaned(message: &str) -> Result<String, CommitError> {
    let mut text = String::new();
    let mut blank = false;
    for line in message
        .split('\n')
        .map(|line| line.trim_end_matches(|c: char| c.is_ascii_whitespace()))
    {
        if line.is_empty() {
            blank = true;
            continue;
        }
        if blank && !text.is_empty() {
            text.push('\n');
        }
        blank = false;
        text.extend(line.chars().filter(|&c| c != '\0'));
        text.push('\n');
    }
    if text.is_empty() {
        Err(CommitError::EmptyMessage)
    } else {
        Ok(text)
    }
}

/// The date at the end of an author or committer line.
fn time_of(line: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(line.rsplit(|&b| b == b'>').next()?).ok()?;
    text.split_ascii_whitespace().next()?.parse().ok()
}

impl Commit {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let mut line = |name: &str| -> Option<Vec<u8>> {
            let (head, tail) = rest.split_at_checked(rest.iter().position(|&b| b == b'\n')?)?;
            let value = head.strip_prefix(name.as_bytes())?.strip_prefix(b" ")?;
            rest = tail.get(1..)?;
            Some(value.to_vec())
        };
        let id = |value: Vec<u8>| String::from_utf8(value).ok();
        let tree = id(line("tree")?)?.parse().ok()?;
        let mut parents = Vec::new();
        while let Some(parent) = line("parent") {
            parents.push(id(parent)?.parse().ok()?);
        }
        let (author_line, committer_line) = (line("author")?, line("committer")?);
        let split = rest.windows(2).position(|pair| pair == b"\n\n");
        let (headers, message) = match (rest.first(), split) {
            (Some(b'\n'), _) => (&[][..], rest.get(1..)?),
            (_, Some(at)) => (rest.get(..at)?, rest.get(at + 2..)?),
            _ => (rest, &[][..]),
        };
        let header = headers.split(|&b| b == b'\n').find_map(|header| {
            let value = header.strip_prefix(HEADER.as_bytes())?.strip_prefix(b" ")?;
            HeaderKey::parse(std::str::from_utf8(value).ok()?)
        });
        Some(Self {
            tree,
            parents,
            header,
            message: String::from_utf8_lossy(message).into_owned(),
            author_time: time_of(&author_line)?,
            committer_time: time_of(&committer_line)?,
            author_line,
            committer_line,
            rest: rest.to_vec(),
        })
    }

    /// The committer without the date.
    fn committer(&self) -> &[u8] {
        match self.committer_line.iter().rposition(|&b| b == b'>') {
            Some(end) => self.committer_line.get(..=end).unwrap_or_default(),
            None => &self.committer_line,
        }
    }
}

impl Objects {
    /// Reads a commit.
    pub fn commit(&self, id: &CommitId) -> Result<Commit, ObjectsError> {
        let oid = oid(Kind::Commit, id.as_str())?;
        Commit::parse(&self.read(Kind::Commit, oid)?).ok_or_else(|| {
            ObjectsError::damaged(Kind::Commit, oid, "its bytes are not those of a commit")
        })
    }

    /// Whose commit it is, by its header; none for anybody else's.
    pub fn header_of(&self, id: &CommitId) -> Result<Option<HeaderKey>, ObjectsError> {
        Ok(self.commit(id)?.header)
    }

    /// The tree of a commit; the empty tree where there is no commit yet.
    pub fn tree_of(&self, id: Option<&CommitId>) -> Result<TreeId, ObjectsError> {
        id.map_or_else(|| Ok(TreeId::empty()), |id| Ok(self.commit(id)?.tree))
    }

    /// Stores a commit. The committer's date is the author's, or the parent's if that is later:
    /// an older date on top would make `git log --since` hide what other people committed.
    pub fn make_commit(&self, new: &NewCommit<'_>) -> Result<CommitId, CommitError> {
        let message = cleaned(new.message)?;
        let (author, committer) = (new.author.field()?, new.committer.field()?);
        let header = new
            .header
            .map(HeaderKey::line)
            .transpose()?
            .unwrap_or_default();
        let committed = self.not_before(new.author_time, new.parent)?;
        let parent = new
            .parent
            .map(|id| format!("parent {id}\n"))
            .unwrap_or_default();
        let bytes = format!(
            "tree {}\n{parent}author {author} {} +0000\ncommitter {committer} {committed} +0000\n{header}\n{message}",
            new.tree, new.author_time
        );
        Ok(typed(
            Kind::Commit,
            self.write(Kind::Commit, bytes.as_bytes())?,
        )?)
    }

    /// The same commit with another tree on another parent: author, message and headers byte for byte as they were.
    pub fn make_again(
        &self,
        commit: &Commit,
        parent: Option<&CommitId>,
        tree: &TreeId,
    ) -> Result<CommitId, ObjectsError> {
        let committed = self.not_before(commit.author_time, parent)?;
        let parent = parent
            .map(|id| format!("parent {id}\n"))
            .unwrap_or_default();
        let mut bytes = format!("tree {tree}\n{parent}author ").into_bytes();
        bytes.extend_from_slice(&commit.author_line);
        bytes.extend_from_slice(b"\ncommitter ");
        bytes.extend_from_slice(commit.committer());
        bytes.extend_from_slice(format!(" {committed} +0000\n").as_bytes());
        bytes.extend_from_slice(&commit.rest);
        typed(Kind::Commit, self.write(Kind::Commit, &bytes)?)
    }

    fn not_before(&self, time: i64, parent: Option<&CommitId>) -> Result<i64, ObjectsError> {
        Ok(match parent {
            Some(parent) => time.max(self.commit(parent)?.committer_time),
            None => time,
        })
    }
}

#[cfg(test)]
mod tests;
