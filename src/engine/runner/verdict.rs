//! What follows from how steps ended: pure, by Kargo's rules with our kinds of errors.

use std::time::Duration;

use crate::{
    engine::step::{ErrorKind, StepError},
    kargo::{Alias, Phase, StepStatus, Timestamp, promotion::StepMetadata},
};

/// What becomes of a step that did not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The step is over.
    Ended(StepStatus, String),
    /// It is tried again.
    Again(StepStatus, String),
}

/// A step's limits: the template's where it gives them, else the step kind's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// None is no limit.
    pub timeout: Option<Duration>,
    /// At least 1.
    pub error_threshold: u32,
}

/// Judges a failed try. `errors` are those in a row, this one included where its kind counts.
pub fn judge(
    error: &StepError,
    errors: u32,
    limits: Limits,
    started: Timestamp,
    now: Timestamp,
) -> Verdict {
    let text = error.sentence();
    let status = match error.kind {
        ErrorKind::Failed | ErrorKind::Conflict | ErrorKind::Config => StepStatus::Failed,
        ErrorKind::Refused | ErrorKind::Errored | ErrorKind::Transient => StepStatus::Errored,
    };
    match error.kind {
        ErrorKind::Failed | ErrorKind::Conflict | ErrorKind::Config | ErrorKind::Refused => {
            return Verdict::Ended(status, text);
        }
        ErrorKind::Errored | ErrorKind::Transient => {}
    }
    if errors >= limits.error_threshold {
        let said = if errors > 1 {
            format!("{text} (tried {errors} times)")
        } else {
            text
        };
        return Verdict::Ended(status, said);
    }
    if let Some(limit) = limits.timeout.filter(|limit| started.until(now) > *limit) {
        return Verdict::Ended(StepStatus::Errored, timed_out(limit, &text));
    }
    Verdict::Again(status, format!("{text}; step will be retried"))
}

/// The message of a step whose time is over; keeps what went wrong last.
pub fn timed_out(limit: Duration, last: &str) -> String {
    let base = format!("timed out after {}", words(limit));
    if last.is_empty() {
        base
    } else {
        format!("{base}: {last}")
    }
}

/// A duration as Go writes it, in whole seconds.
pub fn words(span: Duration) -> String {
    let seconds = span.as_secs();
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes, rest) {
        (0, 0, _) if seconds == 0 => format!("{}ms", span.as_millis()),
        (0, 0, rest) => format!("{rest}s"),
        (0, minutes, rest) => format!("{minutes}m{rest}s"),
        (hours, minutes, rest) => format!("{hours}h{minutes}m{rest}s"),
    }
}

fn has_failed(entry: &StepMetadata) -> bool {
    !entry.continue_on_error
        && matches!(entry.status, Some(StepStatus::Failed | StepStatus::Errored))
}

/// Whether a step without a condition is skipped: an earlier one has failed and was not allowed to.
/// `entries` are those of the steps before it: what it did itself must not count.
pub fn skipped_after_failure(entries: &[StepMetadata]) -> bool {
    entries.iter().any(has_failed)
}

/// How the promotion ends: by its worst step that was not allowed to fail, with that step's message.
pub fn conclusion(entries: &[StepMetadata]) -> (Phase, String) {
    let mut worst: Option<&StepMetadata> = None;
    for entry in entries.iter().filter(|entry| !entry.continue_on_error) {
        let severity = |entry: &StepMetadata| entry.status.as_ref().map_or(0, StepStatus::severity);
        if worst.is_none_or(|worst| severity(entry) > severity(worst)) {
            worst = Some(entry);
        }
    }
    let Some(worst) = worst else {
        return (Phase::Succeeded, String::new());
    };
    match worst.status {
        Some(StepStatus::Failed) => (Phase::Failed, worst.message.clone()),
        Some(StepStatus::Aborted) => (Phase::Aborted, worst.message.clone()),
        None | Some(StepStatus::Succeeded | StepStatus::Skipped) => {
            (Phase::Succeeded, String::new())
        }
        Some(_) => (Phase::Errored, worst.message.clone()),
    }
}

/// How long to wait before the next try of a step, after this many errors in a row.
pub fn pause(base: Duration, errors: u32) -> Duration {
    let doubled = base.saturating_mul(
        1_u32
            .checked_shl(errors.saturating_sub(1).min(16))
            .unwrap_or(u32::MAX),
    );
    doubled.min(Duration::from_secs(300)).max(base)
}

