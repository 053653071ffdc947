//! Follows the cluster, keeps each Stage's book, runs whose turn it is, wakes what waits, and knows when nothing can
//! go on.
//!
//! One task owns the `desk::Desk` and decides; work is done in tasks of its own that report back. A waiting
//! promotion is an entry in a map and a timer, not a task.

use std::{
    collections::{BTreeMap, VecDeque},
    panic::AssertUnwindSafe,
    sync::Arc,
    time::Duration,
};

use futures::{FutureExt, StreamExt};
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};

use super::{
    keeper::{self, Kept},
    port::{Change, Kind, PortError},
    runner::{Control, Rest},
    tools::Tools,
};
use crate::kargo::{ProjectName, PromotionName, StageName, Timestamp, promotion::AbortRequest};

mod desk;
mod launch;
mod notice;

use desk::Desk;
pub use notice::Notice;

/// A Promotion's address.
pub type PromotionKey = (ProjectName, PromotionName);
/// A Stage's address.
pub type StageKey = (ProjectName, StageName);

/// One promotion that cannot go on by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Waiting {
    pub project: ProjectName,
    pub stage: StageName,
    pub promotion: PromotionName,
    /// For what and for whom.
    pub what: String,
}

/// How things stood when nothing could go on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Promotions by phase.
    pub phases: BTreeMap<String, usize>,
    /// What is waited for.
    pub waiting: Vec<Waiting>,
}

/// A job has come to its end.
enum Done {
    Promotion(PromotionKey, Rest),
    Stage(StageKey, Result<Kept, PortError>),
    /// A question or an answer says what became of it.
    Marked,
}

/// A promotion that has a task.
struct Running {
    control: watch::Sender<Control>,
    /// Something happened meanwhile that it might have to look at.
    again: bool,
}

/// A promotion that waits.
struct Resting {
    stage: StageName,
    until: Option<Instant>,
    what: String,
}

/// The executor.
pub struct Supervisor {
    tools: Arc<Tools>,
    desk: Desk,
    running: BTreeMap<PromotionKey, Running>,
    resting: BTreeMap<PromotionKey, Resting>,
    ready: VecDeque<(PromotionKey, Control)>,
    keeping: std::collections::BTreeSet<StageKey>,
    stage_timers: BTreeMap<StageKey, Instant>,
    /// Stages whose last look failed, and how often in a row.
    troubled: BTreeMap<StageKey, u32>,
    /// Questions and answers being marked.
    marking: usize,
    synced: bool,
    /// A test has ended a run; nothing more is done.
    killed: bool,
    sender: mpsc::UnboundedSender<Done>,
    receiver: mpsc::UnboundedReceiver<Done>,
}

/// Nothing is due within this: idle.
const SOON: Duration = Duration::from_secs(1);
/// Stages looked at side by side.
const KEEPERS: usize = 16;
/// After somebody else took a promotion, or it could not be begun.
const LATER: Duration = Duration::from_secs(30);
/// How long running promotions have to stop at a hand-over.
const HAND_OVER: Duration = Duration::from_secs(10);

