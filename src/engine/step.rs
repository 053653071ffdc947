//! What a step is: its class, its configuration check, and one function from what it finds to an outcome.
//!
//! Implementations are in `steps/`, one file per `uses`; `runner` calls them and records what they did.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::{
    git::{branch::BranchName, id::CommitId, tag::TagName},
    kargo::{
        Alias, ProjectName, PromotionName, StageName, StepKind, Timestamp, Uid,
        approval::ApproverRule, artifact::FreightCollection, promotion::HealthCheck,
    },
};

use super::fetched::Fetched;
use super::port::Port;
use super::shape::Shape;
use super::workspace::{MirrorKey, MirrorPaths, Workspace, WorkspaceState};

/// What may be done again after a crash and in a replay; every step kind declares one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// A function of the workspace: runs again at will.
    Workspace,
    /// Brings content from outside: reused by digest.
    Fetch,
    /// Changes the outside, which can be asked whether it happened.
    AskableEffect,
    /// Changes nothing that matters when repeated.
    RepeatableEffect,
    /// May have happened, and nobody can tell.
    UnknowableEffect,
    /// Waits for somebody.
    Wait,
}

/// A step's own limits where the template gives none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// None is no limit.
    pub timeout: Option<Duration>,
    /// Errors until the step counts as failed, at least 1.
    pub error_threshold: u32,
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            timeout: None,
            error_threshold: 1,
        }
    }
}

/// A name and an address, for commits.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs)]
pub struct Person {
    pub name: String,
    pub email: String,
}

/// What a step may know of the promotion that it belongs to. The same in a replay.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Around {
    pub project: ProjectName,
    pub stage: StageName,
    pub promotion: PromotionName,
    pub uid: Uid,
    pub alias: Alias,
    /// When this step started first: the author date of its commits.
    pub started_at: Timestamp,
    /// The Freight of the promotion's start.
    pub freight: FreightCollection,
    /// Who commits where the configuration names nobody.
    pub author: Person,
}

/// A revision that git-clone asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Revision {
    /// The branch that the remote's HEAD names.
    Default,
    /// A branch; where it is absent, an empty one if `create`.
    Branch {
        /// Its name.
        name: BranchName,
        /// Whether an absent branch starts empty instead of failing.
        create: bool,
    },
    /// A commit by id.
    Commit(CommitId),
    /// A tag by name.
    Tag(String),
}

/// A checkout's origin, found by fetching (or, in a replay, given).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The mirror that holds the objects.
    pub mirror: MirrorKey,
    /// The branch, unless a commit or tag was asked for.
    pub branch: Option<BranchName>,
    /// The commit; none where the branch does not exist yet and may be created.
    pub commit: Option<CommitId>,
}

/// A repository, and how it is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin<'a> {
    /// Its address as the step wrote it.
    pub url: &'a str,
    /// Whether any certificate of the host will do.
    pub skips_tls: bool,
}

/// Where git-clone gets its commits from.
#[async_trait]
pub trait Repositories: Send + Sync {
    /// The commits of `revisions` in the repository, in the same order, as fresh as this call.
    async fn find(
        &self,
        origin: Origin<'_>,
        revisions: &[Revision],
    ) -> Result<Vec<Found>, StepError>;

    /// Whether the repository has a tag of that name. In a replay it has not: the first time it had not, and what has
    /// come since is met by the push.
    async fn has_tag(&self, origin: Origin<'_>, tag: &TagName) -> Result<bool, StepError>;
}

/// The files that the promotion works on, as a value plus the means to open it.
pub struct Files {
    /// What every step so far has made of them.
    pub state: WorkspaceState,
    mirrors: Arc<dyn MirrorPaths + Send + Sync>,
}

impl Files {
    /// The workspace `state`, whose objects are found through `mirrors`.
    pub fn new(state: WorkspaceState, mirrors: Arc<dyn MirrorPaths + Send + Sync>) -> Self {
        Self { state, mirrors }
    }

    /// Where the repositories are: mounting a new checkout needs it.
    pub fn mirrors(&self) -> Arc<dyn MirrorPaths + Send + Sync> {
        Arc::clone(&self.mirrors)
    }

