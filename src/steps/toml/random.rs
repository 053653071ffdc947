//! Random documents as text, of all kinds of values and tables, and random updates: the intended change, nothing
//! else, and nothing the second time.

use std::{collections::BTreeMap, ops::Range};

use proptest::{prelude::*, test_runner::Config};
use serde_json::{Value, json};
use toml_edit::{Document, Item, TableLike, Value as TomlValue};

use super::set;
use crate::steps::updates::Update;

fn space() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", " ", "  ", "\t"])
}

fn comment() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "", " # why", "# ä \"x\" = [1] '''", "\t#"])
}

fn scalar_text() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        "0",
        "-17",
        "+1_000",
        "0xDEAD_beef",
        "0o755",
        "0b1101",
        "9223372036854775807",
        "1.0",
        "-0.0",
        "6.626e-34",
        "1_0.5",
        "inf",
        "-inf",
        "nan",
        "true",
        "false",
        "1979-05-27T07:32:00Z",
        "1979-05-27T00:32:00.999999-07:00",
        "1979-05-27 07:32:00",
        "1979-05-27",
        "07:32:00",
        "00:32:00.5",
        "\"\"",
        "''",
        "\"a \\\" b\\\\ \\u00e9\\t\"",
        "'C:\\dir'",
        "\"\"\"\none\n  two \\\n   three\"\"\"",
        "\"\"\"a \"\"quoted\"\" b\"\"\"",
        "'''\nraw \\ 'x'\n'''",
        "\"日本 😀\"",
    ])
    .prop_map(str::to_owned);
    prop_oneof![
        3 => fixed,
        1 => any::<i64>().prop_map(|number| number.to_string()),
        1 => "[a-z #=\\[\\]{}.,]{0,8}".prop_map(|text| format!("\"{text}\"")),
    ]
}

fn value_text() -> impl Strategy<Value = String> {
    scalar_text().prop_recursive(3, 12, 3, |inner| {
        let item = (space(), inner.clone(), space())
            .prop_map(|(before, value, after)| format!("{before}{value}{after}"));
        let line =
            (inner.clone(), comment()).prop_map(|(value, note)| format!("\n  {value},{note}"));
        let pair = (space(), inner, space());
        prop_oneof![
            prop::collection::vec(item, 0..3).prop_map(|items| format!("[{}]", items.join(","))),
            (prop::collection::vec(line, 0..3), comment())
                .prop_map(|(items, note)| format!("[{note}{}\n]", items.concat())),
            prop::collection::vec(pair, 0..3).prop_map(|pairs| {
                let pairs: Vec<String> = pairs
                    .iter()
                    .enumerate()
                    .map(|(number, (before, value, after))| {
                        format!("{before}{}={after}{value}", name(number, number * 7))
                    })
                    .collect();
                format!("{{{} }}", pairs.join(" ,"))
            }),
        ]
    })
}

/// Names of all forms, a number in each to tell them apart.
fn name(number: usize, form: usize) -> String {
    match form % 7 {
        0 => format!("k{number}"),
        1 => format!("\"k.{number}\""),
        2 => format!("'k {number}'"),
        3 => format!("{number}"),
        4 => format!("d{number}.e"),
        5 => format!("d{number} . \"f.g\".h"),
        _ => format!("\"\\u00e4:{number}\\\\\""),
    }
}

fn pairs(from: usize) -> impl Strategy<Value = String> {
    let pair = (0_usize..7, space(), space(), value_text(), comment());
    prop::collection::vec(pair, 0..4).prop_map(move |pairs| {
        pairs
            .iter()
            .enumerate()
            .map(|(number, (form, before, after, value, note))| {
                format!(
                    "{before}{}{after}={before}{value}{after}{note}\n",
                    name(from + number, *form)
                )
            })
            .collect()
    })
}

fn document() -> impl Strategy<Value = String> {
    let section = (0_usize..4, 0_usize..7, pairs(0), comment());
    (
        prop::sample::select(vec!["", "\u{feff}"]),
        pairs(100),
        prop::collection::vec(section, 0..4),
        prop::sample::select(vec!["\n", "\r\n", "mixed"]),
        any::<bool>(),
    )
        .prop_map(|(mark, top, sections, line_end, last)| {
            let mut text = format!("{mark}# head\n{top}");
            for (number, (kind, form, pairs, note)) in sections.into_iter().enumerate() {
                let name = name(number + 200, form);
                text.push_str(&match kind {
                    0 => format!("[{name}]{note}\n{pairs}"),
                    1 => format!("\n [ {name}.sub ]{note}\n{pairs}\n\n"),
                    2 => format!("[[{name}]]{note}\n{pairs}[[ {name} ]]\n{pairs}"),
                    _ => format!("[[{name}]]\n{pairs}[{name}.below]\n{pairs}[[{name}]]\n[[{name}.list]]\n{pairs}"),
                });
            }
            if !last {
                text.truncate(text.trim_end_matches('\n').len());
            }
            match line_end {
                "mixed" => text.split('\n').enumerate().fold(String::new(), |all, (at, line)| match at {
                    0 => line.to_owned(),
                    at if at % 3 == 0 => format!("{all}\r\n{line}"),
                    _ => format!("{all}\n{line}"),
                }),
                line_end => text.replace('\n', line_end),
            }
        })
}

