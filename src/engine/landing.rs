//! git-push: commits of a checkout onto a branch, through the one queue before it. `cargo` finds what is pushed, `member`
//! puts it onto the tip, `tag` is for tags, which need no queue.

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value};
use tokio::{sync::watch, time::Instant};

use super::{
    course::Course,
    journal::PushIntent,
    replay,
    repositories::fetch_error,
    runner::{Flow, Runner, Stopped, one::Ready},
    step::{Outcome, PushOrder, PushTarget, StepError},
    tools::What,
    workspace::MirrorKey,
};
use crate::{
    git::{
        id::CommitId,
        land::{self, ForceRequest, LandError, LandProgress, LandRequest, Landed},
        mirror::RemoteTip,
    },
    kargo::{Alias, PromotionStep},
};

mod cargo;
mod member;
mod tag;
mod web;
mod words;

use cargo::Cargo;
use member::{Carrier, Standing};
use words::{land_error, output_of, position, said};

/// A position in the queue is written to the cluster at most this often.
const POSITION_EVERY: Duration = Duration::from_secs(1);

/// How a push ended well.
enum Arrived {
    /// Nothing of ours was to be pushed.
    Nothing(Option<CommitId>),
    /// It is on the branch.
    At(Landed, Option<Box<Standing>>),
}

impl Runner {
    pub(super) async fn push(
        &mut self,
        at: usize,
        step: &PromotionStep,
        ready: Ready,
        order: PushOrder,
    ) -> Result<Flow, Stopped> {
        let alias = &step.alias;
        self.boundary(&format!("{alias}:started"))?;
        if let PushTarget::Tag(name) = &order.target {
            return self.push_tag(at, step, &ready, &order, name).await;
        }
        let mut rekeyed = false;
        let (cargo, arrived) = loop {
            let cargo = match self.cargo(&ready, &order).await {
                Ok(cargo) => cargo,
                Err(error) => return self.failed(step, ready.limits, &error).await,
            };
            let resumed = self.journal().step(alias).intent.is_some();
            let trouble = match cargo.is_rekeyed() {
                true if !rekeyed => None,
                _ => match self.arrive(at, alias, &cargo, resumed).await? {
                    Ok(arrived) => break (cargo, arrived),
                    Err(trouble) => Some(trouble),
                },
            };
            match trouble {
                Some(Trouble::Gate(gate, again)) => {
                    return self.back_to_gate(alias, &gate, *again).await;
                }
                Some(Trouble::CalledBack | Trouble::Exists) => {
                    // Whoever called it back says how the promotion goes on.
                    return Ok(Flow::Wait {
                        until: None,
                        what: String::new(),
                    });
                }
                Some(Trouble::Step(error))
                    if rekeyed || !self.has_new_key(&cargo.mount, &cargo.key).await =>
                {
                    return self.failed(step, ready.limits, &error).await;
                }
                // The credentials changed: once more with the new ones, in their mirror.
                Some(Trouble::Step(_)) | None => {
                    rekeyed = true;
                    if let Some(flow) = self.recover(at).await? {
                        return Ok(flow);
                    }
                }
            }
        };
        self.boundary(&format!("{alias}:landed"))?;
        self.landed(step, &ready, &order, cargo, arrived).await
    }

