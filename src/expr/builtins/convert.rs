//! Types, lengths and encodings.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};

use super::super::go::{json, print};
use super::super::value::Value;
use super::{Call, Trouble};

/// Bits left over in the last character are ignored, as Go's decoder does.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

type Given = Result<Value, Trouble>;

fn count(length: usize) -> Value {
    Value::Int(i64::try_from(length).unwrap_or(i64::MAX))
}

pub(super) fn len(call: &mut Call<'_, '_>) -> Given {
    match call.argument(0) {
        Value::Str(text) => Ok(count(text.chars().count())),
        Value::Bytes(bytes) => Ok(count(bytes.len())),
        Value::List(list) => Ok(count(list.items().len())),
        Value::Map(map) => Ok(count(map.entries().len())),
        other => Err(call.invalid(other)),
    }
}

pub(super) fn type_of(call: &mut Call<'_, '_>) -> Given {
    let value = call.argument(0);
    Ok(Value::from(match value {
        Value::Float(_) => "float",
        Value::Object(object) => object.full_name(),
        Value::List(_) | Value::Bytes(_) => "array",
        Value::Map(_) => "map",
        Value::Zone(_) => "time.Location",
        other => other.type_name(),
    }))
}

pub(super) fn string(call: &mut Call<'_, '_>) -> Given {
    Ok(Value::from(print::plain(call.argument(0))))
}

pub(super) fn to_json(call: &mut Call<'_, '_>) -> Given {
    Ok(Value::from(json::indented(call.argument(0))?))
}

pub(super) fn from_json(call: &mut Call<'_, '_>) -> Given {
    let parsed = json::read(call.text(0)?)?;
    let value = Value::from_json_as_floats(&parsed);
    let size = usize::try_from(value.measure().weight).unwrap_or(usize::MAX);
    call.budget.grow(size)?;
    Ok(value)
}

pub(super) fn to_base64(call: &mut Call<'_, '_>) -> Given {
    Ok(Value::from(BASE64.encode(call.text(0)?)))
}

/// Like Go's decoder it skips line breaks.
pub(super) fn from_base64(call: &mut Call<'_, '_>) -> Given {
    let text = call.text(0)?.replace(['\r', '\n'], "");
    let bytes = BASE64
        .decode(text)
        .map_err(|why| format!("illegal base64 data: {why}"))?;
    Ok(Value::from(String::from_utf8_lossy(&bytes).into_owned()))
}
