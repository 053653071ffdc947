//! Pushes that overwrite: branches that belong to one promotion, as Kargo's `generateTargetBranch`.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    LandBudget, LandError, Landed, Landers,
    outcome::{in_the_way, tries},
    pause,
};
use crate::git::{
    branch::BranchName,
    id::CommitId,
    mirror::{FetchError, Mirror, RemoteTip},
    transport::{Expected, Push, PushAnswer, RefRefusal},
};

/// A commit that a branch is to be at, whatever it is at now.
pub struct ForceRequest {
    /// Where its objects are, and by whose credential it is pushed.
    pub mirror: Arc<Mirror>,
    /// The branch on the remote; created where it is absent.
    pub branch: BranchName,
    /// The commit.
    pub head: CommitId,
    /// Only where the branch is absent: what others put there first is not overwritten.
    pub only_new: bool,
    /// When to give up.
    pub budget: LandBudget,
}

impl Landers {
    /// Puts the branch at the commit, or makes it there. No queue, no batch: each push states the value that it
    /// overwrites, so that nothing unseen is lost between looking and pushing. Dropping the future
    /// ends a push under way.
    pub async fn force(&self, request: ForceRequest) -> Result<Landed, LandError> {
        let ForceRequest {
            mirror,
            branch,
            head,
            only_new,
            budget,
        } = request;
        let since = Instant::now();
        let (mut attempts, mut troubles) = (0, 0);
        let mut fresh = false;
        loop {
            let error = match attempt(
                &mirror,
                &branch,
                &head,
                only_new,
                self.settings.tip_age,
                fresh,
                &mut attempts,
            )
            .await
            {
                Ok(Step::Landed) => {
                    return Ok(Landed {
                        head,
                        attempts,
                        replays: 0,
                        noop: false,
                    });
                }
                Ok(Step::Ended(error)) => return Err(error),
                Ok(Step::Again(words)) => Again::Race(words),
                Err(FetchError::Remote(e)) if troubles + 1 < tries(e.trouble) => {
                    troubles += 1;
                    Again::Trouble(e.into())
                }
                Err(source) => return Err(LandError::Remote { branch, source }),
            };
            fresh = true;
            let (base, earlier) = if matches!(error, Again::Race(_)) {
                (20, attempts)
            } else {
                (500, troubles)
            };
            let wait = pause(
                Duration::from_millis(base),
                earlier,
                Duration::from_secs(30),
            );
            if attempts >= budget.max_attempts || since.elapsed() + wait > budget.time {
                return Err(match error {
                    Again::Trouble(source) => LandError::Remote { branch, source },
                    Again::Race(last) => LandError::BudgetExhausted {
                        branch,
                        attempts,
                        seconds: since.elapsed().as_secs(),
                        last,
                    },
                });
            }
            tokio::time::sleep(wait).await;
        }
    }
}

enum Again {
    Race(String),
    Trouble(FetchError),
}

enum Step {
    Landed,
    Again(String),
    Ended(LandError),
}

async fn attempt(
    mirror: &Arc<Mirror>,
    branch: &BranchName,
    head: &CommitId,
    only_new: bool,
    tip_age: Duration,
    fresh: bool,
    attempts: &mut u32,
) -> Result<Step, FetchError> {
    let remembered = mirror.recent_tip(branch, tip_age).filter(|_| !fresh);
    let (tip, fresh) = match remembered {
        Some(tip) => (tip, false),
        None => (
            mirror
                .fetch(std::slice::from_ref(branch))
                .await?
                .get(branch),
            true,
        ),
    };
    let expected = match &tip {
        // Only fresh knowledge can say that there is nothing to do.
        RemoteTip::At(tip) if fresh && tip == head => return Ok(Step::Landed),
        RemoteTip::At(_) if only_new => {
            return Ok(Step::Ended(LandError::Exists {
                branch: branch.clone(),
            }));
        }
        RemoteTip::At(tip) => Expected::At(tip),
        RemoteTip::Absent => Expected::Absent,
    };
    *attempts += 1;
    match mirror
        .remote
        .push(
            mirror.path(),
            &Push {
                target: branch.full_ref(),
                object: head.as_str(),
                expected,
            },
        )
        .await?
    {
        PushAnswer::Landed { .. } => {
            mirror.remote.git.counters().landed(1);
            mirror.pushed(branch, head).await?;
            Ok(Step::Landed)
        }
        PushAnswer::NotUpdated { reason, words } => {
            if tip == RemoteTip::Absent
                && let Some(in_the_way) = in_the_way(mirror, branch).await?
            {
                return Ok(Step::Ended(LandError::NameCollision {
                    branch: branch.clone(),
                    in_the_way,
                }));
            }
            if reason == RefRefusal::LostRace {
                mirror.remote.git.counters().lost_race();
                return Ok(Step::Again(words));
            }
            mirror.remote.git.counters().refusal();
            Ok(Step::Ended(LandError::Refused {
                branch: branch.clone(),
                words,
            }))
        }
    }
}
