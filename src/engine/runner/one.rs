//! One step of a promotion: decided, evaluated, checked, run, recorded.

use std::sync::{Arc, atomic::Ordering};

use serde_json::{Map, Value};
use tokio::{sync::mpsc, time::Instant};

use super::{
    Flow, LONGEST_WAIT, Runner, Stopped,
    attempt::{Attempt, Trial},
    verdict::{self, Limits, Verdict},
};
use crate::{
    engine::{
        course::put_output,
        journal::limits,
        repositories::Remotes,
        scope::Moment,
        step::{Class, Ending, ErrorKind, Files, Outcome, Plan, Step, StepError},
        tools::What,
        workspace::WorkspaceState,
    },
    kargo::{Alias, PromotionStep, StepStatus, Timestamp, promotion::StepMetadata},
};

/// What a step is run with.
pub(in crate::engine) struct Ready {
    pub alias: Alias,
    pub kind: Arc<dyn Step>,
    pub limits: Limits,
    pub config: Value,
}

impl Runner {
    /// The step's entry, made where it has none.
    pub(in crate::engine) fn entry(&mut self, alias: &Alias) -> &mut StepMetadata {
        verdict::entry(&mut self.ledger.status.step_execution_metadata, alias)
    }

    /// Does one step, or what is left of it.
    pub(super) async fn step(&mut self, at: usize, step: &PromotionStep) -> Result<Flow, Stopped> {
        let alias = &step.alias;
        self.ledger.status.current_step = i64::try_from(at).unwrap_or(i64::MAX);
        let entry = self.entry(alias);
        entry.continue_on_error = step.continue_on_error;
        if verdict::is_over(entry) {
            return Ok(Flow::Next);
        }
        if entry.started_at.is_none() {
            match self.decide(at, alias).await {
                Ok(true) => {}
                Ok(false) => return self.end(step, StepStatus::Skipped, String::new()).await,
                Err(why) => return self.end(step, StepStatus::Errored, why).await,
            }
        }
        let ready = match self.prepare(at, step).await {
            Ok(ready) => ready,
            Err((status, why)) => return self.end(step, status, why).await,
        };
        match ready.kind.plan(&ready.config) {
            Plan::Run => self.run_step(step, ready).await,
            Plan::Push(order) => self.push(at, step, ready, order).await,
            Plan::Ask(question) => self.ask(step, ready, question).await,
        }
    }

    fn moment(&self, at: usize, clock: Timestamp) -> Moment {
        Moment {
            at,
            clock,
            past: self.past(),
            again: false,
        }
    }

    /// Whether the step runs at all.
    async fn decide(&mut self, at: usize, alias: &Alias) -> Result<bool, String> {
        let clock = *self
            .journal()
            .step(alias)
            .clock
            .get_or_insert_with(Timestamp::now);
        let runs = self
            .course
            .scope
            .decide(&self.course, self.moment(at, clock))
            .await?;
        self.journal().step(alias).ran = Some(runs);
        Ok(runs)
    }

    /// Finds the step's kind, marks it as started, evaluates and checks its configuration.
    async fn prepare(
        &mut self,
        at: usize,
        step: &PromotionStep,
    ) -> Result<Ready, (StepStatus, String)> {
        let alias = &step.alias;
        let registry = &self.course.tools.registry;
        let Some(kind) = registry.find(&step.uses) else {
            let kinds: Vec<String> = registry.kinds().iter().map(ToString::to_string).collect();
            return Err((
                StepStatus::Errored,
                format!(
                    "unknown step kind {:?}; there are: {}",
                    step.uses.as_str(),
                    kinds.join(", ")
                ),
            ));
        };
        let limits =
            Self::limits(step, kind.defaults()).map_err(|why| (StepStatus::Failed, why))?;
        let clock = *self
            .journal()
            .step(alias)
            .clock
            .get_or_insert_with(Timestamp::now);
        let entry = self.entry(alias);
        if entry.started_at.is_none() {
            entry.started_at = Some(Timestamp::now());
            entry.status = Some(StepStatus::Running);
            self.tell(Some(alias), What::StepStarted);
            self.touch();
        }
        let evaluated = self
            .course
            .scope
            .configure(&self.course, self.moment(at, clock))
            .await;
        let evaluated = evaluated.map_err(|why| (StepStatus::Errored, why))?;
        let record = self.journal().step(alias);
        record.lookups = evaluated.lookups;
        record.config = Some(evaluated.digest);
        let problems = kind.check(&evaluated.value);
        if !problems.is_empty() {
            return Err((
                StepStatus::Failed,
                format!("invalid configuration: {}", problems.join("; ")),
            ));
        }
        Ok(Ready {
            alias: alias.clone(),
            kind,
            limits,
            config: evaluated.value,
        })
    }

