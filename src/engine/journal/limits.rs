//! How much may be stored: an object that outgrows the store can never be written again, not even to end it.

use serde_json::{Map, Value};

/// Our key, in bytes of JSON.
pub const JOURNAL_MAX: usize = 64 * 1024;
/// One step's output, in bytes of JSON.
pub const OUTPUT_MAX: usize = 64 * 1024;
/// All outputs and our key together, in bytes of JSON.
pub const STATE_MAX: usize = 512 * 1024;
/// One message, in bytes.
pub const MESSAGE_MAX: usize = 16 * 1024;

/// Something does not fit.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} has {size} bytes, and at most {max} can be stored")]
pub struct TooMuch {
    /// What.
    pub what: String,
    /// Its size, in bytes.
    pub size: usize,
    /// What may be.
    pub max: usize,
}

/// `text`, cut at a character border with a mark where it is longer than can be stored.
pub fn message(text: &str) -> String {
    if text.len() <= MESSAGE_MAX {
        return text.to_owned();
    }
    let mark = format!(" … (cut: {} bytes in all)", text.len());
    let mut end = MESSAGE_MAX - mark.len();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{mark}", text.get(..end).unwrap_or_default())
}

/// The size of `value` as JSON, in bytes.
pub fn size(value: &Value) -> usize {
    serde_json::to_string(value).map_or(usize::MAX, |text| text.len())
}

/// Whether an output may be added to a state that has `others` bytes of outputs already.
pub fn check_output(output: &Value, others: usize) -> Result<(), TooMuch> {
    let size = size(output);
    let room = STATE_MAX - JOURNAL_MAX;
    if size > OUTPUT_MAX {
        return Err(TooMuch {
            what: "the output".into(),
            size,
            max: OUTPUT_MAX,
        });
    }
    if size + others > room {
        return Err(TooMuch {
            what: "the output together with those of the other steps".into(),
            size: size + others,
            max: room,
        });
    }
    Ok(())
}

/// The same without nulls: a merge patch cannot store them.
pub fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(map_without_nulls(map)),
        Value::Array(items) => Value::Array(
            items
                .into_iter()
                .filter(|item| !item.is_null())
                .map(without_nulls)
                .collect(),
        ),
        other => other,
    }
}

/// The same map without nulls.
pub fn map_without_nulls(map: Map<String, Value>) -> Map<String, Value> {
    map.into_iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(key, value)| (key, without_nulls(value)))
        .collect()
}
