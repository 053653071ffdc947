use super::*;

const TARGET: &str = "refs/heads/main";

fn said(flag: &str, summary: &str, stderr: &str) -> Output {
    let id = "43db8f89162d308f8e7c698e575ba96f0140d31f";
    let stdout = format!("To /srv/r.git\n{flag}\t{id}:refs/heads/main\t{summary}\nDone\n");
    Output {
        success: flag != "!",
        stdout,
        stderr: stderr.to_owned(),
        secrets: vec!["s3cret".into()],
    }
}

fn refusal(summary: &str, stderr: &str) -> (RefRefusal, String) {
    match read_push(&said("!", summary, stderr), TARGET) {
        Some(PushAnswer::NotUpdated { reason, words }) => (reason, words),
        other => panic!("{other:?}"),
    }
}

#[test]
fn accepted_lines() {
    for (flag, summary, already) in [
        (" ", "bfb33b7..43db8f8", false),
        ("*", "[new branch]", false),
        ("+", "bfb33b7...43db8f8 (forced update)", false),
        ("=", "[up to date]", true),
    ] {
        assert_eq!(
            read_push(&said(flag, summary, ""), TARGET),
            Some(PushAnswer::Landed { already }),
            "{flag}"
        );
    }
}

#[test]
fn only_a_line_for_our_ref_is_an_answer() {
    for stdout in [
        "",
        "Done\n",
        "To /srv/r.git\n",
        " \t43db:refs/heads/main2\t[new branch]\n",
        "To x\n?\ta:refs/heads/main\tx\n",
    ] {
        let output = Output {
            success: true,
            stdout: stdout.to_owned(),
            stderr: String::new(),
            secrets: Vec::new(),
        };
        assert_eq!(read_push(&output, TARGET), None, "{stdout:?}");
    }
}

#[test]
fn every_wording_of_a_lost_race() {
    for summary in [
        "[rejected] (stale info)",
        "[rejected] (fetch first)",
        "[rejected] (non-fast-forward)",
        "[remote rejected] (failed to update ref)",
        "[remote rejected] (cannot lock ref 'refs/heads/main': is at 43db8f8 but expected bfb33b7)",
        "[remote rejected] (incorrect old value provided)",
        "[remote rejected] (reference already exists)",
    ] {
        assert_eq!(refusal(summary, "").0, RefRefusal::LostRace, "{summary}");
    }
}

#[test]
fn rules_keep_the_servers_words() {
    let stderr = "remote: nope: policy        \nerror: failed to push some refs to '/srv/r.git'\n";
    let (reason, words) = refusal("[remote rejected] (pre-receive hook declined)", stderr);
    assert_eq!(reason, RefRefusal::Declined);
    assert_eq!(words, "pre-receive hook declined: nope: policy");

    // A hook that happens to speak of races is still a hook.
    let stderr = "remote: policy: cannot lock ref of frozen branch\n";
    assert_eq!(
        refusal("[remote rejected] (hook declined)", stderr).0,
        RefRefusal::Declined
    );

    let stderr =
        "remote: error: GH006: Protected branch update failed for refs/heads/main.        \n";
    assert_eq!(
        refusal("[remote rejected] (protected branch hook declined)", stderr).0,
        RefRefusal::Protected
    );
    let stderr =
        "remote: GitLab: You are not allowed to push code to protected branches on this project.\n";
    assert_eq!(
        refusal("[remote rejected] (pre-receive hook declined)", stderr).0,
        RefRefusal::Protected
    );
    assert_eq!(
        refusal("[remote rejected] (shallow update not allowed)", "").0,
        RefRefusal::Declined
    );
    assert_eq!(
        refusal("[remote rejected] (no s3cret here)", "").1,
        "no *** here"
    );
    assert_eq!(
        refusal("[remote rejected] (something new)", "").0,
        RefRefusal::Declined
    );
}

#[test]
fn faults_by_their_words() {
    for (stderr, want) in [
        (
            "fatal: unable to access 'https://127.0.0.1:1/x/': Failed to connect to 127.0.0.1 port 1 after 1 ms: Couldn't connect to server",
            Trouble::Unreachable,
        ),
        (
            "fatal: unable to access 'https://nohost.invalid/x/': Could not resolve host: nohost.invalid",
            Trouble::Unreachable,
        ),
        (
            "ssh: connect to host 127.0.0.1 port 1: Connection refused\nfatal: Could not read from remote repository.",
            Trouble::Unreachable,
        ),
        (
            "git@h: Permission denied (publickey).\nfatal: Could not read from remote repository.",
            Trouble::Unauthorised,
        ),
        (
            "fatal: could not read Username for 'https://h': terminal prompts disabled",
            Trouble::Unauthorised,
        ),
        (
            "fatal: Authentication failed for 'https://h/o/r/'",
            Trouble::Unauthorised,
        ),
        (
            "fatal: unable to access 'https://h/o/r/': The requested URL returned error: 403",
            Trouble::Unauthorised,
        ),
        (
            "fatal: unable to access 'https://h/o/r/': The requested URL returned error: 429",
            Trouble::Unreachable,
        ),
        (
            "error: RPC failed; HTTP 502 curl 22 The requested URL returned error: 502",
            Trouble::Unreachable,
        ),
        (
            "fatal: '/x' does not appear to be a git repository\nfatal: Could not read from remote repository.",
            Trouble::NotFound,
        ),
        (
            "remote: Repository not found.\nfatal: repository 'https://h/o/r/' not found",
            Trouble::NotFound,
        ),
        (
            "fatal: mismatched algorithms: client sha1; server sha256",
            Trouble::Unsupported,
        ),
        (
            "fatal: the receiving end does not support this repository's hash algorithm",
            Trouble::Unsupported,
        ),
        (
            "error: object file ./objects/aa/bb is empty\nfatal: loose object aabb is corrupt",
            Trouble::Damaged,
        ),
        ("something new", Trouble::Other),
    ] {
        assert_eq!(trouble_of(stderr), want, "{stderr}");
    }
}
