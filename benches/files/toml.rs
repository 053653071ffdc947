//! `toml-update` on a file of 1 MB, against reading and writing it with toml_edit.

use std::fmt::Write as _;

use tidewaiter::steps::{toml, updates::Update};
use toml_edit::DocumentMut;

use super::{median, report};

/// About 1 MB in tables of their own.
fn document() -> String {
    let mut text = String::new();
    for n in 0..17_000 {
        writeln!(
            text,
            "[service-{n}]\nname = \"service-{n}\" # kept\ntag = \"1.0.0\"\nport = {n}\n"
        )
        .unwrap();
    }
    text
}

/// Prints the time of one step of two updates, and of the round trip.
pub fn run() {
    let text = document();
    let updates = ["service-10.tag", "service-16999.tag"].map(|key| Update {
        key: key.into(),
        value: "2.0.0".into(),
    });
    let ours = median(|| {
        toml::set(&text, &updates).unwrap();
    });
    let theirs = median(|| {
        let mut document: DocumentMut = text.parse().unwrap();
        for name in ["service-10", "service-16999"] {
            document[name]["tag"] = toml_edit::value("2.0.0");
        }
        document.to_string();
    });
    report("TOML, two values", ours, theirs);
}