    async fn run_step(&mut self, step: &PromotionStep, ready: Ready) -> Result<Flow, Stopped> {
        let alias = ready.alias.clone();
        self.boundary(&format!("{alias}:started"))?;
        let (class, kind_limits) = (ready.kind.class_of(&ready.config), ready.limits);
        if class == Class::UnknowableEffect {
            if let Some(why) = self.unknown(&ready) {
                return self.end(step, StepStatus::Errored, why).await;
            }
            if let Some(limit) = self.is_late(&alias, kind_limits) {
                let message = verdict::timed_out(limit, &self.entry(&alias).message);
                return self.end(step, StepStatus::Errored, message).await;
            }
            self.journal().step(&alias).sent = Some(Timestamp::now());
        }
        if class != Class::Workspace {
            // From here on a reader has to see that it may have happened.
            self.write().await?;
        }
        let course = Arc::clone(&self.course);
        let before = self.ledger.journal.workspace.clone().unwrap_or_default();
        let mut files = Files::new(before.clone(), course.tools.paths());
        let remotes = Remotes::new(&course.tools, &course.project);
        let started = self.entry(&alias).started_at.unwrap_or_else(Timestamp::now);
        let rests = ready.kind.rests();
        let (recorder, records) = mpsc::channel(1);
        let mut trial = Trial {
            course: &course,
            kind: ready.kind,
            around: course.around(&alias, started),
            files: &mut files,
            repositories: &remotes,
            fetched: course.fetched(&alias, Some(recorder)),
            earlier: self.ledger.outputs().remove(alias.as_str()),
            config: &ready.config,
            until: kind_limits.timeout.map(|limit| deadline(started, limit)),
            patient: !rests,
        };
        let unknowable = class == Class::UnknowableEffect;
        self.sending.store(unknowable, Ordering::Relaxed);
        let attempt = self.while_recording(&alias, trial.run(), records).await?;
        self.sending.store(false, Ordering::Relaxed);
        let sent = self.journal().step(&alias).sent.take();
        let result = match attempt {
            Attempt::Done(Err(error)) if rests && error.kind == ErrorKind::Transient => {
                return self.rest(step, kind_limits, &error).await;
            }
            Attempt::Done(result) => result,
            Attempt::TimedOut(last) => {
                let limit = kind_limits.timeout.unwrap_or_default();
                // What an earlier try said is better than nothing.
                let last = Some(last).filter(|last| !last.is_empty());
                let last = last.unwrap_or_else(|| self.entry(&alias).message.clone());
                let mut message = verdict::timed_out(limit, &last);
                if let Some(sent) = sent {
                    message.push_str(&format!("; outcome unknown: may have been sent at {sent}"));
                }
                return self.end(step, StepStatus::Errored, message).await;
            }
        };
        self.journal().step(&alias).trouble = None;
        match result {
            Ok(outcome) => {
                self.journal()
                    .step(&alias)
                    .found
                    .extend(remotes.take_found());
                self.accept(step, kind_limits, outcome, &before, files.state)
                    .await
            }
            Err(error) => self.failed(step, kind_limits, &error).await,
        }
    }

    /// Why a step must not be done again that may have been done: it was sent, and no result was recorded.
    fn unknown(&mut self, ready: &Ready) -> Option<String> {
        let sent = self.journal().step(&ready.alias).sent?;
        let repeats = ready.config.get("onUnknown").and_then(Value::as_str) == Some("repeat");
        (!repeats)
            .then(|| format!("outcome unknown: may have been sent at {sent}. `onUnknown: repeat` would send it again"))
    }

    /// Records what a step brought. What does not fit fails the step, and everything stays as it was before it.
    pub(in crate::engine) async fn accept(
        &mut self,
        step: &PromotionStep,
        limits: Limits,
        outcome: Outcome,
        before: &WorkspaceState,
        after: WorkspaceState,
    ) -> Result<Flow, Stopped> {
        let alias = &step.alias;
        let output = self.redacted(limits::map_without_nulls(outcome.output));
        let others = self.ledger.outputs();
        let others_size = limits::size(&Value::Object(
            others
                .iter()
                .filter(|(key, _)| *key != alias.as_str())
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect(),
        ));
        if let Err(too_much) = limits::check_output(&Value::Object(output.clone()), others_size) {
            return self
                .end(step, StepStatus::Failed, too_much.to_string())
                .await;
        }
        let kept = self.ledger.journal.clone();
        self.note_files(alias, before, after);
        let journal = limits::size(&serde_json::to_value(&self.ledger.journal).unwrap_or_default());
        if journal > limits::JOURNAL_MAX {
            self.ledger.journal = kept;
            let too_much = limits::TooMuch {
                what: "the journal".into(),
                size: journal,
                max: limits::JOURNAL_MAX,
            };
            return self
                .end(step, StepStatus::Failed, too_much.to_string())
                .await;
        }
        if !output.is_empty() || others.contains_key(alias.as_str()) {
            self.put_output(step, output);
        }
        match outcome.ending {
            Ending::Succeeded => {
                self.ledger
                    .status
                    .health_checks
                    .extend(outcome.health_check);
                self.end(step, StepStatus::Succeeded, outcome.message).await
            }
            Ending::Skipped => self.end(step, StepStatus::Skipped, outcome.message).await,
            Ending::Waiting { poll } => self.wait(step, limits, outcome.message, poll).await,
        }
    }

