//! `tidewaiter lint` as a pipeline uses it: the real binary, files, exit codes, and a small input for every code.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

use std::{
    collections::BTreeSet,
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Output, Stdio},
};

use serde_json::Value;
use tidewaiter::cli::lint::codes::Code;

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidewaiter"));
    command
        .arg("lint")
        .args(args)
        .current_dir(folder)
        .env_remove("TIDEWAITER_LOCAL")
        .stdin(Stdio::null());
    command
}

fn lint(folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    told(&command(folder, args).output().unwrap())
}

fn told(output: &Output) -> (Option<i32>, String, String) {
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

/// The findings about one file's text, as `code line:column`, and all of them in full.
fn findings(text: &str) -> (Vec<String>, Value) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("f.yaml"), text).unwrap();
    let (_, stdout, stderr) = lint(folder.path(), &["-o", "json", "f.yaml"]);
    let value: Value =
        serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"));
    let short = value["findings"].as_array().unwrap().iter().map(|finding| {
        format!(
            "{} {}:{}",
            finding["code"].as_str().unwrap(),
            finding["line"],
            finding["column"]
        )
    });
    (short.collect(), value)
}

/// A Stage with these steps, which are YAML list items.
fn stage(steps: &str) -> String {
    let steps: String = steps
        .lines()
        .map(|line| format!("      {line}\n"))
        .collect();
    format!(
        "apiVersion: kargo.akuity.io/v1alpha1\nkind: Stage\nmetadata: {{name: prod, namespace: shop}}\nspec:\n  requestedFreight:\n  - origin: {{kind: Warehouse, name: w}}\n    sources: {{direct: true}}\n  vars:\n  - {{name: env, value: prod}}\n  - {{name: version, value: \"1.10\"}}\n  promotionTemplate:\n    spec:\n      steps:\n{steps}"
    )
}

const TASK: &str = "---\napiVersion: kargo.akuity.io/v1alpha1\nkind: PromotionTask\nmetadata: {name: bump, namespace: shop}\nspec:\n  vars:\n  - name: file\n  - {name: key, value: tag}\n  steps:\n";

/// Takes the marks `«` out of a text, and says where they were.
fn marked(text: &str) -> (String, Vec<(usize, usize)>) {
    let (mut clean, mut places) = (String::new(), Vec::new());
    let (mut line, mut column) = (1, 1);
    for c in text.chars() {
        match c {
            '«' => places.push((line, column)),
            '\n' => {
                clean.push(c);
                (line, column) = (line + 1, 1);
            }
            c => {
                clean.push(c);
                column += usize::from(c != '\u{feff}');
            }
        }
    }
    (clean, places)
}

const CLONE: &str =
    "- {uses: git-clone, as: clone, config: {repoURL: https://h/r, checkout: [{path: src}]}}\n";
const COMMIT: &str = "- {uses: git-commit, as: commit, config: {path: ./src, message: m}}\n";
const PUSH: &str = "- {uses: git-push, as: push, config: {path: src}}\n";
const GATE: &str = "- {uses: wait-for-approval, as: gate}\n";

