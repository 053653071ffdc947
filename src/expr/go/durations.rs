//! `time.Duration` in Go's text form.

use super::super::value::Value;

const UNITS: [(&str, i128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// `time.ParseDuration`, in nanoseconds.
pub(in super::super) fn parse(text: &str) -> Result<i64, String> {
    let invalid = || format!("time: invalid duration {text:?}");
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let number_end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, after) = rest.split_at(number_end);
        let unit_end = after
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        if unit.is_empty() && !number.is_empty() {
            return Err(format!("time: missing unit in duration {text:?}"));
        }
        let scale = UNITS.iter().find(|(name, _)| *name == unit);
        let part = amount(number).ok_or_else(invalid)?;
        let (_, scale) =
            scale.ok_or_else(|| format!("time: unknown unit {unit:?} in duration {text:?}"))?;
        total = total.saturating_add(part.nanoseconds(*scale));
        rest = after;
    }
    let total = if negative { -total } else { total };
    i64::try_from(total).map_err(|_| invalid())
}

struct Amount {
    whole: i128,
    fraction: u64,
    fraction_scale: f64,
}

impl Amount {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "Go computes the fraction in floats, which shows in the last digits"
    )]
    fn nanoseconds(&self, unit: i128) -> i128 {
        let part = self.fraction as f64 * (unit as f64 / self.fraction_scale);
        self.whole.saturating_mul(unit).saturating_add(part as i128)
    }
}

fn amount(number: &str) -> Option<Amount> {
    let (whole, digits) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && digits.is_empty()) || digits.contains('.') {
        return None;
    }
    let whole = match whole {
        "" => 0,
        digits => digits.parse().ok()?,
    };
    let (mut fraction, mut fraction_scale) = (0_u64, 1.0);
    for digit in digits.chars().map_while(|c| c.to_digit(10)) {
        let longer = fraction.checked_mul(10)?.checked_add(u64::from(digit))?;
        // What an int cannot hold is not read, as in Go.
        if i64::try_from(longer).is_err() {
            break;
        }
        fraction = longer;
        fraction_scale *= 10.0;
    }
    Some(Amount {
        whole,
        fraction,
        fraction_scale,
    })
}

/// `Duration.Truncate` and `Duration.Round`, by name.
pub(in super::super) fn rounded(nanoseconds: i64, unit: i64, method: &str) -> Option<Value> {
    let up = match method {
        "Truncate" => false,
        "Round" => true,
        _ => return None,
    };
    if unit <= 0 {
        return Some(Value::Duration(nanoseconds));
    }
    let over = nanoseconds % unit;
    let down = nanoseconds - over;
    let half = over.unsigned_abs().saturating_mul(2) >= unit.unsigned_abs();
    let made = match (up && half, nanoseconds < 0) {
        (false, _) => down,
        (true, false) => down.saturating_add(unit),
        (true, true) => down.saturating_sub(unit),
    };
    Some(Value::Duration(made))
}

/// `Duration.String()`.
pub(in super::super) fn print(nanoseconds: i64) -> String {
    if nanoseconds == 0 {
        return "0s".to_owned();
    }
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let size = nanoseconds.unsigned_abs();
    if size < 1_000_000_000 {
        let (unit, scale) = match size {
            0..1_000 => ("ns", 1),
            1_000..1_000_000 => ("µs", 1_000),
            _ => ("ms", 1_000_000),
        };
        return format!("{sign}{}{unit}", decimal(size, scale));
    }
    let seconds = decimal(size % 60_000_000_000, 1_000_000_000);
    let minutes = size / 60_000_000_000;
    let (hours, minutes_left) = (minutes / 60, minutes % 60);
    if hours > 0 {
        return format!("{sign}{hours}h{minutes_left}m{seconds}s");
    }
    if minutes > 0 {
        return format!("{sign}{minutes}m{seconds}s");
    }
    format!("{sign}{seconds}s")
}

fn decimal(amount: u64, scale: u64) -> String {
    let (whole, fraction) = (amount / scale, amount % scale);
    if fraction == 0 {
        return whole.to_string();
    }
    let width = scale.to_string().len() - 1;
    let digits = format!("{fraction:0>width$}");
    format!("{whole}.{}", digits.trim_end_matches('0'))
}
