//! A file as a tree in which every value, and every character of a text, has its line and column.

use std::{collections::BTreeMap, ops::Range};

use serde_json::{Map, Value};

use crate::steps::yaml::{
    self, YamlError,
    tree::{Content as Written, Style},
};

/// More values than this come only from aliases of aliases.
const MOST_VALUES: usize = 200_000;

/// A place for people, both counted from 1; columns in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// A file's text.
#[derive(Debug)]
pub struct Source {
    /// As it was named on the command line or found.
    pub name: String,
    text: String,
    /// Where each line begins.
    lines: Vec<usize>,
}

/// A value and its bytes.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where it stands.
    pub bytes: Range<usize>,
    /// What it is.
    pub content: Content,
}

/// What a value is.
#[derive(Clone, Debug)]
pub enum Content {
    /// Text, a number, a bool or null.
    Scalar {
        /// With its type.
        value: Value,
        /// How it is written.
        style: Style,
    },
    /// A list.
    List(Vec<Node>),
    /// An object, in the order of the file.
    Map(Vec<Entry>),
}

/// A field of an object.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Where that stands.
    pub at: usize,
    /// What it holds.
    pub value: Node,
}

/// Why a file could not be looked into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// It is not YAML.
    Syntax(Place, String),
    /// A key is there twice.
    Duplicate(usize, String),
    /// It is YAML of a kind that is not followed.
    Form(Place, String),
}

impl Source {
    /// A text under a name.
    pub fn new(name: impl Into<String>, text: &str) -> Self {
        // A byte order mark has no column.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).to_owned();
        let starts = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            name: name.into(),
            lines: std::iter::once(0).chain(starts).collect(),
            text,
        }
    }

    /// Whether the text has this in it.
    pub fn contains(&self, words: &str) -> bool {
        self.text.contains(words)
    }

    /// Line and column of a byte.
    pub fn place(&self, byte: usize) -> Place {
        let line = self.lines.partition_point(|start| *start <= byte).max(1);
        let start = self.lines.get(line - 1).copied().unwrap_or_default();
        let before = self.text.get(start..byte).unwrap_or_default();
        Place {
            line,
            column: before.chars().count() + 1,
        }
    }

    /// Line and column of the byte `offset` of the text that a scalar holds.
    pub fn place_in(&self, node: &Node, offset: usize) -> Place {
        let Content::Scalar {
            value: Value::String(value),
            style,
        } = &node.content
        else {
            return self.place(node.bytes.start);
        };
        let raw = self.text.get(node.bytes.clone()).unwrap_or_default();
        self.place(node.bytes.start + raw_offset(raw, value, *style, offset))
    }

    /// The documents, and the keys that are there twice.
    pub fn read(&self) -> Result<(Vec<Node>, Vec<Unreadable>), Unreadable> {
        let documents = yaml::tree::parse(&self.text).map_err(|error| unreadable(&error))?;
        let mut reader = Reader::default();
        documents
            .iter()
            .for_each(|document| reader.anchors(document));
        let nodes = documents
            .iter()
            .map(|document| reader.node(document, 0))
            .collect::<Result<_, _>>()
            .map_err(|why| Unreadable::Form(Place { line: 1, column: 1 }, why))?;
        Ok((nodes, reader.twice))
    }
}

fn unreadable(error: &YamlError) -> Unreadable {
    match error {
        YamlError::NotYaml { line, column, why } => Unreadable::Syntax(
            Place {
                line: *line,
                column: *column,
            },
            why.clone(),
        ),
        YamlError::Unplaceable(line) => Unreadable::Form(
            Place {
                line: *line,
                column: 1,
            },
            "it is written in a form whose places cannot be told".to_owned(),
        ),
        other => Unreadable::Form(Place { line: 1, column: 1 }, other.to_string()),
    }
}

#[derive(Default)]
struct Reader<'t> {
    anchors: BTreeMap<usize, &'t yaml::tree::Node>,
    values: usize,
    twice: Vec<Unreadable>,
}

