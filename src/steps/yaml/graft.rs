//! The text of a node of one file as it is to stand in another.

use serde_json::Value;

use super::{
    place::Text,
    scalar,
    tree::{Content, Node, Style},
};

/// Between a key and its value; none where the value stands behind no colon.
pub(super) fn colon(text: &Text<'_>, key: &Node, value: &Node) -> Option<usize> {
    let at = text.skip_space(key.bytes.end);
    (!value.no_colon && text.at(at, ':')).then_some(at)
}

/// How far to the right a node stands.
pub(super) fn column(text: &Text<'_>, at: usize) -> usize {
    text.before(at).chars().count()
}

/// The node as it is written, with anchor and tag, if that is one line.
pub(super) fn one_line<'t>(text: &Text<'t>, node: &Node) -> Option<&'t str> {
    let block = node.style() == Style::Block
        || matches!(node.content, Content::Map(_) | Content::Seq(_)) && !node.flow;
    let written = text.slice(node.outer, node.bytes.end);
    (!block && !written.contains(['\n', '\r'])).then_some(written)
}

/// What stands behind the colon, to the end of the value's last line, comments included, moved to the right by
/// `from` → `to` columns.
pub(super) fn behind(
    text: &Text<'_>,
    colon: usize,
    value: &Node,
    (from, to): (usize, usize),
    newline: &str,
) -> String {
    let end = text.line_end(value.bytes.end.max(colon + 1));
    moved(text.slice(colon + 1, end), (from, to), newline)
}

/// A whole entry in its lines, with the comment lines right above it. It begins where its key does.
pub(super) fn entry(
    text: &Text<'_>,
    key: &Node,
    value: &Node,
    (from, to): (usize, usize),
    newline: &str,
) -> String {
    let mut start = key.outer;
    if text.before(start).trim().is_empty() {
        let indent = text.before(start);
        loop {
            let line = text.line_start(start);
            let above = text.line_start(line.saturating_sub(1));
            let comment = text
                .slice(above, line)
                .strip_prefix(indent)
                .is_some_and(|rest| rest.starts_with('#'));
            if line == 0 || !comment {
                break;
            }
            start = above + indent.len();
        }
    }
    let end = text.line_end(value.bytes.end);
    moved(text.slice(start, end), (from, to), newline)
}

/// All lines but the first, further right or left.
fn moved(lines: &str, (from, to): (usize, usize), newline: &str) -> String {
    let wider = " ".repeat(to.saturating_sub(from));
    let narrower = from.saturating_sub(to);
    let mut moved = String::with_capacity(lines.len());
    for (number, line) in lines.split('\n').enumerate() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if number == 0 {
            moved.push_str(line);
            continue;
        }
        let blank = line.len() - line.trim_start_matches(' ').len();
        moved.push_str(newline);
        if !line.is_empty() {
            moved.push_str(&wider);
        }
        moved.push_str(line.get(narrower.min(blank)..).unwrap_or_default());
    }
    moved
}

/// The node in one line, as it can stand anywhere.
pub(super) fn flow(text: &Text<'_>, node: &Node) -> String {
    let mut written = properties(text, node);
    match &node.content {
        Content::Seq(items) => {
            let items: Vec<String> = items.iter().map(|item| flow(text, item)).collect();
            written.push_str(&format!("[{}]", items.join(", ")));
        }
        Content::Map(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|(key, value)| format!("{}: {}", flow_key(text, key), flow(text, value)))
                .collect();
            written.push_str(&format!("{{{}}}", entries.join(", ")));
        }
        _ => written.push_str(&single(text, node)),
    }
    written
}

/// A key in one line; an alias needs the space before the colon.
pub(super) fn flow_key(text: &Text<'_>, key: &Node) -> String {
    let written = flow(text, key);
    match key.content {
        Content::Alias(_) => format!("{written} "),
        _ => written,
    }
}

fn single(text: &Text<'_>, node: &Node) -> String {
    match &node.content {
        Content::Scalar {
            style: Style::Missing,
            ..
        } => "null".to_owned(),
        Content::Scalar { text: value, style } => {
            let bare = *style == Style::Plain && node.tag.is_none();
            if bare && !scalar::safe_bare(value, false) {
                // What it is depends on the reader, so it stays as it is: a number, a bool, `on`.
                return value.clone();
            }
            let style = match style {
                Style::Single => Style::Single,
                Style::Double => Style::Double,
                _ => Style::Plain,
            };
            scalar::write(&Value::String(value.clone()), style, true)
        }
        _ => text.slice(node.bytes.start, node.bytes.end).to_owned(),
    }
}

/// Anchor and tag with a space behind each.
pub(super) fn properties(text: &Text<'_>, node: &Node) -> String {
    let mut written = String::new();
    let mut at = node.outer;
    while at < node.bytes.start && text.from(at).starts_with(['&', '!']) {
        let end = text.skip_property(at);
        written.push_str(text.slice(at, end));
        written.push(' ');
        at = text.skip_space(end);
    }
    written
}
