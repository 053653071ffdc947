//! Mistakes that show before anything runs: what the original's checker finds without knowing the
//! variables' types, by the types of literals and of what the language's own functions take and give.
//!
//! An expression that fails here fails even where the mistake would never be reached.

use std::sync::Arc;

use super::ast::{Binary, Member, Method, Node, NodeKind, Operation, Pointer, SliceNode};
use super::builtins::{self, Builtin, Shape};
use super::error::Span;
use super::lexer::Fault;

mod functions;
mod methods;
mod operators;
mod predicates;
mod types;

use types::Type;

type Checked = Result<Type, Fault>;

/// Fails with the first mistake in what `source` was read as.
pub(super) fn check(source: &str, root: &Node) -> Result<(), Fault> {
    let mut checker = Checker {
        source,
        variables: Vec::new(),
        predicates: Vec::new(),
    };
    checker.visit(root).map(drop)
}

struct Checker<'s> {
    /// To name operators as they are written.
    source: &'s str,
    variables: Vec<(Arc<str>, Type)>,
    predicates: Vec<Predicate>,
}

/// The predicate that we are inside of.
struct Predicate {
    collection: Type,
    index: bool,
    acc: bool,
}

impl Checker<'_> {
    fn visit(&mut self, node: &Node) -> Checked {
        Ok(match &node.kind {
            NodeKind::Nil => Type::Nil,
            NodeKind::Bool(_) => Type::Bool,
            NodeKind::Int(_) => Type::Int,
            NodeKind::Float(_) => Type::Float,
            NodeKind::Str(_) => Type::Str,
            NodeKind::Bytes(_) => Type::Bytes,
            NodeKind::Ident(name) => self.identifier(name),
            NodeKind::Pointer(pointer) => return self.pointer(*pointer, node.span),
            NodeKind::Unary(op, operand) => {
                let operand = self.visit(operand)?;
                return operators::unary(*op, operand, node);
            }
            NodeKind::Fold(first, rest) => return self.fold(first, rest),
            NodeKind::Compare(first, rest) => return self.comparison(first, rest),
            NodeKind::Conditional(parts) => return self.conditional(parts),
            NodeKind::Elvis(parts) => return self.elvis(parts),
            NodeKind::Member(member) => return self.member(node, member, false),
            NodeKind::Slice(slice) => return self.slice(node, slice),
            NodeKind::Optional(inner) => return self.visit(inner),
            NodeKind::Call(name, arguments) => return self.call(node, name, arguments),
            NodeKind::Method(method) => return self.method(node, method),
            NodeKind::Builtin(builtin, nodes) => return self.builtin(node, builtin, nodes),
            NodeKind::Let(name, parts) => return self.declaration(node, name, parts),
            NodeKind::Sequence(nodes) => {
                let mut last = Type::Unknown;
                for node in nodes {
                    last = self.visit(node)?;
                }
                last
            }
            NodeKind::Array(nodes) => return self.array(nodes),
            NodeKind::Map(pairs) => {
                for part in pairs.iter().flatten() {
                    self.visit(part)?;
                }
                Type::Map
            }
        })
    }

    fn all(&mut self, nodes: &[Node]) -> Result<Vec<Type>, Fault> {
        nodes.iter().map(|node| self.visit(node)).collect()
    }

    fn identifier(&self, name: &str) -> Type {
        let known = self
            .variables
            .iter()
            .rev()
            .find(|(known, _)| **known == *name);
        match known {
            Some((_, kind)) => kind.clone(),
            None if builtins::find(name).is_some() => Type::Func,
            None => Type::Unknown,
        }
    }

    fn pointer(&self, pointer: Pointer, span: Span) -> Checked {
        let Some(predicate) = self.predicates.last() else {
            return Err(Fault::new(
                span,
                "cannot use pointer accessor outside predicate",
            ));
        };
        match pointer {
            Pointer::Item => Ok(predicate.collection.element()),
            Pointer::Index if predicate.index => Ok(Type::Int),
            Pointer::Acc if predicate.acc => Ok(Type::Unknown),
            Pointer::Index => Err(Fault::new(span, "unknown pointer #index")),
            Pointer::Acc => Err(Fault::new(span, "unknown pointer #acc")),
        }
    }

    fn fold(&mut self, first: &Node, rest: &[Operation]) -> Checked {
        let mut left = self.visit(first)?;
        for operation in rest {
            let right = self.visit(&operation.right)?;
            left = operators::binary(self.source, &left, operation, &right)?;
        }
        if let (
            NodeKind::Int(_),
            Some(Operation {
                op: Binary::Modulo,
                right,
                span,
                ..
            }),
        ) = (&first.kind, rest.first())
            && matches!(right.kind, NodeKind::Int(0))
        {
            return Err(Fault::new(*span, "integer divide by zero"));
        }
        Ok(left)
    }

    fn comparison(&mut self, first: &Node, rest: &[Operation]) -> Checked {
        let mut left = self.visit(first)?;
        for operation in rest {
            let right = self.visit(&operation.right)?;
            operators::binary(self.source, &left, operation, &right)?;
            left = right;
        }
        Ok(Type::Bool)
    }

    fn condition(&mut self, node: &Node) -> Checked {
        let condition = self.visit(node)?;
        if condition == Type::Bool || condition.is_unknown() {
            return Ok(condition);
        }
        Err(Fault::new(
            node.span,
            format!(
                "non-bool expression (type {}) used as condition",
                condition.name()
            ),
        ))
    }

    fn conditional(&mut self, [condition, then, otherwise]: &[Node; 3]) -> Checked {
        self.condition(condition)?;
        let then = self.visit(then)?;
        let otherwise = self.visit(otherwise)?;
        Ok(either(&then, &otherwise))
    }

    fn elvis(&mut self, [condition, otherwise]: &[Node; 2]) -> Checked {
        let then = self.condition(condition)?;
        let otherwise = self.visit(otherwise)?;
        Ok(either(&then, &otherwise))
    }

    /// A name after a dot; `called` when arguments follow.
    fn member(&mut self, node: &Node, member: &Member, called: bool) -> Checked {
        let name = match &member.key.kind {
            NodeKind::Str(name) => Some(&**name),
            _ => None,
        };
        let target = self.visit(&member.target)?;
        let key = self.visit(&member.key)?;
        member_of(&target, name, &key, node.span, member.key.span, called)
    }

    fn slice(&mut self, node: &Node, slice: &SliceNode) -> Checked {
        let target = self.visit(&slice.target)?;
        if target.is_unknown() {
            return Ok(Type::Unknown);
        }
        if target != Type::Str && !target.is_list() {
            return Err(Fault::new(
                node.span,
                format!("cannot slice {}", target.name()),
            ));
        }
        for bound in [&slice.from, &slice.to].into_iter().flatten() {
            let kind = self.visit(bound)?;
            if kind != Type::Int && !kind.is_unknown() {
                return Err(Fault::new(
                    bound.span,
                    format!("non-integer slice index {}", kind.name()),
                ));
            }
        }
        Ok(target)
    }

    /// A function of the caller, or of nobody: nothing is known of it.
    fn call(&mut self, node: &Node, name: &str, arguments: &[Node]) -> Checked {
        let callee = self.identifier(name);
        self.all(arguments)?;
        if callee.is_unknown() || callee == Type::Func {
            return Ok(Type::Unknown);
        }
        Err(Fault::new(
            node.span,
            match callee {
                Type::Nil => format!("{name} is nil; cannot call nil as function"),
                known => format!("{} is not callable", known.name()),
            },
        ))
    }

    fn method(&mut self, node: &Node, method: &Method) -> Checked {
        let target = self.visit(&method.target)?;
        if let Some(signature) = methods::find(&target, &method.name) {
            let given = self.all(&method.arguments)?;
            return signature.check(&method.name, node.span, &method.arguments, &given);
        }
        let callee = member_of(
            &target,
            Some(&method.name),
            &Type::Str,
            node.span,
            node.span,
            true,
        )?;
        self.all(&method.arguments)?;
        if callee.is_unknown() {
            return Ok(Type::Unknown);
        }
        Err(Fault::new(
            node.span,
            format!("{} is not callable", callee.name()),
        ))
    }

    fn builtin(&mut self, node: &Node, builtin: &Builtin, nodes: &[Node]) -> Checked {
        if matches!(builtin.shape, Shape::Predicate { .. }) {
            return self.with_predicate(node, builtin.name, nodes);
        }
        let given = self.all(nodes)?;
        functions::call(builtin.name, node.span, nodes, &given)
    }

    fn declaration(&mut self, node: &Node, name: &Arc<str>, [value, body]: &[Node; 2]) -> Checked {
        let taken = if builtins::find(name).is_some() {
            Some("builtin")
        } else if self.variables.iter().any(|(known, _)| known == name) {
            Some("variable")
        } else {
            None
        };
        if let Some(what) = taken {
            return Err(Fault::new(
                node.span,
                format!("cannot redeclare {what} {name}"),
            ));
        }
        let value = self.visit(value)?;
        self.variables.push((name.clone(), value));
        let body = self.visit(body);
        self.variables.pop();
        body
    }

    fn array(&mut self, nodes: &[Node]) -> Checked {
        let mut alike = true;
        let mut last: Option<Type> = None;
        for node in nodes {
            let current = self.visit(node)?;
            alike &= last.as_ref().is_none_or(|last| last.same_kind(&current));
            last = Some(current);
        }
        Ok(Type::list(if alike {
            last.unwrap_or(Type::Unknown)
        } else {
            Type::Any
        }))
    }
}

