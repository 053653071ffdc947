//! Random documents as text, random updates: the intended change, nothing else, and nothing the second time.

use proptest::{prelude::*, test_runner::Config};
use serde_json::{Map, Value, json};

use super::set;
use crate::steps::updates::Update;

fn space() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["", "", "", " ", "\n", "\r\n\t", "  "]).prop_map(str::to_owned)
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec!["a", "b", "c", "0", "1", "-1", "x.y", "k:v", "ä", "日本", "a b", "*", "#", "?", "|", "\\", "\"", "", "@t/n", "😀"])
            .prop_map(str::to_owned),
        1 => any::<String>().prop_map(|text| text.chars().take(6).collect()),
    ]
}

/// A text between quotes, with some characters escaped that need not be.
fn quoted() -> impl Strategy<Value = String> {
    (word(), any::<u32>()).prop_map(|(text, bits)| {
        let plain = serde_json::to_string(&text).unwrap();
        let inner = &plain[1..plain.len() - 1];
        let mut out = String::from("\"");
        let mut escaping = false;
        for (at, c) in inner.chars().enumerate() {
            let again =
                !escaping && c != '\\' && !c.is_ascii_hexdigit() && bits >> (at % 32) & 1 == 1;
            let mut units = [0; 2];
            if again && !inner.contains('\\') {
                for unit in c.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04X}"));
                }
            } else {
                out.push(c);
            }
            escaping = c == '\\' && !escaping;
        }
        out + "\""
    })
}

fn scalar_text() -> impl Strategy<Value = String> {
    prop_oneof![
        quoted(),
        prop::sample::select(vec![
            "0",
            "-0",
            "1.10",
            "1E+2",
            "12345678901234567890",
            "9007199254740993",
            "1e-7",
            "true",
            "false",
            "null",
        ])
        .prop_map(str::to_owned),
    ]
}

fn document() -> impl Strategy<Value = String> {
    let leaf = scalar_text();
    let value = leaf.prop_recursive(4, 30, 5, |inner| {
        let spaced = (space(), inner, space())
            .prop_map(|(before, value, after)| format!("{before}{value}{after}"))
            .boxed();
        let member = (space(), quoted(), space(), spaced.clone())
            .prop_map(|(before, key, after, value)| format!("{before}{key}{after}:{value}"));
        let empty = space().boxed();
        prop_oneof![
            (prop::collection::vec(spaced, 0..5), empty.clone()).prop_map(|(items, empty)| {
                if items.is_empty() {
                    format!("[{empty}]")
                } else {
                    format!("[{}]", items.join(","))
                }
            }),
            (prop::collection::vec(member, 0..5), empty).prop_map(|(items, empty)| {
                if items.is_empty() {
                    format!("{{{empty}}}")
                } else {
                    format!("{{{}}}", items.join(","))
                }
            }),
        ]
    });
    (
        prop::sample::select(vec!["", "\u{feff}"]),
        space(),
        value,
        space(),
    )
        .prop_map(|(mark, before, value, after)| format!("{mark}{before}{value}{after}"))
}

fn new_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i16>().prop_map(|number| Value::from(f64::from(number) / 16.0)),
        word().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ]
}

fn escaped(part: &str) -> String {
    let mut out = String::new();
    for c in part.chars() {
        if ".\\*?|#:".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Some value of the document, and a key that leads to it.
fn pick(document: &Value, choice: usize) -> (Vec<String>, String) {
    let mut all = Vec::new();
    let mut waiting = vec![(document, Vec::new())];
    while let Some((value, path)) = waiting.pop() {
        let below = |part: String| [path.clone(), vec![part]].concat();
        match value {
            Value::Object(fields) => waiting.extend(
                fields
                    .iter()
                    .map(|(key, value)| (value, below(key.clone()))),
            ),
            Value::Array(items) => {
                waiting.extend(
                    items
                        .iter()
                        .enumerate()
                        .map(|(index, value)| (value, below(index.to_string()))),
                );
            }
            _ => {}
        }
        if !path.is_empty() {
            all.push(path);
        }
    }
    if all.is_empty() {
        return (Vec::new(), String::new());
    }
    let path = all.swap_remove(choice % all.len());
    let key: Vec<String> = path.iter().map(|part| escaped(part)).collect();
    let key = key.join(".");
    (path, key)
}

/// What sjson means by setting a path that is there, or one more part below it.
fn expected(document: &Value, path: &[String], value: &Value) -> Option<Value> {
    let Some((part, rest)) = path.split_first() else {
        return Some(value.clone());
    };
    let mut copy = document.clone();
    match &mut copy {
        Value::Object(fields) => {
            let below = fields.get(part).cloned().unwrap_or(Value::Null);
            fields.insert(part.clone(), expected(&below, rest, value)?);
        }
        Value::Array(items) => {
            let item = items.get_mut(part.parse::<usize>().ok()?)?;
            *item = expected(item, rest, value)?;
        }
        _ => {
            let places = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            if places || part == "-1" {
                return None;
            }
            let mut fields = Map::new();
            fields.insert(part.clone(), expected(&Value::Null, rest, value)?);
            copy = Value::Object(fields);
        }
    }
    Some(copy)
}

fn config() -> Config {
    Config {
        cases: 400,
        failure_persistence: None,
        ..Config::default()
    }
}

/// A float that is whole is the same number as an integer.
fn plain(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => match number.as_f64() {
            Some(float) if float.fract() == 0.0 && float.abs() < 9e15 => json!(float as i64),
            _ => Value::Number(number),
        },
        Value::Array(items) => items.into_iter().map(plain).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(key, value)| (key, plain(value)))
            .collect(),
        other => other,
    }
}

