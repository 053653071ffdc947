//! Any text, key and value: a refusal, or a file that reads as it should, with no other byte changed where a value
//! was replaced, and that a second time leaves alone.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tidewaiter::steps::{
    json::{self, key, tree::Tree},
    updates::Update,
};

/// Wide enough for whatever is found, and as deep as readers go.
fn at<'v>(document: &'v Value, parts: &[key::Part]) -> Option<&'v Value> {
    parts.iter().try_fold(document, |value, part| match (value, part) {
        (Value::Object(fields), key::Part::Name { text, .. }) => fields.get(text),
        (Value::Array(items), part) if part.is_append() => items.last(),
        (Value::Array(items), part) => items.get(part.index()?),
        _ => None,
    })
}

fn value(kind: u8, text: &str) -> Value {
    match kind % 4 {
        0 => Value::from(text),
        1 => Value::from(text.len() % 2 == 0),
        2 => Value::from(i64::from(kind) - 128),
        _ => Value::from(f64::from(kind) / 8.0),
    }
}

fuzz_target!(|input: (&str, &str, &str, u8)| {
    let (text, key, new, kind) = input;
    let update = [Update { key: key.to_owned(), value: value(kind, new) }];
    let Ok(after) = json::set(text, &update) else {
        return;
    };
    let body = |text: &str| text.strip_prefix('\u{feff}').unwrap_or(text).to_owned();
    let parts = key::split(key).expect("a key that was followed is one");
    let simple = !parts.iter().any(key::Part::only_finds);
    assert!(Tree::read(&body(&after)).is_ok(), "{after:?} is no JSON");
    // Readers of serde's kind stop at half pairs, large numbers and depth.
    if let (true, Ok(document)) = (simple, serde_json::from_str::<Value>(&body(&after))) {
        let found = at(&document, &parts);
        let same = match (found, &update[0].value) {
            (Some(Value::Number(found)), Value::Number(wanted)) => found.as_f64() == wanted.as_f64(),
            (found, wanted) => found == Some(wanted),
        };
        assert!(same, "{after:?} has {found:?}");
    }
    if !parts.iter().any(key::Part::is_append) {
        assert_eq!(json::set(&after, &update).as_deref(), Ok(after.as_str()));
    }
});
