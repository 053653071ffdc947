//! One promotion: its steps in order, by Kargo's rules, with a record at every boundary.
//!
//! `one` runs a step, `attempt` one try of it, `rests` is what comes between two, `verdict` says what follows (pure),
//! `ends` begins and ends the whole.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{sync::watch, time::Instant};

use super::{
    course::{Course, Past},
    journal::{
        Journal,
        ledger::{Ledger, LedgerError},
    },
    port::PortError,
    tools::What,
};
use crate::{
    kargo::{Alias, Phase, PromotionStep, Timestamp, promotion::AbortRequest},
    rules::durations::GoDuration,
};

pub mod attempt;
mod ends;
pub(super) mod one;
mod pushing;
mod recover;
mod rests;
pub mod verdict;

/// What a running promotion is told from outside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Control {
    /// Go on.
    #[default]
    Go,
    /// End it as aborted.
    Abort(AbortRequest),
    /// It is gone, or going: end without a word.
    Stop,
    /// The process ends; somebody else, or a later one, goes on.
    HandOver,
}

/// Why a run came to rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rest {
    /// The promotion is over.
    Ended(Phase),
    /// It waits: for an event, or at the latest until then.
    Waiting {
        /// When to look again by itself.
        until: Option<Instant>,
        /// For what and for whom, in the step's words.
        what: String,
    },
    /// Somebody else has it, or nobody: nothing more may be written.
    Lost(String),
    /// It stopped where it was.
    HandedOver,
    /// A test ended it as if the process had been killed.
    Killed,
}

/// What a step leads to.
pub(in crate::engine) enum Flow {
    /// The next step.
    Next,
    /// Back to that step, which has to be done again.
    Back(Alias),
    /// A rest.
    Wait {
        until: Option<Instant>,
        what: String,
    },
    /// The promotion is over.
    Over(Rest),
}

/// Why the work ended before the promotion did.
#[derive(Debug, thiserror::Error)]
pub(in crate::engine) enum Stopped {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("the run ended at {0}, as a test asked")]
    Crashed(String),
}

impl Stopped {
    /// Whether the status as it is will never be stored.
    fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Ledger(
                LedgerError::TooMuch { .. }
                    | LedgerError::Port {
                        source: PortError::TooLarge { .. },
                        ..
                    }
            )
        )
    }
}

/// One promotion being run.
pub struct Runner {
    pub(super) course: Arc<Course>,
    pub(super) ledger: Ledger,
    /// Since when something is unwritten.
    pub(super) dirty: Option<Instant>,
    /// Objects that are pinned already.
    pub(super) pinned: std::collections::BTreeSet<super::workspace::Pinned>,
    /// A newer promotion of the Stage waits.
    pub(super) newer_waits: bool,
    /// Where a push is under way to.
    pub(super) pushing: pushing::Pushing,
    /// Whether something is under way of which nobody could tell afterwards whether it arrived.
    pub(super) sending: Arc<AtomicBool>,
}

impl Runner {
    /// Runs `course` on its ledger. `newer_waits`: a newer promotion of the same Stage is queued.
    pub fn new(course: Arc<Course>, ledger: Ledger, newer_waits: bool) -> Self {
        course.fetched.read(&ledger.journal);
        Self {
            course,
            ledger,
            dirty: None,
            pinned: std::collections::BTreeSet::new(),
            newer_waits,
            pushing: pushing::Pushing::default(),
            sending: Arc::default(),
        }
    }

    /// Runs until it rests. What `control` says takes effect at once, in the middle of a step.
    pub async fn run(mut self, mut control: watch::Receiver<Control>) -> Rest {
        let (pushing, sending) = (self.pushing.clone(), Arc::clone(&self.sending));
        let told = {
            let work = self.work();
            tokio::pin!(work);
            tokio::select! {
                biased;
                told = told(&mut control) => match told {
                    // What became of a push is worth a moment: the record should say what is on the branch.
                    Control::Abort(_) => match outcome(&pushing, work).await {
                        Some(rest @ (Err(_) | Ok(Rest::Ended(_)))) => Err(rest),
                        _ => Ok(told),
                    },
                    // Whoever goes on could only say that it is unknown.
                    Control::HandOver if sending.load(Ordering::Relaxed) => {
                        pushing.call_back();
                        tokio::time::timeout(SENDING_PATIENCE, work).await.map_or(Ok(told), Err)
                    }
                    told => Ok(told),
                },
                rest = &mut work => Err(rest),
            }
        };
        let stopped = match told {
            Ok(told) => told,
            Err(Err(error)) if error.is_refusal() => {
                self.ledger.status.finished_at = Some(Timestamp::now());
                let ended = self.end_anyhow(error, Phase::Errored, "").await;
                return self.rest_of(ended.map(|()| Rest::Ended(Phase::Errored)));
            }
            Err(rest) => return self.rest_of(rest),
        };
        match stopped {
            Control::Abort(request) => {
                let aborted = self.abort(&request).await;
                self.rest_of(aborted)
            }
            Control::HandOver => Rest::HandedOver,
            Control::Stop | Control::Go => {
                self.settle_gates("its Promotion was deleted").await;
                self.unpin().await;
                Rest::Lost("it was deleted".into())
            }
        }
    }