impl<'t> Reader<'t> {
    fn anchors(&mut self, node: &'t yaml::tree::Node) {
        if node.anchor > 0 {
            self.anchors.insert(node.anchor, node);
        }
        match &node.content {
            Written::Seq(items) => items.iter().for_each(|item| self.anchors(item)),
            Written::Map(entries) => {
                for (key, value) in entries {
                    self.anchors(key);
                    self.anchors(value);
                }
            }
            _ => {}
        }
    }

    fn node(&mut self, node: &'t yaml::tree::Node, depth: usize) -> Result<Node, String> {
        self.values += 1;
        if self.values > MOST_VALUES || depth > 500 {
            return Err(format!(
                "its aliases stand for more than {MOST_VALUES} values"
            ));
        }
        let content = match &node.content {
            Written::Scalar { text, style } => Content::Scalar {
                value: typed(text, *style, node.tag.as_deref()),
                style: *style,
            },
            Written::Seq(items) => Content::List(
                items
                    .iter()
                    .map(|item| self.node(item, depth + 1))
                    .collect::<Result<_, _>>()?,
            ),
            Written::Map(entries) => Content::Map(self.entries(entries, depth)?),
            Written::Alias(id) => {
                return match self.anchors.get(id).copied() {
                    Some(target) => self.node(target, depth + 1),
                    None => Err("it has an alias of nothing".to_owned()),
                };
            }
            Written::Copied(node) => return self.node(node, depth + 1),
            Written::Written(value) => Content::Scalar {
                value: value.clone(),
                style: Style::Plain,
            },
        };
        Ok(Node {
            bytes: node.bytes.clone(),
            content,
        })
    }

    fn entries(
        &mut self,
        entries: &'t [(yaml::tree::Node, yaml::tree::Node)],
        depth: usize,
    ) -> Result<Vec<Entry>, String> {
        let mut fields: Vec<Entry> = Vec::new();
        let mut merged: Vec<Entry> = Vec::new();
        for (key, value) in entries {
            let value = self.node(value, depth + 1)?;
            let name = match &key.content {
                Written::Scalar { text, .. } => text.clone(),
                Written::Alias(id) => self
                    .anchors
                    .get(id)
                    .and_then(|target| target.text())
                    .unwrap_or_default()
                    .to_owned(),
                _ => String::new(),
            };
            if name == "<<" {
                match value.content {
                    Content::Map(entries) => merged.extend(entries),
                    Content::List(items) => {
                        merged.extend(items.into_iter().flat_map(|item| match item.content {
                            Content::Map(entries) => entries,
                            _ => Vec::new(),
                        }))
                    }
                    Content::Scalar { .. } => {}
                }
                continue;
            }
            if fields.iter().any(|field| field.name == name) {
                self.twice
                    .push(Unreadable::Duplicate(key.bytes.start, name.clone()));
                continue;
            }
            fields.push(Entry {
                name,
                at: key.bytes.start,
                value,
            });
        }
        for entry in merged {
            if !fields.iter().any(|field| field.name == entry.name) {
                fields.push(entry);
            }
        }
        Ok(fields)
    }
}

/// The value of a scalar, as `apply` would read it.
fn typed(text: &str, style: Style, tag: Option<&str>) -> Value {
    match style {
        Style::Missing => Value::Null,
        Style::Plain if !tag.is_some_and(|tag| tag.ends_with("str")) => {
            match serde_saphyr::from_str::<Value>(text) {
                Ok(value @ (Value::Null | Value::Bool(_) | Value::Number(_))) => value,
                _ => Value::from(text),
            }
        }
        _ => Value::from(text),
    }
}

