//! Random files and random updates, judged by values that no parser of ours was asked for.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    super::*,
    PUNCTUATION, RETYPED,
    made::{Made, Tape},
    readers,
};

fn value(tape: &mut Tape<'_>) -> Value {
    match tape.pick(8) {
        0 | 1 => json!(tape.one(RETYPED)),
        2 | 3 => json!(tape.one(PUNCTUATION)),
        4 => json!(
            (0..tape.pick(12))
                .map(|_| tape.one(&[
                    'a', ' ', ':', '#', '\n', '\'', '"', 'é', '🚀', '-', '{', ',', '\\', '1', '.',
                    '\t', '\u{85}', '%', '&'
                ]))
                .collect::<String>()
        ),
        5 => serde_json::from_str(tape.one(&["null", "true", "-3", "1e21", "0.1"])).unwrap(),
        _ => json!(tape.one(&["v2", "app:1.1", "one\ntwo\n", "one\n  two", "x"])),
    }
}

fn read(text: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The edited file, after everything about it was checked.
pub fn checked(made: &Made, updates: &[(usize, Value)]) -> String {
    let text = &made.text;
    let all: Vec<Update> = updates
        .iter()
        .map(|(leaf, value)| Update {
            key: made.leaves[*leaf].key.clone(),
            value: value.clone(),
        })
        .collect();
    let done = set(text, &all);
    let impossible = updates
        .iter()
        .any(|(leaf, value)| made.leaves[*leaf].text_only && !value.is_string());
    if impossible {
        assert!(done.is_err(), "{all:?}\n{text}");
        return text.clone();
    }
    let done = done.unwrap_or_else(|error| panic!("{error}: {all:?}\n{text:?}\n{text}"));
    let changed: BTreeMap<usize, Value> = updates.iter().cloned().collect();
    assert_eq!(
        read(&done),
        made.values(&changed),
        "{all:?}\n{text}\n---- {done}"
    );
    assert_eq!(
        set(&done, &all).as_ref(),
        Ok(&done),
        "again {all:?}\n{text}"
    );
    let editor = Editor::open(&done).unwrap();
    for (update, value) in all
        .iter()
        .map(|update| (update, changed_to(made, &changed, update)))
    {
        let Some(wanted) = value.as_str() else {
            continue;
        };
        let (document, route) = editor.find(&update.key).unwrap();
        let node = editor.node(document, &route).unwrap();
        assert_eq!(node.text(), Some(wanted), "{update:?}");
        readers::both_read_a_string(node)
            .unwrap_or_else(|error| panic!("{error}: {update:?}\n{done}"));
    }
    done
}

fn changed_to<'v>(made: &Made, changed: &'v BTreeMap<usize, Value>, update: &Update) -> &'v Value {
    changed
        .iter()
        .find(|(leaf, _)| made.leaves[**leaf].key == update.key)
        .map(|(_, value)| value)
        .unwrap()
}

fn untouched(made: &Made, leaf: usize, done: &str) {
    let place = &made.leaves[leaf].place;
    let (before, after) = (&made.text[..place.start], &made.text[place.end..]);
    assert!(
        done.starts_with(before) && done[before.len()..].ends_with(after),
        "{:?}\n{:?}\n{:?}",
        made.leaves[leaf].key,
        made.text,
        done
    );
}

fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn one_update_changes_one_value_and_the_bytes_of_it(tape in prop::collection::vec(any::<u8>(), 0..400), extra in prop::collection::vec(any::<u8>(), 20)) {
        let made = Made::new(&mut Tape(&tape));
        prop_assert_eq!(read(&made.text), made.values(&BTreeMap::new()), "the generator is wrong:\n{}", made.text);
        let mut extra = Tape(&extra);
        for _ in 0..3 {
            if made.leaves.is_empty() {
                break;
            }
            let leaf = extra.pick(made.leaves.len());
            let done = checked(&made, &[(leaf, value(&mut extra))]);
            untouched(&made, leaf, &done);
        }
    }

    #[test]
    fn several_updates_are_the_same_as_one_after_the_other(tape in prop::collection::vec(any::<u8>(), 0..400), extra in prop::collection::vec(any::<u8>(), 40)) {
        let made = Made::new(&mut Tape(&tape));
        let mut extra = Tape(&extra);
        let mut updates: BTreeMap<usize, Value> = BTreeMap::new();
        for _ in 0..6 {
            if let Some(leaf) = made.leaves.len().checked_sub(1) {
                let leaf = extra.pick(leaf + 1);
                if !made.leaves[leaf].text_only {
                    updates.insert(leaf, value(&mut extra));
                }
            }
        }
        let updates: Vec<(usize, Value)> = updates.into_iter().collect();
        let together = checked(&made, &updates);
        let mut apart = made.text.clone();
        for (leaf, value) in updates.iter().rev() {
            let key = made.leaves[*leaf].key.clone();
            apart = set(&apart, &[Update { key, value: value.clone() }]).unwrap();
        }
        prop_assert_eq!(together, apart);
    }

    #[test]
    fn any_text_at_all_is_written_and_read_back(text in "\\PC{0,8}|[ -~\\n\\t]{0,12}|[0-9+_.eE:xobTZ -]{1,10}|\\p{any}{0,6}") {
        for file in ["k: old\nz: 1\n", "k: 'old' # c\nz: 1\n", "k: |\n  a\n  b\nz: 1\n", "{k: old, z: 1}\n", "- {k: {k: [x, old]}}\n"] {
            let key = if file.starts_with('-') { "0.k.k.1" } else { "k" };
            let update = Update { key: key.into(), value: json!(text) };
            let done = set(file, std::slice::from_ref(&update)).unwrap();
            let editor = Editor::open(&done).unwrap();
            let (document, route) = editor.find(key).unwrap();
            let node = editor.node(document, &route).unwrap();
            prop_assert_eq!(node.text(), Some(text.as_str()));
            readers::both_read_a_string(node).map_err(TestCaseError::fail)?;
            let read = &read(&done)[0];
            let read = if key == "k" { &read["k"] } else { &read[0]["k"]["k"][1] };
            prop_assert_eq!(read, &json!(text));
        }
    }
}
