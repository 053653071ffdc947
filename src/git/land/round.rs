//! One round of a queue: a tip, a chain on it, one push.

use std::time::Duration;

use super::{
    LandError, LandProgress, chain,
    chain::Chain,
    fact, outcome, pause,
    queue::{Entry, Queue},
};
use crate::git::{
    branch::BranchName,
    mirror::{FetchError, Mirror, RemoteTip},
    transport::{Expected, Push, PushAnswer, RemoteError, Trouble},
};

/// How often the same push is sent again at once after an answer that never came.
const REPEATS: u32 = 2;

/// Serves one batch. Every entry is resolved or back in the queue afterwards.
pub async fn run(queue: &Queue, batch: Vec<Entry>) {
    let Some(first) = batch.first() else { return };
    let (mirror, branch) = (
        std::sync::Arc::clone(&first.request.mirror),
        first.request.branch.clone(),
    );
    let tip = match tip(queue, &mirror, &branch, &batch).await {
        Ok(tip) => tip,
        Err(error) => return outcome::after_trouble(queue, batch, &error),
    };
    let batch = match settle_unsure(&mirror, &branch, batch, &tip).await {
        Ok(batch) => batch,
        Err((batch, error)) => return outcome::after_trouble(queue, batch, &error),
    };
    let batch = without_forbidden_creation(&mirror, batch, &tip);
    let chain = chain::build(queue, batch, &tip).await;
    let Some(head) = chain.head.clone() else {
        return outcome::nothing_to_push(queue, chain);
    };
    let Some(chain) = begin(queue, chain) else {
        return;
    };

    let expected = match &tip {
        RemoteTip::At(id) => Expected::At(id),
        RemoteTip::Absent => Expected::Absent,
    };
    let push = Push {
        target: branch.full_ref(),
        object: head.as_str(),
        expected,
    };
    let answer = send(&mirror, &push, &chain).await;
    let pushed = outcome::Pushed {
        queue,
        mirror: &mirror,
        branch: &branch,
        tip: &tip,
    };
    match answer {
        Ok(PushAnswer::Landed { .. }) => pushed.landed(chain, &head).await,
        Ok(PushAnswer::NotUpdated { reason, words }) => {
            pushed.not_updated(chain, reason, &words).await
        }
        Err(error) => pushed.without_answer(chain, error),
    }
}

/// Known from our last push or a recent fetch, else one fetch.
async fn tip(
    queue: &Queue,
    mirror: &std::sync::Arc<Mirror>,
    branch: &BranchName,
    batch: &[Entry],
) -> Result<RemoteTip, FetchError> {
    let recent = mirror.recent_tip(branch, queue.settings.tip_age);
    let overtaken = queue
        .landed_elsewhere(mirror.key())
        .is_some_and(|head| recent != Some(RemoteTip::At(head)));
    let unsure = batch.iter().any(|entry| entry.unsure.is_some());
    // "It does not exist" ends requests, so it has to be fresh.
    let forbids =
        recent == Some(RemoteTip::Absent) && batch.iter().any(|entry| !entry.request.create);
    match recent {
        Some(tip) if !overtaken && !unsure && !forbids => Ok(tip),
        _ => Ok(mirror
            .fetch(std::slice::from_ref(branch))
            .await?
            .get(branch)),
    }
}

/// Entries whose push ended without an answer may be on the branch.
async fn settle_unsure(
    mirror: &Mirror,
    branch: &BranchName,
    batch: Vec<Entry>,
    tip: &RemoteTip,
) -> Result<Vec<Entry>, (Vec<Entry>, FetchError)> {
    let RemoteTip::At(tip) = tip else {
        return Ok(batch);
    };
    let mut batch = batch;
    // Each turn settles at least the entry that it was made for.
    while let Some(before) = batch.iter().find_map(|entry| entry.unsure.clone()) {
        let wanted = outcome::headers(&batch);
        let walk = match fact::search(mirror, branch, tip, before.commit(), &wanted).await {
            Ok(walk) => walk,
            Err(error) => return Err((batch, error)),
        };
        let (asked, others) = batch
            .into_iter()
            .partition(|entry| entry.unsure.as_ref() == Some(&before));
        batch = outcome::without_landed(asked, &walk);
        batch.extend::<Vec<Entry>>(others);
    }
    batch.sort_by_key(|entry| entry.ticket.arrival);
    Ok(batch)
}

fn without_forbidden_creation(mirror: &Mirror, batch: Vec<Entry>, tip: &RemoteTip) -> Vec<Entry> {
    if *tip != RemoteTip::Absent {
        return batch;
    }
    let (may, may_not): (Vec<_>, Vec<_>) =
        batch.into_iter().partition(|entry| entry.request.create);
    for entry in may_not {
        entry.fail(|branch| LandError::BranchDeleted {
            branch,
            url: mirror.url().to_string(),
        });
    }
    may
}

/// Past the point of no return, unless somebody was called back: then the chain is built again
/// without them.
fn begin(queue: &Queue, chain: Chain) -> Option<Chain> {
    for link in &chain.links {
        // Before it is true: whoever gives up must not believe that nothing of theirs can land any more.
        link.entry.tell(LandProgress::Pushing);
    }
    if chain
        .links
        .iter()
        .all(|link| link.entry.ticket.begin_push())
    {
        return Some(chain);
    }
    let entries = chain.links.into_iter().map(|link| link.entry);
    let deferred = chain.deferred.into_iter().map(|(entry, _)| entry);
    queue.again(entries.chain(deferred).chain(chain.left).collect());
    None
}

/// The same id with the same lease may be sent as often as needed: it lands at most once.
async fn send(mirror: &Mirror, push: &Push<'_>, chain: &Chain) -> Result<PushAnswer, RemoteError> {
    let mut repeats = 0;
    loop {
        for link in &chain.links {
            link.entry.ticket.note_attempt();
        }
        match mirror.remote.push(mirror.path(), push).await {
            // One that hung until its deadline had its time.
            Err(error)
                if repeats < REPEATS
                    && error.source.is_none()
                    && matches!(error.trouble, Trouble::Unreachable | Trouble::Other) =>
            {
                tokio::time::sleep(pause(
                    Duration::from_millis(200),
                    repeats,
                    Duration::from_secs(2),
                ))
                .await;
                repeats += 1;
            }
            answer => return answer,
        }
    }
}
