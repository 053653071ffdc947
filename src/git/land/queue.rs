//! Who waits for a branch, and who goes next.

use std::{
    sync::{Arc, Mutex, Weak},
    time::Instant,
};

use tokio::sync::{Notify, oneshot};

use super::{LandError, LandProgress, LandRequest, LandSettings, Landed, round};
use crate::git::{
    branch::BranchName,
    id::CommitId,
    mirror::{MirrorKey, RemoteTip, locked},
};

/// What one queue is for. The path keeps its case; SSH and HTTPS spellings are two queues.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QueueKey {
    pub repository: String,
    pub branch: BranchName,
}

impl QueueKey {
    pub fn of(request: &LandRequest) -> Self {
        Self {
            repository: request.mirror.url().normalised(),
            branch: request.branch.clone(),
        }
    }
}

/// What the waiting caller and the worker share about one request.
#[derive(Debug)]
pub struct Ticket {
    pub arrival: u64,
    since: Instant,
    pub until: Instant,
    state: Mutex<State>,
    pub cancelled: Notify,
}

#[derive(Debug, Default)]
struct State {
    phase: Phase,
    attempts: u32,
    last: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Open,
    Pushing,
    Cancelled,
}

impl Ticket {
    /// Calls it back, if it is not too late; says whether it was called back.
    pub fn cancel(&self) -> bool {
        let mut state = locked(&self.state);
        if state.phase == Phase::Pushing {
            return false;
        }
        state.phase = Phase::Cancelled;
        self.cancelled.notify_one();
        true
    }

    pub fn is_cancelled(&self) -> bool {
        locked(&self.state).phase == Phase::Cancelled
    }

    /// From now on it cannot be called back; `false`: it was.
    pub fn begin_push(&self) -> bool {
        let mut state = locked(&self.state);
        if state.phase == Phase::Cancelled {
            return false;
        }
        state.phase = Phase::Pushing;
        true
    }

    fn reopen(&self) {
        let mut state = locked(&self.state);
        if state.phase == Phase::Pushing {
            state.phase = Phase::Open;
        }
    }

    pub fn note_attempt(&self) {
        locked(&self.state).attempts += 1;
    }

    pub fn note(&self, last: &str) {
        last.clone_into(&mut locked(&self.state).last);
    }

    pub fn attempts(&self) -> u32 {
        locked(&self.state).attempts
    }

    pub fn exhausted(&self, branch: BranchName) -> LandError {
        let state = locked(&self.state);
        let last = if state.last.is_empty() {
            "it waited for others before it".to_owned()
        } else {
            state.last.clone()
        };
        LandError::BudgetExhausted {
            branch,
            attempts: state.attempts,
            seconds: self.since.elapsed().as_secs(),
            last,
        }
    }
}

/// One request in the worker's hands.
pub struct Entry {
    pub request: Arc<LandRequest>,
    pub ticket: Arc<Ticket>,
    result: oneshot::Sender<Result<Landed, LandError>>,
    /// Part of a refused batch that is being halved: goes with exactly these.
    pub group: Option<u64>,
    /// Not before this moment.
    pub pause: Option<Instant>,
    /// Pushes lost to others.
    pub races: u32,
    /// Faults of the remote in a row.
    pub troubles: u32,
    /// Times that it was placed.
    pub rounds: u32,
    pub replays: u32,
    /// Was refused once while the tip moved.
    pub second_chance: bool,
    /// A push of it ended without an answer; where the branch was before.
    pub unsure: Option<RemoteTip>,
}

impl Entry {
    pub fn resolve(self, result: Result<Landed, LandError>) {
        // Nobody waits any more: the caller was dropped while the push was under way.
        let _unwanted = self.result.send(result);
    }

    pub fn landed(self, head: CommitId, noop: bool) {
        let landed = Landed {
            head,
            attempts: self.ticket.attempts(),
            replays: self.replays,
            noop,
        };
        self.resolve(Ok(landed));
    }

    pub fn fail(self, error: impl FnOnce(BranchName) -> LandError) {
        let branch = self.request.branch.clone();
        self.resolve(Err(error(branch)));
    }

    pub fn exhaust(self) {
        let error = self.ticket.exhausted(self.request.branch.clone());
        self.resolve(Err(error));
    }

    pub fn tell(&self, progress: LandProgress) {
        if let Some(sender) = &self.request.progress {
            sender.send_if_modified(|old| std::mem::replace(old, progress) != progress);
        }
    }

    /// Somebody waits for it. A caller may go while its push is under way, which then is finished,
    /// but not begun again.
    fn is_wanted(&self) -> bool {
        !self.ticket.is_cancelled() && !self.result.is_closed()
    }

    fn is_ready(&self, now: Instant) -> bool {
        self.pause.is_none_or(|pause| pause <= now)
    }
}

/// The queue of one branch.
pub struct Queue {
    pub settings: LandSettings,
    waiting: Mutex<Waiting>,
    arrived: Notify,
}

#[derive(Default)]
struct Waiting {
    /// By arrival.
    entries: Vec<Entry>,
    under_way: usize,
    working: bool,
    arrivals: u64,
    groups: u64,
    /// Where our last push put the branch, and from which mirror: the other mirrors do not know.
    landed: Option<(MirrorKey, CommitId)>,
}

