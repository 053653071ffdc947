//! yaml-merge, and what yaml-update does with files that are meant to break it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::bench::Bench;
use crate::git::tree::Mode;

fn merge(inputs: &[&str], out: &str) -> Value {
    json!({"inFiles": inputs, "outFile": out})
}

#[test]
fn yaml_merge_edits_the_first_file_into_the_output() {
    let mut bench = Bench::new();
    let base = "# base\r\nimage:\r\n  tag: 'v1' # pinned\r\nlist: [1, 2]";
    bench
        .write("base.yaml", base, Some(Mode::Executable))
        .unwrap();
    bench.put("prod.yaml", "image:\n  tag: v2\n  pull: true\nlist:\n- 3\n");
    let outcome = bench
        .run(
            "yaml-merge",
            &merge(&["./base.yaml", "prod.yaml"], "out/all.yaml"),
        )
        .unwrap();
    let merged = "# base\r\nimage:\r\n  tag: 'v2' # pinned\r\n  pull: true\r\nlist:\r\n- 3";
    assert_eq!(bench.get("out/all.yaml"), merged);
    assert_eq!(
        json!(outcome.output),
        json!({"commitMessage": "Merged 2 YAML files to out/all.yaml\n- ./base.yaml\n- prod.yaml"})
    );
    assert_eq!(
        (bench.get("base.yaml"), bench.mode("out/all.yaml")),
        (base.to_owned(), Mode::File)
    );
    // In place, the mode stays; again, nothing changes.
    bench
        .run(
            "yaml-merge",
            &merge(&["base.yaml", "prod.yaml"], "base.yaml"),
        )
        .unwrap();
    assert_eq!(
        (bench.get("base.yaml"), bench.mode("base.yaml")),
        (merged.to_owned(), Mode::Executable)
    );
    let state = bench.files.state.clone();
    let again = bench
        .run(
            "yaml-merge",
            &merge(&["base.yaml", "prod.yaml"], "base.yaml"),
        )
        .unwrap();
    assert_eq!(again.message, "the file is like that already");
    assert_eq!(bench.files.state, state);
}

#[test]
fn yaml_merge_says_which_file_is_wrong_and_writes_nothing() {
    let mut bench = Bench::new();
    bench.put("a.yaml", "a: 1\n");
    bench.put("bad.yaml", "a: [\n");
    bench.put("twice.yaml", "a: 2\na: 3\n");
    bench.put("list.yaml", "a: {b: 1}\nb: &b {c: 1}\nc: *b\n");
    bench.put("alias.yaml", "a: &a {b: 2}\nd: *a\n");
    bench.write("latin.yaml", b"a: \xe9\n", None).unwrap();
    bench.write("nul.yaml", "a: 1\nb: \0x\n", None).unwrap();
    bench.put("dir/x", "");
    for (inputs, words) in [
        (
            &["a.yaml", "gone.yaml"][..],
            &["input file \"gone.yaml\" not found", "ignoreMissingFiles"][..],
        ),
        (
            &["a.yaml", "bad.yaml"],
            &["error merging YAML files", "bad.yaml", "not YAML", "line"],
        ),
        (&["a.yaml", "twice.yaml"], &["twice.yaml", "key a", "twice"]),
        (
            &["list.yaml", "alias.yaml"],
            &["alias.yaml", "key d", "alias"],
        ),
        (
            &["latin.yaml", "a.yaml"],
            &["latin.yaml", "UTF-8", "byte 3"],
        ),
        (&["a.yaml", "nul.yaml"], &["nul.yaml", "line 2", "NUL"]),
        (&["dir", "a.yaml"], &["dir is a directory"]),
        (&["", "a.yaml"], &["inFiles"]),
    ] {
        let said = bench.refused("yaml-merge", &merge(inputs, "out.yaml"));
        for word in words {
            assert!(said.contains(word), "{inputs:?}: {said:?} lacks {word:?}");
        }
        assert!(!bench.exists("out.yaml"));
    }
}

