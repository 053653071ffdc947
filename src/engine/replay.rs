//! A promotion's workspace steps again, on another base of one branch, with the decisions and the clock of the
//! first time. Nothing outside is touched: no network, no cluster, no effect.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{
    course::{Course, Past, put_output},
    gate,
    journal::{FoundRecord, limits},
    runner::attempt::{Attempt, Trial},
    scope::Moment,
    step::{Class, Ending, Files, Found, Origin, Repositories, Revision, StepError},
    workspace::{MirrorKey, Mount, Workspace, WorkspaceState},
};
use crate::{
    git::{branch::BranchName, id::CommitId, path::RepoPath, tag::TagName},
    kargo::{Alias, PromotionStep, StepStatus, Timestamp, promotion::StepMetadata},
};

/// The branch that has another tip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The mirror of its repository.
    pub mirror: MirrorKey,
    /// Which.
    pub branch: BranchName,
    /// Where it is now.
    pub tip: Option<CommitId>,
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Again {
    /// The files.
    pub state: WorkspaceState,
    /// All outputs, those of the steps that did not run again among them.
    pub outputs: Map<String, Value>,
}

/// Why steps did not come out again.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// A step that had worked does not, or the other way round.
    #[error("step {step} had {was} and now: {why}")]
    Differs {
        /// Which.
        step: Alias,
        /// How it had ended.
        was: StepStatus,
        /// What it says now.
        why: String,
    },
    /// A push that is done would have pushed something else.
    #[error("what step {step} has pushed to {branch} would be different now")]
    Pushed {
        /// Which.
        step: Alias,
        /// Where to.
        branch: BranchName,
    },
    /// A gate's question has another answer now: it has to be asked again.
    #[error("the change that {gate} asked about is another one now")]
    Asks {
        /// Which.
        gate: Alias,
        /// What is asked about now.
        again: Box<Again>,
    },
    /// A gate would have to be asked again, but what came after it has been done already.
    #[error(
        "the change that {gate} asked about is another one now, and {step} after it is done already"
    )]
    TooLateToAsk {
        /// Which.
        gate: Alias,
        /// The effect that cannot be taken back.
        step: Alias,
    },
    /// The files cannot be opened.
    #[error("the workspace cannot be worked on")]
    Files(#[source] StepError),
}

/// Runs the workspace steps before step `upto` again. With `moved` only those since the last push that landed on
/// that branch, on its new tip; without, all of them, on the bases of the first time.
pub async fn replay(
    course: &Course,
    past: &Past,
    upto: usize,
    moved: Option<&Moved>,
) -> Result<Again, ReplayError> {
    let (start, state) = begin(course, past, upto, moved).await?;
    let mut again = Again {
        state,
        outputs: past.outputs.clone(),
    };
    for (at, step) in course.steps.iter().enumerate().take(upto).skip(start) {
        let Some(meta) = past.meta(&step.alias) else {
            continue;
        };
        one(course, past, at, step, meta, moved, &mut again).await?;
    }
    Ok(again)
}

/// Which step comes first, and with what files.
async fn begin(
    course: &Course,
    past: &Past,
    upto: usize,
    moved: Option<&Moved>,
) -> Result<(usize, WorkspaceState), ReplayError> {
    let Some(moved) = moved else {
        return Ok((0, WorkspaceState::default()));
    };
    let before = course.steps.iter().enumerate().take(upto);
    let landed = before.rev().find_map(|(at, step)| {
        let state = past.journal.landed.get(&step.alias)?;
        let intent = past.journal.steps.get(&step.alias)?.intent.as_ref()?;
        let mount = state
            .mounts
            .iter()
            .find(|mount| mount.path == intent.path)?;
        is_of(mount, moved).then(|| (at, state.clone(), mount.path.clone()))
    });
    match (landed, &moved.tip) {
        (Some((at, state, path)), Some(tip)) => Ok((at + 1, onto(course, state, path, tip).await?)),
        _ => Ok((0, WorkspaceState::default())),
    }
}

fn is_of(mount: &Mount, moved: &Moved) -> bool {
    mount.mirror == moved.mirror && mount.branch.as_ref() == Some(&moved.branch)
}

