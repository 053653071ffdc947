//! The steps that read and change JSON, TOML and YAML files, whole.

use serde_json::{Value, json};

use super::bench::Bench;
use crate::{engine::step::Ending, git::tree::Mode};

fn updates(path: &str, pairs: &[(&str, Value)]) -> Value {
    let updates: Vec<Value> = pairs
        .iter()
        .map(|(key, value)| json!({"key": key, "value": value}))
        .collect();
    json!({"path": path, "updates": updates})
}

fn outputs(path: &str, pairs: &[(&str, &str)]) -> Value {
    let outputs: Vec<Value> = pairs
        .iter()
        .map(|(name, from)| json!({"name": name, "fromExpression": from}))
        .collect();
    json!({"path": path, "outputs": outputs})
}

#[test]
fn an_update_says_what_it_set_and_keeps_the_file_s_mode() {
    let mut bench = Bench::new();
    let files = [
        (
            "json-update",
            "a.json",
            "\u{feff}{\"tag\": \"1\", \"n\": 1}",
            "\u{feff}{\"tag\": \"2\", \"n\": 5}",
        ),
        (
            "toml-update",
            "a.toml",
            "tag = \"1\" # x\r\nn = 1",
            "tag = \"2\" # x\r\nn = 5",
        ),
    ];
    let messages = [
        "Updated a.json\n\n- tag: \"2\"\n- n: 5",
        "Updated a.toml\n\n- tag: '2'\n- n: 5",
    ];
    for ((uses, path, before, after), message) in files.into_iter().zip(messages) {
        bench.write(path, before, Some(Mode::Executable)).unwrap();
        // A number out of an expression is a float.
        let config = updates(path, &[("tag", json!("2")), ("n", json!(5.0))]);
        let first = bench.run(uses, &config).unwrap();
        assert_eq!(first.output["commitMessage"], message);
        assert_eq!(
            (first.ending, first.message.as_str()),
            (Ending::Succeeded, "")
        );
        assert_eq!(
            (bench.get(path).as_str(), bench.mode(path)),
            (after, Mode::Executable)
        );
        let state = bench.files.state.clone();
        let again = bench.run(uses, &config).unwrap();
        assert_eq!(again.output["commitMessage"], message);
        assert_eq!(again.message, "the values are there already");
        assert_eq!(bench.files.state, state, "nothing changes the second time");
    }
}

#[test]
fn all_updates_apply_or_none() {
    let mut bench = Bench::new();
    bench.put("a.json", "{\"a\": 1, \"l\": []}");
    bench.put("a.toml", "a = 1\n");
    let cases = [
        (
            "json-update",
            updates("a.json", &[("a", json!(2)), ("l.x", json!(1))]),
            "JSON file update failed: a.json is unchanged: the key l.x is not there: x is no place in an array",
        ),
        (
            "json-update",
            updates("a.json", &[("a", json!(2)), ("a", json!(null))]),
            "the value for key a is not a scalar: it is null",
        ),
        (
            "toml-update",
            updates("a.toml", &[("a", json!(2)), ("b", json!(1))]),
            "TOML file update failed: a.toml is unchanged: error finding key b: key path not found: there is no b. \
             Keys are not created",
        ),
        (
            "toml-update",
            updates("gone/a.toml", &[("a", json!(2))]),
            "TOML file update failed: there is no file gone/a.toml. The directory gone is not there either",
        ),
        (
            "json-update",
            updates("../a.json", &[("a", json!(2))]),
            "path is not a path inside the workspace",
        ),
    ];
    for (uses, config, says) in cases {
        let sentence = bench.refused(uses, &config);
        assert!(sentence.contains(says), "{sentence}");
    }
}

#[test]
fn files_that_are_not_what_they_should_be() {
    let mut bench = Bench::new();
    bench.put("bad.json", "{\n  // why\n  \"a\": 1,\n}");
    bench.put("bad.toml", "a = 1\nb = \n");
    bench.put("bad.yaml", "a: [1\n");
    bench.write("latin1", b"{\"a\": \"\xe9\"}", None).unwrap();
    let set = |path| updates(path, &[("a", json!("\u{0}"))]);
    let take = |path| outputs(path, &[("x", "a")]);
    let cases = [
        (
            "json-update",
            set("bad.json"),
            "it is not JSON: line 2, column 3: JSON has no comments",
        ),
        (
            "json-parse",
            take("bad.json"),
            "could not parse JSON file: bad.json: it is not JSON: line 2, column 3",
        ),
        (
            "toml-update",
            set("bad.toml"),
            "it is not TOML: line 2, column",
        ),
        (
            "toml-parse",
            take("bad.toml"),
            "could not parse TOML file: bad.toml: error parsing input",
        ),
        (
            "yaml-parse",
            take("bad.yaml"),
            "could not parse YAML file: bad.yaml: it is not YAML: line",
        ),
        (
            "json-update",
            set("latin1"),
            "latin1 is not UTF-8 text, from byte 7 on",
        ),
        ("toml-update", set("latin1"), "latin1 is not UTF-8 text"),
        ("json-parse", take("latin1"), "latin1 is not UTF-8 text"),
        ("toml-parse", take("latin1"), "latin1 is not UTF-8 text"),
        ("yaml-parse", take("latin1"), "latin1 is not UTF-8 text"),
        (
            "yaml-parse",
            take("gone.yaml"),
            "could not read YAML file: there is no file gone.yaml",
        ),
    ];
    for (uses, config, says) in cases {
        let sentence = bench.refused(uses, &config);
        assert!(sentence.contains(says), "{sentence}");
    }
    // A NUL is a character like others where the format can say it.
    bench.put("good.json", "{\"a\": 1}");
    bench.put("good.toml", "a = 1");
    bench.run("json-update", &set("good.json")).unwrap();
    bench.run("toml-update", &set("good.toml")).unwrap();
    assert_eq!(bench.get("good.json"), "{\"a\": \"\\u0000\"}");
    assert_eq!(bench.get("good.toml"), "a = \"\\u0000\"");
}