/// Code, steps with a mark where it is found, words of the message or the hint.
fn cases() -> Vec<(&'static str, String, &'static str)> {
    let one = |code, steps: &str, words| (code, stage(steps), words);
    vec![
        ("yaml-syntax", "a: [1\nb«: 2\n".to_owned(), "not YAML"),
        (
            "yaml-form",
            {
                let bomb: String = (1..30).fold("«a0: &a0 [x, x]\n".to_owned(), |text, level| {
                    format!("{text}a{level}: &a{level} [*a{0}, *a{0}]\n", level - 1)
                });
                bomb
            },
            "aliases",
        ),
        (
            "duplicate-key",
            stage("- {uses: fail, «uses: copy}\n"),
            "twice",
        ),
        one(
            "unknown-field",
            "- {uses: fail, «continueonerror: true}\n",
            "did you mean continueOnError?",
        ),
        one("invalid-field", "- {uses: fail, «as: 7}\n", "string"),
        one(
            "invalid-field",
            "- «{as: x}\n",
            "exactly one of uses and task",
        ),
        one(
            "task-step-field",
            "- {task: {name: bump}, as: b, «config: {}}\n",
            "cannot set config",
        ),
        one(
            "task-step-field",
            "- {task: {name: bump}, as: b, «retry: {timeout: 5m}}\n",
            "cannot set retry",
        ),
        one(
            "duplicate-alias",
            "- {uses: fail, as: x}\n- {uses: fail, as: «x}\n",
            "step 1",
        ),
        one("reserved-alias", "- {uses: fail, as: «step-1}\n", "step-1"),
        one("unknown-task", "- task: «{name: gone}\n", "gone"),
        (
            "task-variable",
            stage("- task: «{name: bump}\n  as: b\n")
                + TASK
                + "  - uses: fail\n    config: {message: \"${{ vars.file }}\"}\n",
            "the variable file",
        ),
        one(
            "unknown-step",
            "- uses: «git-comit\n",
            "did you mean git-commit?",
        ),
        one("step-unsupported", "- uses: «jira\n", "jira"),
        one(
            "retry-invalid",
            "- {uses: fail, retry: {timeout: «soon}}\n",
            "duration",
        ),
        one(
            "config-field",
            "- {uses: fail, config: {«mesage: x}}\n",
            "did you mean message?",
        ),
        one(
            "config-missing",
            "- {uses: git-push, «config: {}}\n",
            "path is required",
        ),
        one(
            "config-type",
            "- {uses: fail, config: {«message: [x]}}\n",
            "Expected: string, given: array",
        ),
        one(
            "config-type",
            "- uses: wait-for-approval\n  config:\n    «minApprovals: n-${{ vars.env }}\n",
            "given: string",
        ),
        one(
            "config-type",
            "- uses: wait-for-approval\n  config:\n    «minApprovals: ${{ quote(vars.env) }}\n",
            "given: string",
        ),
        one(
            "config-exclusive",
            "- {uses: git-clone, config: {repoURL: r, checkout: [«{path: a, branch: b, tag: c}]}}\n",
            "only one of",
        ),
        one(
            "config-value",
            "- {uses: git-push, config: {path: src, «targetBranch: a..b}}\n",
            "branch",
        ),
        one(
            "config-value",
            "- {uses: git-push, config: {path: src, «maxAttempts: 0}}\n",
            "greater than",
        ),
        one(
            "expression-syntax",
            "- uses: fail\n  config:\n    message: |\n      one\n      two ${{ 1 +« }}\n",
            "does not parse",
        ),
        one(
            "expression-syntax",
            "- uses: http\n  config: {url: u, outputs: [{name: a, fromExpression: 'response.body«.'}]}\n",
            "does not parse",
        ),
        one(
            "expression-syntax",
            "- {uses: fail, if: '${{ always(« }}'}\n",
            "does not parse",
        ),
        one(
            "expression-unclosed",
            "- {uses: fail, config: {message: 'a «${{ vars.env'}}\n",
            "}} is missing",
        ),
        one(
            "expression-empty",
            "- {uses: fail, config: {message: 'a «${{}}'}}\n",
            "without content",
        ),
        one(
            "unknown-name",
            "- {uses: fail, config: {message: 'a ${{ «env }}'}}\n",
            "write vars.env",
        ),
        one(
            "unknown-name",
            "- {uses: fail, config: {message: 'a ${{ «task.outputs.x }}'}}\n",
            "not part of one",
        ),
        one(
            "unknown-name",
            "- uses: http\n  config: {url: u, successExpression: '«respons.status == 200'}\n",
            "response",
        ),
        one(
            "unknown-function",
            "- {uses: fail, config: {message: 'a ${{ «quotee(1) }}'}}\n",
            "did you mean quote?",
        ),
        one(
            "unknown-function",
            "- {uses: fail, vars: [{name: v, value: 'a ${{ «always() }}'}]}\n",
            "not there in a variable",
        ),
        one(
            "unknown-variable",
            "- {uses: fail, config: {message: 'a ${{ vars.«enw }}'}}\n",
            "did you mean env?",
        ),
        one(
            "unknown-context",
            "- {uses: fail, config: {message: 'a ${{ ctx.targetFreight.«nam }}'}}\n",
            "did you mean name?",
        ),
        one(
            "unknown-member",
            "- {uses: fail, config: {message: \"a ${{ imageFrom('r').«tag }}\"}}\n",
            "did you mean Tag?",
        ),
        one(
            "unknown-output",
            &format!(
                "{COMMIT}- {{uses: fail, config: {{message: 'a ${{{{ outputs.«comit.commit }}}}'}}}}\n"
            ),
            "did you mean commit?",
        ),
        one(
            "unknown-output",
            "- {uses: git-clear, as: cl, config: {path: a}}\n- {uses: git-push, if: \"${{ «status('cle') == 'Succeeded' }}\", config: {path: a}}\n",
            "did you mean cl?",
        ),
        one(
            "later-output",
            &format!(
                "- {{uses: fail, config: {{message: 'a ${{{{ outputs.«commit.commit }}}}'}}}}\n{COMMIT}"
            ),
            "comes later",
        ),
        one(
            "skipped-output",
            "- {uses: compose-output, as: o, if: '${{ false }}', config: {a: 1}}\n- {uses: fail, config: {message: 'a ${{ outputs.«o.a }}'}}\n",
            "never runs",
        ),
        one(
            "maybe-skipped-output",
            "- {uses: compose-output, as: o, if: \"${{ vars.env == 'x' }}\", config: {a: 1}}\n- {uses: fail, config: {message: 'a ${{ outputs.«o.a }}'}}\n",
            "has a condition",
        ),
        one(
            "unknown-output-field",
            &format!(
                "{COMMIT}- {{uses: fail, config: {{message: 'a ${{{{ outputs.commit.«sha }}}}'}}}}\n"
            ),
            "no output sha",
        ),
        one(
            "if-not-bool",
            "- {uses: fail, if: «always()}\n",
            "write ${{ always() }}",
        ),
        one(
            "if-not-bool",
            "- {uses: fail, if: '«${{ 1 + 1 }} y'}\n",
            "gives a text",
        ),
        one(
            "if-ignores-failure",
            &format!(
                "{CLONE}- {{uses: git-push, config: {{path: src}}, if: \"«${{{{ vars.env == 'x' }}}}\"}}\n"
            ),
            "success() &&",
        ),
        one(
            "gate-continues",
            "- {uses: wait-for-approval, as: gate, continueOnError: «true}\n",
            "continueOnError",
        ),
        one(
            "effect-after-gate",
            &format!(
                "{CLONE}{GATE}- {{uses: git-push, config: {{path: src}}, if: '«${{{{ always() }}}}'}}\n"
            ),
            "status('gate')",
        ),
        one(
            "commit-not-push",
            &format!(
                "{CLONE}{COMMIT}{PUSH}- uses: argocd-update\n  config: {{apps: [{{name: a, sources: [{{repoURL: r, desiredRevision: '${{{{ outputs.«commit.commit }}}}'}}]}}]}}\n"
            ),
            "outputs[\"push\"].commit",
        ),
        one(
            "secret-shown",
            "- {uses: compose-output, as: o, config: {a: \"«${{ secret('s').key }}\"}}\n",
            "stored",
        ),
        one(
            "secret-shown",
            "- {uses: git-commit, vars: [{name: s, value: \"x ${{ sharedSecret('s').key }}\"}], config: {path: a, message: '«by ${{ vars.s }}'}}\n",
            "repository",
        ),
        one(
            "secret-shown",
            "- {uses: wait-for-approval, config: {approvers: [{claim: sub, value: \"«a${{ secret('s').key }}\"}]}}\n",
            "gate",
        ),
        one(
            "retyped",
            "- {uses: kustomize-set-image, config: {path: a, images: [{image: i, tag: \"«${{ imageFrom('i').Tag }}\"}]}}\n",
            "quote(imageFrom('i').Tag)",
        ),
        one(
            "retyped",
            "- {uses: yaml-update, config: {path: a, updates: [{key: k, value: \"«${{ commitFrom('r').ID[:7] }}\"}]}}\n",
            "part of a commit's id",
        ),
        one(
            "retyped",
            "- {uses: yaml-update, config: {path: a, updates: [{key: k, value: \"«${{ vars.version }}\"}]}}\n",
            "becomes 1.1",
        ),
        one(
            "quote-in-text",
            "- {uses: fail, config: {message: 'a ${{« quote(vars.env) }}'}}\n",
            "quotation marks",
        ),
    ]
}

