//! Reading an expression without evaluating it: which names and functions it mentions, and what its value is made of.

use std::sync::Arc;

use super::ast::{Binary, Node, NodeKind, Operation, Unary};
use super::builtins::{self, Shape};
use super::error::Span;
use super::program::Program;
use super::value::Value;

/// Functions of Kargo that are there in every template.
pub const FUNCTIONS: [&str; 15] = [
    "warehouse",
    "commitFrom",
    "imageFrom",
    "chartFrom",
    "artifactFrom",
    "freightMetadata",
    "freightStatus",
    "stageMetadata",
    "configMap",
    "sharedConfigMap",
    "secret",
    "sharedSecret",
    "semverParse",
    "semverDiff",
    // Not a function of Kargo: the whole environment.
    "$env",
];

/// Functions that templates define.
pub const TEXT_FUNCTIONS: [&str; 4] = ["quote", "unsafeQuote", "asYAML", "asJSON"];

/// Functions that are there in a step's `if` and `config`, not in vars.
pub const STEP_FUNCTIONS: [&str; 4] = ["always", "success", "failure", "status"];

/// The names of the language's own functions.
pub fn builtin_names() -> impl Iterator<Item = &'static str> {
    builtins::names()
}

/// A name or a call, with what is read of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Mention {
    /// The name, or the function's.
    pub name: String,
    /// Where the name is.
    pub span: Span,
    /// A call's arguments: their texts where they are written as texts.
    pub call: Option<Vec<Option<String>>>,
    /// `a.b["c"].d()` after the name.
    pub path: Vec<Member>,
    /// Left of `??`: nil is expected.
    pub defaulted: bool,
    /// Evaluated only if something else in the expression holds.
    pub conditional: bool,
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name, unless that is computed.
    pub name: Option<String>,
    /// Where it is.
    pub span: Span,
    /// `?.`, or anything behind one: nil before it is no error.
    pub optional: bool,
    /// It is called.
    pub method: bool,
    /// A part of a text or a list was cut out.
    pub cut: bool,
}

impl Mention {
    /// The name at this place of the path.
    pub fn member(&self, at: usize) -> Option<&str> {
        self.path.get(at)?.name.as_deref()
    }

    /// Whether reading on fails if the value before this place of the path is nil.
    pub fn fails_at(&self, at: usize) -> bool {
        self.path.get(at).is_some_and(|member| !member.optional)
    }
}

/// What an expression may come to; a condition in it gives several.
#[derive(Clone, Debug)]
pub enum Gives {
    /// Exactly this.
    Value(Value),
    /// A text that stays a text, since `quote` or the like made it.
    Quoted,
    /// A text of which no more is known.
    Text,
    /// A number.
    Number,
    /// true or false.
    Flag,
    /// A list.
    List,
    /// A map.
    Map,
    /// What is read there, or a text made of it.
    Member(Mention),
    /// Anything.
    Unknown,
}

impl Program {
    /// Every name and call in it, in order, local variables left out.
    pub fn mentions(&self) -> Vec<Mention> {
        let mut walker = Walker::default();
        walker.node(self.root());
        walker.mentions
    }

    /// What it may come to.
    pub fn gives(&self) -> Vec<Gives> {
        let mut found = Vec::new();
        gives(self.root(), &mut found);
        found
    }
}

#[derive(Default)]
struct Walker {
    mentions: Vec<Mention>,
    bound: Vec<Arc<str>>,
    defaulted: bool,
    conditional: bool,
}

