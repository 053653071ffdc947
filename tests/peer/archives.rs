//! Names in archives.

use tidewaiter::steps::archive;

use crate::*;

#[test]
fn names_in_archives_are_taken_and_left_out_alike() {
    let Some(rows) = rows("kargo-steps.json") else {
        return;
    };
    let mine = |row: &Value| text(row, "kind") == "archive-path";
    let compared = compare(&rows, mine, |row| {
        let taken = archive::safe_name(text(row, "path")).is_some();
        same("taken", json!(taken), row["want"].clone())
    });
    println!("archive-path: {} of {compared} agree", compared - 1);
    assert_eq!(compared, 9);
}
