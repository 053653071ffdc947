//! `time`: layouts, as far as expressions use them.

use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Zoned};

mod named;
mod parse;

pub(in super::super) use named::{month, weekday};
pub(in super::super) use parse::parse;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

/// The layouts that `date(text)` tries, in this order.
pub(in super::super) const USUAL_LAYOUTS: [&str; 7] = [
    "2006-01-02",
    "15:04:05",
    "2006-01-02 15:04:05",
    "2006-01-02T15:04:05Z07:00",
    "02 Jan 06 15:04 MST",
    "Monday, 02-Jan-06 15:04:05 MST",
    "Mon, 02 Jan 2006 15:04:05 MST",
];

#[derive(Clone, Copy, PartialEq)]
enum Item<'l> {
    Text(&'l str),
    LongMonth,
    ShortMonth,
    Month,
    Month2,
    LongDay,
    ShortDay,
    Day,
    DaySpace,
    Day2,
    YearDay3,
    YearDaySpace,
    Hour24,
    Hour12,
    Hour12Two,
    Minute,
    Minute2,
    Second,
    Second2,
    Year,
    Year2,
    UpperHalf,
    LowerHalf,
    ZoneName,
    /// Whether UTC is written `Z`, and the form of anything else.
    Offset(bool, &'static str),
    /// The point or comma, and digits of a fraction; `true` keeps zeros at the end.
    Fraction(char, usize, bool),
}

/// Longest first where one begins with another.
const ITEMS: [(&str, Item<'static>); 33] = [
    ("January", Item::LongMonth),
    ("Jan", Item::ShortMonth),
    ("Monday", Item::LongDay),
    ("Mon", Item::ShortDay),
    ("MST", Item::ZoneName),
    ("2006", Item::Year),
    ("002", Item::YearDay3),
    ("01", Item::Month2),
    ("02", Item::Day2),
    ("03", Item::Hour12Two),
    ("04", Item::Minute2),
    ("05", Item::Second2),
    ("06", Item::Year2),
    ("15", Item::Hour24),
    ("1", Item::Month),
    ("__2", Item::YearDaySpace),
    ("_2", Item::DaySpace),
    ("2", Item::Day),
    ("3", Item::Hour12),
    ("4", Item::Minute),
    ("5", Item::Second),
    ("PM", Item::UpperHalf),
    ("pm", Item::LowerHalf),
    ("-07:00:00", Item::Offset(false, "h:m:s")),
    ("-070000", Item::Offset(false, "hms")),
    ("-07:00", Item::Offset(false, "h:m")),
    ("-0700", Item::Offset(false, "hm")),
    ("-07", Item::Offset(false, "h")),
    ("Z07:00:00", Item::Offset(true, "h:m:s")),
    ("Z070000", Item::Offset(true, "hms")),
    ("Z07:00", Item::Offset(true, "h:m")),
    ("Z0700", Item::Offset(true, "hm")),
    ("Z07", Item::Offset(true, "h")),
];

fn items(layout: &str) -> Vec<Item<'_>> {
    let mut items = Vec::new();
    let (mut rest, mut text_start) = (layout, 0);
    let mut position = 0;
    while !rest.is_empty() {
        let found = ITEMS
            .iter()
            .find(|(name, item)| rest.starts_with(name) && !is_other_word(rest, name, *item))
            .map(|(name, item)| (name.len(), *item))
            .or_else(|| fraction_item(rest));
        let width = match found {
            Some((width, item)) => {
                if let Some(text) = layout.get(text_start..position)
                    && !text.is_empty()
                {
                    items.push(Item::Text(text));
                }
                items.push(item);
                text_start = position + width;
                width
            }
            None => rest.chars().next().map_or(1, char::len_utf8),
        };
        position += width;
        rest = layout.get(position..).unwrap_or_default();
    }
    if let Some(text) = layout.get(text_start..)
        && !text.is_empty()
    {
        items.push(Item::Text(text));
    }
    items
}

/// `Month` is no short Monday: short names end where no small letter follows. `_2006` is a year.
fn is_other_word(rest: &str, name: &str, item: Item<'_>) -> bool {
    let after = rest.get(name.len()..).unwrap_or_default();
    match item {
        Item::ShortMonth | Item::ShortDay => after.starts_with(|c: char| c.is_ascii_lowercase()),
        Item::DaySpace => after.starts_with("006"),
        _ => false,
    }
}

/// A point or comma, then only zeros or only nines.
fn fraction_item(rest: &str) -> Option<(usize, Item<'static>)> {
    let separator = rest.chars().next()?;
    let digits = rest.strip_prefix(['.', ','])?;
    let kind = digits.chars().next().filter(|c| matches!(c, '0' | '9'))?;
    let count = digits.chars().take_while(|c| *c == kind).count();
    let ends = !digits
        .chars()
        .nth(count)
        .is_some_and(|c| c.is_ascii_digit());
    ends.then_some((count + 1, Item::Fraction(separator, count, kind == '0')))
}

/// `Time.Format`.
pub(in super::super) fn format(time: &Zoned, layout: &str) -> String {
    items(layout)
        .into_iter()
        .map(|item| format_item(time, item))
        .collect()
}

fn format_item(time: &Zoned, item: Item<'_>) -> String {
    let twelve = (time.hour() + 11) % 12 + 1;
    let half = if time.hour() < 12 { "AM" } else { "PM" };
    match item {
        Item::Text(text) => text.to_owned(),
        Item::LongMonth => month_name(time).to_owned(),
        Item::ShortMonth => month_name(time).chars().take(3).collect(),
        Item::Month => time.month().to_string(),
        Item::Month2 => format!("{:02}", time.month()),
        Item::LongDay => day_name(time).to_owned(),
        Item::ShortDay => day_name(time).chars().take(3).collect(),
        Item::Day => time.day().to_string(),
        Item::DaySpace => format!("{:>2}", time.day()),
        Item::Day2 => format!("{:02}", time.day()),
        Item::YearDay3 => format!("{:03}", time.day_of_year()),
        Item::YearDaySpace => format!("{:>3}", time.day_of_year()),
        Item::Hour24 => format!("{:02}", time.hour()),
        Item::Hour12 => twelve.to_string(),
        Item::Hour12Two => format!("{twelve:02}"),
        Item::Minute => time.minute().to_string(),
        Item::Minute2 => format!("{:02}", time.minute()),
        Item::Second => time.second().to_string(),
        Item::Second2 => format!("{:02}", time.second()),
        Item::Year => format!("{:04}", time.year()),
        Item::Year2 => format!("{:02}", time.year().rem_euclid(100)),
        Item::UpperHalf => half.to_owned(),
        Item::LowerHalf => half.to_lowercase(),
        Item::ZoneName => abbreviation(time),
        Item::Offset(zulu, form) => offset(time, zulu, form),
        Item::Fraction(separator, digits, keep) => fraction(time, separator, digits, keep),
    }
}

fn month_name(time: &Zoned) -> &'static str {
    let index = usize::try_from(time.month() - 1).unwrap_or(0);
    MONTHS.get(index).copied().unwrap_or_default()
}

