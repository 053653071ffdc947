//! `eval` over the real binary: values, forms, exit codes, promotions, batches, secrets.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

mod support;

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use support::{World, project, stage};

struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

/// The binary without any cluster.
fn eval_in(folder: &Path, args: &[&str], stdin: &[u8]) -> Ran {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tidewaiter"))
        .arg("eval")
        .args(args)
        .env_clear()
        .env("HOME", folder)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let bytes = stdin.to_owned();
    let writer = std::thread::spawn(move || input.write_all(&bytes));
    let output = child.wait_with_output().unwrap();
    // Whoever does not read its input breaks the pipe.
    let _ = writer.join().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn eval(args: &[&str]) -> Ran {
    eval_in(tempfile::tempdir().unwrap().path(), args, b"")
}

fn json_of(args: &[&str]) -> Value {
    let ran = eval(&[args, &["-o", "json"]].concat());
    assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn a_value_is_printed_alone_or_with_its_type() {
    let ran = eval(&["1 + 1"]);
    assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (0, "2\n", ""));
    assert_eq!(eval(&["'a' + \"b\""]).stdout, "ab\n");
    assert_eq!(eval(&["-1"]).stdout, "-1\n");
    for (source, value, word) in [
        ("1 + 1", json!(2), "int"),
        ("4 / 2", json!(2), "float"),
        ("0 / 0", json!("NaN"), "float"),
        ("'x'", json!("x"), "string"),
        ("true", json!(true), "bool"),
        ("[1, 'a']", json!([1, "a"]), "list"),
        ("{a: nil}", json!({"a": null}), "map"),
        ("nil", json!(null), "nil"),
        ("duration('1s')", json!(1_000_000_000), "duration"),
        ("date('2026-01-01')", json!("2026-01-01T00:00:00Z"), "time"),
        ("semverParse('v1.2').IncMinor()", json!("1.3.0"), "string"),
    ] {
        let want = json!({ "value": value, "type": word });
        assert_eq!(json_of(&[source]), want, "{source}");
    }
    for (template, value, word) in [
        ("n-${{ 42 }}", json!("n-42"), "string"),
        ("${{ '1234567' }}", json!(1_234_567), "float"),
        ("${{ quote('1234567') }}", json!("1234567"), "string"),
        ("42", json!("42"), "string"),
        ("${{ {a: [1]} }}", json!({"a": [1]}), "map"),
    ] {
        let want = json!({ "value": value, "type": word });
        assert_eq!(json_of(&["--template", template]), want, "{template}");
    }
}

#[test]
fn a_failure_shows_the_place_and_what_was_meant() {
    let folder = tempfile::tempdir().unwrap();
    let context = folder.path().join("c.yaml");
    fs::write(
        &context,
        "vars: {imageTag: v1}\noutputs:\n  push: {commit: abc}\n",
    )
    .unwrap();
    let context = context.to_str().unwrap();
    let ran = eval(&["--context", context, "vars.imageTag + outputs.psh.commit"]);
    assert_eq!((ran.code, &*ran.stdout), (1, ""));
    assert!(
        ran.stderr.contains(
            "outputs.psh is nil; there is no output of a step \"psh\"; did you mean push? (1:29)\n | vars.imageTag + outputs.psh.commit\n | ............................^"
        ),
        "{}",
        ran.stderr
    );
    let ran = eval(&["--context", context, "vars.imageTga"]);
    assert_eq!((ran.code, &*ran.stdout), (0, "nil\n"));
    assert_eq!(
        ran.stderr,
        "note: vars.imageTga is nil: there is no var \"imageTga\"; did you mean imageTag?\n"
    );
    for (args, words) in [
        (vec!["quot('x')"], "did you mean quote()?"),
        (vec!["1 +"], "unexpected token EOF (1:3)"),
        (vec!["--template", "a ${{ x"], "unclosed expression"),
        (vec!["imageFrom('x')"], "name one with --promotion"),
    ] {
        let ran = eval(&args);
        assert_eq!(ran.code, 1, "{args:?}");
        assert!(ran.stderr.contains(words), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn usage_and_files_that_are_not_there() {
    for args in [
        &[][..],
        &["1", "--template", "x"],
        &["--config", "push"],
        &["1", "--step", "push"],
        &["1", "-o", "table"],
    ] {
        assert_eq!(eval(args).code, 2, "{args:?}");
    }
    let ran = eval(&["1", "--context", "nowhere.yaml"]);
    assert_eq!(ran.code, 4);
    assert!(ran.stderr.contains("hint: "), "{}", ran.stderr);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("list.yaml"), "- 1\n").unwrap();
    let ran = eval_in(folder.path(), &["1", "--context", "list.yaml"], b"");
    assert_eq!(ran.code, 2, "{}", ran.stderr);
}

#[test]
fn names_come_from_json_and_yaml_with_their_types() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("c.json"),
        r#"{"whole": 3, "float": 3.0, "big": 9007199254740993, "text": "3", "n": null, "l": [1]}"#,
    )
    .unwrap();
    fs::write(folder.path().join("c.yaml"), "a: {b: [x, 'yes', 1.5]}\n").unwrap();
    for (file, source, printed) in [
        ("c.json", "whole % 2", "1\n"),
        (
            "c.json",
            "[type(whole), type(float), type(text), type(n)] | join(' ')",
            "int float string nil\n",
        ),
        ("c.json", "big", "9007199254740993\n"),
        ("c.yaml", "a.b[1] + string(a.b[2])", "yes1.5\n"),
    ] {
        let ran = eval_in(folder.path(), &["--context", file, source], b"");
        assert_eq!((ran.code, &*ran.stdout), (0, printed), "{}", ran.stderr);
    }
}

#[test]
fn a_batch_answers_every_line_whatever_it_is() {
    let deep = format!("{}1{}", "(".repeat(10_000), ")".repeat(10_000));
    let mut lines: Vec<Vec<u8>> = [
        json!({"id": "a", "expr": "1 + x", "env": {"x": 2}}),
        json!({"id": 2, "template": "v${{ x }}", "env": {"x": "1"}}),
        json!({"id": "e", "expr": "x.y.z"}),
        json!({"id": "deep", "expr": deep}),
        json!({"id": "both", "expr": "1", "template": "1"}),
        json!({"id": "none"}),
        json!({"id": "nan", "expr": "[0 / 0, 1 / 0, -0.0]", "env": null}),
        json!({"id": "type", "expr": 5}),
        json!([1]),
        json!({"expr": "'no id'", "more": 1}),
    ]
    .iter()
    .map(|line| line.to_string().into_bytes())
    .collect();
    lines.push(b"{not json".to_vec());
    lines.push(b"".to_vec());
    lines.push(b"{\"id\": \"utf8\", \"expr\": \"'\xff'\"}".to_vec());
    lines.push(br#"{"id": "last", "expr": "upper('end')"}"#.to_vec());
    let folder = tempfile::tempdir().unwrap();
    let ran = eval_in(folder.path(), &["--batch", "-"], &lines.join(&b"\n"[..]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let answers: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), 13, "{}", ran.stdout);
    assert_eq!(answers[0], json!({"id": "a", "value": 3, "type": "int"}));
    assert_eq!(
        answers[1],
        json!({"id": 2, "value": "v1", "type": "string"})
    );
    for (at, id, words) in [
        (2, json!("e"), "x.y is nil"),
        (3, json!("deep"), "deep"),
        (4, json!("both"), "both an"),
        (5, json!("none"), "neither an"),
        (7, json!("type"), "not a question"),
        (8, json!(null), "not a question"),
        (10, json!(null), "not a question"),
        (11, json!(null), "not a question"),
    ] {
        assert_eq!(answers[at]["id"], id);
        let why = answers[at]["error"].as_str().unwrap();
        assert!(why.contains(words) || at == 2, "{why}");
        assert!(answers[at].get("value").is_none());
    }
    assert_eq!(answers[6]["value"], json!(["NaN", "+Inf", -0.0]));
    assert_eq!(answers[9]["value"], json!("no id"));
    assert_eq!(
        answers[12],
        json!({"id": "last", "value": "END", "type": "string"})
    );

    fs::write(folder.path().join("batch"), b"{\"expr\": \"1\"}").unwrap();
    let ran = eval_in(folder.path(), &["--batch", "batch"], b"");
    assert_eq!(ran.stdout, "{\"id\":null,\"value\":1,\"type\":\"int\"}\n");
    assert_eq!(eval_in(folder.path(), &["--batch", "none"], b"").code, 4);
}

/// A promotion with vars, a task's steps, one that is skipped, and a Secret.
fn shop() -> (World, String) {
    let world = World::new();
    let repository = world.repository("mono", &[("a.yaml", "tag: old\nhint: x\n")]);
    let steps = format!(
        "- uses: git-clone\n  as: clone\n  config:\n    repoURL: {}\n    checkout: [{{branch: main, path: ./src}}]\n\
- uses: git-push\n  as: push\n  if: ${{{{ false }}}}\n  config: {{path: ./src}}\n\
- uses: yaml-update\n  as: update\n  vars: [{{name: own, value: 'x-${{{{ vars.tag }}}}'}}]\n  config:\n    path: ./src/a.yaml\n    updates:\n    - {{key: tag, value: '${{{{ quote(vars.tag) }}}}'}}\n    - {{key: hint, value: 'user:${{{{ secret(\"login\").password }}}}'}}\n\
- uses: yaml-update\n  as: wrong\n  if: ${{{{ failure() }}}}\n  config: {{path: 5, updat: [], pin: '${{{{ secret(\"login\").pin }}}}'}}\n",
        repository.display()
    );
    let vars = "spec:\n      vars:\n      - {name: tag, value: '${{ imageFrom(\"example.com/app\").Tag }}'}\n      steps:\n";
    let stage = stage("shop", "test", &steps).replacen("spec:\n      steps:\n", vars, 1);
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: shop}\nstringData: {password: hunter22, pin: '7'}\n---\n";
    world.apply(&(project("shop") + secret + &stage));
    let freight = world.freight("shop", "1.2.3");
    let name = world.promote("shop", "test", &freight);
    (world, name)
}

#[test]
fn a_promotion_s_expressions_are_tried_without_running_it() {
    let (world, name) = shop();
    let before = world.promotion(&name);
    let run = |args: &[&str]| {
        let args = [&["eval", "--promotion", &name], args].concat();
        world.run(&args)
    };
    for (source, printed) in [
        ("vars.tag", "1.2.3\n"),
        (
            "ctx.stage + ' ' + ctx.targetFreight.origin.name",
            "test w\n",
        ),
        ("imageFrom('example.com/app').RepoURL", "example.com/app\n"),
        ("commitFrom('https://example.com/none')", "nil\n"),
        ("stageMetadata('nope') ?? 'none'", "none\n"),
        ("configMap('nope').x", "\n"),
        ("success()", "true\n"),
    ] {
        assert_eq!(run(&[source]).exits(0).stdout, printed, "{source}");
    }
    assert_eq!(
        run(&["--step", "update", "vars.own"]).exits(0).stdout,
        "x-1.2.3\n"
    );
    assert_eq!(
        run(&["--step", "update", "ctx.meta.step.alias"])
            .exits(0)
            .stdout,
        "update\n"
    );
    let ran = run(&["--template", "${{ imageFrom('example.com/app').tag }}"]).exits(1);
    assert!(ran.stderr.contains("did you mean Tag?"), "{}", ran.stderr);

    let ran = run(&["--config", "update"]).exits(0);
    let shown: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(shown["updates"][0]["value"], json!("1.2.3"));
    assert_eq!(shown["updates"][1]["value"], json!("user:***"));
    let ran = run(&["--config", "wrong"]).exits(1);
    assert!(
        ran.stderr.contains("would refuse this configuration"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("would be skipped"), "{}", ran.stderr);
    let ran = run(&["--config", "wrong", "-o", "json"]).exits(1);
    let shown: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(shown["value"]["pin"], json!("***"));
    assert!(!shown["refused"].as_array().unwrap().is_empty());

    let ran = run(&["--config", "updat"]).exits(4);
    assert!(
        ran.stderr.contains("did you mean update?"),
        "{}",
        ran.stderr
    );
    world.run(&["eval", "1", "--promotion", "nope"]).exits(4);
    assert_eq!(world.promotion(&name), before, "nothing was stored");
}

#[test]
fn what_came_from_a_secret_is_never_printed() {
    let (world, name) = shop();
    let run = |args: &[&str]| world.run(&[&["eval", "--promotion", &name], args].concat());
    for source in [
        "secret('login').password",
        "secret('login').pin",
        "toBase64(secret('login').password)",
        "let s = secret('login'); {a: [s]}",
        "secret('login').password | fromJSON()",
        "int(secret('login').password)",
        "secret('login').password.x",
        "date(secret('login').password)",
        "secret('login').password matches '['",
    ] {
        for form in ["text", "json"] {
            let ran = run(&[source, "-o", form]);
            let all = format!("{}{}", ran.stdout, ran.stderr);
            assert!(
                !all.contains("hunter22") && !all.contains("aHVudGVyMjI"),
                "{source}: {all}"
            );
            if source.ends_with("pin") {
                assert!(
                    ran.stdout.contains("***") && !ran.stdout.contains('7'),
                    "{all}"
                );
            }
        }
    }
}

#[test]
fn shared_objects_are_found_and_only_generic_secrets_given_out() {
    let (world, name) = shop();
    let object = |kind: &str, name: &str, label: &str| {
        format!(
            "apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}, namespace: kargo-shared-resources, labels: {{kargo.akuity.io/cred-type: {label}}}}}\n"
        )
    };
    let objects = [
        object("ConfigMap", "all", "none") + "data: {mode: fast}\n",
        object("Secret", "open", "generic") + "stringData: {token: abcdefgh}\n",
        object("Secret", "git", "git") + "stringData: {token: abcdefgh}\n",
    ];
    let namespace =
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: kargo-shared-resources}\n---\n";
    world.apply(&(namespace.to_owned() + &objects.join("---\n")));
    let run = |source: &str| world.run(&["eval", "--promotion", &name, source]);
    let map = run("sharedConfigMap('all').mode").exits(0);
    assert_eq!(map.stdout, "fast\n");
    // The values are hidden; whether there is one decides whether what follows is evaluated, and fails.
    run("sharedSecret('open').token == 'abcdefgh' or [][5]").exits(0);
    run("sharedSecret('git').token == '' or [][5]").exits(0);
    run("sharedSecret('git').token == 'abcdefgh' or [][5]").exits(1);
}

/// C59: reading the output of a step that was skipped.
#[test]
fn the_output_of_a_skipped_step_is_told_to_be_that_c59() {
    let (world, name) = shop();
    world.until_idle();
    let run = |source: &str| world.run(&["eval", "--promotion", &name, source]);
    let ran = run("outputs.push.branch").exits(1);
    assert!(
        ran.stderr
            .contains("outputs.push is nil; step \"push\" was skipped"),
        "{}",
        ran.stderr
    );
    assert_eq!(
        run("outputs.push?.branch ?? 'main'").exits(0).stdout,
        "main\n"
    );
    assert_eq!(run("status('push')").exits(0).stdout, "Skipped\n");
    assert_eq!(run("stepMetas.clone.Status").exits(0).stdout, "Succeeded\n");
    let batch = world.path().join("batch");
    fs::write(
        &batch,
        "{\"id\":1,\"expr\":\"x + ctx.project\",\"env\":{\"x\":\"a-\"}}\n",
    )
    .unwrap();
    let ran = world.run(&[
        "eval",
        "--promotion",
        &name,
        "--batch",
        batch.to_str().unwrap(),
    ]);
    assert_eq!(
        ran.stdout,
        "{\"id\":1,\"value\":\"a-shop\",\"type\":\"string\"}\n"
    );
}
