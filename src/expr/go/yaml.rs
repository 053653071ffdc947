//! `yaml.Marshal` of yaml.v3: four spaces, sorted keys, quotes only where the text would read as something else.

use super::super::value::{Key, Map, Value};
use super::{dates, durations, numbers, print};

/// The YAML document of `value`, with its last newline.
pub(in super::super) fn marshal(value: &Value) -> Result<String, String> {
    let mut out = String::new();
    match value {
        Value::Object(object) => return marshal(&object.marshal()),
        Value::List(list) if !list.items().is_empty() => block(&mut out, value, 0, false),
        Value::Map(map) if !map.entries().is_empty() => block(&mut out, value, 0, false),
        Value::Record(_) => block(&mut out, value, 0, false),
        _ => {
            out.push_str(&scalar(value, INDENT));
            out.push('\n');
        }
    }
    Ok(out)
}

const INDENT: usize = 4;

/// yaml.v3 keeps to multiples of four, also below the two columns that `- ` takes.
fn deeper(indent: usize) -> usize {
    (indent / INDENT + 1) * INDENT
}

/// A map or list with content. `inline` is true right after `- `, where the first line needs no indent.
fn block(out: &mut String, value: &Value, indent: usize, inline: bool) {
    let mut first = inline;
    match value {
        Value::List(list) => {
            for item in list.items() {
                margin(out, indent, &mut first);
                out.push('-');
                if is_block(item) {
                    out.push(' ');
                    block(out, item, indent + 2, true);
                } else {
                    inline_scalar(out, item, indent + 2);
                }
            }
        }
        Value::Map(map) => {
            for (key, value) in natural(map) {
                margin(out, indent, &mut first);
                entry(out, &key_text(key, indent), value, indent);
            }
        }
        Value::Record(record) => {
            for field in &record.fields {
                margin(out, indent, &mut first);
                entry(out, &field.name.to_lowercase(), &field.value, indent);
            }
        }
        Value::Object(object) => block(out, &object.marshal(), indent, inline),
        _ => {}
    }
}

fn margin(out: &mut String, indent: usize, first: &mut bool) {
    if !*first {
        out.push_str(&" ".repeat(indent));
    }
    *first = false;
}

fn entry(out: &mut String, key: &str, value: &Value, indent: usize) {
    out.push_str(key);
    out.push(':');
    if is_block(value) && key.starts_with("? ") {
        out.push_str("   ");
        block(out, value, deeper(indent), true);
    } else if is_block(value) {
        out.push('\n');
        block(out, value, deeper(indent), false);
    } else {
        inline_scalar(out, value, deeper(indent));
    }
}

/// `indent` is where further lines of a literal begin.
fn inline_scalar(out: &mut String, value: &Value, indent: usize) {
    out.push(' ');
    out.push_str(&scalar(value, indent));
    out.push('\n');
}

fn is_block(value: &Value) -> bool {
    match value {
        Value::List(list) => !list.items().is_empty(),
        Value::Map(map) => !map.entries().is_empty(),
        Value::Record(_) => true,
        Value::Object(object) => is_block(&object.marshal()),
        _ => false,
    }
}

fn scalar(value: &Value, indent: usize) -> String {
    match value {
        Value::Nil => "null".to_owned(),
        Value::Str(text) => string(text, indent),
        Value::Float(number) if number.is_nan() => ".nan".to_owned(),
        Value::Float(number) if number.is_infinite() => {
            if *number > 0.0 { ".inf" } else { "-.inf" }.to_owned()
        }
        Value::List(_) => "[]".to_owned(),
        Value::Map(_) => "{}".to_owned(),
        Value::Duration(nanoseconds) => durations::print(*nanoseconds),
        Value::Time(time) => dates::rfc3339(time),
        Value::Object(object) => scalar(&object.marshal(), indent),
        other => print::plain(other),
    }
}

/// A key of several lines is written out with `? `.
fn key_text(key: &Key, indent: usize) -> String {
    match key {
        Key::Nil => "null".to_owned(),
        Key::Str(text) if text.contains(['\n', '\r', '\u{85}']) => {
            let text = string(text, deeper(indent));
            format!("? {text}\n{}", " ".repeat(indent))
        }
        Key::Str(text) => string(text, 0),
        other => print::plain(&other.to_value()),
    }
}

/// In this order: text with lines is literal, text that reads as something else is in double quotes,
/// the rest is plain where the characters allow it.
fn string(text: &str, indent: usize) -> String {
    let special = text.chars().any(|c| !is_printable(c) && c != '\t');
    if text.contains('\n') {
        if special || text.ends_with(' ') || text.contains(" \n") {
            return double_quoted(text);
        }
        return literal(text, indent);
    }
    if special || text.contains('\t') || reads_as_other(text) {
        return double_quoted(text);
    }
    if plain_is_safe(text) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "''"))
}

/// What yaml.v3 writes as it is: nothing beyond the basic plane, and no byte order mark.
fn is_printable(c: char) -> bool {
    match c {
        '\u{feff}' => false,
        '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' => true,
        _ => false,
    }
}

fn literal(text: &str, indent: usize) -> String {
    let mut out = String::from("|");
    if text.starts_with([' ', '\n']) {
        out.push_str(&INDENT.to_string());
    }
    if !text.ends_with('\n') {
        out.push('-');
    } else if text == "\n" || text.ends_with("\n\n") {
        out.push('+');
    }
    let body = text.strip_suffix('\n').unwrap_or(text);
    for line in body.split('\n') {
        out.push('\n');
        if !line.is_empty() {
            out.push_str(&" ".repeat(indent));
            out.push_str(line);
        }
    }
    out
}

