//! How Go writes texts and numbers, and what it takes characters for, recorded by `tests/oracle`.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::expr::go::{durations, json, numbers, print};
use crate::expr::lexer::is_word_char;
use crate::expr::value::Value;
use crate::expr::{Env, evaluate};

use super::oracle::recorded;

fn entries() -> Vec<Json> {
    serde_json::from_value(recorded("prints.json")).unwrap()
}

fn entry(id: &str) -> Json {
    let found = entries().into_iter().find(|entry| entry["id"] == id);
    found.unwrap()
}

fn text<'j>(entry: &'j Json, field: &str) -> &'j str {
    entry[field].as_str().unwrap()
}

#[test]
fn texts_numbers_and_durations_are_written_as_in_go() {
    let mut differing = Vec::new();
    let mut total = 0;
    let mut compare = |entry: &Json, field: &str, ours: String| {
        total += 1;
        if ours != text(entry, field) {
            differing.push(format!(
                "{} {field}: {ours} instead of {}",
                entry["id"], entry[field]
            ));
        }
    };
    let marshalled = |value: &Value| json::compact(value).unwrap_or_else(|why| why);
    for entry in entries() {
        let kind = text(&entry, "id").split('/').next().unwrap().to_owned();
        match kind.as_str() {
            "quoted" => {
                let given = text(&entry, "text");
                compare(&entry, "quoted", print::quoted(given));
                compare(&entry, "json", marshalled(&Value::from(given)));
            }
            "float" => {
                let bits = u64::from_str_radix(text(&entry, "bits"), 16).unwrap();
                let given = f64::from_bits(bits);
                let read = numbers::parse_float(text(&entry, "float"));
                let read = read.map_or(String::new(), |read| format!("{:x}", read.to_bits()));
                // There are many NaNs; one is enough.
                if !given.is_nan() {
                    compare(&entry, "bits", read);
                }
                compare(&entry, "plain", numbers::print_float(given));
                compare(&entry, "json", marshalled(&Value::Float(given)));
            }
            "duration" => {
                let given = entry["nanoseconds"].as_i64().unwrap();
                compare(&entry, "plain", durations::print(given));
            }
            _ => {}
        }
    }
    println!(
        "oracle prints: {} of {total} agree",
        total - differing.len()
    );
    assert!(total > 1_500);
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

/// Characters of a kind: first and last of each run.
struct Kind(Vec<(u32, u32)>);

impl Kind {
    fn read(id: &str) -> Self {
        Self(serde_json::from_value(entry(id)["ranges"].clone()).unwrap())
    }

    fn has(&self, c: char) -> bool {
        let code = u32::from(c);
        let after = self.0.partition_point(|(first, _)| *first <= code);
        after > 0 && self.0[after - 1].1 >= code
    }
}

/// Every character, and whether Go counts it in.
fn characters(id: &str) -> impl Iterator<Item = (char, bool)> {
    let kind = Kind::read(id);
    ('\0'..=char::MAX).map(move |c| (c, kind.has(c)))
}

/// Fails for characters that Go's Unicode has; ours may be newer, and know more.
#[track_caller]
fn none_differs(what: &str, wrong: impl Iterator<Item = char>) {
    let known = Kind::read("assigned");
    let wrong: Vec<String> = wrong
        .filter(|c| known.has(*c))
        .map(|c| format!("U+{:04X}", u32::from(c)))
        .collect();
    assert!(
        wrong.is_empty(),
        "{what}: {} differ: {wrong:.20?}",
        wrong.len()
    );
}

#[test]
fn the_same_characters_are_printable() {
    let shown =
        |c: char| c.is_ascii_graphic() || print::quoted(c.encode_utf8(&mut [0; 4])).contains(c);
    let all = characters("printable");
    none_differs(
        "printable",
        all.filter(|(c, inside)| shown(*c) != *inside)
            .map(|(c, _)| c),
    );
}

#[test]
fn the_same_characters_are_space() {
    let all = characters("space");
    none_differs(
        "space",
        all.filter(|(c, inside)| c.is_whitespace() != *inside)
            .map(|(c, _)| c),
    );
}

#[test]
fn the_same_characters_make_names() {
    let mut before = false;
    let wrong = characters("word").filter(|(c, inside)| {
        // Where a run begins or ends, and where the standard library thinks otherwise; the rest is slow.
        let doubtful = *inside != before || *inside != c.is_alphanumeric();
        before = *inside;
        doubtful && is_word_char(*c) != *inside
    });
    none_differs("word", wrong.map(|(c, _)| c));
}

#[test]
fn the_same_characters_have_another_case() {
    for function in ["upper", "lower"] {
        let entry = entry(function);
        let mut pairs = text(&entry, "pairs").chars();
        let mut expected = BTreeMap::new();
        while let (Some(from), Some(to)) = (pairs.next(), pairs.next()) {
            expected.insert(from, to);
        }
        let known = Kind::read("assigned");
        let all: Vec<char> = ('\0'..=char::MAX).collect();
        let mut wrong = Vec::new();
        for some in all.chunks(100_000) {
            let given: String = some.iter().collect();
            let env = Env::new().with("text", Value::from(given));
            let got = evaluate(&format!("{function}(text)"), &env).unwrap();
            let got: Vec<char> = got.as_str().unwrap().chars().collect();
            assert_eq!(got.len(), some.len());
            let differing = some.iter().zip(got).filter(|(c, got)| {
                known.has(*got) && *got != expected.get(c).copied().unwrap_or(**c)
            });
            wrong.extend(differing.map(|(c, _)| *c));
        }
        none_differs(function, wrong.into_iter());
    }
}