impl Walker {
    fn all<'n>(&mut self, nodes: impl IntoIterator<Item = &'n Node>) {
        for node in nodes {
            self.node(node);
        }
    }

    /// Below a node that is not a path, nil is no longer what `??` is about.
    fn plainly(&mut self, walk: impl FnOnce(&mut Self)) {
        let defaulted = std::mem::take(&mut self.defaulted);
        walk(self);
        self.defaulted = defaulted;
    }

    fn perhaps(&mut self, walk: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.conditional, true);
        walk(self);
        self.conditional = before;
    }

    fn node(&mut self, node: &Node) {
        if let Some(mention) = self.path(node) {
            if !self.bound.iter().any(|bound| **bound == *mention.name) {
                self.mentions.push(mention);
            }
            return;
        }
        match &node.kind {
            NodeKind::Unary(_, operand) => self.plainly(|walker| walker.node(operand)),
            NodeKind::Fold(first, rest) => self.fold(first, rest),
            NodeKind::Compare(first, rest) => self.plainly(|walker| {
                walker.node(first);
                walker.all(rest.iter().map(|operation| &operation.right));
            }),
            NodeKind::Conditional(parts) => {
                let [condition, then, otherwise] = &**parts;
                self.plainly(|walker| walker.node(condition));
                self.perhaps(|walker| walker.all([then, otherwise]));
            }
            NodeKind::Elvis(parts) => {
                let [first, otherwise] = &**parts;
                self.node(first);
                self.perhaps(|walker| walker.node(otherwise));
            }
            NodeKind::Member(member) => {
                self.node(&member.target);
                self.plainly(|walker| walker.node(&member.key));
            }
            NodeKind::Slice(slice) => {
                self.node(&slice.target);
                self.plainly(|walker| walker.all(slice.from.iter().chain(&slice.to)));
            }
            NodeKind::Optional(inner) => self.node(inner),
            NodeKind::Method(method) => {
                self.node(&method.target);
                self.plainly(|walker| walker.all(&method.arguments));
            }
            NodeKind::Call(_, arguments) | NodeKind::Builtin(_, arguments) => {
                self.plainly(|walker| walker.all(arguments));
            }
            NodeKind::Let(name, parts) => {
                let [value, body] = &**parts;
                self.plainly(|walker| walker.node(value));
                self.bound.push(Arc::clone(name));
                self.node(body);
                self.bound.pop();
            }
            NodeKind::Sequence(nodes) | NodeKind::Array(nodes) => {
                self.plainly(|walker| walker.all(nodes));
            }
            NodeKind::Map(pairs) => self.plainly(|walker| walker.all(pairs.iter().flatten())),
            NodeKind::Nil
            | NodeKind::Bool(_)
            | NodeKind::Int(_)
            | NodeKind::Float(_)
            | NodeKind::Str(_)
            | NodeKind::Bytes(_)
            | NodeKind::Ident(_)
            | NodeKind::Pointer(_) => {}
        }
    }

    fn fold(&mut self, first: &Node, rest: &[Operation]) {
        let coalesces = |at: usize| {
            rest.get(at)
                .is_some_and(|operation: &Operation| operation.op == Binary::Coalesce)
        };
        let outer = self.defaulted;
        self.defaulted = coalesces(0);
        self.node(first);
        for (at, operation) in rest.iter().enumerate() {
            self.defaulted = coalesces(at + 1);
            if matches!(operation.op, Binary::And | Binary::Or | Binary::Coalesce) {
                self.perhaps(|walker| walker.node(&operation.right));
            } else {
                self.node(&operation.right);
            }
        }
        self.defaulted = outer;
    }

    /// The node as a path from a name or a call; what is computed inside the path is walked by itself.
    fn path(&mut self, node: &Node) -> Option<Mention> {
        let mut mention = mention(node)?;
        mention.defaulted = self.defaulted;
        mention.conditional = self.conditional;
        for inner in inside(node) {
            self.plainly(|walker| walker.node(inner));
        }
        Some(mention)
    }
}

