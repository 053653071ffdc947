//! Adding, renaming and removing entries of mappings and lists, in the style that is there.

use serde_json::{Map, Value};

use super::{
    YamlError, find,
    place::Text,
    scalar,
    set::{Edit, Editor, replacement},
    tree::{Content, Node, Style},
};

/// Keys and texts, in the order in which they are to be written.
pub type Fields = [(&'static str, String)];

fn object(fields: &Fields) -> Value {
    Value::Object(
        fields
            .iter()
            .map(|(key, value)| ((*key).to_owned(), Value::String(value.clone())))
            .collect(),
    )
}

fn pairs(fields: &Fields, in_flow: bool) -> Vec<String> {
    fields
        .iter()
        .map(|(key, value)| {
            format!(
                "{key}: {}",
                scalar::write(&Value::String(value.clone()), Style::Plain, in_flow)
            )
        })
        .collect()
}

fn flow_item(fields: &Fields) -> String {
    format!("{{{}}}", pairs(fields, true).join(", "))
}

/// A list item in lines; `dash` is what stands before its first key, such as `- `.
fn block_item(fields: &Fields, dash: &str, newline: &str) -> String {
    let blank: String = dash
        .chars()
        .map(|c| if c == '-' { ' ' } else { c })
        .collect();
    let lines: Vec<String> = pairs(fields, false)
        .into_iter()
        .enumerate()
        .map(|(index, pair)| format!("{newline}{}{pair}", if index == 0 { dash } else { &blank }))
        .collect();
    lines.concat()
}

/// What stands before a node in its line, if that is only white space and dashes.
pub(super) fn lead<'t>(text: &Text<'t>, at: usize) -> Option<&'t str> {
    let before = text.before(at);
    before
        .chars()
        .all(|c| matches!(c, ' ' | '\t' | '-'))
        .then_some(before)
}

fn unsettable(key: &str, why: &str) -> YamlError {
    YamlError::Unsettable {
        key: key.to_owned(),
        why: why.to_owned(),
    }
}

impl Editor {
    /// Adds an item to the list under the top-level `key`; makes the list where there is none.
    pub fn append(
        &mut self,
        document: usize,
        key: &'static str,
        fields: &Fields,
    ) -> Result<(), YamlError> {
        let Some(root) = self.documents.get(document) else {
            return self.append_to_nothing(document, key, fields);
        };
        let Content::Map(entries) = &root.content else {
            return match root.text() {
                Some("") => self.append_to_nothing(document, key, fields),
                _ => Err(unsettable(key, "the file is not a mapping")),
            };
        };
        let text = Text::new(&self.body);
        let Some(index) = entries
            .iter()
            .position(|(name, _)| name.text() == Some(key))
        else {
            let edit = new_list(&text, root, entries, key, fields)?;
            return self.apply(edit, document, key, |root| {
                if let Content::Map(entries) = &mut root.content {
                    let list = Value::Array(vec![object(fields)]);
                    entries.push((Node::written(Value::from(key)), Node::written(list)));
                }
            });
        };
        let Some((_, list)) = entries.get(index) else {
            return Err(unsettable(key, "it is not there"));
        };
        let edit = match &list.content {
            Content::Seq(items) if !items.is_empty() => more(&text, list, items, key, fields)?,
            Content::Seq(_) | Content::Scalar { .. }
                if list.anchor == 0
                    && list.tag.is_none()
                    && (list.flow || scalar::read(list) == Some(Value::Null)) =>
            {
                first(&text, root, entries, list, fields)
            }
            _ => return Err(unsettable(key, "it is not a plain list")),
        };
        self.apply(edit, document, key, |root| {
            let Some(list) = find::at_mut(root, &[index]) else {
                return;
            };
            match &mut list.content {
                Content::Seq(items) if !items.is_empty() => {
                    items.push(Node::written(object(fields)))
                }
                _ => list.content = Content::Written(Value::Array(vec![object(fields)])),
            }
        })
    }

    /// The first entry of a file that has none, only comments perhaps.
    fn append_to_nothing(
        &mut self,
        document: usize,
        key: &'static str,
        fields: &Fields,
    ) -> Result<(), YamlError> {
        let newline = Text::new(&self.body).newline();
        let gap = if self.body.is_empty() || self.body.ends_with('\n') {
            ""
        } else {
            newline
        };
        let text = format!("{gap}{key}:{}{newline}", block_item(fields, "- ", newline));
        let edit = Edit {
            start: self.body.len(),
            end: self.body.len(),
            text,
        };
        self.apply(edit, document, key, |root| {
            let list = Value::Array(vec![object(fields)]);
            root.content =
                Content::Written(Value::Object(Map::from_iter([(key.to_owned(), list)])));
        })
    }

