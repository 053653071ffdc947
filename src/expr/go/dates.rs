//! `time`: layouts, as far as expressions use them.

use jiff::civil::{DateTime, Weekday};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Zoned};

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
    /// Digits of a fraction; `true` keeps zeros at the end.
    Fraction(usize, bool),
}

/// Longest first where one begins with another.
const ITEMS: [(&str, Item<'static>); 36] = [
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
    (".000000000", Item::Fraction(9, true)),
    (".000000", Item::Fraction(6, true)),
    (".000", Item::Fraction(3, true)),
    (".999999999", Item::Fraction(9, false)),
];

fn items(layout: &str) -> Vec<Item<'_>> {
    let mut items = Vec::new();
    let (mut rest, mut text_start) = (layout, 0);
    let mut position = 0;
    while !rest.is_empty() {
        let found = ITEMS.iter().find(|(name, _)| rest.starts_with(name));
        let width = match found {
            Some((name, item)) => {
                if let Some(text) = layout.get(text_start..position)
                    && !text.is_empty()
                {
                    items.push(Item::Text(text));
                }
                items.push(*item);
                text_start = position + name.len();
                name.len()
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
        Item::Fraction(digits, keep) => fraction(time, digits, keep),
    }
}

pub(in super::super) fn month_name(time: &Zoned) -> &'static str {
    let index = usize::try_from(time.month() - 1).unwrap_or(0);
    MONTHS.get(index).copied().unwrap_or_default()
}

pub(in super::super) fn day_name(time: &Zoned) -> &'static str {
    let index = usize::try_from(time.weekday().to_monday_zero_offset()).unwrap_or(0);
    DAYS.get(index).copied().unwrap_or_default()
}

/// 0 is Sunday.
pub(in super::super) fn weekday_number(day: Weekday) -> i64 {
    i64::from(day.to_sunday_zero_offset())
}

fn abbreviation(time: &Zoned) -> String {
    time.strftime("%Z").to_string()
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

fn fraction(time: &Zoned, digits: usize, keep: bool) -> String {
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
    format!(".{kept}")
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
    zone.iana_name().unwrap_or("UTC").to_owned()
}

/// `time.LoadLocation`.
pub(in super::super) fn zone(name: &str) -> Result<TimeZone, String> {
    match name {
        "" | "UTC" => Ok(TimeZone::UTC),
        "Local" => Ok(TimeZone::system()),
        _ => TimeZone::get(name).map_err(|_| format!("unknown time zone {name}")),
    }
}

#[derive(Default)]
struct Parts {
    year: Option<i16>,
    month: Option<i8>,
    day: Option<i8>,
    year_day: Option<i16>,
    hour: i8,
    minute: i8,
    second: i8,
    nanosecond: i32,
    afternoon: Option<bool>,
    offset: Option<i32>,
    zone_name: Option<String>,
}

/// `time.ParseInLocation`; `zone` counts where the text names none.
pub(in super::super) fn parse(text: &str, layout: &str, zone: &TimeZone) -> Result<Zoned, String> {
    let fail = || format!("parsing time {text:?} as {layout:?}: cannot parse {text:?}");
    let mut parts = Parts::default();
    let mut rest = text;
    let items = items(layout);
    for item in &items {
        rest = parse_item(rest, *item, &mut parts).ok_or_else(fail)?;
        // Go takes a fraction after seconds also where the layout has none.
        let seconds = matches!(item, Item::Second | Item::Second2);
        let layout_has_fraction = items.iter().any(|item| matches!(item, Item::Fraction(..)));
        if seconds && !layout_has_fraction && rest.starts_with(['.', ',']) {
            rest = parse_fraction(rest, &mut parts).ok_or_else(fail)?;
        }
    }
    if !rest.is_empty() {
        return Err(format!("parsing time {text:?}: extra text: {rest:?}"));
    }
    assemble(parts, zone).ok_or_else(|| format!("parsing time {text:?}: a part is out of range"))
}

fn parse_item<'t>(text: &'t str, item: Item<'_>, parts: &mut Parts) -> Option<&'t str> {
    match item {
        Item::Text(expected) => text.strip_prefix(expected),
        Item::LongMonth => named(text, &MONTHS, usize::MAX, &mut parts.month),
        Item::ShortMonth => named(text, &MONTHS, 3, &mut parts.month),
        Item::LongDay => named(text, &DAYS, usize::MAX, &mut None),
        Item::ShortDay => named(text, &DAYS, 3, &mut None),
        Item::Month | Item::Month2 => {
            let (month, rest) = digits(text, 1, 2)?;
            parts.month = i8::try_from(month).ok();
            Some(rest)
        }
        Item::Day | Item::DaySpace | Item::Day2 => {
            let (day, rest) = digits(text.trim_start_matches(' '), 1, 2)?;
            parts.day = i8::try_from(day).ok();
            Some(rest)
        }
        Item::YearDay3 => {
            let (day, rest) = digits(text, 3, 3)?;
            parts.year_day = i16::try_from(day).ok();
            Some(rest)
        }
        Item::Hour24 | Item::Hour12 | Item::Hour12Two => small(text, &mut parts.hour),
        Item::Minute | Item::Minute2 => small(text, &mut parts.minute),
        Item::Second | Item::Second2 => small(text, &mut parts.second),
        Item::Year => {
            let (year, rest) = digits(text, 4, 4)?;
            parts.year = i16::try_from(year).ok();
            Some(rest)
        }
        Item::Year2 => {
            let (year, rest) = digits(text, 2, 2)?;
            let century = if year >= 69 { 1900 } else { 2000 };
            parts.year = i16::try_from(year + century).ok();
            Some(rest)
        }
        Item::UpperHalf | Item::LowerHalf => parse_half(text, parts),
        Item::ZoneName => parse_zone_name(text, parts),
        Item::Offset(zulu, form) => parse_offset(text, zulu, form, parts),
        Item::Fraction(..) if text.starts_with(['.', ',']) => parse_fraction(text, parts),
        Item::Fraction(_, keep) => (!keep).then_some(text),
    }
}

fn digits(text: &str, least: usize, most: usize) -> Option<(i64, &str)> {
    let count = text
        .chars()
        .take(most)
        .take_while(char::is_ascii_digit)
        .count();
    if count < least {
        return None;
    }
    let (number, rest) = text.split_at_checked(count)?;
    Some((number.parse().ok()?, rest))
}

fn small<'t>(text: &'t str, into: &mut i8) -> Option<&'t str> {
    let (number, rest) = digits(text, 1, 2)?;
    *into = i8::try_from(number).ok()?;
    Some(rest)
}

