//! Laying one YAML file over another, by editing the lower one.

use std::collections::{BTreeSet, HashMap};

use super::{
    YamlError,
    find::{self, Route},
    graft, list,
    place::Text,
    proof::Proof,
    scalar,
    set::{BARE_KEY, Edit, Editor, placed, replacement},
    tree::{Content, Node, Style},
};

/// The files laid over each other.
#[derive(Debug, PartialEq, Eq)]
pub struct Merged {
    /// The bytes of the first file that has content, with what the others change.
    pub text: String,
    /// The files of which only the first document was used.
    pub cut: Vec<usize>,
}

/// Which file could not be merged, and why.
#[derive(Debug, PartialEq, Eq)]
pub struct Unmerged {
    /// Its place in the list.
    pub file: usize,
    /// What is wrong with it.
    pub error: YamlError,
}

/// Lays each file over those before it. Mappings are merged key by key; everything else is replaced, null included.
/// A file without content changes nothing.
pub fn merge<T: AsRef<str>>(files: &[T]) -> Result<Merged, Unmerged> {
    let mut merged: Option<Editor> = None;
    let mut cut = Vec::new();
    for (file, text) in files.iter().enumerate() {
        let failed = |error| Unmerged { file, error };
        let over = Editor::open(text.as_ref()).map_err(failed)?;
        let Some(root) = over.documents.first().filter(|root| !is_nothing(root)) else {
            if over.documents.len() > 1 {
                cut.push(file);
            }
            continue;
        };
        readable(root, &Text::new(&over.body), merged.is_some()).map_err(failed)?;
        match &mut merged {
            None => merged = Some(over),
            Some(base) => {
                if over.documents.len() > 1 {
                    cut.push(file);
                }
                match lay_over(base, root, &over.body).map_err(failed)? {
                    Laid::Into => {}
                    Laid::Instead => merged = Some(over),
                }
            }
        }
    }
    Ok(Merged {
        text: merged.map_or_else(String::new, Editor::into_text),
        cut,
    })
}

fn is_nothing(root: &Node) -> bool {
    root.style() == Style::Missing && root.anchor == 0 && root.tag.is_none()
}