    /// Runs `edit` on the opened workspace, beside the async threads. What it did counts only if it returns Ok:
    /// a step changes everything that it wants or nothing.
    pub async fn edit<T, F>(&mut self, edit: F) -> Result<T, StepError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Workspace) -> Result<T, StepError> + Send + 'static,
    {
        let (state, mirrors) = (self.state.clone(), Arc::clone(&self.mirrors));
        let job = move || {
            let mut workspace = Workspace::open(state, mirrors.as_ref()).map_err(|error| {
                StepError::transient("cannot open the workspace").because(error)
            })?;
            let result = edit(&mut workspace)?;
            Ok((result, workspace.into_state()))
        };
        let joined = tokio::task::spawn_blocking(job).await;
        let (result, state) = joined
            .map_err(|error| StepError::config(format!("the step stopped half-way: {error}")))??;
        self.state = state;
        Ok(result)
    }
}

/// What a step works with.
pub struct StepCx<'a> {
    /// The promotion around it.
    pub around: &'a Around,
    /// The workspace; see [`Files::edit`].
    pub files: &'a mut Files,
    /// For git-clone.
    pub repositories: &'a dyn Repositories,
    /// What this step has brought in from outside, and brings: see [`Fetched`].
    pub fetched: &'a Fetched,
    /// What this step put out last time it ran, where it ran before (waits, retries).
    pub earlier: Option<&'a Value>,
    /// For steps that change the Project's objects; none in a replay, which touches nothing outside.
    pub port: Option<&'a dyn Port>,
}

/// How a step ended, or that it goes on waiting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Done.
    Succeeded,
    /// Nothing was to be done.
    Skipped,
    /// Waits; woken by an event, else looked at again after this long.
    Waiting {
        /// The slow poll behind the events.
        poll: Duration,
    },
}

/// What a step says when it has not failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// Under the step's alias, for later steps.
    pub output: Map<String, Value>,
    /// For people; empty where there is nothing to say.
    pub message: String,
    /// For the Stage's health.
    pub health_check: Option<HealthCheck>,
}

impl Outcome {
    /// Done, with this output.
    pub fn succeeded(output: Map<String, Value>) -> Self {
        Self {
            ending: Ending::Succeeded,
            output,
            message: String::new(),
            health_check: None,
        }
    }

    /// Nothing was to be done, for the reason given.
    pub fn skipped(output: Map<String, Value>, message: impl Into<String>) -> Self {
        Self {
            ending: Ending::Skipped,
            output,
            message: message.into(),
            health_check: None,
        }
    }

    /// The same with a message for people.
    pub fn saying(self, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            ..self
        }
    }
}

/// What kind of failure: decides whether it is tried again and what the promotion becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// May work if tried again: tried inside the step within a budget, not counted against its threshold.
    Transient,
    /// The other side has a rule against it.
    Refused,
    /// Others changed the same thing.
    Conflict,
    /// The configuration cannot work; never tried again.
    Config,
    /// The step itself says no: Failed, never tried again.
    Failed,
    /// It did not work; counted against the step's threshold.
    Errored,
}

/// Why a step did not work.
#[derive(Debug, thiserror::Error)]
#[error("{doing}")]
pub struct StepError {
    /// What decides about the next try.
    pub kind: ErrorKind,
    /// What was being done, with which object, or what is wrong with it.
    pub doing: String,
    /// What to do next, where we know.
    pub hint: Option<String>,
    /// Why.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident = $kind:ident),+) => {$(
        $(#[$doc])*
        pub fn $name(doing: impl Into<String>) -> Self {
            Self { kind: ErrorKind::$kind, doing: doing.into(), hint: None, source: None }
        }
    )+};
}

impl StepError {
    constructors! {
        /// May work if tried again.
        transient = Transient,
        /// The other side has a rule against it.
        refused = Refused,
        /// Others changed the same thing.
        conflict = Conflict,
        /// The configuration cannot work.
        config = Config,
        /// The step says no.
        failed = Failed,
        /// It did not work.
        errored = Errored
    }

