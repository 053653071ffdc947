//! A JSON file as a value for expressions.

use super::{
    JsonError,
    tree::{Kind, Tree, place, unquoted},
};
use crate::expr::Value;

/// Nesting beyond this is refused: what expressions see is walked by recursion.
const DEEPEST: usize = 128;

/// Reads a file as Go does: every number is a float, of a doubled key the last counts.
pub fn read(text: &str) -> Result<Value, JsonError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let tree = Tree::read(text)?;
    if tree.nodes().is_empty() {
        return Err(place(text, text.len(), "the file is empty".into()));
    }
    value(text, &tree, 0, 0)
}

fn value(text: &str, tree: &Tree, id: usize, depth: usize) -> Result<Value, JsonError> {
    let Some(node) = tree.get(id) else {
        return Ok(Value::Nil);
    };
    let fault = |why: String| place(text, node.bytes.start, why);
    if depth > DEEPEST {
        return Err(fault(format!("nested more than {DEEPEST} levels deep")));
    }
    let written = text.get(node.bytes.clone()).unwrap_or("");
    Ok(match node.kind {
        Kind::Object => {
            let mut entries = Vec::with_capacity(node.count);
            for (id, child) in tree.children(id) {
                let key = child.key.clone().and_then(|key| text.get(key));
                let key = unquoted(key.unwrap_or(""));
                entries.push((key, value(text, tree, id, depth + 1)?));
            }
            Value::map(entries)
        }
        Kind::Array => Value::list(
            tree.children(id)
                .map(|(id, _)| value(text, tree, id, depth + 1))
                .collect::<Result<_, _>>()?,
        ),
        Kind::Text => Value::from(unquoted(written)),
        Kind::Number => match written.parse::<f64>() {
            Ok(float) if float.is_finite() => Value::Float(float),
            _ => return Err(fault(format!("{written} is too large for a number"))),
        },
        Kind::Word => match written {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => Value::Nil,
        },
    })
}
