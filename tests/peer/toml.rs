//! The TOML editor, alone and through its step.

use serde_json::Value;
use tidewaiter::steps::{toml, toml_parse, updates::Update};

use crate::{json::set_file, *};

fn updates(row: &Value) -> Vec<Update> {
    serde_json::from_value(row["updates"].clone()).unwrap()
}

#[test]
fn toml_files_are_edited_alike() {
    let Some(rows) = rows("kargo-toml.json") else {
        return;
    };
    let compared = compare(
        &rows,
        |row| text(row, "op") == "set",
        |row| match toml::set(text(row, "in"), &updates(row)) {
            Ok(out) => reads_like(&out, text(row, "out")),
            Err(error) => said(text(row, "id"), &error.to_string(), &row["error"]),
        },
    );
    assert_eq!(compared, 22);
    let compared = compare(
        &rows,
        |row| text(row, "op") == "set-file",
        |row| set_file(row, "toml-update", "values.toml"),
    );
    assert_eq!(compared, 6);
    let compared = compare(
        &rows,
        |row| text(row, "op") == "format-value",
        |row| {
            let written = toml::write::plain(&row["value"]).unwrap();
            same("written", written.as_str(), text(row, "out"))
        },
    );
    assert_eq!(compared, 3);
    print_share("kargo-toml", &rows);
}

/// Kargo writes every text between single quotes; here quotes stay as they are. All else is the same, byte by byte.
pub fn reads_like(ours: &str, theirs: &str) -> Result<(), String> {
    same("file", one_quote(ours), one_quote(theirs))?;
    let json = |text: &str| toml_parse::read(text)?.to_json();
    same("content", json(ours)?, json(theirs)?)
}
