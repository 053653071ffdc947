//! copy, delete, file-write, yaml-update, compose-output, fail.

use serde_json::json;

use super::bench::Bench;
use crate::{
    engine::step::{Ending, ErrorKind},
    git::tree::Mode,
};

const URL: &str = "https://example.com/a.git";

/// C64: for every step with a path.
#[test]
fn a_path_that_leaves_the_workspace_is_refused_by_name_before_any_access() {
    let mut bench = Bench::new();
    bench.put("a/x", "k: v\n");
    for bad in [
        "../x",
        "/etc/passwd",
        "a/../../x",
        "./.git/config",
        "a/.GIT/x",
        "a\0b",
    ] {
        let configs = [
            ("copy", json!({"inPath": bad, "outPath": "b"})),
            ("copy", json!({"inPath": "a", "outPath": bad})),
            ("delete", json!({"path": bad})),
            ("delete", json!({"paths": ["a", bad]})),
            ("file-write", json!({"path": bad, "contents": ""})),
            (
                "yaml-update",
                json!({"path": bad, "updates": [{"key": "k", "value": 1}]}),
            ),
            (
                "yaml-merge",
                json!({"inFiles": ["a/x", bad], "outFile": "b"}),
            ),
            ("yaml-merge", json!({"inFiles": ["a/x"], "outFile": bad})),
            (
                "kustomize-set-image",
                json!({"path": bad, "images": [{"image": "i", "tag": "1"}]}),
            ),
            ("git-clear", json!({"path": bad})),
            ("git-commit", json!({"path": bad, "message": "m"})),
            (
                "git-clone",
                json!({"repoURL": URL, "checkout": [{"path": bad}]}),
            ),
        ];
        for (uses, config) in configs {
            let said = bench.refused(uses, &config);
            assert!(said.contains(&format!("{bad:?}")), "{uses} {bad:?}: {said}");
        }
    }
    for bad in ["../*", "/etc/*", "a/../../*"] {
        let said = bench.refused("delete", &json!({"path": bad, "pathsAreGlobs": true}));
        assert!(said.contains(bad), "{said}");
    }
    bench
        .run(
            "yaml-update",
            &json!({"path": "./b/../a//x", "updates": [{"key": "k", "value": "w"}]}),
        )
        .unwrap();
    assert_eq!(bench.get("a/x"), "k: w\n");
    // A name that begins with a dash is a name: no command line sees it.
    bench
        .run("file-write", &json!({"path": "-rf", "contents": "x"}))
        .unwrap();
    assert_eq!(bench.get("-rf"), "x");
}

/// C65.
#[test]
fn a_link_that_points_out_is_refused_by_every_step_that_would_follow_it() {
    let mut bench = Bench::new();
    bench.put("in", "x");
    bench
        .write("values.yaml", "/tmp/outside.yaml", Some(Mode::Link))
        .unwrap();
    bench.write("dir", "../..", Some(Mode::Link)).unwrap();
    for (uses, config) in [
        (
            "yaml-update",
            json!({"path": "values.yaml", "updates": [{"key": "k", "value": 1}]}),
        ),
        ("copy", json!({"inPath": "in", "outPath": "dir/x"})),
        ("copy", json!({"inPath": "dir", "outPath": "y"})),
        (
            "file-write",
            json!({"path": "dir/x", "contents": "", "overwrite": true}),
        ),
        ("delete", json!({"path": "dir/x"})),
        ("delete", json!({"path": "dir/*", "pathsAreGlobs": true})),
        (
            "kustomize-set-image",
            json!({"path": "dir", "images": [{"image": "i", "tag": "1"}]}),
        ),
    ] {
        let said = bench.refused(uses, &config);
        assert!(
            said.contains("link") && (said.contains("values.yaml") || said.contains("dir")),
            "{uses}: {said}"
        );
    }
}

