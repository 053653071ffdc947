//! From a key to a node.

use super::{
    YamlError,
    place::Text,
    tree::{Content, Node},
};

/// The way to a node: the place in each list, or the number of the entry in each mapping.
pub type Route = Vec<usize>;

/// The node that `route` leads to.
pub fn at<'t>(root: &'t Node, route: &[usize]) -> Option<&'t Node> {
    route
        .iter()
        .try_fold(root, |node, index| match &node.content {
            Content::Seq(items) => items.get(*index),
            Content::Map(entries) => entries.get(*index).map(|(_, value)| value),
            _ => None,
        })
}

/// The same, to be changed.
pub fn at_mut<'t>(root: &'t mut Node, route: &[usize]) -> Option<&'t mut Node> {
    route
        .iter()
        .try_fold(root, |node, index| match &mut node.content {
            Content::Seq(items) => items.get_mut(*index),
            Content::Map(entries) => entries.get_mut(*index).map(|(_, value)| value),
            _ => None,
        })
}

/// Where the way of a key ends before its end.
pub(super) struct Lost {
    /// How many parts led somewhere.
    pub(super) depth: usize,
    pub(super) error: YamlError,
}

/// The route of `parts` (the pieces of `key`) from `root`.
pub(super) fn route(
    root: &Node,
    parts: &[String],
    key: &str,
    text: &Text<'_>,
) -> Result<Route, Lost> {
    let mut node = root;
    let mut route = Route::new();
    for (depth, part) in parts.iter().enumerate() {
        let way = Way {
            root,
            key,
            text,
            here: parts.get(..depth).unwrap_or(parts).join("."),
        };
        let step = way
            .step(node, part)
            .map_err(|error| Lost { depth, error })?;
        route.push(step);
        match at(node, &[step]) {
            Some(next) => node = next,
            None => {
                return Err(Lost {
                    depth,
                    error: way.absent(format!("{} is not a mapping or a list", way.named())),
                });
            }
        }
    }
    Ok(route)
}

struct Way<'a> {
    root: &'a Node,
    key: &'a str,
    text: &'a Text<'a>,
    /// The key so far.
    here: String,
}

impl Way<'_> {
    fn absent(&self, why: String) -> YamlError {
        YamlError::Absent {
            key: self.key.to_owned(),
            why,
        }
    }

    fn unsettable(&self, why: String) -> YamlError {
        YamlError::Unsettable {
            key: self.key.to_owned(),
            why,
        }
    }

    fn named(&self) -> String {
        if self.here.is_empty() {
            "the document".to_owned()
        } else {
            format!("`{}`", self.here)
        }
    }

    fn step(&self, node: &Node, part: &str) -> Result<usize, YamlError> {
        match &node.content {
            Content::Map(entries) => self.entry(entries, part),
            Content::Seq(items) => self.item(items.len(), part),
            Content::Alias(id) => Err(self.unsettable(format!(
                "{} is an alias of {}, which would change too; set it there, or replace the alias",
                self.named(),
                self.anchored(*id)
            ))),
            _ => Err(self.absent(format!(
                "{} is a single value, there is nothing below it",
                self.named()
            ))),
        }
    }

    fn entry(&self, entries: &[(Node, Node)], part: &str) -> Result<usize, YamlError> {
        let numbered = part
            .strip_prefix(':')
            .filter(|rest| rest.chars().all(|c| c.is_ascii_digit()));
        for name in [Some(part), numbered].into_iter().flatten() {
            let mut found = entries
                .iter()
                .enumerate()
                .filter(|(_, (key, _))| key.text() == Some(name))
                .map(|(index, _)| index);
            if let Some(index) = found.next() {
                return match found.next() {
                    None => Ok(index),
                    Some(_) => Err(self.unsettable(format!("{} has `{name}` twice", self.named()))),
                };
            }
        }
        if let Some((before, index)) = brackets(part) {
            let start = if self.here.is_empty() {
                before.to_owned()
            } else {
                format!("{}.{before}", self.here)
            };
            let dotted = if before.is_empty() {
                format!("{}.{index}", self.here)
            } else {
                format!("{start}.{index}")
            };
            return Err(self.absent(format!(
                "`{part}` is not how a place in a list is written: write `{dotted}`"
            )));
        }
        let names: Vec<&str> = entries.iter().filter_map(|(key, _)| key.text()).collect();
        let mut why = format!(
            "{} has no `{part}`, {}",
            self.named(),
            nearest(part, &names)
        );
        if let Some((_, merged)) = entries.iter().find(|(key, _)| key.text() == Some("<<"))
            && let Content::Alias(id) = merged.content
        {
            why.push_str(&format!(
                "; what it merges from {} is set there",
                self.anchored(id)
            ));
        }
        Err(self.absent(why))
    }

    fn item(&self, len: usize, part: &str) -> Result<usize, YamlError> {
        // Kargo's older spelling, `.[1]`, which can mean nothing else here.
        let place = match brackets(part) {
            Some(("", index)) => index,
            _ => part,
        };
        let index: usize = place.parse().map_err(|_| {
            self.absent(format!(
                "{} is a list, and `{part}` is not a place in it (0, 1, …)",
                self.named()
            ))
        })?;
        if index < len {
            Ok(index)
        } else {
            Err(self.absent(format!(
                "{} has {len} items, counted from 0, so there is no {index}",
                self.named()
            )))
        }
    }

    /// How to call what an alias stands for: its key, or else its line.
    fn anchored(&self, id: usize) -> String {
        let mut stack = vec![(self.root, String::new())];
        while let Some((node, name)) = stack.pop() {
            if node.anchor == id {
                return match name.is_empty() {
                    true => format!("the value in line {}", self.text.line(node.bytes.start)),
                    false => format!("`{name}`"),
                };
            }
            let below = |part: &str| {
                if name.is_empty() {
                    part.to_owned()
                } else {
                    format!("{name}.{part}")
                }
            };
            match &node.content {
                Content::Map(entries) => stack.extend(
                    entries
                        .iter()
                        .filter_map(|(key, value)| Some((value, below(key.text()?)))),
                ),
                Content::Seq(items) => {
                    stack.extend(
                        items
                            .iter()
                            .enumerate()
                            .map(|(index, item)| (item, below(&index.to_string()))),
                    );
                }
                _ => {}
            }
        }
        "a value elsewhere".to_owned()
    }
}

/// `name[3]` in two.
fn brackets(part: &str) -> Option<(&str, &str)> {
    let (before, index) = part.strip_suffix(']')?.split_once('[')?;
    index
        .chars()
        .all(|c| c.is_ascii_digit())
        .then_some((before, index))
}

/// What there is instead, the most similar first.
fn nearest(wanted: &str, names: &[&str]) -> String {
    if names.is_empty() {
        return "it is empty".to_owned();
    }
    let near = similar::get_close_matches(wanted, names, 3, 0.6);
    let (intro, shown) = if near.is_empty() {
        (
            "it has",
            names.get(..names.len().min(5)).unwrap_or(names).to_vec(),
        )
    } else {
        ("nearest", near)
    };
    let more = if shown.len() < names.len() && intro == "it has" {
        ", …"
    } else {
        ""
    };
    let quoted: Vec<String> = shown.iter().map(|name| format!("`{name}`")).collect();
    format!("{intro}: {}{more}", quoted.join(", "))
}
