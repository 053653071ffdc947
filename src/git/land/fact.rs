//! Has it landed? A fact read from the branch: every commit of ours carries a header.

use std::sync::Arc;

use super::HeaderKey;
use crate::git::{
    branch::BranchName,
    id::CommitId,
    mirror::{
        FetchError, Mirror, MirrorError, RemoteTip,
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
    let RemoteTip::At(tip) = tips.get(branch) else { return Ok(None) };
    let mut deeper = DEEPEN.iter();
    loop {
        let walk = walk(mirror, &tip, base).await?;
        if let Some(found) = walk.marked.get(header) {
            return Ok(Some(found.clone()));
        }
        if !walk.cut || (walk.met_base && base.is_some()) {
            return Ok(None);
        }
        let Some(commits) = deeper.next() else { return Ok(None) };
        mirror.deepen(branch, *commits).await?;
    }
}

/// The headers from `tip` down to `base`.
pub(super) async fn walk(mirror: &Mirror, tip: &CommitId, base: Option<&CommitId>) -> Result<Walk, MirrorError> {
    let (tip, base) = (tip.clone(), base.cloned());
    mirror.in_objects("walking a branch", move |repository| history::walk(repository, &tip, base.as_ref())).await
}
