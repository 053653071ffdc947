//! Many wishes, one fetch: whoever asks while a fetch is under way is served by the next one, so
//! that every answer is of a moment after its question.

use std::{collections::BTreeSet, sync::Arc};

use tokio::sync::watch;

use super::{FetchError, FetchedTips, Mirror, RemoteTip, book, locked, open};
use crate::git::{
    branch::BranchName,
    transport::{RemoteError, Trouble, local_ref},
};

/// How often one round sorts out missing branches or a damaged mirror before it gives up.
const REPAIRS: u32 = 3;

type Answer = Option<Result<FetchedTips, FetchError>>;

/// The round that gathers, and whether a worker is there to take it.
#[derive(Debug, Default)]
pub struct Wishes {
    next: Option<Round>,
    working: bool,
}

#[derive(Debug)]
struct Round {
    branches: BTreeSet<BranchName>,
    answer: watch::Sender<Answer>,
}

pub async fn fetch(mirror: &Arc<Mirror>, branches: &[BranchName]) -> Result<FetchedTips, FetchError> {
    let mut answer = {
        let mut wishes = locked(&mirror.wishes);
        let round = wishes
            .next
            .get_or_insert_with(|| Round { branches: BTreeSet::new(), answer: watch::Sender::new(None) });
        round.branches.extend(branches.iter().cloned());
        let answer = round.answer.subscribe();
        if !wishes.working {
            wishes.working = true;
            tokio::spawn(work(Arc::clone(mirror)));
        }
        answer
    };
    let tips = match answer.wait_for(Option::is_some).await {
        Ok(answer) => answer.clone(),
        Err(_) => None,
    };
    let all = tips.unwrap_or(Err(FetchError::Mirror(Arc::new(super::MirrorError::Interrupted { doing: "fetching" }))))?;
    Ok(branches.iter().map(|branch| (branch.clone(), all.get(branch))).collect())
}

/// Ends the round that nobody will take, should the worker end by a panic.
struct Working {
    mirror: Arc<Mirror>,
    in_order: bool,
}

impl Drop for Working {
    fn drop(&mut self) {
        if !self.in_order {
            let mut wishes = locked(&self.mirror.wishes);
            wishes.working = false;
            wishes.next = None;
        }
    }
}

async fn work(mirror: Arc<Mirror>) {
    let mut working = Working { mirror: Arc::clone(&mirror), in_order: false };
    loop {
        let round = {
            let mut wishes = locked(&mirror.wishes);
            let next = wishes.next.take();
            wishes.working = next.is_some();
            working.in_order = next.is_none();
            next
        };
        let Some(round) = round else { return };
        let result = mirror.round(&round.branches).await;
        round.answer.send_replace(Some(result));
    }
}

impl Mirror {
    async fn round(&self, branches: &BTreeSet<BranchName>) -> Result<FetchedTips, FetchError> {
        let _depth = self.depth.lock().await;
        let began = locked(&self.book).begin();
        let absent = self.bring(branches).await?;
        let found = self
            .in_objects("reading fetched branches", {
                let branches = branches.clone();
                move |repository| {
                    let tip = |branch: &BranchName| match book::get_ref(repository, branch) {
                        Some(id) if !absent.contains(branch) => RemoteTip::At(id),
                        _ => RemoteTip::Absent,
                    };
                    Ok(branches.iter().map(|branch| (branch.clone(), tip(branch))).collect::<Vec<_>>())
                }
            })
            .await?;
        self.believe(found, began).await
    }

    /// Enters what a fetch found; where a push meanwhile taught better, the ref follows the push.
    async fn believe(&self, found: Vec<(BranchName, RemoteTip)>, began: u64) -> Result<FetchedTips, FetchError> {
        let mut overtaken = Vec::new();
        let tips = {
            let mut book = locked(&self.book);
            let mut believe = |(branch, tip): (BranchName, RemoteTip)| {
                let holds = book.learnt_by_fetch(&branch, tip.clone(), began);
                if holds != tip {
                    overtaken.push((branch.clone(), holds.clone()));
                }
                (branch, holds)
            };
            found.into_iter().map(&mut believe).collect()
        };
        if !overtaken.is_empty() {
            self.in_objects("noting a push", move |repository| {
                overtaken.iter().try_for_each(|(branch, tip)| book::set_ref(repository, branch, tip.commit()))
            })
            .await?;
        }
        Ok(tips)
    }