/// C67.
#[test]
fn copy_takes_what_git_would_not_ignore() {
    let mut bench = Bench::new();
    for path in [
        "in/a.tmp",
        "in/keep.tmp",
        "in/b.txt",
        "in/sub/c.tmp",
        "in/sub/d",
        "in/build/e",
        "in/!x",
    ] {
        bench.put(path, path);
    }
    bench
        .write("in/run.sh", "#!", Some(Mode::Executable))
        .unwrap();
    bench.write("in/link", "b.txt", Some(Mode::Link)).unwrap();
    bench.put("out/b.txt", "old");
    bench.put("out/other", "stays");
    let ignore = "# comment\n*.tmp\n!keep.tmp\n/build/\n\\!x\n";
    bench
        .run(
            "copy",
            &json!({"inPath": "./in", "outPath": "./out", "ignore": ignore}),
        )
        .unwrap();
    let copied: Vec<String> = bench
        .all()
        .into_iter()
        .filter(|path| path.starts_with("out/"))
        .collect();
    assert_eq!(
        copied,
        [
            "out/b.txt",
            "out/keep.tmp",
            "out/other",
            "out/run.sh",
            "out/sub/d"
        ]
    );
    assert_eq!(bench.get("out/b.txt"), "in/b.txt");
    assert_eq!(bench.mode("out/run.sh"), Mode::Executable);
}

#[test]
fn copy_says_what_is_missing_or_wrong() {
    let mut bench = Bench::new();
    bench.put("a/x", "1");
    let said = bench.refused("copy", &json!({"inPath": "b", "outPath": "c"}));
    assert!(
        said.contains("failed to copy b to c") && said.contains("b does not exist"),
        "{said}"
    );
    let said = bench.refused("copy", &json!({"inPath": "a", "outPath": "a/b"}));
    assert!(said.contains("into itself"), "{said}");
    let said = bench.refused(
        "copy",
        &json!({"inPath": "a", "outPath": "b", "ignore": "ok\n[z-a]"}),
    );
    assert!(said.contains("line 2"), "{said}");
}

#[test]
fn delete_all_or_nothing() {
    let mut bench = Bench::new();
    bench.put("a", "1");
    bench.put("d/x", "1");
    let said = bench.refused("delete", &json!({"paths": ["a", "b"], "strict": true}));
    assert!(said.contains("b: it does not exist"), "{said}");
    assert_eq!(
        bench.run("delete", &json!({"path": "b"})).unwrap().message,
        "nothing to delete"
    );
    bench.run("delete", &json!({"path": "d/"})).unwrap();
    assert_eq!(bench.all(), ["a"]);
}

#[test]
fn globs_stay_within_names_and_look_only_where_they_must() {
    let mut bench = Bench::new();
    bench.branch(
        URL,
        "main",
        &[
            ("x/a.tmp", "", Mode::File),
            ("x/y/b.tmp", "", Mode::File),
            (".h.tmp", "", Mode::File),
        ],
    );
    bench
        .run(
            "git-clone",
            &json!({"repoURL": URL, "checkout": [{"path": "src"}]}),
        )
        .unwrap();
    bench
        .run(
            "delete",
            &json!({"path": "src/x/*.tmp", "pathsAreGlobs": true}),
        )
        .unwrap();
    let reads: Vec<String> = bench.files.state.mounts[0]
        .access
        .reads()
        .map(ToString::to_string)
        .collect();
    assert_eq!(reads, ["x"], "a change elsewhere is no reason for a replay");
    assert_eq!(bench.all(), ["src/.h.tmp", "src/x/y/b.tmp"]);
    bench
        .run(
            "delete",
            &json!({"path": "src/*.tmp", "pathsAreGlobs": true}),
        )
        .unwrap();
    assert_eq!(bench.all(), ["src/x/y/b.tmp"]);
    bench
        .run(
            "delete",
            &json!({"path": "src/{x,z}/**/b.tmp", "pathsAreGlobs": true}),
        )
        .unwrap();
    assert_eq!(bench.all(), Vec::<String>::new());
}

#[test]
fn file_write_keeps_what_is_there_unless_told() {
    let mut bench = Bench::new();
    bench.put("a", "1");
    let said = bench.refused("file-write", &json!({"path": "a", "contents": "2"}));
    assert!(
        said.contains("a already exists") && said.contains("overwrite"),
        "{said}"
    );
    bench.put("d/x", "1");
    let said = bench.refused(
        "file-write",
        &json!({"path": "d", "contents": "2", "overwrite": true}),
    );
    assert!(said.contains("d is a directory"), "{said}");
    let said = bench.refused("file-write", &json!({"path": "a/b", "contents": "2"}));
    assert!(said.contains("a is not a directory"), "{said}");
    bench.write("run", "x", Some(Mode::Executable)).unwrap();
    bench
        .run(
            "file-write",
            &json!({"path": "run", "contents": "y", "overwrite": true}),
        )
        .unwrap();
    assert_eq!(
        (bench.get("run"), bench.mode("run")),
        ("y".to_owned(), Mode::Executable)
    );
}

