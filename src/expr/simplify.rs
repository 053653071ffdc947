//! What the original's optimizer changes in a result: not only the speed.
//!
//! `x and false` is false whatever `x` is; `filter(list, ...)[0]` stops at the first that passes, so a
//! later one that cannot be tested does no harm.

use super::ast::{Binary, Node, NodeKind, Operation, Unary};
use super::builtins;

pub(super) fn simplify(node: &mut Node) {
    each_part(&mut node.kind, simplify);
    let kind = std::mem::replace(&mut node.kind, NodeKind::Nil);
    node.kind = match kind {
        NodeKind::Unary(Unary::Not, operand) => match operand.kind {
            NodeKind::Bool(flag) => NodeKind::Bool(!flag),
            _ => NodeKind::Unary(Unary::Not, operand),
        },
        NodeKind::Fold(first, rest) => folded(*first, rest),
        NodeKind::Compare(first, rest) => compared(first, rest),
        NodeKind::Member(member) => {
            let found = match (&member.target.kind, at_end(&member.key)) {
                (NodeKind::Builtin(builtin, _), Some(first)) if builtin.name == "filter" => {
                    (!member.optional).then_some(first)
                }
                _ => None,
            };
            match (found, member) {
                (Some(first), member) => match member.target.kind {
                    NodeKind::Builtin(_, nodes) => {
                        NodeKind::Builtin(builtins::find_or_fail(first), nodes)
                    }
                    other => other,
                },
                (None, member) => NodeKind::Member(member),
            }
        }
        NodeKind::Builtin(builtin, nodes) => shortened(builtin, nodes),
        other => other,
    };
}

/// Whether `[0]` or `[-1]` is asked for.
fn at_end(key: &Node) -> Option<bool> {
    match &key.kind {
        NodeKind::Int(0) => Some(true),
        NodeKind::Unary(Unary::Minus, one) if matches!(one.kind, NodeKind::Int(1)) => Some(false),
        _ => None,
    }
}

/// `first(filter(...))` is `find(...)`.
fn shortened(builtin: &'static builtins::Builtin, mut nodes: Vec<Node>) -> NodeKind {
    let instead = match builtin.name {
        "first" => Some("find"),
        "last" => Some("findLast"),
        _ => None,
    };
    if let (Some(name), [only]) = (instead, nodes.as_mut_slice())
        && let NodeKind::Builtin(filter, inner) = &mut only.kind
        && filter.name == "filter"
        && let Some(find) = builtins::find(name)
    {
        return NodeKind::Builtin(find, std::mem::take(inner));
    }
    NodeKind::Builtin(builtin, nodes)
}

/// `count(...) > 0` is `any(...)`.
fn compared(mut first: Box<Node>, rest: Vec<Operation>) -> NodeKind {
    let asks_for_any = match rest.as_slice() {
        [only] => matches!(
            (only.op, &only.right.kind),
            (Binary::Greater, NodeKind::Int(0)) | (Binary::GreaterEqual, NodeKind::Int(1))
        ),
        _ => false,
    };
    if asks_for_any
        && let NodeKind::Builtin(count, nodes) = &mut first.kind
        && count.name == "count"
        && nodes.len() == 2
        && let Some(any) = builtins::find("any")
    {
        return NodeKind::Builtin(any, std::mem::take(nodes));
    }
    NodeKind::Compare(first, rest)
}

/// Works out what literals decide.
fn folded(first: Node, rest: Vec<Operation>) -> NodeKind {
    let decisive = |operation: &Operation| {
        matches!(operation.op, Binary::And | Binary::Or | Binary::Equal) && !operation.negated
    };
    if !rest.iter().any(decisive) {
        return NodeKind::Fold(Box::new(first), rest);
    }
    let mut left = first;
    let mut kept: Vec<Operation> = Vec::new();
    for operation in rest {
        let known = match (&left.kind, kept.is_empty()) {
            (NodeKind::Bool(flag), true) => Some(*flag),
            _ => None,
        };
        let given = match operation.right.kind {
            NodeKind::Bool(flag) => Some(flag),
            _ => None,
        };
        // What makes the other side count: true for `and`, false for `or`.
        let neutral = match operation.op {
            Binary::And => true,
            Binary::Or => false,
            Binary::Equal if kept.is_empty() => {
                match same_literal(&left, &operation.right) {
                    Some(same) => left.kind = NodeKind::Bool(same),
                    None => kept.push(operation),
                }
                continue;
            }
            _ => {
                kept.push(operation);
                continue;
            }
        };
        if known == Some(neutral) {
            left = operation.right;
        } else if given == Some(neutral) {
            // The left side stays as it is, of whatever type.
        } else if known.is_some() || given.is_some() {
            left.kind = NodeKind::Bool(!neutral);
            kept.clear();
        } else {
            kept.push(operation);
        }
    }
    if kept.is_empty() {
        left.kind
    } else {
        NodeKind::Fold(Box::new(left), kept)
    }
}

fn same_literal(left: &Node, right: &Node) -> Option<bool> {
    match (&left.kind, &right.kind) {
        (NodeKind::Int(a), NodeKind::Int(b)) => Some(a == b),
        (NodeKind::Str(a), NodeKind::Str(b)) => Some(a == b),
        (NodeKind::Bool(a), NodeKind::Bool(b)) => Some(a == b),
        _ => None,
    }
}

fn each_part(kind: &mut NodeKind, visit: fn(&mut Node)) {
    match kind {
        NodeKind::Unary(_, inner) | NodeKind::Optional(inner) => visit(inner),
        NodeKind::Fold(first, rest) | NodeKind::Compare(first, rest) => {
            visit(first);
            rest.iter_mut()
                .for_each(|operation| visit(&mut operation.right));
        }
        NodeKind::Conditional(nodes) => nodes.iter_mut().for_each(visit),
        NodeKind::Elvis(nodes) | NodeKind::Let(_, nodes) => nodes.iter_mut().for_each(visit),
        NodeKind::Member(member) => {
            visit(&mut member.target);
            visit(&mut member.key);
        }
        NodeKind::Slice(slice) => {
            visit(&mut slice.target);
            slice.from.iter_mut().chain(&mut slice.to).for_each(visit);
        }
        NodeKind::Method(method) => {
            visit(&mut method.target);
            method.arguments.iter_mut().for_each(visit);
        }
        NodeKind::Call(_, nodes)
        | NodeKind::Builtin(_, nodes)
        | NodeKind::Sequence(nodes)
        | NodeKind::Array(nodes) => nodes.iter_mut().for_each(visit),
        NodeKind::Map(pairs) => pairs.iter_mut().flatten().for_each(visit),
        NodeKind::Nil
        | NodeKind::Bool(_)
        | NodeKind::Int(_)
        | NodeKind::Float(_)
        | NodeKind::Str(_)
        | NodeKind::Bytes(_)
        | NodeKind::Ident(_)
        | NodeKind::Pointer(_) => {}
    }
}
