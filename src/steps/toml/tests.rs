use serde_json::{Value, json};

use super::{TomlError, key, set};
use crate::steps::updates::Update;

fn update(key: &str, value: Value) -> Update {
    Update {
        key: key.into(),
        value,
    }
}

fn one(text: &str, key: &str, value: Value) -> Result<String, TomlError> {
    set(text, &[update(key, value)])
}

fn becomes(cases: &[(&str, &str, Value, &str)]) {
    for (before, key, value, after) in cases {
        let got =
            one(before, key, value.clone()).unwrap_or_else(|error| panic!("{before}: {error}"));
        assert_eq!(got, *after, "{before} with {key}");
        assert_eq!(
            one(&got, key, value.clone()).as_ref(),
            Ok(&got),
            "again: {key}"
        );
    }
}

fn refused(cases: &[(&str, &str, Value, &str)]) {
    for (text, key, value, says) in cases {
        let error = one(text, key, value.clone()).expect_err(&format!("{text} {key}"));
        assert!(
            error.to_string().contains(says),
            "{text} with {key}: {error}"
        );
    }
}

/// Every form of table and value, with comments and odd spacing everywhere.
const ALL: &str = "# top\ntitle = \"old\" # why\n  spaced   =   'x'   # kept\n\n[ package ] # head\nname.first = \"n\"\n\"dotted.key\" = 1\n'single' = 2\ninline = { a = 1, b.c = [ 1, 2, { d = \"e\" } ], }\nlist = [\n  1, # one\n  2,\n]\nwhen = 1979-05-27T07:32:00Z\nday = 1979-05-27\ntime = 07:32:00.5\nhex = 0xFF\nbig = 1_000\nfloat = 3.0e2\nnone = nan\n\n[[services]]\nname = \"a\"\n[services.limits]\ncpu = 1\n[[services]]\nname = \"b\"\n[[services.ports]]\nport = 80\n[[services.ports]]\nport = 81\n";

#[test]
fn any_place_is_set_and_the_rest_stays() {
    let cases: [(&str, Value, &str, &str); 15] = [
        ("title", json!("new"), "\"old\"", "\"new\""),
        ("spaced", json!("y"), "'x'", "'y'"),
        ("package.name.first", json!("m"), "\"n\"", "\"m\""),
        (
            "package.dotted\\.key",
            json!(7),
            "\"dotted.key\" = 1",
            "\"dotted.key\" = 7",
        ),
        (
            "package.single",
            json!(true),
            "'single' = 2",
            "'single' = true",
        ),
        ("package.inline.a", json!(5), "{ a = 1", "{ a = 5"),
        ("package.inline.b.c.1", json!(5), "[ 1, 2, {", "[ 1, 5, {"),
        ("package.inline.b.c.2.d", json!("f"), "\"e\"", "\"f\""),
        ("package.list.1", json!(3), "  2,\n", "  3,\n"),
        (
            "package.when",
            json!("now"),
            "1979-05-27T07:32:00Z",
            "'now'",
        ),
        ("package.float", json!(301), "3.0e2", "301.0"),
        ("services.0.limits.cpu", json!(2.5), "cpu = 1", "cpu = 2.5"),
        ("services.limits.cpu", json!(2), "cpu = 1", "cpu = 2"),
        (
            "services.1.ports.1.port",
            json!(82),
            "port = 81",
            "port = 82",
        ),
        ("services.ports.0.port", json!(82), "port = 80", "port = 82"),
    ];
    for line_end in ["\n", "\r\n"] {
        for mark in ["", "\u{feff}"] {
            let text = format!("{mark}{}", ALL.replace('\n', line_end));
            for (key, value, before, after) in &cases {
                let (before, after) = (
                    before.replace('\n', line_end),
                    after.replace('\n', line_end),
                );
                becomes(&[(
                    &text,
                    key,
                    value.clone(),
                    &text.replacen(&before, &after, 1),
                )]);
            }
        }
    }
}