/// The state with the checkout at `path` standing on `head`.
pub async fn onto(
    course: &Course,
    state: WorkspaceState,
    path: RepoPath,
    head: &CommitId,
) -> Result<WorkspaceState, ReplayError> {
    let head = head.clone();
    let stand = move |workspace: &mut Workspace| {
        workspace
            .landed(&path, &head)
            .map_err(|error| StepError::conflict("cannot go on from what landed").because(error))
    };
    edited(course, state, stand).await
}

/// The state with the checkout at `path` pushed as `head` to a branch that is not its own.
pub async fn elsewhere(
    course: &Course,
    state: WorkspaceState,
    path: RepoPath,
    head: &CommitId,
) -> Result<WorkspaceState, ReplayError> {
    let head = head.clone();
    let look = move |workspace: &mut Workspace| {
        workspace
            .landed_elsewhere(&path, &head)
            .map_err(|error| StepError::errored("cannot look at what landed").because(error))
    };
    edited(course, state, look).await
}

async fn edited<F>(
    course: &Course,
    state: WorkspaceState,
    edit: F,
) -> Result<WorkspaceState, ReplayError>
where
    F: FnOnce(&mut Workspace) -> Result<(), StepError> + Send + 'static,
{
    let mut files = Files::new(state, course.tools.paths());
    files.edit(edit).await.map_err(ReplayError::Files)?;
    Ok(files.state)
}

async fn one(
    course: &Course,
    past: &Past,
    at: usize,
    step: &PromotionStep,
    meta: &StepMetadata,
    moved: Option<&Moved>,
    again: &mut Again,
) -> Result<(), ReplayError> {
    let record = past
        .journal
        .steps
        .get(&step.alias)
        .cloned()
        .unwrap_or_default();
    if record.ran == Some(false) || !worked(meta) {
        return Ok(());
    }
    let Some(kind) = course.tools.registry.find(&step.uses) else {
        return Ok(());
    };
    match kind.class() {
        Class::Workspace | Class::Fetch => {}
        Class::AskableEffect => return pushed(course, past, step, again).await,
        Class::Wait => return asked(course, past, at, step, again).await,
        Class::RepeatableEffect | Class::UnknowableEffect => return Ok(()),
    }
    let differs = |why: String| ReplayError::Differs {
        step: step.alias.clone(),
        was: meta.status.clone().unwrap_or(StepStatus::Running),
        why,
    };
    let clock = record.clock.unwrap_or_else(Timestamp::now);
    let now = Past {
        outputs: again.outputs.clone(),
        ..past.clone()
    };
    let evaluated = course
        .scope
        .configure(
            course,
            Moment {
                at,
                clock,
                past: now,
                again: true,
            },
        )
        .await
        .map_err(differs)?;
    let problems = kind.check(&evaluated.value);
    if !problems.is_empty() {
        return Err(differs(problems.join("; ")));
    }
    let mut files = Files::new(again.state.clone(), course.tools.paths());
    let pins = Pins::new(record.found, moved);
    // What was lost is fetched again; everything else asks nothing of the outside.
    let patient = kind.class() == Class::Fetch;
    let mut trial = Trial {
        course,
        kind,
        around: course.around(&step.alias, meta.started_at.unwrap_or(clock)),
        files: &mut files,
        repositories: &pins,
        fetched: course.fetched(&step.alias, None),
        earlier: None,
        config: &evaluated.value,
        until: None,
        patient,
    };
    let outcome = match trial.run().await {
        Attempt::Done(Ok(outcome)) => outcome,
        Attempt::Done(Err(error)) => return Err(differs(error.sentence())),
        Attempt::TimedOut(last) => return Err(differs(last)),
    };
    if !matches!(outcome.ending, Ending::Succeeded | Ending::Skipped) {
        return Err(differs("it waits".into()));
    }
    again.state = files.state;
    let output = limits::map_without_nulls(outcome.output);
    if !output.is_empty() || again.outputs.contains_key(step.alias.as_str()) {
        put_output(&mut again.outputs, step, output);
    }
    Ok(())
}

/// A step that was skipped by itself had run.
fn worked(meta: &StepMetadata) -> bool {
    matches!(
        meta.status,
        Some(StepStatus::Succeeded | StepStatus::Skipped)
    )
}

