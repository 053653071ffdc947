//! Running a tree: names, scopes, short cuts, and the budgets that end what would not end.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use regex::Regex;

use super::access;
use super::ast::{Member, Method, Node, NodeKind, Pointer, SliceNode};
use super::builtins::{self, Builtin, Shape};
use super::env::Env;
use super::error::Span;
use super::lexer::Fault;
use super::ops;
use super::suggest;
use super::value::{Key, List, MapKind, Value};

mod budget;
mod operate;

pub(super) use budget::Budget;

/// Why evaluation stops.
#[derive(Debug)]
pub(super) enum Stop {
    /// A `?.` met nil: the whole chain is nil.
    Nil,
    Fault(Box<Fault>),
}

pub(super) type Evaluated = Result<Value, Stop>;

struct Scope {
    list: Arc<List>,
    index: usize,
    acc: Value,
}

pub(super) struct Machine<'e> {
    pub env: &'e Env<'e>,
    pub budget: Budget,
    source: &'e str,
    variables: Vec<(Arc<str>, Value)>,
    scopes: Vec<Scope>,
    patterns: HashMap<Arc<str>, Regex>,
    in_template: bool,
}

impl<'e> Machine<'e> {
    pub fn new(env: &'e Env<'e>, source: &'e str) -> Self {
        Self {
            env,
            source,
            budget: Budget::new(),
            variables: Vec::new(),
            scopes: Vec::new(),
            patterns: HashMap::new(),
            in_template: false,
        }
    }

    /// With the functions that templates define.
    pub fn in_template(mut self) -> Self {
        self.in_template = true;
        self
    }

    pub fn run(mut self, root: &Node) -> Result<Value, Fault> {
        match self.eval(root) {
            Ok(value) => Ok(value),
            Err(Stop::Nil) => Ok(Value::Nil),
            Err(Stop::Fault(fault)) => Err(*fault),
        }
    }

    pub fn eval(&mut self, node: &Node) -> Evaluated {
        at(node.span, self.budget.spend(1))?;
        match &node.kind {
            NodeKind::Nil => Ok(Value::Nil),
            NodeKind::Bool(value) => Ok(Value::Bool(*value)),
            NodeKind::Int(value) => Ok(Value::Int(*value)),
            NodeKind::Float(value) => Ok(Value::Float(*value)),
            NodeKind::Str(value) => Ok(Value::Str(value.clone())),
            NodeKind::Bytes(value) => Ok(Value::Bytes(value.clone())),
            NodeKind::Ident(name) => {
                self.env.noticed_all(name);
                self.lookup(name, node.span)
            }
            NodeKind::Pointer(pointer) => self.pointer(*pointer, node.span),
            NodeKind::Unary(op, operand) => {
                let operand = self.eval(operand)?;
                at(node.span, ops::unary(*op, &operand))
            }
            NodeKind::Fold(first, rest) => self.fold(first, rest),
            NodeKind::Compare(first, rest) => self.comparison(first, rest),
            NodeKind::Conditional(parts) => self.conditional(parts),
            NodeKind::Elvis(parts) => self.elvis(parts),
            NodeKind::Member(member) => self.member(node, member),
            NodeKind::Slice(slice) => self.slice(node, slice),
            NodeKind::Optional(inner) => match self.eval(inner) {
                Err(Stop::Nil) => Ok(Value::Nil),
                other => other,
            },
            NodeKind::Call(name, arguments) => self.call(node, name, arguments),
            NodeKind::Method(method) => self.method(node, method),
            NodeKind::Builtin(builtin, arguments) => self.builtin(node, builtin, arguments),
            NodeKind::Let(name, parts) => self.declaration(name, parts),
            NodeKind::Sequence(nodes) => self.sequence(nodes),
            NodeKind::Array(nodes) => {
                let items = self.all(nodes)?;
                at(node.span, self.budget.list(items))
            }
            NodeKind::Map(pairs) => self.map(node, pairs),
        }
    }

    pub fn all(&mut self, nodes: &[Node]) -> Result<Vec<Value>, Stop> {
        nodes.iter().map(|node| self.eval(node)).collect()
    }