impl Supervisor {
    /// One that has seen nothing yet.
    pub fn new(tools: Arc<Tools>) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self {
            desk: Desk::new(tools.settings.shard.clone()),
            tools,
            running: BTreeMap::new(),
            resting: BTreeMap::new(),
            ready: VecDeque::new(),
            keeping: std::collections::BTreeSet::new(),
            stage_timers: BTreeMap::new(),
            troubled: BTreeMap::new(),
            marking: 0,
            synced: false,
            killed: false,
            sender,
            receiver,
        }
    }

    /// Works until `shutdown` says true, then hands over.
    pub async fn run(mut self, mut shutdown: watch::Receiver<bool>) {
        self.work(&mut shutdown, false).await;
        self.hand_over().await;
    }

    /// Works until no step can run and no timer is due within a second, or until `shutdown` says true.
    pub async fn run_until_idle(mut self, mut shutdown: watch::Receiver<bool>) -> Summary {
        self.work(&mut shutdown, true).await;
        self.hand_over().await;
        self.summary()
    }

    async fn work(&mut self, shutdown: &mut watch::Receiver<bool>, until_idle: bool) {
        let mut changes = self.tools.port.follow();
        while !self.killed {
            self.start_what_can();
            let (due, is_quiet) = (self.next_timer(), until_idle && self.is_quiet());
            let mut settled = false;
            tokio::select! {
                biased;
                _ = shutdown.wait_for(|stop| *stop) => return,
                Some(done) = self.receiver.recv() => self.done(done),
                change = changes.next() => match change {
                    Some(change) => self.change(change),
                    None => return,
                },
                () = sleep_until(due) => self.timers(),
                () = quiet(is_quiet) => settled = true,
            }
            if settled && self.settle().await {
                return;
            }
        }
    }

    fn is_quiet(&self) -> bool {
        let soon = Instant::now() + SOON;
        self.synced
            && self.running.is_empty()
            && self.keeping.is_empty()
            && self.marking == 0
            && self.ready.is_empty()
            && self.desk.dirty.is_empty()
            && self.next_timer().is_none_or(|due| due > soon)
    }

    /// All is quiet: unless the cluster knows of something that has not been heard yet.
    async fn settle(&mut self) -> bool {
        for kind in [
            Kind::Stage,
            Kind::Freight,
            Kind::Promotion,
            Kind::ApprovalRequest,
            Kind::Approval,
        ] {
            match self.tools.port.list(kind, None).await {
                Ok(objects) => objects
                    .into_iter()
                    .for_each(|object| self.change(Change::Applied(kind, object))),
                Err(PortError::Gone { .. }) => {}
                Err(error) => {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "cannot look once more"
                    );
                    return false;
                }
            }
        }
        self.start_what_can();
        self.is_quiet()
    }

    fn change(&mut self, change: Change) {
        if matches!(change, Change::Synced) {
            self.synced = true;
        }
        for notice in self.desk.take(change) {
            self.notice(notice);
        }
    }

    fn notice(&mut self, notice: Notice) {
        match notice {
            Notice::Abort(key, request) => self.abort(key, request),
            Notice::Gone(key, uid) => {
                self.resting.remove(&key);
                self.ready.retain(|(ready, _)| *ready != key);
                self.control(&key, Control::Stop);
                if let (false, Some(uid)) = (self.running.contains_key(&key), uid) {
                    let mirrors = Arc::clone(&self.tools.mirrors);
                    tokio::task::spawn_blocking(move || {
                        if let Err(error) = mirrors.unpin_all(uid.as_str()) {
                            tracing::warn!(
                                error = &error as &dyn std::error::Error,
                                "pins could not be taken away"
                            );
                        }
                    });
                }
            }
            Notice::Late(key) => {
                let tools = Arc::clone(&self.tools);
                self.mark(async move { launch::judge_late(&tools, &key).await });
            }
            Notice::Orphan(key) => {
                let tools = Arc::clone(&self.tools);
                self.mark(async move {
                    if let Err(error) = launch::withdraw(&tools, &key).await {
                        tracing::warn!(request = %key, error = &error as &dyn std::error::Error, "a question could not be taken back");
                    }
                });
            }
            Notice::Wake(key) => {
                if let Some(running) = self.running.get_mut(&key) {
                    running.again = true;
                } else if self.resting.remove(&key).is_some() {
                    self.ready.push_back((key, Control::Go));
                }
            }
        }
    }

    /// Lets a question or an answer say what became of it, beside everything else.
    fn mark(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        self.marking += 1;
        let sender = self.sender.clone();
        tokio::spawn(async move {
            // Without its end the executor would never be idle.
            guarded(work).await;
            drop(sender.send(Done::Marked));
        });
    }

    fn control(&self, key: &PromotionKey, control: Control) {
        if let Some(running) = self.running.get(key) {
            // The run may have ended just now; then there is nothing left to tell.
            drop(running.control.send(control));
        }
    }

    fn abort(&mut self, key: PromotionKey, request: AbortRequest) {
        if self.running.contains_key(&key) {
            self.control(&key, Control::Abort(request));
            return;
        }
        self.resting.remove(&key);
        self.ready.retain(|(ready, _)| *ready != key);
        self.ready.push_back((key, Control::Abort(request)));
    }

    fn done(&mut self, done: Done) {
        match done {
            Done::Promotion(key, rest) => self.rested(key, rest),
            Done::Stage(key, result) => self.kept(key, result),
            Done::Marked => self.marking -= 1,
        }
    }

    fn rested(&mut self, key: PromotionKey, rest: Rest) {
        let again = self
            .running
            .remove(&key)
            .is_some_and(|running| running.again);
        let Some(row) = self.desk.row(&key) else {
            return;
        };
        let stage = row.stage.clone();
        let (until, what) = match rest {
            Rest::Ended(phase) => {
                // Heard of in a moment; until then it must not be started again.
                self.desk.ended(&key, phase);
                self.desk.dirty.insert((key.0, stage));
                return;
            }
            Rest::HandedOver => return,
            Rest::Killed => {
                self.killed = true;
                return;
            }
            Rest::Waiting { .. } if again => return self.ready.push_back((key, Control::Go)),
            Rest::Waiting { until, what } => (until, what),
            Rest::Lost(why) => (Some(Instant::now() + LATER), why),
        };
        if row.aborting {
            let request = AbortRequest {
                action: "terminate".into(),
                ..AbortRequest::default()
            };
            return self.ready.push_back((key, Control::Abort(request)));
        }
        self.resting.insert(key, Resting { stage, until, what });
    }

    fn kept(&mut self, key: StageKey, result: Result<Kept, PortError>) {
        self.keeping.remove(&key);
        match result {
            Ok(kept) => {
                self.troubled.remove(&key);
                if let Some(stage) = kept.stage {
                    self.desk.stage(*stage);
                }
                if kept.again {
                    self.desk.dirty.insert(key.clone());
                }
                if let Some(wake) = kept.wake {
                    self.stage_timers
                        .insert(key, Instant::now() + Timestamp::now().until(wake));
                }
            }
            Err(error) => {
                let errors = self.troubled.entry(key.clone()).or_default();
                *errors += 1;
                let pause = super::runner::verdict::pause(Duration::from_millis(500), *errors);
                tracing::warn!(project = %key.0, stage = %key.1, error = &error as &dyn std::error::Error, "a Stage's book could not be kept");
                self.stage_timers.insert(key, Instant::now() + pause);
            }
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        let resting = self.resting.values().filter_map(|resting| resting.until);
        resting.chain(self.stage_timers.values().copied()).min()
    }

    fn timers(&mut self) {
        let now = Instant::now();
        let due = |at: &Instant| *at <= now;
        let keys: Vec<_> = self
            .resting
            .iter()
            .filter(|(_, r)| r.until.as_ref().is_some_and(due))
            .map(|(key, _)| key.clone())
            .collect();
        for key in keys {
            self.resting.remove(&key);
            self.ready.push_back((key, Control::Go));
        }
        let stages: Vec<_> = self
            .stage_timers
            .iter()
            .filter(|(_, at)| due(at))
            .map(|(key, _)| key.clone())
            .collect();
        for key in stages {
            self.stage_timers.remove(&key);
            self.desk.dirty.insert(key);
        }
    }

    /// Starts jobs: looks at Stages first, as they say whose turn it is.
    fn start_what_can(&mut self) {
        if !self.synced {
            return;
        }
        for key in self.desk.turns() {
            let known = self.running.contains_key(&key)
                || self.resting.contains_key(&key)
                || self.ready.iter().any(|(ready, _)| *ready == key);
            if !known {
                self.ready.push_back((key, Control::Go));
            }
        }
        self.start_keepers();
        while self.running.len() < self.tools.settings.concurrency.max(1) {
            let Some((key, control)) = self.ready.pop_front() else {
                return;
            };
            if !self.running.contains_key(&key) {
                self.launch(key, control);
            }
        }
    }

    fn start_keepers(&mut self) {
        let free = KEEPERS.saturating_sub(self.keeping.len());
        let next: Vec<StageKey> = self
            .desk
            .dirty
            .iter()
            .filter(|key| !self.keeping.contains(*key))
            .take(free)
            .cloned()
            .collect();
        for key in next {
            self.desk.dirty.remove(&key);
            let Some(snapshot) = self.desk.snapshot(&key) else {
                continue;
            };
            self.keeping.insert(key.clone());
            let (tools, sender) = (Arc::clone(&self.tools), self.sender.clone());
            tokio::spawn(async move {
                let result = guarded(keeper::keep(&tools, snapshot))
                    .await
                    .unwrap_or_else(|| {
                        let (doing, said) = (
                            format!("keeping the book of Stage {}", key.1),
                            "it panicked".to_owned(),
                        );
                        Err(PortError::Invalid { doing, said })
                    });
                // A supervisor that is gone needs no answer.
                drop(sender.send(Done::Stage(key, result)));
            });
        }
    }

    fn launch(&mut self, key: PromotionKey, control: Control) {
        let Some(row) = self.desk.row(&key).filter(|row| !row.phase.is_terminal()) else {
            return;
        };
        let newer = self.desk.newer_waits(row);
        let (to, told) = watch::channel(control);
        self.running.insert(
            key.clone(),
            Running {
                control: to,
                again: false,
            },
        );
        let (tools, sender) = (Arc::clone(&self.tools), self.sender.clone());
        tokio::spawn(async move {
            let work = guarded(launch::promotion(&tools, &key, told, newer)).await;
            let rest =
                work.unwrap_or_else(|| Rest::Lost("its run panicked; it is tried again".into()));
            drop(sender.send(Done::Promotion(key, rest)));
        });
    }

    /// Tells every run to stop where it is, and waits for them.
    async fn hand_over(&mut self) {
        for running in self.running.values() {
            drop(running.control.send(Control::HandOver));
        }
        let last = Instant::now() + HAND_OVER;
        while !(self.running.is_empty() && self.keeping.is_empty()) {
            match tokio::time::timeout_at(last, self.receiver.recv()).await {
                Ok(Some(done)) => self.done(done),
                Ok(None) | Err(_) => return,
            }
        }
    }

    fn summary(&self) -> Summary {
        let waiting = self
            .resting
            .iter()
            .map(|((project, promotion), resting)| Waiting {
                project: project.clone(),
                stage: resting.stage.clone(),
                promotion: promotion.clone(),
                what: resting.what.clone(),
            });
        Summary {
            phases: self.desk.phases(),
            waiting: waiting.chain(self.desk.queued(&self.resting)).collect(),
        }
    }
}

/// None where the work panicked; the panic itself has been reported.
async fn guarded<T>(work: impl Future<Output = T>) -> Option<T> {
    AssertUnwindSafe(work).catch_unwind().await.ok()
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Completes after a moment of quiet, if it is quiet.
async fn quiet(now: bool) {
    if now {
        tokio::time::sleep(Duration::from_millis(20)).await;
    } else {
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests;
