//! Tokens to a tree: precedence climbing, as the original's grammar has it.

use std::sync::Arc;

use super::ast::{Binary, Node, NodeKind, Operation, Pointer, Unary};
use super::builtins::{self, Builtin, Shape};
use super::error::Span;
use super::go::numbers as go_numbers;
use super::lexer::{Fault, Kind, Token, lex};

mod postfix;

/// Deeper nesting than any person writes; keeps parsing, evaluating and dropping within a small stack.
pub(super) const MAX_DEPTH: u16 = 100;
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
        variables: Vec::new(),
    };
    let root = parser.sequence()?;
    if parser.current().kind != Kind::Eof {
        return Err(parser.unexpected());
    }
    Ok(root)
}

struct Parser {
    tokens: Vec<Token>,
    position: usize,
    depth: u16,
    nodes: usize,
    /// How many predicates we are inside of: there `#` means something.
    predicates: usize,
    variables: Vec<Arc<str>>,
}

static END: Token = Token {
    kind: Kind::Eof,
    value: String::new(),
    bytes: Vec::new(),
    span: Span { start: 0, end: 0 },
};

impl Parser {
    fn current(&self) -> &Token {
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

    fn advance(&mut self) -> Result<Token, Fault> {
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

    fn expect(&mut self, kind: Kind, value: &str) -> Result<Token, Fault> {
        if self.at(kind, value) {
            return self.advance();
        }
        Err(self.unexpected())
    }

    fn identifier(&mut self) -> Result<Token, Fault> {
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
        if height > MAX_DEPTH {
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
        if self.depth >= MAX_DEPTH {
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

    fn operations(&mut self, strength: u8) -> Parsed {
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
                let right_strength = if op == Binary::Power { power } else { power + 1 };
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
        if operation.op == Binary::Equal || operation.op == Binary::NotEqual {
            check_comparable(&left, &operation)?;
        }
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

    fn comparison(&mut self, left: Node, op: Binary, token: &Token, power: u8) -> Parsed {
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
        let height = above(rest.iter().map(|operation| &operation.right))
            .max(left.height.saturating_add(1));
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
        let call = self.call(name, Some(left))?;
        self.postfix(call)
    }

    fn ternary(&mut self, mut condition: Node) -> Parsed {
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
        if builtins::find(&name.value).is_some() {
            return Err(Fault::new(
                name.span,
                format!("cannot redeclare builtin {}", name.value),
            ));
        }
        if self.variables.iter().any(|known| **known == *name.value) {
            return Err(Fault::new(
                name.span,
                format!("cannot redeclare variable {}", name.value),
            ));
        }
        self.expect(Kind::Operator, "=")?;
        let value = self.expression(0)?;
        self.expect(Kind::Operator, ";")?;
        let name_text: Arc<str> = name.value.into();
        self.variables.push(name_text.clone());
        let body = self.sequence();
        self.variables.pop();
        let body = body?;
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

    fn pointer(&mut self, token: &Token) -> Parsed {
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
            let adjacent = self.current().span.start == token.span.end;
            if adjacent && self.current().kind == Kind::Identifier {
                let name = self.advance()?;
                pointer = match name.value.as_str() {
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

    fn secondary(&mut self, token: Token) -> Parsed {
        let span = token.span;
        let node = match token.kind {
            Kind::Identifier => {
                self.position += 1;
                match token.value.as_str() {
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

    fn number(&mut self, token: &Token) -> Parsed {
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

    fn array(&mut self, token: &Token) -> Parsed {
        let items = self.listed("[", "]", |parser| parser.expression(0))?;
        let height = above(items.iter());
        self.node(
            NodeKind::Array(items),
            token.span,
            token.span.start,
            height,
        )
    }

    fn map(&mut self, token: &Token) -> Parsed {
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

    /// A call by name, `piped` being what stood before `|`.
    fn call(&mut self, name: Token, piped: Option<Node>) -> Parsed {
        let start = piped
            .as_ref()
            .map_or(name.span.start, |node| node.extent.start);
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

fn too_deep(span: Span) -> Fault {
    Fault::new(
        span,
        format!("the expression is nested too deeply ({MAX_DEPTH} levels at most)"),
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

/// Literals of different kinds can never be equal: a slip worth telling before anything runs.
fn check_comparable(left: &Node, operation: &Operation) -> Result<(), Fault> {
    let names = (literal_type(left), literal_type(&operation.right));
    let (Some((left_type, left_class)), Some((right_type, right_class))) = names else {
        return Ok(());
    };
    if left_class == right_class {
        return Ok(());
    }
    Err(Fault::new(
        operation.span,
        format!(
            "invalid operation: {} (mismatched types {left_type} and {right_type})",
            operation.op.text()
        ),
    ))
}

fn literal_type(node: &Node) -> Option<(&'static str, u8)> {
    match node.kind {
        NodeKind::Bool(_) => Some(("bool", 0)),
        NodeKind::Int(_) => Some(("int", 1)),
        NodeKind::Float(_) => Some(("float64", 1)),
        NodeKind::Str(_) => Some(("string", 2)),
        _ => None,
    }
}
