//! Go's durations, as Kargo's fields hold them: `5m`, `1h0m0s`, `1.5h`.

use std::{fmt, str::FromStr, time::Duration};

const SECOND: i64 = 1_000_000_000;

/// A span of time to the nanosecond, written and read as Go does. May be negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GoDuration(i64);

/// Why a text is no duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no duration: {problem}")]
pub struct DurationError {
    text: String,
    problem: &'static str,
}

impl GoDuration {
    /// So many seconds.
    pub fn from_secs(seconds: i64) -> Self {
        Self(seconds.saturating_mul(SECOND))
    }

    /// As an unsigned span; zero where it is negative.
    pub fn to_std(self) -> Duration {
        Duration::from_nanos(u64::try_from(self.0).unwrap_or_default())
    }

    /// Whether it is zero or less, which Kargo's timeouts take for no limit.
    pub fn is_none(self) -> bool {
        self.0 <= 0
    }
}

impl From<Duration> for GoDuration {
    fn from(span: Duration) -> Self {
        Self(i64::try_from(span.as_nanos()).unwrap_or(i64::MAX))
    }
}

/// Nanoseconds in `unit`; both micro signs are read.
fn unit_nanos(unit: &str) -> Option<i64> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => SECOND,
        "m" => 60 * SECOND,
        "h" => 3_600 * SECOND,
        _ => return None,
    })
}

/// Splits off the leading characters that `accept` takes.
fn take(text: &str, accept: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|letter| !accept(letter)).unwrap_or(text.len()))
}

/// `0.<digits>` of a unit of `nanos`, cut to whole nanoseconds.
fn fraction_nanos(digits: &str, nanos: i128) -> i128 {
    // More decimals than this are below a nanosecond of any unit.
    let digits: String = digits.chars().take(18).collect();
    let scale = digits.chars().fold(1_i128, |scale, _| scale * 10);
    digits.parse::<i128>().unwrap_or_default() * nanos / scale
}

fn parse_parts(text: &str) -> Result<i128, &'static str> {
    let mut rest = text;
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let (whole, after) = take(rest, |letter| letter.is_ascii_digit());
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => take(after, |letter| letter.is_ascii_digit()),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err("a number is expected");
        }
        let (unit, after) = take(after, |letter| letter != '.' && !letter.is_ascii_digit());
        if unit.is_empty() {
            return Err("a unit is missing");
        }
        let nanos =
            i128::from(unit_nanos(unit).ok_or("the unit is unknown (ns, us, ms, s, m, h)")?);
        let whole: i128 = if whole.is_empty() {
            0
        } else {
            whole.parse().map_err(|_| "too long")?
        };
        total = whole
            .checked_mul(nanos)
            .and_then(|part| total.checked_add(part))
            .ok_or("too long")?;
        total += fraction_nanos(fraction, nanos);
        rest = after;
    }
    Ok(total)
}

impl FromStr for GoDuration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        let wrong = |problem| DurationError {
            text: text.to_owned(),
            problem,
        };
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        if digits == "0" {
            return Ok(Self(0));
        }
        if digits.is_empty() {
            return Err(wrong("it is empty"));
        }
        let total = parse_parts(digits).map_err(wrong)?;
        let signed = if negative { -total } else { total };
        i64::try_from(signed)
            .map(Self)
            .map_err(|_| wrong("too long"))
    }
}

/// `value` of a unit of `nanos`, with as many decimals as there are.
fn decimal(value: u64, nanos: u64) -> String {
    let (whole, mut part) = (value / nanos, value % nanos);
    if part == 0 {
        return whole.to_string();
    }
    let mut width = nanos.ilog10() as usize;
    while part % 10 == 0 {
        part /= 10;
        width -= 1;
    }
    format!("{whole}.{part:0width$}")
}

impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let nanos = self.0.unsigned_abs();
        let text = match nanos {
            0 => "0s".to_owned(),
            1..1_000 => format!("{nanos}ns"),
            1_000..1_000_000 => format!("{}µs", decimal(nanos, 1_000)),
            1_000_000..1_000_000_000 => format!("{}ms", decimal(nanos, 1_000_000)),
            _ => {
                let minutes = nanos / 60_000_000_000;
                let seconds = decimal(nanos % 60_000_000_000, 1_000_000_000);
                match (minutes / 60, minutes % 60) {
                    (0, 0) => format!("{seconds}s"),
                    (0, minutes) => format!("{minutes}m{seconds}s"),
                    (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
                }
            }
        };
        f.pad(&format!("{sign}{text}"))
    }
}

/// A span for people, at most two units: `45s`, `12m`, `1h5m`, `3d4h`.
pub fn human(span: Duration) -> String {
    let seconds = span.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, minutes) => format!("{minutes}m"),
        (0, hours, 0) => format!("{hours}h"),
        (0, hours, minutes) => format!("{hours}h{minutes}m"),
        (days, 0, _) => format!("{days}d"),
        (days, hours, _) => format!("{days}d{hours}h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_spans_and_back() {
        for (text, nanos, back) in [
            ("0", 0, "0s"),
            ("5m", 300_000_000_000, "5m0s"),
            ("1h", 3_600_000_000_000, "1h0m0s"),
            ("1h0m0s", 3_600_000_000_000, "1h0m0s"),
            ("1.5h", 5_400_000_000_000, "1h30m0s"),
            (".5s", 500_000_000, "500ms"),
            ("1.s", 1_000_000_000, "1s"),
            ("-1.5s", -1_500_000_000, "-1.5s"),
            ("+90s", 90_000_000_000, "1m30s"),
            ("1m0.05s", 60_050_000_000, "1m0.05s"),
            ("15us", 15_000, "15µs"),
            ("1500µs", 1_500_000, "1.5ms"),
            ("3μs", 3_000, "3µs"),
            ("7ns", 7, "7ns"),
            ("0.000000001h", 3_600, "3.6µs"),
            (
                "2540400h10m10s",
                9_145_440_610_000_000_000,
                "2540400h10m10s",
            ),
        ] {
            let read: GoDuration = text.parse().unwrap();
            assert_eq!((read.0, read.to_string().as_str()), (nanos, back), "{text}");
        }
    }

    #[test]
    fn what_go_refuses_is_refused() {
        for text in [
            "",
            "-",
            "5",
            "m",
            ".s",
            "1d",
            "5 m",
            "1h-2m",
            "9223372036854775808ns",
            "99999999999999999999999h",
            "1m1",
            "²s",
        ] {
            assert!(text.parse::<GoDuration>().is_err(), "{text}");
        }
    }

    #[test]
    fn people_read_two_units() {
        for (seconds, text) in [
            (0, "0s"),
            (59, "59s"),
            (61, "1m"),
            (3_600, "1h"),
            (3_900, "1h5m"),
            (86_400, "1d"),
            (100_000, "1d3h"),
        ] {
            assert_eq!(human(Duration::from_secs(seconds)), text);
        }
    }
}