#[test]
fn line_ends_of_both_kinds_and_a_missing_last_one_stay() {
    becomes(&[
        (
            "a = 1\r\nb = 2\nc = 3\r\nd = 4",
            "b",
            json!(9),
            "a = 1\r\nb = 9\nc = 3\r\nd = 4",
        ),
        (
            "a = \"\"\"\r\nx\ny\"\"\"\r\nb = 1",
            "b",
            json!(2),
            "a = \"\"\"\r\nx\ny\"\"\"\r\nb = 2",
        ),
        (
            "a = \"\"\"\r\nx\"\"\"\r\n",
            "a",
            json!("1\n2"),
            "a = \"\"\"1\\n2\"\"\"\r\n",
        ),
    ]);
    refused(&[("a = 1\rb = 2", "a", json!(1), "it is not TOML: line 1")]);
}

#[test]
fn texts_keep_their_quotes_where_those_can_hold_them() {
    let cases = [
        (
            "\"old\"",
            "a\"\\\t\n\u{0}\u{7f}é😀",
            "\"a\\\"\\\\\\t\\n\\u0000\\u007Fé😀\"",
        ),
        ("'old'", "a\"\\b", "'a\"\\b'"),
        ("'old'", "it's", "\"it's\""),
        ("'old'", "a\nb", "\"a\\nb\""),
        ("'old'", "\u{0}", "\"\\u0000\""),
        (
            "\"\"\"\nold\n\"\"\"",
            "a\nb\"\"\"c\"",
            "\"\"\"\na\nb\\\"\\\"\\\"c\\\"\"\"\"",
        ),
        ("\"\"\"old\"\"\"", "one", "\"\"\"one\"\"\""),
        (
            "\"\"\"old\"\"\"",
            "\none \"q\" two",
            "\"\"\"\n\none \"q\" two\"\"\"",
        ),
        ("\"\"\"old\"\"\"", "a\r\nb", "\"\"\"a\\r\\nb\"\"\""),
        ("'''old'''", "it's\n\\d", "'''it's\n\\d'''"),
        ("'''\nold'''", "\n\n", "'''\n\n\n'''"),
        ("'''old'''", "x'", "\"\"\"x'\"\"\""),
        ("'''old'''", "\nx'''y", "\"\"\"\n\nx'''y\"\"\""),
        ("1", "text", "'text'"),
        ("1", "it's", "\"it's\""),
        ("1", "0123", "'0123'"),
        ("1", "true", "'true'"),
        ("true", "", "''"),
        (
            "\"\"\"
x\"\"\"",
            "",
            "\"\"\"\"\"\"",
        ),
    ];
    for (old, value, new) in cases {
        becomes(&[(
            &format!("k = {old}"),
            "k",
            json!(value),
            &format!("k = {new}"),
        )]);
    }
}

#[test]
fn numbers_are_exact_and_floats_stay_floats() {
    let cases = [
        ("1", json!(2), "2"),
        (
            "1",
            json!(-9_223_372_036_854_775_808_i64),
            "-9223372036854775808",
        ),
        ("1.5", json!(2), "2.0"),
        ("1.5", json!(1e21), "1000000000000000000000.0"),
        (
            "1.5",
            json!(12_345_678_901_234_567_890_u64),
            "12345678901234567890.0",
        ),
        ("1", json!(2.25), "2.25"),
        ("\"1\"", json!(1), "1"),
        ("nan", json!(1), "1.0"),
        ("2024-01-01", json!(1), "1"),
        // The same value stays as it is written.
        ("0x10", json!(16), "0x10"),
        ("1_000", json!(1000), "1_000"),
        ("1.50", json!(1.5), "1.50"),
        ("1e3", json!(1000), "1e3"),
        ("\"\\u0061\"", json!("a"), "\"\\u0061\""),
    ];
    for (old, value, new) in cases {
        becomes(&[(&format!("k = {old}"), "k", value, &format!("k = {new}"))]);
    }
    let too_large = json!(12_345_678_901_234_567_890_u64);
    refused(&[("k = 1", "k", too_large, "larger than TOML's integers")]);
}