/// Arguments and computed keys of a path.
fn inside(node: &Node) -> Vec<&Node> {
    match &node.kind {
        NodeKind::Optional(inner) => inside(inner),
        NodeKind::Member(member) => {
            let mut nodes = inside(&member.target);
            nodes.push(&member.key);
            nodes
        }
        NodeKind::Slice(slice) => {
            let mut nodes = inside(&slice.target);
            nodes.extend(slice.from.iter().chain(&slice.to));
            nodes
        }
        NodeKind::Method(method) => {
            let mut nodes = inside(&method.target);
            nodes.extend(&method.arguments);
            nodes
        }
        NodeKind::Call(_, arguments) => arguments.iter().collect(),
        _ => Vec::new(),
    }
}

/// The node as a path from a name or a call.
fn mention(node: &Node) -> Option<Mention> {
    match &node.kind {
        NodeKind::Ident(name) => Some(root(name, node.span, None)),
        NodeKind::Call(name, arguments) => {
            let texts = arguments.iter().map(text_of).collect();
            Some(root(name, node.span, Some(texts)))
        }
        NodeKind::Optional(inner) => mention(inner),
        NodeKind::Member(member) => {
            let mut found = mention(&member.target)?;
            let optional = member.optional || follows_optional(&found);
            found.path.push(Member {
                name: text_of(&member.key),
                // An index has the place of its bracket, a name its own.
                span: if text_of(&member.key).is_some() {
                    member.key.span
                } else {
                    node.span
                },
                optional,
                method: false,
                cut: false,
            });
            Some(found)
        }
        NodeKind::Slice(slice) => {
            let mut found = mention(&slice.target)?;
            let optional = follows_optional(&found);
            found.path.push(Member {
                name: None,
                span: node.span,
                optional,
                method: false,
                cut: true,
            });
            Some(found)
        }
        NodeKind::Method(method) => {
            let mut found = mention(&method.target)?;
            let optional = method.optional || follows_optional(&found);
            found.path.push(Member {
                name: Some(method.name.to_string()),
                span: node.span,
                optional,
                method: true,
                cut: false,
            });
            Some(found)
        }
        _ => None,
    }
}

fn follows_optional(mention: &Mention) -> bool {
    mention.path.last().is_some_and(|member| member.optional)
}

fn root(name: &str, span: Span, call: Option<Vec<Option<String>>>) -> Mention {
    Mention {
        name: name.to_owned(),
        span,
        call,
        path: Vec::new(),
        defaulted: false,
        conditional: false,
    }
}

fn text_of(node: &Node) -> Option<String> {
    match &node.kind {
        NodeKind::Str(text) => Some(text.to_string()),
        _ => None,
    }
}

fn gives(node: &Node, found: &mut Vec<Gives>) {
    if let Some(mention) = mention(node) {
        found.push(match (&mention.call, mention.path.as_slice()) {
            (Some(_), []) if TEXT_FUNCTIONS.contains(&&*mention.name) => Gives::Quoted,
            (Some(_), []) => match &*mention.name {
                "always" | "success" | "failure" => Gives::Flag,
                _ => Gives::Member(mention),
            },
            _ => Gives::Member(mention),
        });
        return;
    }
    let one = match &node.kind {
        NodeKind::Nil => Gives::Value(Value::Nil),
        NodeKind::Bool(flag) => Gives::Value(Value::Bool(*flag)),
        NodeKind::Int(number) => Gives::Value(Value::Int(*number)),
        NodeKind::Float(number) => Gives::Value(Value::Float(*number)),
        NodeKind::Str(text) => Gives::Value(Value::from(&**text)),
        NodeKind::Unary(Unary::Not, _) | NodeKind::Compare(..) => Gives::Flag,
        NodeKind::Fold(first, rest) => return fold(first, rest, found),
        NodeKind::Conditional(parts) => {
            let [_, then, otherwise] = &**parts;
            gives(then, found);
            gives(otherwise, found);
            return;
        }
        NodeKind::Elvis(parts) => {
            let [first, otherwise] = &**parts;
            gives(first, found);
            gives(otherwise, found);
            return;
        }
        NodeKind::Let(_, parts) => {
            let [_, body] = &**parts;
            return gives(body, found);
        }
        NodeKind::Sequence(nodes) => match nodes.last() {
            Some(last) => return gives(last, found),
            None => Gives::Unknown,
        },
        // One of the parts that a text was split into.
        NodeKind::Member(member) => match &member.target.kind {
            NodeKind::Builtin(builtin, arguments) if builtin.name == "split" => {
                return of_first(arguments, found);
            }
            _ => Gives::Unknown,
        },
        NodeKind::Slice(slice) => return gives(&slice.target, found),
        NodeKind::Builtin(builtin, arguments) => return called(builtin, arguments, found),
        NodeKind::Array(_) => Gives::List,
        NodeKind::Map(_) => Gives::Map,
        _ => Gives::Unknown,
    };
    found.push(one);
}

