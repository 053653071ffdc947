//! The first document of a YAML file as a value for expressions.

use std::collections::{BTreeMap, HashMap};

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, StrInput};

use super::plain;
use crate::expr::Value;

/// Nesting beyond this is refused rather than followed.
const DEEPEST: usize = 200;

/// Values, with aliases counted as often as they are used: more than any file has without them.
const MOST_VALUES: u64 = 1_000_000;

/// Where `!!int` and the like come from.
const CORE: &str = "tag:yaml.org,2002:";

/// Reads a file. A file without a document is null. Of a doubled key the last counts, as in Kargo.
pub fn read(text: &str) -> Result<Value, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader {
        events: Parser::new_from_str(text),
        anchors: HashMap::new(),
    };
    loop {
        match reader.next()? {
            Event::StreamStart | Event::Nothing => {}
            Event::DocumentStart(_) => {
                let first = reader.next()?;
                return Ok(reader.node(first, 0)?.value);
            }
            _ => return Ok(Value::Nil),
        }
    }
}

struct Reader<'a> {
    events: Parser<'a, StrInput<'a>>,
    anchors: HashMap<usize, Node>,
}

#[derive(Clone)]
struct Node {
    value: Value,
    /// How many values it is, with all below it.
    size: u64,
    /// A plain `<<`.
    merges: bool,
}

