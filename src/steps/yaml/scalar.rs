//! How a value is written as a YAML scalar, and how a scalar reads: the same for readers of YAML 1.1 and of 1.2.

use std::fmt::Write as _;

use serde_json::{Number, Value};

use super::tree::{Content, Node, Style};

/// `value` as a scalar, in the style of what it replaces where that can hold it. Lists and mappings are not scalars
/// and are written as JSON, which is YAML in flow style.
pub fn write(value: &Value, style: Style, in_flow: bool) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => write_number(number),
        Value::String(text) => write_text(text, style, in_flow),
        other => other.to_string(),
    }
}

fn write_text(text: &str, style: Style, in_flow: bool) -> String {
    match style {
        Style::Single if text.chars().all(printable) => format!("'{}'", text.replace('\'', "''")),
        Style::Plain | Style::Missing | Style::Block if safe_bare(text, in_flow) => text.to_owned(),
        _ => double_quoted(text),
    }
}

/// Numbers arrive as floats from expressions: a whole one is written as an integer, an exponent so that a reader of
/// YAML 1.1 takes it for a number too (dot and sign are needed).
fn write_number(number: &Number) -> String {
    let Some(float) = number
        .as_f64()
        .filter(|_| !number.is_i64() && !number.is_u64())
    else {
        return number.to_string();
    };
    if float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0 {
        return format!("{float:.0}");
    }
    let text = number.to_string();
    let Some((digits, exponent)) = text.split_once(['e', 'E']) else {
        return text;
    };
    let dot = if digits.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with(['-', '+']) {
        ""
    } else {
        "+"
    };
    format!("{digits}{dot}e{sign}{exponent}")
}

/// As one line between double quotes.
pub fn double_quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            _ if printable(c) => quoted.push(c),
            // Writing to a String cannot fail.
            _ => drop(if u32::from(c) < 0x100 {
                write!(quoted, "\\x{:02X}", u32::from(c))
            } else if u32::from(c) < 0x1_0000 {
                write!(quoted, "\\u{:04X}", u32::from(c))
            } else {
                write!(quoted, "\\U{:08X}", u32::from(c))
            }),
        }
    }
    quoted.push('"');
    quoted
}

/// Shown as it is inside quotes by every reader: no control characters, odd line breaks, marks or non-characters.
fn printable(c: char) -> bool {
    let non_character = u32::from(c) & 0xfffe == 0xfffe;
    let odd = matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}');
    !(c.is_control() || non_character || odd)
}

/// Whether `text` without quotes is that same string, for readers of YAML 1.1 and of 1.2.
pub fn safe_bare(text: &str, in_flow: bool) -> bool {
    let punctuation = |c: char| "-?:,[]{}#&*!|>'\"%@`=<".contains(c);
    let Some(first) = text.chars().next() else {
        return false;
    };
    !punctuation(first)
        && text.trim() == text
        && text.chars().all(printable)
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.ends_with(':')
        && !text.starts_with("...")
        && !(in_flow && (text.contains([',', '[', ']', '{', '}', '?']) || text.contains(" -")))
        && !retyped(text)
}

/// Whether some reader takes the bare text for something other than a string.
fn retyped(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let word = matches!(
        lower.as_str(),
        "~" | "null"
            | "true"
            | "false"
            | "yes"
            | "no"
            | "on"
            | "off"
            | "y"
            | "n"
            | ".nan"
            | "nan"
            | "inf"
            | ".inf"
    );
    word || timestamp(text) || numeric(lower.strip_prefix(['+', '-']).unwrap_or(&lower))
}

/// Integers in any base, floats, sexagesimals; without the sign, in lower case.
fn numeric(text: &str) -> bool {
    if [".inf", "inf", "infinity"].contains(&text) {
        return true;
    }
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == '_');
    if let Some(rest) = ["0x", "0o", "0b"]
        .iter()
        .find_map(|base| text.strip_prefix(base))
    {
        return rest.chars().all(|c| c.is_ascii_hexdigit() || c == '_');
    }
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    // Base sixty: 12:30, 190:20:30.15
    let whole_is_number = whole.split(':').all(digits);
    let some_digit = mantissa.contains(|c: char| c.is_ascii_digit());
    // By the letter of YAML 1.1 a lone dot is a float, too.
    (some_digit || mantissa.starts_with('.'))
        && whole_is_number
        && digits(fraction)
        && !exponent.is_empty()
        && digits(exponent)
}

