//! Replacing values, one after the other, all or none.

use serde_json::Value;

use super::{
    YamlError, block,
    find::{self, Route},
    key,
    place::Text,
    scalar,
    tree::{self, Content, Node, Style},
};

/// One value to be set.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// See [`key::split`].
    pub key: String,
    /// String, number, bool or null.
    pub value: Value,
}

/// `text` with the updates done in order. Where a value reads the same already, its bytes stay as they are.
pub fn set(text: &str, updates: &[Update]) -> Result<String, YamlError> {
    let mut editor = Editor::open(text)?;
    for update in updates {
        let (document, route) = locate(&editor.documents, update, &Text::new(&editor.body))?;
        editor.set_at(document, &route, update)?;
    }
    Ok(editor.into_text())
}

/// A file between edits: its text and what that reads as.
pub struct Editor {
    mark: &'static str,
    pub(super) body: String,
    pub(super) documents: Vec<Node>,
}

impl Editor {
    /// Reads a file.
    pub fn open(text: &str) -> Result<Self, YamlError> {
        // A byte order mark is no part of the first key, and stays where it is.
        let (mark, body) = match text.strip_prefix('\u{feff}') {
            Some(rest) => ("\u{feff}", rest),
            None => ("", text),
        };
        Ok(Self {
            mark,
            documents: tree::parse(body)?,
            body: body.to_owned(),
        })
    }

    /// The file as it is now.
    pub fn into_text(self) -> String {
        format!("{}{}", self.mark, self.body)
    }

    /// The node at `route` in a document.
    pub fn node(&self, document: usize, route: &[usize]) -> Option<&Node> {
        self.documents
            .get(document)
            .and_then(|root| find::at(root, route))
    }

    /// Sets the value at `route`.
    pub fn set_at(
        &mut self,
        document: usize,
        route: &[usize],
        update: &Update,
    ) -> Result<(), YamlError> {
        let Some(node) = self.node(document, route) else {
            return Err(YamlError::Unproved(update.key.clone()));
        };
        check_target(node, update)?;
        if node.text().is_some() && scalar::reads_as(node, &update.value) {
            return Ok(());
        }
        let edit = replacement(node, &update.value, &Text::new(&self.body));
        self.apply(edit, document, &update.key, |root| {
            if let Some(node) = find::at_mut(root, route) {
                node.content = Content::Written(update.value.clone());
            }
        })
    }

    /// Does `edit` if the text then reads as before plus `change`; `key` is for the error.
    pub(super) fn apply(
        &mut self,
        edit: Edit,
        document: usize,
        key: &str,
        change: impl FnOnce(&mut Node),
    ) -> Result<(), YamlError> {
        let unproved = || YamlError::Unproved(key.to_owned());
        let before = self.body.get(..edit.start).ok_or_else(unproved)?;
        let after = self.body.get(edit.end..).ok_or_else(unproved)?;
        let edited = format!("{before}{}{after}", edit.text);
        let read = tree::parse(&edited).map_err(|_| unproved())?;
        let mut expected = self.documents.clone();
        match expected.get_mut(document) {
            Some(root) => change(root),
            None => expected.push({
                let mut root = Node::written(Value::Null);
                change(&mut root);
                root
            }),
        }
        if read.len() != expected.len()
            || !read
                .iter()
                .zip(&expected)
                .all(|(read, expected)| same(read, expected))
        {
            return Err(unproved());
        }
        (self.body, self.documents) = (edited, read);
        Ok(())
    }
}

/// The first document that has the key; if none has, the error of the one where the way leads furthest.
fn locate(
    documents: &[Node],
    update: &Update,
    text: &Text<'_>,
) -> Result<(usize, Route), YamlError> {
    let parts = key::split(&update.key)?;
    let mut furthest: Option<find::Lost> = None;
    for (number, root) in documents.iter().enumerate() {
        match find::route(root, &parts, &update.key, text) {
            Ok(route) => return Ok((number, route)),
            Err(lost)
                if furthest
                    .as_ref()
                    .is_none_or(|other| other.depth < lost.depth) =>
            {
                furthest = Some(lost)
            }
            Err(_) => {}
        }
    }
    Err(furthest.map_or_else(
        || YamlError::Absent {
            key: update.key.clone(),
            why: "the file has no content".into(),
        },
        |lost| lost.error,
    ))
}

