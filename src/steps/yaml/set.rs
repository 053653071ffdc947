//! Replacing values, one after the other, all or none.

use serde_json::Value;

use super::{
    YamlError,
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
    // A byte order mark is no part of the first key, and stays where it is.
    let (mark, body) = match text.strip_prefix('\u{feff}') {
        Some(rest) => ("\u{feff}", rest),
        None => ("", text),
    };
    let mut documents = tree::parse(body)?;
    let mut body = body.to_owned();
    for update in updates {
        let (document, route) = locate(&documents, update, &Text::new(&body))?;
        let Some(node) = documents.get(document).and_then(|root| find::at(root, &route)) else { continue };
        check_target(node, update)?;
        if node.text().is_some() && scalar::reads_as(node, &update.value) {
            continue;
        }
        let edit = replacement(node, &update.value, &Text::new(&body));
        body = prove(&body, edit, &mut documents, &update.key, |documents| {
            if let Some(node) = documents.get_mut(document).and_then(|root| find::at_mut(root, &route)) {
                node.content = Content::Written(update.value.clone());
            }
        })?;
    }
    Ok(format!("{mark}{body}"))
}

/// The first document that has the key; if none has, the error of the one where the way leads furthest.
fn locate(documents: &[Node], update: &Update, text: &Text<'_>) -> Result<(usize, Route), YamlError> {
    let parts = key::split(&update.key)?;
    let mut furthest: Option<find::Lost> = None;
    for (number, root) in documents.iter().enumerate() {
        match find::route(root, &parts, &update.key, text) {
            Ok(route) => return Ok((number, route)),
            Err(lost) if furthest.as_ref().is_none_or(|other| other.depth < lost.depth) => furthest = Some(lost),
            Err(_) => {}
        }
    }
    Err(furthest.map_or_else(
        || YamlError::Absent { key: update.key.clone(), why: "the file has no content".into() },
        |lost| lost.error,
    ))
}

fn check_target(node: &Node, update: &Update) -> Result<(), YamlError> {
    let refuse = |why: &str| Err(YamlError::Unsettable { key: update.key.clone(), why: why.to_owned() });
    match &node.content {
        Content::Map(_) => refuse("it is a mapping, not a single value; name a key below it"),
        Content::Seq(_) => refuse("it is a list, not a single value; name a place in it, such as `.0`"),
        _ if update.value.is_array() || update.value.is_object() => {
            refuse("the new value is a list or a mapping, and only single values can be set")
        }
        _ => match node.tag.as_deref().and_then(|tag| tag.strip_prefix(scalar::CORE)) {
            Some(tag) if (tag == "str") != update.value.is_string() => {
                refuse(&format!("it is tagged `!!{tag}`, so the new value would not read back as what it is"))
            }
            _ => Ok(()),
        },
    }
}

/// What to put where.
pub(super) struct Edit {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) text: String,
}

fn replacement(node: &Node, value: &Value, text: &Text<'_>) -> Edit {
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
            if text.from(start).starts_with(|c: char| !c.is_whitespace() && !",]}".contains(c)) {
                written.push(' ');
            }
        }
        Style::Block => {
            // A comment behind the `|` stays.
            let header = text.slice(start, text.line_end(start));
            let after = header.trim_start_matches(|c: char| !c.is_whitespace());
            if !after.trim().is_empty() {
                written.push_str(after);
            }
            return Edit { start, end: end.max(text.line_end(start)), text: written };
        }
        _ => {}
    }
    Edit { start, end, text: written }
}

/// The text after `edit`, if it reads as `documents` after `change`; `documents` is then what it reads as.
pub(super) fn prove(
    text: &str,
    edit: Edit,
    documents: &mut Vec<Node>,
    key: &str,
    change: impl FnOnce(&mut Vec<Node>),
) -> Result<String, YamlError> {
    let unproved = || YamlError::Unproved(key.to_owned());
    let (Some(before), Some(after)) = (text.get(..edit.start), text.get(edit.end..)) else { return Err(unproved()) };
    let edited = format!("{before}{}{after}", edit.text);
    let read = tree::parse(&edited).map_err(|_| unproved())?;
    let mut expected = documents.clone();
    change(&mut expected);
    if read.len() != expected.len() || !read.iter().zip(&expected).all(|(read, expected)| same(read, expected)) {
        return Err(unproved());
    }
    *documents = read;
    Ok(edited)
}

/// Whether `read` is what was expected: the same in content, style, anchors and tags, wherever it stands.
fn same(read: &Node, expected: &Node) -> bool {
    if read.anchor != expected.anchor || read.tag != expected.tag {
        return false;
    }
    match (&read.content, &expected.content) {
        (_, Content::Written(value)) => scalar::reads_as(read, value),
        (Content::Scalar { text: a, style: b }, Content::Scalar { text: x, style: y }) => a == x && b == y,
        (Content::Alias(a), Content::Alias(x)) => a == x,
        (Content::Seq(a), Content::Seq(x)) => {
            read.flow == expected.flow && a.len() == x.len() && a.iter().zip(x).all(|(a, x)| same(a, x))
        }
        (Content::Map(a), Content::Map(x)) => {
            read.flow == expected.flow
                && a.len() == x.len()
                && a.iter().zip(x).all(|((ak, av), (xk, xv))| same(ak, xk) && same(av, xv))
        }
        _ => false,
    }
}