/// Other readers refuse an entry without a key, and which of two equal keys counts is up to them: in a file that is
/// laid over others there may be none.
fn readable(root: &Node, text: &Text<'_>, above: bool) -> Result<(), YamlError> {
    let mut stack = vec![root];
    while let Some(node) = stack.pop() {
        match &node.content {
            Content::Seq(items) => stack.extend(items),
            Content::Map(entries) => {
                let mut names = BTreeSet::new();
                for (key, value) in entries {
                    if let Some(name) = key.text().filter(|name| above && !names.insert(*name)) {
                        return Err(unsettable(name, "it is there twice"));
                    }
                    if key.style() == Style::Missing && key.outer == key.bytes.start {
                        return Err(YamlError::NotYaml {
                            line: text.line(key.bytes.start),
                            column: graft::column(text, key.bytes.start) + 1,
                            why: "there is a `:` without a key before it".into(),
                        });
                    }
                    stack.push(value);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

enum Laid {
    Into,
    Instead,
}

fn lay_over(base: &mut Editor, root: &Node, over: &str) -> Result<Laid, YamlError> {
    let Some(below) = base.documents.first() else {
        return Ok(Laid::Instead);
    };
    if Proof::default().alike(below, root) {
        return Ok(Laid::Into);
    }
    if !is_map(below) || !is_map(root) {
        return match base.documents.len() {
            1 => Ok(Laid::Instead),
            _ => Err(unsettable(
                "",
                "one of the two is no mapping, so the whole document would be replaced, and others follow it",
            )),
        };
    }
    let mut plan = Plan {
        base: &Text::new(&base.body),
        over: &Text::new(over),
        changes: Vec::new(),
        kept: Proof::default(),
    };
    plan.map(&Route::new(), below, root, "")?;
    let (mut changes, kept) = (plan.changes, plan.kept);
    let kept = kept
        .anchors
        .into_iter()
        .map(|(below, above)| (above, below));
    renumber_all(&mut changes, &kept.collect());
    self_contained(&changes)?;
    write(base, changes)?;
    Ok(Laid::Into)
}

fn is_map(node: &Node) -> bool {
    matches!(node.content, Content::Map(_))
}

fn unsettable(key: &str, why: &str) -> YamlError {
    YamlError::Unsettable {
        key: if key.is_empty() { "(root)" } else { key }.to_owned(),
        why: why.to_owned(),
    }
}

/// One entry that changes.
struct Change {
    key: String,
    /// As it is written in the file above, comments included.
    edit: Edit,
    /// In one line, for where that does not fit.
    plain: Edit,
    what: What,
    keeps_anchor: bool,
}

enum What {
    /// The value at the route becomes this node; the anchor that others may need stays.
    Value(Route, Node),
    /// The mapping at the route gets an entry.
    Entry(Route, Box<(Node, Node)>),
}

struct Plan<'a> {
    base: &'a Text<'a>,
    over: &'a Text<'a>,
    changes: Vec<Change>,
    /// Which anchors are there already.
    kept: Proof,
}

impl Plan<'_> {
    fn map(
        &mut self,
        route: &Route,
        below: &Node,
        above: &Node,
        here: &str,
    ) -> Result<(), YamlError> {
        let (Content::Map(old), Content::Map(new)) = (&below.content, &above.content) else {
            return Ok(());
        };
        let mut added = Vec::new();
        let mut places: HashMap<&str, Vec<(usize, &Node, &Node)>> = HashMap::new();
        for (at, (key, value)) in old.iter().enumerate() {
            if let Some(name) = key.text() {
                places.entry(name).or_default().push((at, key, value));
            }
        }
        for (key, value) in new {
            let Some(name) = key.text().filter(|_| key.style() != Style::Missing) else {
                return Err(unsettable(
                    here,
                    "a key of it is empty, a list, a mapping or an alias; only plain keys can be merged",
                ));
            };
            let path = match here.is_empty() {
                true => name.to_owned(),
                false => format!("{here}.{name}"),
            };
            match places.get(name).map(Vec::as_slice) {
                Some([_, _, ..]) => return Err(unsettable(&path, "it is there twice")),
                None | Some([]) => added.push((path, key, value)),
                Some([(at, old_key, old_value)]) => {
                    let route: Route = route.iter().copied().chain([*at]).collect();
                    if self.stays(old_value, value) {
                        continue;
                    }
                    if is_map(old_value) && is_map(value) {
                        self.kept.anchor(old_value.anchor, value.anchor);
                        self.map(&route, old_value, value, &path)?;
                    } else {
                        self.value(route, (old_key, old_value), (key, value), path)?;
                    }
                }
            }
        }
        for (path, key, value) in added {
            self.entry(route, below, (key, value), path)?;
        }
        Ok(())
    }

    /// Whether a value needs no change.
    fn stays(&mut self, old: &Node, new: &Node) -> bool {
        let mut kept = self.kept.clone();
        // An anchor that is there only below stays in any case.
        let alike = match new.anchor {
            0 => old.tag == new.tag && kept.alike_content(old, new),
            _ => kept.alike(old, new),
        };
        if alike {
            self.kept = kept;
        }
        alike
    }

    /// The value of an entry that is there.
    fn value(
        &mut self,
        route: Route,
        (old_key, old): (&Node, &Node),
        (key, new): (&Node, &Node),
        path: String,
    ) -> Result<(), YamlError> {
        if old.is_bare_key() {
            return Err(unsettable(&path, BARE_KEY));
        }
        let bare = old.tag.is_none() && new.tag.is_none() && new.anchor == 0;
        let as_text = bare
            && !is_collection(old)
            && (new.style() != Style::Block || old.style() == Style::Block);
        if let (true, Some(text)) = (as_text, sure_text(new)) {
            let edit = replacement(old, &text.into(), self.base);
            let plain = Edit { ..edit.clone() };
            let node = Node {
                anchor: old.anchor,
                ..Node::written(text.into())
            };
            self.changes.push(Change {
                key: path,
                edit,
                plain,
                what: What::Value(route, node),
                keeps_anchor: true,
            });
            return Ok(());
        }
        // An alias can have no anchor; an anchor of its own replaces the one that is there.
        let anchor = if new.anchor == 0 && !matches!(new.content, Content::Alias(_)) {
            anchor_of(self.base, old)
        } else {
            ""
        };
        let place = Place {
            base: self.base,
            key: old_key,
            node: old,
            anchor,
        };
        let plain = place.line(&graft::flow(self.over, new))?;
        let edit = match (
            graft::one_line(self.over, new),
            graft::colon(self.over, key, new),
        ) {
            _ if old.in_flow || new.in_flow => plain.clone(),
            (Some(line), _) if new.style() != Style::Missing => place.line(line)?,
            (None, Some(colon)) => {
                let columns = (
                    graft::column(self.over, key.outer),
                    graft::column(self.base, old_key.outer),
                );
                place.lines(&graft::behind(
                    self.over,
                    colon,
                    new,
                    columns,
                    self.base.newline(),
                ))?
            }
            _ => plain.clone(),
        };
        let mut node = copied(new);
        if !anchor.is_empty() {
            node.anchor = old.anchor;
        }
        self.changes.push(Change {
            key: path,
            edit,
            plain,
            what: What::Value(route, node),
            keeps_anchor: !anchor.is_empty(),
        });
        Ok(())
    }

    /// An entry that is new.
    fn entry(
        &mut self,
        route: &Route,
        below: &Node,
        (key, value): (&Node, &Node),
        path: String,
    ) -> Result<(), YamlError> {
        let line = format!(
            "{}: {}",
            graft::flow_key(self.over, key),
            graft::flow(self.over, value)
        );
        let old = match &below.content {
            Content::Map(entries) => entries.first().zip(entries.last()),
            _ => None,
        };
        let at = |at, text| Edit {
            start: at,
            end: at,
            text,
        };
        let (edit, plain) = match old {
            None => {
                let first = !self
                    .changes
                    .iter()
                    .any(|change| matches!(&change.what, What::Entry(other, _) if other == route));
                let comma = if first { "" } else { ", " };
                let edit = at(below.bytes.start + 1, format!("{comma}{line}"));
                (edit.clone(), edit)
            }
            Some((_, (_, last))) if below.flow || below.in_flow => {
                let edit = at(last.bytes.end, format!(", {line}"));
                (edit.clone(), edit)
            }
            Some(((first, _), (_, last))) => {
                let lead = list::lead(self.base, first.outer)
                    .ok_or_else(|| unsettable(&path, "its mapping starts in mid-line"))?;
                let indent = lead.replace('-', " ");
                let end = self.base.line_end(last.bytes.end);
                let newline = self.base.newline();
                let plain = at(end, format!("{newline}{indent}{line}"));
                let colon = graft::colon(self.over, key, value)
                    .filter(|colon| !self.over.slice(key.outer, *colon).contains('\n'));
                let edit = match colon {
                    Some(_) if !value.in_flow => {
                        let columns = (graft::column(self.over, key.outer), indent.chars().count());
                        let lines = graft::entry(self.over, key, value, columns, newline);
                        at(end, format!("{newline}{indent}{lines}"))
                    }
                    _ => plain.clone(),
                };
                (edit, plain)
            }
        };
        let entry = Box::new((copied(key), copied(value)));
        self.changes.push(Change {
            key: path,
            edit,
            plain,
            what: What::Entry(route.clone(), entry),
            keeps_anchor: false,
        });
        Ok(())
    }
}

/// Where a value is to go.
struct Place<'a> {
    base: &'a Text<'a>,
    key: &'a Node,
    node: &'a Node,
    /// To be kept, with the space behind it.
    anchor: &'a str,
}

impl Place<'_> {
    /// A value of one line.
    fn line(&self, line: &str) -> Result<Edit, YamlError> {
        let node = self.node;
        if is_collection(node) && !node.flow {
            return self.lines(&format!(" {line}"));
        }
        let edit = placed(node, line.to_owned(), self.base);
        if node.outer == node.bytes.start {
            return Ok(edit);
        }
        Ok(Edit {
            start: node.outer,
            text: format!("{}{}", self.anchor, edit.text.trim_start()),
            ..edit
        })
    }

    /// Everything behind the colon.
    fn lines(&self, lines: &str) -> Result<Edit, YamlError> {
        let colon = graft::colon(self.base, self.key, self.node).ok_or_else(|| {
            unsettable(
                self.key.text().unwrap_or_default(),
                "no colon stands before it",
            )
        })?;
        let anchor = match self.anchor.trim_end() {
            "" => String::new(),
            anchor => format!(" {anchor}"),
        };
        Ok(Edit {
            start: colon + 1,
            end: self.base.line_end(self.node.bytes.end.max(colon + 1)),
            text: format!("{anchor}{lines}"),
        })
    }
}

/// The anchor before a node, with a space behind it.
fn anchor_of<'t>(text: &Text<'t>, node: &Node) -> &'t str {
    let properties = text.slice(node.outer, node.bytes.start);
    let Some(at) = properties.find('&').filter(|_| node.anchor > 0) else {
        return "";
    };
    let start = node.outer + at;
    let end = text.skip_property(start);
    // The space is there, or else the line ends: then the node is written in lines, which are trimmed.
    text.slice(start, end + usize::from(text.at(end, ' ')))
}

