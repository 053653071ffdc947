//! Reported cases that are about the whole program, by their numbers.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

mod support;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use support::{World, project, stage, until};

/// Runs `get promotions` with a kubeconfig whose user comes from a plugin: exit code and messages.
fn with_plugin(folder: &Path, script: &str) -> (Option<i32>, String) {
    let plugin = folder.join("plugin.sh");
    std::fs::write(&plugin, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&plugin, std::fs::Permissions::from_mode(0o700)).unwrap();
    let config = serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {"exec": {
            "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never", "command": plugin,
        }}}],
    });
    let kubeconfig = folder.join("config");
    std::fs::write(&kubeconfig, config.to_string()).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_tidewaiter"))
        .args(["--kubeconfig", kubeconfig.to_str().unwrap()])
        .args(["-n", "shop", "get", "promotions"])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", folder)
        // Open and silent: a plugin that reads from it would wait for ever.
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let open = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(open);
    let text = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), text)
}

#[test]
fn a_plugins_own_words_are_shown_and_its_questions_do_not_hang_c86() {
    for (script, words) in [
        (
            "echo 'no session: log in first' >&2; exit 1",
            "no session: log in first",
        ),
        (
            "printf 'password? ' >&2; read answer || { echo 'nobody answers' >&2; exit 1; }",
            "nobody answers",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let begun = Instant::now();
        let (code, text) = with_plugin(folder.path(), script);
        assert!(code.is_some_and(|code| code != 0), "{text}");
        assert!(text.contains(words), "{text}");
        assert!(begun.elapsed() < Duration::from_secs(20), "{text}");
    }
}

/// Promotes to a Stage of these steps and executes until nothing runs; the promotion as it is stored.
fn promoted(world: &World, steps: &str) -> Value {
    world.apply(&(project("shop") + &stage("shop", "prod", steps)));
    let freight = world.freight("shop", "2.0");
    let name = world.promote("shop", "prod", &freight);
    world.until_idle();
    world.promotion(&name)
}

/// Status and message of every step.
fn ends(promotion: &Value) -> Vec<(String, String)> {
    let steps = promotion["status"]["stepExecutionMetadata"]
        .as_array()
        .unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    steps
        .iter()
        .map(|step| (text(&step["status"]), text(&step["message"])))
        .collect()
}

#[test]
fn a_step_without_a_condition_is_tried_again_and_its_failure_counts_c53() {
    let world = World::new();
    let repository = world.repository("r", &[("a.yaml", "a: 1\n")]);
    let steps = |threshold: u32| {
        format!(
            "- uses: git-clone\n  as: clone\n  retry: {{errorThreshold: {threshold}}}\n  config: {{repoURL: {}, checkout: [{{path: ./src, branch: late}}]}}\n- uses: compose-output\n  as: after\n  config: {{a: 1}}\n",
            repository.display()
        )
    };
    world.apply(
        &(project("shop")
            + &stage("shop", "patient", &steps(20))
            + &stage("shop", "hasty", &steps(2))),
    );
    let freight = world.freight("shop", "2.0");
    let patient = world.promote("shop", "patient", &freight);
    let hasty = world.promote("shop", "hasty", &freight);
    let mut executor = world.start_silently(&["run"], &[]);
    let ended = |name: &str| {
        until("the end of the promotion", || {
            let promotion = world.promotion(name);
            let phase = promotion["status"]["phase"].as_str().unwrap_or_default();
            (!["", "Pending", "Running"].contains(&phase)).then_some(promotion)
        })
    };
    let failed = ended(&hasty);
    assert_eq!(failed["status"]["phase"], "Errored");
    assert_eq!(
        failed["status"]["stepExecutionMetadata"][0]["errorCount"],
        2
    );
    assert_eq!(ends(&failed)[1].0, "Skipped");
    // The other has failed as often by now, and works as soon as the branch is there.
    let waiting = world.promotion(&patient);
    assert_eq!(waiting["status"]["phase"], "Running");
    world.git(&repository, &["branch", "late", "main"]);
    let done = ended(&patient);
    assert_eq!(done["status"]["phase"], "Succeeded");
    assert_eq!(ends(&done)[1].0, "Succeeded");
    executor.kill();
}

#[test]
fn each_failed_step_keeps_its_own_message_c55() {
    let world = World::new();
    let promotion = promoted(
        &world,
        "- {uses: fail, as: a, config: {message: A}}\n- {uses: fail, as: b, if: '${{ always() }}', config: {message: B}}\n- {uses: compose-output, as: c, if: '${{ always() }}', config: {x: 1}}\n",
    );
    let said = |status: &str, message: &str| (status.to_owned(), message.to_owned());
    assert_eq!(
        ends(&promotion),
        [
            said("Failed", "failed: A"),
            said("Failed", "failed: B"),
            said("Succeeded", "")
        ]
    );
    assert_eq!(promotion["status"]["phase"], "Failed");
    let message = promotion["status"]["message"].as_str().unwrap();
    assert!(message.ends_with("failed: A"), "{message}");
}

#[test]
fn what_is_larger_than_the_status_may_hold_ends_the_promotion_all_the_same_c56() {
    let world = World::new();
    let mut steps = String::new();
    for number in 0..30 {
        steps.push_str(&format!(
            "- uses: compose-output\n  as: o{number}\n  if: ${{{{ always() }}}}\n  config: {{x: \"${{{{ repeat('y', 60000) }}}}\"}}\n"
        ));
    }
    // Two bytes a letter after one of one byte: a letter lies across every even limit.
    steps.push_str("- uses: fail\n  if: ${{ always() }}\n  config: {message: \"x${{ repeat('ü', 25000) }}\"}\n");
    let promotion = promoted(&world, &steps);
    assert_eq!(promotion["status"]["phase"], "Failed");
    let ends = ends(&promotion);
    let fitted = ends
        .iter()
        .take_while(|(status, _)| status == "Succeeded")
        .count();
    assert!((5..30).contains(&fitted), "{fitted}");
    assert!(
        ends[fitted].1.contains("can be stored"),
        "{}",
        ends[fitted].1
    );
    let message = &ends[30].1;
    assert!(message.contains("(cut: ") && message.contains('ü'));
    assert!(!message.contains('\u{fffd}') && message.len() < 32 * 1024);
}

#[test]
fn nothing_to_commit_is_a_success_with_the_head_as_commit_c40() {
    let world = World::new();
    let repository = world.repository("r", &[("a.yaml", "image:\n  tag: \"2.0\"\n")]);
    let promotion = promoted(
        &world,
        &support::set_key(&repository, "a.yaml", "image.tag"),
    );
    assert_eq!(promotion["status"]["phase"], "Succeeded", "{promotion:#}");
    let statuses: Vec<String> = ends(&promotion)
        .into_iter()
        .map(|(status, _)| status)
        .collect();
    assert_eq!(statuses, ["Succeeded", "Succeeded", "Skipped", "Skipped"]);
    let head = world.git(&repository, &["rev-parse", "main"]);
    assert_eq!(promotion["status"]["state"]["commit"]["commit"], head);
    assert_eq!(world.commits(&repository), 1);
}

#[test]
fn a_commits_message_from_a_step_that_changed_nothing_is_no_error_c41() {
    let world = World::new();
    let repository = world.repository(
        "r",
        &[(
            "kustomization.yaml",
            "images:\n- name: example.com/app\n  newTag: \"2.0\"\n",
        )],
    );
    let promotion = promoted(
        &world,
        &format!(
            "- uses: git-clone\n  as: clone\n  config: {{repoURL: {}, checkout: [{{branch: main, path: ./src}}]}}\n- uses: kustomize-set-image\n  as: image\n  config:\n    path: ./src\n    images: [{{image: example.com/app, tag: '${{{{ quote(imageFrom(\"example.com/app\").Tag) }}}}'}}]\n- uses: git-commit\n  as: commit\n  config: {{path: ./src, message: '${{{{ outputs.image.commitMessage }}}}'}}\n- uses: git-push\n  as: push\n  config: {{path: ./src}}\n",
            repository.display()
        ),
    );
    assert_eq!(promotion["status"]["phase"], "Succeeded", "{promotion:#}");
    assert_eq!(world.commits(&repository), 1);
}
