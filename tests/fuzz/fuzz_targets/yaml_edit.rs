//! YAML edits: a made file, or any text at all, and updates of values that are there. What is done is what was asked
//! for, to the byte; what is not done is an error.
#![no_main]

#[path = "../../../src/steps/yaml/tests/made.rs"]
#[allow(dead_code)]
mod made;

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use made::{Made, Tape};
use serde_json::{Value, json};
use tidewaiter::steps::yaml::{
    Editor, Update, merge, scalar, set,
    tree::{self, Content, Node, Style},
};

fuzz_target!(|data: &[u8]| {
    let [kind, count, rest @ ..] = data else {
        return;
    };
    let (value, rest) = rest.split_at(usize::from(count % 24).min(rest.len()));
    let value = String::from_utf8_lossy(value);
    match kind % 4 {
        0 => made_file(rest, &value),
        1 | 2 => {
            let Some((selector, text)) = rest.split_first() else {
                return;
            };
            if let Ok(text) = std::str::from_utf8(text) {
                any_text(text, usize::from(*selector), &value);
            }
        }
        _ => {
            if let Ok(text) = std::str::from_utf8(rest)
                && let Some((below, above)) = text.split_once("=====")
            {
                two_files(below, above);
            }
        }
    }
});

fn values(text: &str) -> Option<Vec<Value>> {
    serde_saphyr::from_multiple(text).ok()
}

fn made_file(tape: &[u8], value: &str) {
    let mut tape = Tape(tape);
    let made = Made::new(&mut tape);
    if made.leaves.is_empty() {
        return;
    }
    let number = tape.pick(made.leaves.len());
    let leaf = &made.leaves[number];
    let update = Update {
        key: leaf.key.clone(),
        value: json!(value),
    };
    let done = set(&made.text, std::slice::from_ref(&update)).expect("it can be set");
    let changed = BTreeMap::from([(number, update.value.clone())]);
    assert_eq!(values(&done), Some(made.values(&changed)), "{done}");
    let (before, after) = (&made.text[..leaf.place.start], &made.text[leaf.place.end..]);
    assert!(done.starts_with(before) && done[before.len()..].ends_with(after));
    assert_eq!(set(&done, &[update]), Ok(done));
}

/// The keys of all single values.
fn keys(node: &Node, path: String, found: &mut Vec<String>) {
    let below = |name: &str| match path.as_str() {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    match &node.content {
        Content::Seq(items) => {
            for (index, item) in items.iter().enumerate() {
                keys(item, below(&index.to_string()), found);
            }
        }
        Content::Map(entries) => {
            for (key, value) in entries {
                if let Some(name) = key.text() {
                    let name = name.replace('\\', "\\\\").replace('.', "\\.");
                    keys(value, below(&name), found);
                }
            }
        }
        _ => found.push(path),
    }
}

fn any_text(text: &str, selector: usize, value: &str) {
    let Ok(documents) = tree::parse(text.trim_start_matches('\u{feff}')) else {
        return;
    };
    let mut found = Vec::new();
    for root in &documents {
        keys(root, String::new(), &mut found);
    }
    let Some(key) = found.get(selector % found.len().max(1)) else {
        return;
    };
    let update = Update {
        key: key.clone(),
        value: json!(value),
    };
    let Ok(done) = set(text, std::slice::from_ref(&update)) else {
        return;
    };
    assert_eq!(set(&done, &[update.clone()]).as_ref(), Ok(&done), "again");
    let (old, new) = (Editor::open(text).unwrap(), Editor::open(&done).unwrap());
    let place = new.find(key).expect("the key is still there");
    assert_eq!(old.find(key), Ok(place.clone()));
    let read = new.node(place.0, &place.1).unwrap();
    assert!(scalar::reads_as(read, &update.value), "{read:?}");
    // Bytes.
    let node = old.node(place.0, &place.1).unwrap();
    let mark = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
    let (start, end) = (node.bytes.start + mark, node.bytes.end + mark);
    let line = text[start..].find(['\r', '\n']).map_or(text.len(), |at| start + at);
    let end = match &node.content {
        Content::Scalar { style: Style::Block, .. } => end.max(line),
        _ => end,
    };
    assert!(
        done.starts_with(&text[..start]) && done[start..].ends_with(&text[end..]),
        "{text:?} {done:?}"
    );
    // The whole, as others read it. An anchor changes more than one place, and so may a merge key.
    if text.contains('&') || text.contains("<<") {
        return;
    }
    let Some(mut before) = values(text) else {
        return;
    };
    let after = values(&done).expect("it was readable, so it is still");
    if before.len() == documents.len()
        && let Some(place) = point(&mut before[place.0], old_path(&documents[place.0], &place.1))
    {
        *place = json!(value);
        assert_eq!(before, after, "{text:?} {done:?}");
    }
}

enum Part<'n> {
    Key(&'n str),
    Place(usize),
}

fn old_path<'n>(root: &'n Node, route: &[usize]) -> Vec<Part<'n>> {
    let mut node = root;
    let mut parts = Vec::new();
    for step in route {
        match &node.content {
            Content::Map(entries) => {
                parts.push(Part::Key(entries[*step].0.text().unwrap()));
                node = &entries[*step].1;
            }
            Content::Seq(items) => {
                parts.push(Part::Place(*step));
                node = &items[*step];
            }
            _ => unreachable!(),
        }
    }
    parts
}

fn point<'v>(value: &'v mut Value, parts: Vec<Part<'_>>) -> Option<&'v mut Value> {
    parts.into_iter().try_fold(value, |value, part| match part {
        Part::Key(key) => value.get_mut(key),
        Part::Place(at) => value.get_mut(at),
    })
}

fn two_files(below: &str, above: &str) {
    let Ok(merged) = merge(&[below, above]) else {
        return;
    };
    let text = merged.text;
    let again = merge(&[text.as_str(), above]).expect("it merges again");
    assert_eq!(again.text, text, "again");
    if [below, above].iter().any(|text| text.contains(['&', '!']) || text.contains("<<")) {
        return;
    }
    let (Some(below), Some(above)) = (values(below), values(above)) else {
        return;
    };
    let read = values(&text).expect("it was readable, so it is still");
    if !merged.cut.is_empty() {
        return;
    }
    if let ([below], [above], [read]) = (below.as_slice(), above.as_slice(), read.as_slice()) {
        assert_eq!(*read, meant(below, above), "{text:?}");
    }
}

fn meant(below: &Value, above: &Value) -> Value {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            let mut both = below.clone();
            for (key, value) in above {
                let value = below.get(key).map_or(value.clone(), |old| meant(old, value));
                both.insert(key.clone(), value);
            }
            Value::Object(both)
        }
        (_, above) => above.clone(),
    }
}
