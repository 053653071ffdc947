//! Functions on numbers.

use super::super::ast::Binary;
use super::super::ops;
use super::super::value::Value;
use super::{Call, Trouble, lists};

type Given = Result<Value, Trouble>;

pub(super) fn abs(call: &mut Call<'_, '_>) -> Given {
    match call.argument(0) {
        Value::Int(number) => Ok(Value::Int(number.wrapping_abs())),
        // Not `abs`: a negative zero stays one.
        Value::Float(number) if *number < 0.0 => Ok(Value::Float(-number)),
        Value::Float(number) => Ok(Value::Float(*number)),
        other => Err(call.invalid(other)),
    }
}

fn rounded(call: &Call<'_, '_>, round: impl Fn(f64) -> f64) -> Given {
    let value = call.argument(0);
    ops::as_float(value)
        .map(|number| Value::Float(round(number)))
        .ok_or_else(|| call.invalid(value))
}

pub(super) fn ceil(call: &mut Call<'_, '_>) -> Given {
    rounded(call, f64::ceil)
}

pub(super) fn floor(call: &mut Call<'_, '_>) -> Given {
    rounded(call, f64::floor)
}

pub(super) fn round(call: &mut Call<'_, '_>) -> Given {
    rounded(call, f64::round)
}

pub(super) fn int(call: &mut Call<'_, '_>) -> Given {
    match call.argument(0) {
        Value::Int(number) | Value::Duration(number) => Ok(Value::Int(*number)),
        Value::Float(number) => Ok(Value::Int(ops::truncate(*number))),
        Value::Str(text) => text
            .parse()
            .map(Value::Int)
            .map_err(|_| format!("invalid operation: int({text})").into()),
        // Months and days of the week.
        Value::Object(object) => match object.marshal() {
            Value::Int(number) => Ok(Value::Int(number)),
            _ => Err(call.invalid(call.argument(0))),
        },
        other => Err(call.invalid(other)),
    }
}

pub(super) fn float(call: &mut Call<'_, '_>) -> Given {
    match call.argument(0) {
        Value::Str(text) => super::super::go::numbers::parse_float(text)
            .map(Value::Float)
            .ok_or_else(|| format!("invalid operation: float({text})").into()),
        other => ops::as_float(other)
            .map(Value::Float)
            .ok_or_else(|| call.invalid(other)),
    }
}

/// Every number among the arguments, lists opened however deep. Durations count only outside of lists.
fn numbers(call: &mut Call<'_, '_>) -> Result<Vec<Value>, Trouble> {
    fn gather(values: &[Value], into: &mut Vec<Value>) -> Result<(), Value> {
        for value in values {
            match value {
                Value::Int(_) | Value::Float(_) => into.push(value.clone()),
                Value::List(list) => gather(list.items(), into)?,
                Value::Bytes(bytes) => into.extend(lists::numbers(bytes)),
                other => return Err(other.clone()),
            }
        }
        Ok(())
    }
    let mut found = Vec::new();
    for argument in call.arguments {
        match argument {
            Value::Duration(_) => found.push(argument.clone()),
            other => gather(std::slice::from_ref(other), &mut found)
                .map_err(|wrong| call.invalid(&wrong))?,
        }
    }
    Ok(found)
}

fn extreme(call: &mut Call<'_, '_>, op: Binary) -> Given {
    // A single value that is no number passes as it is, as in the original.
    if let [only] = call.arguments
        && !matches!(only, Value::List(_) | Value::Bytes(_))
    {
        return Ok(only.clone());
    }
    let mut best: Option<Value> = None;
    for number in numbers(call)? {
        let better = match &best {
            Some(best) => ops::binary(op, best, &number)? == Value::Bool(true),
            None => true,
        };
        if better {
            best = Some(number);
        }
    }
    Ok(best.unwrap_or(Value::Nil))
}

pub(super) fn max(call: &mut Call<'_, '_>) -> Given {
    extreme(call, Binary::Less)
}

pub(super) fn min(call: &mut Call<'_, '_>) -> Given {
    extreme(call, Binary::Greater)
}

fn as_float(number: &Value) -> Option<f64> {
    match number {
        Value::Duration(length) => Some(ops::to_float(*length)),
        other => ops::as_float(other),
    }
}

fn floats(call: &mut Call<'_, '_>) -> Result<Vec<f64>, Trouble> {
    Ok(numbers(call)?.iter().filter_map(as_float).collect())
}

pub(super) fn mean(call: &mut Call<'_, '_>) -> Given {
    let numbers = floats(call)?;
    if numbers.is_empty() {
        return Ok(Value::Float(0.0));
    }
    let count = ops::to_float(i64::try_from(numbers.len()).unwrap_or(i64::MAX));
    Ok(Value::Float(
        numbers.iter().fold(0.0, |sum, number| sum + number) / count,
    ))
}

pub(super) fn median(call: &mut Call<'_, '_>) -> Given {
    let mut numbers = floats(call)?;
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    let upper = numbers.get(middle).copied().unwrap_or(0.0);
    if numbers.len() % 2 == 1 {
        return Ok(Value::Float(upper));
    }
    let lower = middle
        .checked_sub(1)
        .and_then(|below| numbers.get(below))
        .copied()
        .unwrap_or(0.0);
    Ok(Value::Float((lower + upper) / 2.0))
}

fn bits(call: &Call<'_, '_>, op: impl Fn(i64, i64) -> i64) -> Given {
    Ok(Value::Int(op(call.int(0)?, call.int(1)?)))
}

pub(super) fn bitand(call: &mut Call<'_, '_>) -> Given {
    bits(call, |a, b| a & b)
}

pub(super) fn bitor(call: &mut Call<'_, '_>) -> Given {
    bits(call, |a, b| a | b)
}

pub(super) fn bitxor(call: &mut Call<'_, '_>) -> Given {
    bits(call, |a, b| a ^ b)
}

/// Go's `&^`: the bits of the first that the second has not.
pub(super) fn bitnand(call: &mut Call<'_, '_>) -> Given {
    bits(call, |a, b| a & !b)
}

pub(super) fn bitnot(call: &mut Call<'_, '_>) -> Given {
    Ok(Value::Int(!call.int(0)?))
}

fn shift(call: &Call<'_, '_>, op: impl Fn(i64, u32) -> i64, all_out: impl Fn(i64) -> i64) -> Given {
    let (number, count) = (call.int(0)?, call.int(1)?);
    if count < 0 {
        return Err(format!("invalid operation: negative shift count {count} (type int)").into());
    }
    Ok(Value::Int(match u32::try_from(count) {
        Ok(count) if count < 64 => op(number, count),
        _ => all_out(number),
    }))
}

pub(super) fn bitshl(call: &mut Call<'_, '_>) -> Given {
    shift(call, |number, count| number << count, |_| 0)
}

pub(super) fn bitshr(call: &mut Call<'_, '_>) -> Given {
    shift(call, |number, count| number >> count, |number| number >> 63)
}

pub(super) fn bitushr(call: &mut Call<'_, '_>) -> Given {
    let unsigned = |number: i64, count: u32| (number.cast_unsigned() >> count).cast_signed();
    shift(call, unsigned, |_| 0)
}
