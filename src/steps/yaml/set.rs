//! Replacing values, all or none.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    YamlError, block,
    find::{self, Route},
    key, near,
    place::Text,
    proof, scalar,
    tree::{self, Content, Node, Style},
};

pub use crate::steps::updates::Update;

/// `text` with the updates done; of several for one value, the last counts. Where a value reads the same already, its
/// bytes stay as they are.
pub fn set(text: &str, updates: &[Update]) -> Result<String, YamlError> {
    let mut editor = Editor::open(text)?;
    let wanted = editor.plan(updates)?;
    editor.write(&wanted)?;
    Ok(editor.into_text())
}

/// An update and what it comes to.
pub(super) struct Wanted<'u> {
    pub(super) document: usize,
    pub(super) route: Route,
    pub(super) edit: Edit,
    update: &'u Update,
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

    /// Where a key leads: the first document that has it, and the way in that.
    pub fn find(&self, key: &str) -> Result<(usize, Route), YamlError> {
        locate(&self.documents, key, &Text::new(&self.body))
    }

    /// Every update with its edit, in the order of the text.
    fn plan<'u>(&self, updates: &'u [Update]) -> Result<Vec<Wanted<'u>>, YamlError> {
        let text = Text::new(&self.body);
        let mut last = BTreeMap::new();
        for update in updates {
            let place = locate(&self.documents, &update.key, &text)?;
            if let Some(node) = self.node(place.0, &place.1) {
                check_target(node, update)?;
                last.insert(place, (node, update));
            }
        }
        let mut wanted: Vec<Wanted<'u>> = last
            .into_iter()
            .filter(|(_, (node, update))| {
                node.text().is_none() || !scalar::reads_as(node, &update.value)
            })
            .map(|((document, route), (node, update))| Wanted {
                document,
                route,
                edit: replacement(node, &update.value, &text),
                update,
            })
            .collect();
        wanted.sort_by_key(|wanted| wanted.edit.start);
        Ok(wanted)
    }

    /// Does what was planned, or nothing.
    fn write(&mut self, wanted: &[Wanted<'_>]) -> Result<(), YamlError> {
        let Some(first) = wanted.first() else {
            return Ok(());
        };
        let edits: Vec<&Edit> = wanted.iter().map(|wanted| &wanted.edit).collect();
        let unproved = || YamlError::Unproved(first.update.key.clone());
        let edited = spliced(&self.body, &edits).ok_or_else(unproved)?;
        for wanted in wanted {
            let root = self.documents.get_mut(wanted.document);
            if let Some(node) = root.and_then(|root| find::at_mut(root, &wanted.route)) {
                node.content = Content::Written(wanted.update.value.clone());
            }
        }
        if !near::proved(&self.body, &self.documents, wanted) {
            let read = tree::parse(&edited).map_err(|_| unproved())?;
            if !proof::same_files(&read, &self.documents) {
                return Err(unproved());
            }
        }
        self.body = edited;
        Ok(())
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
        self.apply_all(&[&edit], key, |documents| {
            if documents.len() == document {
                documents.push(Node::written(Value::Null));
            }
            if let Some(root) = documents.get_mut(document) {
                change(root);
            }
        })
    }

    /// The same for edits at several places, in the order of the text.
    pub(super) fn apply_all(
        &mut self,
        edits: &[&Edit],
        key: &str,
        change: impl FnOnce(&mut Vec<Node>),
    ) -> Result<(), YamlError> {
        let unproved = || YamlError::Unproved(key.to_owned());
        let edited = spliced(&self.body, edits).ok_or_else(unproved)?;
        let read = tree::parse(&edited).map_err(|_| unproved())?;
        let mut expected = self.documents.clone();
        change(&mut expected);
        if !proof::same_files(&read, &expected) {
            return Err(unproved());
        }
        (self.body, self.documents) = (edited, read);
        Ok(())
    }
}

/// `text` with edits that follow each other; none where they do not.
pub(super) fn spliced(text: &str, edits: &[&Edit]) -> Option<String> {
    let mut spliced = String::with_capacity(text.len() + 64);
    let mut done = 0;
    for edit in edits {
        spliced.push_str(text.get(done..edit.start)?);
        spliced.push_str(&edit.text);
        done = edit.end;
    }
    spliced.push_str(text.get(done..)?);
    Some(spliced)
}

/// The first document that has the key; if none has, the error of the one where the way leads furthest.
fn locate(documents: &[Node], key: &str, text: &Text<'_>) -> Result<(usize, Route), YamlError> {
    let parts = key::split(key)?;
    let mut furthest: Option<find::Lost> = None;
    for (number, root) in documents.iter().enumerate() {
        match find::route(root, &parts, key, text) {
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
            key: key.to_owned(),
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
        _ if node.is_bare_key() => refuse(BARE_KEY),
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

/// Why nothing can be put behind a key of the form `? key`.
pub(super) const BARE_KEY: &str =
    "its key is written with `?` and has no `:`; write the key as `key:` in the file first";

/// What to put where.
#[derive(Clone, Debug)]
pub(super) struct Edit {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) text: String,
}

impl Edit {
    /// The same edit in a text that begins at `origin`.
    pub(super) fn moved(&self, origin: usize) -> Option<Self> {
        Some(Self {
            start: self.start.checked_sub(origin)?,
            end: self.end.checked_sub(origin)?,
            text: self.text.clone(),
        })
    }
}

pub(super) fn replacement(node: &Node, value: &Value, text: &Text<'_>) -> Edit {
    let style = node.style();
    let block = value
        .as_str()
        .filter(|_| style == Style::Block)
        .and_then(|value| block::write(text, header(node, text), node.bytes.clone(), value));
    match block {
        Some(lines) => Edit {
            start: node.bytes.start,
            end: node.bytes.end.max(text.line_end(node.bytes.start)),
            text: format!(
                "{}{}{}",
                lines.header,
                comment(header(node, text)),
                lines.body
            ),
        },
        None => placed(node, scalar::write(value, style, node.in_flow), text),
    }
}

/// `written`, of one line, in the place of a single value.
pub(super) fn placed(node: &Node, mut written: String, text: &Text<'_>) -> Edit {
    let (start, mut end) = (node.bytes.start, node.bytes.end);
    match node.style() {
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
            written.push_str(comment(header(node, text)));
            end = end.max(text.line_end(start));
        }
        _ => {}
    }
    Edit {
        start,
        end,
        text: written,
    }
}

/// The first line of a block scalar.
fn header<'t>(node: &Node, text: &Text<'t>) -> &'t str {
    text.slice(node.bytes.start, text.line_end(node.bytes.start))
}

/// The comment behind a `|`, with the space before it.
fn comment(header: &str) -> &str {
    let comment = header.trim_start_matches(|c: char| !c.is_whitespace());
    if comment.trim().is_empty() {
        ""
    } else {
        comment
    }
}
