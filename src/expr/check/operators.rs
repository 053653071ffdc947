//! What operators make of types, and which they refuse.

use super::super::ast::{Binary, Node, NodeKind, Operation, Unary};
use super::super::go::pattern;
use super::super::lexer::Fault;
use super::Checked;
use super::types::{Class, Type};

pub(super) fn unary(op: Unary, operand: Type, node: &Node) -> Checked {
    let (fits, text) = match op {
        Unary::Not => (operand == Type::Bool, "!"),
        Unary::Minus => (operand.is_number(), "-"),
        Unary::Plus => (operand.is_number(), "+"),
    };
    match (fits, operand.is_unknown(), op) {
        (true, _, _) => Ok(operand),
        (_, true, Unary::Not) => Ok(Type::Bool),
        (_, true, _) => Ok(Type::Unknown),
        _ => Err(Fault::new(
            node.span,
            format!(
                "invalid operation: {text} (mismatched type {})",
                operand.name()
            ),
        )),
    }
}

pub(super) fn binary(source: &str, left: &Type, operation: &Operation, right: &Type) -> Checked {
    let made = match operation.op {
        Binary::In => return contained(source, left, operation, right),
        Binary::Coalesce => Some(coalesced(left, right)),
        op => {
            if op == Binary::Matches {
                check_pattern(operation)?;
            }
            made(op, left, right)
        }
    };
    made.ok_or_else(|| mismatch(source, left, operation, right))
}

fn mismatch(source: &str, left: &Type, operation: &Operation, right: &Type) -> Fault {
    let span = operation.span;
    let written = source.get(span.start..span.end);
    Fault::new(
        operation.span,
        format!(
            "invalid operation: {} (mismatched types {} and {})",
            written.unwrap_or(operation.op.text()),
            left.name(),
            right.name()
        ),
    )
}

fn made(op: Binary, left: &Type, right: &Type) -> Option<Type> {
    use Class::{Bool, Duration, Int, Number, Str, Time};
    let both = |class: Class| left.is(class) && right.is(class);
    let may = |classes: &[Class]| left.may_meet(right, classes);
    match op {
        Binary::Equal | Binary::NotEqual => left.comparable(right).then_some(Type::Bool),
        Binary::Or | Binary::And => (both(Bool) || may(&[Bool])).then_some(Type::Bool),
        Binary::Less | Binary::Greater | Binary::LessEqual | Binary::GreaterEqual => {
            let classes = [Number, Str, Time, Duration];
            let fits = classes.into_iter().any(both) || may(&classes);
            fits.then_some(Type::Bool)
        }
        Binary::Matches => {
            let bytes = *left == Type::Bytes && right.is(Str);
            (both(Str) || bytes || may(&[Str])).then_some(Type::Bool)
        }
        Binary::Contains | Binary::StartsWith | Binary::EndsWith => {
            (both(Str) || may(&[Str])).then_some(Type::Bool)
        }
        Binary::Range => (both(Int) || may(&[Int])).then(|| Type::list(Type::Int)),
        Binary::Divide | Binary::Power => (both(Number) || may(&[Number])).then_some(Type::Float),
        Binary::Modulo => (both(Int) || may(&[Int])).then_some(Type::Int),
        Binary::Add | Binary::Subtract | Binary::Multiply => arithmetic(op, left, right),
        Binary::In | Binary::Coalesce => None,
    }
}

fn arithmetic(op: Binary, left: &Type, right: &Type) -> Option<Type> {
    Some(match (op, left, right) {
        (_, Type::Int, Type::Int) => Type::Int,
        (_, Type::Int | Type::Float, Type::Int | Type::Float) => Type::Float,
        (Binary::Add, Type::Str, Type::Str) => Type::Str,
        (Binary::Add, Type::Time, Type::Duration)
        | (Binary::Add, Type::Duration, Type::Time)
        | (Binary::Subtract, Type::Time, Type::Duration) => Type::Time,
        (Binary::Subtract, Type::Time, Type::Time)
        | (_, Type::Duration, Type::Duration)
        | (Binary::Multiply, Type::Int | Type::Float, Type::Duration)
        | (Binary::Multiply, Type::Duration, Type::Int | Type::Float) => Type::Duration,
        _ => {
            let classes: &[Class] = match op {
                Binary::Add => &[Class::Number, Class::Str, Class::Time, Class::Duration],
                Binary::Subtract => &[Class::Number, Class::Time, Class::Duration],
                _ => &[Class::Number, Class::Duration],
            };
            return left.may_meet(right, classes).then_some(Type::Unknown);
        }
    })
}

fn contained(source: &str, left: &Type, operation: &Operation, right: &Type) -> Checked {
    let refused = |what: String| Err(Fault::new(operation.span, what));
    if *right == Type::Time && (*left == Type::Str || left.is_unknown()) {
        return Ok(Type::Bool);
    }
    if right.is_map() {
        let key = match right {
            Type::Map => Type::Str,
            _ => Type::Any,
        };
        if !left.is_unknown() && !left.fits(&key) {
            return refused(format!(
                "cannot use {} as type {} in map key",
                left.name(),
                key.name()
            ));
        }
        return Ok(Type::Bool);
    }
    if right.is_list() {
        let element = right.element();
        if !left.comparable(&element) {
            return refused(format!(
                "cannot use {} as type {} in array",
                left.name(),
                element.name()
            ));
        }
        return Ok(Type::Bool);
    }
    let text = left.is_unknown() && *right == Type::Str;
    if text || right.is_unknown() {
        return Ok(Type::Bool);
    }
    Err(mismatch(source, left, operation, right))
}

fn coalesced(left: &Type, right: &Type) -> Type {
    match (left, right) {
        (Type::Nil, other) | (other, Type::Nil) => other.clone(),
        _ if right.fits(left) => left.clone(),
        _ => Type::Unknown,
    }
}

/// A pattern that is written out is compiled before anything runs.
fn check_pattern(operation: &Operation) -> Result<(), Fault> {
    if let NodeKind::Str(text) = &operation.right.kind {
        pattern::compile(text).map_err(|message| Fault::new(operation.span, message))?;
    }
    Ok(())
}
