//! `json-update` on a file of 1 MB, against reading and writing it with serde.

use serde_json::{Value, json};
use tidewaiter::steps::{json, updates::Update};

use super::{median, report};

/// About 1 MB, indented.
fn document() -> String {
    let item = |n: u32| json!({"name": format!("service-{n}"), "image": {"tag": "1.0.0", "port": n}, "f": 1.5});
    let items: Vec<Value> = (0..8_000).map(item).collect();
    serde_json::to_string_pretty(&json!({"services": items})).unwrap()
}

/// Prints the time of one step of two updates, and of the round trip.
pub fn run() {
    let text = document();
    let updates = ["services.10.image.tag", "services.7999.image.tag"].map(|key| Update {
        key: key.into(),
        value: "2.0.0".into(),
    });
    let ours = median(|| {
        json::set(&text, &updates).unwrap();
    });
    let theirs = median(|| {
        let mut value: Value = serde_json::from_str(&text).unwrap();
        for at in [10, 7_999] {
            value["services"][at]["image"]["tag"] = "2.0.0".into();
        }
        serde_json::to_string_pretty(&value).unwrap();
    });
    report("JSON, two values", ours, theirs);
}
