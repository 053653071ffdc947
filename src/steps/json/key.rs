//! Keys as sjson writes them: parts joined by dots, a backslash before a character that is meant as itself, a colon
//! before digits that are a key, `-1` for a new last item, and gjson's `*`, `?`, `#` and `#(name=="web")`.

use super::JsonError;

/// One part of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A key of an object, or digits or `-1` as the place in an array.
    Name {
        /// Escapes resolved.
        text: String,
        /// Began with a colon: a key even if it is digits.
        forced: bool,
    },
    /// A key with `*` or `?` in it: the first that matches.
    Like(Vec<Wild>),
    /// `#`: every item of an array.
    Every,
    /// `#(name=="web")`, or `#(name=="web")#` for all such items.
    Where {
        /// What an item must be.
        query: Query,
        /// Not just the first.
        all: bool,
    },
}

/// A character of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Wild {
    Char(char),
    One,
    Any,
}

/// A comparison with a field of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Names that lead from the item to the field; none is the item itself.
    pub path: Vec<String>,
    /// Whether it must equal, or must not; none asks whether it is there.
    pub equals: Option<bool>,
    /// What it is compared with.
    pub operand: Operand,
}

/// What a field is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Operand {
    Text(String),
    /// A number or a word, by its spelling.
    Bare(String),
}

impl Part {
    /// The place in an array that this names.
    pub fn index(&self) -> Option<usize> {
        match self {
            Self::Name {
                text,
                forced: false,
            } if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some(text.parse().unwrap_or(usize::MAX))
            }
            _ => None,
        }
    }

    /// Whether it names a new last item.
    pub fn is_append(&self) -> bool {
        matches!(self, Self::Name { text, forced: false } if text == "-1")
    }

    /// Whether it only finds and never makes.
    pub fn only_finds(&self) -> bool {
        !matches!(self, Self::Name { .. })
    }
}

/// Takes a key apart.
pub fn split(key: &str) -> Result<Vec<Part>, JsonError> {
    let bad = |why: &str| JsonError::BadKey {
        key: key.to_owned(),
        why: why.to_owned(),
    };
    let mut parts = Vec::new();
    let mut rest = key;
    loop {
        let part;
        (part, rest) = if rest.starts_with("#(") {
            selection(rest).ok_or_else(|| {
                bad("a selection is written as #(name==\"web\"), with one comparison by == or !=")
            })?
        } else {
            name(rest).map_err(bad)?
        };
        parts.push(part);
        match rest.strip_prefix('.') {
            Some(more) => rest = more,
            None if rest.is_empty() => return Ok(parts),
            None => return Err(bad("a dot goes between two parts")),
        }
    }
}

/// One part up to a bare dot, and what is left.
fn name(text: &str) -> Result<(Part, &str), &'static str> {
    let (forced, body) = match text.strip_prefix(':') {
        Some(body) => (true, body),
        None => (false, text),
    };
    let mut wild = Vec::new();
    let mut escaped_any = false;
    let mut chars = body.char_indices();
    let mut end = body.len();
    while let Some((at, c)) = chars.next() {
        wild.push(match c {
            '.' => {
                end = at;
                break;
            }
            '\\' => {
                escaped_any = true;
                let Some((_, next)) = chars.next() else {
                    return Err("it ends in a backslash, which escapes what follows");
                };
                Wild::Char(next)
            }
            '*' => Wild::Any,
            '?' => Wild::One,
            '|' => return Err("a bare | is none that an update can follow; a key's own is \\|"),
            c => Wild::Char(c),
        });
    }
    let rest = body.get(end..).unwrap_or("");
    if wild.contains(&Wild::Any) || wild.contains(&Wild::One) {
        return Ok((Part::Like(wild), rest));
    }
    let text: String = wild
        .iter()
        .filter_map(|wild| match wild {
            Wild::Char(c) => Some(*c),
            _ => None,
        })
        .collect();
    if text == "#" && !escaped_any && !forced {
        return Ok((Part::Every, rest));
    }
    Ok((Part::Name { text, forced }, rest))
}

/// `#(path==value)` or with a `#` behind it, and what is left.
fn selection(text: &str) -> Option<(Part, &str)> {
    let body = text.strip_prefix("#(")?;
    let mut quoted = false;
    let mut escaped = false;
    let close = body.find(|c| {
        let ends = c == ')' && !quoted;
        quoted ^= c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })?;
    let query = query(body.get(..close)?.trim())?;
    let rest = body.get(close + 1..)?;
    match rest.strip_prefix('#') {
        Some(rest) => Some((Part::Where { query, all: true }, rest)),
        None => Some((Part::Where { query, all: false }, rest)),
    }
}

fn query(text: &str) -> Option<Query> {
    let quote = text.find('"').unwrap_or(text.len());
    let (left, _) = text.split_at_checked(quote)?;
    if left.contains(['<', '>', '%', '~', '(', '#', '|', '*', '?', '\\']) {
        return None;
    }
    let (path, equals, operand) = if let Some((path, operand)) = text.split_once("!=") {
        (path, Some(false), operand)
    } else if let Some((path, operand)) = text.split_once("==").or_else(|| text.split_once('=')) {
        (path, Some(true), operand)
    } else {
        (text, None, "")
    };
    let operand = operand.trim();
    let operand = match operand.strip_prefix('"') {
        Some(_) if operand.len() > 1 && operand.ends_with('"') => {
            Operand::Text(super::tree::unquoted(operand))
        }
        Some(_) => return None,
        None => Operand::Bare(operand.to_owned()),
    };
    let path = path.trim();
    Some(Query {
        path: path
            .split('.')
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect(),
        equals,
        operand,
    })
}