fn not_yaml(error: &ScanError) -> String {
    let at = error.marker();
    format!(
        "it is not YAML: line {}, column {}: {}",
        at.line(),
        at.col() + 1,
        error.info()
    )
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<Event<'a>, String> {
        match self.events.next() {
            Some(Ok((event, _))) => Ok(event),
            Some(Err(error)) => Err(not_yaml(&error)),
            None => Ok(Event::StreamEnd),
        }
    }

    fn node(&mut self, event: Event<'a>, depth: usize) -> Result<Node, String> {
        if depth > DEEPEST {
            return Err(format!("it is nested more than {DEEPEST} levels deep"));
        }
        let (anchor, node) = match event {
            Event::Alias(anchor) => {
                let node = self.anchors.get(&anchor).cloned();
                return node.ok_or_else(|| "an alias is used inside what it stands for".to_owned());
            }
            Event::Scalar(text, style, anchor, tag) => {
                let tag = tag.map(|tag| format!("{}{}", tag.handle, tag.suffix));
                (anchor, scalar(&text, style, tag.as_deref())?)
            }
            Event::SequenceStart(anchor, _) => (anchor, self.list(depth)?),
            Event::MappingStart(anchor, _) => (anchor, self.map(depth)?),
            _ => return Err("a value is missing".to_owned()),
        };
        if node.size > MOST_VALUES {
            return Err(format!("its aliases make more than {MOST_VALUES} values"));
        }
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn list(&mut self, depth: usize) -> Result<Node, String> {
        let (mut items, mut size) = (Vec::new(), 1_u64);
        loop {
            match self.next()? {
                Event::SequenceEnd => break,
                event => {
                    let item = self.node(event, depth + 1)?;
                    size = size.saturating_add(item.size);
                    items.push(item.value);
                }
            }
        }
        Ok(Node {
            value: Value::list(items),
            size,
            merges: false,
        })
    }

    fn map(&mut self, depth: usize) -> Result<Node, String> {
        let mut entries: BTreeMap<String, Value> = BTreeMap::new();
        let mut merged: BTreeMap<String, Value> = BTreeMap::new();
        let mut size = 1_u64;
        loop {
            let key = match self.next()? {
                Event::MappingEnd => break,
                event => self.node(event, depth + 1)?,
            };
            let event = self.next()?;
            let value = self.node(event, depth + 1)?;
            size = size.saturating_add(key.size).saturating_add(value.size);
            if size > MOST_VALUES {
                return Err(format!("its aliases make more than {MOST_VALUES} values"));
            }
            if key.merges {
                merge(&mut merged, &value.value)?;
            } else {
                entries.insert(key_text(&key.value)?, value.value);
            }
        }
        merged.extend(entries);
        Ok(Node {
            value: Value::map(merged),
            size,
            merges: false,
        })
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&str>) -> Result<Node, String> {
    let is_plain = style == ScalarStyle::Plain;
    let value = match tag.map(|tag| tag.strip_prefix(CORE)) {
        None if is_plain => plain::meaning(text),
        Some(Some("null")) => Value::Nil,
        Some(Some(kind @ ("bool" | "int" | "float"))) => {
            let value = plain::meaning(text);
            let fits = match value {
                Value::Bool(_) => kind == "bool",
                Value::Float(float) => kind == "float" || (kind == "int" && float.fract() == 0.0),
                _ => false,
            };
            if !fits {
                return Err(format!("{text:?} is tagged as {kind} and is none"));
            }
            value
        }
        _ => Value::from(text),
    };
    Ok(Node {
        value,
        size: 1,
        merges: is_plain && tag.is_none() && text == "<<",
    })
}

/// Keys become texts, as in JSON.
fn key_text(key: &Value) -> Result<String, String> {
    match key {
        Value::Str(text) => Ok(text.to_string()),
        Value::Bool(flag) => Ok(flag.to_string()),
        Value::Float(number) => Ok(plain::key(*number)),
        Value::Nil => Ok("null".to_owned()),
        _ => Err("a key that is a list or a mapping has no name".to_owned()),
    }
}

/// `<<: *a` or `<<: [*a, *b]`, where what comes first wins.
fn merge(into: &mut BTreeMap<String, Value>, from: &Value) -> Result<(), String> {
    match from {
        Value::Map(map) => {
            for (key, value) in map.entries() {
                into.entry(key_text(&key.to_value())?)
                    .or_insert_with(|| value.clone());
            }
            Ok(())
        }
        Value::List(list)
            if list
                .items()
                .iter()
                .all(|item| matches!(item, Value::Map(_))) =>
        {
            list.items().iter().try_for_each(|item| merge(into, item))
        }
        _ => Err("<< takes a mapping or a list of mappings".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    #[test]
    fn documents_read_as_kargo_reads_them() {
        let cases: [(&str, Json); 17] = [
            (
                "a: 1\nb: [x, 2.50, yes, ~]\n",
                json!({"a": 1, "b": ["x", 2.5, true, null]}),
            ),
            ("- 1\n- a: b\n", json!([1, {"a": "b"}])),
            ("text\n", json!("text")),
            ("# nothing\n", json!(null)),
            ("\u{feff}a: 1\r\nb: 2\r\n", json!({"a": 1, "b": 2})),
            (
                "a: '1'\nb: \"yes\"\nc: |\n  x\n  y\n",
                json!({"a": "1", "b": "yes", "c": "x\ny\n"}),
            ),
            (
                "on: 1\n2: x\n1.5: 'y'\n~: z\n",
                json!({"true": 1, "2": "x", "1.5": "y", "null": "z"}),
            ),
            ("a: 1\na: 2\n", json!({"a": 2})),
            (
                "v: 1.2.3\nd: 2001-01-01\n",
                json!({"v": "1.2.3", "d": "2001-01-01"}),
            ),
            (
                "a: &x {p: 1}\nb: *x\n",
                json!({"a": {"p": 1}, "b": {"p": 1}}),
            ),
            (
                "v: &v {p: 1, q: 1}\nw: &w {q: 2, r: 2}\nz: {r: 3, <<: [*v, *w]}\n",
                json!({"v": {"p": 1, "q": 1}, "w": {"q": 2, "r": 2}, "z": {"p": 1, "q": 1, "r": 3}}),
            ),
            (
                "a: !!str 1\nb: !!int \"2\"\nc: !own 3\n",
                json!({"a": "1", "b": 2, "c": "3"}),
            ),
            ("a: 1\n---\nb: [\n", json!({"a": 1})),
            ("---\na: 1\n...\n", json!({"a": 1})),
            ("a:\n", json!({"a": null})),
            (
                "a: 010\nb: 0x10\nc: 1_0\n",
                json!({"a": 8, "b": 16, "c": 10}),
            ),
            (
                "{\"a\": \"\\u00e9\", b: [1,2,]}",
                json!({"a": "é", "b": [1, 2]}),
            ),
        ];
        for (text, wanted) in cases {
            let value = read(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(value.to_json().unwrap(), wanted, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let deep = "[".repeat(202) + &"]".repeat(202);
        let laughs: String = (1..20)
            .map(|n| {
                format!(
                    "a{n}: &a{n} [{}]\n",
                    vec![format!("*a{}", n - 1); 9].join(", ")
                )
            })
            .collect();
        let laughs = format!("a0: &a0 [x, x]\n{laughs}");
        let cases = [
            (
                "key: : value\n  num: 42",
                "it is not YAML: line 1, column 6",
            ),
            ("a: [1", "it is not YAML"),
            ("a: &x [*x]\n", "an alias is used inside"),
            ("a: *gone\n", "it is not YAML"),
            ("? [1]\n: 2\n", "a key that is a list"),
            ("<<: 1\n", "<< takes a mapping"),
            ("a: !!int x\n", "tagged as int and is none"),
            (&deep, "nested more than 200 levels deep"),
            (&laughs, "its aliases make more than 1000000 values"),
        ];
        for (text, says) in cases {
            let error = read(text).expect_err(text.get(..20).unwrap_or(text));
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
