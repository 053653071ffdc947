//! `encoding/json`: what Go's `Marshal`, `MarshalIndent` and `Unmarshal` do.

use std::borrow::Cow;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use regex::{Captures, Regex};

use super::super::value::{Key, MapKind, Value};
use super::{dates, numbers, print};

/// No result may be larger; a template that makes more is a mistake.
const MAX_BYTES: usize = 64 << 20;

/// `json.Marshal`. `Err` is Go's message.
pub(in super::super) fn compact(value: &Value) -> Result<String, String> {
    let mut writer = Writer {
        out: String::new(),
        indent: None,
        level: 0,
        any_keys: false,
    };
    writer.value(value)?;
    Ok(writer.out)
}

/// As [`compact`], but a map whose keys are not all text is written too, with the keys as text.
pub(in super::super) fn any(value: &Value) -> Result<String, String> {
    let mut writer = Writer {
        out: String::new(),
        indent: None,
        level: 0,
        any_keys: true,
    };
    writer.value(value)?;
    Ok(writer.out)
}

/// `json.MarshalIndent` with two spaces.
pub(in super::super) fn indented(value: &Value) -> Result<String, String> {
    let mut writer = Writer {
        out: String::new(),
        indent: Some("  "),
        level: 0,
        any_keys: false,
    };
    writer.value(value)?;
    Ok(writer.out)
}

/// Reads JSON text; numbers keep the value that Go's float64 has.
pub(in super::super) fn read(text: &str) -> Result<serde_json::Value, String> {
    serde_json::from_str(&whole_characters(text)).map_err(|why| {
        if why.to_string().starts_with("number out of range") {
            return "json: cannot unmarshal number into Go value of type float64".to_owned();
        }
        why.to_string()
    })
}

/// Escapes that are half a surrogate pair, which Go reads as U+FFFD, are written so.
fn whole_characters(text: &str) -> Cow<'_, str> {
    /// A backslash and what follows, so that an escaped backslash starts no escape.
    static ESCAPES: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let high = r"\\u[dD][89abAB][0-9a-fA-F]{2}";
        let low = r"\\u[dD][c-fC-F][0-9a-fA-F]{2}";
        Regex::new(&format!(r"(?<pair>{high}{low})|(?<half>{high}|{low})|\\.")).ok()
    });
    match ESCAPES.as_ref() {
        Some(escapes) if text.contains("\\uD") || text.contains("\\ud") => {
            escapes.replace_all(text, |found: &Captures<'_>| {
                let whole = found.get(0).map_or("", |whole| whole.as_str());
                let half = found.name("half").is_some();
                if half { "\\ufffd" } else { whole }.to_owned()
            })
        }
        _ => Cow::Borrowed(text),
    }
}

/// A float as a JSON number: whole ones without a fraction, as Go writes them.
pub(in super::super) fn number(float: f64) -> Option<serde_json::Number> {
    if !float.is_finite() {
        return None;
    }
    let text = numbers::json_float(float);
    match text.parse::<i64>() {
        Ok(whole) if text != "-0" => Some(whole.into()),
        _ => serde_json::Number::from_f64(float),
    }
}

struct Writer {
    out: String,
    indent: Option<&'static str>,
    level: usize,
    any_keys: bool,
}

impl Writer {
    fn value(&mut self, value: &Value) -> Result<(), String> {
        if self.out.len() > MAX_BYTES {
            return Err("json: the value is too large".to_owned());
        }
        match value {
            Value::Nil => self.out.push_str("null"),
            Value::Bool(flag) => self.out.push_str(if *flag { "true" } else { "false" }),
            Value::Int(number) | Value::Duration(number) => {
                self.out.push_str(&number.to_string());
            }
            Value::Float(number) if number.is_finite() => {
                self.out.push_str(&numbers::json_float(*number));
            }
            Value::Float(number) => {
                return Err(format!(
                    "json: unsupported value: {}",
                    numbers::print_float(*number)
                ));
            }
            Value::Str(text) => self.string(text),
            Value::Bytes(bytes) => self.string(&STANDARD.encode(bytes)),
            Value::List(list) => {
                self.group('[', ']', list.items().iter(), |writer, item| {
                    writer.value(item)
                })?;
            }
            Value::Map(map) => self.map(map)?,
            Value::Record(record) => {
                let fields = record
                    .fields
                    .iter()
                    .filter(|field| !(field.omit_empty && is_empty(&field.value)));
                self.group('{', '}', fields, |writer, field| {
                    writer.key(field.json);
                    writer.value(&field.value)
                })?;
            }
            Value::Time(time) => self.string(&dates::rfc3339(time)),
            Value::Zone(_) => self.out.push_str("{}"),
            Value::Object(object) => self.value(&object.marshal())?,
        }
        Ok(())
    }

    /// What `groupBy` and `fromPairs` make, Go refuses to marshal.
    fn map(&mut self, map: &super::super::value::Map) -> Result<(), String> {
        if map.kind() == MapKind::Keyed && !self.any_keys {
            return Err("json: unsupported type: map[interface {}]interface {}".to_owned());
        }
        self.group('{', '}', map.entries().iter(), |writer, (key, value)| {
            match key {
                Key::Str(key) => writer.key(key),
                other => writer.key(&print::plain(&other.to_value())),
            }
            writer.value(value)
        })
    }

    fn key(&mut self, key: &str) {
        self.string(key);
        self.out.push(':');
        if self.indent.is_some() {
            self.out.push(' ');
        }
    }

    fn group<T>(
        &mut self,
        open: char,
        close: char,
        items: impl Iterator<Item = T>,
        mut write: impl FnMut(&mut Self, T) -> Result<(), String>,
    ) -> Result<(), String> {
        self.out.push(open);
        self.level += 1;
        let mut empty = true;
        for item in items {
            if !empty {
                self.out.push(',');
            }
            empty = false;
            self.line();
            write(self, item)?;
        }
        self.level -= 1;
        if !empty {
            self.line();
        }
        self.out.push(close);
        Ok(())
    }

    fn line(&mut self) {
        if let Some(indent) = self.indent {
            self.out.push('\n');
            self.out.push_str(&indent.repeat(self.level));
        }
    }

    /// Go escapes `<`, `>`, `&` and the two Unicode line breaks as well.
    fn string(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '\u{8}' => self.out.push_str("\\b"),
                '\u{c}' => self.out.push_str("\\f"),
                '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                    self.out.push_str(&format!("\\u{:04x}", u32::from(c)));
                }
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Nil | Value::Bool(false) | Value::Int(0) => true,
        Value::Str(text) => text.is_empty(),
        Value::List(list) => list.items().is_empty(),
        Value::Map(map) => map.entries().is_empty(),
        _ => false,
    }
}