    /// Adds an entry to the mapping at `route`.
    pub fn add_entry(
        &mut self,
        document: usize,
        route: &[usize],
        key: &'static str,
        value: &str,
    ) -> Result<(), YamlError> {
        let text = Text::new(&self.body);
        let Some(node) = self.node(document, route) else {
            return Err(unsettable(key, "its mapping is not there"));
        };
        let Content::Map(entries) = &node.content else {
            return Err(unsettable(key, "it is not in a mapping"));
        };
        let Some(((first, _), (_, last))) = entries.first().zip(entries.last()) else {
            return Err(unsettable(key, "its mapping is empty"));
        };
        let in_flow = node.flow || node.in_flow;
        let pair = format!(
            "{key}: {}",
            scalar::write(&Value::from(value), Style::Plain, in_flow)
        );
        let edit = if in_flow {
            Edit {
                start: last.bytes.end,
                end: last.bytes.end,
                text: format!(", {pair}"),
            }
        } else {
            let lead = lead(&text, first.bytes.start)
                .ok_or_else(|| unsettable(key, "its mapping starts in mid-line"))?;
            let at = text.line_end(last.bytes.end);
            Edit {
                start: at,
                end: at,
                text: format!("{}{}{pair}", text.newline(), lead.replace('-', " ")),
            }
        };
        self.apply(edit, document, key, |root| {
            if let Some(Node {
                content: Content::Map(entries),
                ..
            }) = find::at_mut(root, route)
            {
                entries.push((
                    Node::written(Value::from(key)),
                    Node::written(Value::from(value)),
                ));
            }
        })
    }

    /// Gives an entry of the mapping at `route` another key and value; its place and its comments stay.
    pub fn replace_entry(
        &mut self,
        document: usize,
        route: &[usize],
        index: usize,
        key: &'static str,
        value: &str,
    ) -> Result<(), YamlError> {
        let text = Text::new(&self.body);
        let Some(Content::Map(entries)) = self.node(document, route).map(|node| &node.content)
        else {
            return Err(unsettable(key, "it is not in a mapping"));
        };
        let Some((old, node)) = entries.get(index) else {
            return Err(unsettable(key, "it is not there"));
        };
        let written = replacement(node, &Value::from(value), &text);
        let between = text.slice(old.bytes.end, written.start);
        let edit = Edit {
            start: old.bytes.start,
            end: written.end,
            text: format!("{key}{between}{}", written.text),
        };
        self.apply(edit, document, key, |root| {
            if let Some(Node {
                content: Content::Map(entries),
                ..
            }) = find::at_mut(root, route)
                && let Some((old, node)) = entries.get_mut(index)
            {
                old.content = Content::Written(Value::from(key));
                node.content = Content::Written(Value::from(value));
            }
        })
    }

    /// Removes an entry of the mapping at `route`, with its line.
    pub fn remove_entry(
        &mut self,
        document: usize,
        route: &[usize],
        index: usize,
    ) -> Result<(), YamlError> {
        let text = Text::new(&self.body);
        let lost = || unsettable("an entry", "it is not in a mapping");
        let node = self.node(document, route).ok_or_else(lost)?;
        let Content::Map(entries) = &node.content else {
            return Err(lost());
        };
        let (key, value) = entries.get(index).ok_or_else(lost)?;
        let name = key.text().unwrap_or_default().to_owned();
        let (start, end) = (key.bytes.start, value.bytes.end);
        let next = entries.get(index + 1).map(|(next, _)| next.bytes.start);
        let before = index
            .checked_sub(1)
            .and_then(|before| entries.get(before))
            .map(|(_, value)| value.bytes.end);
        let own_line = !node.flow && !node.in_flow && text.before(start).trim().is_empty();
        let (start, end) = match (own_line, next, before) {
            (true, _, _) => {
                let line_end = text.line_end(end);
                let after = text.from(line_end);
                let rest = after
                    .strip_prefix("\r\n")
                    .or_else(|| after.strip_prefix('\n'))
                    .unwrap_or(after);
                let start = text.line_start(start);
                // In the last line without a break, the break before goes instead.
                let start = if after.is_empty() {
                    text.slice(0, start).trim_end_matches(['\r', '\n']).len()
                } else {
                    start
                };
                (start, line_end + after.len() - rest.len())
            }
            (false, Some(next), _) => (start, next),
            (false, None, Some(before)) => (before, end),
            (false, None, None) => return Err(unsettable(&name, "nothing else is in its mapping")),
        };
        self.apply(
            Edit {
                start,
                end,
                text: String::new(),
            },
            document,
            &name,
            |root| {
                if let Some(Node {
                    content: Content::Map(entries),
                    ..
                }) = find::at_mut(root, route)
                    && index < entries.len()
                {
                    entries.remove(index);
                }
            },
        )
    }
}