fn is_collection(node: &Node) -> bool {
    matches!(node.content, Content::Map(_) | Content::Seq(_))
}

/// The text of a scalar that every reader takes for a string.
fn sure_text(node: &Node) -> Option<&str> {
    let text = node.text()?;
    let bare = matches!(node.style(), Style::Plain | Style::Missing);
    (!bare || scalar::safe_bare(text, false)).then_some(text)
}

fn copied(node: &Node) -> Node {
    Node {
        anchor: node.anchor,
        tag: node.tag.clone(),
        ..Node::copied(node.clone())
    }
}

/// Numbers of anchors of the file above begin here, so that they are none of the file below.
const ABOVE: usize = 1 << 40;

fn renumber_all(changes: &mut [Change], kept: &HashMap<usize, usize>) {
    for change in changes {
        match &mut change.what {
            // The anchor that stays is one of the file below.
            What::Value(_, node) if change.keeps_anchor => {
                let anchor = node.anchor;
                renumber(node, kept);
                node.anchor = anchor;
            }
            What::Value(_, node) => renumber(node, kept),
            What::Entry(_, entry) => {
                renumber(&mut entry.0, kept);
                renumber(&mut entry.1, kept);
            }
        }
    }
}

fn renumber(node: &mut Node, kept: &HashMap<usize, usize>) {
    let number = |id: usize| kept.get(&id).copied().unwrap_or(id + ABOVE);
    if node.anchor > 0 {
        node.anchor = number(node.anchor);
    }
    match &mut node.content {
        Content::Alias(id) => *id = number(*id),
        Content::Copied(node) => renumber(node, kept),
        Content::Seq(items) => items.iter_mut().for_each(|item| renumber(item, kept)),
        Content::Map(entries) => entries.iter_mut().for_each(|(key, value)| {
            renumber(key, kept);
            renumber(value, kept);
        }),
        _ => {}
    }
}

