//! Functions that evaluate an expression for each item of a list.

use super::super::ast::Node;
use super::super::lexer::Fault;
use super::types::Type;
use super::{Checked, Checker, Predicate};

impl Checker<'_> {
    pub(super) fn with_predicate(&mut self, call: &Node, name: &str, nodes: &[Node]) -> Checked {
        let Some((list, rest)) = nodes.split_first() else {
            return Ok(Type::Unknown);
        };
        let collection = self.visit(list)?;
        if !collection.is_list() && !collection.is_unknown() {
            return Err(Fault::new(
                list.span,
                format!(
                    "builtin {name} takes only array (got {})",
                    collection.name()
                ),
            ));
        }
        let Some((predicate, rest)) = rest.split_first() else {
            return Ok(match name {
                "count" => Type::Int,
                _ => collection.element(),
            });
        };
        self.predicates.push(Predicate {
            collection: collection.clone(),
            index: matches!(name, "map" | "reduce"),
            acc: name == "reduce",
        });
        let gives = self.visit(predicate);
        self.predicates.pop();
        let gives = gives?;
        if let Some(last) = rest.first() {
            self.last_argument(name, last)?;
        }
        if gives == Type::Nil {
            let inputs = if name == "reduce" { "two" } else { "one" };
            let span = if name == "sum" { call } else { predicate }.span;
            return Err(Fault::new(
                span,
                format!("predicate should has {inputs} input and one output param"),
            ));
        }
        let decides = !matches!(name, "map" | "sum" | "groupBy" | "sortBy" | "reduce");
        if decides && gives != Type::Bool && !gives.is_unknown() {
            return Err(Fault::new(
                predicate.span,
                format!("predicate should return boolean (got {})", gives.name()),
            ));
        }
        Ok(match name {
            "all" | "none" | "any" | "one" => Type::Bool,
            "filter" if collection.is_unknown() => Type::list(Type::Any),
            "filter" => Type::list(collection.element()),
            "map" => Type::list(gives),
            "find" | "findLast" => collection.element(),
            "count" | "findIndex" | "findLastIndex" => Type::Int,
            "sum" => gives.declared(),
            "groupBy" => Type::Groups,
            "sortBy" => collection,
            _ => gives,
        })
    }

    /// The order of `sortBy`, the first value of `reduce`.
    fn last_argument(&mut self, name: &str, node: &Node) -> Result<(), Fault> {
        let kind = self.visit(node)?;
        if name == "sortBy" && kind != Type::Str && !kind.is_unknown() {
            return Err(Fault::new(
                node.span,
                format!(
                    "sortBy order argument must be a string (got {})",
                    kind.name()
                ),
            ));
        }
        Ok(())
    }
}