/// A list with one item under a new key at the end of the top-level mapping.
fn new_list(
    text: &Text<'_>,
    root: &Node,
    entries: &[(Node, Node)],
    key: &'static str,
    fields: &Fields,
) -> Result<Edit, YamlError> {
    let Some(((first, _), (_, last))) = entries.first().zip(entries.last()) else {
        // `{}`
        let at = root.bytes.start + 1;
        return Ok(Edit {
            start: at,
            end: at,
            text: format!("{key}: [{}]", flow_item(fields)),
        });
    };
    if root.flow {
        let at = last.bytes.end;
        return Ok(Edit {
            start: at,
            end: at,
            text: format!(", {key}: [{}]", flow_item(fields)),
        });
    }
    let indent = lead(text, first.bytes.start)
        .ok_or_else(|| unsettable(key, "the file's mapping starts in mid-line"))?;
    let item = block_item(
        fields,
        &format!("{}- ", list_indent(text, entries, indent)),
        text.newline(),
    );
    let at = text.line_end(last.bytes.end);
    Ok(Edit {
        start: at,
        end: at,
        text: format!("{}{indent}{key}:{item}", text.newline()),
    })
}

/// How lists under top-level keys are indented in this file.
fn list_indent(text: &Text<'_>, entries: &[(Node, Node)], indent: &str) -> String {
    let dashes = entries.iter().find_map(|(_, value)| match &value.content {
        Content::Seq(items) if !value.flow => lead(text, items.first()?.bytes.start),
        _ => None,
    });
    dashes
        .and_then(|dashes| dashes.split('-').next())
        .unwrap_or(indent)
        .to_owned()
}

/// Another item at the end of a list that has some.
fn more(
    text: &Text<'_>,
    list: &Node,
    items: &[Node],
    key: &str,
    fields: &Fields,
) -> Result<Edit, YamlError> {
    let last = items
        .last()
        .ok_or_else(|| unsettable(key, "the list is empty"))?;
    if list.flow {
        let at = last.bytes.end;
        return Ok(Edit {
            start: at,
            end: at,
            text: format!(", {}", flow_item(fields)),
        });
    }
    let dash = lead(text, last.bytes.start)
        .filter(|lead| lead.contains('-'))
        .ok_or_else(|| unsettable(key, "its last item does not start in the line of its dash"))?;
    let at = text.line_end(last.bytes.end);
    Ok(Edit {
        start: at,
        end: at,
        text: block_item(fields, dash, text.newline()),
    })
}

/// The first item of a list that is there but empty: `images:`, `images: []`, `images: null`.
fn first(
    text: &Text<'_>,
    root: &Node,
    entries: &[(Node, Node)],
    list: &Node,
    fields: &Fields,
) -> Edit {
    if root.flow || list.in_flow {
        return Edit {
            start: list.bytes.start,
            end: list.bytes.end,
            text: format!("[{}]", flow_item(fields)),
        };
    }
    let start = text
        .slice(0, list.bytes.start)
        .trim_end_matches([' ', '\t'])
        .len();
    let end = text.line_end(list.bytes.end);
    // A comment behind it stays in its line.
    let rest = text.slice(list.bytes.end, end).trim_end();
    let indent = entries
        .first()
        .and_then(|(first, _)| lead(text, first.bytes.start))
        .unwrap_or("");
    let item = block_item(
        fields,
        &format!("{}- ", list_indent(text, entries, indent)),
        text.newline(),
    );
    Edit {
        start,
        end,
        text: format!("{rest}{item}"),
    }
}