    /// Fetches the branches that exist; returns those that do not.
    async fn bring(&self, branches: &BTreeSet<BranchName>) -> Result<BTreeSet<BranchName>, FetchError> {
        let was_absent = {
            let book = locked(&self.book);
            branches.iter().any(|branch| book.tip(branch) == Some(RemoteTip::Absent))
        };
        // Asked for again after it was missing: most likely it still is, and would fail the fetch.
        let mut absent = if was_absent { self.missing(branches).await? } else { BTreeSet::new() };
        let mut repairs = 0;
        loop {
            let wanted: Vec<BranchName> = branches.difference(&absent).cloned().collect();
            let Err(error) = self.bring_present(&wanted).await? else { return Ok(absent) };
            repairs += 1;
            match repair_for(&error) {
                Some(repair) if repairs <= REPAIRS => match repair {
                    Repair::LookForMissing => absent = self.missing(branches).await?,
                    Repair::Renew => self.renew(&error.words).await?,
                },
                _ => return Err(error.into()),
            }
        }
    }

    /// The first fetch of a branch is shallow; from then on without depth, so that each brings just
    /// the commits since and ancestry since then is known.
    async fn bring_present(&self, wanted: &[BranchName]) -> Result<Result<(), RemoteError>, FetchError> {
        let (known, new): (Vec<_>, Vec<_>) = self
            .in_objects("looking for known branches", {
                let wanted = wanted.to_owned();
                move |repository| Ok(wanted.into_iter().partition(|b| book::get_ref(repository, b).is_some()))
            })
            .await?;
        for (branches, depth) in [(known, None), (new, Some(1))] {
            if branches.is_empty() {
                continue;
            }
            let said = self.remote.fetch(&self.path, &branches, depth).await?;
            if !said.success {
                let names: Vec<&str> = branches.iter().map(BranchName::as_str).collect();
                let doing = format!("fetching {} from", names.join(", "));
                return Ok(Err(self.remote.failed(&doing, &said)));
            }
        }
        Ok(Ok(()))
    }

    /// Which of these the remote does not have. Refs of ours in their way (`env` where the remote
    /// now has `env/prod`) go if the remote does not have them any more.
    async fn missing(&self, branches: &BTreeSet<BranchName>) -> Result<BTreeSet<BranchName>, FetchError> {
        let in_the_way = self
            .in_objects("looking for branches in the way", {
                let branches = branches.clone();
                move |repository| ours_in_the_way(repository, &branches)
            })
            .await?;
        let asked: BTreeSet<BranchName> = branches.iter().cloned().chain(in_the_way).collect();
        let there = self.remote.refs(&self.path, asked.iter().map(BranchName::full_ref).collect()).await?;
        let (_, gone): (BTreeSet<_>, BTreeSet<_>) =
            asked.into_iter().partition(|branch| there.contains_key(&branch.full_ref()));
        self.in_objects("forgetting deleted branches", {
            let gone = gone.clone();
            move |repository| gone.iter().try_for_each(|branch| book::set_ref(repository, branch, None))
        })
        .await?;
        Ok(gone)
    }

    /// Makes the known history of a branch longer.
    pub(in crate::git) async fn deepen(&self, branch: &BranchName, commits: u32) -> Result<(), FetchError> {
        let _depth = self.depth.lock().await;
        let said = self.remote.deepen(&self.path, branch, commits).await?;
        if said.success { Ok(()) } else { Err(self.remote.failed("fetching older commits from", &said).into()) }
    }

    async fn renew(&self, why: &str) -> Result<(), FetchError> {
        let (path, why) = (self.path.clone(), why.to_owned());
        let note = super::blocking("replacing a damaged mirror", move || open::renew(&path, &why)).await?;
        self.note(note);
        Ok(())
    }
}

enum Repair {
    LookForMissing,
    Renew,
}

fn repair_for(error: &RemoteError) -> Option<Repair> {
    let says = |text: &str| error.words.contains(text);
    if says("couldn't find remote ref") || says("cannot lock ref") || says("could not be updated") {
        Some(Repair::LookForMissing)
    } else if error.trouble == Trouble::Damaged {
        Some(Repair::Renew)
    } else {
        None
    }
}

/// Local refs that are a directory where one of these is a file, or the other way round.
fn ours_in_the_way(repository: &git2::Repository, branches: &BTreeSet<BranchName>) -> Result<Vec<BranchName>, git2::Error> {
    let mut found = Vec::new();
    for name in repository.references_glob("refs/remotes/r/*")?.names() {
        let Some(branch) = name?.strip_prefix("refs/remotes/r/").and_then(|short| short.parse::<BranchName>().ok())
        else {
            continue;
        };
        let inside = |a: &BranchName, b: &BranchName| local_ref(a).starts_with(&format!("{}/", local_ref(b)));
        if branches.iter().any(|wanted| inside(wanted, &branch) || inside(&branch, wanted)) {
            found.push(branch);
        }
    }
    Ok(found)
}
