//! What is known of the remote's branches, and when it was learnt.

use std::{
    collections::{BTreeMap, HashMap},
    time::{Duration, Instant},
};

use crate::git::{branch::BranchName, id::CommitId, transport::local_ref};

/// Where a branch is on the remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoteTip {
    /// At this commit, which the mirror has.
    At(CommitId),
    /// The remote has no such branch.
    Absent,
}

impl RemoteTip {
    /// The commit, where there is one.
    pub fn commit(&self) -> Option<&CommitId> {
        match self {
            Self::At(id) => Some(id),
            Self::Absent => None,
        }
    }
}

/// The answer to one fetch, for every branch that was asked for.
#[derive(Clone, Debug, Default)]
pub struct FetchedTips(BTreeMap<BranchName, RemoteTip>);

impl FetchedTips {
    /// Where this branch is; absent too when it was not asked for.
    pub fn get(&self, branch: &BranchName) -> RemoteTip {
        self.0.get(branch).cloned().unwrap_or(RemoteTip::Absent)
    }
}

impl FromIterator<(BranchName, RemoteTip)> for FetchedTips {
    fn from_iter<I: IntoIterator<Item = (BranchName, RemoteTip)>>(tips: I) -> Self {
        Self(tips.into_iter().collect())
    }
}

/// Tips with the order in which they were learnt: a fetch that began before one of our pushes
/// ended may carry the older truth.
#[derive(Debug, Default)]
pub struct Book {
    clock: u64,
    tips: HashMap<BranchName, Known>,
}

#[derive(Debug)]
struct Known {
    tip: RemoteTip,
    learnt: u64,
    when: Instant,
}

impl Book {
    /// To be called as a fetch begins; given back with what it found.
    pub fn begin(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    pub fn tip(&self, branch: &BranchName) -> Option<RemoteTip> {
        self.tips.get(branch).map(|known| known.tip.clone())
    }

    pub fn recent_tip(&self, branch: &BranchName, age: Duration) -> Option<RemoteTip> {
        self.tips
            .get(branch)
            .filter(|known| known.when.elapsed() < age)
            .map(|known| known.tip.clone())
    }

    /// Believes a fetch unless something newer is known; returns what holds now.
    pub fn learnt_by_fetch(
        &mut self,
        branch: &BranchName,
        tip: RemoteTip,
        began: u64,
    ) -> RemoteTip {
        match self.tips.get(branch) {
            Some(known) if known.learnt > began => known.tip.clone(),
            _ => {
                self.set(branch, tip.clone(), began);
                tip
            }
        }
    }

    pub fn learnt_by_push(&mut self, branch: &BranchName, head: &CommitId) {
        let now = self.begin();
        self.set(branch, RemoteTip::At(head.clone()), now);
    }

    fn set(&mut self, branch: &BranchName, tip: RemoteTip, learnt: u64) {
        self.tips.insert(
            branch.clone(),
            Known {
                tip,
                learnt,
                when: Instant::now(),
            },
        );
    }
}

/// The mirror's ref for the branch.
pub fn get_ref(repository: &git2::Repository, branch: &BranchName) -> Option<CommitId> {
    let id = repository.refname_to_id(&local_ref(branch)).ok()?;
    id.to_string().parse().ok()
}

/// Sets or removes the mirror's ref for the branch.
pub fn set_ref(
    repository: &git2::Repository,
    branch: &BranchName,
    tip: Option<&CommitId>,
) -> Result<(), git2::Error> {
    let name = local_ref(branch);
    match tip {
        Some(id) => repository
            .reference(&name, git2::Oid::from_str(id.as_str())?, true, "")
            .map(drop),
        None => match repository.find_reference(&name) {
            Ok(mut found) => found.delete(),
            Err(e) if e.code() == git2::ErrorCode::NotFound => Ok(()),
            Err(e) => Err(e),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_fetch_does_not_overwrite_what_a_push_taught() {
        let branch: BranchName = "main".parse().unwrap();
        let id = |n: u8| format!("{n:040x}").parse::<CommitId>().unwrap();
        let mut book = Book::default();
        let began = book.begin();
        book.learnt_by_push(&branch, &id(2));
        assert_eq!(
            book.learnt_by_fetch(&branch, RemoteTip::At(id(1)), began),
            RemoteTip::At(id(2))
        );
        let began = book.begin();
        assert_eq!(
            book.learnt_by_fetch(&branch, RemoteTip::Absent, began),
            RemoteTip::Absent
        );
        assert_eq!(book.tip(&branch), Some(RemoteTip::Absent));
    }
}