    fn rest_of(&self, result: Result<Rest, Stopped>) -> Rest {
        match result {
            Ok(rest) => rest,
            Err(Stopped::Ledger(LedgerError::Lost { why, .. })) => Rest::Lost(why),
            Err(Stopped::Crashed(_)) => Rest::Killed,
            Err(error) => {
                tracing::error!(promotion = %self.course.promotion, error = &error as &dyn std::error::Error, "a promotion stopped");
                Rest::Lost(super::sentence(&error))
            }
        }
    }

    async fn work(&mut self) -> Result<Rest, Stopped> {
        self.begin().await?;
        let mut at = self.first_step();
        if let Some(flow) = self.recover(at).await?
            && let Some(rest) = self.follow(flow, &mut at).await?
        {
            return Ok(rest);
        }
        while let Some(step) = self.course.steps.get(at).cloned() {
            let flow = self.step(at, &step).await?;
            if let Some(rest) = self.follow(flow, &mut at).await? {
                return Ok(rest);
            }
        }
        self.conclude().await
    }

    /// Where a step leads to: another step, or a rest.
    async fn follow(&mut self, flow: Flow, at: &mut usize) -> Result<Option<Rest>, Stopped> {
        match flow {
            Flow::Next if self.pushing.is_called_back() => return Ok(Some(Rest::HandedOver)),
            Flow::Next => *at += 1,
            Flow::Back(alias) => {
                *at = self
                    .course
                    .steps
                    .iter()
                    .position(|step| step.alias == alias)
                    .unwrap_or(*at);
            }
            Flow::Over(rest) => return Ok(Some(rest)),
            Flow::Wait { until, what } => {
                self.write().await?;
                return Ok(Some(Rest::Waiting { until, what }));
            }
        }
        Ok(None)
    }

    fn first_step(&self) -> usize {
        let entries = &self.ledger.status.step_execution_metadata;
        let stored = usize::try_from(self.ledger.status.current_step).unwrap_or(0);
        let over = |step: &PromotionStep| {
            entries
                .iter()
                .any(|entry| entry.alias == step.alias && verdict::is_over(entry))
        };
        // Where the record is short of `currentStep`, the record is right.
        let at = stored.min(entries.len());
        at + self
            .course
            .steps
            .iter()
            .skip(at)
            .take_while(|step| over(step))
            .count()
    }

    /// What it looks back on.
    pub(super) fn past(&self) -> Past {
        Past {
            outputs: self.ledger.outputs(),
            metas: self.ledger.status.step_execution_metadata.clone(),
            journal: self.ledger.journal.clone(),
        }
    }

    pub(super) fn journal(&mut self) -> &mut Journal {
        &mut self.ledger.journal
    }

    /// Something changed that may be written a little later, together with what follows.
    pub(super) fn touch(&mut self) {
        self.dirty.get_or_insert_with(Instant::now);
    }

    /// Writes now: pins first what the record will name.
    pub(super) async fn write(&mut self) -> Result<(), Stopped> {
        self.pin().await;
        self.course.fetched.write(&mut self.ledger.journal);
        self.ledger.write().await?;
        self.dirty = None;
        Ok(())
    }

    /// Writes if what is unwritten is old enough.
    pub(super) async fn write_if_due(&mut self) -> Result<(), Stopped> {
        let share = self.course.tools.settings.share_writes;
        if self.dirty.is_some_and(|since| since.elapsed() >= share) {
            self.write().await?;
        }
        Ok(())
    }

