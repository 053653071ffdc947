//! Calls, and the expressions that functions such as `filter` take.

use std::ops::Range;

use super::super::ast::{Node, NodeKind};
use super::super::builtins::{self, Builtin, Shape};
use super::super::lexer::{Fault, Kind, Token};
use super::{Parsed, Parser, above};

impl<'s> Parser<'s> {
    /// A call by name, `piped` being what stood before `|`.
    pub(super) fn call(&mut self, name: Token<'s>, piped: Option<Node>) -> Parsed {
        let start = piped
            .as_ref()
            .map_or(name.span.start, |node| node.extent.start);
        if name.value == "$env" {
            return Err(Fault::new(name.span, "$env is not callable"));
        }
        let builtin = builtins::find(&name.value);
        let arguments = match builtin {
            Some(Builtin {
                shape: Shape::Predicate { least, most, .. },
                ..
            }) => self.predicate_arguments(piped, *least..*most)?,
            _ => {
                let mut arguments: Vec<Node> = piped.into_iter().collect();
                arguments.extend(self.listed("(", ")", |parser| parser.expression(0))?);
                arguments
            }
        };
        let height = above(arguments.iter());
        let kind = match builtin {
            Some(builtin) => NodeKind::Builtin(builtin, arguments),
            None => NodeKind::Call(name.value.into(), arguments),
        };
        self.node(kind, name.span, start, height)
    }

    /// The list, then the predicate, then whatever the function takes besides; those numbered in
    /// `optional` may be left out. A comma at the end is fine only when all are there.
    fn predicate_arguments(
        &mut self,
        piped: Option<Node>,
        optional: Range<usize>,
    ) -> Result<Vec<Node>, Fault> {
        let mut arguments: Vec<Node> = piped.into_iter().collect();
        let given = arguments.len();
        self.expect(Kind::Bracket, "(")?;
        for at in given..optional.end {
            if self.at(Kind::Bracket, ")") {
                if at >= optional.start {
                    break;
                }
                return Err(Fault::new(
                    self.current().span,
                    format!("expected at least {} arguments", optional.end - given),
                ));
            }
            if at > given {
                self.expect(Kind::Operator, ",")?;
            }
            let argument = if at == 1 {
                self.predicate()?
            } else {
                self.expression(0)?
            };
            arguments.push(argument);
        }
        self.take(Kind::Operator, ",");
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