    fn lookup(&self, name: &str, span: Span) -> Evaluated {
        if let Some((_, value)) = self
            .variables
            .iter()
            .rev()
            .find(|(known, _)| **known == *name)
        {
            return Ok(value.clone());
        }
        if name == "$env" {
            self.env.noticed_all("vars");
            return Ok(self.env.all());
        }
        at(span, self.env.meaning(name))
    }

    fn pointer(&self, pointer: Pointer, span: Span) -> Evaluated {
        let scope = self
            .scopes
            .last()
            .ok_or_else(|| fault(span, "cannot use pointer accessor outside predicate"))?;
        Ok(match pointer {
            Pointer::Item => scope
                .list
                .items()
                .get(scope.index)
                .cloned()
                .unwrap_or(Value::Nil),
            Pointer::Index => Value::Int(i64::try_from(scope.index).unwrap_or(i64::MAX)),
            Pointer::Acc => scope.acc.clone(),
        })
    }

    /// Evaluates a predicate for one item of a list.
    pub fn predicate(
        &mut self,
        predicate: &Node,
        list: &Arc<List>,
        index: usize,
        acc: Value,
    ) -> Evaluated {
        self.scopes.push(Scope {
            list: list.clone(),
            index,
            acc,
        });
        let value = self.eval(predicate);
        self.scopes.pop();
        value
    }

    fn conditional(&mut self, [condition, then, otherwise]: &[Node; 3]) -> Evaluated {
        if self.condition(condition)? {
            self.eval(then)
        } else {
            self.eval(otherwise)
        }
    }

    fn elvis(&mut self, [condition, otherwise]: &[Node; 2]) -> Evaluated {
        if self.condition(condition)? {
            Ok(Value::Bool(true))
        } else {
            self.eval(otherwise)
        }
    }

    fn condition(&mut self, node: &Node) -> Result<bool, Stop> {
        let value = self.eval(node)?;
        value.as_bool().ok_or_else(|| {
            fault(
                node.span,
                format!(
                    "non-bool expression (type {}) used as condition",
                    value.type_name()
                ),
            )
        })
    }

    fn member(&mut self, node: &Node, member: &Member) -> Evaluated {
        let target = match &member.target.kind {
            // Not through `eval`: reading one variable is not reading all of `vars`.
            NodeKind::Ident(name) => self.lookup(name, member.target.span)?,
            _ => self.eval(&member.target)?,
        };
        if target.is_nil() && member.optional {
            return Err(Stop::Nil);
        }
        let key = self.eval(&member.key)?;
        if let (NodeKind::Ident(name), Value::Str(key)) = (&member.target.kind, &key) {
            self.env.noticed(name, key);
        }
        let fetched = access::fetch(&target, &key);
        if let (Ok(Value::Nil), NodeKind::Ident(name), Value::Str(key)) =
            (&fetched, &member.target.kind, &key)
        {
            self.env.was_nil(name, key);
        }
        fetched.map_err(|message| {
            let message = match (&target, &key) {
                (Value::Nil, _) => message + &self.explain_nil(&member.target),
                (Value::Record(record), Value::Str(name)) => {
                    let fields = record.fields.iter().map(|field| field.name);
                    message + &suggest::hint(name, fields)
                }
                _ => message,
            };
            // All that can be wrong with reading a map is the key.
            let is_map = matches!(target, Value::Map(_));
            fault(if is_map { member.key.span } else { node.span }, message)
        })
    }

    /// Names what was nil, and says why where the caller knows.
    fn explain_nil(&self, node: &Node) -> String {
        let text = self
            .source
            .get(node.extent.start..node.extent.end)
            .unwrap_or_default()
            .trim();
        let note = path(node)
            .filter(|path| {
                let root = path.split('.').next();
                !self.variables.iter().any(|(name, _)| Some(&**name) == root)
            })
            .and_then(|path| self.env.note_on(&path));
        match note {
            Some(note) => format!(": {text} is nil; {note}"),
            None => format!(": {text} is nil"),
        }
    }

    fn slice(&mut self, node: &Node, slice: &SliceNode) -> Evaluated {
        let target = self.eval(&slice.target)?;
        let from = slice
            .from
            .as_ref()
            .map(|from| self.eval(from))
            .transpose()?;
        let to = slice.to.as_ref().map(|to| self.eval(to)).transpose()?;
        let value = at(
            node.span,
            access::slice(&target, from.as_ref(), to.as_ref()),
        )?;
        if let Value::List(list) = &value {
            at(node.span, self.budget.spend(list.items().len() as u64))?;
        }
        at(node.span, self.budget.admit(value))
    }