#[test]
fn what_cannot_be_set_is_refused_with_the_way_out() {
    refused(&[
        (
            ALL,
            "packge.list",
            json!(1),
            "key path not found: there is no packge, but package",
        ),
        (
            ALL,
            "package",
            json!(1),
            "addresses Table instead of a scalar node",
        ),
        (
            ALL,
            "package.inline",
            json!(1),
            "addresses InlineTable instead",
        ),
        (ALL, "package.list", json!(1), "addresses Array instead"),
        (ALL, "services", json!(1), "addresses ArrayTable instead"),
        (ALL, "services.1", json!(1), "addresses ArrayTable instead"),
        (
            ALL,
            "services.2.name",
            json!(1),
            "the list has 2 items, so none at 2",
        ),
        (
            ALL,
            "services.name",
            json!(1),
            "name is no place in a list of tables: give digits",
        ),
        (ALL, "package.list.x", json!(1), "x is no place in a list"),
        (
            ALL,
            "package.list.9",
            json!(1),
            "the list has 2 items, so none at 9",
        ),
        (
            ALL,
            "title.x",
            json!(1),
            "there is nothing below a value, which is string",
        ),
        (ALL, "title", json!(null), "TOML has no null"),
        (
            ALL,
            "title",
            json!([1]),
            "value is not a TOML scalar type: it is a list",
        ),
        (
            ALL,
            "title",
            json!({}),
            "value is not a TOML scalar type: it is a table",
        ),
        (
            "[[a]]\n[a.b]\nc=1\n[[a]]\n[a.b]\nc=2",
            "a.b.c",
            json!(1),
            "several tables of the list have b",
        ),
        ("", "a", json!(1), "there is no a"),
        ("a = ", "a", json!(1), "it is not TOML: line 1, column"),
        (
            "x = 1\na = 1 b",
            "a",
            json!(1),
            "it is not TOML: line 2, column 5",
        ),
        (
            "a = 1\na = 2",
            "a",
            json!(1),
            "line 2, column 1: duplicate key",
        ),
        ("a = \"\u{0}\"", "a", json!(1), "it is not TOML"),
    ]);
    let both = [update("title", json!("x")), update("gone", json!(1))];
    assert!(set(ALL, &both).is_err());
}

#[test]
fn several_updates_and_the_last_of_one_place() {
    let all = [
        update("a", json!(10)),
        update("c", json!(30)),
        update("a", json!(11)),
        update("c", json!(3)),
    ];
    assert_eq!(
        set("a = 1\nb = 2\nc = 3\n", &all).as_deref(),
        Ok("a = 11\nb = 2\nc = 3\n")
    );
    assert_eq!(set("a = 1", &[]).as_deref(), Ok("a = 1"));
}

#[test]
fn a_key_is_taken_apart() {
    assert_eq!(
        key::split(" a\\.b.c\\:d.e\\\\f.:2 ").unwrap(),
        ["a.b", "c:d", "e\\f", "2"]
    );
    becomes(&[
        (
            "\"a.b\".\"c:d\" = 1",
            "a\\.b.c\\:d",
            json!(2),
            "\"a.b\".\"c:d\" = 2",
        ),
        ("[t]\n2 = 1", "t.:2", json!(2), "[t]\n2 = 2"),
        ("\"ä\" = 1", "ä", json!(2), "\"ä\" = 2"),
    ]);
}

/// On the stack of a thread, in a debug build.
#[test]
fn depth_and_size_are_no_trouble() {
    for depth in [5_000, 100_000] {
        let lists = format!("b = 1\na = {}{}", "[".repeat(depth), "]".repeat(depth));
        let tables = format!("b = 1\na = {}", "{a=".repeat(depth));
        let dotted = format!("b = 1\na{} = 1", ".a".repeat(depth));
        let head = format!("b = 1\n[a{}]\n", ".a".repeat(depth));
        for text in [lists, tables, dotted, head] {
            refused(&[(&text, "b", json!(2), "it is not TOML")]);
        }
    }
    let long = "k".repeat(1 << 20);
    becomes(&[(
        &format!("{long} = 1"),
        &long,
        json!(2),
        &format!("{long} = 2"),
    )]);
}