/// Where the byte `offset` of `value` stands in `raw`, which is how it is written: both are walked side by side.
fn raw_offset(raw: &str, value: &str, style: Style, offset: usize) -> usize {
    let mut at = match style {
        Style::Single | Style::Double => 1,
        // The header's line, and the indentation of the first line.
        Style::Block => raw.find('\n').map_or(0, |line| line + 1),
        _ => 0,
    };
    let mut fresh = style == Style::Block;
    for (done, c) in value.char_indices() {
        let rest = raw.get(at..).unwrap_or_default();
        let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
        // At the beginning of a line, its indentation; blanks of the value itself are behind that.
        if fresh && !c.is_whitespace() {
            at += blank;
            fresh = false;
        }
        // A line break that does not count.
        if style == Style::Double
            && let Some(line) = raw.get(at..).and_then(|rest| rest.strip_prefix('\\'))
            && line.starts_with(['\n', '\r'])
        {
            at = raw.len() - line.trim_start().len();
        }
        if done >= offset {
            return at;
        }
        let rest = raw.get(at..).unwrap_or_default();
        let Some(next) = rest.chars().next() else {
            return at;
        };
        if c == '\n' || (c == ' ' && next != ' ') {
            // A line break, or a folded one.
            if style == Style::Double && next == '\\' {
                at += escape_length(rest);
            } else if let Some(line) = rest.find('\n') {
                at += line + 1;
                fresh = true;
            }
        } else if style == Style::Double && next == '\\' {
            at += escape_length(rest);
        } else if style == Style::Single && next == '\'' {
            at += 2;
        } else if next == c {
            at += c.len_utf8();
        } else if next.is_whitespace() {
            // Blanks before a folded line break.
            at += blank;
            at += c.len_utf8();
        } else {
            at += next.len_utf8();
        }
    }
    at.min(raw.len())
}

fn escape_length(rest: &str) -> usize {
    match rest.chars().nth(1) {
        Some('x') => 4,
        Some('u') => 6,
        Some('U') => 10,
        Some(other) => 1 + other.len_utf8(),
        None => 1,
    }
}

impl Node {
    /// The field's value.
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.entry(name).map(|entry| &entry.value)
    }

    /// The field.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.fields().iter().find(|entry| entry.name == name)
    }

    /// An object's fields.
    pub fn fields(&self) -> &[Entry] {
        match &self.content {
            Content::Map(entries) => entries,
            _ => &[],
        }
    }

    /// A list's items.
    pub fn items(&self) -> &[Self] {
        match &self.content {
            Content::List(items) => items,
            _ => &[],
        }
    }

    /// The text that it holds.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar {
                value: Value::String(text),
                ..
            } => Some(text),
            _ => None,
        }
    }

    /// The text at the end of this way, or "".
    pub fn text_at(&self, way: &[&str]) -> &str {
        let found = way.iter().try_fold(self, |node, name| node.get(name));
        found.and_then(Self::text).unwrap_or_default()
    }

    /// Whether there is nothing there.
    pub fn is_null(&self) -> bool {
        matches!(
            &self.content,
            Content::Scalar {
                value: Value::Null,
                ..
            }
        )
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        match &self.content {
            Content::Scalar { value, .. } => value.clone(),
            Content::List(items) => items.iter().map(Self::json).collect(),
            Content::Map(entries) => Value::Object(
                entries
                    .iter()
                    .map(|entry| (entry.name.clone(), entry.value.json()))
                    .collect::<Map<_, _>>(),
            ),
        }
    }

    /// What is at the end of `way`, or the last thing on it that is there, and whether it is the end.
    pub fn follow(&self, way: &[String]) -> (&Self, usize, bool) {
        let (mut node, mut at) = (self, self.bytes.start);
        for name in way {
            if let Some(entry) = node.entry(name) {
                (node, at) = (&entry.value, entry.at);
                continue;
            }
            let item = name
                .parse()
                .ok()
                .and_then(|index: usize| node.items().get(index));
            match item {
                Some(item) => (node, at) = (item, item.bytes.start),
                None => return (node, at, false),
            }
        }
        (node, at, true)
    }
}

#[cfg(test)]
mod tests;
