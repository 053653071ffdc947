//! How a value is written, and how new members are laid out like what is around them.

use std::{fmt::Write as _, ops::Range};

use serde_json::{Number, Value};

use super::{
    key::Part,
    tree::{Kind, Node, Tree, unquoted},
};

/// A scalar as JSON. `Err` says what it is instead.
pub fn scalar(value: &Value) -> Result<String, &'static str> {
    Ok(match value {
        Value::Null => return Err("it is null"),
        Value::Array(_) => return Err("it is a list"),
        Value::Object(_) => return Err("it is an object"),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => digits(number),
        Value::String(text) => quoted(text),
    })
}

/// All digits and no exponent, as Kargo writes floats.
fn digits(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => float.to_string(),
        _ => number.to_string(),
    }
}

/// A text between quotes, with no more escapes than JSON asks for.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            // Writing to a String cannot fail.
            '\0'..='\u{1f}' => drop(write!(out, "\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Whether what is written at a node reads as `value` already, so that its spelling can stay.
pub fn reads_as(kind: Kind, written: &str, value: &Value) -> bool {
    match (kind, value) {
        (Kind::Text, Value::String(text)) => unquoted(written) == *text,
        (Kind::Word, Value::Bool(flag)) => written == if *flag { "true" } else { "false" },
        (Kind::Number, Value::Number(number)) => same_number(written, number),
        _ => false,
    }
}

/// Whole numbers are compared by their digits: as floats, different large ones would be the same.
fn same_number(written: &str, number: &Number) -> bool {
    let whole = !written.contains(['.', 'e', 'E']);
    if whole || !number.is_f64() {
        let exact = digits(number);
        let fraction = written.split_once('.');
        return match fraction {
            None => written == exact,
            Some((before, zeros)) => {
                before == exact && !zeros.is_empty() && zeros.bytes().all(|byte| byte == b'0')
            }
        };
    }
    written.parse::<f64>().ok() == number.as_f64()
}

/// White space around new members.
pub struct Layout {
    /// Before each: a space, or a line end and the indentation.
    lead: String,
    /// Before the closing bracket of what is made new and holds them on lines of their own.
    close: String,
    /// One more level.
    unit: String,
    /// Between key and value, with the colon.
    colon: String,
}

/// The first colon of the file tells how the others look.
fn colon(text: &str, tree: &Tree, last: Option<&Node>) -> String {
    let of = |node: &Node| {
        let between = node.key.as_ref()?.end..node.bytes.start;
        text.get(between).filter(|text| !text.contains('\n'))
    };
    last.and_then(of)
        .or_else(|| tree.nodes().iter().find_map(of))
        .unwrap_or(": ")
        .to_owned()
}

fn get(text: &str, bytes: Range<usize>) -> &str {
    text.get(bytes).unwrap_or("")
}

/// White space before the first child's key or value, and before the closing bracket.
fn around(text: &str, tree: &Tree, container: &Node) -> (String, String) {
    let child = |id: Option<usize>| id.and_then(|id| tree.get(id));
    let inside_end = container.bytes.end.saturating_sub(1);
    match (child(container.first), child(container.last)) {
        (Some(_), Some(last)) => (
            get(text, last.before..last.start()).to_owned(),
            get(text, last.bytes.end..inside_end).to_owned(),
        ),
        _ => (String::new(), String::new()),
    }
}

impl Layout {
    /// For what is put into the container `id`; into nothing where that is none.
    pub fn inside(text: &str, tree: &Tree, id: usize) -> Self {
        let node = tree.get(id);
        let last = node.and_then(|node| node.last).and_then(|id| tree.get(id));
        let colon = colon(text, tree, last);
        let (mut lead, close) = node.map_or_else(Default::default, |node| around(text, tree, node));
        if last.is_some() && lead.contains('\n') {
            let unit = lead.strip_prefix(close.as_str()).unwrap_or("");
            let unit = if unit.is_empty() || !close.contains('\n') {
                "  ".to_owned()
            } else {
                unit.to_owned()
            };
            return Self {
                lead,
                close,
                unit,
                colon,
            };
        }
        if last.is_none() {
            // An empty container is opened up where its neighbours stand on lines of their own.
            let parent = node.and_then(|node| node.parent).filter(|_| node.is_some());
            let around = parent.map(|parent| Self::inside(text, tree, parent));
            if let Some(outer) = around.filter(|outer| outer.lead.contains('\n')) {
                return outer.deeper();
            }
        }
        let single = node.is_some_and(|node| node.count == 1);
        if lead.is_empty() && single && colon.ends_with(' ') {
            lead.push(' ');
        }
        Self {
            lead,
            close: String::new(),
            unit: String::new(),
            colon,
        }
    }

    fn deeper(&self) -> Self {
        let breaks = self.lead.contains('\n');
        Self {
            lead: if breaks {
                format!("{}{}", self.lead, self.unit)
            } else {
                String::new()
            },
            close: if breaks {
                self.lead.clone()
            } else {
                String::new()
            },
            unit: self.unit.clone(),
            colon: self.colon.clone(),
        }
    }

    /// What is appended to a container that holds `count` things, and goes right behind the last of them.
    pub fn appended(&self, count: usize, parts: &[Part], is_object: bool, value: &str) -> String {
        let nulls = nulls(parts, is_object, count);
        let mut out = String::new();
        for number in 0..=nulls {
            if count > 0 || number > 0 {
                out.push(',');
            }
            out.push_str(&self.lead);
            if number > 0 && count == 0 && !self.lead.contains('\n') {
                out.push_str(self.after_comma());
            }
            if number < nulls {
                out.push_str("null");
            } else {
                self.member(&mut out, parts, is_object, value);
            }
        }
        out
    }

    /// What goes before the bracket that closes a container that was empty.
    pub fn closing(&self) -> &str {
        &self.close
    }

    fn after_comma(&self) -> &'static str {
        if self.colon.ends_with(' ') { " " } else { "" }
    }

    /// The first part and what is below it.
    fn member(&self, out: &mut String, parts: &[Part], is_object: bool, value: &str) {
        if let (true, Some(Part::Name { text, .. })) = (is_object, parts.first()) {
            out.push_str(&quoted(text));
            out.push_str(&self.colon);
        }
        match parts.get(1..) {
            Some(below) if !below.is_empty() => out.push_str(&self.deeper().made(below, value)),
            _ => out.push_str(value),
        }
    }

    /// A new container for the first of `parts`. The layout is that of its inside.
    pub fn made(&self, parts: &[Part], value: &str) -> String {
        let is_object = !makes_array(parts);
        let inside = self.appended(0, parts, is_object, value);
        let (open, close) = if is_object { ('{', '}') } else { ('[', ']') };
        format!("{open}{inside}{}{close}", self.close)
    }

    /// [`Self::made`] in place of a scalar inside a container of this layout.
    pub fn made_below(&self, parts: &[Part], value: &str) -> String {
        self.deeper().made(parts, value)
    }
}

/// Digits and `-1` make an array, anything else an object.
fn makes_array(parts: &[Part]) -> bool {
    parts
        .first()
        .is_some_and(|part| part.index().is_some() || part.is_append())
}

/// How many empty places there are before a new item.
fn nulls(parts: &[Part], is_object: bool, count: usize) -> usize {
    match parts.first().and_then(Part::index) {
        Some(index) if !is_object => index.saturating_sub(count),
        _ => 0,
    }
}