fn day_name(time: &Zoned) -> &'static str {
    let index = usize::try_from(time.weekday().to_monday_zero_offset()).unwrap_or(0);
    DAYS.get(index).copied().unwrap_or_default()
}

fn abbreviation(time: &Zoned) -> String {
    let name = time.strftime("%Z").to_string();
    if time.time_zone().iana_name().is_none() && name.starts_with(['+', '-']) {
        return offset(time, false, "hm");
    }
    name
}

fn offset(time: &Zoned, zulu: bool, form: &str) -> String {
    let seconds = time.offset().seconds();
    if zulu && seconds == 0 {
        return "Z".to_owned();
    }
    let sign = if seconds < 0 { '-' } else { '+' };
    let size = seconds.abs();
    let (h, m, s) = (size / 3600, size / 60 % 60, size % 60);
    match form {
        "h" => format!("{sign}{h:02}"),
        "hm" => format!("{sign}{h:02}{m:02}"),
        "h:m" => format!("{sign}{h:02}:{m:02}"),
        "hms" => format!("{sign}{h:02}{m:02}{s:02}"),
        _ => format!("{sign}{h:02}:{m:02}:{s:02}"),
    }
}

fn fraction(time: &Zoned, separator: char, digits: usize, keep: bool) -> String {
    let all = format!("{:09}", time.subsec_nanosecond());
    let kept: String = all.chars().take(digits).collect();
    let kept = if keep {
        kept.as_str()
    } else {
        kept.trim_end_matches('0')
    };
    if kept.is_empty() {
        return String::new();
    }
    format!("{separator}{kept}")
}

