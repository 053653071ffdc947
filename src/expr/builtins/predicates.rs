//! Functions that evaluate an expression for each item of a list.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::ast::{Binary, Node, NodeKind, Unary};
use super::super::eval::{Evaluated, Machine, Stop, at, fault};
use super::super::ops;
use super::super::value::{Key, List, MapKind, Value};
use super::lists;

/// The list that a call works on.
fn list(machine: &mut Machine<'_>, call: &Node, nodes: &[Node]) -> Result<Arc<List>, Stop> {
    let Some(node) = nodes.first() else {
        return Ok(Arc::new(List::new(Vec::new())));
    };
    match machine.eval(node)? {
        Value::List(list) => Ok(list),
        // As in the original, text from a variable is a list of bytes; a literal is a mistake.
        Value::Str(text) if !matches!(node.kind, NodeKind::Str(_)) => {
            at(node.span, bytes(machine, text.as_bytes()))
        }
        Value::Bytes(data) => at(node.span, bytes(machine, &data)),
        // A map has no items to look at; an empty one needs none.
        Value::Map(map) if map.entries().is_empty() => Ok(Arc::new(List::new(Vec::new()))),
        other => {
            let name = match &call.kind {
                NodeKind::Builtin(builtin, _) => builtin.name,
                _ => "",
            };
            Err(fault(
                node.span,
                format!(
                    "builtin {name} takes only array (got {})",
                    other.type_name()
                ),
            ))
        }
    }
}

fn bytes(machine: &mut Machine<'_>, bytes: &[u8]) -> Result<Arc<List>, String> {
    machine.budget.grow(bytes.len())?;
    let items = bytes.iter().map(|byte| Value::Int(i64::from(*byte)));
    Ok(Arc::new(List::new(items.collect())))
}

fn truth(value: &Value, predicate: &Node) -> Result<bool, Stop> {
    value.as_bool().ok_or_else(|| {
        fault(
            predicate.span,
            format!(
                "predicate should return boolean (got {})",
                value.type_name()
            ),
        )
    })
}

/// The first index, in the given order, whose item passes.
fn position(
    machine: &mut Machine<'_>,
    list: &Arc<List>,
    predicate: Option<&Node>,
    mut order: impl Iterator<Item = usize>,
    wanted: bool,
) -> Result<Option<usize>, Stop> {
    let Some(predicate) = predicate else {
        return Ok(None);
    };
    loop {
        let Some(index) = order.next() else {
            return Ok(None);
        };
        let value = machine.predicate(predicate, list, index, Value::Nil)?;
        if truth(&value, predicate)? == wanted {
            return Ok(Some(index));
        }
    }
}

fn forward(
    machine: &mut Machine<'_>,
    call: &Node,
    nodes: &[Node],
    wanted: bool,
) -> Result<(Arc<List>, Option<usize>), Stop> {
    let list = list(machine, call, nodes)?;
    let order = 0..list.items().len();
    let found = position(machine, &list, nodes.get(1), order, wanted)?;
    Ok((list, found))
}

fn backward(
    machine: &mut Machine<'_>,
    call: &Node,
    nodes: &[Node],
) -> Result<(Arc<List>, Option<usize>), Stop> {
    let list = list(machine, call, nodes)?;
    let order = (0..list.items().len()).rev();
    let found = position(machine, &list, nodes.get(1), order, true)?;
    Ok((list, found))
}

fn item((list, found): (Arc<List>, Option<usize>)) -> Value {
    found
        .and_then(|index| list.items().get(index).cloned())
        .unwrap_or(Value::Nil)
}

/// Nil where none is found, as in the original.
fn index((_, found): (Arc<List>, Option<usize>)) -> Value {
    found
        .and_then(|index| i64::try_from(index).ok())
        .map_or(Value::Nil, Value::Int)
}

pub(super) fn all(machine: &mut Machine<'_>, call: &Node, nodes: &[Node]) -> Evaluated {
    let (_, found) = forward(machine, call, nodes, false)?;
    Ok(Value::Bool(found.is_none()))
}

pub(super) fn none(machine: &mut Machine<'_>, call: &Node, nodes: &[Node]) -> Evaluated {
    let (_, found) = forward(machine, call, nodes, true)?;
    Ok(Value::Bool(found.is_none()))
}