fn read(text: &str) -> Value {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return json!(null);
    }
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// What both have in common at their ends.
fn untouched(before: &str, after: &str) -> (usize, usize) {
    let start = before
        .bytes()
        .zip(after.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let end = before
        .bytes()
        .rev()
        .zip(after.bytes().rev())
        .take_while(|(a, b)| a == b)
        .count();
    (start, end)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_is_there_is_set_and_nothing_else(text in document(), choice in any::<usize>(), value in new_value()) {
        let before = read(&text);
        let (path, key) = pick(&before, choice);
        // A path of one empty part has no key of its own but a colon.
        let key = if key.is_empty() { ":".to_owned() } else { key };
        prop_assume!(!path.is_empty());
        let after = set(&text, &[Update { key: key.clone(), value: value.clone() }]).unwrap();
        prop_assert_eq!(plain(read(&after)), plain(expected(&before, &path, &value).unwrap()), "{}", after);
        // Put back what was there by its place in the text: all that differs is in one stretch that is one value.
        let (start, end) = untouched(&text, &after);
        let old = text.len().saturating_sub(start + end);
        let new = after.len().saturating_sub(start + end);
        let pointer: Value = path.iter().try_fold(&before, |value, part| match value {
            Value::Array(items) => items.get(part.parse::<usize>().unwrap()),
            value => value.get(part),
        }).unwrap().clone();
        if !pointer.is_object() && !pointer.is_array() {
            prop_assert!(old <= 6 * pointer.to_string().len() + 20, "{} became {}", text, after);
        }
        prop_assert!(new <= value.to_string().len() + 2);
        let again = set(&after, &[Update { key, value }]).unwrap();
        prop_assert_eq!(again, after);
    }

    #[test]
    fn what_is_missing_is_made(text in document(), choice in any::<usize>(), names in prop::collection::vec("[a-z]{1,3}", 1..4), value in new_value()) {
        let before = read(&text);
        let (mut path, key) = pick(&before, choice);
        let mut keys = vec![key];
        if path.is_empty() {
            keys.clear();
        }
        path.extend(names.iter().cloned());
        keys.extend(names);
        let key = keys.join(".");
        let update = [Update { key, value: value.clone() }];
        match (set(&text, &update), expected(&before, &path, &value)) {
            (Ok(after), Some(wanted)) => {
                prop_assert_eq!(plain(read(&after)), plain(wanted), "{}", after);
                prop_assert_eq!(set(&after, &update).unwrap(), after);
            }
            (Err(_), None) => {}
            (ours, theirs) => prop_assert!(false, "{:?}, expected {:?}", ours, theirs),
        }
    }

    #[test]
    fn several_updates_are_one_after_the_other(text in document(), choices in prop::collection::vec((any::<usize>(), new_value()), 1..5)) {
        let mut updates = Vec::new();
        let mut step_by_step = text.clone();
        for (choice, value) in choices {
            let (path, key) = pick(&read(&step_by_step), choice);
            if path.is_empty() || key.is_empty() {
                continue;
            }
            let update = Update { key, value };
            step_by_step = set(&step_by_step, std::slice::from_ref(&update)).unwrap();
            updates.push(update);
        }
        prop_assert_eq!(set(&text, &updates).unwrap(), step_by_step);
    }
}
