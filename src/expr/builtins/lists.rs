//! Functions on arrays and maps.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::access;
use super::super::eval::Budget;
use super::super::ops;
use super::super::value::{Key, Map, MapKind, Value};
use super::{Call, Trouble};

type Given = Result<Value, Trouble>;

fn list<'c>(call: &Call<'c, '_>, doing: &str) -> Result<Cow<'c, [Value]>, Trouble> {
    match call.argument(0) {
        Value::List(list) => Ok(Cow::Borrowed(list.items())),
        Value::Bytes(bytes) => Ok(Cow::Owned(numbers(bytes))),
        other => Err(format!("cannot {doing} {}", other.type_name()).into()),
    }
}

/// Bytes are a list of numbers to most functions.
pub(super) fn numbers(bytes: &[u8]) -> Vec<Value> {
    bytes
        .iter()
        .map(|byte| Value::Int(i64::from(*byte)))
        .collect()
}

fn map<'c>(call: &Call<'c, '_>, doing: &str) -> Result<&'c Arc<Map>, Trouble> {
    match call.argument(0) {
        Value::Map(map) => Ok(map),
        other => Err(format!("cannot {doing} {}", other.type_name()).into()),
    }
}

/// Nil where there is nothing to take; the original forgives any type here.
fn element(call: &Call<'_, '_>, at: i64) -> Value {
    match call.argument(0) {
        target @ (Value::List(_) | Value::Str(_) | Value::Bytes(_)) => {
            access::fetch(target, &Value::Int(at)).unwrap_or(Value::Nil)
        }
        _ => Value::Nil,
    }
}

pub(super) fn first(call: &mut Call<'_, '_>) -> Given {
    Ok(element(call, 0))
}

pub(super) fn last(call: &mut Call<'_, '_>) -> Given {
    Ok(element(call, -1))
}

/// Like `[]`, but what is not there is nil.
pub(super) fn get(call: &mut Call<'_, '_>) -> Given {
    let (target, key) = (call.argument(0), call.argument(1));
    match target {
        // Even where `[]` would read it as "".
        Value::Map(map) => {
            let key = access::map_key(map.kind(), key)?;
            Ok(map.entries().get(&key).cloned().unwrap_or(Value::Nil))
        }
        Value::List(_) | Value::Str(_) | Value::Bytes(_) => {
            let at = call.whole(1)?;
            Ok(access::fetch(target, &Value::Int(at)).unwrap_or(Value::Nil))
        }
        _ => Ok(access::fetch(target, key).unwrap_or(Value::Nil)),
    }
}

pub(super) fn take(call: &mut Call<'_, '_>) -> Given {
    // Some of the bytes are bytes.
    if let Value::Bytes(bytes) = call.argument(0) {
        let count = call.whole(1)?;
        let count = usize::try_from(count).map_err(|_| format!("cannot take {count} elements"))?;
        let taken = bytes.get(..count).unwrap_or(bytes);
        return Ok(Value::Bytes(taken.into()));
    }
    let list = list(call, "take from")?;
    let count = match call.argument(1) {
        Value::Int(count) | Value::Duration(count) => *count,
        other => return Err(format!("cannot take {} elements", other.type_name()).into()),
    };
    let count = usize::try_from(count)
        .map_err(|_| format!("cannot take {count} elements"))?
        .min(list.len());
    let items = list.get(..count).unwrap_or_default().to_vec();
    Ok(call.budget.list(items)?)
}

pub(super) fn keys(call: &mut Call<'_, '_>) -> Given {
    let map = map(call, "get keys from")?;
    Ok(call
        .budget
        .list(map.entries().keys().map(Key::to_value).collect())?)
}

pub(super) fn values(call: &mut Call<'_, '_>) -> Given {
    let map = map(call, "get values from")?;
    Ok(call
        .budget
        .list(map.entries().values().cloned().collect())?)
}

pub(super) fn to_pairs(call: &mut Call<'_, '_>) -> Given {
    let map = map(call, "transform to pairs")?;
    let pairs = map
        .entries()
        .iter()
        .map(|(key, value)| Value::list(vec![key.to_value(), value.clone()]))
        .collect();
    Ok(call.budget.list(pairs)?)
}

