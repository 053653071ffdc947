//! A YAML file as a tree whose nodes know their bytes.

use std::{iter::Peekable, ops::Range};

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};
use serde_json::Value;

use super::{YamlError, place::Text};

/// Nesting beyond this is refused rather than followed.
const DEEPEST: usize = 200;

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Style {
    Plain,
    Single,
    Double,
    /// `|` or `>`.
    Block,
    /// Not at all: `key:` with nothing after it.
    Missing,
}

/// What a node holds.
#[derive(Clone, Debug)]
pub enum Content {
    /// A single value.
    Scalar {
        /// Escapes and folding resolved.
        text: String,
        /// As it is written.
        style: Style,
    },
    /// A list.
    Seq(Vec<Node>),
    /// A mapping, in the order of the file.
    Map(Vec<(Node, Node)>),
    /// `*name`, by the anchor's number.
    Alias(usize),
    /// In an expected tree: whatever reads as this value.
    Written(Value),
    /// In an expected tree: whatever means the same as this node of another file, in any style.
    Copied(Box<Node>),
}

/// A node and its place.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it holds.
    pub content: Content,
    /// The anchor's number in the file; 0 without.
    pub anchor: usize,
    /// The resolved tag.
    pub tag: Option<String>,
    /// The bytes of the value itself, without anchor and tag. For blocks this includes the header; for collections
    /// in block style it goes from the first entry to the end of the last.
    pub bytes: Range<usize>,
    /// Where its anchor or tag begins; the start of `bytes` without.
    pub outer: usize,
    /// Written with brackets or braces.
    pub flow: bool,
    /// Somewhere inside brackets or braces.
    pub in_flow: bool,
    /// Where a mapping's value has no `:` before it.
    pub no_colon: bool,
}

impl Node {
    /// The node that an edit is to leave behind.
    pub fn written(value: Value) -> Self {
        Self::expected(Content::Written(value))
    }

    /// The same, for a node of another file.
    pub(super) fn copied(node: Self) -> Self {
        Self::expected(Content::Copied(Box::new(node)))
    }

    /// Whether this is the value that a key of the form `? key` has not: a `:` put behind such a key would make the
    /// key itself a mapping.
    pub(super) fn is_bare_key(&self) -> bool {
        self.no_colon && !self.in_flow
    }

    fn expected(content: Content) -> Self {
        Self {
            content,
            anchor: 0,
            tag: None,
            bytes: 0..0,
            outer: 0,
            flow: false,
            in_flow: false,
            no_colon: false,
        }
    }

    /// How it is written; what is no scalar counts as plain.
    pub fn style(&self) -> Style {
        match &self.content {
            Content::Scalar { style, .. } => *style,
            _ => Style::Plain,
        }
    }

    /// The text of a scalar.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }
}

/// Reads a file: one node per document.
pub fn parse(text: &str) -> Result<Vec<Node>, YamlError> {
    // The parser takes it for the end of the file.
    if let Some(at) = text.find('\0') {
        let before = text.get(..at).unwrap_or_default();
        return Err(YamlError::NotYaml {
            line: before.matches('\n').count() + 1,
            column: before.chars().rev().take_while(|c| *c != '\n').count() + 1,
            why: "there is a NUL character, which no YAML file may hold".into(),
        });
    }
    let text = Text::new(text);
    let mut reader = Reader {
        events: Parser::new_from_str(text.all).peekable(),
        text: &text,
    };
    let mut documents = Vec::new();
    loop {
        let (event, span) = reader.next()?;
        match event {
            Event::StreamStart | Event::DocumentEnd | Event::Nothing => {}
            Event::DocumentStart(explicit) => {
                let place = if explicit { span.end } else { span.start };
                let place = text.byte(place.index());
                documents.push(reader.node(place, 0, false)?);
            }
            _ => return Ok(documents),
        }
    }
}

struct Reader<'a, 't> {
    events: Peekable<Parser<'a, StrInput<'a>>>,
    text: &'t Text<'a>,
}

fn not_yaml(error: &ScanError) -> YamlError {
    let at = error.marker();
    YamlError::NotYaml {
        line: at.line(),
        column: at.col() + 1,
        why: error.info().to_owned(),
    }
}

