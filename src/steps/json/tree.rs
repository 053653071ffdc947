//! A JSON file as a flat list of nodes that know their bytes.

use std::ops::Range;

use super::JsonError;

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    Object,
    Array,
    Text,
    Number,
    /// `true`, `false`, `null`.
    Word,
}

/// A value, its place and its neighbours. Children are linked, in the order of the file.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// The bytes of the value.
    pub bytes: Range<usize>,
    /// The bytes of the key with its quotes, in an object.
    pub key: Option<Range<usize>>,
    /// Where the white space before it starts: right after the bracket or comma.
    pub before: usize,
    /// The first child.
    pub first: Option<usize>,
    /// The last child.
    pub last: Option<usize>,
    /// The next one in the same container.
    pub next: Option<usize>,
    /// The container.
    pub parent: Option<usize>,
    /// How many children.
    pub count: usize,
}

impl Node {
    /// Whether it can have children.
    pub fn is_container(&self) -> bool {
        matches!(self.kind, Kind::Object | Kind::Array)
    }

    /// Where the key starts, or the value where there is none.
    pub fn start(&self) -> usize {
        self.key.as_ref().map_or(self.bytes.start, |key| key.start)
    }
}

/// The nodes of a file; the first is the whole value. Empty for a file of white space.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    nodes: Vec<Node>,
}

impl Tree {
    /// Reads all of `text`.
    pub fn read(text: &str) -> Result<Self, JsonError> {
        let mut reader = Reader {
            text,
            at: 0,
            nodes: Vec::new(),
            open: Vec::new(),
        };
        reader.space();
        if reader.peek().is_some() {
            reader.all()?;
        }
        Ok(Self {
            nodes: reader.nodes,
        })
    }

    /// The node of that number.
    pub fn get(&self, id: usize) -> Option<&Node> {
        self.nodes.get(id)
    }

    /// The children of a node.
    pub fn children(&self, id: usize) -> impl Iterator<Item = (usize, &Node)> {
        let mut next = self.get(id).and_then(|node| node.first);
        std::iter::from_fn(move || {
            let id = next?;
            let node = self.get(id)?;
            next = node.next;
            Some((id, node))
        })
    }

    /// All nodes, in the order of the file.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }
}

/// What a string between quotes says; what is no character, such as half a pair, reads as the replacement character.
pub fn unquoted(text: &str) -> String {
    let inner = text.get(1..text.len().saturating_sub(1)).unwrap_or("");
    let mut out = String::with_capacity(inner.len());
    let mut units: Vec<u16> = Vec::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        let escaped = if c == '\\' { chars.next() } else { None };
        if escaped == Some('u') {
            let digits: String = chars.by_ref().take(4).collect();
            units.push(u16::from_str_radix(&digits, 16).unwrap_or(0xFFFD));
            continue;
        }
        out.push_str(&String::from_utf16_lossy(&units));
        units.clear();
        out.push(match escaped {
            None => c,
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some(other) => other,
        });
    }
    out.push_str(&String::from_utf16_lossy(&units));
    out
}

/// The error about the byte `at`.
pub fn place(text: &str, at: usize, why: String) -> JsonError {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    JsonError::NotJson {
        line: before.matches('\n').count() + 1,
        column: before.get(line_start..).unwrap_or("").chars().count() + 1,
        why,
    }
}

