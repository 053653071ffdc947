use std::{fs, os::unix::fs::PermissionsExt, time::Instant};

use super::*;

fn fake(dir: &Path, script: &str) -> Git {
    let program = dir.join("git");
    // Copied by a child: a file that this process wrote may still be open in a fork of another test.
    let draft = dir.join("draft");
    fs::write(&draft, format!("#!/bin/sh\n{script}\n")).unwrap();
    assert!(
        std::process::Command::new("cp")
            .arg(&draft)
            .arg(&program)
            .status()
            .unwrap()
            .success()
    );
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", dir.display());
    let settings = GitSettings {
        env: vec![("PATH".into(), path.into())],
        ..GitSettings::default()
    };
    Git::new(settings, Counters::default())
}

fn call(verb: &str) -> Call<'_> {
    Call {
        verb,
        args: Vec::new(),
        repository: None,
        login: Prepared::default(),
        deadline: None,
    }
}

#[test]
fn versions_as_they_are_printed() {
    for (text, want) in [
        ("git version 2.39.5 (Apple Git-154)\n", Some((2, 39, 5))),
        ("git version 2.47.3", Some((2, 47, 3))),
        ("git version 2.47.1.windows.2", Some((2, 47, 1))),
        ("git version 2.50.0-rc1", Some((2, 50, 0))),
        ("git version 2.48.GIT", Some((2, 48, 0))),
        ("hg 6", None),
        ("", None),
    ] {
        let got = GitVersion::parse(text).map(|v| (v.major, v.minor, v.patch));
        assert_eq!(got, want, "{text:?}");
    }
}

#[tokio::test]
async fn a_missing_git_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let settings = GitSettings {
        env: vec![("PATH".into(), dir.path().into())],
        ..GitSettings::default()
    };
    let error = Git::new(settings, Counters::default())
        .version()
        .await
        .unwrap_err();
    assert!(matches!(error, GitError::Missing { .. }), "{error}");
    assert!(error.to_string().contains("2.39"), "{error}");
}

#[tokio::test]
async fn an_old_git_is_said_with_its_version() {
    let dir = tempfile::tempdir().unwrap();
    let git = fake(dir.path(), "echo 'git version 2.25.1'");
    let error = git.run(call("fetch")).await.err().unwrap();
    assert!(error.to_string().contains("2.25.1"), "{error}");
    assert_eq!(git.counters().snapshot().commands, 0);
}

#[tokio::test]
async fn the_version_is_asked_once_and_not_counted() {
    let dir = tempfile::tempdir().unwrap();
    let script = r#"case "$*" in *version*) echo x >> "$(dirname "$0")/asked"; echo git version 2.40.0;; esac"#;
    let git = fake(dir.path(), script);
    for verb in ["fetch", "push", "ls-remote"] {
        assert!(git.run(call(verb)).await.unwrap().success);
    }
    assert_eq!(fs::read_to_string(dir.path().join("asked")).unwrap(), "x\n");
    let counted = git.counters().snapshot();
    assert_eq!(
        (counted.commands, counted.fetches, counted.pushes),
        (3, 1, 1)
    );
}

const HANGS: &str = r#"
case "$*" in *version*) echo git version 2.40.0; exit;; esac
echo s3cret waits >&2
sleep 1000 & echo $! > "$(dirname "$0")/grandchild"
wait"#;

fn alive(pid: &str) -> bool {
    // A zombie counts as gone: nobody in this test reaps the orphan.
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with('Z'))
}

async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_hung_command_is_ended_with_its_children() {
    let dir = tempfile::tempdir().unwrap();
    let git = fake(dir.path(), HANGS);
    let mut login = Prepared::default();
    login.secrets.push("s3cret".into());
    let hung = Call {
        deadline: Some(Duration::from_secs(2)),
        login,
        ..call("fetch")
    };
    let error = git.run(hung).await.err().unwrap();
    assert!(matches!(error, GitError::TimedOut { .. }), "{error}");
    assert!(error.to_string().ends_with(": *** waits"), "{error}");
    let pid = fs::read_to_string(dir.path().join("grandchild")).unwrap();
    eventually("the grandchild ends", || !alive(&pid)).await;
}

#[tokio::test]
async fn a_command_that_nobody_waits_for_is_ended() {
    let dir = tempfile::tempdir().unwrap();
    let git = fake(dir.path(), HANGS);
    let file = dir.path().join("grandchild");
    let running = tokio::spawn(async move { git.run(call("fetch")).await.map(|_| ()) });
    let pid = || fs::read_to_string(&file).unwrap_or_default();
    eventually("the command starts", || pid().ends_with('\n')).await;
    assert!(alive(&pid()));
    running.abort();
    eventually("the grandchild ends", || !alive(&pid())).await;
}
