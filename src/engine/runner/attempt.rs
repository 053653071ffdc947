//! One try of one step: against panics, within its time, and again while what failed may work later.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt;
use serde_json::Value;
use tokio::time::Instant;

use crate::engine::{
    course::Course,
    fetched::Fetched,
    step::{Around, ErrorKind, Files, Outcome, Repositories, Step, StepCx, StepError, run_whole},
    tools::What,
};

/// What a try came to.
pub enum Attempt {
    /// It ended by itself.
    Done(Result<Outcome, StepError>),
    /// Its time was over; with the last real error.
    TimedOut(String),
}

/// What a try needs.
pub struct Trial<'a> {
    /// The promotion.
    pub course: &'a Course,
    /// The step kind.
    pub kind: Arc<dyn Step>,
    /// The step's surroundings.
    pub around: Around,
    /// The workspace.
    pub files: &'a mut Files,
    /// For git-clone.
    pub repositories: &'a dyn Repositories,
    /// What the step brings in.
    pub fetched: Fetched,
    /// What the step put out before.
    pub earlier: Option<Value>,
    /// Its evaluated configuration.
    pub config: &'a Value,
    /// When its time is over, where it has a limit.
    pub until: Option<Instant>,
    /// Whether to try again what may work later. Not in a replay, which mostly asks nothing of the outside.
    pub patient: bool,
}

impl Trial<'_> {
    /// Runs the step, and again for what may work later, until the budget or the step's own time is over.
    pub async fn run(&mut self) -> Attempt {
        let settings = &self.course.tools.settings;
        let budget = self
            .until
            .unwrap_or_else(|| Instant::now() + settings.transient_budget);
        let (mut pause, mut last) = (settings.first_pause, String::new());
        loop {
            let result = match self.until {
                None => self.once().await,
                Some(until) => match tokio::time::timeout_at(until, self.once()).await {
                    Ok(result) => result,
                    Err(_) => return Attempt::TimedOut(last),
                },
            };
            match result {
                Err(error)
                    if self.patient
                        && error.kind == ErrorKind::Transient
                        && Instant::now() + pause < budget =>
                {
                    last = error.sentence();
                    let said = self.course.scope.redact(&last);
                    self.course
                        .tell(Some(&self.around.alias), What::Retrying(said));
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(Duration::from_secs(60));
                }
                Err(error)
                    if self.patient
                        && error.kind == ErrorKind::Transient
                        && self.until.is_some() =>
                {
                    return Attempt::TimedOut(error.sentence());
                }
                result => return Attempt::Done(result),
            }
        }
    }

    async fn once(&mut self) -> Result<Outcome, StepError> {
        let cx = StepCx {
            around: &self.around,
            files: self.files,
            repositories: self.repositories,
            fetched: &self.fetched,
            earlier: self.earlier.as_ref(),
            port: self.patient.then_some(&*self.course.tools.port),
        };
        let running = AssertUnwindSafe(run_whole(&*self.kind, cx, self.config)).catch_unwind();
        running.await.unwrap_or_else(|panic| {
            Err(StepError::config(format!(
                "the step panicked: {}",
                words(&*panic)
            )))
        })
    }
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without a message".into())
}