#[test]
fn yaml_merge_leaves_out_what_is_missing_when_told_to() {
    let mut bench = Bench::new();
    bench.put("a.yaml", "a: 1\n---\nz: 1\n");
    bench.put("b.yaml", "b: 1\n---\nc: 1\n");
    let lenient = |inputs: &[&str]| {
        let mut config = merge(inputs, "out.yaml");
        config["ignoreMissingFiles"] = json!(true);
        config
    };
    let outcome = bench
        .run("yaml-merge", &lenient(&["no.yaml", "a.yaml", "b.yaml"]))
        .unwrap();
    assert_eq!(bench.get("out.yaml"), "a: 1\nb: 1\n---\nz: 1\n");
    assert_eq!(
        outcome.message,
        "only the first document of b.yaml was merged"
    );
    assert!(
        outcome.output["commitMessage"]
            .as_str()
            .unwrap()
            .starts_with("Merged 2 YAML files")
    );
    let outcome = bench
        .run("yaml-merge", &lenient(&["no.yaml", "a.yaml"]))
        .unwrap();
    assert_eq!(outcome.output["commitMessage"], "Wrote a.yaml to out.yaml");
    let outcome = bench.run("yaml-merge", &lenient(&["no.yaml"])).unwrap();
    assert_eq!(
        (
            outcome.output["commitMessage"].as_str(),
            bench.get("out.yaml").as_str()
        ),
        (Some(""), "")
    );
}

#[test]
fn hostile_files_are_edited_or_refused_in_a_second() {
    let laughs = |depth: usize| {
        let mut text = "a0: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha]\n".to_owned();
        for level in 1..depth {
            let before = level - 1;
            let aliases = vec![format!("*a{before}"); 9].join(", ");
            text.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
        }
        text + "key: old # c\n"
    };
    let long = format!("key: old\nline: {}\n", "x ".repeat(500_000));
    let flow = format!("{{key: old, list: [{}]}}\n", "a, 'b', ".repeat(60_000));
    let edited: Vec<(&str, String)> = vec![
        ("billion laughs", laughs(40)),
        ("one line of a megabyte", long),
        ("flow of a megabyte in one line", flow),
        (
            "quoted megabyte",
            format!("key: old\nq: \"{}\"\n", "é\\n".repeat(200_000)),
        ),
        (
            "many comments",
            format!("key: old\n{}", "# c\n\n".repeat(100_000)),
        ),
    ];
    let refused: Vec<(&str, Vec<u8>, &str)> = vec![
        ("deep flow", "[".repeat(10_000).into_bytes(), "limit"),
        (
            "deep flow, closed",
            format!("{}{}", "[".repeat(10_000), "]".repeat(10_000)).into_bytes(),
            "limit",
        ),
        ("deep lists", "- ".repeat(10_000).into_bytes(), "levels"),
        (
            "deep mappings",
            (0..2_000)
                .map(|depth| format!("{}k:\n", " ".repeat(depth)))
                .collect::<String>()
                .into_bytes(),
            "levels",
        ),
        ("deep keys", "? ".repeat(10_000).into_bytes(), "levels"),
        (
            "invalid UTF-8",
            b"key: old\nx: \xff\n".to_vec(),
            "not UTF-8",
        ),
        ("NUL", b"key: old\n\0x: y\n".to_vec(), "NUL"),
    ];
    for (case, text) in edited {
        let mut bench = Bench::new();
        bench.put("v.yaml", &text);
        let begun = Instant::now();
        bench
            .run(
                "yaml-update",
                &json!({"path": "v.yaml", "updates": [{"key": "key", "value": "a\0b"}]}),
            )
            .unwrap_or_else(|error| panic!("{case}: {}", error.sentence()));
        // A debug build on a busy machine gets ten times as long.
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "{case}: {:?}",
            begun.elapsed()
        );
        assert_eq!(
            bench.get("v.yaml"),
            text.replacen("old", "\"a\\x00b\"", 1),
            "{case}"
        );
    }
    for (case, bytes, why) in refused {
        let mut bench = Bench::new();
        bench.write("v.yaml", &bytes, None).unwrap();
        let begun = Instant::now();
        let said = bench.refused(
            "yaml-update",
            &json!({"path": "v.yaml", "updates": [{"key": "key", "value": 1}]}),
        );
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "{case}: {:?}",
            begun.elapsed()
        );
        assert!(said.contains(why), "{case}: {said}");
    }
}
