//! What a push carries: the checkout, where it goes to, and how long it may take.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::{
    engine::{
        repositories::Remotes,
        runner::{
            Runner,
            one::{Ready, deadline},
        },
        step::{Files, PushOrder, PushTarget, StepError},
        workspace::{MirrorKey, Mount, Workspace},
    },
    git::{
        branch::BranchName,
        id::CommitId,
        land::{HeaderKey, LandBudget},
        mirror::Mirror,
        objects::Objects,
        path::RepoPath,
    },
    kargo::Timestamp,
};

/// A push without a timeout of its own ends after this.
const PATIENCE: Duration = Duration::from_secs(300);

/// What is to be pushed, and where to.
pub struct Cargo {
    pub mount: Mount,
    pub branch: BranchName,
    pub mirror: Arc<Mirror>,
    pub key: MirrorKey,
    pub header: Option<HeaderKey>,
    pub force: bool,
    pub budget: LandBudget,
}

impl Cargo {
    /// Whether the checkout goes on from what lands.
    pub fn is_home(&self) -> bool {
        self.mount.branch.as_ref() == Some(&self.branch)
    }

    /// Whether the checkout was made with other credentials than there are now: its objects are in another mirror.
    pub fn is_rekeyed(&self) -> bool {
        self.mount.mirror != self.key
    }
}

impl Runner {
    /// Finds the checkout, the branch and the mirror.
    pub(super) async fn cargo(
        &mut self,
        ready: &Ready,
        order: &PushOrder,
    ) -> Result<Cargo, StepError> {
        let mount = self.checkout(order).await?;
        let branch = match &order.target {
            PushTarget::Branch(branch) => branch.clone(),
            PushTarget::Generated => generated(&self.course.promotion)?,
            PushTarget::CheckedOut | PushTarget::Tag(_) => {
                mount.branch.clone().ok_or_else(|| {
                    StepError::config(format!(
                        "{} is a checkout of a commit, not of a branch",
                        mount.path
                    ))
                    .hint("Name the branch with `targetBranch`")
                })?
            }
        };
        let (mirror, key) = self.origin(&mount).await?;
        let header = match key == mount.mirror {
            true => header_of(&mirror, mount.commits.last()).await?,
            false => None,
        };
        let force = order.force || order.target == PushTarget::Generated;
        Ok(Cargo {
            mount,
            branch,
            mirror,
            key,
            header,
            force,
            budget: self.budget(ready, order),
        })
    }

    /// The checkout that is pushed from.
    pub(super) async fn checkout(&self, order: &PushOrder) -> Result<Mount, StepError> {
        let path = RepoPath::root()
            .follow(&order.path)
            .map_err(|error| StepError::config("path").because(error))?;
        let state = self.ledger.journal.workspace.clone().unwrap_or_default();
        let mut files = Files::new(state, self.course.tools.paths());
        let look = move |workspace: &mut Workspace| {
            workspace
                .checkout(&path)
                .cloned()
                .map_err(|error| StepError::config("cannot push").because(error))
        };
        files.edit(look).await
    }

    /// The mirror of its repository by the credentials of now, which may be another one than the checkout's.
    pub(super) async fn origin(
        &self,
        mount: &Mount,
    ) -> Result<(Arc<Mirror>, MirrorKey), StepError> {
        let remotes = Remotes::new(&self.course.tools, &self.course.project);
        remotes.open(mount.origin()).await
    }

    /// How long and how often to try.
    pub(super) fn budget(&mut self, ready: &Ready, order: &PushOrder) -> LandBudget {
        let time = match ready.limits.timeout {
            Some(limit) => {
                let started = self.entry(&ready.alias).started_at;
                let end = deadline(started.unwrap_or_else(Timestamp::now), limit);
                end.saturating_duration_since(Instant::now())
            }
            None => PATIENCE,
        };
        let max_attempts = order
            .max_attempts
            .unwrap_or(LandBudget::default().max_attempts);
        LandBudget { max_attempts, time }
    }

    /// Whether the repository is reached by other credentials than those of `key` now.
    pub(super) async fn has_new_key(&self, mount: &Mount, key: &MirrorKey) -> bool {
        let now = self.origin(mount).await;
        now.is_ok_and(|(_, now)| now != *key)
    }
}

fn generated(promotion: &crate::kargo::PromotionName) -> Result<BranchName, StepError> {
    let name = format!("kargo/promotion/{promotion}");
    name.parse()
        .map_err(|error| StepError::config("the generated branch's name").because(error))
}

/// The mark of the last commit, by which it is found on the branch.
async fn header_of(
    mirror: &Arc<Mirror>,
    commit: Option<&CommitId>,
) -> Result<Option<HeaderKey>, StepError> {
    let Some(commit) = commit.cloned() else {
        return Ok(None);
    };
    let path = mirror.path().to_owned();
    let look = move || Objects::open(&path)?.header_of(&commit);
    let looked = tokio::task::spawn_blocking(look).await;
    let looked = looked.map_err(|error| StepError::transient("reading a commit").because(error))?;
    looked.map_err(|error| StepError::errored("cannot read the commit to be pushed").because(error))
}
