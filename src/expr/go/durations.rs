//! `time.Duration` in Go's text form.

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
    fraction: i128,
    fraction_scale: i128,
}

impl Amount {
    fn nanoseconds(&self, unit: i128) -> i128 {
        self.whole
            .saturating_mul(unit)
            .saturating_add(self.fraction.saturating_mul(unit) / self.fraction_scale)
    }
}

fn amount(number: &str) -> Option<Amount> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    // More digits than nanoseconds can show change nothing.
    let fraction = fraction.get(..fraction.len().min(18))?;
    let read = |digits: &str| {
        if digits.is_empty() {
            Some(0)
        } else {
            digits.parse::<i128>().ok()
        }
    };
    Some(Amount {
        whole: read(whole)?,
        fraction: read(fraction)?,
        fraction_scale: 10_i128.pow(u32::try_from(fraction.len()).ok()?),
    })
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
