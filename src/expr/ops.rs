//! Operators on values, with Go's rules for ints and floats.

use std::cmp::Ordering;

use super::access;
use super::ast::{Binary, Unary};
use super::go::{dates, numbers};
use super::value::Value;

/// `==`: numbers by value whatever their type, everything else by type and content. What is inside maps
/// is compared as Go's `reflect.DeepEqual` does: there 1 and 1.0 differ.
pub(super) fn equal(left: &Value, right: &Value) -> bool {
    alike(left, right, true)
}

/// As [`equal`], but 1 and 1.0 are equal inside of maps too.
pub(super) fn equal_throughout(left: &Value, right: &Value) -> bool {
    alike(left, right, false)
}

fn alike(left: &Value, right: &Value, strict_inside: bool) -> bool {
    match (left, right) {
        (Value::Nil, Value::Nil) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) | (Value::Duration(a), Value::Duration(b)) => a == b,
        (Value::Float(a), Value::Float(b)) => a == b,
        (Value::Int(a), Value::Float(b)) | (Value::Float(b), Value::Int(a)) => to_float(*a) == *b,
        (Value::Str(a), Value::Str(b)) => a == b,
        (Value::Bytes(a), Value::Bytes(b)) => a == b,
        (Value::Bytes(bytes), Value::List(list)) | (Value::List(list), Value::Bytes(bytes)) => {
            bytes.len() == list.items().len()
                && bytes
                    .iter()
                    .zip(list.items())
                    .all(|(byte, item)| equal(&Value::Int(i64::from(*byte)), item))
        }
        (Value::List(a), Value::List(b)) => {
            each(a.items(), b.items(), |a, b| alike(a, b, strict_inside))
        }
        (Value::Map(_), Value::Map(_)) | (Value::Record(_), Value::Record(_)) => {
            inside(left, right, strict_inside)
        }
        (Value::Time(a), Value::Time(b)) => a == b,
        (Value::Zone(a), Value::Zone(b)) => a == b,
        (Value::Object(a), Value::Object(b)) => {
            a.type_name() == b.type_name() && equal(&a.marshal(), &b.marshal())
        }
        _ => false,
    }
}

fn each(left: &[Value], right: &[Value], same: impl Fn(&Value, &Value) -> bool) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(a, b)| same(a, b))
}

/// Maps and records, and what they hold.
fn inside(left: &Value, right: &Value, strict: bool) -> bool {
    if !strict && !matches!(left, Value::Map(_) | Value::Record(_)) {
        return alike(left, right, false);
    }
    match (left, right) {
        (Value::Int(_), Value::Float(_)) | (Value::Float(_), Value::Int(_)) => false,
        (Value::List(a), Value::List(b)) => each(a.items(), b.items(), |a, b| inside(a, b, strict)),
        (Value::Map(a), Value::Map(b)) => {
            (!strict || a.kind() == b.kind())
                && a.entries().len() == b.entries().len()
                && a.entries()
                    .iter()
                    .zip(b.entries())
                    .all(|((a_key, a), (b_key, b))| a_key == b_key && inside(a, b, strict))
        }
        (Value::Record(a), Value::Record(b)) => {
            a.type_name == b.type_name
                && a.fields.len() == b.fields.len()
                && a.fields
                    .iter()
                    .zip(&b.fields)
                    .all(|(a, b)| a.name == b.name && inside(&a.value, &b.value, strict))
        }
        _ => alike(left, right, strict),
    }
}

/// `<` and its kin; `None` where the two have no order.
pub(super) fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) | (Value::Duration(a), Value::Duration(b)) => Some(a.cmp(b)),
        (Value::Float(a), Value::Float(b)) => Some(partial(*a, *b)),
        (Value::Int(a), Value::Float(b)) => Some(partial(to_float(*a), *b)),
        (Value::Float(a), Value::Int(b)) => Some(partial(*a, to_float(*b))),
        (Value::Str(a), Value::Str(b)) => Some(a.cmp(b)),
        (Value::Time(a), Value::Time(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

fn partial(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.total_cmp(&b))
}

/// What every operator says about operands that it cannot take.
pub(super) fn mismatch(op: Binary, left: &Value, right: &Value) -> String {
    format!(
        "invalid operation: {} (mismatched types {} and {})",
        op.text(),
        left.type_name(),
        right.type_name()
    )
}

/// A minus, plus or not. `Err` is the message.
pub(super) fn unary(op: Unary, operand: &Value) -> Result<Value, String> {
    match (op, operand) {
        (Unary::Not, Value::Bool(flag)) => Ok(Value::Bool(!flag)),
        (Unary::Minus, Value::Int(number)) => Ok(Value::Int(number.wrapping_neg())),
        (Unary::Minus, Value::Float(number)) => Ok(Value::Float(-number)),
        // Anything passes, as in the original.
        (Unary::Plus, _) => Ok(operand.clone()),
        _ => {
            let text = match op {
                Unary::Not => "!",
                Unary::Minus => "-",
                Unary::Plus => "+",
            };
            Err(format!(
                "invalid operation: {text} (mismatched type {})",
                operand.type_name()
            ))
        }
    }
}

/// An operator without short cuts, ranges and patterns. `Err` is the message.
pub(super) fn binary(op: Binary, left: &Value, right: &Value) -> Result<Value, String> {
    let value = match op {
        Binary::Equal => Some(Value::Bool(equal(left, right))),
        Binary::NotEqual => Some(Value::Bool(!equal(left, right))),
        Binary::Less | Binary::Greater | Binary::LessEqual | Binary::GreaterEqual => {
            ordering(op, left, right)
        }
        Binary::In => contained(left, right)?,
        Binary::Contains => texts(left, right, |text, part| text.contains(part)),
        Binary::StartsWith => texts(left, right, |text, part| text.starts_with(part)),
        Binary::EndsWith => texts(left, right, |text, part| text.ends_with(part)),
        Binary::Add => add(left, right),
        Binary::Subtract => subtract(left, right),
        Binary::Multiply => multiply(left, right),
        Binary::Divide => floats(left, right).map(|(a, b)| Value::Float(a / b)),
        Binary::Modulo => modulo(left, right)?,
        Binary::Power => floats(left, right).map(|(a, b)| Value::Float(numbers::power(a, b))),
        Binary::Or | Binary::And | Binary::Matches | Binary::Range | Binary::Coalesce => None,
    };
    value.ok_or_else(|| mismatch(op, left, right))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "Go converts ints to float64 with the same loss"
)]
pub(super) fn to_float(number: i64) -> f64 {
    number as f64
}

