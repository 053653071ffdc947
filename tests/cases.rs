//! Reported cases that are about the whole program, by their numbers.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

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
