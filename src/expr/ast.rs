//! The tree of an expression.

use std::sync::Arc;

use super::builtins::Builtin;
use super::error::Span;

#[derive(Debug)]
pub(super) struct Node {
    pub kind: NodeKind,
    /// Where errors of this node are shown.
    pub span: Span,
    /// The whole text of the node, to quote it in a message.
    pub extent: Span,
    /// Longest way down; bounded so that walking and dropping the tree cannot exhaust the stack.
    pub height: u16,
}

#[derive(Debug)]
pub(super) enum NodeKind {
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Arc<str>),
    Bytes(Arc<[u8]>),
    Ident(Arc<str>),
    Pointer(Pointer),
    Unary(Unary, Box<Node>),
    /// Operators of equal or falling strength, applied from the left: no depth however long.
    Fold(Box<Node>, Vec<Operation>),
    /// `a < b < c`: each operand evaluated once, all comparisons must hold.
    Compare(Box<Node>, Vec<Operation>),
    /// `a ? b : c` and `if`.
    Conditional(Box<[Node; 3]>),
    /// `a ?: b`.
    Elvis(Box<[Node; 2]>),
    Member(Box<Member>),
    Slice(Box<SliceNode>),
    /// Where a `?.` inside stops when it meets nil.
    Optional(Box<Node>),
    Call(Arc<str>, Vec<Node>),
    Method(Box<Method>),
    Builtin(&'static Builtin, Vec<Node>),
    Let(Arc<str>, Box<[Node; 2]>),
    Sequence(Vec<Node>),
    Array(Vec<Node>),
    Map(Vec<[Node; 2]>),
}

#[derive(Debug)]
pub(super) struct Operation {
    pub op: Binary,
    /// `not in` and the like.
    pub negated: bool,
    pub span: Span,
    pub right: Node,
}

#[derive(Debug)]
pub(super) struct Member {
    pub target: Node,
    pub key: Node,
    pub optional: bool,
}

#[derive(Debug)]
pub(super) struct SliceNode {
    pub target: Node,
    pub from: Option<Node>,
    pub to: Option<Node>,
}

#[derive(Debug)]
pub(super) struct Method {
    pub target: Node,
    pub name: Arc<str>,
    pub optional: bool,
    pub arguments: Vec<Node>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pointer {
    Item,
    Index,
    Acc,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Not,
    Minus,
    Plus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    Greater,
    LessEqual,
    GreaterEqual,
    In,
    Matches,
    Contains,
    StartsWith,
    EndsWith,
    Range,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
    Coalesce,
}

/// Text, operator, strength. All bind to the left but power.
const BINARY: [(&str, Binary, u8); 24] = [
    ("or", Binary::Or, 10),
    ("||", Binary::Or, 10),
    ("and", Binary::And, 15),
    ("&&", Binary::And, 15),
    ("==", Binary::Equal, 20),
    ("!=", Binary::NotEqual, 20),
    ("<", Binary::Less, 20),
    (">", Binary::Greater, 20),
    ("<=", Binary::LessEqual, 20),
    (">=", Binary::GreaterEqual, 20),
    ("in", Binary::In, 20),
    ("matches", Binary::Matches, 20),
    ("contains", Binary::Contains, 20),
    ("startsWith", Binary::StartsWith, 20),
    ("endsWith", Binary::EndsWith, 20),
    ("..", Binary::Range, 25),
    ("+", Binary::Add, 30),
    ("-", Binary::Subtract, 30),
    ("*", Binary::Multiply, 60),
    ("/", Binary::Divide, 60),
    ("%", Binary::Modulo, 60),
    ("**", Binary::Power, 100),
    ("^", Binary::Power, 100),
    ("??", Binary::Coalesce, 200),
];

impl Binary {
    pub fn from_text(text: &str) -> Option<(Self, u8)> {
        BINARY
            .iter()
            .find(|(name, ..)| *name == text)
            .map(|(_, op, strength)| (*op, *strength))
    }

    /// The operator as written most often; for messages.
    pub fn text(self) -> &'static str {
        match self {
            Self::Or => "||",
            Self::And => "&&",
            Self::Power => "**",
            other => BINARY
                .iter()
                .find(|(_, op, _)| *op == other)
                .map_or("", |(name, ..)| name),
        }
    }

    pub fn is_ordering(self) -> bool {
        matches!(
            self,
            Self::Less | Self::Greater | Self::LessEqual | Self::GreaterEqual
        )
    }

    pub fn may_follow_not(self) -> bool {
        matches!(
            self,
            Self::In | Self::Matches | Self::Contains | Self::StartsWith | Self::EndsWith
        )
    }
}

impl Unary {
    pub fn from_text(text: &str) -> Option<(Self, u8)> {
        match text {
            "not" | "!" => Some((Self::Not, 50)),
            "-" => Some((Self::Minus, 90)),
            "+" => Some((Self::Plus, 90)),
            _ => None,
        }
    }
}
