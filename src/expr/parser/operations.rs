//! Operators by strength, pipes and the ternary.

use super::super::ast::{Binary, Node, NodeKind, Operation};
use super::super::lexer::{Fault, Kind, Token};
use super::{Parsed, Parser, above};

impl<'s> Parser<'s> {
    pub(super) fn operations(&mut self, strength: u8) -> Parsed {
        let mut left = self.primary()?;
        let mut previous_coalesces = false;
        loop {
            if self.at(Kind::Operator, "|") {
                if strength > 0 {
                    return Ok(left);
                }
                left = self.pipe(left)?;
                previous_coalesces = false;
                continue;
            }
            let mark = self.position;
            let negated = self.take(Kind::Operator, "not");
            let token = self.current().clone();
            let found = match token.kind {
                Kind::Operator => Binary::from_text(&token.value),
                _ => None,
            };
            let Some((op, power)) = found else {
                if negated {
                    return Err(self.unexpected());
                }
                return Ok(left);
            };
            if negated && !op.may_follow_not() {
                return Err(self.unexpected());
            }
            if power < strength {
                self.position = mark;
                return Ok(left);
            }
            if previous_coalesces && op != Binary::Coalesce {
                return Err(Fault::new(
                    token.span,
                    format!(
                        "Operator ({}) and coalesce expressions (??) cannot be mixed. Wrap either by parentheses.",
                        token.value
                    ),
                ));
            }
            self.position += 1;
            left = if op.is_ordering() {
                self.comparison(left, op, &token, power)?
            } else {
                let right_strength = if op == Binary::Power {
                    power
                } else {
                    power + 1
                };
                let right = self.expression(right_strength)?;
                let operation = Operation {
                    op,
                    negated,
                    span: token.span,
                    right,
                };
                self.fold(left, operation)?
            };
            previous_coalesces = op == Binary::Coalesce;
        }
    }

    fn fold(&mut self, left: Node, operation: Operation) -> Parsed {
        let height = operation.right.height.saturating_add(1);
        let start = left.extent.start;
        let span = operation.span;
        let (first, mut rest, height) = match left.kind {
            NodeKind::Fold(first, rest) => (first, rest, height.max(left.height)),
            _ => {
                let height = height.max(left.height.saturating_add(1));
                (Box::new(left), Vec::new(), height)
            }
        };
        rest.push(operation);
        self.node(NodeKind::Fold(first, rest), span, start, height)
    }

    fn comparison(&mut self, left: Node, op: Binary, token: &Token<'_>, power: u8) -> Parsed {
        let start = left.extent.start;
        let mut rest = Vec::new();
        let (mut op, mut span) = (op, token.span);
        loop {
            let right = self.expression(power + 1)?;
            rest.push(Operation {
                op,
                negated: false,
                span,
                right,
            });
            let next = self.current();
            match (next.kind, Binary::from_text(&next.value)) {
                (Kind::Operator, Some((following, _))) if following.is_ordering() => {
                    op = following;
                    span = next.span;
                    self.position += 1;
                }
                _ => break,
            }
        }
        let height =
            above(rest.iter().map(|operation| &operation.right)).max(left.height.saturating_add(1));
        self.node(
            NodeKind::Compare(Box::new(left), rest),
            token.span,
            start,
            height,
        )
    }

    fn pipe(&mut self, left: Node) -> Parsed {
        self.expect(Kind::Operator, "|")?;
        let name = self.identifier()?;
        self.call(name, Some(left))
    }

    pub(super) fn ternary(&mut self, mut condition: Node) -> Parsed {
        while self.at(Kind::Operator, "?") {
            let start = condition.extent.start;
            let span = condition.span;
            self.position += 1;
            if self.take(Kind::Operator, ":") {
                let otherwise = self.expression(0)?;
                let height = above([&condition, &otherwise]);
                let kind = NodeKind::Elvis(Box::new([condition, otherwise]));
                condition = self.node(kind, span, start, height)?;
                continue;
            }
            let then = self.expression(0)?;
            self.expect(Kind::Operator, ":")?;
            let otherwise = self.expression(0)?;
            let height = above([&condition, &then, &otherwise]);
            let kind = NodeKind::Conditional(Box::new([condition, then, otherwise]));
            condition = self.node(kind, span, start, height)?;
        }
        Ok(condition)
    }
}