pub(super) fn from_pairs(call: &mut Call<'_, '_>) -> Given {
    let list = list(call, "transform from pairs")?;
    let mut entries = BTreeMap::new();
    let rounds = comparisons(list.len());
    for pair in &*list {
        call.budget.look_through(pair, rounds)?;
        let (key, value) = match pair {
            Value::List(pair) => match pair.items() {
                [key, value] => (key, value),
                items => return Err(format!("invalid pair length {}", items.len()).into()),
            },
            other => return Err(format!("invalid pair {}", other.type_name()).into()),
        };
        let key = Key::from_value(key)
            .ok_or_else(|| format!("cannot use {} as a map key", key.type_name()))?;
        entries.insert(key, value.clone());
    }
    Ok(call.budget.map(MapKind::Keyed, entries)?)
}

pub(super) fn reverse(call: &mut Call<'_, '_>) -> Given {
    let list = list(call, "reverse")?;
    Ok(call.budget.list(list.iter().rev().cloned().collect())?)
}

/// The first of equal ones stays.
pub(super) fn uniq(call: &mut Call<'_, '_>) -> Given {
    let list = list(call, "uniq")?;
    let mut kept: Vec<Value> = Vec::new();
    let mut seen = BTreeSet::new();
    let rounds = comparisons(list.len());
    for item in &*list {
        call.budget.look_through(item, rounds)?;
        // Equal numbers may be of two types, so whole floats count as ints here.
        let key = match item {
            Value::Float(number) if number.fract() == 0.0 => Some(Key::Int(ops::truncate(*number))),
            other => Key::from_value(other),
        };
        let new = match key {
            Some(key) => seen.insert(key),
            None => {
                call.budget.spend(4 * kept.len() as u64)?;
                !kept.iter().any(|known| ops::equal(known, item))
            }
        };
        if new {
            kept.push(item.clone());
        }
    }
    Ok(call.budget.list(kept)?)
}

pub(super) fn concat(call: &mut Call<'_, '_>) -> Given {
    let mut items = Vec::new();
    for argument in call.arguments {
        match argument {
            Value::List(list) => items.extend(list.items().iter().cloned()),
            Value::Bytes(bytes) => items.extend(numbers(bytes)),
            other => return Err(format!("cannot concat {}", other.type_name()).into()),
        }
    }
    Ok(call.budget.list(items)?)
}

pub(super) fn flatten(call: &mut Call<'_, '_>) -> Given {
    fn open(items: &[Value], into: &mut Vec<Value>) {
        for item in items {
            match item {
                Value::List(list) => open(list.items(), into),
                Value::Bytes(bytes) => into.extend(numbers(bytes)),
                other => into.push(other.clone()),
            }
        }
    }
    let list = list(call, "flatten")?;
    let mut items = Vec::new();
    open(&list, &mut items);
    Ok(call.budget.list(items)?)
}

pub(super) fn sort(call: &mut Call<'_, '_>) -> Given {
    // What is no array sorts to an empty one, as in the original.
    let items = match call.argument(0) {
        Value::List(list) => list.items(),
        _ => &[],
    };
    let descending = match call.given(1) {
        Some(order) => descending(order)?,
        None => false,
    };
    let keyed = items
        .iter()
        .map(|item| (item.clone(), item.clone()))
        .collect();
    let items = sorted(call.budget, keyed, descending)?;
    Ok(call.budget.list(items)?)
}

/// How often one of so many keys is compared when they are put in order.
pub(super) fn comparisons(count: usize) -> u64 {
    u64::from(count.checked_ilog2().unwrap_or(0)) + 1
}

/// Reads `"asc"` or `"desc"`.
pub(super) fn descending(order: &Value) -> Result<bool, String> {
    match order.as_str() {
        Some("asc") => Ok(false),
        Some("desc") => Ok(true),
        Some(other) => Err(format!("unknown order: {other}")),
        None => Err(format!("unknown order: a {}", order.type_name())),
    }
}

/// Sorts values by keys, keeping the order of equal ones.
pub(super) fn sorted(
    budget: &mut Budget,
    mut keyed: Vec<(Value, Value)>,
    descending: bool,
) -> Result<Vec<Value>, String> {
    let rounds = comparisons(keyed.len());
    for (key, _) in &keyed {
        budget.look_through(key, rounds)?;
    }
    if let [(first, _), rest @ ..] = keyed.as_slice() {
        for (key, _) in rest {
            if ops::compare(first, key).is_none() {
                return Err(format!(
                    "cannot sort: {} and {} have no order",
                    first.type_name(),
                    key.type_name()
                ));
            }
        }
    }
    keyed.sort_by(|(a, _), (b, _)| {
        let order = ops::compare(a, b).unwrap_or(std::cmp::Ordering::Equal);
        if descending { order.reverse() } else { order }
    });
    Ok(keyed.into_iter().map(|(_, value)| value).collect())
}