/// C25, C16, C13.
#[test]
fn yaml_update_keeps_mode_mark_and_line_ends() {
    let mut bench = Bench::new();
    bench
        .write("v.yaml", "\u{feff}a: 1\r\nb: 2\r\n", Some(Mode::Executable))
        .unwrap();
    let outcome = bench
        .run(
            "yaml-update",
            &json!({"path": "v.yaml", "updates": [{"key": "a", "value": "9"}]}),
        )
        .unwrap();
    assert_eq!(bench.get("v.yaml"), "\u{feff}a: \"9\"\r\nb: 2\r\n");
    assert_eq!(bench.mode("v.yaml"), Mode::Executable);
    assert_eq!(
        outcome.output["commitMessage"],
        "Updated v.yaml\n\n- a: \"9\""
    );
}

/// C07, and what each failure says.
#[test]
fn yaml_update_says_what_which_why_and_what_to_do() {
    let mut bench = Bench::new();
    bench.put("apps/values.yaml", "image:\n  tag: 1\n");
    bench.put("bad.yaml", "a: [\n");
    bench.write("latin.yaml", b"a: \xe9\n", None).unwrap();
    let update = |path: &str, keys: &[&str]| {
        let updates: Vec<_> = keys
            .iter()
            .map(|key| json!({"key": key, "value": 2}))
            .collect();
        json!({"path": path, "updates": updates})
    };
    for (config, words) in [
        (
            update("apps/values.yaml", &["image.tag", "missing.key"]),
            &["apps/values.yaml", "missing.key", "`image`", "not created"][..],
        ),
        (update("apps/values.yaml", &["image.tga"]), &["`tag`"]),
        (
            update("apps/valeus.yaml", &["a"]),
            &["no file apps/valeus.yaml", "values.yaml"],
        ),
        (
            update("no/values.yaml", &["a"]),
            &["no file no/values.yaml", "directory no"],
        ),
        (update("apps", &["a"]), &["apps is a directory"]),
        (
            update("bad.yaml", &["a"]),
            &["bad.yaml", "not YAML", "line"],
        ),
        (update("latin.yaml", &["a"]), &["not UTF-8", "byte 3"]),
    ] {
        let said = bench.refused("yaml-update", &config);
        for word in words {
            assert!(said.contains(word), "{config}: {said:?} lacks {word:?}");
        }
    }
    assert_eq!(bench.get("apps/values.yaml"), "image:\n  tag: 1\n");
}

/// C41: a message even where nothing changed.
#[test]
fn yaml_update_twice_says_the_same_and_changes_nothing() {
    let mut bench = Bench::new();
    bench.put("v.yaml", "a: 1 # c\n");
    let config = json!({"path": "v.yaml", "updates": [{"key": "a", "value": "x"}]});
    let first = bench.run("yaml-update", &config).unwrap();
    let state = bench.files.state.clone();
    let second = bench.run("yaml-update", &config).unwrap();
    assert_eq!((first.output, first.ending), (second.output, second.ending));
    assert_eq!(second.message, "the values are there already");
    assert_eq!(state, bench.files.state);
}

#[test]
fn compose_output_gives_back_what_it_is_given() {
    let mut bench = Bench::new();
    let config = json!({"a": {"b": [1, null, "x"]}, "anything at all": true});
    let outcome = bench.run("compose-output", &config).unwrap();
    assert_eq!(
        (json!(outcome.output), outcome.ending),
        (config, Ending::Succeeded)
    );
    assert!(!bench.check("compose-output", &json!([1])).is_empty());
}

#[test]
fn fail_is_failed_and_not_tried_again() {
    let error = Bench::new()
        .run("fail", &json!({"message": "no"}))
        .unwrap_err();
    assert_eq!(
        (error.kind, error.sentence().as_str()),
        (ErrorKind::Failed, "failed: no")
    );
}