fn of_first(arguments: &[Node], found: &mut Vec<Gives>) {
    match arguments.first() {
        Some(first) => gives(first, found),
        None => found.push(Gives::Unknown),
    }
}

fn called(builtin: &builtins::Builtin, arguments: &[Node], found: &mut Vec<Gives>) {
    let one = match (builtin.name, &builtin.shape) {
        // The text changes, and is as much of a number or not as it was.
        ("trim" | "trimPrefix" | "trimSuffix" | "lower" | "upper" | "replace" | "string", _) => {
            let before = found.len();
            of_first(arguments, found);
            for made in found.iter_mut().skip(before) {
                if !matches!(made, Gives::Member(_)) {
                    *made = Gives::Text;
                }
            }
            return;
        }
        ("first" | "last", _) => {
            return match arguments.first().map(|first| &first.kind) {
                Some(NodeKind::Builtin(inner, texts)) if inner.name == "split" => {
                    of_first(texts, found)
                }
                _ => found.push(Gives::Unknown),
            };
        }
        ("join" | "repeat" | "toJSON" | "toBase64" | "fromBase64" | "type", _) => Gives::Text,
        ("int" | "float" | "len" | "count" | "sum" | "indexOf" | "lastIndexOf", _) => Gives::Number,
        ("all" | "none" | "any" | "one" | "hasPrefix" | "hasSuffix", _) => Gives::Flag,
        ("split" | "splitAfter" | "keys" | "values" | "toPairs", _) => Gives::List,
        ("map" | "filter" | "sortBy", Shape::Predicate { .. }) => Gives::List,
        ("groupBy" | "fromPairs", _) => Gives::Map,
        _ => Gives::Unknown,
    };
    found.push(one);
}

/// Only what is left of the strongest-bound first operand matters for the type where all operators are of one kind.
fn fold(first: &Node, rest: &[Operation], found: &mut Vec<Gives>) {
    let all = |accept: fn(Binary) -> bool| rest.iter().all(|operation| accept(operation.op));
    if all(|op| op == Binary::Coalesce) {
        gives(first, found);
        rest.iter()
            .for_each(|operation| gives(&operation.right, found));
        return;
    }
    let last = rest.last().map(|operation| operation.op);
    found.push(match last {
        Some(
            Binary::Or
            | Binary::And
            | Binary::Equal
            | Binary::NotEqual
            | Binary::In
            | Binary::Matches
            | Binary::Contains
            | Binary::StartsWith
            | Binary::EndsWith,
        ) => Gives::Flag,
        Some(Binary::Range) => Gives::List,
        Some(
            Binary::Subtract | Binary::Multiply | Binary::Divide | Binary::Modulo | Binary::Power,
        ) => Gives::Unknown,
        Some(Binary::Add) if all(|op| op == Binary::Add) => {
            let known = std::iter::once(first).chain(rest.iter().map(|operation| &operation.right));
            let mut texts = known.map(text_of);
            if texts.any(|text| text.is_some()) {
                Gives::Text
            } else {
                Gives::Unknown
            }
        }
        _ => Gives::Unknown,
    });
}

#[cfg(test)]
mod tests;