/// Text that a YAML 1.1 or 1.2 reader takes for null, a bool, a number or a date.
fn reads_as_other(text: &str) -> bool {
    const WORDS: [&str; 13] = [
        "", "~", "null", "true", "false", "y", "n", "yes", "no", "on", "off", ".nan", ".inf",
    ];
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let lower = unsigned.to_ascii_lowercase();
    let signed = unsigned.len() != text.len();
    if WORDS.contains(&lower.as_str()) && (!signed || lower == ".inf") {
        let cased = [lower.to_ascii_uppercase(), capital(&lower), lower];
        return unsigned == ".NaN" || cased.iter().any(|form| form == unsigned);
    }
    is_number(unsigned) || is_base_60(unsigned) || (!signed && is_time(text))
}

/// `True` of `true`, `.Inf` of `.inf`; but yaml.v3 writes `.NaN` in its own way.
fn capital(lower: &str) -> String {
    if lower == ".nan" {
        return ".NaN".to_owned();
    }
    let (dot, word) = match lower.strip_prefix('.') {
        Some(word) => (".", word),
        None => ("", lower),
    };
    let mut chars = word.chars();
    let first: String = chars
        .next()
        .map(|c| c.to_ascii_uppercase())
        .into_iter()
        .collect();
    format!("{dot}{first}{}", chars.as_str())
}

fn is_number(unsigned: &str) -> bool {
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return false;
    }
    let plain = unsigned.replace('_', "").to_ascii_lowercase();
    let digits = |prefix: &str, radix: u32| {
        plain.strip_prefix(prefix).is_some_and(|digits| {
            !digits.starts_with('+') && u64::from_str_radix(digits, radix).is_ok()
        })
    };
    if digits("0x", 16) || digits("0b", 2) || digits("0o", 8) {
        return true;
    }
    let float_like = plain
        .chars()
        .all(|c| c.is_ascii_digit() || "+-.e".contains(c));
    float_like && numbers::parse_float(&plain).is_some()
}

/// `1:30`, which YAML 1.1 reads as ninety.
fn is_base_60(unsigned: &str) -> bool {
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let mut parts = whole.split(':');
    let first = parts.next().unwrap_or_default();
    let rest: Vec<&str> = parts.collect();
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == '_');
    !rest.is_empty()
        && first.starts_with(|c: char| c.is_ascii_digit())
        && digits(first)
        && digits(fraction)
        && rest.iter().all(|part| {
            (1..=2).contains(&part.len())
                && digits(part)
                && part.parse::<u8>().is_ok_and(|n| n < 60)
        })
}

fn is_time(text: &str) -> bool {
    let layouts = [
        "2006-1-2",
        "2006-1-2 15:4:5",
        "2006-1-2T15:4:5Z07:00",
        "2006-1-2t15:4:5Z07:00",
    ];
    let year_first = text.chars().take(4).all(|c| c.is_ascii_digit());
    year_first
        && layouts
            .iter()
            .any(|layout| dates::parse(text, layout, &jiff::tz::TimeZone::UTC).is_ok())
}

fn plain_is_safe(text: &str) -> bool {
    let mut chars = text.chars();
    let Some(first) = chars.next() else {
        return false;
    };
    let indicator = match first {
        ',' | '[' | ']' | '{' | '}' | '#' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%'
        | '@' | '`' => true,
        '-' | '?' | ':' => chars.next().is_none_or(|second| second == ' '),
        _ => false,
    };
    !(indicator
        || text.starts_with("---")
        || text.starts_with("...")
        || text.starts_with(' ')
        || text.ends_with([' ', ':'])
        || text.contains(": ")
        || text.contains(" #"))
}

fn double_quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0' => out.push_str("\\0"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            '\u{1b}' => out.push_str("\\e"),
            '\u{85}' => out.push_str("\\N"),
            '\u{2028}' => out.push_str("\\L"),
            '\u{2029}' => out.push_str("\\P"),
            c if is_printable(c) => out.push(c),
            c if u32::from(c) < 0x100 => out.push_str(&format!("\\x{:02X}", u32::from(c))),
            c if u32::from(c) < 0x10000 => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push_str(&format!("\\U{:08X}", u32::from(c))),
        }
    }
    out.push('"');
    out
}

/// yaml.v3 sorts keys as people count: `a2` before `a10`.
fn natural(map: &Map) -> Vec<(&Key, &Value)> {
    let mut entries: Vec<_> = map.entries().iter().collect();
    entries.sort_by(|(a, _), (b, _)| match (a, b) {
        (Key::Str(a), Key::Str(b)) => natural_parts(a).cmp(&natural_parts(b)).then(a.cmp(b)),
        _ => a.cmp(b),
    });
    entries
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Other(char),
    Number(u64),
    Letter(char),
}

fn natural_parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    for c in text.chars() {
        match (c.to_digit(10), parts.last_mut()) {
            (Some(digit), Some(Part::Number(number))) => {
                *number = number.saturating_mul(10).saturating_add(u64::from(digit));
            }
            (Some(digit), _) => parts.push(Part::Number(u64::from(digit))),
            (None, _) if c.is_alphabetic() => parts.push(Part::Letter(c)),
            (None, _) => parts.push(Part::Other(c)),
        }
    }
    parts
}

#[cfg(test)]
mod tests;