fn named<'t>(
    text: &'t str,
    names: &[&str],
    length: usize,
    into: &mut Option<i8>,
) -> Option<&'t str> {
    let (index, width) = names.iter().enumerate().find_map(|(index, name)| {
        let name: String = name.chars().take(length).collect();
        let head = text.get(..name.len())?;
        head.eq_ignore_ascii_case(&name)
            .then_some((index, name.len()))
    })?;
    *into = i8::try_from(index + 1).ok();
    text.get(width..)
}

fn parse_half<'t>(text: &'t str, parts: &mut Parts) -> Option<&'t str> {
    let (head, rest) = text.split_at_checked(2)?;
    parts.afternoon = match head {
        "AM" | "am" => Some(false),
        "PM" | "pm" => Some(true),
        _ => return None,
    };
    Some(rest)
}

fn parse_zone_name<'t>(text: &'t str, parts: &mut Parts) -> Option<&'t str> {
    let width = text
        .find(|c: char| !c.is_ascii_uppercase())
        .unwrap_or(text.len());
    let (name, rest) = text.split_at_checked(width)?;
    if !(3..=5).contains(&name.len()) {
        return None;
    }
    parts.zone_name = Some(name.to_owned());
    Some(rest)
}

fn parse_offset<'t>(text: &'t str, zulu: bool, form: &str, parts: &mut Parts) -> Option<&'t str> {
    if zulu && let Some(rest) = text.strip_prefix('Z') {
        parts.offset = Some(0);
        return Some(rest);
    }
    let sign = match text.chars().next()? {
        '+' => 1,
        '-' => -1,
        _ => return None,
    };
    let mut rest = text.get(1..)?;
    let mut seconds = 0;
    for part in form.chars() {
        if part == ':' {
            rest = rest.strip_prefix(':')?;
            continue;
        }
        let (number, after) = digits(rest, 2, 2)?;
        let scale = match part {
            'h' => 3600,
            'm' => 60,
            _ => 1,
        };
        seconds += i32::try_from(number).ok()? * scale;
        rest = after;
    }
    parts.offset = Some(sign * seconds);
    Some(rest)
}

fn parse_fraction<'t>(text: &'t str, parts: &mut Parts) -> Option<&'t str> {
    let rest = text.get(1..)?;
    let width = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (digits, rest) = rest.split_at_checked(width)?;
    if digits.is_empty() {
        return None;
    }
    let nine: String = digits.chars().chain("000000000".chars()).take(9).collect();
    parts.nanosecond = nine.parse().ok()?;
    Some(rest)
}

fn assemble(parts: Parts, zone: &TimeZone) -> Option<Zoned> {
    let hour = match parts.afternoon {
        Some(true) if parts.hour < 12 => parts.hour + 12,
        Some(false) if parts.hour == 12 => 0,
        _ => parts.hour,
    };
    let civil = DateTime::new(
        parts.year.unwrap_or(0),
        parts.month.unwrap_or(1),
        parts.day.unwrap_or(1),
        hour,
        parts.minute,
        parts.second,
        parts.nanosecond,
    )
    .ok()?;
    let civil = match parts.year_day {
        Some(day) if parts.month.is_none() => civil.with().day_of_year(day).build().ok()?,
        _ => civil,
    };
    let zone = match (parts.offset, parts.zone_name.as_deref()) {
        // Where the zone has this very offset then, Go keeps the zone.
        (Some(seconds), _) => {
            let offset = Offset::from_seconds(seconds).ok()?;
            let instant = offset.to_timestamp(civil).ok()?;
            if zone.to_offset(instant) == offset {
                return Some(instant.to_zoned(zone.clone()));
            }
            TimeZone::fixed(offset)
        }
        (None, Some("UTC")) => TimeZone::UTC,
        // A name that the zone does not use is taken for UTC, as Go does.
        (None, Some(name)) => {
            let there = civil.to_zoned(zone.clone()).ok()?;
            if abbreviation(&there) == name {
                return Some(there);
            }
            TimeZone::UTC
        }
        (None, None) => zone.clone(),
    };
    civil.to_zoned(zone).ok()
}

/// The difference in nanoseconds, kept within Go's range of durations.
pub(in super::super) fn difference(left: &Zoned, right: &Zoned) -> i64 {
    let nanoseconds = left.duration_since(right).as_nanos();
    i64::try_from(nanoseconds).unwrap_or(if nanoseconds < 0 { i64::MIN } else { i64::MAX })
}

/// A time later by so many nanoseconds; `None` beyond the calendar.
pub(in super::super) fn shifted(time: &Zoned, nanoseconds: i64) -> Option<Zoned> {
    time.checked_add(SignedDuration::from_nanos(nanoseconds))
        .ok()
}
