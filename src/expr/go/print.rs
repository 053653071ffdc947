//! `fmt`: `%v` and `%q`.

use super::super::value::Value;
use super::{dates, durations, numbers};

/// `fmt.Sprintf("%v", value)`.
pub(in super::super) fn plain(value: &Value) -> String {
    match value {
        Value::Nil => "<nil>".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => numbers::print_float(*number),
        Value::Str(text) => text.to_string(),
        Value::Bytes(bytes) => {
            let items: Vec<String> = bytes.iter().map(u8::to_string).collect();
            format!("[{}]", items.join(" "))
        }
        Value::List(list) => {
            let items: Vec<String> = list.items().iter().map(plain).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Map(map) => {
            let items: Vec<String> = map
                .entries()
                .iter()
                .map(|(key, value)| format!("{}:{}", plain(&key.to_value()), plain(value)))
                .collect();
            format!("map[{}]", items.join(" "))
        }
        Value::Record(record) => {
            let items: Vec<String> = record
                .fields
                .iter()
                .map(|field| plain(&field.value))
                .collect();
            format!("{{{}}}", items.join(" "))
        }
        Value::Time(time) => dates::print(time),
        Value::Duration(nanoseconds) => durations::print(*nanoseconds),
        Value::Zone(zone) => dates::zone_name(zone),
        Value::Object(object) => match object.call("String", &[]) {
            Some(Ok(Value::Str(text))) => text.to_string(),
            _ => plain(&object.marshal()),
        },
    }
}

/// `fmt.Sprintf("%q", text)`: quoted, with Go's escapes.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            c if is_printable(c) => out.push(c),
            c if u32::from(c) < 0x80 => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c if u32::from(c) < 0x10000 => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    out.push('"');
    out
}

/// Go's `unicode.IsPrint` and the standard library's escaping agree on which characters are shown.
/// A leading letter keeps combining marks from being escaped only for standing first.
fn is_printable(c: char) -> bool {
    // The standard library escapes this one for the sake of char literals.
    if c == '\'' {
        return true;
    }
    let text: String = ['a', c].iter().collect();
    text.escape_debug().nth(1) == Some(c)
}