/// An alias is copied as an alias, so what it stands for has to be copied as well.
fn self_contained(changes: &[Change]) -> Result<(), YamlError> {
    let mut anchors = BTreeSet::new();
    let mut aliases = Vec::new();
    for change in changes {
        let mut stack = match &change.what {
            What::Value(_, node) => vec![node],
            What::Entry(_, entry) => vec![&entry.0, &entry.1],
        };
        while let Some(node) = stack.pop() {
            anchors.insert(node.anchor);
            match &node.content {
                Content::Copied(node) => stack.push(node),
                Content::Alias(id) => aliases.push((&change.key, *id)),
                Content::Seq(items) => stack.extend(items),
                Content::Map(entries) => {
                    stack.extend(entries.iter().flat_map(|(key, value)| [key, value]))
                }
                _ => {}
            }
        }
    }
    match aliases
        .iter()
        .find(|(_, id)| *id > ABOVE && !anchors.contains(id))
    {
        Some((key, _)) => Err(unsettable(
            key,
            "it has an alias of a value that is merged into one that is there; write the value out",
        )),
        None => Ok(()),
    }
}

/// So many changes are tried one by one when they do not work together as they are written.
const ONE_BY_ONE: usize = 32;

fn write(base: &mut Editor, mut changes: Vec<Change>) -> Result<(), YamlError> {
    let Some(first) = changes.first().map(|change| change.key.clone()) else {
        return Ok(());
    };
    if together(base, &changes, &first).is_ok() {
        return Ok(());
    }
    let few = changes.len() <= ONE_BY_ONE;
    for change in &mut changes {
        let alone = || {
            let mut trial = Editor::open(&base.body).ok()?;
            trial
                .apply_all(&[&change.edit], &change.key, |documents| {
                    done(documents, &change.what)
                })
                .ok()
        };
        if !few || alone().is_none() {
            std::mem::swap(&mut change.edit, &mut change.plain);
        }
    }
    together(base, &changes, &first).map_err(|error| {
        // The first that does not work even alone is the one to name.
        let culprit = changes.iter().take(ONE_BY_ONE).find(|change| {
            Editor::open(&base.body).is_ok_and(|mut trial| {
                trial
                    .apply_all(&[&change.edit], &change.key, |documents| {
                        done(documents, &change.what)
                    })
                    .is_err()
            })
        });
        culprit.map_or(error, |change| YamlError::Unproved(change.key.clone()))
    })
}

fn together(base: &mut Editor, changes: &[Change], key: &str) -> Result<(), YamlError> {
    let mut edits: Vec<&Edit> = changes.iter().map(|change| &change.edit).collect();
    edits.sort_by_key(|edit| edit.start);
    base.apply_all(&edits, key, |documents| {
        for change in changes {
            done(documents, &change.what);
        }
    })
}

fn done(documents: &mut [Node], what: &What) {
    let Some(root) = documents.first_mut() else {
        return;
    };
    match what {
        What::Value(route, node) => {
            if let Some(place) = find::at_mut(root, route) {
                *place = node.clone();
            }
        }
        What::Entry(route, entry) => {
            if let Some(Node {
                content: Content::Map(entries),
                ..
            }) = find::at_mut(root, route)
            {
                entries.push((**entry).clone());
            }
        }
    }
}
