//! Keys as Kargo writes them: parts joined by dots, `\.` a dot inside a part, digits the place in a list.
//!
//! `charts.1.version` (also `charts.[1].version`), not `charts[1].version`: that is refused with the right spelling,
//! since a key of a mapping may contain brackets. Whether digits are a place or a key is up to the node that they meet.

use super::YamlError;

/// Splits a key: `\.` is a literal dot, `\:` a literal colon (as is a bare one), `\\` a literal backslash, a backslash
/// at the very end is itself.
pub fn split(key: &str) -> Result<Vec<String>, YamlError> {
    let bad = |why| YamlError::BadKey {
        key: key.to_owned(),
        why,
    };
    if key.is_empty() {
        return Err(bad("empty key"));
    }
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut chars = key.chars();
    while let Some(c) = chars.next() {
        match c {
            '.' if part.is_empty() => return Err(bad("empty key part in key")),
            '.' => parts.push(std::mem::take(&mut part)),
            '\\' => match chars.next() {
                None => part.push('\\'),
                Some(next @ ('.' | ':' | '\\')) => part.push(next),
                Some(_) => {
                    return Err(bad(
                        "invalid escape sequence: a backslash goes before a dot, a colon or a backslash",
                    ));
                }
            },
            _ => part.push(c),
        }
    }
    if part.is_empty() {
        return Err(bad("empty key part in key"));
    }
    parts.push(part);
    Ok(parts)
}