/// `time.RFC3339Nano`, what JSON holds.
pub(in super::super) fn rfc3339(time: &Zoned) -> String {
    format(time, "2006-01-02T15:04:05.999999999Z07:00")
}

/// `Time.String()`.
pub(in super::super) fn print(time: &Zoned) -> String {
    format(time, "2006-01-02 15:04:05.999999999 -0700 MST")
}

/// `Location.String()`.
pub(in super::super) fn zone_name(zone: &TimeZone) -> String {
    let fixed = if *zone == TimeZone::UTC { "UTC" } else { "" };
    zone.iana_name().unwrap_or(fixed).to_owned()
}

/// `time.LoadLocation`.
pub(in super::super) fn zone(name: &str) -> Result<TimeZone, String> {
    match name {
        "" | "UTC" => Ok(TimeZone::UTC),
        "Local" => Ok(TimeZone::system()),
        // The files that Go reads have their names in one spelling.
        _ => TimeZone::get(name)
            .ok()
            .filter(|zone| zone.iana_name() == Some(name))
            .ok_or_else(|| format!("unknown time zone {name}")),
    }
}

/// The instant of a local time. Where clocks are set there are none or two: Go takes the offset that
/// counts at the same hour in UTC, and if that does not count at the instant found, the one that does.
pub(super) fn local(civil: DateTime, zone: &TimeZone) -> Option<Zoned> {
    let guess = Offset::UTC.to_timestamp(civil).ok()?;
    let offset = zone.to_offset(guess);
    let instant = offset.to_timestamp(civil).ok()?;
    let there = zone.to_offset(instant);
    let instant = if there == offset {
        instant
    } else {
        there.to_timestamp(civil).ok()?
    };
    Some(instant.to_zoned(zone.clone()))
}

/// `Time.Truncate` and `Time.Round`, counted from the year 1; no length changes nothing.
pub(in super::super) fn rounded(time: &Zoned, nanoseconds: i64, up: bool) -> Option<Zoned> {
    /// Seconds from the year 1 to 1970.
    const TO_1970: i128 = 62_135_596_800;
    let length = i128::from(nanoseconds);
    if length <= 0 {
        return Some(time.clone());
    }
    let since = time.timestamp().as_nanosecond() + TO_1970 * 1_000_000_000;
    let over = since.rem_euclid(length);
    let change = if up && over + over >= length {
        length - over
    } else {
        -over
    };
    shifted(time, i64::try_from(change).ok()?)
}

/// The difference in nanoseconds, kept within Go's range of durations.
pub(in super::super) fn difference(left: &Zoned, right: &Zoned) -> i64 {
    let nanoseconds = left.duration_since(right).as_nanos();
    i64::try_from(nanoseconds).unwrap_or(if nanoseconds < 0 { i64::MIN } else { i64::MAX })
}

/// `Time.AddDate`: a day that the month does not have runs over into the next one.
pub(in super::super) fn add_date(
    time: &Zoned,
    years: i64,
    months: i64,
    days: i64,
) -> Option<Zoned> {
    let civil = time.datetime();
    let month = (i64::from(civil.year()).checked_add(years)?)
        .checked_mul(12)?
        .checked_add(i64::from(civil.month()) - 1)?
        .checked_add(months)?;
    let first = civil
        .with()
        .year(i16::try_from(month.div_euclid(12)).ok()?)
        .month(i8::try_from(month.rem_euclid(12) + 1).ok()?)
        .day(1)
        .build()
        .ok()?;
    let days = days.checked_add(i64::from(civil.day()) - 1)?;
    let span = jiff::Span::new().try_days(days).ok()?;
    let there = first.checked_add(span).ok()?;
    local(there, time.time_zone())
}

/// A time later by so many nanoseconds; `None` beyond the calendar.
pub(in super::super) fn shifted(time: &Zoned, nanoseconds: i64) -> Option<Zoned> {
    time.checked_add(SignedDuration::from_nanos(nanoseconds))
        .ok()
}
