//! How a verb ends that did not do what was asked: one sentence, a hint, and an exit code.

use std::process::ExitCode;

use super::output;
use crate::cluster::{self, Kind};

/// Exit codes; scripts rely on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It was done.
    Done = 0,
    /// The thing asked for ended badly.
    Failed = 1,
    /// The arguments make no sense.
    Usage = 2,
    /// Not allowed.
    Refused = 3,
    /// There is no such thing.
    NotFound = 4,
    /// No connection.
    Unreachable = 5,
    /// It took too long.
    TimedOut = 6,
}

impl Exit {
    /// For the process.
    pub fn code(self) -> ExitCode {
        ExitCode::from(self as u8)
    }
}

/// Why a verb did not do what was asked.
#[derive(Debug)]
pub struct Failure {
    /// The code.
    pub exit: Exit,
    /// What we were doing, with which object, and why it failed.
    pub sentence: String,
    /// What to do next.
    pub hint: Option<String>,
}

impl Failure {
    /// A failure with a sentence of its own.
    pub fn new(exit: Exit, sentence: impl Into<String>) -> Self {
        Self {
            exit,
            sentence: sentence.into(),
            hint: None,
        }
    }

    /// The same with what to do next.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Prints it to stderr and gives the code.
    pub fn report(&self) -> ExitCode {
        eprintln!("error: {}", output::visible_lines(&self.sentence));
        if let Some(hint) = &self.hint {
            eprintln!("hint: {}", output::visible_lines(hint));
        }
        self.exit.code()
    }
}

impl From<cluster::Error> for Failure {
    fn from(error: cluster::Error) -> Self {
        let exit = match error.kind {
            Kind::NotFound => Exit::NotFound,
            Kind::Forbidden | Kind::Unauthorised => Exit::Refused,
            Kind::Conflict | Kind::Invalid => Exit::Failed,
            Kind::Absent | Kind::Unreachable => Exit::Unreachable,
            Kind::TimedOut => Exit::TimedOut,
        };
        let hint = error.hint.clone().or_else(|| default_hint(error.kind));
        Self {
            exit,
            sentence: error.to_string(),
            hint,
        }
    }
}

fn default_hint(kind: Kind) -> Option<String> {
    let text = match kind {
        Kind::Absent => {
            "Is Kargo installed in this cluster (and our CRD, for requests and approvals)?"
        }
        Kind::Unauthorised => "Log in again, or check the credentials of this kubeconfig context",
        Kind::Unreachable => "Check the connection and the context: tidewaiter info",
        _ => return None,
    };
    Some(text.to_owned())
}