impl<'a> Reader<'a, '_> {
    fn next(&mut self) -> Result<(Event<'a>, Span), YamlError> {
        match self.events.next() {
            Some(event) => event.map_err(|error| not_yaml(&error)),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    /// Whether the next event ends the collection; takes it then.
    fn ended(&mut self) -> Result<bool, YamlError> {
        match self.events.peek() {
            Some(Ok((Event::SequenceEnd | Event::MappingEnd, _))) => {
                self.events.next();
                Ok(true)
            }
            Some(Err(error)) => Err(not_yaml(error)),
            Some(Ok(_)) => Ok(false),
            None => Err(YamlError::Unplaceable(self.text.line(self.text.all.len()))),
        }
    }

    fn unplaceable(&self, at: usize) -> YamlError {
        YamlError::Unplaceable(self.text.line(at))
    }

    /// Past the closing bracket, which a comma may precede.
    fn closed(&self, place: usize, bracket: char) -> Result<usize, YamlError> {
        let mut at = self.text.skip_space(place);
        if self.text.at(at, ',') {
            at = self.text.skip_space(at + 1);
        }
        if self.text.at(at, bracket) {
            Ok(at + 1)
        } else {
            Err(self.unplaceable(at))
        }
    }

    /// The node that stands at `place` or after white space behind it.
    fn node(&mut self, place: usize, depth: usize, in_flow: bool) -> Result<Node, YamlError> {
        if depth > DEEPEST {
            return Err(YamlError::TooDeep(DEEPEST));
        }
        let (event, span) = self.next()?;
        let tag_text = |tag: &Option<std::borrow::Cow<'_, Tag>>| {
            tag.as_ref()
                .map(|tag| format!("{}{}", tag.handle, tag.suffix))
        };
        let (anchor, tag) = match &event {
            Event::Scalar(_, _, anchor, tag) => (*anchor, tag_text(tag)),
            Event::SequenceStart(anchor, tag) | Event::MappingStart(anchor, tag) => {
                (*anchor, tag_text(tag))
            }
            _ => (0, None),
        };
        let mut bare = place;
        let properties = usize::from(anchor > 0) + usize::from(tag.is_some());
        for _ in 0..properties {
            bare = self.text.skip_property(self.text.skip_space(bare));
        }
        let start = self.text.skip_space(bare);
        let end = self.text.byte(span.end.index());
        let (content, bytes, flow) = match event {
            Event::Alias(id) => (
                Content::Alias(id),
                start..self.text.skip_property(start).min(end),
                false,
            ),
            Event::Scalar(text, style, ..) => {
                let (style, bytes) = self.scalar(&text, style, bare, start, end)?;
                (
                    Content::Scalar {
                        text: text.into_owned(),
                        style,
                    },
                    bytes,
                    false,
                )
            }
            Event::SequenceStart(..) => self.sequence(start, end, depth, in_flow)?,
            Event::MappingStart(..) => self.mapping(start, end, depth, in_flow)?,
            _ => return Err(self.unplaceable(start)),
        };
        let outer = match properties {
            0 => bytes.start,
            _ => self.text.skip_space(place),
        };
        Ok(Node {
            content,
            anchor,
            tag,
            bytes,
            outer,
            flow,
            in_flow,
            no_colon: false,
        })
    }

    fn scalar(
        &self,
        value: &str,
        style: ScalarStyle,
        bare: usize,
        start: usize,
        end: usize,
    ) -> Result<(Style, Range<usize>), YamlError> {
        let text = self.text;
        match style {
            ScalarStyle::Plain if value.is_empty() => Ok((Style::Missing, bare..bare)),
            ScalarStyle::Plain => {
                let slice = text.slice(start, end);
                if slice != value && !slice.contains(['\n', '\r']) {
                    return Err(self.unplaceable(start));
                }
                Ok((Style::Plain, start..end))
            }
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => {
                let end = text
                    .quoted_end(start)
                    .ok_or_else(|| self.unplaceable(start))?;
                let style = if text.at(start, '"') {
                    Style::Double
                } else {
                    Style::Single
                };
                Ok((style, start..end))
            }
            ScalarStyle::Literal | ScalarStyle::Folded => {
                if !text.at(start, '|') && !text.at(start, '>') {
                    return Err(self.unplaceable(start));
                }
                let header_end = text.line_end(start);
                let keeps = text
                    .slice(start, header_end)
                    .chars()
                    .skip(1)
                    .take(2)
                    .any(|c| c == '+');
                let body = text.slice(header_end, end.max(header_end));
                let body = if keeps {
                    let body = body.trim_end_matches([' ', '\t']);
                    let body = body.strip_suffix('\n').unwrap_or(body);
                    body.strip_suffix('\r').unwrap_or(body)
                } else {
                    body.trim_end_matches([' ', '\t', '\r', '\n'])
                };
                Ok((Style::Block, start..header_end + body.len()))
            }
        }
    }

    fn sequence(
        &mut self,
        start: usize,
        opened: usize,
        depth: usize,
        in_flow: bool,
    ) -> Result<(Content, Range<usize>, bool), YamlError> {
        let flow = self.text.at(start, '[') && opened > start;
        let mut items: Vec<Node> = Vec::new();
        let mut place = if flow { start + 1 } else { start };
        loop {
            if self.ended()? {
                let end = if flow {
                    self.closed(place, ']')?
                } else {
                    place
                };
                return Ok((Content::Seq(items), start..end, flow));
            }
            place = self.text.skip_space(place);
            if flow {
                if !items.is_empty() && self.text.at(place, ',') {
                    place = self.text.skip_space(place + 1);
                }
            } else if self.text.indicator(place, '-') {
                place += 1;
            } else {
                return Err(self.unplaceable(place));
            }
            let item = self.node(place, depth + 1, in_flow || flow)?;
            place = item.bytes.end;
            items.push(item);
        }
    }

    fn mapping(
        &mut self,
        start: usize,
        opened: usize,
        depth: usize,
        in_flow: bool,
    ) -> Result<(Content, Range<usize>, bool), YamlError> {
        let flow = self.text.at(start, '{') && opened > start;
        let mut entries: Vec<(Node, Node)> = Vec::new();
        let mut place = if flow { start + 1 } else { start };
        loop {
            if self.ended()? {
                let end = if flow {
                    self.closed(place, '}')?
                } else {
                    place
                };
                return Ok((Content::Map(entries), start..end, flow));
            }
            place = self.text.skip_space(place);
            if flow && !entries.is_empty() && self.text.at(place, ',') {
                place = self.text.skip_space(place + 1);
            }
            if self.text.indicator(place, '?') {
                place += 1;
            }
            let key = self.node(place, depth + 1, in_flow || flow)?;
            let colon = self.text.skip_space(key.bytes.end);
            let has_colon = self.text.at(colon, ':');
            let mut value = self.node(
                if has_colon { colon + 1 } else { key.bytes.end },
                depth + 1,
                in_flow || flow,
            )?;
            value.no_colon = !has_colon;
            place = value.bytes.end;
            entries.push((key, value));
        }
    }
}