#[test]
fn every_code_is_found_where_it_is() {
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    for (code, text, words) in cases() {
        seen.insert(code);
        let (text, places) = marked(&text);
        let (line, column) = places[0];
        let (found, full) = findings(&text);
        let wanted = format!("{code} {line}:{column}");
        let all = full["findings"].as_array().unwrap();
        let said = all.iter().any(|finding| {
            let message = format!("{} {}", finding["message"], finding["hint"]).replace('\\', "");
            finding["code"] == code && message.contains(&words.replace('\\', ""))
        });
        if !found.contains(&wanted) || !said {
            wrong.push(format!(
                "{wanted} ({words}) of\n{text}\nfound {found:?}\n{full:#}"
            ));
        }
        // Nothing else that is certain: a small input has one mistake.
        let strays: Vec<&String> = found
            .iter()
            .filter(|other| {
                let name = other.split(' ').next().unwrap();
                name != code
                    && name != "step-unsupported"
                    && name != "unknown-task"
                    // `uses` twice, or neither of uses and task.
                    && !["duplicate-key", "yaml-syntax", "config-exclusive"].contains(&code)
            })
            .collect();
        if !strays.is_empty() {
            wrong.push(format!("strays {strays:?} of {code} in\n{text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n----\n"));
    let missing: Vec<&str> = Code::ALL
        .iter()
        .map(|code| code.name())
        .filter(|name| !seen.contains(name))
        .collect();
    assert!(missing.is_empty(), "codes without a case: {missing:?}");
}

#[test]
fn the_manual_has_the_table_of_codes() {
    let manual =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/manual.md")).unwrap();
    let lines: Vec<String> = Code::ALL
        .iter()
        .map(|code| {
            let (name, severity) = (code.name(), code.severity().word());
            format!("- `{name}` ({severity}): {}.", code.meaning())
        })
        .collect();
    let absent: Vec<&String> = lines
        .iter()
        .filter(|line| !manual.lines().any(|there| there == line.as_str()))
        .collect();
    assert!(
        absent.is_empty(),
        "the manual lacks or has otherwise:\n{absent:#?}"
    );
    let listed = manual
        .lines()
        .filter(|line| {
            line.starts_with("- `")
                && (line.contains("` (error): ") || line.contains("` (warning): "))
        })
        .count();
    assert_eq!(listed, Code::ALL.len());
}

#[test]
fn what_is_right_is_left_alone() {
    let steps = format!(
        "{CLONE}- uses: yaml-update\n  as: update\n  vars: [{{name: tag, value: \"${{{{ quote(imageFrom('i').Tag) }}}}\"}}]\n  config:\n    path: ./src/${{{{ vars.env }}}}.yaml\n    updates:\n    - {{key: a, value: '${{{{ quote(vars.tag) }}}}'}}\n    - {{key: b, value: 'v${{{{ vars.tag }}}}'}}\n    - {{key: c, value: \"${{{{ vars.none ?? 'x' }}}}\"}}\n- uses: git-commit\n  as: commit\n  config: {{path: src, message: '${{{{ outputs.update.commitMessage }}}}'}}\n{GATE}{PUSH}- uses: file-write\n  as: note\n  if: \"${{{{ outputs.push?.commit != nil && stepMetas.push.Status == 'Succeeded' }}}}\"\n  config: {{path: src/n.md, contents: 'at ${{{{ outputs.push.commit }}}} of ${{{{ ctx.targetFreight.origin.name }}}} ${{{{ filter([1], # > 0) | toJSON() }}}}'}}\n- uses: git-push\n  as: again\n  if: \"${{{{ success() && vars.env == 'prod' }}}}\"\n  config: {{path: src}}\n- uses: fail\n  if: \"${{{{ failure() || status('push') == 'Errored' }}}}\"\n  config: {{message: \"${{{{ $env['ctx'].stage }}}} ${{{{ let a = 1; a + 1 }}}}\"}}\n"
    );
    let (found, full) = findings(&stage(&steps));
    assert_eq!(found, Vec::<String>::new(), "{full:#}");
}

#[test]
fn tasks_are_looked_into_through_the_stages_that_use_them() {
    let steps = "- task: {name: bump}\n  as: a\n  vars: [{name: file, value: f}]\n- uses: fail\n  config: {message: 'x ${{ outputs.a.out }} ${{ outputs[\"a::set\"].commitMessage }}'}\n";
    let inner = "  - uses: yaml-update\n    as: set\n    config: {path: 'x/${{ vars.file }}', updates: [{key: k, value: 'n${{ vars.env }}'}]}\n  - uses: compose-output\n    as: give\n    config: {out: 'x ${{ task.outputs.set.commitMessage }}'}\n";
    let (found, full) = findings(&(stage(steps) + TASK + inner));
    assert_eq!(found, Vec::<String>::new(), "{full:#}");

    // The same mistake is told once, however many Stages meet it, and says through which.
    let bad = inner.replace("vars.env", "vars.enw");
    let other = stage(steps).replace("name: prod,", "name: test,");
    let (found, full) = findings(&(stage(steps) + TASK + &bad + "---\n" + &other));
    assert_eq!(found.len(), 1, "{full:#}");
    assert_eq!(full["findings"][0]["object"], "PromotionTask shop/bump");
    assert_eq!(full["findings"][0]["via"], "Stage shop/prod");
    assert_eq!(full["findings"][0]["step"], "a::set");

    // By itself, a task may be given any variable; of its own steps all is known.
    let alone = TASK.trim_start_matches("---\n").to_owned()
        + &bad
        + "  - {uses: fail, config: {message: 'x ${{ task.outputs.sett.commitMessage }} ${{ outputs.set.commitMessage }}'}}\n";
    let (found, full) = findings(&alone);
    let codes: Vec<(&str, &str)> = full["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| {
            (
                finding["code"].as_str().unwrap(),
                finding["severity"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        codes,
        [("unknown-output", "error"), ("unknown-output", "warning")],
        "{found:?}"
    );
}

#[test]
fn places_are_right_in_every_form_of_file() {
    let mistake = "- uses: fail\n  config:\n    message: |\n      ö ${{ vars.«enw }}\n";
    let (text, places) = marked(&stage(mistake));
    let wanted = [format!("unknown-variable {}:{}", places[0].0, places[0].1)];
    assert_eq!(findings(&text).0, wanted);
    assert_eq!(findings(&text.replace('\n', "\r\n")).0, wanted);
    assert_eq!(findings(&format!("\u{feff}{text}")).0, wanted);
    let json = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "ConfigMap"},
        {"apiVersion": "kargo.akuity.io/v1alpha1", "kind": "PromotionTask", "metadata": {"name": "t", "namespace": "p"},
         "spec": {"steps": [{"uses": "nope"}]}},
    ]});
    let text = serde_json::to_string_pretty(&json).unwrap();
    let line = text.lines().position(|line| line.contains("nope")).unwrap() + 1;
    let column = text.lines().nth(line - 1).unwrap().find("\"nope").unwrap() + 1;
    let (found, full) = findings(&text);
    assert_eq!(found, [format!("unknown-step {line}:{column}")]);
    assert_eq!(full["findings"][0]["field"], "items[1].spec.steps[0].uses");
    assert_eq!(
        (&full["checked"], &full["ignored"]),
        (&Value::from(1), &Value::from(1))
    );
}

