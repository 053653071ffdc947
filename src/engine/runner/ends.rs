//! How a promotion begins and ends.

use serde_json::Value;

use super::{Rest, Runner, Stopped, verdict};
use crate::{
    engine::tools::What,
    kargo::{Phase, StepStatus, Timestamp, artifact::FreightReference, promotion::AbortRequest},
};

impl Runner {
    /// Marks it as running and records its Freight, unless it was begun before.
    pub(super) async fn begin(&mut self) -> Result<(), Stopped> {
        if self.ledger.status.phase == Phase::Running && self.ledger.status.started_at.is_some() {
            self.tell(None, What::Resumed);
            let token = self
                .ledger
                .promotion()
                .annotation(crate::kargo::meta::REFRESH)
                .unwrap_or_default()
                .to_owned();
            if self.ledger.status.last_handled_refresh != token {
                self.ledger.status.last_handled_refresh = token;
                self.touch();
            }
            return Ok(());
        }
        let target = self.target();
        let status = &mut self.ledger.status;
        status.phase = Phase::Running;
        status.started_at = Some(Timestamp::now());
        status.freight_collection = Some(self.course.freight.clone());
        status.freight = target;
        status.current_step = 0;
        status.step_execution_metadata.clear();
        status.health_checks.clear();
        status
            .state
            .get_or_insert_with(|| Value::Object(serde_json::Map::new()));
        self.boundary("begin:before")?;
        self.write().await?;
        self.boundary("begin")?;
        self.tell(None, What::Started);
        Ok(())
    }

    fn target(&self) -> Option<FreightReference> {
        let wanted = &self.ledger.promotion().spec.freight;
        self.course
            .freight
            .items
            .values()
            .find(|item| item.name == *wanted)
            .cloned()
    }

    /// All steps are done: the phase, and the message of the step that decided it.
    pub(super) async fn conclude(&mut self) -> Result<Rest, Stopped> {
        let (phase, message) = verdict::conclusion(&self.ledger.status.step_execution_metadata);
        self.ledger.status.current_step =
            i64::try_from(self.course.steps.len().saturating_sub(1)).unwrap_or(0);
        self.finish(phase, message).await
    }

    /// Ends it before or without its steps.
    pub(in crate::engine) async fn finish(
        &mut self,
        phase: Phase,
        message: String,
    ) -> Result<Rest, Stopped> {
        let refresh = self
            .ledger
            .promotion()
            .annotation(crate::kargo::meta::REFRESH)
            .unwrap_or_default()
            .to_owned();
        let status = &mut self.ledger.status;
        status.phase = phase.clone();
        status.message = message.clone();
        status.finished_at = Some(Timestamp::now());
        status.last_handled_refresh = refresh;
        self.settle_gates("the promotion is over").await;
        self.boundary("end:before")?;
        // Before the end is written: afterwards nobody comes back to it. What was pinned a moment ago is still there
        // should the write fail.
        self.unpin().await;
        if let Err(error) = self.ledger.write().await.map_err(Stopped::from) {
            if !error.is_refusal() {
                return Err(error);
            }
            self.end_anyhow(error, phase.clone(), &message).await?;
        }
        self.boundary("end")?;
        self.tell(None, What::Ended(phase.clone(), message));
        Ok(Rest::Ended(phase))
    }

    /// A status that the store refuses must not keep the promotion running for ever.
    pub(super) async fn end_anyhow(
        &mut self,
        error: Stopped,
        phase: Phase,
        message: &str,
    ) -> Result<(), Stopped> {
        let phase = if phase == Phase::Succeeded {
            Phase::Errored
        } else {
            phase
        };
        let message = format!(
            "{message}{}{}",
            if message.is_empty() { "" } else { "; " },
            crate::engine::sentence(&error)
        );
        self.ledger.write_end_only(phase, message).await?;
        Ok(())
    }

    /// Ends it as a person asked.
    pub(in crate::engine) async fn abort(
        &mut self,
        request: &AbortRequest,
    ) -> Result<Rest, Stopped> {
        self.ledger.look_again().await?;
        let by = if request.actor.is_empty() {
            "a request"
        } else {
            &request.actor
        };
        let mut message = format!("Promotion terminated by {by}");
        if let Some(target) = self.pushing.target() {
            message.push_str(&format!(
                "; its push to {target} was under way and may still land"
            ));
        }
        let sent = self.ledger.journal.steps.iter();
        for (alias, sent) in sent.filter_map(|(alias, record)| Some((alias, record.sent?))) {
            message.push_str(&format!(
                "; outcome of step {alias} unknown: may have been sent at {sent}"
            ));
        }
        for entry in &mut self.ledger.status.step_execution_metadata {
            if !verdict::is_over(entry) {
                entry.status = Some(StepStatus::Aborted);
                entry.finished_at = Some(Timestamp::now());
                entry.message = message.clone();
            }
        }
        self.finish(Phase::Aborted, message).await
    }
}