/// Go's conversion of a float to an int: towards zero; what no int can hold becomes the least one.
#[expect(
    clippy::cast_possible_truncation,
    reason = "truncation is what is asked for; the range is checked"
)]
pub(super) fn truncate(number: f64) -> i64 {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    if (-BEYOND..BEYOND).contains(&number) {
        number as i64
    } else {
        i64::MIN
    }
}

/// A number as a float.
pub(super) fn as_float(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(to_float(*number)),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}

/// A number as an int, as indices and counts are read.
pub(super) fn as_int(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        Value::Float(number) => Some(truncate(*number)),
        _ => None,
    }
}

fn floats(left: &Value, right: &Value) -> Option<(f64, f64)> {
    Some((as_float(left)?, as_float(right)?))
}

fn ordering(op: Binary, left: &Value, right: &Value) -> Option<Value> {
    if let Some((a, b)) = floats(left, right)
        && (a.is_nan() || b.is_nan())
    {
        return Some(Value::Bool(false));
    }
    let order = compare(left, right)?;
    Some(Value::Bool(match op {
        Binary::Less => order.is_lt(),
        Binary::Greater => order.is_gt(),
        Binary::LessEqual => order.is_le(),
        _ => order.is_ge(),
    }))
}

/// A nil on either side contains nothing.
fn texts(left: &Value, right: &Value, test: impl Fn(&str, &str) -> bool) -> Option<Value> {
    match (left, right) {
        (Value::Nil, _) | (_, Value::Nil) => Some(Value::Bool(false)),
        (Value::Str(text), Value::Str(part)) => Some(Value::Bool(test(text, part))),
        _ => None,
    }
}

/// `in`. `Ok(None)` where the right side holds nothing that could be looked up.
fn contained(needle: &Value, container: &Value) -> Result<Option<Value>, String> {
    let found = match container {
        Value::Nil => false,
        Value::List(list) => list.items().iter().any(|item| equal(item, needle)),
        Value::Bytes(bytes) => bytes
            .iter()
            .any(|byte| equal(&Value::Int(i64::from(*byte)), needle)),
        Value::Map(map) => map
            .entries()
            .contains_key(&access::map_key(map.kind(), needle)?),
        Value::Record(record) => match needle {
            Value::Str(name) => record.get(name).is_some(),
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    Ok(Some(Value::Bool(found)))
}

pub(super) fn add(left: &Value, right: &Value) -> Option<Value> {
    Some(match (left, right) {
        (Value::Int(a), Value::Int(b)) => Value::Int(a.wrapping_add(*b)),
        (Value::Duration(a), Value::Duration(b)) => Value::Duration(a.wrapping_add(*b)),
        (Value::Time(time), Value::Duration(length))
        | (Value::Duration(length), Value::Time(time)) => {
            Value::Time(dates::shifted(time, *length)?.into())
        }
        (Value::Str(a), Value::Str(b)) => Value::Str(format!("{a}{b}").into()),
        _ => {
            let (a, b) = floats(left, right)?;
            Value::Float(a + b)
        }
    })
}

fn subtract(left: &Value, right: &Value) -> Option<Value> {
    Some(match (left, right) {
        (Value::Int(a), Value::Int(b)) => Value::Int(a.wrapping_sub(*b)),
        (Value::Duration(a), Value::Duration(b)) => Value::Duration(a.wrapping_sub(*b)),
        (Value::Time(a), Value::Time(b)) => Value::Duration(dates::difference(a, b)),
        (Value::Time(time), Value::Duration(length)) => {
            Value::Time(dates::shifted(time, length.checked_neg()?)?.into())
        }
        _ => {
            let (a, b) = floats(left, right)?;
            Value::Float(a - b)
        }
    })
}

fn multiply(left: &Value, right: &Value) -> Option<Value> {
    Some(match (left, right) {
        (Value::Int(a), Value::Int(b)) => Value::Int(a.wrapping_mul(*b)),
        (Value::Int(a), Value::Duration(b))
        | (Value::Duration(a), Value::Int(b) | Value::Duration(b)) => {
            Value::Duration(a.wrapping_mul(*b))
        }
        (Value::Float(a), Value::Duration(b)) | (Value::Duration(b), Value::Float(a)) => {
            Value::Float(a * to_float(*b))
        }
        _ => {
            let (a, b) = floats(left, right)?;
            Value::Float(a * b)
        }
    })
}

fn modulo(left: &Value, right: &Value) -> Result<Option<Value>, String> {
    match (left, right) {
        (Value::Int(_), Value::Int(0)) => Err("runtime error: integer divide by zero".to_owned()),
        (Value::Int(a), Value::Int(b)) => Ok(Some(Value::Int(a.wrapping_rem(*b)))),
        _ => Ok(None),
    }
}
