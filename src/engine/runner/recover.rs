//! Going on elsewhere, or after a mirror was lost: the files that the record names are made again, on the commits that
//! they were made from.

use std::sync::Arc;

use tokio::time::Instant;

use super::{Flow, Runner, Stopped, verdict::Limits};
use crate::{
    engine::{
        journal::Replayed,
        replay::{ReplayError, replay},
        repositories::{Remotes, fetch_error, has},
        step::{ErrorKind, StepError},
        workspace::{MirrorKey, Mount, WorkspaceState},
    },
    git::{
        land::{self, HeaderKey},
        mirror::Mirror,
        objects::Objects,
    },
};

/// What cannot be fetched now is tried again after this.
const AGAIN: std::time::Duration = std::time::Duration::from_secs(30);

impl Runner {
    /// Sees to it that the files before step `at` are here. A flow is what to do instead of that step.
    pub(in crate::engine) async fn recover(&mut self, at: usize) -> Result<Option<Flow>, Stopped> {
        let Some(state) = self.ledger.journal.workspace.clone() else {
            return Ok(None);
        };
        let error = match self.missing(&state).await {
            Ok(false) => return Ok(None),
            Ok(true) => match self.make_again(at).await {
                Ok(None) => {
                    self.write().await?;
                    return Ok(None);
                }
                Ok(Some((gate, again))) => {
                    let step = self
                        .course
                        .steps
                        .get(at)
                        .map(|step| step.alias.clone())
                        .unwrap_or_default();
                    return self.back_to_gate(&step, &gate, again).await.map(Some);
                }
                Err(error) => error,
            },
            Err(error) => error,
        };
        if error.kind == ErrorKind::Transient {
            return Ok(Some(Flow::Wait {
                until: Some(Instant::now() + AGAIN),
                what: error.sentence(),
            }));
        }
        let Some(step) = self.course.steps.get(at).cloned() else {
            return Ok(None);
        };
        self.failed(
            &step,
            Limits {
                timeout: None,
                error_threshold: 1,
            },
            &error,
        )
        .await
        .map(Some)
    }

    /// Opens the mirrors of the checkouts, and looks whether everything is in them. Mirrors that have another name now
    /// (the Secret with the credentials changed) are renamed in the record.
    async fn missing(&mut self, state: &WorkspaceState) -> Result<bool, StepError> {
        let remotes = Remotes::new(&self.course.tools, &self.course.project);
        let mut there = Vec::new();
        for mount in &state.mounts {
            let (mirror, key) = remotes.open(mount.origin()).await?;
            if key != mount.mirror {
                self.rename(&mount.mirror, &key);
            }
            there.push((mirror.path().to_owned(), mount.clone()));
        }
        let (loose, scratch) = (state.loose.clone(), self.course.tools.mirrors.scratch());
        let look = move || {
            let has = |path: &std::path::Path, ids: Vec<&str>| {
                Objects::open(path)
                    .is_ok_and(|objects| ids.into_iter().all(|id| objects.contains(id)))
            };
            let loose = loose.iter().all(|tree| has(&scratch, vec![tree.as_str()]));
            !(loose && there.iter().all(|(path, mount)| has(path, ids_of(mount))))
        };
        let looked = tokio::task::spawn_blocking(look).await;
        looked.map_err(|error| StepError::transient("cannot look into the mirrors").because(error))
    }

    fn rename(&mut self, from: &MirrorKey, to: &MirrorKey) {
        let journal = &mut self.ledger.journal;
        let states = journal
            .workspace
            .iter_mut()
            .chain(journal.landed.values_mut());
        let mounts = states
            .flat_map(|state| &mut state.mounts)
            .map(|mount| &mut mount.mirror);
        let found = journal
            .steps
            .values_mut()
            .flat_map(|record| &mut record.found)
            .map(|found| &mut found.mirror);
        for key in mounts.chain(found).filter(|key| *key == from) {
            key.clone_from(to);
        }
    }

    /// Fetches the bases and runs the workspace steps again. A gate is returned whose question is another one now.
    async fn make_again(
        &mut self,
        at: usize,
    ) -> Result<Option<(crate::kargo::Alias, crate::engine::replay::Again)>, StepError> {
        let state = self.ledger.journal.workspace.clone().unwrap_or_default();
        let remotes = Remotes::new(&self.course.tools, &self.course.project);
        for mount in &state.mounts {
            let (mirror, key) = remotes.open(mount.origin()).await?;
            self.bring(&mirror, &key).await?;
        }
        match replay(&self.course, &self.past(), at, None).await {
            Ok(again) => {
                let mut outputs = self.ledger.status.state_map();
                outputs.extend(again.outputs);
                self.ledger.status.state = Some(serde_json::Value::Object(outputs));
                self.ledger.journal.workspace = Some(again.state);
                let reason = "a mirror was lost".to_owned();
                self.journal().note_replay(Replayed {
                    reason,
                    ..Replayed::default()
                });
                self.touch();
                Ok(None)
            }
            Err(ReplayError::Asks { gate, again }) => Ok(Some((gate, *again))),
            Err(error) => Err(StepError::errored(
                "the files of the promotion are lost and cannot be made again",
            )
            .because(error)),
        }
    }

    /// Fetches every commit of this mirror that a clone found, and whatever was made on top of it and landed.
    async fn bring(&self, mirror: &Arc<Mirror>, key: &MirrorKey) -> Result<(), StepError> {
        let found = self
            .ledger
            .journal
            .steps
            .values()
            .flat_map(|record| &record.found);
        for found in found.filter(|found| found.mirror == *key) {
            let Some(branch) = &found.branch else {
                if let Some(commit) = &found.commit {
                    mirror
                        .fetch_commit(commit)
                        .await
                        .map_err(|error| fetch_error(mirror, error))?;
                }
                continue;
            };
            mirror
                .fetch(std::slice::from_ref(branch))
                .await
                .map_err(|error| fetch_error(mirror, error))?;
            let Some(commit) = &found.commit else {
                continue;
            };
            if !has(mirror, commit).await {
                // A search for a mark that no commit has makes more and more of the history known.
                let header = HeaderKey {
                    promotion_uid: self.course.uid.to_string(),
                    step: "-".into(),
                };
                let looked = land::already_landed(mirror, branch, None, &header).await;
                looked.map_err(|error| fetch_error(mirror, error))?;
            }
        }
        Ok(())
    }
}

fn ids_of(mount: &Mount) -> Vec<&str> {
    let commits = mount
        .commits
        .iter()
        .chain(&mount.base)
        .map(crate::git::id::CommitId::as_str);
    let tags = mount.tags.values().map(|tag| tag.id.as_str());
    let elsewhere = mount.elsewhere.iter().map(crate::git::id::CommitId::as_str);
    let empty = crate::git::id::TreeId::empty();
    let tree = (mount.tree != empty).then_some(mount.tree.as_str());
    commits.chain(tags).chain(elsewhere).chain(tree).collect()
}
