//! A promotion's commits on their way: put onto a tip by rebase where that is sound, else by running its steps again.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::shown;
use crate::{
    engine::{
        course::{Course, Past},
        journal::Replayed,
        replay::{Again, Moved, ReplayError, replay},
        workspace::{Mount, WorkspaceState},
    },
    git::{
        branch::BranchName,
        id::CommitId,
        land::{Landed, Member, NotPlaced, Placed},
        objects::{Objects, ObjectsError},
        path::RepoPath,
        rebase::{Rebased, rebase},
    },
    kargo::Alias,
};

/// The promotion's files as they stand for one placing.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The files.
    pub state: WorkspaceState,
    /// All outputs, where steps ran again.
    pub outputs: Option<Map<String, Value>>,
}

/// One promotion's member of the queue.
pub struct Carrier {
    course: Arc<Course>,
    past: Past,
    at: usize,
    path: RepoPath,
    branch: BranchName,
    /// Whether the checkout is of the branch that is pushed to: only then a replay can stand on its tip.
    home: bool,
    now: Mutex<Now>,
}

struct Now {
    /// The last that its steps made.
    standing: Standing,
    /// By the head that was placed.
    placed: HashMap<CommitId, Standing>,
    replays: Vec<Replayed>,
    tried: u32,
    question: Option<(Alias, Again)>,
}

/// A gate before the push has to ask again.
#[derive(Debug, thiserror::Error)]
#[error("the change has to be approved again")]
struct AsksAgain;

