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
            out.push_str(&scalar(value, 0));
            out.push('\n');
        }
    }
    Ok(out)
}

const INDENT: usize = 4;

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
                    inline_scalar(out, item, indent);
                }
            }
        }
        Value::Map(map) => {
            for (key, value) in natural(map) {
                margin(out, indent, &mut first);
                entry(out, &key_text(key), value, indent);
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
    if is_block(value) {
        out.push('\n');
        block(out, value, indent + INDENT, false);
    } else {
        inline_scalar(out, value, indent);
    }
}

fn inline_scalar(out: &mut String, value: &Value, indent: usize) {
    out.push(' ');
    out.push_str(&scalar(value, indent + INDENT));
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

fn key_text(key: &Key) -> String {
    match key {
        Key::Nil => "null".to_owned(),
        Key::Str(text) if text.contains('\n') => double_quoted(text),
        Key::Str(text) => string(text, 0),
        other => print::plain(&other.to_value()),
    }
}

fn string(text: &str, indent: usize) -> String {
    if text
        .chars()
        .any(|c| c.is_control() && c != '\n' && c != '\t')
    {
        return double_quoted(text);
    }
    if text.contains('\n') {
        return literal(text, indent);
    }
    if reads_as_other(text) {
        return double_quoted(text);
    }
    if plain_is_safe(text) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "''"))
}

fn literal(text: &str, indent: usize) -> String {
    let mut out = String::from("|");
    if text.starts_with([' ', '\n', '\t']) {
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
            out.push_str(&" ".repeat(indent.max(INDENT)));
            out.push_str(line);
        }
    }
    out
}

/// Text that a YAML 1.1 or 1.2 reader takes for null, a bool, a number or a date.
fn reads_as_other(text: &str) -> bool {
    const WORDS: [&str; 20] = [
        "", "~", "null", "true", "false", "y", "n", "yes", "no", "on", "off", ".nan", ".inf",
        "+.inf", "-.inf", "<<", "=", "inf", "nan", "infinity",
    ];
    let lower = text.to_ascii_lowercase();
    let cased = [lower.clone(), lower.to_ascii_uppercase(), capital(&lower)];
    if WORDS.contains(&lower.as_str()) && !matches!(lower.as_str(), "inf" | "nan" | "infinity") {
        return lower == ".nan" || cased.iter().any(|form| form == text);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let starts_as_number = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    starts_as_number && (is_number(unsigned) || is_date(text) || is_base_60(unsigned))
}

fn capital(lower: &str) -> String {
    let mut chars = lower.chars();
    chars
        .next()
        .map(|first| first.to_ascii_uppercase().to_string() + chars.as_str())
        .unwrap_or_default()
}

fn is_number(text: &str) -> bool {
    let plain = text.replace('_', "");
    let digits = |prefix: &str, radix: u32| {
        plain
            .strip_prefix(prefix)
            .is_some_and(|digits| u64::from_str_radix(digits, radix).is_ok())
    };
    if digits("0x", 16) || digits("0b", 2) || digits("0o", 8) {
        return true;
    }
    let float_like = plain
        .chars()
        .all(|c| c.is_ascii_digit() || "+-.eE".contains(c));
    float_like && numbers::parse_float(&plain).is_some()
}

fn is_base_60(text: &str) -> bool {
    let mut parts = text.split(':');
    let first = parts.next().unwrap_or_default();
    let rest: Vec<&str> = parts.collect();
    !rest.is_empty()
        && !first.is_empty()
        && first.chars().all(|c| c.is_ascii_digit() || c == '_')
        && rest.iter().all(|part| {
            let whole = part.split('.').next().unwrap_or_default();
            (1..=2).contains(&whole.len()) && whole.parse::<u8>().is_ok_and(|n| n < 60)
        })
}

fn is_date(text: &str) -> bool {
    let head = text.split(['T', 't', ' ']).next().unwrap_or_default();
    let parts: Vec<&str> = head.split('-').collect();
    let numeric = parts
        .iter()
        .all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()));
    match parts.as_slice() {
        [year, month, day] => numeric && year.len() == 4 && month.len() <= 2 && day.len() <= 2,
        _ => false,
    }
}

fn plain_is_safe(text: &str) -> bool {
    let mut chars = text.chars();
    let Some(first) = chars.next() else {
        return false;
    };
    let second = chars.next();
    let indicator = match first {
        ',' | '[' | ']' | '{' | '}' | '#' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%'
        | '@' | '`' => true,
        '-' | '?' | ':' => second.is_none_or(char::is_whitespace),
        _ => false,
    };
    !(indicator
        || text.starts_with("---")
        || text.starts_with("...")
        || text.starts_with([' ', '\t'])
        || text.ends_with([' ', '\t', ':'])
        || text.contains(": ")
        || text.contains(" #")
        || text.contains('\t'))
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
            c if c.is_control() && u32::from(c) < 0x100 => {
                out.push_str(&format!("\\x{:02X}", u32::from(c)));
            }
            c => out.push(c),
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