/// A push that is done stays done; its checkout goes on from there if it would have pushed the same.
async fn pushed(
    course: &Course,
    past: &Past,
    step: &PromotionStep,
    again: &mut Again,
) -> Result<(), ReplayError> {
    let Some(record) = past.journal.steps.get(&step.alias) else {
        return Ok(());
    };
    let Some(intent) = &record.intent else {
        return Ok(());
    };
    let at_intent = |state: &WorkspaceState| {
        let mut mounts = state.mounts.iter();
        mounts.find(|mount| mount.path == intent.path).cloned()
    };
    let Some(now) = at_intent(&again.state) else {
        return Ok(());
    };
    let then = past.journal.landed.get(&step.alias).and_then(at_intent);
    let head = match &then {
        Some(then) => then.head(),
        None => record.arrived.as_ref(),
    };
    let Some(head) = head else {
        return Ok(());
    };
    let same = now.commits == intent.commits;
    if !same && then.is_some() {
        return Err(ReplayError::Pushed {
            step: step.alias.clone(),
            branch: intent.branch.clone(),
        });
    }
    if same {
        // Also where another mirror has to get the tags.
        let state = std::mem::take(&mut again.state);
        again.state = elsewhere(course, state, intent.path.clone(), head).await?;
    }
    let mut mounts = again.state.mounts.iter_mut();
    if let (Some(now), Some(then)) = (mounts.find(|mount| mount.path == intent.path), then) {
        *now = then;
    }
    Ok(())
}

/// Answers to a gate hold for the change that they were given for.
async fn asked(
    course: &Course,
    past: &Past,
    at: usize,
    step: &PromotionStep,
    again: &mut Again,
) -> Result<(), ReplayError> {
    let record = past.journal.steps.get(&step.alias);
    let gate = record.and_then(|record| record.gate.as_ref());
    let Some(gate) = gate.filter(|gate| gate.is_asked()) else {
        return Ok(());
    };
    let change = gate::change(course, &again.state)
        .await
        .map_err(ReplayError::Files)?;
    if change.digest == gate.digest {
        return Ok(());
    }
    if let Some(done) = effect_after(course, past, at) {
        return Err(ReplayError::TooLateToAsk {
            gate: step.alias.clone(),
            step: done,
        });
    }
    Err(ReplayError::Asks {
        gate: step.alias.clone(),
        again: Box::new(again.clone()),
    })
}

/// An effect after step `at` that has happened. Going back before it would make it happen twice.
fn effect_after(course: &Course, past: &Past, at: usize) -> Option<Alias> {
    let is_done = |step: &&PromotionStep| {
        let effect = course.tools.registry.find(&step.uses).is_some_and(|kind| {
            matches!(
                kind.class(),
                Class::AskableEffect | Class::RepeatableEffect | Class::UnknowableEffect
            )
        });
        effect
            && past
                .meta(&step.alias)
                .is_some_and(|meta| meta.status == Some(StepStatus::Succeeded))
    };
    let after = course.steps.iter().skip(at + 1);
    after.filter(is_done).map(|step| step.alias.clone()).next()
}

/// The commits that a clone found the first time, the moved branch at its new tip.
struct Pins<'a> {
    found: Mutex<VecDeque<FoundRecord>>,
    moved: Option<&'a Moved>,
}

impl<'a> Pins<'a> {
    fn new(found: Vec<FoundRecord>, moved: Option<&'a Moved>) -> Self {
        Self {
            found: Mutex::new(found.into()),
            moved,
        }
    }
}

#[async_trait]
impl Repositories for Pins<'_> {
    async fn find(
        &self,
        origin: Origin<'_>,
        revisions: &[Revision],
    ) -> Result<Vec<Found>, StepError> {
        let mut kept = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = Vec::new();
        for _ in revisions {
            let Some(record) = kept.pop_front() else {
                return Err(StepError::conflict(format!(
                    "what was found in {} the first time is not known",
                    origin.url
                )));
            };
            let moved = self.moved.filter(|moved| {
                record.mirror == moved.mirror && record.branch.as_ref() == Some(&moved.branch)
            });
            let commit = moved.map_or(record.commit, |moved| moved.tip.clone());
            found.push(Found {
                mirror: record.mirror,
                branch: record.branch,
                commit,
            });
        }
        Ok(found)
    }

    async fn has_tag(&self, _: Origin<'_>, _: &TagName) -> Result<bool, StepError> {
        Ok(false)
    }
}