    fn call(&mut self, node: &Node, name: &Arc<str>, arguments: &[Node]) -> Evaluated {
        let arguments = self.all(arguments)?;
        match self.env.call(name, &arguments, self.in_template) {
            Some(Ok(value)) => Ok(value),
            Some(Err(why)) => Err(fault(node.span, format!("{name}(): {why}"))),
            None if self.env.has(name) => {
                let value = self.lookup(name, node.span)?;
                Err(fault(
                    node.span,
                    if value.is_nil() {
                        format!("{name} is nil; cannot call nil as function")
                    } else {
                        format!("{} is not callable", value.type_name())
                    },
                ))
            }
            None => {
                let hint = self.env.similar_function(name, self.in_template);
                let message = format!("unknown name {name}: there is no such function{hint}");
                Err(fault(node.span, message))
            }
        }
    }

    fn method(&mut self, node: &Node, method: &Method) -> Evaluated {
        let target = self.eval(&method.target)?;
        if target.is_nil() && method.optional {
            return Err(Stop::Nil);
        }
        let arguments = self.all(&method.arguments)?;
        access::method(&target, &method.name, &arguments).map_err(|message| {
            let message = if target.is_nil() {
                message + &self.explain_nil(&method.target)
            } else {
                message
            };
            fault(node.span, message)
        })
    }

    fn builtin(&mut self, node: &Node, builtin: &'static Builtin, nodes: &[Node]) -> Evaluated {
        match &builtin.shape {
            Shape::Predicate { run, .. } => run(self, node, nodes),
            Shape::Plain { run, .. } => {
                let arguments = self.all(nodes)?;
                let mut call = builtins::Call {
                    name: builtin.name,
                    arguments: &arguments,
                    env: self.env,
                    budget: &mut self.budget,
                };
                let size: u64 = arguments.iter().map(|a| a.measure().weight / 8).sum();
                at(node.span, call.budget.spend(size))?;
                let value = run(&mut call).map_err(|trouble| {
                    let argument = trouble.argument.and_then(|at| nodes.get(at));
                    fault(
                        argument.map_or(node.span, |node| node.span),
                        trouble.message,
                    )
                })?;
                at(node.span, self.budget.admit(value))
            }
        }
    }

    fn declaration(&mut self, name: &Arc<str>, [value, body]: &[Node; 2]) -> Evaluated {
        let value = self.eval(value)?;
        self.variables.push((name.clone(), value));
        let result = self.eval(body);
        self.variables.pop();
        result
    }

    fn sequence(&mut self, nodes: &[Node]) -> Evaluated {
        let mut last = Value::Nil;
        for node in nodes {
            last = self.eval(node)?;
        }
        Ok(last)
    }

    fn map(&mut self, node: &Node, pairs: &[[Node; 2]]) -> Evaluated {
        let mut entries = BTreeMap::new();
        for [key, value] in pairs {
            let key_value = self.eval(key)?;
            let Value::Str(key_text) = key_value else {
                return Err(fault(
                    key.span,
                    format!("a map key must be a string, not {}", key_value.type_name()),
                ));
            };
            let value = self.eval(value)?;
            // The first of equal keys stays, as in the original.
            entries.entry(Key::Str(key_text)).or_insert(value);
        }
        at(node.span, self.budget.map(MapKind::Named, entries))
    }
}

/// The dotted path of a chain of plain members, such as `outputs.push`.
fn path(node: &Node) -> Option<String> {
    match &node.kind {
        NodeKind::Ident(name) => Some(name.to_string()),
        NodeKind::Optional(inner) => path(inner),
        NodeKind::Member(member) => match &member.key.kind {
            NodeKind::Str(key) => Some(format!("{}.{key}", path(&member.target)?)),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn fault(span: Span, message: impl Into<String>) -> Stop {
    Stop::Fault(Box::new(Fault::new(span, message)))
}

/// Gives a message its place.
pub(super) fn at<T>(span: Span, result: Result<T, String>) -> Result<T, Stop> {
    result.map_err(|message| fault(span, message))
}
