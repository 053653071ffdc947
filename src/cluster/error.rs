//! What the API server answers when it does not do what was asked, in kinds that decide what happens next.

use std::fmt;

use kube::{client::AuthError, core::Status};

use super::limit::NoAnswer;

/// What kind of answer it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// There is no such object (404).
    NotFound,
    /// This user may not (403, and Kargo's webhook's 500 that means the same).
    Forbidden,
    /// Who we are was not accepted (401).
    Unauthorised,
    /// Somebody else was faster (409).
    Conflict,
    /// The object is wrong (400, 422), or its state does not allow it.
    Invalid,
    /// There is no such kind: its CRD is not installed.
    Absent,
    /// No answer, or one that says nothing (5xx, cut connections).
    Unreachable,
    /// The time allowed ran out.
    TimedOut,
}

/// What we were doing, with which object, and why it was not done.
#[derive(Debug)]
pub struct Error {
    /// What decides about the next try.
    pub kind: Kind,
    /// What we were doing, as a clause: "cannot create a Promotion to stage shop/prod".
    pub doing: String,
    /// The reason in the server's words, cleaned of wrappers.
    pub why: String,
    /// What to do next, where we know.
    pub hint: Option<String>,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.why.is_empty() {
            f.write_str(&self.doing)
        } else {
            write!(f, "{}: {}", self.doing, self.why)
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// An error of our own making.
    pub fn new(kind: Kind, doing: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            kind,
            doing: doing.into(),
            why: why.into(),
            hint: None,
        }
    }

    /// The same with what to do next.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What kube says, put into our kinds.
    pub fn from_kube(doing: impl Into<String>, error: &kube::Error) -> Self {
        let (kind, why) = classify(error);
        Self::new(kind, doing, why)
    }
}

/// Adds what we were doing to a kube error.
pub trait Doing<T> {
    /// The result with `doing` in front of the reason.
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T> Doing<T> for Result<T, kube::Error> {
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|error| Error::from_kube(doing(), &error))
    }
}

fn classify(error: &kube::Error) -> (Kind, String) {
    match error {
        kube::Error::Api(status) => (kind_of(status), clean(&status.message)),
        other => {
            if let Some(refused) = cause::<AuthError>(other) {
                return (Kind::Unauthorised, credentials(refused));
            }
            if let Some(late) = cause::<NoAnswer>(other) {
                return (Kind::TimedOut, late.to_string());
            }
            (Kind::Unreachable, chain(other))
        }
    }
}

/// The error of this type that is behind `error`.
fn cause<'a, E: std::error::Error + 'static>(
    error: &'a (dyn std::error::Error + 'static),
) -> Option<&'a E> {
    std::iter::successors(Some(error), |error| error.source())
        .find_map(|error| error.downcast_ref::<E>())
}

/// Why there are no credentials. What a plugin printed to stdout is left out: it may hold a token.
fn credentials(error: &AuthError) -> String {
    match error {
        AuthError::AuthExecRun { out, .. } => {
            let said = String::from_utf8_lossy(&out.stderr);
            let said = said.trim();
            let end = out.status;
            if said.is_empty() {
                format!("the kubeconfig's credential plugin failed without a word ({end})")
            } else {
                format!("the kubeconfig's credential plugin failed ({end}): {said}")
            }
        }
        AuthError::AuthExecStart(why) => {
            format!("the kubeconfig's credential plugin cannot be started: {why}")
        }
        AuthError::AuthExecParse(_) => {
            "the kubeconfig's credential plugin printed something that is no ExecCredential".into()
        }
        other => chain(other),
    }
}

/// The kind of an error status.
pub fn kind_of(status: &Status) -> Kind {
    match status.code {
        401 => Kind::Unauthorised,
        403 => Kind::Forbidden,
        404 if is_unknown_kind(&status.message) => Kind::Absent,
        404 => Kind::NotFound,
        409 => Kind::Conflict,
        400 | 422 | 413 | 415 => Kind::Invalid,
        408 | 504 => Kind::TimedOut,
        // Kargo's webhook wraps a denied create or update into an internal error: only its text tells.
        500 if is_denial(&status.message) => Kind::Forbidden,
        500 if is_about_the_object(&status.message) => Kind::Invalid,
        _ => Kind::Unreachable,
    }
}

fn is_unknown_kind(message: &str) -> bool {
    message.contains("could not find the requested resource") || message.contains("page not found")
}

fn is_denial(message: &str) -> bool {
    message.contains("is not permitted to") || message.contains("forbidden")
}

/// What a webhook found wrong; a local cluster has no webhooks and says it without their wrapper.
fn is_about_the_object(message: &str) -> bool {
    message.contains("admission webhook") || message.contains("failed to inflate")
}

/// The webhook's wrapper and repeated prefixes removed.
fn clean(message: &str) -> String {
    let inner = message
        .split_once("denied the request: ")
        .map_or(message, |(_, inner)| inner);
    inner
        .strip_prefix("Internal error occurred: ")
        .unwrap_or(inner)
        .trim()
        .to_owned()
}

/// The innermost texts of an error chain; kube's outer ones only name their own types.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        texts.push(error.to_string());
        next = error.source();
    }
    let mut text = String::new();
    for (index, part) in texts.iter().enumerate() {
        let repeats_next = texts
            .get(index + 1)
            .is_some_and(|inner| part.ends_with(inner.as_str()));
        if repeats_next {
            continue;
        }
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(part);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: u16, message: &str) -> Status {
        Status {
            code,
            message: message.into(),
            ..serde_json::from_str("{}").unwrap()
        }
    }

    #[test]
    fn codes_and_kargos_disguised_denials() {
        let table = [
            (403, "x", Kind::Forbidden),
            (
                404,
                "promotions.kargo.akuity.io \"p\" not found",
                Kind::NotFound,
            ),
            (
                404,
                "the server could not find the requested resource",
                Kind::Absent,
            ),
            (
                500,
                "admission webhook \"promotion\" denied the request: Internal error occurred: user ann is not permitted to promote",
                Kind::Forbidden,
            ),
            (
                500,
                "Internal error occurred: failed to inflate Promotion steps: missing value for variable \"a\" of task \"b\"",
                Kind::Invalid,
            ),
            (500, "etcdserver: leader changed", Kind::Unreachable),
            (422, "x", Kind::Invalid),
            (409, "x", Kind::Conflict),
        ];
        for (code, message, kind) in table {
            assert_eq!(kind_of(&status(code, message)), kind, "{code} {message}");
        }
    }

    #[test]
    fn the_webhooks_wrapper_is_peeled_off() {
        let error = kube::Error::Api(Box::new(status(
            422,
            "admission webhook \"promotion.kargo.akuity.io\" denied the request: Freight is not available to this Stage",
        )));
        let error = Error::from_kube("cannot promote", &error);
        assert_eq!(
            error.to_string(),
            "cannot promote: Freight is not available to this Stage"
        );
    }
}
