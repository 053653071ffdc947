//! Operators with short cuts, ranges, and patterns.

use std::sync::Arc;

use regex::Regex;

use super::super::ast::{Binary, Node, NodeKind, Operation};
use super::super::go::pattern;
use super::super::ops;
use super::super::value::Value;
use super::{Evaluated, Machine, Stop, at, fault};

/// Compiling a pattern costs about as much as this many nodes.
const PATTERN_STEPS: u64 = 10_000;

/// Whether a list of nothing but text is written here.
fn is_texts(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Array(items) => {
            !items.is_empty()
                && items
                    .iter()
                    .all(|item| matches!(item.kind, NodeKind::Str(_)))
        }
        _ => false,
    }
}

/// The original makes such a list a map with text as keys, so only text can be looked up in it;
/// nothing stands for the empty text.
fn among_texts(needle: &Value, texts: &Value) -> Result<Value, String> {
    match needle {
        Value::Nil => ops::binary(Binary::In, &Value::from(""), texts),
        Value::Str(_) => ops::binary(Binary::In, needle, texts),
        other => Err(format!(
            "cannot use {} to look for text: the list has nothing but text",
            other.type_name()
        )),
    }
}

impl Machine<'_> {
    pub(super) fn fold(&mut self, first: &Node, rest: &[Operation]) -> Evaluated {
        let mut left = self.eval(first)?;
        for operation in rest {
            let decided = match operation.op {
                Binary::And => !self.truth(&left, operation)?,
                Binary::Or => self.truth(&left, operation)?,
                Binary::Coalesce => !left.is_nil(),
                _ => false,
            };
            if decided {
                continue;
            }
            let right = self.eval(&operation.right)?;
            left = self.operate(&left, operation, right)?;
        }
        Ok(left)
    }

    fn truth(&self, value: &Value, operation: &Operation) -> Result<bool, Stop> {
        value.as_bool().ok_or_else(|| {
            fault(
                operation.span,
                format!(
                    "invalid operation: {} (mismatched types {} and bool)",
                    operation.op.text(),
                    value.type_name()
                ),
            )
        })
    }

    fn operate(&mut self, left: &Value, operation: &Operation, right: Value) -> Evaluated {
        let span = operation.span;
        let value = match operation.op {
            // The right side passes unchecked, as in the original.
            Binary::And | Binary::Or | Binary::Coalesce => right,
            Binary::Range => at(span, self.range(left, &right))?,
            Binary::Matches => at(span, self.matches(left, &right))?,
            Binary::In if is_texts(&operation.right) => at(span, among_texts(left, &right))?,
            op => {
                at(span, self.pay(op, left, &right))?;
                let value = at(span, ops::binary(op, left, &right))?;
                // Only text and time can have grown here.
                if op == Binary::Add {
                    at(span, self.budget.admit(value))?
                } else {
                    value
                }
            }
        };
        match (operation.negated, &value) {
            (true, Value::Bool(flag)) => Ok(Value::Bool(!flag)),
            _ => Ok(value),
        }
    }

    pub(super) fn comparison(&mut self, first: &Node, rest: &[Operation]) -> Evaluated {
        let mut left = self.eval(first)?;
        for operation in rest {
            let right = self.eval(&operation.right)?;
            at(operation.span, self.pay(operation.op, &left, &right))?;
            let holds = at(operation.span, ops::binary(operation.op, &left, &right))?;
            if holds != Value::Bool(true) {
                return Ok(Value::Bool(false));
            }
            left = right;
        }
        Ok(Value::Bool(true))
    }

    /// Large operands cost what it takes to look through them.
    fn pay(&mut self, op: Binary, left: &Value, right: &Value) -> Result<(), String> {
        match (op, right) {
            (Binary::In, Value::Map(_)) => Ok(()),
            (Binary::In, _) => self.budget.look_through(right, 1),
            _ => {
                self.budget.look_through(left, 1)?;
                self.budget.look_through(right, 1)
            }
        }
    }

    fn range(&mut self, left: &Value, right: &Value) -> Result<Value, String> {
        let (Some(from), Some(to)) = (ops::as_int(left), ops::as_int(right)) else {
            return Err(ops::mismatch(Binary::Range, left, right));
        };
        let size = i128::from(to) - i128::from(from) + 1;
        let size = usize::try_from(size.max(0)).unwrap_or(usize::MAX);
        if !self.budget.can_grow(size) {
            return Err("memory budget exceeded".to_owned());
        }
        self.budget.spend(size as u64)?;
        self.budget.list((from..=to).map(Value::Int).collect())
    }

    fn matches(&mut self, left: &Value, right: &Value) -> Result<Value, String> {
        if left.is_nil() || right.is_nil() {
            return Ok(Value::Bool(false));
        }
        let pattern = match right {
            Value::Str(pattern) => pattern.clone(),
            _ => return Err(ops::mismatch(Binary::Matches, left, right)),
        };
        let text = match left {
            Value::Str(text) => text.clone(),
            Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into(),
            _ => return Err(ops::mismatch(Binary::Matches, left, right)),
        };
        self.budget.spend(text.len() as u64 / 16)?;
        let regex = self.pattern(pattern)?;
        Ok(Value::Bool(regex.is_match(&text)))
    }

    fn pattern(&mut self, pattern: Arc<str>) -> Result<Regex, String> {
        if let Some(regex) = self.patterns.get(&pattern) {
            return Ok(regex.clone());
        }
        self.budget.spend(PATTERN_STEPS)?;
        let regex = pattern::compile(&pattern)?;
        self.patterns.insert(pattern, regex.clone());
        Ok(regex)
    }
}