    async fn arrive(
        &mut self,
        at: usize,
        alias: &Alias,
        cargo: &Cargo,
        resumed: bool,
    ) -> Result<Result<Arrived, Trouble>, Stopped> {
        let (mount, branch) = (&cargo.mount, &cargo.branch);
        if mount.commits.is_empty() && cargo.is_home() {
            return Ok(Ok(Arrived::Nothing(mount.base.clone())));
        }
        if let (true, false, Some(header)) = (resumed, cargo.force, &cargo.header) {
            let intent = self.journal().step(alias).intent.clone();
            let base = intent.and_then(|intent| intent.base);
            match land::already_landed(&cargo.mirror, branch, base.as_ref(), header).await {
                Ok(None) => {}
                Ok(Some(head)) => {
                    let landed = Landed {
                        head,
                        attempts: 1,
                        replays: 0,
                        noop: false,
                    };
                    return Ok(Ok(Arrived::At(landed, None)));
                }
                Err(error) => return Ok(Err(fetch_error(&cargo.mirror, error).into())),
            }
        }
        self.journal().step(alias).intent = Some(PushIntent {
            path: mount.path.clone(),
            branch: branch.clone(),
            base: mount.base.clone(),
            commits: mount.commits.clone(),
        });
        self.boundary(&format!("{alias}:intent:before"))?;
        self.write().await?;
        self.boundary(&format!("{alias}:intent"))?;
        if cargo.force {
            return self.overwrite(cargo, false).await;
        }
        if !cargo.is_home() {
            match self.tip(cargo).await {
                Ok(RemoteTip::Absent) => match self.overwrite(cargo, true).await? {
                    // Somebody else was faster: now it is a branch like any other.
                    Err(Trouble::Exists) => {}
                    ended => return Ok(ended),
                },
                Ok(RemoteTip::At(tip)) if mount.commits.is_empty() => {
                    return Ok(Ok(Arrived::Nothing(Some(tip))));
                }
                Ok(RemoteTip::At(_)) => {}
                Err(error) => return Ok(Err(error.into())),
            }
        }
        self.queue(at, alias, cargo).await
    }

    async fn tip(&self, cargo: &Cargo) -> Result<RemoteTip, StepError> {
        let tips = cargo
            .mirror
            .fetch(std::slice::from_ref(&cargo.branch))
            .await;
        tips.map(|tips| tips.get(&cargo.branch))
            .map_err(|error| fetch_error(&cargo.mirror, error))
    }

    /// A branch that is this promotion's own, or does not exist yet: no queue, no rebase.
    async fn overwrite(
        &mut self,
        cargo: &Cargo,
        only_new: bool,
    ) -> Result<Result<Arrived, Trouble>, Stopped> {
        let Some(head) = cargo.mount.head().cloned() else {
            return Ok(Ok(Arrived::Nothing(None)));
        };
        let request = ForceRequest {
            mirror: Arc::clone(&cargo.mirror),
            branch: cargo.branch.clone(),
            head,
            only_new,
            budget: cargo.budget,
        };
        let course = Arc::clone(&self.course);
        self.pushing.begin(&cargo.branch);
        let result = self
            .while_writing(course.tools.landers.force(request))
            .await?;
        self.pushing.end();
        Ok(match result {
            Ok(landed) => Ok(Arrived::At(landed, None)),
            Err(LandError::Exists { .. }) => Err(Trouble::Exists),
            Err(error) => Err(land_error(error).into()),
        })
    }

    /// Waits in the queue before the branch, says where, and lands.
    async fn queue(
        &mut self,
        at: usize,
        alias: &Alias,
        cargo: &Cargo,
    ) -> Result<Result<Arrived, Trouble>, Stopped> {
        let Some(header) = cargo.header.clone() else {
            return Ok(Err(StepError::config(
                "the commits to be pushed were not made by this promotion",
            )
            .into()));
        };
        let carrier = Arc::new(Carrier::new(
            Arc::clone(&self.course),
            self.past(),
            at,
            &cargo.mount,
            cargo.branch.clone(),
        ));
        let (sender, mut progress) = watch::channel(LandProgress::default());
        let request = LandRequest {
            mirror: Arc::clone(&cargo.mirror),
            branch: cargo.branch.clone(),
            create: cargo.mount.create,
            header,
            budget: cargo.budget,
            member: carrier.clone(),
            progress: Some(sender),
        };
        let course = Arc::clone(&self.course);
        let landing = course.tools.landers.land(request);
        tokio::pin!(landing);
        let mut write_at: Option<Instant> = None;
        let result = loop {
            tokio::select! {
                result = &mut landing => break result,
                Ok(()) = progress.changed() => {
                    let now = *progress.borrow_and_update();
                    let under_way = now == LandProgress::Pushing;
                    match under_way {
                        true => self.pushing.begin(&cargo.branch),
                        false => self.pushing.end(),
                    }
                    if !under_way && self.pushing.is_called_back() {
                        return Ok(Err(Trouble::CalledBack));
                    }
                    let text = position(now, &cargo.branch);
                    self.entry(alias).message = text.clone();
                    self.tell(Some(alias), What::Landing(text));
                    write_at.get_or_insert_with(|| Instant::now() + POSITION_EVERY);
                }
                () = sleep_until(write_at) => {
                    write_at = None;
                    self.write().await?;
                }
            }
        };
        self.pushing.end();
        self.entry(alias).message.clear();
        for replayed in carrier.take_replays() {
            let news = format!(
                "{} changed ({}); steps ran again",
                replayed.branch, replayed.reason
            );
            self.tell(Some(alias), What::Replayed(news));
            self.journal().note_replay(replayed.named(alias));
        }
        Ok(match result {
            Ok(landed) => {
                let standing = carrier.standing(&landed);
                Ok(Arrived::At(landed, Some(Box::new(standing))))
            }
            Err(LandError::Member { .. }) if carrier.has_question() => {
                match carrier.take_question() {
                    Some((gate, again)) => Err(Trouble::Gate(gate, Box::new(again))),
                    None => Err(StepError::errored("the gate's question is lost").into()),
                }
            }
            Err(error) => Err(land_error(error).into()),
        })
    }