/// A date, alone or with a time: YAML 1.1 has a type for it.
fn timestamp(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let mut number = |long: std::ops::RangeInclusive<usize>| {
        parts.next().is_some_and(|part| {
            long.contains(&part.len()) && part.chars().all(|c| c.is_ascii_digit())
        })
    };
    if !number(4..=4) || !number(1..=2) {
        return false;
    }
    let rest = parts.next().unwrap_or("");
    let day = rest.chars().take_while(char::is_ascii_digit).count();
    let after = rest.chars().nth(day);
    (1..=2).contains(&day) && after.is_none_or(|c| matches!(c, 'T' | 't' | ' ' | '\t'))
}

/// What the tags of YAML's own types begin with, `!!` for short.
pub(super) const CORE: &str = "tag:yaml.org,2002:";

/// What a scalar reads as, by its tag or else by YAML 1.2's core rules; none for other nodes.
pub fn read(node: &Node) -> Option<Value> {
    let Content::Scalar { text, style } = &node.content else {
        return None;
    };
    let string = || Some(Value::String(text.clone()));
    match node
        .tag
        .as_deref()
        .map(|tag| tag.strip_prefix(CORE).unwrap_or(""))
    {
        Some("int" | "float" | "bool" | "null") => Some(read_bare(text)),
        Some(_) => string(),
        None if matches!(style, Style::Plain | Style::Missing) => Some(read_bare(text)),
        None => string(),
    }
}

fn read_bare(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    let plain = text.strip_prefix('+').unwrap_or(text);
    let based = [("0x", 16), ("0o", 8)].iter().find_map(|(prefix, base)| {
        u64::from_str_radix(text.strip_prefix(prefix)?, *base)
            .ok()
            .map(Value::from)
    });
    let float = || {
        let looks =
            plain.starts_with(['-', '.']) || plain.starts_with(|c: char| c.is_ascii_digit());
        let finite = plain
            .parse::<f64>()
            .ok()
            .filter(|float| looks && float.is_finite())?;
        Number::from_f64(finite).map(Value::Number)
    };
    based
        .or_else(|| plain.parse::<i64>().ok().map(Value::from))
        .or_else(|| plain.parse::<u64>().ok().map(Value::from))
        .or_else(float)
        .unwrap_or_else(|| Value::String(text.to_owned()))
}

/// Whether every reader reads `value` from `node`.
pub fn reads_as(node: &Node, value: &Value) -> bool {
    match (&node.content, value) {
        (Content::Scalar { text, style }, Value::String(wanted)) => {
            let quoted = !matches!(style, Style::Plain | Style::Missing);
            let sure = match node.tag.as_deref().and_then(|tag| tag.strip_prefix(CORE)) {
                Some("str") => true,
                Some(_) => false,
                None => node.tag.is_some() || quoted || safe_bare(text, node.in_flow),
            };
            text == wanted && sure
        }
        (Content::Scalar { .. }, wanted) => match (read(node), wanted) {
            (Some(Value::Number(a)), Value::Number(b)) => same_number(&a, b),
            (read, wanted) => read.as_ref() == Some(wanted),
        },
        (Content::Seq(items), Value::Array(wanted)) => {
            items.len() == wanted.len()
                && items
                    .iter()
                    .zip(wanted)
                    .all(|(item, wanted)| reads_as(item, wanted))
        }
        (Content::Map(entries), Value::Object(wanted)) => {
            entries.len() == wanted.len()
                && entries.iter().all(|(key, value)| {
                    key.text()
                        .and_then(|key| wanted.get(key))
                        .is_some_and(|wanted| reads_as(value, wanted))
                })
        }
        _ => false,
    }
}

fn same_number(a: &Number, b: &Number) -> bool {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => a == b,
        _ => match (a.as_u64(), b.as_u64()) {
            (Some(a), Some(b)) => a == b,
            _ => a.as_f64() == b.as_f64(),
        },
    }
}
