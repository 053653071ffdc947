//! Landing: getting commits onto a remote branch, whoever else pushes there.
//!
//! One queue per (repository, branch). While a push is under way the next batch gathers; a batch is
//! placed in a chain, one member on the other, and pushed once, stating the tip that it was built on.
//! Files: `queue` (who waits, who goes next), `round` (one batch, one push), `chain` (placing),
//! `outcome` (what the answer means for each member), `force` (pushes that overwrite), `tag` (tags, which are made once), `fact` (has it landed?).
//!
//! Nothing here knows rebase or promotions: a [`Member`] puts itself onto a tip.

use std::{
    collections::HashMap,
    error::Error,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use tokio::{sync::watch, time::sleep_until};

use super::{
    branch::BranchName,
    id::CommitId,
    mirror::{FetchError, Mirror, locked},
    transport::Trouble,
};
pub use crate::git::mirror::HeaderKey;

mod chain;
mod fact;
mod force;
mod outcome;
mod queue;
mod round;
mod tag;

pub use fact::already_landed;
pub use force::ForceRequest;
use queue::{Queue, QueueKey, Ticket};
pub use tag::{TagError, TagRequest, Tagged};

/// Somebody's commits on their way to a branch.
#[async_trait]
pub trait Member: Send + Sync + 'static {
    /// Puts itself onto `tip`: rebased where that is sound, replayed otherwise. `None`: the branch does
    /// not exist and may be created. `round` counts from 0. May be called again after a lost race, and
    /// with a tip that is another member's commit and not on the remote yet.
    async fn place(&self, tip: Option<&CommitId>, round: u32) -> Result<Placed, NotPlaced>;
}

/// A member stands on the tip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placed {
    /// With these commits, in the mirror's objects.
    Commits {
        /// Oldest first; the first stands on the tip, the last is the new head.
        commits: Vec<CommitId>,
        /// Its steps ran again, instead of a rebase.
        replayed: bool,
    },
    /// The tip has it already, or nothing is left to do.
    NoOp,
}

/// A member cannot stand on the tip.
#[derive(Debug, thiserror::Error)]
pub enum NotPlaced {
    /// The tip changed the same things in another way.
    #[error("{message}")]
    Conflict {
        /// Which, as far as known.
        paths: Vec<String>,
        /// For people: the paths, both commits, the branch.
        message: String,
    },
    /// Something else went wrong in it.
    #[error(transparent)]
    Failed(Box<dyn Error + Send + Sync>),
}

/// How long and how often to try.
#[derive(Clone, Copy, Debug)]
pub struct LandBudget {
    /// Pushes that may be lost to others, at least 1.
    pub max_attempts: u32,
    /// Time in all, waiting included; a day at most.
    pub time: Duration,
}

impl LandBudget {
    /// The end of it, counted from now. More than a day is no budget, and overflows clocks.
    fn until(&self) -> Instant {
        Instant::now() + self.time.min(Duration::from_secs(86_400))
    }
}

impl Default for LandBudget {
    fn default() -> Self {
        Self {
            max_attempts: 50,
            time: Duration::from_secs(300),
        }
    }
}

/// What is to land, and where.
pub struct LandRequest {
    /// Where the member's objects are, and by whose credential it is pushed.
    pub mirror: Arc<Mirror>,
    /// The branch on the remote.
    pub branch: BranchName,
    /// The branch may be created.
    pub create: bool,
    /// What the member's last commit is marked with.
    pub header: HeaderKey,
    /// When to give up.
    pub budget: LandBudget,
    /// Who puts itself onto the tip.
    pub member: Arc<dyn Member>,
    /// Told how it goes.
    pub progress: Option<watch::Sender<LandProgress>>,
}

/// How far a request is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LandProgress {
    /// Not in a queue yet.
    #[default]
    New,
    /// So many are served no later than it; counts from 1.
    Queued {
        /// 1 is next.
        position: usize,
        /// All that wait.
        of: usize,
    },
    /// Being put onto the tip.
    Placing,
    /// The push is under way and cannot be called back.
    Pushing,
}

/// It is on the branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Landed {
    /// This member's own commit on the branch; for a no-op, the tip that has it already.
    pub head: CommitId,
    /// Pushes that it took part in.
    pub attempts: u32,
    /// Times that its steps ran again.
    pub replays: u32,
    /// Nothing of its own was pushed.
    pub noop: bool,
}

