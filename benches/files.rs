//! One value changed in a file of a megabyte, against reading the whole file and writing it anew.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

#[path = "files/json.rs"]
mod json;
#[path = "files/toml.rs"]
mod toml;

use std::{
    fmt::Write,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tidewaiter::steps::yaml::{self, Update};

const SIZE: usize = 1_000_000;
const ROUNDS: usize = 7;

/// The median of a few rounds.
fn median(mut work: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            work();
            begun.elapsed()
        })
        .collect();
    times.sort();
    times[ROUNDS / 2]
}

fn report(what: &str, ours: Duration, theirs: Duration) {
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    println!(
        "  {what:<28} {:>7.1} ms, read and written anew {:>7.1} ms: {:.2} times faster",
        ms(ours),
        ms(theirs),
        theirs.as_secs_f64() / ours.as_secs_f64()
    );
}

fn values_file() -> String {
    let mut text = String::new();
    let mut number = 0;
    while text.len() < SIZE {
        write!(
            text,
            "service{number}:  # number {number}\n  image:\n    repository: registry.example/team/app{number}\n    \
             tag: \"1.2.{number}\"\n  env:\n    - name: A\n      value: 'x y'\n    - {{name: B, value: [1, 2, three]}}\n  \
             note: |\n    some text\n    more: of it\n\n"
        )
        .unwrap();
        number += 1;
    }
    text
}

fn yaml() {
    let text = values_file();
    let update = |number: usize| Update {
        key: format!("service{number}.image.tag"),
        value: json!("9.9.9"),
    };
    let anew = |updates: &[usize]| {
        let mut value: Value = serde_saphyr::from_str(&text).unwrap();
        for number in updates {
            value[format!("service{number}")]["image"]["tag"] = json!("9.9.9");
        }
        assert!(serde_saphyr::to_string(&value).unwrap().contains("9.9.9"));
    };
    for numbers in [vec![1_234], (0..50).map(|number| number * 70).collect()] {
        let updates: Vec<Update> = numbers.iter().map(|number| update(*number)).collect();
        let ours = median(|| {
            let after = yaml::set(&text, &updates).unwrap();
            assert_eq!(after.matches("9.9.9").count(), numbers.len());
        });
        let theirs = median(|| anew(&numbers));
        report(
            &format!("yaml-update, {} value(s)", numbers.len()),
            ours,
            theirs,
        );
    }
    let over = "service77:\n  image: {tag: 9.9.9}\nnew:\n- entry\n";
    let ours = median(|| {
        let merged = yaml::merge(&[text.as_str(), over]).unwrap();
        assert!(merged.text.contains("tag: \"9.9.9\"") && merged.text.contains("new:\n- entry"));
    });
    report("yaml-merge, one entry", ours, median(|| anew(&[77])));
}

fn main() {
    println!("files: an edit of a file of {SIZE} bytes, median of {ROUNDS}");
    yaml();
    json::run();
    toml::run();
}