#[test]
fn exit_codes_folders_and_lines_for_pipelines() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("all/deep")).unwrap();
    fs::write(at("good.yaml"), stage(CLONE)).unwrap();
    fs::write(at("all/warn.yml"), stage("- uses: jira\n")).unwrap();
    fs::write(at("all/deep/bad.json"), "{\"apiVersion\": \"kargo.akuity.io/v1alpha1\", \"kind\": \"PromotionTask\", \"metadata\": {\"name\": \"t\"}, \"spec\": {\"steps\": [{\"uses\": \"nope\"}]}}").unwrap();
    // A chart's template and a file of values have nothing to do with us.
    fs::write(at("all/chart.yaml"), "{{ if .x }}\na: 1\n{{ end }}\n").unwrap();
    fs::write(at("all/values.yaml"), "a: 1\na: 2\n").unwrap();
    fs::write(at("all/notes.txt"), "x: [").unwrap();

    let (code, stdout, stderr) = lint(folder.path(), &["good.yaml"]);
    assert_eq!((code, stdout.as_str()), (Some(0), ""), "{stderr}");
    assert!(
        stderr.contains("1 object in 1 file checked: 0 errors, 0 warnings"),
        "{stderr}"
    );

    let (code, stdout, _) = lint(folder.path(), &["all/warn.yml"]);
    assert_eq!(code, Some(0), "{stdout}");
    assert!(
        stdout.starts_with(
            "all/warn.yml:14:15: warning[step-unsupported]: Stage shop/prod, step step-1: "
        ),
        "{stdout}"
    );
    assert_eq!(
        lint(folder.path(), &["--strict", "all/warn.yml"]).0,
        Some(1)
    );

    let (code, stdout, stderr) = lint(folder.path(), &["all"]);
    assert_eq!(code, Some(1), "{stdout}{stderr}");
    assert!(
        stdout.contains("all/deep/bad.json:1:")
            && stdout.contains("error[unknown-step]: PromotionTask t, step step-1: "),
        "{stdout}"
    );
    assert!(stderr.contains("2 objects in 4 files checked: 1 error, 1 warning; 1 object of other kinds ignored; 1 file is not YAML"), "{stderr}");

    assert_eq!(lint(folder.path(), &["all/chart.yaml"]).0, Some(1));
    assert_eq!(lint(folder.path(), &["gone.yaml"]).0, Some(2));
    assert_eq!(lint(folder.path(), &[]).0, Some(2));
    fs::write(at("bytes.yaml"), b"a: \xff\n").unwrap();
    let (code, _, stderr) = lint(folder.path(), &["bytes.yaml"]);
    assert!(code == Some(2) && stderr.contains("UTF-8"), "{stderr}");

    let mut child = command(folder.path(), &["-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(stage("- uses: nope\n").as_bytes())
        .unwrap();
    let (code, stdout, _) = told(&child.wait_with_output().unwrap());
    assert!(
        code == Some(1) && stdout.starts_with("<stdin>:14:15: error[unknown-step]"),
        "{stdout}"
    );
}

#[test]
fn the_demos_own_objects_are_without_errors() {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo");
    let (code, stdout, stderr) = lint(&demo, &["--strict", "."]);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    assert!(!stderr.starts_with("0 objects"), "{stderr}");
}