    async fn wait(
        &mut self,
        step: &PromotionStep,
        limits: Limits,
        message: String,
        poll: std::time::Duration,
    ) -> Result<Flow, Stopped> {
        let message = self.course.scope.redact(&message);
        let entry = self.entry(&step.alias);
        entry.status = Some(StepStatus::Running);
        entry.message = message.clone();
        // It got somewhere: only errors in a row count.
        entry.error_count = 0;
        let started = entry.started_at.unwrap_or_else(Timestamp::now);
        let look = Instant::now() + poll.min(LONGEST_WAIT);
        let until = limits
            .timeout
            .map_or(look, |limit| look.min(deadline(started, limit)));
        Ok(Flow::Wait {
            until: Some(until),
            what: message,
        })
    }

    /// A try did not work: over, or again later. Outputs of earlier tries stay.
    pub(in crate::engine) async fn failed(
        &mut self,
        step: &PromotionStep,
        limits: Limits,
        error: &StepError,
    ) -> Result<Flow, Stopped> {
        let (now, first_pause) = (Timestamp::now(), self.course.tools.settings.first_pause);
        let entry = self.entry(&step.alias);
        let started = entry.started_at.unwrap_or(now);
        entry.error_count = entry.error_count.saturating_add(1);
        let errors = u32::try_from(entry.error_count).unwrap_or(1);
        match verdict::judge(error, errors, limits, started, now) {
            Verdict::Ended(status, message) => self.end(step, status, message).await,
            Verdict::Again(status, message) => {
                let message = self.course.scope.redact(&message);
                let entry = self.entry(&step.alias);
                entry.status = Some(status);
                entry.message = message.clone();
                self.tell(Some(&step.alias), What::Retrying(message.clone()));
                let until = Instant::now() + verdict::pause(first_pause, errors);
                Ok(Flow::Wait {
                    until: Some(until),
                    what: message,
                })
            }
        }
    }

    /// The step is over.
    pub(in crate::engine) async fn end(
        &mut self,
        step: &PromotionStep,
        status: StepStatus,
        message: String,
    ) -> Result<Flow, Stopped> {
        let message = limits::message(&self.course.scope.redact(&message));
        let entry = self.entry(&step.alias);
        entry.status = Some(status.clone());
        entry.message = message.clone();
        if entry.started_at.is_some() {
            entry.finished_at = Some(Timestamp::now());
        }
        self.tell(
            Some(&step.alias),
            What::StepEnded(status.to_string(), message),
        );
        let effect = self
            .course
            .tools
            .registry
            .find(&step.uses)
            .is_some_and(|kind| kind.class() != Class::Workspace);
        self.boundary(&format!("{}:done", step.alias))?;
        self.touch();
        if effect {
            self.write().await?
        } else {
            self.write_if_due().await?
        }
        self.boundary(&format!("{}:ended", step.alias))?;
        Ok(Flow::Next)
    }

    /// The files as they are after a step, and which checkouts it changed.
    pub(in crate::engine) fn note_files(
        &mut self,
        alias: &Alias,
        before: &WorkspaceState,
        after: WorkspaceState,
    ) {
        let trees = after.mounts.iter().filter(|mount| {
            before
                .mounts
                .iter()
                .find(|old| old.path == mount.path)
                .is_none_or(|old| old.tree != mount.tree)
        });
        let trees = trees
            .map(|mount| (mount.path.clone(), mount.tree.to_string()))
            .collect();
        let journal = self.journal();
        journal.step(alias).trees = trees;
        journal.workspace = Some(after);
    }

    /// Puts an output where later steps look for it. Outputs that a step composes inside a task are the task's too.
    pub(in crate::engine) fn put_output(
        &mut self,
        step: &PromotionStep,
        output: Map<String, Value>,
    ) {
        let mut state = self.ledger.status.state_map();
        put_output(&mut state, step, output);
        self.ledger.status.state = Some(Value::Object(state));
    }

    fn redacted(&self, output: Map<String, Value>) -> Map<String, Value> {
        output
            .into_iter()
            .map(|(key, value)| (key, self.redacted_value(value)))
            .collect()
    }

    fn redacted_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.course.scope.redact(&text)),
            Value::Array(items) => items
                .into_iter()
                .map(|item| self.redacted_value(item))
                .collect(),
            Value::Object(map) => Value::Object(self.redacted(map)),
            other => other,
        }
    }
}

/// When the time of a step that started then is over.
pub(in crate::engine) fn deadline(started: Timestamp, limit: std::time::Duration) -> Instant {
    let gone = started.until(Timestamp::now());
    Instant::now() + limit.saturating_sub(gone)
}
