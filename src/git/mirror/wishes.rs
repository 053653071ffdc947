//! Many wishes, one fetch: whoever asks while a fetch is under way is served by the next one, so
//! that every answer is of a moment after its question. Fetches keep a distance from each other, in
//! which wishes gather.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use tokio::{sync::watch, time::Instant};

use super::{FetchError, FetchedTips, Mirror, RemoteTip, book, locked};
use crate::git::branch::BranchName;

type Answer = Option<Result<FetchedTips, FetchError>>;

/// The round that gathers, and whether a worker is there to take it.
#[derive(Debug, Default)]
pub struct Wishes {
    next: Option<Round>,
    working: bool,
    /// Before this, wishes are gathered: a crowd that comes one by one shares a fetch.
    rest: Option<Instant>,
}

/// How long to gather after a fetch that took `took`: a slow remote is asked more seldom.
fn rest_after(took: Duration) -> Duration {
    (took * 4).clamp(Duration::from_millis(50), Duration::from_millis(500))
}

#[derive(Debug)]
struct Round {
    branches: BTreeSet<BranchName>,
    answer: watch::Sender<Answer>,
}

pub async fn fetch(
    mirror: &Arc<Mirror>,
    branches: &[BranchName],
) -> Result<FetchedTips, FetchError> {
    let mut answer = {
        let mut wishes = locked(&mirror.wishes);
        let round = wishes.next.get_or_insert_with(|| Round {
            branches: BTreeSet::new(),
            answer: watch::Sender::new(None),
        });
        round.branches.extend(branches.iter().cloned());
        let answer = round.answer.subscribe();
        if !wishes.working {
            wishes.working = true;
            tokio::spawn(work(Arc::clone(mirror)));
        }
        answer
    };
    let tips = match answer.wait_for(Option::is_some).await {
        Ok(answer) => answer.clone(),
        Err(_) => None,
    };
    let all = tips.unwrap_or(Err(FetchError::Mirror(Arc::new(
        super::MirrorError::Interrupted { doing: "fetching" },
    ))))?;
    Ok(branches
        .iter()
        .map(|branch| (branch.clone(), all.get(branch)))
        .collect())
}

/// Ends the round that nobody will take, should the worker end by a panic.
struct Working {
    mirror: Arc<Mirror>,
    in_order: bool,
}

impl Drop for Working {
    fn drop(&mut self) {
        if !self.in_order {
            let mut wishes = locked(&self.mirror.wishes);
            wishes.working = false;
            wishes.next = None;
        }
    }
}

async fn work(mirror: Arc<Mirror>) {
    let mut working = Working {
        mirror: Arc::clone(&mirror),
        in_order: false,
    };
    loop {
        let rest = locked(&mirror.wishes).rest;
        if let Some(end) = rest {
            tokio::time::sleep_until(end).await;
        }
        let round = {
            let mut wishes = locked(&mirror.wishes);
            let next = wishes.next.take();
            wishes.working = next.is_some();
            working.in_order = next.is_none();
            next
        };
        let Some(round) = round else { return };
        let began = Instant::now();
        let result = mirror.round(&round.branches).await;
        let rest = Instant::now() + rest_after(began.elapsed());
        locked(&mirror.wishes).rest = Some(rest);
        round.answer.send_replace(Some(result));
        if let Err(error) = mirror.maintain().await {
            tracing::warn!(mirror = %mirror.key, %error, "maintenance failed");
        }
    }
}

impl Mirror {
    async fn round(&self, branches: &BTreeSet<BranchName>) -> Result<FetchedTips, FetchError> {
        let _depth = self.depth.lock().await;
        let began = locked(&self.book).begin();
        let found = self.bring(branches).await?;
        self.believe(found, began).await
    }

    /// Enters what a fetch found; where a push meanwhile taught better, the ref follows the push.
    async fn believe(
        &self,
        found: Vec<(BranchName, RemoteTip)>,
        began: u64,
    ) -> Result<FetchedTips, FetchError> {
        let mut overtaken = Vec::new();
        let tips = {
            let mut book = locked(&self.book);
            let mut believe = |(branch, tip): (BranchName, RemoteTip)| {
                let holds = book.learnt_by_fetch(&branch, tip.clone(), began);
                if holds != tip {
                    overtaken.push((branch.clone(), holds.clone()));
                }
                (branch, holds)
            };
            found.into_iter().map(&mut believe).collect()
        };
        if !overtaken.is_empty() {
            self.in_objects("noting a push", move |repository| {
                overtaken
                    .iter()
                    .try_for_each(|(branch, tip)| book::set_ref(repository, branch, tip.commit()))
            })
            .await?;
        }
        Ok(tips)
    }
}