    /// The same, with its cause.
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The same, with what to do next.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The whole chain as one sentence, the hint last: what the step's message shows.
    pub fn sentence(&self) -> String {
        let mut text = self.doing.clone();
        let mut next: Option<&(dyn std::error::Error + 'static)> = self
            .source
            .as_ref()
            .map(|source| source.as_ref() as &(dyn std::error::Error + 'static));
        while let Some(error) = next {
            text.push_str(": ");
            text.push_str(&error.to_string());
            next = error.source();
        }
        if let Some(hint) = &self.hint {
            text.push_str(". ");
            text.push_str(hint);
        }
        text
    }
}

/// What a step wants of the engine.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// To be run.
    Run,
    /// Commits of a checkout brought onto a branch.
    Push(PushOrder),
    /// People asked.
    Ask(Question),
}

/// What a push goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushTarget {
    /// The one that was checked out.
    CheckedOut,
    /// This one.
    Branch(BranchName),
    /// One of this promotion's own, made and overwritten at will.
    Generated,
    /// None: this tag of the checkout is brought to the remote.
    Tag(TagName),
}

/// What git-push asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushOrder {
    /// The checkout, as the step wrote it.
    pub path: String,
    /// Where to.
    pub target: PushTarget,
    /// Whether commits of others are overwritten.
    pub force: bool,
    /// How many pushes at most; none is the default.
    pub max_attempts: Option<u32>,
    /// Whose web pages the link to the commit is for, where the address does not tell.
    pub provider: Option<String>,
}

/// What wait-for-approval asks.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Who may answer.
    pub approvers: Vec<ApproverRule>,
    /// How many different people must approve, at least 1.
    pub min_approvals: u32,
    /// Whether who made the Promotion may not.
    pub exclude_creator: bool,
    /// Whether a newer Promotion of the Stage ends this one while it waits.
    pub supersede: bool,
    /// The slow look behind the events.
    pub poll: Duration,
}

/// One step kind.
#[async_trait]
pub trait Step: Send + Sync {
    /// What `uses` says.
    fn kind(&self) -> StepKind;

    /// What may be done again, at the least.
    fn class(&self) -> Class;

    /// The same for one configuration, where that decides; it is evaluated and has passed `check`.
    fn class_of(&self, _config: &Value) -> Class {
        self.class()
    }

    /// Whether what may work later is tried after a rest, in which the promotion holds no worker, and not inside one
    /// run.
    fn rests(&self) -> bool {
        false
    }

    /// Limits where the template gives none.
    fn defaults(&self) -> Defaults {
        Defaults::default()
    }

    /// What its configuration looks like; anything where that is not told.
    fn shape(&self) -> Shape {
        Shape::Any
    }

    /// What is wrong with an evaluated configuration: unknown fields, wrong types, values that exclude each other.
    /// Each problem names its field first, with a colon behind it.
    fn check(&self, config: &Value) -> Vec<String> {
        self.shape().check(config)
    }

    /// What it wants of the engine: to be run, or something that outlives one run and that the engine does for it.
    fn plan(&self, _config: &Value) -> Plan {
        Plan::Run
    }

    /// Does it. `config` is evaluated and has passed `check`. Called for [`Plan::Run`] only.
    async fn run(&self, _cx: StepCx<'_>, _config: &Value) -> Result<Outcome, StepError> {
        Err(StepError::config(format!(
            "{} is done by the engine",
            self.kind()
        )))
    }
}

/// Runs a step so that it changes all that it wants or nothing, however many edits it is made of.
pub async fn run_whole(
    step: &dyn Step,
    cx: StepCx<'_>,
    config: &Value,
) -> Result<Outcome, StepError> {
    let StepCx { files, .. } = cx;
    let before = files.state.clone();
    let result = step.run(StepCx { files, ..cx }, config).await;
    if result.is_err() {
        files.state = before;
    }
    result
}

/// The step kinds that there are.
pub trait Registry: Send + Sync {
    /// The step kind of that name.
    fn find(&self, kind: &StepKind) -> Option<Arc<dyn Step>>;

    /// All names, for the error about one that is unknown.
    fn kinds(&self) -> BTreeSet<StepKind>;
}
