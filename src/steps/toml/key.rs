//! Keys as Kargo writes them for TOML: parts joined by dots, `\.` and `\:` for a dot and a colon in a part, a colon
//! before a part of digits that is no place in a list.

use super::TomlError;

/// Takes a key apart. White space around all of it does not count.
pub fn split(key: &str) -> Result<Vec<String>, TomlError> {
    let bad = |why| TomlError::BadKey {
        key: key.to_owned(),
        why,
    };
    let body = key.trim();
    if body.is_empty() {
        return Err(bad("empty key"));
    }
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut chars = body.chars();
    while let Some(c) = chars.next() {
        match c {
            '.' if part.is_empty() => return Err(bad("empty key part in key")),
            '.' => parts.push(std::mem::take(&mut part)),
            // Which of the two digits are is up to what they meet, so the colon itself says nothing new.
            ':' if part.is_empty() => {}
            ':' => return Err(bad("unexpected colon in key: one in a part is written \\:")),
            '\\' => match chars.next() {
                Some(next @ ('.' | ':' | '\\')) => part.push(next),
                _ => {
                    return Err(bad(
                        "invalid escape sequence in key: a backslash goes before a dot, a colon or a backslash",
                    ));
                }
            },
            c => part.push(c),
        }
    }
    if part.is_empty() {
        return Err(bad("empty key part in key"));
    }
    parts.push(part);
    Ok(parts)
}
