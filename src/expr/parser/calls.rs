//! Calls, and the expressions that functions such as `filter` take.

use super::super::ast::{Node, NodeKind};
use super::super::builtins::{self, Builtin, Shape};
use super::super::lexer::{Fault, Kind, Token};
use super::operations::literal_type;
use super::{Parsed, Parser, above};

impl Parser {
    /// A call by name, `piped` being what stood before `|`.
    pub(super) fn call(&mut self, name: Token, piped: Option<Node>) -> Parsed {
        let start = piped
            .as_ref()
            .map_or(name.span.start, |node| node.extent.start);
        if name.value == "$env" {
            return Err(Fault::new(name.span, "$env is not callable"));
        }
        let builtin = builtins::find(&name.value);
        let arguments = match builtin {
            Some(Builtin {
                shape: Shape::Predicate { .. },
                ..
            }) => self.predicate_arguments(piped)?,
            _ => {
                let mut arguments: Vec<Node> = piped.into_iter().collect();
                arguments.extend(self.listed("(", ")", |parser| parser.expression(0))?);
                arguments
            }
        };
        let height = above(arguments.iter());
        let kind = match builtin {
            Some(builtin) => {
                builtin
                    .check_count(arguments.len())
                    .map_err(|message| Fault::new(name.span, message))?;
                if builtin.name == "get" {
                    check_get(&arguments)?;
                }
                NodeKind::Builtin(builtin, arguments)
            }
            None => NodeKind::Call(name.value.into(), arguments),
        };
        self.node(kind, name.span, start, height)
    }

    /// The list, then the predicate, then whatever the function takes besides.
    fn predicate_arguments(&mut self, piped: Option<Node>) -> Result<Vec<Node>, Fault> {
        let mut arguments: Vec<Node> = piped.into_iter().collect();
        let given = arguments.len();
        self.expect(Kind::Bracket, "(")?;
        while !self.at(Kind::Bracket, ")") {
            if arguments.len() > given {
                self.expect(Kind::Operator, ",")?;
                if self.at(Kind::Bracket, ")") {
                    break;
                }
            }
            let argument = if arguments.len() == 1 {
                self.predicate()?
            } else {
                self.expression(0)?
            };
            arguments.push(argument);
        }
        self.expect(Kind::Bracket, ")")?;
        Ok(arguments)
    }

    fn predicate(&mut self) -> Parsed {
        self.predicates += 1;
        let node = if self.take(Kind::Bracket, "{") {
            self.sequence()
                .and_then(|node| self.expect(Kind::Bracket, "}").map(|_| node))
        } else {
            self.expression(0)
        };
        self.predicates -= 1;
        if self.at(Kind::Operator, ";") {
            return Err(Fault::new(
                self.current().span,
                "wrap predicate with brackets { and }",
            ));
        }
        node
    }
}

/// `get` forgives whatever it meets at run time, so what can never be looked into is told before.
fn check_get(arguments: &[Node]) -> Result<(), Fault> {
    let [target, key] = arguments else {
        return Ok(());
    };
    if let Some((name @ ("bool" | "int" | "float64"), _)) = literal_type(target) {
        return Err(Fault::new(
            target.span,
            format!("type {name} does not support indexing"),
        ));
    }
    let list = matches!(target.kind, NodeKind::Array(_) | NodeKind::Fold(..));
    match literal_type(key) {
        Some((name @ ("bool" | "float64"), _)) if list => Err(Fault::new(
            key.span,
            format!("non-integer slice index {name}"),
        )),
        _ => Ok(()),
    }
}
