//! Bringing branches here: shallow at first, without those that are missing, and past damage.

use std::{collections::BTreeSet, time::Instant};

use super::{FetchError, Mirror, MirrorError, RemoteTip, blocking, book, incoming, locked, open};
use crate::git::{
    branch::BranchName,
    id::CommitId,
    tag::TagName,
    transport::{RemoteError, RemoteTag, Trouble, local_ref},
};

/// How often one fetch sorts out missing branches or damage before it gives up.
const REPAIRS: u32 = 3;

impl Mirror {
    /// Brings the branches and says where they are.
    pub(super) async fn bring(
        &self,
        branches: &BTreeSet<BranchName>,
    ) -> Result<Vec<(BranchName, RemoteTip)>, FetchError> {
        let absent = self.fetch_present(branches).await?;
        match self.read_tips(branches, absent).await {
            Ok(found) => Ok(found),
            Err(MirrorError::Objects { source, .. }) => {
                self.replace(source.message()).await?;
                let absent = self.fetch_present(branches).await?;
                Ok(self.read_tips(branches, absent).await?)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// What was fetched; an error where a branch's commit or tree cannot be read.
    async fn read_tips(
        &self,
        branches: &BTreeSet<BranchName>,
        absent: BTreeSet<BranchName>,
    ) -> Result<Vec<(BranchName, RemoteTip)>, MirrorError> {
        let branches = branches.clone();
        self.in_objects("reading fetched branches", move |repository| {
            let tip = |branch: &BranchName| -> Result<RemoteTip, git2::Error> {
                match repository.find_reference(&local_ref(branch)) {
                    Ok(found) if !absent.contains(branch) => {
                        found.peel_to_tree()?;
                        Ok(book::get_ref(repository, branch)
                            .map_or(RemoteTip::Absent, RemoteTip::At))
                    }
                    _ => Ok(RemoteTip::Absent),
                }
            };
            branches
                .iter()
                .map(|branch| Ok((branch.clone(), tip(branch)?)))
                .collect()
        })
        .await
    }

    /// Fetches the branches that exist; returns those that do not.
    async fn fetch_present(
        &self,
        branches: &BTreeSet<BranchName>,
    ) -> Result<BTreeSet<BranchName>, FetchError> {
        let was_absent = {
            let book = locked(&self.book);
            branches
                .iter()
                .any(|branch| book.tip(branch) == Some(RemoteTip::Absent))
        };
        // Asked for again after it was missing: most likely it still is, and would fail the fetch.
        let mut absent = if was_absent {
            self.missing(branches).await?
        } else {
            BTreeSet::new()
        };
        let mut repairs = 0;
        loop {
            let wanted: Vec<BranchName> = branches.difference(&absent).cloned().collect();
            let Err(error) = self.fetch_known_and_new(&wanted).await? else {
                return Ok(absent);
            };
            repairs += 1;
            match repair_for(&error) {
                Some(repair) if repairs <= REPAIRS => match repair {
                    Repair::LookForMissing => absent = self.missing(branches).await?,
                    Repair::Replace => self.replace(&error.words).await?,
                },
                _ => return Err(error.into()),
            }
        }
    }

    /// The first fetch of a branch is shallow; from then on without depth, so that each brings just
    /// the commits since and ancestry since then is known.
    async fn fetch_known_and_new(
        &self,
        wanted: &[BranchName],
    ) -> Result<Result<(), RemoteError>, FetchError> {
        let (known, new): (Vec<_>, Vec<_>) = self
            .in_objects("looking for known branches", {
                let wanted = wanted.to_owned();
                move |repository| {
                    Ok(wanted
                        .into_iter()
                        .partition(|b| book::get_ref(repository, b).is_some()))
                }
            })
            .await?;
        for (branches, depth) in [(known, None), (new, Some(1))] {
            if branches.is_empty() {
                continue;
            }
            incoming::remove_parts(&self.path);
            let fetch = self.remote.fetch(&self.path, &branches, depth);
            let said = match depth {
                Some(_) => fetch.await?,
                None => tokio::select! {
                    biased;
                    said = fetch => said?,
                    () = incoming::outgrown(&self.path, self.remote.git.history_limit()) => {
                        incoming::remove_parts(&self.path);
                        self.note(format!("{} brought too much history and was taken for rewritten", listed(&branches)));
                        self.remote.fetch(&self.path, &branches, Some(1)).await?
                    }
                },
            };
            if !said.success {
                let doing = format!("fetching {} from", listed(&branches));
                return Ok(Err(self.remote.failed(&doing, &said)));
            }
        }
        Ok(Ok(()))
    }

    /// Which of these the remote does not have. Refs of ours in their way (`env` where the remote
    /// now has `env/prod`) go if the remote does not have them any more.
    async fn missing(
        &self,
        branches: &BTreeSet<BranchName>,
    ) -> Result<BTreeSet<BranchName>, FetchError> {
        let in_the_way = self
            .in_objects("looking for branches in the way", {
                let branches = branches.clone();
                move |repository| ours_in_the_way(repository, &branches)
            })
            .await?;
        let asked: BTreeSet<BranchName> = branches.iter().cloned().chain(in_the_way).collect();
        let there = self
            .remote
            .refs(&self.path, asked.iter().map(BranchName::full_ref).collect())
            .await?;
        let (_, gone): (BTreeSet<_>, BTreeSet<_>) = asked
            .into_iter()
            .partition(|branch| there.contains_key(&branch.full_ref()));
        self.in_objects("forgetting deleted branches", {
            let gone = gone.clone();
            move |repository| {
                gone.iter()
                    .try_for_each(|branch| book::set_ref(repository, branch, None))
            }
        })
        .await?;
        Ok(gone)
    }

    /// The commit of a tag, brought here; `None` where the remote has no such tag.
    pub async fn fetch_tag(&self, tag: &TagName) -> Result<Option<CommitId>, FetchError> {
        let Some(RemoteTag { commit, .. }) = self.remote_tag(tag).await? else {
            return Ok(None);
        };
        self.fetch_single(&commit, &tag.full_ref()).await?;
        Ok(Some(commit))
    }

    /// Where the remote's tag of that name is now; nothing is brought here.
    pub async fn remote_tag(&self, tag: &TagName) -> Result<Option<RemoteTag>, RemoteError> {
        self.remote.tag(&self.path, tag).await
    }

    /// A commit by its id, brought here if it is not. Servers may refuse what no branch or tag is at.
    pub async fn fetch_commit(&self, id: &CommitId) -> Result<(), FetchError> {
        self.fetch_single(id, id.as_str()).await
    }

    /// A commit that is here already is not fetched again: its history would be cut off there.
    async fn fetch_single(&self, id: &CommitId, from: &str) -> Result<(), FetchError> {
        let _depth = self.depth.lock().await;
        let wanted = id.clone();
        let is_here = self.in_objects("looking for a commit", move |repository| {
            Ok(git2::Oid::from_str(wanted.as_str())
                .and_then(|id| repository.find_commit(id)?.tree())
                .is_ok())
        });
        if is_here.await? {
            return Ok(());
        }
        let said = self.remote.fetch_one(&self.path, from).await?;
        if said.success {
            return Ok(());
        }
        let doing = format!("fetching {from} from");
        Err(self.remote.failed(&doing, &said).into())
    }

    /// Makes the known history of a branch longer.
    pub(in crate::git) async fn deepen(
        &self,
        branch: &BranchName,
        commits: u32,
    ) -> Result<(), FetchError> {
        let _depth = self.depth.lock().await;
        let said = self.remote.deepen(&self.path, branch, commits).await?;
        if said.success {
            Ok(())
        } else {
            Err(self
                .remote
                .failed("fetching older commits from", &said)
                .into())
        }
    }

    /// Puts the mirror aside and begins an empty one: git does not write an object anew over a
    /// damaged one, so fetching into it would not help.
    pub(super) async fn replace(&self, why: &str) -> Result<(), FetchError> {
        let (path, why) = (self.path.clone(), why.to_owned());
        let note = blocking("replacing a damaged mirror", move || {
            open::renew(&path, &why)
        })
        .await?;
        *locked(&self.replaced) = Some(Instant::now());
        self.note(note);
        Ok(())
    }
}

fn listed(branches: &[BranchName]) -> String {
    branches
        .iter()
        .map(BranchName::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}

enum Repair {
    LookForMissing,
    Replace,
}

fn repair_for(error: &RemoteError) -> Option<Repair> {
    let says = |text: &str| error.words.contains(text);
    if says("couldn't find remote ref") || says("cannot lock ref") || says("could not be updated") {
        Some(Repair::LookForMissing)
    } else if error.trouble == Trouble::Damaged {
        Some(Repair::Replace)
    } else {
        None
    }
}

/// Local refs that are a directory where one of these is a file, or the other way round.
fn ours_in_the_way(
    repository: &git2::Repository,
    branches: &BTreeSet<BranchName>,
) -> Result<Vec<BranchName>, git2::Error> {
    let mut found = Vec::new();
    for name in repository.references_glob("refs/remotes/r/*")?.names() {
        let Some(branch) = name?
            .strip_prefix("refs/remotes/r/")
            .and_then(|short| short.parse::<BranchName>().ok())
        else {
            continue;
        };
        let inside = |a: &BranchName, b: &BranchName| {
            local_ref(a).starts_with(&format!("{}/", local_ref(b)))
        };
        if branches
            .iter()
            .any(|wanted| inside(wanted, &branch) || inside(&branch, wanted))
        {
            found.push(branch);
        }
    }
    Ok(found)
}