impl Carrier {
    pub fn new(
        course: Arc<Course>,
        past: Past,
        at: usize,
        mount: &Mount,
        branch: BranchName,
    ) -> Self {
        let state = past.journal.workspace.clone().unwrap_or_default();
        let now = Now {
            standing: Standing {
                state,
                outputs: None,
            },
            placed: HashMap::new(),
            replays: Vec::new(),
            tried: 0,
            question: None,
        };
        let home = mount.branch.as_ref() == Some(&branch);
        Self {
            course,
            past,
            at,
            path: mount.path.clone(),
            branch,
            home,
            now: Mutex::new(now),
        }
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The files that belong to what landed.
    pub fn standing(&self, landed: &Landed) -> Standing {
        let now = self.now();
        now.placed
            .get(&landed.head)
            .unwrap_or(&now.standing)
            .clone()
    }

    pub fn take_replays(&self) -> Vec<Replayed> {
        std::mem::take(&mut self.now().replays)
    }

    pub fn has_question(&self) -> bool {
        self.now().question.is_some()
    }

    pub fn take_question(&self) -> Option<(Alias, Again)> {
        self.now().question.take()
    }

    fn mount_in(&self, state: &WorkspaceState) -> Result<Mount, NotPlaced> {
        let mount = state
            .mounts
            .iter()
            .find(|mount| mount.path == self.path)
            .cloned();
        mount.ok_or_else(|| NotPlaced::Conflict {
            paths: vec![self.path.to_string()],
            message: format!("the checkout at {} is gone", self.path),
        })
    }

    /// Notes the files that belong to a head.
    fn place_at(&self, head: Option<&CommitId>, standing: &Standing) {
        if let Some(head) = head {
            self.now().placed.insert(head.clone(), standing.clone());
        }
    }

    async fn again(
        &self,
        mount: &Mount,
        tip: Option<&CommitId>,
        paths: Vec<String>,
    ) -> Result<Placed, NotPlaced> {
        let place = || {
            let show = |id: Option<&CommitId>| id.map_or("nothing", CommitId::short).to_owned();
            format!(
                "{} changed on {} between {} and {}",
                paths.join(", "),
                self.branch,
                show(mount.base.as_ref()),
                show(tip)
            )
        };
        let conflict = |why: String| NotPlaced::Conflict {
            paths: paths.clone(),
            message: format!("{}, and {why}", place()),
        };
        if !self.home {
            return Err(conflict(
                "the checkout is of another branch, so that its steps cannot run on that one"
                    .into(),
            ));
        }
        {
            let mut now = self.now();
            let most = self.course.tools.settings.replays_max;
            if now.tried >= most {
                return Err(conflict(format!(
                    "the steps have run again {most} times already"
                )));
            }
            now.tried += 1;
        }
        let moved = Moved {
            mirror: mount.mirror.clone(),
            branch: self.branch.clone(),
            tip: tip.cloned(),
        };
        let again = match replay(&self.course, &self.past, self.at, Some(&moved)).await {
            Ok(again) => again,
            Err(ReplayError::Asks { gate, again }) => {
                self.now().question = Some((gate, *again));
                return Err(NotPlaced::Failed(Box::new(AsksAgain)));
            }
            Err(error) => {
                return Err(conflict(format!(
                    "its steps do not work there: {}",
                    crate::engine::sentence(&error)
                )));
            }
        };
        let made = self.mount_in(&again.state)?;
        let standing = Standing {
            state: again.state,
            outputs: Some(again.outputs),
        };
        let mut now = self.now();
        let text = |id: Option<&CommitId>| id.map(ToString::to_string).unwrap_or_default();
        now.replays.push(Replayed {
            step: Alias::default(),
            branch: format!("{} of {}", self.branch, shown(&self.course, &mount.mirror)),
            reason: paths.join(", "),
            from: text(mount.base.as_ref()),
            to: text(tip),
        });
        now.standing = standing.clone();
        let Some(head) = made.commits.last() else {
            return Ok(Placed::NoOp);
        };
        now.placed.insert(head.clone(), standing);
        Ok(Placed::Commits {
            commits: made.commits,
            replayed: true,
        })
    }
}

impl Replayed {
    /// The same, caused by that step.
    pub fn named(self, step: &Alias) -> Self {
        Self {
            step: step.clone(),
            ..self
        }
    }
}

#[async_trait]
impl Member for Carrier {
    async fn place(&self, tip: Option<&CommitId>, _round: u32) -> Result<Placed, NotPlaced> {
        let standing = self.now().standing.clone();
        let mount = self.mount_in(&standing.state)?;
        let rebased = self
            .rebased(&mount, tip)
            .await
            .map_err(|error| NotPlaced::Failed(Box::new(error)))?;
        match rebased {
            Rebased::Same => {
                self.place_at(mount.commits.last(), &standing);
                match mount.commits.is_empty() {
                    true => Ok(Placed::NoOp),
                    false => Ok(Placed::Commits {
                        commits: mount.commits,
                        replayed: false,
                    }),
                }
            }
            Rebased::Onto(commits) => {
                self.place_at(commits.last(), &standing);
                Ok(Placed::Commits {
                    commits,
                    replayed: false,
                })
            }
            Rebased::NoOp => Ok(Placed::NoOp),
            Rebased::Stale { paths } => self.again(&mount, tip, paths).await,
        }
    }
}

/// Why the objects could not be compared.
#[derive(Debug, thiserror::Error)]
enum RebaseError {
    #[error("the mirror of {0} is gone")]
    Gone(String),
    #[error(transparent)]
    Objects(#[from] ObjectsError),
    #[error("the rebase stopped half-way")]
    Task(#[from] tokio::task::JoinError),
}

impl Carrier {
    async fn rebased(&self, mount: &Mount, tip: Option<&CommitId>) -> Result<Rebased, RebaseError> {
        let Some(path) = self.course.tools.paths().path(&mount.mirror) else {
            return Err(RebaseError::Gone(shown(&self.course, &mount.mirror)));
        };
        let (mount, tip) = (mount.clone(), tip.cloned());
        let job = move || {
            let objects = Objects::open(&path)?;
            rebase(
                &objects,
                &mount.commits,
                mount.base.as_ref(),
                &mount.access,
                tip.as_ref(),
            )
        };
        Ok(tokio::task::spawn_blocking(job).await??)
    }
}