/// What a choice between two gives.
fn either(then: &Type, otherwise: &Type) -> Type {
    match (then, otherwise) {
        (Type::Nil, other) | (other, Type::Nil) => other.clone(),
        _ if !then.fits(otherwise) => Type::Unknown,
        _ if then.is_list() && otherwise.is_list() => {
            let (one, other) = (then.element(), otherwise.element());
            if one.fits(&other) && other.fits(&one) {
                then.clone()
            } else {
                Type::list(Type::Any)
            }
        }
        _ => then.clone(),
    }
}

fn member_of(
    target: &Type,
    name: Option<&str>,
    key: &Type,
    span: Span,
    key_span: Span,
    called: bool,
) -> Checked {
    if target.is_unknown() {
        return Ok(Type::Unknown);
    }
    if let Some(name) = name {
        if *target == Type::Nil {
            return Err(Fault::new(span, format!("type nil has no field {name}")));
        }
        if methods::find(target, name).is_some() {
            return Ok(Type::Func);
        }
    }
    if target.is_map() {
        return map_element(target, key, key_span);
    }
    if target.is_list() {
        if *key != Type::Int && !key.is_unknown() {
            return Err(Fault::new(
                key_span,
                format!(
                    "array elements can only be selected using an integer (got {})",
                    key.name()
                ),
            ));
        }
        return Ok(target.element());
    }
    let what = if called { "method" } else { "field" };
    Err(Fault::new(
        span,
        match name {
            Some(name) => format!("type {} has no {what} {name}", target.name()),
            None => format!("type {}[{}] is undefined", target.name(), key.name()),
        },
    ))
}

fn map_element(map: &Type, key: &Type, key_span: Span) -> Checked {
    let wanted = match map {
        Type::Map => Type::Str,
        _ => Type::Any,
    };
    if !key.fits(&wanted) && !key.is_unknown() {
        return Err(Fault::new(
            key_span,
            format!(
                "cannot use {} to get an element from {}",
                key.name(),
                map.name()
            ),
        ));
    }
    Ok(map.element())
}
