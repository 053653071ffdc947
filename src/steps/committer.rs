//! Who a commit is by, as git-clone and git-commit take it.

use serde::Deserialize;

use super::schema::unless_empty;
use crate::{
    engine::step::{Person, StepError},
    git::commit,
};

/// The `author` of a configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthorConfig {
    name: String,
    email: String,
    #[serde(default, deserialize_with = "unless_empty")]
    signing_key: Option<String>,
}

impl AuthorConfig {
    /// The person; refused where commits are to be signed, since unsigned ones are not what was asked for.
    pub fn person(&self) -> Result<Person, StepError> {
        match self.signing_key {
            None => Ok(Person {
                name: self.name.clone(),
                email: self.email.clone(),
            }),
            Some(_) => Err(
                StepError::config("author.signingKey: commits cannot be signed")
                    .hint("Leave signingKey out, or let the server sign"),
            ),
        }
    }
}

/// The same for git.
pub fn for_git(person: &Person) -> commit::Person {
    commit::Person {
        name: person.name.clone(),
        email: person.email.clone(),
    }
}