pub(super) fn any(machine: &mut Machine<'_>, call: &Node, nodes: &[Node]) -> Evaluated {
    let (_, found) = forward(machine, call, nodes, true)?;
    Ok(Value::Bool(found.is_some()))
}

pub(super) fn find(machine: &mut Machine<'_>, call: &Node, nodes: &[Node]) -> Evaluated {
    forward(machine, call, nodes, true).map(item)
}

/// As an index into what `filter` gives fails.
fn item_or_fail(call: &Node, found: (Arc<List>, Option<usize>)) -> Evaluated {
    match found {
        (_, None) => Err(fault(call.span, "reflect: slice index out of range")),
        found => Ok(item(found)),
    }
}

pub(super) fn find_or_fail(machine: &mut Machine<'_>, call: &Node, nodes: &[Node]) -> Evaluated {
    forward(machine, call, nodes, true).and_then(|found| item_or_fail(call, found))
}

pub(super) fn find_last_or_fail(
    machine: &mut Machine<'_>,
    call: &Node,
    nodes: &[Node],
) -> Evaluated {
    backward(machine, call, nodes).and_then(|found| item_or_fail(call, found))
}

pub(super) fn find_index(machine: &mut Machine<'_>, call: &Node, nodes: &[Node]) -> Evaluated {
    forward(machine, call, nodes, true).map(index)
}

pub(super) fn find_last(machine: &mut Machine<'_>, call: &Node, nodes: &[Node]) -> Evaluated {
    backward(machine, call, nodes).map(item)
}

pub(super) fn find_last_index(machine: &mut Machine<'_>, call: &Node, nodes: &[Node]) -> Evaluated {
    backward(machine, call, nodes).map(index)
}

/// The predicate's value for every item; without a predicate the items themselves.
fn mapped(
    machine: &mut Machine<'_>,
    list: &Arc<List>,
    predicate: Option<&Node>,
) -> Result<Vec<Value>, Stop> {
    match predicate {
        Some(predicate) => (0..list.items().len())
            .map(|index| machine.predicate(predicate, list, index, Value::Nil))
            .collect(),
        None => Ok(list.items().to_vec()),
    }
}

/// The predicate's verdict for every item.
fn verdicts(
    machine: &mut Machine<'_>,
    list: &Arc<List>,
    predicate: Option<&Node>,
    call: &Node,
) -> Result<Vec<bool>, Stop> {
    mapped(machine, list, predicate)?
        .iter()
        .map(|value| truth(value, predicate.unwrap_or(call)))
        .collect()
}

pub(super) fn one(machine: &mut Machine<'_>, call: &Node, nodes: &[Node]) -> Evaluated {
    let list = list(machine, call, nodes)?;
    let verdicts = verdicts(machine, &list, nodes.get(1), call)?;
    Ok(Value::Bool(verdicts.iter().filter(|v| **v).count() == 1))
}

pub(super) fn count(machine: &mut Machine<'_>, call: &Node, nodes: &[Node]) -> Evaluated {
    let list = list(machine, call, nodes)?;
    let verdicts = verdicts(machine, &list, nodes.get(1), call)?;
    let count = verdicts.iter().filter(|verdict| **verdict).count();
    Ok(Value::Int(i64::try_from(count).unwrap_or(i64::MAX)))
}

pub(super) fn filter(machine: &mut Machine<'_>, call: &Node, nodes: &[Node]) -> Evaluated {
    let list = list(machine, call, nodes)?;
    let verdicts = verdicts(machine, &list, nodes.get(1), call)?;
    let items = list
        .items()
        .iter()
        .zip(verdicts)
        .filter(|(_, kept)| *kept)
        .map(|(item, _)| item.clone())
        .collect();
    at(call.span, machine.budget.list(items))
}

pub(super) fn map(machine: &mut Machine<'_>, call: &Node, nodes: &[Node]) -> Evaluated {
    let list = list(machine, call, nodes)?;
    let items = mapped(machine, &list, nodes.get(1))?;
    at(call.span, machine.budget.list(items))
}