fn check_target(node: &Node, update: &Update) -> Result<(), YamlError> {
    let refuse = |why: &str| {
        Err(YamlError::Unsettable {
            key: update.key.clone(),
            why: why.to_owned(),
        })
    };
    match &node.content {
        Content::Map(_) => refuse("it is a mapping, not a single value; name a key below it"),
        Content::Seq(_) => {
            refuse("it is a list, not a single value; name a place in it, such as `.0`")
        }
        _ if update.value.is_array() || update.value.is_object() => {
            refuse("the new value is a list or a mapping, and only single values can be set")
        }
        _ => {
            let Some(tag) = &node.tag else { return Ok(()) };
            let (name, texts_only) = match tag.strip_prefix(scalar::CORE) {
                Some(core) => (format!("!!{core}"), core == "str"),
                // Whoever reads the tag decides what the text means.
                None => (tag.clone(), true),
            };
            if texts_only == update.value.is_string() {
                return Ok(());
            }
            refuse(&format!(
                "it is tagged `{name}`, so the new value would not read back as what it is"
            ))
        }
    }
}

/// What to put where.
pub(super) struct Edit {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) text: String,
}

pub(super) fn replacement(node: &Node, value: &Value, text: &Text<'_>) -> Edit {
    let style = match &node.content {
        Content::Scalar { style, .. } => *style,
        _ => Style::Plain,
    };
    let mut written = scalar::write(value, style, node.in_flow);
    let (start, end) = (node.bytes.start, node.bytes.end);
    match style {
        Style::Missing => {
            if node.no_colon {
                written.insert_str(0, ": ");
            } else if !text.slice(0, start).ends_with([' ', '\t']) {
                written.insert(0, ' ');
            }
            if text
                .from(start)
                .starts_with(|c: char| !c.is_whitespace() && !",]}".contains(c))
            {
                written.push(' ');
            }
        }
        Style::Block => {
            let header_end = text.line_end(start);
            // A comment behind the `|` stays.
            let header = text.slice(start, header_end);
            let comment = header.trim_start_matches(|c: char| !c.is_whitespace());
            let comment = if comment.trim().is_empty() {
                ""
            } else {
                comment
            };
            let written = match value
                .as_str()
                .and_then(|value| block::write(text, header, start..end, value))
            {
                Some(lines) => format!("{}{comment}{}", lines.header, lines.body),
                None => format!("{written}{comment}"),
            };
            return Edit {
                start,
                end: end.max(header_end),
                text: written,
            };
        }
        _ => {}
    }
    Edit {
        start,
        end,
        text: written,
    }
}

/// Whether `read` is what was expected: the same in content, style, anchors and tags, wherever it stands.
fn same(read: &Node, expected: &Node) -> bool {
    if read.anchor != expected.anchor || read.tag != expected.tag {
        return false;
    }
    match (&read.content, &expected.content) {
        (_, Content::Written(value)) => scalar::reads_as(read, value),
        (Content::Scalar { text: a, style: b }, Content::Scalar { text: x, style: y }) => {
            a == x && b == y
        }
        (Content::Alias(a), Content::Alias(x)) => a == x,
        (Content::Seq(a), Content::Seq(x)) => {
            read.flow == expected.flow
                && a.len() == x.len()
                && a.iter().zip(x).all(|(a, x)| same(a, x))
        }
        (Content::Map(a), Content::Map(x)) => {
            read.flow == expected.flow
                && a.len() == x.len()
                && a.iter()
                    .zip(x)
                    .all(|((ak, av), (xk, xv))| same(ak, xk) && same(av, xv))
        }
        _ => false,
    }
}