type Scalars = BTreeMap<Vec<String>, (String, Range<usize>)>;

/// Every single value, by where it is; nothing else tells documents apart but empty tables and lists.
fn scalars(text: &str) -> Scalars {
    let document = Document::parse(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    let mut found = Scalars::new();
    of_table(document.as_table(), &[], &mut found);
    found
}

fn of_table(table: &dyn TableLike, path: &[String], found: &mut Scalars) {
    for (key, item) in table.iter() {
        let path = [path, &[key.to_owned()]].concat();
        match item {
            Item::None => {}
            Item::Value(value) => of_value(value, &path, found),
            Item::Table(table) => of_table(table, &path, found),
            Item::ArrayOfTables(tables) => {
                for (at, table) in tables.iter().enumerate() {
                    of_table(table, &[&path[..], &[at.to_string()]].concat(), found);
                }
            }
        }
    }
}

fn of_value(value: &TomlValue, path: &[String], found: &mut Scalars) {
    let says = match value {
        TomlValue::String(text) => json!(text.value()).to_string(),
        TomlValue::Integer(number) => number.value().to_string(),
        TomlValue::Float(number) => format!("{:?}", number.value()),
        TomlValue::Boolean(flag) => flag.value().to_string(),
        TomlValue::Datetime(date) => date.value().to_string(),
        TomlValue::Array(list) => {
            for (at, item) in list.iter().enumerate() {
                of_value(item, &[path, &[at.to_string()]].concat(), found);
            }
            return;
        }
        TomlValue::InlineTable(table) => return of_table(table, path, found),
    };
    found.insert(path.to_vec(), (says, value.span().unwrap()));
}

fn new_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        prop::sample::select(vec![
            "",
            "'",
            "\"",
            "'''",
            "\"\"\"",
            "\n",
            "a\r\nb",
            "\u{0}",
            "x'",
            "\"\"",
            "\\",
            "1.0",
            "\u{85}\u{2028}"
        ])
        .prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "['\"\\\\\n a]{0,8}".prop_map(Value::from),
    ]
}

fn says(value: &Value, old: &str) -> String {
    let was_float = old.contains('.') || old.contains("inf") || old == "NaN" || old.contains("e-");
    match value {
        Value::Number(number)
            if number.is_f64() || (was_float && !old.starts_with('"') && !old.contains(':')) =>
        {
            format!("{:?}", number.as_f64().unwrap())
        }
        other => other.to_string(),
    }
}

fn key(path: &[String]) -> String {
    let parts: Vec<String> = path
        .iter()
        .map(|part| {
            part.replace('\\', "\\\\")
                .replace('.', "\\.")
                .replace(':', "\\:")
        })
        .collect();
    parts.join(".")
}

fn config() -> Config {
    Config {
        cases: 300,
        failure_persistence: None,
        ..Config::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn one_value_is_set_and_nothing_else(text in document(), choice in any::<usize>(), value in new_value()) {
        let before = scalars(&text);
        prop_assume!(!before.is_empty());
        let (path, (old, bytes)) = before.iter().nth(choice % before.len()).unwrap();
        let update = [Update { key: key(path), value: value.clone() }];
        let after = set(&text, &update).unwrap();
        prop_assert!(after.starts_with(&text[..bytes.start]) && after.ends_with(&text[bytes.end..]), "{}", after);
        let mut left = scalars(&after);
        prop_assert_eq!(left.remove(path).map(|(says, _)| says), Some(says(&value, old)), "{}", after);
        let what = |scalars: Scalars| -> Vec<_> { scalars.into_iter().map(|(path, (says, _))| (path, says)).collect() };
        let mut others = before.clone();
        others.remove(path);
        prop_assert_eq!(what(left), what(others));
        prop_assert_eq!(set(&after, &update).unwrap(), after);
    }

    #[test]
    fn several_updates_are_one_after_the_other(text in document(), choices in prop::collection::vec((any::<usize>(), new_value()), 1..5)) {
        let places: Vec<Vec<String>> = scalars(&text).into_keys().collect();
        prop_assume!(!places.is_empty());
        let (mut updates, mut step_by_step) = (Vec::<Update>::new(), text.clone());
        for (choice, value) in choices {
            let key = key(&places[choice % places.len()]);
            if updates.iter().any(|update| update.key == key) {
                continue;
            }
            let update = Update { key, value };
            step_by_step = set(&step_by_step, std::slice::from_ref(&update)).unwrap();
            updates.push(update);
        }
        prop_assert_eq!(set(&text, &updates).unwrap(), step_by_step);
    }
}
