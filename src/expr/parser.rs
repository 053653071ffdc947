//! Tokens to a tree: precedence climbing, as the original's grammar has it.

use std::borrow::Cow;
use std::sync::Arc;

use super::ast::{Node, NodeKind, Pointer, Unary};
use super::error::Span;
use super::go::numbers as go_numbers;
use super::lexer::{Fault, Kind, Token, lex};

mod calls;
mod operations;
mod postfix;

/// Deeper nesting than any person writes. A level costs up to 16 KiB of stack in a debug build.
const MAX_NESTING: u16 = 50;
/// Height of the tree, where chains of members and pipes count too. A level costs up to 4 KiB to evaluate.
const MAX_HEIGHT: u16 = 100;
/// The original's own limit.
const MAX_NODES: usize = 10_000;

type Parsed = Result<Node, Fault>;

pub(super) fn parse(source: &str) -> Parsed {
    let tokens = lex(source)?;
    let mut parser = Parser {
        tokens,
        position: 0,
        depth: 0,
        nodes: 0,
        predicates: 0,
    };
    let root = parser.sequence()?;
    if parser.current().kind != Kind::Eof {
        return Err(parser.unexpected());
    }
    Ok(root)
}

struct Parser<'s> {
    tokens: Vec<Token<'s>>,
    position: usize,
    depth: u16,
    nodes: usize,
    /// How many predicates we are inside of: there `#` means something.
    predicates: usize,
}

static END: Token<'static> = Token {
    kind: Kind::Eof,
    value: Cow::Borrowed(""),
    bytes: Vec::new(),
    span: Span { start: 0, end: 0 },
};

