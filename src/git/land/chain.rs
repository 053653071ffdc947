//! Placing the members of a batch, one on the other.

use std::time::Instant;

use tokio::{task::JoinHandle, time::sleep_until};

use super::{
    LandError, LandProgress, NotPlaced, Placed,
    queue::{Entry, Queue},
};
use crate::git::{
    branch::BranchName,
    id::CommitId,
    mirror::{FetchError, RemoteTip, history},
};

/// A member that goes with the push.
pub struct Link {
    pub entry: Entry,
    /// Its own head; for a no-op, what it stands on.
    pub head: CommitId,
    /// None for a no-op.
    pub commits: usize,
}

/// A batch, placed.
pub struct Chain {
    pub links: Vec<Link>,
    /// Members that could not stand on this chain. That is final once what they would have stood on
    /// has landed; otherwise they try again without it.
    pub deferred: Vec<(Entry, LandError)>,
    /// Members for whom there was no room.
    pub left: Vec<Entry>,
    /// The last commit; `None` while nothing is to be pushed.
    pub head: Option<CommitId>,
    pub commits: usize,
}

/// Places all of them on `tip`. Members that are called back or out of time leave on the way.
pub async fn build(queue: &Queue, batch: Vec<Entry>, tip: &RemoteTip) -> Chain {
    let mut chain = Chain {
        links: Vec::new(),
        deferred: Vec::new(),
        left: Vec::new(),
        head: None,
        commits: 0,
    };
    for mut entry in batch {
        if chain.commits >= queue.settings.batch.max(1) {
            chain.left.push(entry);
            continue;
        }
        let below = chain.head.as_ref().or(tip.commit()).cloned();
        entry.tell(LandProgress::Placing);
        let round = entry.rounds;
        entry.rounds += 1;
        match place(&entry, below.clone(), round).await {
            Attempt::Done(result) => match accept(&mut entry, result, below.as_ref()).await {
                Ok((head, commits)) => chain.add(entry, head, commits),
                Err(error) if chain.head.is_some() => chain.deferred.push((entry, error)),
                Err(error) => entry.resolve(Err(error)),
            },
            Attempt::CalledBack => {}
            Attempt::Late => {
                entry
                    .ticket
                    .note("putting the commits onto the branch took too long");
                entry.exhaust();
            }
        }
    }
    chain
}

impl Chain {
    fn add(&mut self, entry: Entry, head: CommitId, commits: usize) {
        if commits > 0 {
            self.head = Some(head.clone());
            self.commits += commits;
        }
        self.links.push(Link {
            entry,
            head,
            commits,
        });
    }
}

enum Attempt {
    Done(Result<Placed, NotPlaced>),
    CalledBack,
    Late,
}

/// Ends the member's task with the wait for it.
struct Task(JoinHandle<Result<Placed, NotPlaced>>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// In a task of its own: a panic in a member is that member's failure.
async fn place(entry: &Entry, tip: Option<CommitId>, round: u32) -> Attempt {
    if entry.ticket.until <= Instant::now() {
        return Attempt::Late;
    }
    let member = std::sync::Arc::clone(&entry.request.member);
    let mut task = Task(tokio::spawn(async move {
        member.place(tip.as_ref(), round).await
    }));
    tokio::select! {
        done = &mut task.0 => Attempt::Done(done.unwrap_or_else(|e| Err(NotPlaced::Failed(Box::new(e))))),
        () = entry.ticket.cancelled.notified() => Attempt::CalledBack,
        () = sleep_until(entry.ticket.until.into()) => Attempt::Late,
    }
}

/// A member's commits do not stand where they should.
#[derive(Debug, thiserror::Error)]
#[error("its commits do not stand on the tip that they were to be placed on")]
struct Misplaced;

/// The branch is absent and the member adds nothing to create it with.
#[derive(Debug, thiserror::Error)]
#[error("there is nothing to create the branch with")]
struct Nothing;

/// Checks what the member says: a lease turns off the server's own fast-forward check.
async fn accept(
    entry: &mut Entry,
    result: Result<Placed, NotPlaced>,
    below: Option<&CommitId>,
) -> Result<(CommitId, usize), LandError> {
    let branch = entry.request.branch.clone();
    let failed = |branch: BranchName, source: Box<dyn std::error::Error + Send + Sync>| {
        LandError::Member { branch, source }
    };
    match result {
        Ok(Placed::NoOp) => match below {
            Some(tip) => Ok((tip.clone(), 0)),
            None => Err(failed(branch, Box::new(Nothing))),
        },
        Ok(Placed::Commits { commits, replayed }) => {
            let mirror = &entry.request.mirror;
            if replayed {
                entry.replays += 1;
                mirror.remote.git.counters().replay();
            }
            let Some(head) = commits.last().cloned() else {
                return Err(failed(branch, Box::new(Misplaced)));
            };
            let (count, below) = (commits.len(), below.cloned());
            let stands = mirror
                .in_objects("checking a chain", move |repository| {
                    history::stands_on(repository, &commits, below.as_ref())
                })
                .await;
            match stands {
                Ok(true) => Ok((head, count)),
                Ok(false) => Err(failed(branch, Box::new(Misplaced))),
                Err(source) => Err(LandError::Remote {
                    branch,
                    source: FetchError::from(source),
                }),
            }
        }
        Err(NotPlaced::Conflict { paths, message }) => Err(LandError::Conflict {
            branch,
            paths,
            message,
        }),
        Err(NotPlaced::Failed(source)) => Err(failed(branch, source)),
    }
}
