//! Any text, key and value: a refusal, or a file that reads as it should, with no byte changed but those of one value,
//! and that a second time leaves alone.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tidewaiter::{
    expr,
    steps::{toml, toml_parse, updates::Update},
};

fn value(kind: u8, text: &str) -> Value {
    match kind % 4 {
        0 => Value::from(text),
        1 => Value::from(text.len() % 2 == 0),
        2 => Value::from(i64::from(kind) - 128),
        _ => Value::from(f64::from(kind) / 8.0),
    }
}

/// All values in order, so that two files can be compared; a number by its size.
fn all(value: &expr::Value, out: &mut Vec<String>) {
    match value {
        expr::Value::Map(map) => map.entries().iter().for_each(|(key, value)| {
            out.push(format!("{key:?}"));
            all(value, out);
        }),
        expr::Value::List(list) => list.items().iter().for_each(|item| all(item, out)),
        expr::Value::Int(number) => out.push(format!("{:?}", *number as f64)),
        expr::Value::Float(number) => out.push(format!("{number:?}")),
        other => out.push(format!("{other:?}")),
    }
}

fn read(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    all(&toml_parse::read(text).expect("a file that was edited reads"), &mut out);
    out
}

fuzz_target!(|input: (&str, &str, &str, u8)| {
    let (text, key, new, kind) = input;
    let update = [Update { key: key.to_owned(), value: value(kind, new) }];
    let Ok(after) = toml::set(text, &update) else {
        return;
    };
    let (before, left) = (read(text), read(&after));
    assert_eq!(before.len(), left.len());
    let changed = before.iter().zip(&left).filter(|(before, left)| before != left).count();
    assert!(changed <= 1, "{text:?} became {after:?}");
    assert_eq!(toml::set(&after, &update).as_deref(), Ok(after.as_str()));
});