impl<'s> Parser<'s> {
    fn current(&self) -> &Token<'s> {
        self.tokens
            .get(self.position)
            .or(self.tokens.last())
            .unwrap_or(&END)
    }

    fn at(&self, kind: Kind, value: &str) -> bool {
        self.current().is(kind, value)
    }

    fn at_end(&self) -> bool {
        self.current().kind == Kind::Eof
    }

    fn unexpected(&self) -> Fault {
        let token = self.current();
        Fault::new(token.span, format!("unexpected token {}", token.describe()))
    }

    fn advance(&mut self) -> Result<Token<'s>, Fault> {
        let token = self.current().clone();
        if token.kind == Kind::Eof {
            return Err(Fault::new(token.span, "unexpected end of expression"));
        }
        self.position += 1;
        Ok(token)
    }

    fn take(&mut self, kind: Kind, value: &str) -> bool {
        let found = self.at(kind, value);
        if found {
            self.position += 1;
        }
        found
    }

    fn expect(&mut self, kind: Kind, value: &str) -> Result<Token<'s>, Fault> {
        if self.at(kind, value) {
            return self.advance();
        }
        Err(self.unexpected())
    }

    fn identifier(&mut self) -> Result<Token<'s>, Fault> {
        if self.current().kind == Kind::Identifier {
            return self.advance();
        }
        Err(self.unexpected())
    }

    /// Where the token before the current one ended.
    fn last_end(&self) -> usize {
        self.position
            .checked_sub(1)
            .and_then(|at| self.tokens.get(at))
            .map_or(0, |token| token.span.end)
    }

    fn node(&mut self, kind: NodeKind, span: Span, start: usize, height: u16) -> Parsed {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(Fault::new(
                span,
                "the expression has too many parts (10000 at most)",
            ));
        }
        if height > MAX_HEIGHT {
            return Err(too_deep(span));
        }
        let end = self.last_end().max(span.end);
        Ok(Node {
            kind,
            span,
            extent: Span::new(start, end),
            height,
        })
    }

    fn leaf(&mut self, kind: NodeKind, span: Span) -> Parsed {
        self.node(kind, span, span.start, 1)
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        if self.depth >= MAX_NESTING {
            return Err(too_deep(self.current().span));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// `a; b; c`, and what `let` opens.
    fn sequence(&mut self) -> Parsed {
        let start = self.current().span;
        let first = self.expression(0)?;
        if !self.at(Kind::Operator, ";") {
            return Ok(first);
        }
        let mut nodes = vec![first];
        while self.take(Kind::Operator, ";") {
            if self.at_end() {
                break;
            }
            nodes.push(self.expression(0)?);
        }
        let height = above(nodes.iter());
        self.node(NodeKind::Sequence(nodes), start, start.start, height)
    }

    fn expression(&mut self, strength: u8) -> Parsed {
        self.deeper(|parser| {
            if strength == 0 && parser.at(Kind::Operator, "let") {
                return parser.declaration();
            }
            if strength == 0 && parser.at(Kind::Operator, "if") {
                return parser.if_else();
            }
            let left = parser.operations(strength)?;
            if strength == 0 {
                return parser.ternary(left);
            }
            Ok(left)
        })
    }

    fn if_else(&mut self) -> Parsed {
        let token = self.expect(Kind::Operator, "if")?;
        let condition = self.expression(0)?;
        self.expect(Kind::Bracket, "{")?;
        let then = self.sequence()?;
        self.expect(Kind::Bracket, "}")?;
        self.expect(Kind::Operator, "else")?;
        let otherwise = if self.at(Kind::Operator, "if") {
            self.deeper(Self::if_else)?
        } else {
            self.expect(Kind::Bracket, "{")?;
            let otherwise = self.sequence()?;
            self.expect(Kind::Bracket, "}")?;
            otherwise
        };
        let height = above([&condition, &then, &otherwise]);
        let kind = NodeKind::Conditional(Box::new([condition, then, otherwise]));
        self.node(kind, token.span, token.span.start, height)
    }

    fn declaration(&mut self) -> Parsed {
        let start = self.expect(Kind::Operator, "let")?.span.start;
        let name = self.identifier()?;
        self.expect(Kind::Operator, "=")?;
        let value = self.expression(0)?;
        self.expect(Kind::Operator, ";")?;
        let name_text: Arc<str> = name.value.into();
        let body = self.sequence()?;
        let height = above([&value, &body]);
        let kind = NodeKind::Let(name_text, Box::new([value, body]));
        self.node(kind, name.span, start, height)
    }

    fn primary(&mut self) -> Parsed {
        let token = self.current().clone();
        if token.kind == Kind::Operator
            && let Some((op, power)) = Unary::from_text(&token.value)
        {
            self.position += 1;
            let operand = self.expression(power)?;
            let height = operand.height.saturating_add(1);
            let kind = NodeKind::Unary(op, Box::new(operand));
            let node = self.node(kind, token.span, token.span.start, height)?;
            return self.postfix(node);
        }
        if token.is(Kind::Bracket, "(") {
            self.position += 1;
            let mut inner = self.sequence()?;
            self.expect(Kind::Bracket, ")")?;
            inner.extent = Span::new(token.span.start, self.last_end());
            return self.postfix(inner);
        }
        if token.is(Kind::Operator, "#") || token.is(Kind::Operator, ".") {
            return self.pointer(&token);
        }
        if token.is(Kind::Operator, "::") {
            self.position += 1;
            let name = self.identifier()?;
            let call = self.call(name, None)?;
            return self.postfix(call);
        }
        self.secondary(token)
    }

    fn pointer(&mut self, token: &Token<'s>) -> Parsed {
        if self.predicates == 0 {
            return Err(if token.value == "#" {
                self.unexpected()
            } else {
                Fault::new(token.span, "cannot use pointer accessor outside predicate")
            });
        }
        let mut pointer = Pointer::Item;
        if token.value == "#" {
            self.position += 1;
            if self.current().kind == Kind::Identifier {
                let name = self.advance()?;
                pointer = match &*name.value {
                    "index" => Pointer::Index,
                    "acc" => Pointer::Acc,
                    other => {
                        return Err(Fault::new(token.span, format!("unknown pointer #{other}")));
                    }
                };
            }
        }
        let node = self.leaf(NodeKind::Pointer(pointer), token.span)?;
        self.postfix(node)
    }

    fn secondary(&mut self, token: Token<'s>) -> Parsed {
        let span = token.span;
        let node = match token.kind {
            Kind::Identifier => {
                self.position += 1;
                match &*token.value {
                    "true" => return self.leaf(NodeKind::Bool(true), span),
                    "false" => return self.leaf(NodeKind::Bool(false), span),
                    "nil" => return self.leaf(NodeKind::Nil, span),
                    _ if self.at(Kind::Bracket, "(") => self.call(token, None)?,
                    _ => self.leaf(NodeKind::Ident(token.value.into()), span)?,
                }
            }
            Kind::Number => return self.number(&token),
            Kind::String => {
                self.position += 1;
                self.leaf(NodeKind::Str(token.value.into()), span)?
            }
            Kind::Bytes => {
                self.position += 1;
                self.leaf(NodeKind::Bytes(token.bytes.into()), span)?
            }
            Kind::Bracket if token.value == "[" => self.array(&token)?,
            Kind::Bracket if token.value == "{" => self.map(&token)?,
            _ => return Err(self.unexpected()),
        };
        self.postfix(node)
    }

    fn number(&mut self, token: &Token<'s>) -> Parsed {
        self.position += 1;
        match go_numbers::literal(&token.value) {
            Ok(go_numbers::Literal::Int(number)) => self.leaf(NodeKind::Int(number), token.span),
            Ok(go_numbers::Literal::Float(number)) => {
                self.leaf(NodeKind::Float(number), token.span)
            }
            // The original notices when it has already moved on.
            Err(message) => Err(Fault::new(self.current().span, message)),
        }
    }

    fn array(&mut self, token: &Token<'s>) -> Parsed {
        let items = self.listed("[", "]", |parser| parser.expression(0))?;
        let height = above(items.iter());
        self.node(NodeKind::Array(items), token.span, token.span.start, height)
    }

    fn map(&mut self, token: &Token<'s>) -> Parsed {
        let pairs = self.listed("{", "}", Self::pair)?;
        let height = above(pairs.iter().flatten());
        self.node(NodeKind::Map(pairs), token.span, token.span.start, height)
    }

    fn pair(&mut self) -> Result<[Node; 2], Fault> {
        let token = self.current().clone();
        let key = match token.kind {
            Kind::Number | Kind::String | Kind::Identifier => {
                self.position += 1;
                self.leaf(NodeKind::Str(token.value.into()), token.span)?
            }
            Kind::Bracket if token.value == "(" => self.expression(0)?,
            _ => {
                return Err(Fault::new(
                    token.span,
                    format!(
                        "a map key must be a quoted string, a number, a identifier, or an expression enclosed in parentheses (unexpected token {})",
                        token.describe()
                    ),
                ));
            }
        };
        self.expect(Kind::Operator, ":")?;
        let value = self.expression(0)?;
        Ok([key, value])
    }

    /// Items between brackets, with an optional last comma.
    fn listed<T>(
        &mut self,
        open: &str,
        close: &str,
        mut item: impl FnMut(&mut Self) -> Result<T, Fault>,
    ) -> Result<Vec<T>, Fault> {
        self.expect(Kind::Bracket, open)?;
        let mut items = Vec::new();
        while !self.at(Kind::Bracket, close) {
            if !items.is_empty() {
                self.expect(Kind::Operator, ",")?;
                if self.at(Kind::Bracket, close) {
                    break;
                }
                if self.at(Kind::Operator, ",") {
                    return Err(self.unexpected());
                }
            }
            items.push(item(self)?);
        }
        self.expect(Kind::Bracket, close)?;
        Ok(items)
    }
}

fn too_deep(span: Span) -> Fault {
    Fault::new(
        span,
        format!("the expression is nested too deeply ({MAX_NESTING} levels at most)"),
    )
}

fn above<'n>(nodes: impl IntoIterator<Item = &'n Node>) -> u16 {
    nodes
        .into_iter()
        .map(|node| node.height)
        .max()
        .unwrap_or(0)
        .saturating_add(1)
}
