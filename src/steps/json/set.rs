//! Setting values by key.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    JsonError,
    find::{Place, find},
    key::{self, Part},
    tree::{Kind, Tree},
    write::{self, Layout},
};
use crate::steps::updates::Update;

/// An array is filled with null up to a new item, but not further than this.
const MOST_NULLS: usize = 1_000;

/// Sets every value, in order; a later update sees what an earlier one made. An error means that nothing was done.
pub fn set(text: &str, updates: &[Update]) -> Result<String, JsonError> {
    let (mark, body) = match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    };
    let mut editor = Editor {
        text: body.to_owned(),
        tree: Tree::read(body)?,
        waiting: BTreeMap::new(),
    };
    for update in updates {
        editor.set(update)?;
    }
    editor.splice();
    Ok(format!("{mark}{}", editor.text))
}

/// Made parts below each other, which are laid out by recursion. What is there may be deeper.
const MOST_MADE: usize = 100;

/// New texts for scalars wait, since they change no other node's number; all else is done and read again at once.
struct Editor {
    text: String,
    tree: Tree,
    waiting: BTreeMap<usize, String>,
}

impl Editor {
    fn set(&mut self, update: &Update) -> Result<(), JsonError> {
        let key = &update.key;
        let written = write::scalar(&update.value).map_err(|why| JsonError::NotScalar {
            key: key.clone(),
            why,
        })?;
        let parts = key::split(key)?;
        if self.tree.nodes().is_empty() {
            return self.start(key, &parts, &written);
        }
        if parts.iter().any(|part| !matches!(part, Part::Name { .. })) {
            // A selection looks at values, so they have to be there.
            self.flush()?;
        }
        match find(&self.text, &self.tree, &parts) {
            Place::Here(nodes) => self.replace(&nodes, &update.value, &written),
            Place::Missing { at, rest } => {
                self.flush()?;
                let rest = parts.get(rest..).unwrap_or_default();
                self.make(key, at, rest, &written)
            }
            Place::Nowhere(number) => Err(JsonError::Absent {
                key: key.clone(),
                why: format!("nothing is found by its part {}", number + 1),
            }),
        }
    }

    /// The first value of an empty file; its white space stays behind it.
    fn start(&mut self, key: &str, parts: &[Part], written: &str) -> Result<(), JsonError> {
        check_made(key, parts, None)?;
        let made = Layout::inside(&self.text, &self.tree, 0).made(parts, written);
        self.text.insert_str(0, &made);
        self.tree = Tree::read(&self.text)?;
        Ok(())
    }

    fn replace(&mut self, nodes: &[usize], value: &Value, written: &str) -> Result<(), JsonError> {
        let mut containers = false;
        for id in nodes {
            let Some(node) = self.tree.get(*id) else {
                continue;
            };
            if node.is_container() {
                containers = true;
                continue;
            }
            let there = self.text.get(node.bytes.clone()).unwrap_or("");
            if write::reads_as(node.kind, there, value) {
                self.waiting.remove(id);
            } else {
                self.waiting.insert(*id, written.to_owned());
            }
        }
        if !containers {
            return Ok(());
        }
        self.flush()?;
        // Parts of one container are never among the nodes that one key names.
        for id in nodes {
            if self.tree.get(*id).is_some_and(|node| node.is_container()) {
                self.waiting.insert(*id, written.to_owned());
            }
        }
        self.flush()
    }

    /// Makes what is missing below the node `at`.
    fn make(
        &mut self,
        key: &str,
        at: usize,
        parts: &[Part],
        written: &str,
    ) -> Result<(), JsonError> {
        let Some(node) = self.tree.get(at) else {
            return Ok(());
        };
        let (kind, bytes, count) = (node.kind, node.bytes.clone(), node.count);
        if !node.is_container() {
            // As in Kargo, whose sjson puts an object where a scalar is in the way.
            check_made(key, parts, None)?;
            let parent = node.parent;
            let made = match parent {
                Some(parent) => {
                    Layout::inside(&self.text, &self.tree, parent).made_below(parts, written)
                }
                None => Layout::inside(&self.text, &self.tree, at).made(parts, written),
            };
            self.text.replace_range(bytes, &made);
            self.tree = Tree::read(&self.text)?;
            return Ok(());
        }
        check_made(key, parts, Some((kind, count)))?;
        let layout = Layout::inside(&self.text, &self.tree, at);
        let mut new = layout.appended(count, parts, kind == Kind::Object, written);
        let place = match node.last.and_then(|last| self.tree.get(last)) {
            Some(last) => last.bytes.end,
            None => bytes.start + 1,
        };
        let inside = self.text.get(place..bytes.end.saturating_sub(1));
        if count == 0 && inside == Some("") {
            new.push_str(layout.closing());
        }
        self.text.insert_str(place, &new);
        self.tree = Tree::read(&self.text)?;
        Ok(())
    }

    fn splice(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        if waiting.is_empty() {
            return;
        }
        let mut out = String::with_capacity(self.text.len());
        let mut done = 0;
        // Numbers go with the order in the file.
        for (id, new) in waiting {
            if let Some(node) = self.tree.get(id) {
                out.push_str(self.text.get(done..node.bytes.start).unwrap_or(""));
                out.push_str(&new);
                done = node.bytes.end;
            }
        }
        out.push_str(self.text.get(done..).unwrap_or(""));
        self.text = out;
    }

    fn flush(&mut self) -> Result<(), JsonError> {
        if !self.waiting.is_empty() {
            self.splice();
            self.tree = Tree::read(&self.text)?;
        }
        Ok(())
    }
}

/// Whether the missing parts can be made, in a container of that kind and size or where there is none.
fn check_made(
    key: &str,
    parts: &[Part],
    container: Option<(Kind, usize)>,
) -> Result<(), JsonError> {
    let absent = |why: String| {
        Err(JsonError::Absent {
            key: key.to_owned(),
            why,
        })
    };
    if parts.len() > MOST_MADE {
        return absent(format!(
            "{} parts of it are missing, and no more than {MOST_MADE} are made",
            parts.len()
        ));
    }
    for (number, part) in parts.iter().enumerate() {
        let existing = container.filter(|_| number == 0);
        let Part::Name { text, .. } = part else {
            return absent(format!("{key} can find values, not make them"));
        };
        let is_place = part.index().is_some() || part.is_append();
        let is_array = existing.map_or(is_place, |(kind, _)| kind == Kind::Array);
        let count = existing.map_or(0, |(_, count)| count);
        if is_array && !is_place {
            return absent(format!(
                "{text} is no place in an array: give digits, or -1 for a new last item"
            ));
        }
        if text.is_empty() {
            return absent("an empty key is only set where it is there: is a dot too many?".into());
        }
        if is_array && part.index().is_some_and(|index| index > count + MOST_NULLS) {
            return absent(format!(
                "the array has {count} items, and {text} is far behind its end"
            ));
        }
    }
    Ok(())
}
