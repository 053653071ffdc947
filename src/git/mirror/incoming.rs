//! A watch on the pack that a fetch is receiving: git has no limit of its own for it.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

/// Between looks; a fast network brings some ten megabytes meanwhile.
const LOOK: Duration = Duration::from_millis(200);

/// Ends when the packs that are being received are larger than `limit` together. To be run beside
/// one fetch, while no other fetches into this mirror: what an earlier one left is removed first.
pub async fn outgrown(mirror: &Path, limit: u64) {
    loop {
        tokio::time::sleep(LOOK).await;
        let path = mirror.to_owned();
        let size = tokio::task::spawn_blocking(move || {
            let sizes = parts(&path)
                .into_iter()
                .filter_map(|part| fs::metadata(part).ok());
            sizes.map(|part| part.len()).sum::<u64>()
        });
        if size.await.is_ok_and(|size| size > limit) {
            return;
        }
    }
}

/// Packs that were never finished.
fn parts(mirror: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(mirror.join("objects/pack"))
        .into_iter()
        .flatten()
        .flatten();
    let is_part = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("tmp_pack_"))
    };
    entries.map(|entry| entry.path()).filter(is_part).collect()
}

/// Removes what ended fetches left. What cannot be removed only takes room.
pub fn remove_parts(mirror: &Path) {
    for part in parts(mirror) {
        let _left = fs::remove_file(part);
    }
}