    /// It is on the branch, or needs not be: the checkout goes on from there.
    async fn landed(
        &mut self,
        step: &PromotionStep,
        ready: &Ready,
        order: &PushOrder,
        cargo: Cargo,
        arrived: Arrived,
    ) -> Result<Flow, Stopped> {
        let before = self.ledger.journal.workspace.clone().unwrap_or_default();
        let (landed, standing) = match arrived {
            Arrived::Nothing(head) => {
                let output = output_of(&cargo, order, head.as_ref(), None);
                let message = format!("nothing to push to {}", cargo.branch);
                let outcome = Outcome::skipped(output, message);
                return self
                    .accept(step, ready.limits, outcome, &before, before.clone())
                    .await;
            }
            Arrived::At(landed, standing) => (landed, standing),
        };
        let mut after = before.clone();
        if let Some(standing) = standing {
            after = standing.state;
            if let Some(outputs) = standing.outputs {
                self.adopt(outputs);
            }
        }
        if cargo.is_home() {
            after = match replay::onto(&self.course, after, cargo.mount.path.clone(), &landed.head)
                .await
            {
                Ok(after) => after,
                Err(error) => {
                    let error = StepError::errored(
                        "it has landed, but the promotion cannot go on from there",
                    )
                    .because(error);
                    return self.failed(step, ready.limits, &error).await;
                }
            };
            self.journal()
                .landed
                .insert(step.alias.clone(), after.clone());
        } else {
            self.journal().step(&step.alias).arrived = Some(landed.head.clone());
            after = match replay::elsewhere(
                &self.course,
                after,
                cargo.mount.path.clone(),
                &landed.head,
            )
            .await
            {
                Ok(after) => after,
                Err(error) => {
                    let error =
                        StepError::errored("it has landed, but its tags cannot be made to follow")
                            .because(error);
                    return self.failed(step, ready.limits, &error).await;
                }
            };
        }
        let output = output_of(&cargo, order, Some(&landed.head), Some(&landed));
        let outcome = Outcome::succeeded(output).saying(said(&cargo, &landed));
        self.accept(step, ready.limits, outcome, &before, after)
            .await
    }

    /// Outputs of steps that ran again.
    fn adopt(&mut self, outputs: Map<String, Value>) {
        let mut state = self.ledger.status.state_map();
        state.extend(outputs);
        self.ledger.status.state = Some(Value::Object(state));
    }
}

/// Why a push did not arrive.
enum Trouble {
    Step(StepError),
    /// The change is another one now, and a gate before the push has to ask about it.
    Gate(Alias, Box<replay::Again>),
    /// The promotion is being aborted, and this push was lost to others before it could land.
    CalledBack,
    /// The branch was to be made and is there.
    Exists,
}

impl From<StepError> for Trouble {
    fn from(error: StepError) -> Self {
        Self::Step(error)
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Where journals name mirrors by key, messages name the repository.
fn shown(course: &Course, key: &MirrorKey) -> String {
    course
        .tools
        .opened(key)
        .map_or_else(|| key.to_string(), |mirror| mirror.url().to_string())
}

#[cfg(test)]
mod tests;
