//! Between the tries of a step: rests in which the promotion holds no worker, and writes while a try goes on.

use std::time::Duration;

use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};

use super::{
    Flow, Runner, Stopped,
    verdict::{self, Limits},
};
use crate::{
    engine::{step::StepError, tools::What},
    kargo::{Alias, PromotionStep, StepStatus, Timestamp},
};

/// At most this long between two tries of what may work later.
const LONGEST_REST: Duration = Duration::from_secs(60);

impl Runner {
    /// The step's own time, where that is over.
    pub(super) fn is_late(&mut self, alias: &Alias, limits: Limits) -> Option<Duration> {
        let started = self.entry(alias).started_at?;
        let gone = started.until(Timestamp::now());
        limits.timeout.filter(|limit| gone >= *limit)
    }

    /// What may work later is tried after a rest, within the step's own time or the budget. Each rest is as long as
    /// all before it.
    pub(super) async fn rest(
        &mut self,
        step: &PromotionStep,
        limits: Limits,
        error: &StepError,
    ) -> Result<Flow, Stopped> {
        let (now, settings) = (Timestamp::now(), &self.course.tools.settings);
        let (first, budget) = (settings.first_pause, settings.transient_budget);
        let record = self.journal().step(&step.alias);
        let tried = record.trouble.get_or_insert(now).until(now);
        let pause = tried.clamp(first, LONGEST_REST.max(first));
        let started = self.entry(&step.alias).started_at.unwrap_or(now);
        let left = match limits.timeout {
            Some(limit) => limit.saturating_sub(started.until(now)),
            None => budget.saturating_sub(tried),
        };
        let said = error.sentence();
        if pause < left {
            let message = format!("{said}; tried again in {}", verdict::words(pause));
            let message = self.course.scope.redact(&message);
            let entry = self.entry(&step.alias);
            entry.status = Some(StepStatus::Running);
            entry.message = message.clone();
            self.tell(Some(&step.alias), What::Retrying(message.clone()));
            return Ok(Flow::Wait {
                until: Some(Instant::now() + pause),
                what: message,
            });
        }
        self.journal().step(&step.alias).trouble = None;
        match limits.timeout {
            Some(limit) => {
                let message = verdict::timed_out(limit, &said);
                self.end(step, StepStatus::Errored, message).await
            }
            None => self.failed(step, limits, error).await,
        }
    }

    /// Runs `work`; meanwhile writes what is unwritten, and at once what the step has brought in.
    pub(super) async fn while_recording<T>(
        &mut self,
        alias: &Alias,
        work: impl Future<Output = T>,
        mut records: mpsc::Receiver<oneshot::Sender<()>>,
    ) -> Result<T, Stopped> {
        tokio::pin!(work);
        loop {
            let recorded = tokio::select! {
                result = self.while_writing(&mut work) => return result,
                Some(recorded) = records.recv() => recorded,
            };
            self.write().await?;
            self.boundary(&format!("{alias}:fetched"))?;
            // Nobody waits for it where the step ended meanwhile.
            let _gone = recorded.send(());
        }
    }
}
