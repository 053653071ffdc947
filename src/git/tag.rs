//! Annotated tags: names that git accepts, and the objects, made byte by byte so that the same tag has the same id.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::{
    branch::broken_rule,
    commit::{CommitError, Person, cleaned},
    id::{CommitId, TagId},
    objects::{Kind, Objects, ObjectsError, oid, typed},
};

/// A tag's short name (`v1.2.3`, `env/prod-7`), valid by git's rules for `refs/tags/…`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TagName(String);

/// A text that git would refuse as a tag's name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{name:?} is not a tag's name: {why}")]
pub struct InvalidTag {
    /// The text as given.
    pub name: String,
    /// The first rule that it breaks.
    pub why: &'static str,
}

impl TagName {
    /// The short name, without `refs/tags/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The full ref on the remote.
    pub fn full_ref(&self) -> String {
        format!("refs/tags/{}", self.0)
    }
}

impl FromStr for TagName {
    type Err = InvalidTag;
    fn from_str(name: &str) -> Result<Self, InvalidTag> {
        // `git tag` keeps this one for itself, whatever the rules for refs say.
        let reserved = (name == "HEAD").then_some("the name is reserved");
        match broken_rule(name).or(reserved) {
            None => Ok(Self(name.to_owned())),
            Some(why) => Err(InvalidTag {
                name: name.to_owned(),
                why,
            }),
        }
    }
}

impl TryFrom<String> for TagName {
    type Error = InvalidTag;
    fn try_from(name: String) -> Result<Self, InvalidTag> {
        name.parse()
    }
}

impl From<TagName> for String {
    fn from(name: TagName) -> String {
        name.0
    }
}

impl fmt::Display for TagName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A tag to be made.
#[derive(Clone, Debug)]
pub struct NewTag<'a> {
    /// Its name.
    pub name: &'a TagName,
    /// What it names.
    pub commit: &'a CommitId,
    /// Who makes it.
    pub tagger: &'a Person,
    /// When, in seconds since 1970; written as UTC.
    pub time: i64,
    /// As written; spaces and empty lines are cleaned away as from a commit's. Lines that begin with `#` stay.
    pub message: &'a str,
}

impl Objects {
    /// Stores an annotated tag. Nothing in it but what is given: made again, it has the same id.
    pub fn make_tag(&self, new: &NewTag<'_>) -> Result<TagId, CommitError> {
        let message = match cleaned(new.message) {
            Err(CommitError::EmptyMessage) => String::new(),
            message => message?,
        };
        let bytes = format!(
            "object {}\ntype commit\ntag {}\ntagger {} {} +0000\n\n{message}",
            new.commit,
            new.name,
            new.tagger.field()?,
            new.time
        );
        Ok(typed(Kind::Tag, self.write(Kind::Tag, bytes.as_bytes())?)?)
    }

    /// The same tag on another commit: everything else byte for byte as it was.
    pub fn tag_again(&self, tag: &TagId, commit: &CommitId) -> Result<TagId, ObjectsError> {
        let id = oid(Kind::Tag, tag.as_str())?;
        let old = self.read(Kind::Tag, id)?;
        let rest = old.iter().position(|&byte| byte == b'\n');
        let rest = rest.and_then(|end| old.get(end..)).ok_or_else(|| {
            ObjectsError::damaged(Kind::Tag, id, "its bytes are not those of a tag")
        })?;
        let mut bytes = format!("object {commit}").into_bytes();
        bytes.extend_from_slice(rest);
        typed(Kind::Tag, self.write(Kind::Tag, &bytes)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::{commit::NewCommit, id::TreeId};

    #[test]
    fn names_follow_gits_own_rules() {
        for good in ["v1", "env/prod-7", "a./b", "@", "ü", "v1.2.3+build", "a-"] {
            assert!(good.parse::<TagName>().is_ok(), "{good}");
        }
        for bad in [
            "", "-x", "--force", "HEAD", "a..b", "a b", "a/", "/a", "a//b", ".a", "a.lock", "a/.b",
            "a.lock/b", "a@{1}", "a~1", "a^", "a:b", "a?", "a*", "a[", "a\\b", "a\0b", "a\nb",
            "a\u{7f}", "a.",
        ] {
            assert!(bad.parse::<TagName>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_tag_is_what_git_makes_and_made_again_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let objects = Objects::open_or_create(&dir.path().join("r.git")).unwrap();
        let person = Person {
            name: "Ann".into(),
            email: "ann@example.com".into(),
        };
        let commit = |message: &str| {
            objects
                .make_commit(&NewCommit {
                    parent: None,
                    tree: &TreeId::empty(),
                    message,
                    author: &person,
                    author_time: 1_000,
                    committer: &person,
                    header: None,
                })
                .unwrap()
        };
        let (one, two) = (commit("one"), commit("two"));
        let name: TagName = "v1".parse().unwrap();
        let tag = |commit: &CommitId| {
            NewTag {
                name: &name,
                commit,
                tagger: &person,
                time: 1_700_000_000,
                message: "\n# 1: first  \n\n\nrest",
            }
            .made(&objects)
        };
        let first = tag(&one);
        assert_eq!(first, tag(&one));
        let repo = git2::Repository::open_bare(dir.path().join("r.git")).unwrap();
        let found = repo
            .find_tag(git2::Oid::from_str(first.as_str()).unwrap())
            .unwrap();
        assert_eq!(found.target_id().to_string(), one.as_str());
        assert_eq!(found.message(), Ok(Some("# 1: first\n\nrest\n")));
        assert_eq!(found.tagger().unwrap().when().seconds(), 1_700_000_000);
        assert_eq!(objects.tag_again(&first, &two).unwrap(), tag(&two));
    }

    impl NewTag<'_> {
        fn made(&self, objects: &Objects) -> TagId {
            objects.make_tag(self).unwrap()
        }
    }
}
