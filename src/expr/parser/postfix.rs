//! What may follow a value: `.name`, `?.name`, `[index]`, `[from:to]`, `.method()`.

use std::sync::Arc;

use super::super::ast::{Member, Method, Node, NodeKind, SliceNode};
use super::super::error::Span;
use super::super::lexer::{Fault, Kind, is_word_char};
use super::{Parsed, Parser, above};

impl<'s> Parser<'s> {
    pub(super) fn postfix(&mut self, mut node: Node) -> Parsed {
        loop {
            let token = self.current().clone();
            node = match (token.kind, &*token.value) {
                (Kind::Operator, ".") => {
                    self.position += 1;
                    self.property(node, false)?
                }
                (Kind::Operator, "?.") => {
                    self.position += 1;
                    if self.at(Kind::Bracket, "[") {
                        self.index(node, true)?
                    } else {
                        self.property(node, true)?
                    }
                }
                (Kind::Bracket, "[") => self.index(node, false)?,
                _ => return Ok(node),
            };
        }
    }

    fn property(&mut self, target: Node, optional: bool) -> Parsed {
        let name = self.advance()?;
        let named = match name.kind {
            Kind::Identifier => true,
            // Words such as `not` and `matches` are fine as names.
            Kind::Operator => name.value.chars().all(is_word_char),
            _ => false,
        };
        if !named {
            return Err(Fault::new(self.current().span, "expected name"));
        }
        // A chain goes on: `a?.b.c` gives up as a whole when `a` is nil.
        let (target, chained) = match target.kind {
            NodeKind::Optional(inner) => (*inner, true),
            _ => (target, false),
        };
        let start = target.extent.start;
        let span = name.span;
        let node = if self.at(Kind::Bracket, "(") {
            let arguments = self.listed("(", ")", |parser| parser.expression(0))?;
            let height = above(arguments.iter().chain([&target]));
            let method = Method {
                target,
                name: name.value.into(),
                optional,
                arguments,
            };
            self.node(NodeKind::Method(Box::new(method)), span, start, height)?
        } else {
            let key: Arc<str> = name.value.into();
            let key = self.leaf(NodeKind::Str(key), span)?;
            self.member(target, key, optional, span)?
        };
        self.chain(node, chained || optional)
    }

    fn index(&mut self, target: Node, optional: bool) -> Parsed {
        let span = self.expect(Kind::Bracket, "[")?.span;
        if self.take(Kind::Operator, ":") {
            return self.slice(target, None, span);
        }
        let from = self.expression(0)?;
        if self.take(Kind::Operator, ":") {
            return self.slice(target, Some(from), span);
        }
        self.expect(Kind::Bracket, "]")?;
        let node = self.member(target, from, optional, span)?;
        self.chain(node, optional)
    }

    fn slice(&mut self, target: Node, from: Option<Node>, span: Span) -> Parsed {
        let to = if self.at(Kind::Bracket, "]") {
            None
        } else {
            Some(self.expression(0)?)
        };
        self.expect(Kind::Bracket, "]")?;
        let start = target.extent.start;
        let height = above(from.iter().chain(&to).chain([&target]));
        let slice = SliceNode { target, from, to };
        self.node(NodeKind::Slice(Box::new(slice)), span, start, height)
    }

    fn member(&mut self, target: Node, key: Node, optional: bool, span: Span) -> Parsed {
        let start = target.extent.start;
        let height = above([&target, &key]);
        let member = Member {
            target,
            key,
            optional,
        };
        self.node(NodeKind::Member(Box::new(member)), span, start, height)
    }

    fn chain(&mut self, node: Node, chained: bool) -> Parsed {
        if !chained {
            return Ok(node);
        }
        let (span, start) = (node.span, node.extent.start);
        let height = node.height.saturating_add(1);
        self.node(NodeKind::Optional(Box::new(node)), span, start, height)
    }
}