/// Whether the entry says that its step is over (a step between two tries has a terminal status, too).
pub fn is_over(entry: &StepMetadata) -> bool {
    let ended = entry.status.as_ref().is_some_and(StepStatus::is_terminal);
    ended && (entry.finished_at.is_some() || entry.started_at.is_none())
}

/// The entry of a step, made at the end where there is none.
pub fn entry<'a>(entries: &'a mut Vec<StepMetadata>, alias: &Alias) -> &'a mut StepMetadata {
    let at = entries
        .iter()
        .position(|entry| entry.alias == *alias)
        .unwrap_or_else(|| {
            entries.push(StepMetadata {
                alias: alias.clone(),
                ..StepMetadata::default()
            });
            entries.len() - 1
        });
    #[expect(clippy::indexing_slicing, reason = "`at` was just found or made")]
    &mut entries[at]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(alias: &str, status: StepStatus, message: &str) -> StepMetadata {
        StepMetadata {
            alias: alias.into(),
            status: Some(status),
            message: message.into(),
            ..Default::default()
        }
    }

    const LIMITS: Limits = Limits {
        timeout: None,
        error_threshold: 3,
    };

    fn at(second: i64) -> Timestamp {
        Timestamp(jiff::Timestamp::from_second(second).unwrap())
    }

    #[test]
    fn kinds_of_errors_decide_between_failed_errored_and_again() {
        let cases = [
            (
                StepError::failed("no"),
                1,
                Verdict::Ended(StepStatus::Failed, "no".into()),
            ),
            (
                StepError::config("bad"),
                1,
                Verdict::Ended(StepStatus::Failed, "bad".into()),
            ),
            (
                StepError::conflict("both"),
                1,
                Verdict::Ended(StepStatus::Failed, "both".into()),
            ),
            (
                StepError::refused("rule"),
                1,
                Verdict::Ended(StepStatus::Errored, "rule".into()),
            ),
            (
                StepError::errored("x"),
                1,
                Verdict::Again(StepStatus::Errored, "x; step will be retried".into()),
            ),
            (
                StepError::errored("x"),
                3,
                Verdict::Ended(StepStatus::Errored, "x (tried 3 times)".into()),
            ),
        ];
        for (error, errors, expected) in cases {
            assert_eq!(
                judge(&error, errors, LIMITS, at(0), at(10)),
                expected,
                "{error}"
            );
        }
    }

    #[test]
    fn a_timeout_keeps_the_last_real_error() {
        let limits = Limits {
            timeout: Some(Duration::from_secs(90)),
            ..LIMITS
        };
        let error = StepError::errored("cannot reach x").because(std::io::Error::other("refused"));
        let verdict = judge(&error, 1, limits, at(0), at(91));
        assert_eq!(
            verdict,
            Verdict::Ended(
                StepStatus::Errored,
                "timed out after 1m30s: cannot reach x: refused".into()
            )
        );
        assert!(matches!(
            judge(&error, 1, limits, at(0), at(89)),
            Verdict::Again(..)
        ));
    }

    /// C55
    #[test]
    fn the_worst_step_names_the_phase_and_the_first_of_them_the_message() {
        use StepStatus::{Errored, Failed, Skipped, Succeeded};
        let entries = [
            meta("a", Failed, "A"),
            meta("b", Failed, "B"),
            meta("c", Succeeded, ""),
        ];
        assert_eq!(conclusion(&entries), (Phase::Failed, "A".into()));
        let entries = [meta("a", Failed, "A"), meta("b", Errored, "B")];
        assert_eq!(conclusion(&entries), (Phase::Errored, "B".into()));
        let mut allowed = meta("a", Errored, "A");
        allowed.continue_on_error = true;
        assert_eq!(
            conclusion(&[allowed.clone(), meta("b", Skipped, "why")]),
            (Phase::Succeeded, String::new())
        );
        assert!(!skipped_after_failure(&[allowed]));
        assert_eq!(conclusion(&[]), (Phase::Succeeded, String::new()));
    }

    #[test]
    fn pauses_double_up_to_five_minutes() {
        let base = Duration::from_secs(1);
        let seconds: Vec<u64> = [1, 2, 3, 9, 10, 60]
            .map(|errors| pause(base, errors).as_secs())
            .to_vec();
        assert_eq!(seconds, [1, 2, 4, 256, 300, 300]);
    }
}