enum Next {
    Batch(Vec<Entry>),
    Pause(Instant),
    Nobody,
}

impl Queue {
    pub fn new(settings: LandSettings) -> Self {
        Self {
            settings,
            waiting: Mutex::default(),
            arrived: Notify::new(),
        }
    }

    pub fn len(&self) -> usize {
        let waiting = locked(&self.waiting);
        waiting.entries.len() + waiting.under_way
    }

    /// Enters a request; a worker is started where none is there.
    pub fn join(
        queue: &Arc<Self>,
        request: LandRequest,
    ) -> (Arc<Ticket>, oneshot::Receiver<Result<Landed, LandError>>) {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = locked(&queue.waiting);
        waiting.arrivals += 1;
        let ticket = Arc::new(Ticket {
            arrival: waiting.arrivals,
            since: Instant::now(),
            until: request.budget.until(),
            state: Mutex::default(),
            cancelled: Notify::new(),
        });
        let entry = Entry {
            request: Arc::new(request),
            ticket: Arc::clone(&ticket),
            result: sender,
            group: None,
            pause: None,
            races: 0,
            troubles: 0,
            rounds: 0,
            replays: 0,
            second_chance: false,
            unsure: None,
        };
        let of = waiting.entries.len() + waiting.under_way + 1;
        entry.tell(LandProgress::Queued { position: of, of });
        waiting.entries.push(entry);
        if waiting.working {
            queue.arrived.notify_one();
        } else {
            waiting.working = true;
            tokio::spawn(work(Arc::clone(queue)));
        }
        (ticket, receiver)
    }

    /// Takes out a request that was called back.
    pub fn leave(&self, ticket: &Ticket) {
        locked(&self.waiting)
            .entries
            .retain(|entry| entry.ticket.arrival != ticket.arrival);
    }

    /// Back into the queue, at their old places.
    pub fn again(&self, entries: Vec<Entry>) {
        let mut waiting = locked(&self.waiting);
        for entry in entries {
            entry.ticket.reopen();
            waiting.entries.push(entry);
        }
        waiting.entries.sort_by_key(|entry| entry.ticket.arrival);
    }

    pub fn new_group(&self) -> u64 {
        let mut waiting = locked(&self.waiting);
        waiting.groups += 1;
        waiting.groups
    }

    pub fn note_landed(&self, mirror: &MirrorKey, head: &CommitId) {
        locked(&self.waiting).landed = Some((mirror.clone(), head.clone()));
    }

    /// Where another mirror's push put the branch since this mirror last heard of it.
    pub fn landed_elsewhere(&self, mirror: &MirrorKey) -> Option<CommitId> {
        let waiting = locked(&self.waiting);
        waiting
            .landed
            .as_ref()
            .filter(|(by, _)| by != mirror)
            .map(|(_, head)| head.clone())
    }

    /// The earliest arrival that is ready goes, with all that may go with it: one credential's
    /// mirror, or one half of a refused batch.
    fn next(&self) -> Next {
        let now = Instant::now();
        let mut waiting = locked(&self.waiting);
        waiting.under_way = 0;
        waiting.entries.retain(|entry| entry.is_wanted());
        let Some(first) = waiting.entries.iter().find(|entry| entry.is_ready(now)) else {
            let soonest = waiting.entries.iter().filter_map(|entry| entry.pause).min();
            waiting.working = soonest.is_some();
            return soonest.map_or(Next::Nobody, Next::Pause);
        };
        let (group, mirror) = (first.group, first.request.mirror.key().clone());
        let mut room = self.settings.batch.max(1);
        let mut goes = |entry: &mut Entry| {
            let fits = room > 0
                && entry.is_ready(now)
                && entry.group == group
                && *entry.request.mirror.key() == mirror;
            room -= usize::from(fits);
            fits
        };
        let batch: Vec<Entry> = waiting
            .entries
            .extract_if(.., |entry| goes(entry))
            .collect();
        waiting.under_way = batch.len();
        let of = waiting.entries.len() + batch.len();
        for (index, entry) in batch.iter().chain(&waiting.entries).enumerate() {
            entry.tell(LandProgress::Queued {
                position: index + 1,
                of,
            });
        }
        Next::Batch(batch)
    }
}

/// Should the worker panic, whoever waits is told, and the next arrival starts a new worker.
struct Working(Weak<Queue>);

impl Drop for Working {
    fn drop(&mut self) {
        if let Some(queue) = self.0.upgrade() {
            let mut waiting = locked(&queue.waiting);
            waiting.working = false;
            waiting.entries.clear();
        }
    }
}

async fn work(queue: Arc<Queue>) {
    let mut working = Working(Arc::downgrade(&queue));
    loop {
        match queue.next() {
            Next::Batch(batch) => round::run(&queue, batch).await,
            Next::Pause(until) => tokio::select! {
                () = tokio::time::sleep_until(until.into()) => {}
                () = queue.arrived.notified() => {}
            },
            Next::Nobody => {
                // In order: `working` is false already, and another worker may be there.
                working.0 = Weak::new();
                return;
            }
        }
    }
}