/// Why it did not land. Nothing of it is on the branch, unless said otherwise.
#[derive(Debug, thiserror::Error)]
pub enum LandError {
    /// A rule of the server. Trying again will not help.
    #[error("the server refused the push to {branch}: {words}")]
    Refused {
        /// The branch.
        branch: BranchName,
        /// What the server said, redacted.
        words: String,
    },
    /// The branch changed the same things in another way. Trying again will not help.
    #[error("{message}")]
    Conflict {
        /// The branch.
        branch: BranchName,
        /// The paths that both changed.
        paths: Vec<String>,
        /// As the member words it.
        message: String,
    },
    /// The branch is not on the remote, and may not be created.
    #[error("branch {branch} does not exist in {url}")]
    BranchDeleted {
        /// The branch.
        branch: BranchName,
        /// Redacted.
        url: String,
    },
    /// It was to be made, and somebody else has made it first. Nothing of theirs was touched.
    #[error("branch {branch} exists already")]
    Exists {
        /// The branch.
        branch: BranchName,
    },
    /// The branch cannot be created beside another one: `env` and `env/prod` exclude each other.
    #[error("branch {branch} cannot be created while branch {in_the_way} exists")]
    NameCollision {
        /// The branch.
        branch: BranchName,
        /// The branch on the remote that excludes it.
        in_the_way: String,
    },
    /// The remote could not be reached, or did not let us in: see [`LandError::trouble`]. Where a
    /// push was cut off, the commit may be on the branch: [`already_landed`] tells.
    #[error("landing on {branch} failed")]
    Remote {
        /// The branch.
        branch: BranchName,
        /// What went wrong last.
        #[source]
        source: FetchError,
    },
    /// Others were faster too often, or the time is over.
    #[error("did not land on {branch} within {attempts} pushes and {seconds} s: {last}")]
    BudgetExhausted {
        /// The branch.
        branch: BranchName,
        /// Pushes that it took part in.
        attempts: u32,
        /// Seconds since the request.
        seconds: u64,
        /// The last real reason.
        last: String,
    },
    /// The member failed in itself.
    #[error("putting the commits onto {branch} failed")]
    Member {
        /// The branch.
        branch: BranchName,
        /// Why.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The process is ending, or the queue broke.
    #[error("landing on {branch} was interrupted")]
    Interrupted {
        /// The branch.
        branch: BranchName,
    },
}

impl LandError {
    /// The kind of a remote's fault, where it is one.
    pub fn trouble(&self) -> Option<Trouble> {
        match self {
            Self::Remote {
                source: FetchError::Remote(error),
                ..
            } => Some(error.trouble),
            Self::Remote {
                source: FetchError::Mirror(_),
                ..
            } => Some(Trouble::Damaged),
            _ => None,
        }
    }
}

/// What all queues share.
#[derive(Clone, Copy, Debug)]
pub struct LandSettings {
    /// Commits in one push at most, at least one member; 1 where server hooks must see each alone.
    pub batch: usize,
    /// How old the knowledge of a tip may be for a push to be built on it without asking.
    pub tip_age: Duration,
}

impl Default for LandSettings {
    fn default() -> Self {
        Self {
            batch: 100,
            tip_age: Duration::from_secs(15),
        }
    }
}

/// All queues of this process.
#[derive(Default)]
pub struct Landers {
    settings: LandSettings,
    queues: Mutex<HashMap<QueueKey, Arc<Queue>>>,
}

impl Landers {
    /// No queues yet.
    pub fn new(settings: LandSettings) -> Self {
        Self {
            settings,
            queues: Mutex::default(),
        }
    }

    /// Lands it. Until its push is under way, dropping the future takes it out of the queue; after
    /// that the push is finished all the same.
    pub async fn land(&self, request: LandRequest) -> Result<Landed, LandError> {
        let queue = {
            let mut queues = locked(&self.queues);
            let key = QueueKey::of(&request);
            Arc::clone(
                queues
                    .entry(key)
                    .or_insert_with(|| Arc::new(Queue::new(self.settings))),
            )
        };
        let branch = request.branch.clone();
        let (ticket, mut result) = Queue::join(&queue, request);
        let leaving = Leaving {
            queue: &queue,
            ticket: &ticket,
        };
        let ended = tokio::select! {
            ended = &mut result => ended,
            () = sleep_until(ticket.until.into()) => {
                if ticket.cancel() {
                    return Err(ticket.exhausted(branch));
                }
                // Its push is under way: the outcome is what counts.
                result.await
            }
        };
        drop(leaving);
        ended.unwrap_or(Err(LandError::Interrupted { branch }))
    }

    /// How many wait or are being landed, per queue: `(repository, branch, how many)`, for the console.
    pub fn lengths(&self) -> Vec<(String, BranchName, usize)> {
        let queues = locked(&self.queues);
        let mut lengths: Vec<_> = queues
            .iter()
            .map(|(key, queue)| (key.repository.clone(), key.branch.clone(), queue.len()))
            .filter(|(_, _, length)| *length > 0)
            .collect();
        lengths.sort();
        lengths
    }
}

/// Takes a request out of its queue when nobody waits for it any more.
struct Leaving<'a> {
    queue: &'a Queue,
    ticket: &'a Ticket,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if self.ticket.cancel() {
            self.queue.leave(self.ticket);
        }
    }
}

/// A pause of about `base`, doubled for each earlier one, within half and one and a half of that.
fn pause(base: Duration, earlier: u32, most: Duration) -> Duration {
    let full = base.saturating_mul(1 << earlier.min(16)).min(most);
    // Without random numbers the middle will do.
    let random = getrandom::u32().unwrap_or(u32::MAX / 2);
    full.mul_f64(0.5 + f64::from(random) / f64::from(u32::MAX))
}