    /// Runs `work`; meanwhile writes what is unwritten, once it is old enough.
    pub(super) async fn while_writing<T>(
        &mut self,
        work: impl Future<Output = T>,
    ) -> Result<T, Stopped> {
        tokio::pin!(work);
        let share = self.course.tools.settings.share_writes;
        if let Some(since) = self.dirty {
            tokio::select! {
                result = &mut work => return Ok(result),
                () = tokio::time::sleep_until(since + share) => self.write().await?,
            }
        }
        Ok(work.await)
    }

    /// A named boundary, at which a test may end the run.
    pub(super) fn boundary(&self, name: &str) -> Result<(), Stopped> {
        if self.course.tools.settings.crashes_at(name) {
            Err(Stopped::Crashed(name.to_owned()))
        } else {
            Ok(())
        }
    }

    async fn pin(&mut self) {
        let Some(state) = &self.ledger.journal.workspace else {
            return;
        };
        let mut wanted = Vec::new();
        for object in state.pinned() {
            if let (false, Some(mirror)) = (
                self.pinned.contains(&object),
                self.course.tools.opened(&object.mirror),
            ) {
                wanted.push((mirror, object));
            }
        }
        if wanted.is_empty() {
            return;
        }
        let uid = self.course.uid.clone();
        let job = move || {
            wanted.retain(|(mirror, object)| {
                match mirror.pin(uid.as_str(), &object.id, &object.id) {
                    Ok(()) => true,
                    Err(error) => {
                        // Nothing is lost yet: should maintenance take the object, the steps run again.
                        tracing::warn!(
                            error = &error as &dyn std::error::Error,
                            "an object could not be pinned"
                        );
                        false
                    }
                }
            });
            wanted
        };
        if let Ok(done) = tokio::task::spawn_blocking(job).await {
            self.pinned
                .extend(done.into_iter().map(|(_, object)| object));
        }
    }

    pub(super) async fn unpin(&self) {
        let (mirrors, uid) = (
            Arc::clone(&self.course.tools.mirrors),
            self.course.uid.clone(),
        );
        let job = move || {
            if let Err(error) = mirrors.unpin_all(uid.as_str()) {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "pins could not be taken away"
                );
            }
        };
        // Its only failure is a panic, which has been reported.
        drop(tokio::task::spawn_blocking(job).await);
    }

    pub(super) fn tell(&self, step: Option<&Alias>, what: What) {
        self.course.tell(step, what);
    }

    /// The step's own limits: the template's, else its kind's.
    pub(super) fn limits(
        step: &PromotionStep,
        defaults: super::step::Defaults,
    ) -> Result<verdict::Limits, String> {
        let retry = step.retry.clone().unwrap_or_default();
        let timeout = match retry.timeout.as_str() {
            "" => None,
            text => Some(
                text.parse::<GoDuration>()
                    .map_err(|error| format!("retry.timeout: {error}"))?,
            ),
        };
        let timeout = timeout
            .filter(|span| !span.is_none())
            .map(GoDuration::to_std)
            .or(defaults.timeout);
        let threshold = u32::try_from(retry.error_threshold)
            .ok()
            .filter(|threshold| *threshold > 0);
        let error_threshold = threshold.unwrap_or(defaults.error_threshold).max(1);
        Ok(verdict::Limits {
            timeout,
            error_threshold,
        })
    }
}

/// Completes when there is something else to do than to go on.
async fn told(control: &mut watch::Receiver<Control>) -> Control {
    let told = control
        .wait_for(|control| *control != Control::Go)
        .await
        .map(|control| control.clone());
    match told {
        Ok(control) => control,
        // Nobody is there to tell anything any more.
        Err(_) => std::future::pending().await,
    }
}

/// How long an abort waits for a push that is under way.
const PUSH_PATIENCE: Duration = Duration::from_secs(5);

/// How long handing over waits for an answer that is on its way.
const SENDING_PATIENCE: Duration = Duration::from_secs(5);

/// What the work comes to while a push is under way; none where none is, or where it takes too long.
async fn outcome(
    pushing: &pushing::Pushing,
    mut work: std::pin::Pin<&mut impl Future<Output = Result<Rest, Stopped>>>,
) -> Option<Result<Rest, Stopped>> {
    // It may have begun since the run last looked.
    if let std::task::Poll::Ready(rest) = futures::poll!(&mut work) {
        return Some(rest);
    }
    pushing.target()?;
    pushing.call_back();
    tokio::time::timeout(PUSH_PATIENCE, work).await.ok()
}

/// At most this long until a waiting promotion looks by itself.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests;
