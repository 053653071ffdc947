//! Tags: made on the remote once, never moved. Each push states that the tag is not there; whether it is, and whether
//! it is ours, is asked of the remote.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{LandBudget, outcome::tries, pause};
use crate::git::{
    id::TagId,
    mirror::{FetchError, Mirror},
    tag::TagName,
    transport::{Expected, Push, PushAnswer, RefRefusal, RemoteError},
};

/// A tag that is to be on the remote.
pub struct TagRequest {
    /// Where its object is, and by whose credential it is pushed.
    pub mirror: Arc<Mirror>,
    /// Its name.
    pub name: TagName,
    /// Its object.
    pub tag: TagId,
    /// Whether it may be there already, from a push that nobody knows the end of.
    pub ask_first: bool,
    /// When to give up.
    pub budget: LandBudget,
}

/// The tag is on the remote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tagged {
    /// Pushes that were made.
    pub attempts: u32,
    /// An earlier push had put it there.
    pub already: bool,
}

/// Why it is not there. Nothing of it is, unless said otherwise.
#[derive(Debug, thiserror::Error)]
pub enum TagError {
    /// Another tag has the name, and is not moved.
    #[error("{url} has a tag {name} already, at {theirs}, and this one would be {ours}")]
    Exists {
        /// The name.
        name: TagName,
        /// Redacted.
        url: String,
        /// The object that the remote's tag is at.
        theirs: String,
        /// The object that was to be pushed.
        ours: TagId,
    },
    /// A rule of the server.
    #[error("the server refused the tag {name}: {words}")]
    Refused {
        /// The name.
        name: TagName,
        /// What the server said, redacted.
        words: String,
    },
    /// It cannot be beside another one: `v1` and `v1/rc` exclude each other.
    #[error("tag {name} cannot be made while tag {in_the_way} exists")]
    NameCollision {
        /// The name.
        name: TagName,
        /// The tag on the remote that excludes it.
        in_the_way: String,
    },
    /// The remote could not be reached, or did not let us in. Where a push was cut off, the tag may be there.
    #[error("pushing the tag {name} failed")]
    Remote {
        /// The name.
        name: TagName,
        /// What went wrong last.
        #[source]
        source: FetchError,
    },
    /// The time or the number of pushes is over.
    #[error("the tag {name} was not taken within {attempts} pushes: {last}")]
    BudgetExhausted {
        /// The name.
        name: TagName,
        /// Pushes that were made.
        attempts: u32,
        /// The last real reason.
        last: String,
    },
}

/// What follows from one look or push.
enum Next {
    Done(Tagged),
    Ended(TagError),
    Again(String),
}

impl super::Landers {
    /// Puts the tag on the remote. Dropping the future ends a push under way.
    pub async fn tag(&self, request: TagRequest) -> Result<Tagged, TagError> {
        let since = Instant::now();
        let (mut attempts, mut troubles, mut races) = (0, 0, 0);
        let mut ask = request.ask_first;
        loop {
            let (last, wait) = match attempt(&request, ask, &mut attempts).await {
                Ok(Next::Done(tagged)) => return Ok(tagged),
                Ok(Next::Ended(error)) => return Err(error),
                Ok(Next::Again(words)) => {
                    races += 1;
                    (Err(words), wait(20, races))
                }
                Err(error) if troubles + 1 < tries(error.trouble) => {
                    troubles += 1;
                    (Ok(error), wait(500, troubles))
                }
                Err(error) => return Err(remote(&request, error)),
            };
            ask = true;
            if attempts >= request.budget.max_attempts
                || since.elapsed() + wait > request.budget.time
            {
                return Err(match last {
                    Ok(error) => remote(&request, error),
                    Err(last) => TagError::BudgetExhausted {
                        name: request.name,
                        attempts,
                        last,
                    },
                });
            }
            tokio::time::sleep(wait).await;
        }
    }
}

fn wait(base: u64, earlier: u32) -> Duration {
    pause(
        Duration::from_millis(base),
        earlier,
        Duration::from_secs(30),
    )
}

fn remote(request: &TagRequest, error: RemoteError) -> TagError {
    TagError::Remote {
        name: request.name.clone(),
        source: error.into(),
    }
}

async fn attempt(request: &TagRequest, ask: bool, attempts: &mut u32) -> Result<Next, RemoteError> {
    let remote = &request.mirror.remote;
    if ask && let Some(next) = look(request, *attempts).await? {
        return Ok(next);
    }
    *attempts += 1;
    let push = Push {
        target: request.name.full_ref(),
        object: request.tag.as_str(),
        expected: Expected::Absent,
    };
    let words = match remote.push(request.mirror.path(), &push).await? {
        PushAnswer::Landed { already } => {
            return Ok(Next::Done(Tagged {
                attempts: *attempts,
                already,
            }));
        }
        PushAnswer::NotUpdated { reason, words } => {
            if let Some(next) = look(request, *attempts).await? {
                return Ok(next);
            }
            if reason != RefRefusal::LostRace {
                remote.git.counters().refusal();
                let name = request.name.clone();
                return Ok(Next::Ended(TagError::Refused { name, words }));
            }
            remote.git.counters().lost_race();
            words
        }
    };
    Ok(match in_the_way(request).await? {
        Some(in_the_way) => Next::Ended(TagError::NameCollision {
            name: request.name.clone(),
            in_the_way,
        }),
        None => Next::Again(words),
    })
}

/// What the remote's tag of that name says; none where there is none.
async fn look(request: &TagRequest, attempts: u32) -> Result<Option<Next>, RemoteError> {
    let Some(found) = request.mirror.remote_tag(&request.name).await? else {
        return Ok(None);
    };
    Ok(Some(if found.at.as_str() == request.tag.as_str() {
        Next::Done(Tagged {
            attempts,
            already: true,
        })
    } else {
        Next::Ended(TagError::Exists {
            name: request.name.clone(),
            url: request.mirror.url().to_string(),
            theirs: found.at.to_string(),
            ours: request.tag.clone(),
        })
    }))
}

/// The tag on the remote that excludes this name: `v1` or `v1/rc/2` for `v1/rc`.
async fn in_the_way(request: &TagRequest) -> Result<Option<String>, RemoteError> {
    let full = request.name.full_ref();
    let parents = full.match_indices('/').skip(2);
    let parents = parents.filter_map(|(at, _)| full.get(..at).map(str::to_owned));
    let patterns = parents.chain([format!("{full}/*")]).collect();
    let there = request
        .mirror
        .remote
        .tags(request.mirror.path(), patterns)
        .await?;
    let excludes = |name: &&String| {
        full.starts_with(&format!("{name}/")) || name.starts_with(&format!("{full}/"))
    };
    Ok(there
        .iter()
        .find(excludes)
        .and_then(|name| name.strip_prefix("refs/tags/"))
        .map(str::to_owned))
}
