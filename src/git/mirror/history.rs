//! Walks over commits that were fetched. Parents are read from the commits themselves: libgit2
//! cannot walk a shallow history, and a parent that is here is the parent, whatever `shallow` says.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::git::{commit::HeaderKey, id::CommitId};

/// As many commits as a walk looks at before it gives up.
const WALK_LIMIT: usize = 50_000;

/// What a walk from a tip towards a base met.
#[derive(Debug, Default)]
pub struct Walk {
    /// For every header, the first commit that has it, from the tip.
    pub marked: HashMap<HeaderKey, CommitId>,
    /// The base was met.
    pub met_base: bool,
    /// Some parent is not here, so that the walk may have missed something.
    pub cut: bool,
}

/// The lines of a commit that a walk needs.
#[derive(Debug, Default)]
pub struct CommitHead {
    pub parents: Vec<CommitId>,
    pub header: Option<HeaderKey>,
}

/// Reads a commit; `None` where it is absent, damaged, or no commit.
pub fn commit_head(odb: &git2::Odb<'_>, id: &CommitId) -> Option<CommitHead> {
    let object = odb.read(git2::Oid::from_str(id.as_str()).ok()?).ok()?;
    (object.kind() == git2::ObjectType::Commit).then(|| parse_head(object.data()))
}

fn parse_head(bytes: &[u8]) -> CommitHead {
    let text = String::from_utf8_lossy(bytes);
    let mut head = CommitHead::default();
    for line in text.lines().take_while(|line| !line.is_empty()) {
        match line.split_once(' ') {
            Some(("parent", id)) => head.parents.extend(id.parse().ok()),
            Some(("tidewaiter", mark)) => {
                head.header = mark.split_once(' ').map(|(uid, step)| HeaderKey {
                    promotion_uid: uid.to_owned(),
                    step: step.to_owned(),
                });
            }
            _ => {}
        }
    }
    head
}

/// Walks from `tip` over all parents, not beyond `base`.
pub fn walk(
    repository: &git2::Repository,
    tip: &CommitId,
    base: Option<&CommitId>,
) -> Result<Walk, git2::Error> {
    let odb = repository.odb()?;
    let mut walk = Walk::default();
    let mut seen = HashSet::from([tip.clone()]);
    let mut ahead = VecDeque::from([tip.clone()]);
    while let Some(id) = ahead.pop_front() {
        if Some(&id) == base {
            walk.met_base = true;
            continue;
        }
        if seen.len() > WALK_LIMIT {
            walk.cut = true;
            break;
        }
        let Some(head) = commit_head(&odb, &id) else {
            walk.cut = true;
            continue;
        };
        if let Some(header) = head.header {
            walk.marked.entry(header).or_insert(id);
        }
        ahead.extend(
            head.parents
                .into_iter()
                .filter(|parent| seen.insert(parent.clone())),
        );
    }
    Ok(walk)
}

/// Whether these commits, oldest first, stand one on the other and the first on `below`.
pub fn stands_on(
    repository: &git2::Repository,
    commits: &[CommitId],
    below: Option<&CommitId>,
) -> Result<bool, git2::Error> {
    let odb = repository.odb()?;
    let mut below = below;
    for id in commits {
        let Some(head) = commit_head(&odb, id) else {
            return Ok(false);
        };
        let placed = match below {
            Some(below) => head.parents.contains(below),
            None => head.parents.is_empty(),
        };
        if !placed {
            return Ok(false);
        }
        below = Some(id);
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_commit() {
        let id = "43db8f89162d308f8e7c698e575ba96f0140d31f";
        let text = format!(
            "tree {id}\nparent {id}\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\ntidewaiter u-1 step-2\n\n\
             tidewaiter other thing\nparent no\n"
        );
        let head = parse_head(text.as_bytes());
        assert_eq!(head.parents, vec![id.parse().unwrap()]);
        let key = HeaderKey {
            promotion_uid: "u-1".into(),
            step: "step-2".into(),
        };
        assert_eq!(head.header, Some(key));
    }
}
