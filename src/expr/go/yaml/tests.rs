//! Texts and shapes whose YAML was compared with what yaml.v3 writes.

use serde_json::json;

use super::super::super::value::Value;
use super::marshal;

#[test]
fn texts_are_quoted_only_where_they_would_read_as_something_else() {
    for (text, want) in [
        ("plain text", "plain text"),
        ("", "\"\""),
        ("null", "\"null\""),
        ("nULL", "nULL"),
        ("yes", "\"yes\""),
        ("oN", "oN"),
        ("1.5", "\"1.5\""),
        ("1_000", "\"1_000\""),
        ("0x1f", "\"0x1f\""),
        ("1:30", "\"1:30\""),
        ("1e400", "1e400"),
        ("2024-01-01", "\"2024-01-01\""),
        ("2024-13-01", "2024-13-01"),
        (".inf", "\".inf\""),
        ("inf", "inf"),
        ("<<", "<<"),
        ("=", "="),
        ("a: b", "'a: b'"),
        ("a:b", "a:b"),
        ("a #b", "'a #b'"),
        ("- a", "'- a'"),
        ("-a", "-a"),
        ("?x", "?x"),
        ("it's", "it's"),
        ("'q'", "'''q'''"),
        ("@x", "'@x'"),
        (" a", "' a'"),
        ("---", "'---'"),
        ("a\tb", "\"a\\tb\""),
        ("a\rb", "\"a\\rb\""),
        ("\u{1}", "\"\\x01\""),
        ("é", "é"),
        ("😀", "\"\\U0001F600\""),
        ("a\nb", "|-\n    a\n    b"),
        ("a\nb\n", "|\n    a\n    b"),
        ("a\n\n", "|+\n    a\n"),
        (" a\nb", "|4-\n     a\n    b"),
        ("a \nb", "\"a \\nb\""),
    ] {
        let got = marshal(&Value::from(text)).unwrap();
        assert_eq!(got, format!("{want}\n"), "{text:?}");
    }
}

#[test]
fn blocks_keep_to_columns_of_four() {
    for (json, want) in [
        (json!([]), "[]\n"),
        (
            json!({"a": {}, "b": [], "c": null}),
            "a: {}\nb: []\nc: null\n",
        ),
        (
            json!([{"a": {"b": 1}, "c": [1, [2]]}]),
            "- a:\n    b: 1\n  c:\n    - 1\n    - - 2\n",
        ),
        (
            json!({"l": [{"t": "x\ny"}, "p\nq\n"]}),
            "l:\n    - t: |-\n        x\n        y\n    - |\n      p\n      q\n",
        ),
        (
            json!({"a10": 1, "a2": 2, "B": 3, "b": 4}),
            "B: 3\na2: 2\na10: 1\nb: 4\n",
        ),
        (json!({"k\n": [1]}), "? |\n    k\n:   - 1\n"),
        (
            json!({"true": 1.5, "big": 1e21}),
            "big: 1e+21\n\"true\": 1.5\n",
        ),
    ] {
        assert_eq!(marshal(&Value::from_json(&json)).unwrap(), want, "{json}");
    }
}