#[test]
fn outputs_are_taken_with_go_s_types() {
    let mut bench = Bench::new();
    bench.put(
        "a.json",
        "\u{feff}{\"n\": 42, \"f\": 0.30000000000000004, \"l\": [1, {\"x\": null}], \"n\": 43}",
    );
    bench.put(
        "a.toml",
        "n = 42\nf = 1.0\nt = 1979-05-27T07:32:00-07:00\nd = 1979-05-27\nc = 07:32:00\n[[l]]\nx = { y.z = 'q' }\n",
    );
    bench.put(
        "a.yaml",
        "num: 42\nv: 1.10\non: yes\nl:\n- &a {x: 1}\n- *a\n---\nsecond: 1\n",
    );
    bench.put("list.json", "[\"a\", {\"b\": 2}]");
    bench.put("text.yaml", "just text\n");
    let cases = [
        (
            "json-parse",
            outputs(
                "a.json",
                &[
                    ("n", "n"),
                    ("kind", "type(n)"),
                    ("f", "string(f)"),
                    ("l", "l"),
                    ("now", "string(now().Year())"),
                ],
            ),
            json!({"n": 43, "kind": "float", "f": "0.30000000000000004", "l": [1, {"x": null}], "now": "2026"}),
        ),
        (
            "toml-parse",
            outputs(
                "a.toml",
                &[
                    ("kind", "type(n)"),
                    ("t", "t"),
                    ("year", "t.Year()"),
                    ("d", "d"),
                    ("c", "c"),
                    ("q", "l[0].x.y.z"),
                ],
            ),
            json!({"kind": "int", "t": "1979-05-27T07:32:00-07:00", "year": 1979, "d": "1979-05-27", "c": "07:32:00", "q": "q"}),
        ),
        (
            "yaml-parse",
            outputs(
                "a.yaml",
                &[
                    ("n", "type(num)"),
                    ("v", "v"),
                    ("on", "$env[\"true\"]"),
                    ("l", "l[1].x"),
                    ("second", "second"),
                ],
            ),
            json!({"n": "float", "v": 1.1, "on": true, "l": 1, "second": null}),
        ),
        (
            "json-parse",
            outputs("list.json", &[("b", "$env[1].b"), ("size", "len($env)")]),
            json!({"b": 2, "size": 2}),
        ),
        (
            "yaml-parse",
            outputs("text.yaml", &[("all", "$env")]),
            json!({"all": "just text"}),
        ),
    ];
    for (uses, config, wanted) in cases {
        let outcome = bench
            .run(uses, &config)
            .unwrap_or_else(|error| panic!("{}", error.sentence()));
        assert_eq!(Value::Object(outcome.output), wanted, "{uses}");
    }
    let sentence = bench.refused("json-parse", &outputs("a.json", &[("x", "m.n")]));
    assert!(
        sentence
            .contains("failed to extract outputs: output x: error evaluating expression \"m.n\""),
        "{sentence}"
    );
}

/// On the stack of the thread that steps run on, in a debug build.
#[test]
fn depth_is_an_error_or_no_trouble() {
    let mut bench = Bench::new();
    for depth in [5_000, 100_000] {
        let deep = format!(
            "{{\"a\": 1, \"d\": {}{}}}",
            "[".repeat(depth),
            "]".repeat(depth)
        );
        bench.put("deep", &deep);
        bench
            .run("json-update", &updates("deep", &[("a", json!(2))]))
            .unwrap();
        let take = outputs("deep", &[("a", "a")]);
        let said = bench.refused("json-parse", &take);
        assert!(said.contains("nested more than 128 levels deep"), "{said}");
        let said = bench.refused("yaml-parse", &take);
        assert!(
            said.contains("nested more than 200 levels deep") || said.contains("it is not YAML"),
            "{said}"
        );
        bench.put("deep", &format!("a = {}", "[".repeat(depth)));
        assert!(
            bench
                .refused("toml-parse", &take)
                .contains("it is not TOML")
        );
        assert!(
            bench
                .refused("toml-update", &updates("deep", &[("a", json!(2))]))
                .contains("it is not TOML")
        );
    }
}
