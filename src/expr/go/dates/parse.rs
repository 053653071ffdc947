//! Reading times by layout.

use jiff::Zoned;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};

use super::{DAYS, Item, MONTHS, abbreviation, items, local};

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
pub(in super::super::super) fn parse(
    text: &str,
    layout: &str,
    zone: &TimeZone,
) -> Result<Zoned, String> {
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
            let least = if item == Item::Month2 { 2 } else { 1 };
            let (month, rest) = digits(text, least, 2)?;
            parts.month = i8::try_from(month).ok();
            Some(rest)
        }
        Item::Day | Item::DaySpace | Item::Day2 => {
            let least = if item == Item::Day2 { 2 } else { 1 };
            let text = match item {
                Item::DaySpace => text.strip_prefix(' ').unwrap_or(text),
                _ => text,
            };
            let (day, rest) = digits(text, least, 2)?;
            parts.day = i8::try_from(day).ok();
            Some(rest)
        }
        Item::YearDay3 | Item::YearDaySpace => {
            let spaces = match item {
                Item::YearDaySpace => text.chars().take(2).take_while(|c| *c == ' ').count(),
                _ => 0,
            };
            let (day, rest) = digits(text.get(spaces..)?, 3 - spaces, 3 - spaces)?;
            parts.year_day = i16::try_from(day).ok();
            Some(rest)
        }
        Item::Hour24 | Item::Hour12 => small(text, 1, &mut parts.hour),
        Item::Hour12Two => small(text, 2, &mut parts.hour),
        Item::Minute => small(text, 1, &mut parts.minute),
        Item::Minute2 => small(text, 2, &mut parts.minute),
        Item::Second => small(text, 1, &mut parts.second),
        Item::Second2 => small(text, 2, &mut parts.second),
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
        Item::Fraction(_, count, true) => {
            let (head, rest) = text.split_at_checked(count + 1)?;
            parse_fraction(head, parts)?.is_empty().then_some(rest)
        }
        Item::Fraction(..) if text.starts_with(['.', ',']) => parse_fraction(text, parts),
        Item::Fraction(..) => Some(text),
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

fn small<'t>(text: &'t str, least: usize, into: &mut i8) -> Option<&'t str> {
    let (number, rest) = digits(text, least, 2)?;
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
        // A name that the zone does not use is shown, but its offset is not known, as in Go.
        (None, Some(name)) => {
            let there = local(civil, zone)?;
            if abbreviation(&there) == name {
                return Some(there);
            }
            TimeZone::posix(&format!("{name}0")).unwrap_or(TimeZone::UTC)
        }
        (None, None) => zone.clone(),
    };
    local(civil, &zone)
}