pub(super) fn sum(machine: &mut Machine<'_>, call: &Node, nodes: &[Node]) -> Evaluated {
    if let [
        Node {
            kind: NodeKind::Array(items),
            ..
        },
    ] = nodes
        && items.len() > 1
        && !items.iter().all(is_literal)
    {
        return added_up(machine, call, items);
    }
    let list = list(machine, call, nodes)?;
    let mut total = Value::Int(0);
    for value in mapped(machine, &list, nodes.get(1))? {
        let added = match value {
            Value::Int(_) | Value::Float(_) => ops::add(&total, &value),
            _ => None,
        };
        total = added.ok_or_else(|| {
            fault(
                nodes.get(1).unwrap_or(call).span,
                format!("invalid argument for sum (type {})", value.type_name()),
            )
        })?;
    }
    Ok(total)
}

fn is_literal(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Int(_) | NodeKind::Float(_) | NodeKind::Str(_) | NodeKind::Bool(_) => true,
        NodeKind::Unary(Unary::Minus | Unary::Plus, inner) => {
            matches!(inner.kind, NodeKind::Int(_) | NodeKind::Float(_))
        }
        _ => false,
    }
}

/// The original reads `sum([a, b, c])` as `a + (b + c)`: text is joined too, and rounding differs.
fn added_up(machine: &mut Machine<'_>, call: &Node, items: &[Node]) -> Evaluated {
    let mut values = machine.all(items)?.into_iter().rev();
    let mut total = values.next().unwrap_or(Value::Int(0));
    for value in values {
        let sum = ops::add(&value, &total)
            .ok_or_else(|| fault(call.span, ops::mismatch(Binary::Add, &value, &total)))?;
        total = at(call.span, machine.budget.admit(sum))?;
    }
    Ok(total)
}

pub(super) fn group_by(machine: &mut Machine<'_>, call: &Node, nodes: &[Node]) -> Evaluated {
    let list = list(machine, call, nodes)?;
    let keys = mapped(machine, &list, nodes.get(1))?;
    let mut groups: BTreeMap<Key, Vec<Value>> = BTreeMap::new();
    let rounds = lists::comparisons(keys.len());
    for (key, item) in keys.iter().zip(list.items()) {
        at(call.span, machine.budget.look_through(key, rounds))?;
        let key = Key::from_value(key).ok_or_else(|| {
            fault(
                nodes.get(1).unwrap_or(call).span,
                format!("cannot use {} as a key for groupBy", key.type_name()),
            )
        })?;
        groups.entry(key).or_default().push(item.clone());
    }
    let mut entries = BTreeMap::new();
    for (key, items) in groups {
        entries.insert(key, at(call.span, machine.budget.list(items))?);
    }
    at(call.span, machine.budget.map(MapKind::Keyed, entries))
}

pub(super) fn sort_by(machine: &mut Machine<'_>, call: &Node, nodes: &[Node]) -> Evaluated {
    let list = list(machine, call, nodes)?;
    let keys = mapped(machine, &list, nodes.get(1))?;
    let descending = match nodes.get(2) {
        Some(order) => {
            let value = machine.predicate(order, &list, 0, Value::Nil)?;
            at(order.span, lists::descending(&value))?
        }
        None => false,
    };
    let keyed = keys.into_iter().zip(list.items().iter().cloned()).collect();
    let items = at(
        call.span,
        lists::sorted(&mut machine.budget, keyed, descending),
    )?;
    at(call.span, machine.budget.list(items))
}

pub(super) fn reduce(machine: &mut Machine<'_>, call: &Node, nodes: &[Node]) -> Evaluated {
    let list = list(machine, call, nodes)?;
    let mut indices = 0..list.items().len();
    let mut acc = match nodes.get(2) {
        // As in the original, `#` is the first item here already.
        Some(initial) => machine.predicate(initial, &list, 0, Value::Nil)?,
        None => match indices.next() {
            Some(first) => list.items().get(first).cloned().unwrap_or(Value::Nil),
            None => {
                return Err(fault(
                    call.span,
                    "reduce of empty array with no initial value",
                ));
            }
        },
    };
    if let Some(predicate) = nodes.get(1) {
        for index in indices {
            acc = machine.predicate(predicate, &list, index, acc)?;
        }
    }
    Ok(acc)
}
