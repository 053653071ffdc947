//! From a key to the values that it names, or to where the way ends.

use super::{
    key::{Operand, Part, Query, Wild},
    tree::{Kind, Tree, unquoted},
};

/// Where a key leads.
pub enum Place {
    /// To these values.
    Here(Vec<usize>),
    /// To this one, below which the first of the parts from `rest` on is missing.
    Missing {
        /// The last that is there.
        at: usize,
        /// The first part that is not.
        rest: usize,
    },
    /// To nothing, at this part, which only finds.
    Nowhere(usize),
}

/// Follows `parts` from the top.
pub fn find(text: &str, tree: &Tree, parts: &[Part]) -> Place {
    let mut here = vec![0];
    let chooses = parts.iter().any(Part::only_finds);
    for (number, part) in parts.iter().enumerate() {
        let found: Vec<usize> = here
            .iter()
            .flat_map(|id| below(text, tree, *id, part))
            .collect();
        if found.is_empty() {
            return match here.first() {
                Some(at) if !chooses => Place::Missing {
                    at: *at,
                    rest: number,
                },
                _ => Place::Nowhere(number),
            };
        }
        here = found;
    }
    Place::Here(here)
}

fn slice<'t>(text: &'t str, bytes: &std::ops::Range<usize>) -> &'t str {
    text.get(bytes.clone()).unwrap_or("")
}

/// What the key of a member says.
fn key_is(text: &str, written: &std::ops::Range<usize>, wanted: &str) -> bool {
    let written = slice(text, written);
    let inner = written.get(1..written.len().saturating_sub(1));
    if written.contains('\\') {
        unquoted(written) == wanted
    } else {
        inner == Some(wanted)
    }
}

/// The last member of that name: the one that readers of JSON see where a name is there twice.
fn member(text: &str, tree: &Tree, id: usize, name: &str) -> Option<usize> {
    let found = tree.children(id).filter(|(_, node)| {
        let key = node.key.as_ref();
        key.is_some_and(|key| key_is(text, key, name))
    });
    found.last().map(|(id, _)| id)
}

fn below(text: &str, tree: &Tree, id: usize, part: &Part) -> Vec<usize> {
    let kind = tree.get(id).map(|node| node.kind);
    let items = || tree.children(id).map(|(id, _)| id);
    let one = |found: Option<usize>| found.into_iter().collect();
    match (kind, part) {
        (Some(Kind::Object), Part::Name { text: name, .. }) => one(member(text, tree, id, name)),
        (Some(Kind::Object), Part::Like(pattern)) => {
            let matching = tree.children(id).find(|(_, node)| {
                let key = node.key.as_ref();
                key.is_some_and(|key| like(&unquoted(slice(text, key)), pattern))
            });
            // Of a name that is there twice, the one that counts.
            let name = matching.and_then(|(_, node)| node.key.as_ref());
            one(name.and_then(|key| member(text, tree, id, &unquoted(slice(text, key)))))
        }
        (Some(Kind::Array), Part::Name { .. }) => {
            one(part.index().and_then(|index| items().nth(index)))
        }
        (Some(Kind::Array), Part::Every) => items().collect(),
        (Some(Kind::Array), Part::Where { query, all }) => items()
            .filter(|item| holds(text, tree, *item, query))
            .take(if *all { usize::MAX } else { 1 })
            .collect(),
        _ => Vec::new(),
    }
}

fn holds(text: &str, tree: &Tree, item: usize, query: &Query) -> bool {
    let field = query
        .path
        .iter()
        .try_fold(item, |id, name| match tree.get(id)?.kind {
            Kind::Object => member(text, tree, id, name),
            Kind::Array => {
                let index: usize = name.parse().ok()?;
                tree.children(id).nth(index).map(|(id, _)| id)
            }
            _ => None,
        });
    let Some(node) = field.and_then(|id| tree.get(id)) else {
        return false;
    };
    let Some(equals) = query.equals else {
        return true;
    };
    let written = slice(text, &node.bytes);
    let same = match (&query.operand, node.kind) {
        (Operand::Text(wanted), Kind::Text) => unquoted(written) == *wanted,
        (Operand::Bare(wanted), Kind::Number) => {
            wanted == written
                || wanted
                    .parse::<f64>()
                    .is_ok_and(|wanted| written.parse() == Ok(wanted))
        }
        (Operand::Bare(wanted), Kind::Word) => wanted == written,
        _ => false,
    };
    same == equals
}

/// `*` is any text, `?` one character. Goes back only to the last `*`, so it ends soon.
fn like(text: &str, pattern: &[Wild]) -> bool {
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut next) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while at < text.len() {
        match (pattern.get(next), text.get(at)) {
            (Some(Wild::Any), _) => {
                star = Some((next, at));
                next += 1;
            }
            (Some(Wild::One), _) => (at, next) = (at + 1, next + 1),
            (Some(Wild::Char(wanted)), Some(c)) if wanted == c => (at, next) = (at + 1, next + 1),
            _ => match star {
                Some((pattern_at, text_at)) => {
                    star = Some((pattern_at, text_at + 1));
                    (at, next) = (text_at + 1, pattern_at + 1);
                }
                None => return false,
            },
        }
    }
    pattern
        .get(next..)
        .unwrap_or_default()
        .iter()
        .all(|wild| *wild == Wild::Any)
}
