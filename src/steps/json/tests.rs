use serde_json::{Value, json};

use super::{JsonError, key, set, tree::Tree};
use crate::steps::updates::Update;

fn update(key: &str, value: Value) -> Update {
    Update {
        key: key.into(),
        value,
    }
}

fn one(text: &str, key: &str, value: Value) -> Result<String, JsonError> {
    set(text, &[update(key, value)])
}

/// Each changes as it should, and then no more.
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

#[test]
fn c26_big_integers_and_floats_elsewhere_keep_their_spelling() {
    let text = r#"{"id": 9007199254740993, "f": 1.10, "tag": "a"}"#;
    becomes(&[
        (
            text,
            "tag",
            json!("b"),
            r#"{"id": 9007199254740993, "f": 1.10, "tag": "b"}"#,
        ),
        (
            r#"{"n": 1, "f": 1.10}"#,
            "n",
            json!(12_345_678_901_234_567_890_u64),
            r#"{"n": 12345678901234567890, "f": 1.10}"#,
        ),
        (
            r#"{"n": 1}"#,
            "n",
            json!(-9_007_199_254_740_993_i64),
            r#"{"n": -9007199254740993}"#,
        ),
    ]);
}

#[test]
fn c28_digits_of_a_text_stay_a_text() {
    becomes(&[
        (r#"{"n": "0001"}"#, "n", json!("0236"), r#"{"n": "0236"}"#),
        (r#"{"n": "1"}"#, "n", json!("1e400"), r#"{"n": "1e400"}"#),
        (r#"{"n": 1}"#, "n", json!("1"), r#"{"n": "1"}"#),
        (r#"{"n": "1"}"#, "n", json!(1), r#"{"n": 1}"#),
        (r#"{"n": "true"}"#, "n", json!(true), r#"{"n": true}"#),
    ]);
}

#[test]
fn numbers_of_all_kinds() {
    becomes(&[
        // Out of range for most readers, and not ours to judge.
        (
            r#"{"a": 1e400, "b": -0, "c": 1E+2}"#,
            "b",
            json!(2),
            r#"{"a": 1e400, "b": 2, "c": 1E+2}"#,
        ),
        (
            r#"{"a": 1e400}"#,
            "a",
            json!(1e300),
            &format!(r#"{{"a": {}}}"#, 1e300),
        ),
        // The same number stays as it is written.
        (r#"{"a": 1.10}"#, "a", json!(1.1), r#"{"a": 1.10}"#),
        (r#"{"a": 1.0}"#, "a", json!(1), r#"{"a": 1.0}"#),
        (r#"{"a": 1e2}"#, "a", json!(100.5), r#"{"a": 100.5}"#),
        (r#"{"a": -0}"#, "a", json!(0), r#"{"a": 0}"#),
        (r#"{"a": 1}"#, "a", json!(0.1), r#"{"a": 0.1}"#),
        (
            r#"{"a": 1}"#,
            "a",
            json!(1e21),
            r#"{"a": 1000000000000000000000}"#,
        ),
        // A float of this size stands for many integers.
        (
            r#"{"a": 9007199254740993}"#,
            "a",
            json!(9_007_199_254_740_992_u64),
            r#"{"a": 9007199254740992}"#,
        ),
    ]);
}

#[test]
fn texts_with_escapes() {
    becomes(&[
        (
            r#"{"a": "x"}"#,
            "a",
            json!("\"\\\n\u{0}\u{7f}é\u{2028}😀</a>"),
            "{\"a\": \"\\\"\\\\\\n\\u0000\u{7f}é\u{2028}😀</a>\"}",
        ),
        // The same text stays as it is written.
        (
            r#"{"a": "\u0061\/\ud83d\ude00"}"#,
            "a",
            json!("a/😀"),
            r#"{"a": "\u0061\/\ud83d\ude00"}"#,
        ),
        (r#"{"a": "\u0061"}"#, "a", json!("b"), r#"{"a": "b"}"#),
        // Half a pair is no character, but no error either.
        (
            r#"{"a": "\ud83d", "b": 1}"#,
            "b",
            json!(2),
            r#"{"a": "\ud83d", "b": 2}"#,
        ),
        // A key by what it says.
        (r#"{"\u0061b": 1}"#, "ab", json!(2), r#"{"\u0061b": 2}"#),
        (
            r#"{"näme": {"日本": 1}}"#,
            "näme.日本",
            json!(2),
            r#"{"näme": {"日本": 2}}"#,
        ),
    ]);
}

#[test]
fn keys_with_dots_colons_and_nothing() {
    becomes(&[
        (
            r#"{"a.b": {"c": 1}, "a": {"b": 2}}"#,
            r"a\.b.c",
            json!(9),
            r#"{"a.b": {"c": 9}, "a": {"b": 2}}"#,
        ),
        (r#"{"a:b": 1}"#, "a:b", json!(2), r#"{"a:b": 2}"#),
        (r#"{":a": 1}"#, r"\:a", json!(2), r#"{":a": 2}"#),
        (r#"{"": 1}"#, ":", json!(2), r#"{"": 2}"#),
        (r#"{"a": {"": 1}}"#, "a.", json!(2), r#"{"a": {"": 2}}"#),
        (r#"{"0": 1}"#, "0", json!(2), r#"{"0": 2}"#),
        (r#"{"a": {}}"#, "a.:0", json!(2), r#"{"a": {"0": 2}}"#),
        (
            r#"{"a": {"-1": 0}}"#,
            "a.-1",
            json!(2),
            r#"{"a": {"-1": 2}}"#,
        ),
        (r#"{"a#b@c": 1}"#, "a#b@c", json!(2), r#"{"a#b@c": 2}"#),
        (
            r#"{"deps": {"@types/node": "1"}}"#,
            "deps.@types/node",
            json!("2"),
            r#"{"deps": {"@types/node": "2"}}"#,
        ),
        (
            r#"{"a*": 1, "ab": 1}"#,
            r"a\*",
            json!(2),
            r#"{"a*": 2, "ab": 1}"#,
        ),
        (r##"{"#": 1}"##, r"\#", json!(2), r##"{"#": 2}"##),
        (r#"{"a\\b": 1}"#, r"a\\b", json!(2), r#"{"a\\b": 2}"#),
    ]);
    refused(&[
        (
            r#"{"a": 1}"#,
            "a..b",
            json!(1),
            "an empty key is only set where it is there",
        ),
        (r#"{"a": 1}"#, r"a\", json!(1), "ends in a backslash"),
        (r#"{"a": 1}"#, "a|b", json!(1), "bare |"),
        (
            r#"{"a": 1}"#,
            "#(a>1).b",
            json!(1),
            "a selection is written as",
        ),
        (
            r#"{"a": 1}"#,
            "#(a==1",
            json!(1),
            "a selection is written as",
        ),
        (r#"{"a": 1}"#, "#(a==1)b", json!(1), "a dot goes between"),
    ]);
}

#[test]
fn the_last_of_a_doubled_key_counts() {
    becomes(&[
        (r#"{"a": 1, "a": 2}"#, "a", json!(3), r#"{"a": 1, "a": 3}"#),
        (
            r#"{"a": {"b": 1}, "a": {"c": 2}}"#,
            "a.b",
            json!(3),
            r#"{"a": {"b": 1}, "a": {"c": 2, "b": 3}}"#,
        ),
    ]);
}

#[test]
fn arrays_by_place_and_at_their_end() {
    becomes(&[
        ("[1, 2, 3]", "1", json!(9), "[1, 9, 3]"),
        ("[1, 2, 3]", "01", json!(9), "[1, 9, 3]"),
        ("[1, 2]", "3", json!(9), "[1, 2, null, 9]"),
        (r#"{"a": []}"#, "a.1", json!(9), r#"{"a": [null, 9]}"#),
        (
            r#"{"a": [[1], [2]]}"#,
            "a.1.0",
            json!(9),
            r#"{"a": [[1], [9]]}"#,
        ),
        (
            r#"{"a":[{"n":1}]}"#,
            "a.1.n",
            json!(2),
            r#"{"a":[{"n":1},{"n":2}]}"#,
        ),
        (
            "[\n  1,\n  2\n]\n",
            "2",
            json!(3),
            "[\n  1,\n  2,\n  3\n]\n",
        ),
    ]);
    // Another one each time, as it says.
    let twice = one("[1, 2]", "-1", json!(3)).and_then(|text| one(&text, "-1", json!(3)));
    assert_eq!(twice.as_deref(), Ok("[1, 2, 3, 3]"));
    assert_eq!(
        one("{}", "a.-1.b", json!(3)).as_deref(),
        Ok(r#"{"a": [{"b": 3}]}"#)
    );
    refused(&[
        ("[1]", "a", json!(1), "a is no place in an array"),
        ("[1]", ":1", json!(1), "1 is no place in an array"),
        (
            "[1]",
            "99999",
            json!(1),
            "the array has 1 items, and 99999 is far behind its end",
        ),
        (
            "[1]",
            "99999999999999999999999",
            json!(1),
            "far behind its end",
        ),
        ("{}", "a.99999", json!(1), "far behind its end"),
    ]);
}

#[test]
fn selections_find_items_and_make_none() {
    let list = r#"{"images": [{"name": "api", "tag": "1"}, {"name": "web", "tag": "1"}, {"name": "web", "tag": "1"}]}"#;
    let with = |tags: [&str; 3]| {
        let [a, b, c] = tags;
        format!(
            r#"{{"images": [{{"name": "api", "tag": "{a}"}}, {{"name": "web", "tag": "{b}"}}, {{"name": "web", "tag": "{c}"}}]}}"#
        )
    };
    becomes(&[
        (
            list,
            r#"images.#(name=="web").tag"#,
            json!("2"),
            &*with(["1", "2", "1"]),
        ),
        (
            list,
            r#"images.#(name=="web")#.tag"#,
            json!("2"),
            &*with(["1", "2", "2"]),
        ),
        (
            list,
            r#"images.#(name!="web").tag"#,
            json!("2"),
            &*with(["2", "1", "1"]),
        ),
        (list, "images.#.tag", json!("2"), &*with(["2", "2", "2"])),
    ]);
    becomes(&[
        (
            r#"{"abc": 1, "abd": 1}"#,
            "a*d",
            json!(2),
            r#"{"abc": 1, "abd": 2}"#,
        ),
        (
            r#"{"abc": 1, "abd": 1}"#,
            "ab?",
            json!(2),
            r#"{"abc": 2, "abd": 1}"#,
        ),
        (
            r#"[{"a": {"b": 1.0}, "c": 0}, 5]"#,
            "#(a.b==1).c",
            json!(1),
            r#"[{"a": {"b": 1.0}, "c": 1}, 5]"#,
        ),
        (
            r#"["a", "b.c)"]"#,
            r#"#(=="b.c)")"#,
            json!("b.c)"),
            r#"["a", "b.c)"]"#,
        ),
    ]);
    refused(&[
        (
            list,
            r#"images.#(name=="db").tag"#,
            json!("2"),
            "nothing is found by its part 2",
        ),
        (
            list,
            r#"images.#(name=="web").gone"#,
            json!("2"),
            "nothing is found by its part 3",
        ),
        (
            r#"{"a": 1}"#,
            "b*",
            json!("2"),
            "nothing is found by its part 1",
        ),
        (
            r#"{"a": {}}"#,
            "a.b*.c",
            json!("2"),
            "nothing is found by its part 2",
        ),
        ("", "#.a", json!("2"), "can find values, not make them"),
    ]);
}

#[test]
fn what_is_missing_is_made_in_the_style_around_it() {
    becomes(&[
        (
            r#"{"settings": {}}"#,
            "settings.newKey",
            json!("added"),
            r#"{"settings": {"newKey": "added"}}"#,
        ),
        (
            r#"{"a":1}"#,
            "b.c.d",
            json!(2),
            r#"{"a":1,"b":{"c":{"d":2}}}"#,
        ),
        (r#"{ "a" : 1 }"#, "b", json!(2), r#"{ "a" : 1, "b" : 2 }"#),
        (
            "{\n\t\"a\": 1\n}\n",
            "b.c",
            json!(2),
            "{\n\t\"a\": 1,\n\t\"b\": {\n\t\t\"c\": 2\n\t}\n}\n",
        ),
        (
            "{\r\n  \"a\": {}\r\n}",
            "a.b",
            json!(2),
            "{\r\n  \"a\": {\r\n    \"b\": 2\r\n  }\r\n}",
        ),
        (
            "{\n    \"a\": []\n}",
            "a.1",
            json!(2),
            "{\n    \"a\": [\n        null,\n        2\n    ]\n}",
        ),
        (
            "{\n  \"a\": [1, 2],\n  \"b\": 1\n}",
            "a.2",
            json!(3),
            "{\n  \"a\": [1, 2, 3],\n  \"b\": 1\n}",
        ),
        ("{\n}\n", "a", json!(1), "{\"a\": 1\n}\n"),
        ("{}", "a", json!(1), r#"{"a": 1}"#),
        (
            "",
            "app.version",
            json!("1.0.1"),
            r#"{"app": {"version": "1.0.1"}}"#,
        ),
        (" \n", "a", json!(1), "{\"a\": 1} \n"),
        ("", "0", json!(1), "[1]"),
        // As in Kargo, a scalar in the way makes room.
        (r#"{"a": null}"#, "a.b", json!(1), r#"{"a": {"b": 1}}"#),
        (r#"{"a": "text"}"#, "a.b", json!(1), r#"{"a": {"b": 1}}"#),
        (
            "{\n  \"a\": 5\n}",
            "a.b",
            json!(1),
            "{\n  \"a\": {\n    \"b\": 1\n  }\n}",
        ),
        ("42\n", "a", json!(1), "{\"a\": 1}\n"),
        // So does what is not one, where it is what is set.
        (
            r#"{"a": {"b": [1]}, "c": 1}"#,
            "a",
            json!(1),
            r#"{"a": 1, "c": 1}"#,
        ),
    ]);
}

#[test]
fn marks_and_ends_of_the_file_stay() {
    becomes(&[
        ("\u{feff}{\"a\": 1}", "a", json!(2), "\u{feff}{\"a\": 2}"),
        ("\u{feff}", "a", json!(2), "\u{feff}{\"a\": 2}"),
        ("{\"a\": 1}", "a", json!(2), "{\"a\": 2}"),
        (
            "\r\n{\"a\":\r\n1}\n\n",
            "a",
            json!(2),
            "\r\n{\"a\":\r\n2}\n\n",
        ),
    ]);
}

#[test]
fn updates_apply_in_order_or_not_at_all() {
    let all = [
        update("a", json!("x")),
        update("b.c", json!(1)),
        update("b.c", json!(2)),
        update("a.d", json!(3)),
        update("l.0", json!(4)),
        update("l.#(=4)", json!(5)),
    ];
    assert_eq!(
        set(r#"{"a": 1, "l": [0]}"#, &all).as_deref(),
        Ok(r#"{"a": {"d": 3}, "l": [5], "b": {"c": 2}}"#)
    );
    assert!(set("[0]", &[update("0", json!(1)), update("x", json!(1))]).is_err());
    for (value, says) in [
        (
            json!(null),
            "the value for key a is not a scalar: it is null",
        ),
        (json!([1]), "it is a list"),
        (json!({}), "it is an object"),
    ] {
        refused(&[(r#"{"a": 1}"#, "a", value, says)]);
    }
}

#[test]
fn what_is_not_json_is_refused_with_its_place() {
    let cases = [
        ("{\"a\": 1,}", "line 1, column 9: a comma before this '}'"),
        ("[1,\n 2,\n]", "line 3, column 1: a comma before this ']'"),
        (
            "{\n  // note\n  \"a\": 1}",
            "line 2, column 3: JSON has no comments",
        ),
        (
            "{\"a\": 1 /* x */}",
            "line 1, column 9: JSON has no comments",
        ),
        (
            "{\"ä\": 'b'}",
            "line 1, column 7: texts are written between double quotes",
        ),
        (
            "{a: 1}",
            "line 1, column 2: a where a key between double quotes should be",
        ),
        ("{\"a\" 1}", "line 1, column 6: 1 where ':' should be"),
        (
            "{\"a\": 1 \"b\": 2}",
            "column 9: '\"' where ',' or '}' should be",
        ),
        ("[1 2]", "column 4: 2 where ',' or ']' should be"),
        ("{\"a\": }", "column 7: '}' where a value should be"),
        ("{\"a\": NaN}", "column 7: NaN where a value should be"),
        ("{\"a\": True}", "column 7: True where a value should be"),
        ("{\"a\": 01}", "a number with a 0 before it"),
        ("{\"a\": 1.}", "column 9: '}' where a digit should be"),
        ("{\"a\": .5}", "column 7: '.' where a value should be"),
        ("{\"a\": +1}", "column 7: '+' where a value should be"),
        ("{\"a\": 1e}", "'}' where a digit should be"),
        ("{\"a\": -}", "'}' where a digit should be"),
        ("{\"a\": \"b", "the file ends inside a text"),
        (
            "{\"a\": \"b\nc\"}",
            "line 1, column 9: a control character or line end inside a text",
        ),
        ("{\"a\": \"\\x\"}", "an escape that JSON does not have"),
        ("{\"a\": \"\\u12\"}", "four hexadecimal digits"),
        ("{\"a\": 1", "the file ends where ',' or '}' should be"),
        ("{\"a\":", "the file ends where a value should be"),
        (
            "{",
            "the file ends where a key between double quotes should be",
        ),
        (
            "{\"a\": 1}}",
            "column 9: '}' where the end of the file should be",
        ),
        (
            "{\"a\": 1} {}",
            "column 10: '{' where the end of the file should be",
        ),
        ("[}", "'}' where a value should be"),
        ("1 2", "2 where the end of the file should be"),
        ("{\"a\": \u{0}1}", "'\\0' where a value should be"),
        (" \u{feff}{}", "a byte order mark belongs at the start"),
        ("{\"a\": 1}\u{a0}", "where the end of the file should be"),
    ];
    for (text, says) in cases {
        let error = one(text, "a", json!(1)).expect_err(text).to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
}

/// What another reader takes, ours takes, and the other way round.
#[test]
fn the_reader_agrees_with_serde() {
    let tokens = [
        "{", "}", "[", "]", ",", ":", "\"a\"", "1", "-0.5e1", "null", " ", "\"\\n\"", "01", "tru",
    ];
    let mut number = 12_345_u64;
    for _ in 0..20_000 {
        let mut text = String::new();
        number = number
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let mut bits = number >> 8;
        for _ in 0..1 + bits % 9 {
            text.push_str(tokens[(bits % 14) as usize]);
            bits /= 14;
        }
        let ours = Tree::read(&text).is_ok_and(|tree| !tree.nodes().is_empty());
        let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
        assert_eq!(ours, theirs, "{text}");
    }
}

/// On the stack of a thread, in a debug build.
#[test]
fn depth_and_size_are_no_trouble() {
    for depth in [5_000, 100_000] {
        let text = format!(
            "{{\"a\": 1, \"d\": {}{}}}",
            "[".repeat(depth),
            "]".repeat(depth)
        );
        assert_eq!(
            one(&text, "a", json!(2)),
            Ok(text.replacen(": 1", ": 2", 1))
        );
        let key = format!("d{}", ".0".repeat(depth - 1));
        assert!(one(&text, &key, json!(1)).unwrap().contains("[1]"));
        let open = "{\"a\":".repeat(depth);
        assert!(matches!(
            one(&open, "a", json!(1)),
            Err(JsonError::NotJson { .. })
        ));
        let error = one("{}", &format!("a{}", ".b".repeat(depth)), json!(1)).unwrap_err();
        assert!(error.to_string().contains("no more than 100 are made"));
    }
    let long = "k".repeat(1 << 20);
    let text = format!("{{\"{long}\": 1}}");
    assert_eq!(one(&text, &long, json!(2)), Ok(text.replace(": 1", ": 2")));
}

#[test]
fn a_key_is_taken_apart() {
    assert_eq!(key::split("a.b.0").unwrap().len(), 3);
    assert_eq!(key::split("0").unwrap()[0].index(), Some(0));
    assert_eq!(key::split(":0").unwrap()[0].index(), None);
    assert!(key::split("-1").unwrap()[0].is_append());
    assert!(!key::split(":-1").unwrap()[0].is_append());
}
