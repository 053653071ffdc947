//! Has it landed? A fact read from the branch: every commit of ours carries a header.

use std::sync::Arc;

use super::HeaderKey;
use crate::git::{
    branch::BranchName,
    id::CommitId,
    mirror::{
        FetchError, Mirror, RemoteTip,
        history::{self, Walk},
    },
};

/// How much longer the known history is made, step by step, before a base that is not in it is
/// taken for rewritten.
const DEEPEN: [u32; 3] = [64, 512, 4096];

/// The commit with this header on the branch, looked for from the remote's tip down to `base`, the
/// commit that ours was made on. Fetches first. For after a crash; a running landing looks itself.
pub async fn already_landed(
    mirror: &Arc<Mirror>,
    branch: &BranchName,
    base: Option<&CommitId>,
    header: &HeaderKey,
) -> Result<Option<CommitId>, FetchError> {
    let tips = mirror.fetch(std::slice::from_ref(branch)).await?;
    let RemoteTip::At(tip) = tips.get(branch) else {
        return Ok(None);
    };
    let walk = search(mirror, branch, &tip, base, std::slice::from_ref(header)).await?;
    Ok(walk.marked.get(header).cloned())
}

/// The headers from `tip` down to `base`. Where neither the base nor all that is wanted is met before
/// the known history ends, more of it is fetched.
pub(super) async fn search(
    mirror: &Mirror,
    branch: &BranchName,
    tip: &CommitId,
    base: Option<&CommitId>,
    wanted: &[HeaderKey],
) -> Result<Walk, FetchError> {
    let mut deeper = DEEPEN.iter();
    loop {
        let (from, to) = (tip.clone(), base.cloned());
        let walk = mirror
            .in_objects("walking a branch", move |repository| {
                history::walk(repository, &from, to.as_ref())
            })
            .await?;
        if !walk.cut
            || walk.met_base
            || wanted.iter().all(|header| walk.marked.contains_key(header))
        {
            return Ok(walk);
        }
        let Some(commits) = deeper.next() else {
            return Ok(walk);
        };
        mirror.deepen(branch, *commits).await?;
    }
}
