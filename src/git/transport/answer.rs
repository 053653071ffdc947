//! Reading what git and servers say. Small and strict: a line of `push --porcelain` is data, the
//! words around it only explain.

use super::{Output, Trouble};
use crate::git::redact;

/// What the server did with our ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushAnswer {
    /// The branch is at our commit now; `already`: it was there before this push.
    Landed { already: bool },
    /// The ref was not updated.
    NotUpdated { reason: RefRefusal, words: String },
}

/// Why a ref was not updated, as far as the server's reason tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefRefusal {
    /// Somebody else was faster, or holds the lock.
    LostRace,
    /// The whole branch is closed to this login, whatever is in the commits.
    Protected,
    /// A rule, or a reason that we do not know.
    Declined,
}

/// Reasons that mean a race, as git clients and servers of several makes word them.
const RACES: &[&str] = &[
    "stale info",
    "fetch first",
    "non-fast-forward",
    "failed to update ref",
    "cannot lock ref",
    "incorrect old value",
    "reference already exists",
    "atomic transaction failed",
];

/// Words for a branch that is closed to everybody like us; checks and contents are not among them.
const PROTECTED: &[&str] = &[
    "protected branch hook declined",
    "not allowed to push code to protected branches",
    "not allowed to force push code to a protected branch",
    "user not allowed to push",
    "TF402455",
];

/// The answer for `target` in a finished push, if the server got as far as giving one.
pub(super) fn read_push(said: &Output, target: &str) -> Option<PushAnswer> {
    said.stdout
        .lines()
        .find_map(|line| read_line(line, target, said))
}

/// One line: a flag, tab, `from:to`, tab, a summary that may end in a reason in brackets.
fn read_line(line: &str, target: &str, said: &Output) -> Option<PushAnswer> {
    let mut fields = line.splitn(3, '\t');
    let (flag, refs, summary) = (fields.next()?, fields.next()?, fields.next()?);
    if refs.rsplit_once(':')?.1 != target {
        return None;
    }
    match flag {
        " " | "*" | "+" => Some(PushAnswer::Landed { already: false }),
        "=" => Some(PushAnswer::Landed { already: true }),
        "!" => {
            let reason = summary
                .split_once('(')
                .map_or(summary, |(_, rest)| rest.trim_end_matches(')'));
            let (shown, server) = (redact::secrets(reason, &said.secrets), words(&said.stderr));
            let words = if server.is_empty() {
                shown
            } else {
                format!("{shown}: {server}")
            };
            Some(PushAnswer::NotUpdated {
                reason: kind_of(reason, &words),
                words,
            })
        }
        _ => None,
    }
}

/// The reason decides about races: the free words of a hook must not.
fn kind_of(reason: &str, words: &str) -> RefRefusal {
    let has = |text: &str, any: &[&str]| {
        let text = text.to_ascii_lowercase();
        any.iter()
            .any(|known| text.contains(&known.to_ascii_lowercase()))
    };
    if has(reason, RACES) {
        RefRefusal::LostRace
    } else if has(words, PROTECTED) {
        RefRefusal::Protected
    } else {
        RefRefusal::Declined
    }
}

/// Lines of stderr that tell people nothing.
const CHATTER: &[&str] = &[
    "error: failed to push some refs to",
    "hint:",
    "warning: fetch normally indicates",
    "but that check has been disabled",
    "flag or run 'git config fetch.showForcedUpdates",
    "Please make sure you have the correct access rights",
    "and the repository exists.",
];

/// What was said, for people: the server's own lines where there are any, else git's; at most
/// twelve lines and 2,000 characters.
pub(super) fn words(stderr: &str) -> String {
    let lines = || {
        stderr
            .split(['\n', '\r'])
            .map(str::trim)
            .filter(|l| !l.is_empty())
    };
    let telling = |line: &&str| !CHATTER.iter().any(|chatter| line.starts_with(chatter));
    let remote: Vec<&str> = lines()
        .filter_map(|l| l.strip_prefix("remote:"))
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    let chosen = if remote.is_empty() {
        lines().filter(telling).collect()
    } else {
        remote
    };
    let text = chosen.into_iter().take(12).collect::<Vec<_>>().join("; ");
    text.chars().take(2000).collect()
}

/// Most telling first: `Could not read from remote repository` follows nearly everything.
const TROUBLES: &[(&str, Trouble)] = &[
    ("mismatched algorithms", Trouble::Unsupported),
    ("object-format", Trouble::Unsupported),
    ("hash algorithm", Trouble::Unsupported),
    ("does not support shallow", Trouble::Unsupported),
    ("shallow.lock", Trouble::Other),
    ("returned error: 401", Trouble::Unauthorised),
    ("returned error: 403", Trouble::Unauthorised),
    ("authentication failed", Trouble::Unauthorised),
    ("permission denied", Trouble::Unauthorised),
    ("terminal prompts disabled", Trouble::Unauthorised),
    ("could not read username", Trouble::Unauthorised),
    ("could not read password", Trouble::Unauthorised),
    ("host key verification failed", Trouble::Unauthorised),
    ("access denied", Trouble::Unauthorised),
    ("invalid username or password", Trouble::Unauthorised),
    ("dubious ownership", Trouble::Unauthorised),
    ("returned error: 404", Trouble::NotFound),
    ("repository not found", Trouble::NotFound),
    ("does not appear to be a git repository", Trouble::NotFound),
    ("could not be found", Trouble::NotFound),
    ("returned error: 429", Trouble::Unreachable),
    ("returned error: 5", Trouble::Unreachable),
    ("could not resolve host", Trouble::Unreachable),
    ("failed to connect", Trouble::Unreachable),
    ("couldn't connect", Trouble::Unreachable),
    ("connection refused", Trouble::Unreachable),
    ("connection reset", Trouble::Unreachable),
    ("connection timed out", Trouble::Unreachable),
    ("connection closed", Trouble::Unreachable),
    ("operation timed out", Trouble::Unreachable),
    ("timed out", Trouble::Unreachable),
    ("hung up unexpectedly", Trouble::Unreachable),
    ("early eof", Trouble::Unreachable),
    ("rpc failed", Trouble::Unreachable),
    ("network is unreachable", Trouble::Unreachable),
    ("no route to host", Trouble::Unreachable),
    ("temporary failure", Trouble::Unreachable),
    ("could not resolve proxy", Trouble::Unreachable),
    ("not a git repository: ", Trouble::Damaged),
    ("object file", Trouble::Damaged),
    ("loose object", Trouble::Damaged),
    ("is corrupt", Trouble::Damaged),
    ("bad object", Trouble::Damaged),
    ("invalid sha1 pointer", Trouble::Damaged),
    ("missing blob", Trouble::Damaged),
    ("missing tree", Trouble::Damaged),
    ("missing commit", Trouble::Damaged),
    ("did not send all necessary objects", Trouble::Damaged),
    ("unable to access", Trouble::Unreachable),
    (
        "could not read from remote repository",
        Trouble::Unreachable,
    ),
];

/// What kind of fault stderr speaks of.
pub(super) fn trouble_of(stderr: &str) -> Trouble {
    let said = stderr.to_ascii_lowercase();
    TROUBLES
        .iter()
        .find(|(text, _)| said.contains(text))
        .map_or(Trouble::Other, |(_, trouble)| *trouble)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