/// What comes next, after white space.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    /// A value, or the end of the array where it has just begun.
    Value { or_end: bool },
    /// A key, or the end of the object where it has just begun.
    Key { or_end: bool },
    /// A comma or the end.
    More,
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    nodes: Vec<Node>,
    open: Vec<usize>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn error(&self, why: impl Into<String>) -> JsonError {
        place(self.text, self.at, why.into())
    }

    /// The error about what stands here in place of `wanted`.
    fn unexpected(&self, wanted: &str) -> JsonError {
        let rest = self.text.get(self.at..).unwrap_or("");
        let Some(found) = rest.chars().next() else {
            return self.error(format!("the file ends where {wanted} should be"));
        };
        let word: String = rest
            .chars()
            .take_while(|c| c.is_alphanumeric() || "_$".contains(*c))
            .take(20)
            .collect();
        self.error(match found {
            '/' => "JSON has no comments".to_owned(),
            '#' => "JSON has no comments".to_owned(),
            '\'' => "texts are written between double quotes".to_owned(),
            '\u{feff}' => "a byte order mark belongs at the start of the file".to_owned(),
            _ if word.is_empty() => format!("{found:?} where {wanted} should be"),
            _ => format!("{word} where {wanted} should be"),
        })
    }

    fn kind_of_open(&self) -> Option<Kind> {
        let id = self.open.last()?;
        self.nodes.get(*id).map(|node| node.kind)
    }

    fn all(&mut self) -> Result<(), JsonError> {
        let mut expect = Some(Expect::Value { or_end: false });
        while let Some(now) = expect {
            let before = self.at;
            self.space();
            expect = if self.ends(now) {
                self.close();
                (!self.open.is_empty()).then_some(Expect::More)
            } else {
                self.go_on(now, before)?
            };
        }
        self.space();
        if self.at < self.text.len() {
            return Err(self.unexpected("the end of the file"));
        }
        Ok(())
    }

    fn ends(&self, now: Expect) -> bool {
        match (self.peek(), self.kind_of_open()) {
            (Some(b']'), Some(Kind::Array)) => {
                matches!(now, Expect::Value { or_end: true } | Expect::More)
            }
            (Some(b'}'), Some(Kind::Object)) => {
                matches!(now, Expect::Key { or_end: true } | Expect::More)
            }
            _ => false,
        }
    }

    fn close(&mut self) {
        self.at += 1;
        if let Some(node) = self.open.pop().and_then(|id| self.nodes.get_mut(id)) {
            node.bytes.end = self.at;
        }
    }

    fn go_on(&mut self, now: Expect, before: usize) -> Result<Option<Expect>, JsonError> {
        match now {
            Expect::More => {
                let object = self.kind_of_open() == Some(Kind::Object);
                if self.peek() != Some(b',') {
                    let wanted = if object { "',' or '}'" } else { "',' or ']'" };
                    return Err(self.unexpected(wanted));
                }
                self.at += 1;
                Ok(Some(if object {
                    Expect::Key { or_end: false }
                } else {
                    Expect::Value { or_end: false }
                }))
            }
            Expect::Key { or_end } => {
                match self.peek() {
                    Some(b'"') => {}
                    Some(b'}') if !or_end => return Err(self.error("a comma before this '}'")),
                    _ => return Err(self.unexpected("a key between double quotes")),
                }
                let key = self.string()?;
                self.space();
                if self.peek() != Some(b':') {
                    return Err(self.unexpected("':'"));
                }
                self.at += 1;
                self.space();
                self.value(Some(key), before)
            }
            Expect::Value { or_end } => match self.peek() {
                Some(b']') if !or_end && !self.open.is_empty() => {
                    Err(self.error("a comma before this ']'"))
                }
                _ => self.value(None, before),
            },
        }
    }

    fn value(
        &mut self,
        key: Option<Range<usize>>,
        before: usize,
    ) -> Result<Option<Expect>, JsonError> {
        let start = self.at;
        let (kind, inside) = match self.peek() {
            Some(b'{') => (Kind::Object, Some(Expect::Key { or_end: true })),
            Some(b'[') => (Kind::Array, Some(Expect::Value { or_end: true })),
            Some(b'"') => (Kind::Text, None),
            Some(b'-' | b'0'..=b'9') => (Kind::Number, None),
            _ => (Kind::Word, None),
        };
        match kind {
            Kind::Object | Kind::Array => self.at += 1,
            Kind::Text => {
                self.string()?;
            }
            Kind::Number => self.number()?,
            Kind::Word => self.word()?,
        }
        let id = self.add(kind, start, key, before);
        if inside.is_some() {
            self.open.push(id);
            return Ok(inside);
        }
        Ok((!self.open.is_empty()).then_some(Expect::More))
    }

    fn add(&mut self, kind: Kind, start: usize, key: Option<Range<usize>>, before: usize) -> usize {
        let id = self.nodes.len();
        let parent = self.open.last().copied();
        self.nodes.push(Node {
            kind,
            bytes: start..self.at,
            key,
            before,
            first: None,
            last: None,
            next: None,
            parent,
            count: 0,
        });
        let mut previous = None;
        if let Some(node) = parent.and_then(|id| self.nodes.get_mut(id)) {
            previous = node.last.replace(id);
            node.first.get_or_insert(id);
            node.count += 1;
        }
        if let Some(node) = previous.and_then(|id| self.nodes.get_mut(id)) {
            node.next = Some(id);
        }
        id
    }

    fn string(&mut self) -> Result<Range<usize>, JsonError> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(start..self.at);
                }
                Some(b'\\') => self.escape()?,
                Some(0..0x20) => {
                    return Err(self.error("a control character or line end inside a text"));
                }
                Some(_) => self.at += 1,
                None => return Err(self.error("the file ends inside a text")),
            }
        }
    }

    fn escape(&mut self) -> Result<(), JsonError> {
        let bytes = self.text.as_bytes();
        let length = match bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
            Some(b'u') => {
                let digits = bytes.get(self.at + 2..self.at + 6).unwrap_or_default();
                if digits.len() < 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
                    return Err(self.error("\\u is followed by four hexadecimal digits"));
                }
                6
            }
            _ => return Err(self.error("an escape that JSON does not have")),
        };
        self.at += length;
        Ok(())
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Result<(), JsonError> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let zero = self.peek() == Some(b'0');
        match self.digits() {
            0 => return Err(self.unexpected("a digit")),
            1 => {}
            _ if zero => return Err(self.error("a number with a 0 before it")),
            _ => {}
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            if self.digits() == 0 {
                return Err(self.unexpected("a digit"));
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if self.digits() == 0 {
                return Err(self.unexpected("a digit"));
            }
        }
        Ok(())
    }

    fn word(&mut self) -> Result<(), JsonError> {
        let rest = self.text.get(self.at..).unwrap_or("");
        let length = rest
            .find(|c: char| !c.is_alphanumeric())
            .unwrap_or(rest.len());
        match rest.get(..length) {
            Some("true" | "false" | "null") => {
                self.at += length;
                Ok(())
            }
            _ => Err(self.unexpected("a value")),
        }
    }
}
