//! A parsed expression, ready to be evaluated any number of times.

use super::ast::Node;
use super::check;
use super::env::Env;
use super::error::{EvalError, ParseError, Place};
use super::eval::Machine;
use super::parser;
use super::simplify::simplify;
use super::value::Value;

/// One parsed expression.
#[derive(Debug)]
pub struct Program {
    source: String,
    root: Node,
}

/// Why an expression gave no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExprError {
    /// It is not an expression.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// It is one, but failed on these values.
    #[error(transparent)]
    Eval(#[from] EvalError),
}

/// Parses an expression (without delimiters). Fails also for what is nested or sized beyond reason.
pub fn parse(source: &str) -> Result<Program, ParseError> {
    let mut root = parser::parse(source)
        .and_then(|root| check::check(source, &root).map(|()| root))
        .map_err(|fault| ParseError {
            place: Place::of(source, fault.span),
            span: fault.span,
            message: fault.message,
        })?;
    simplify(&mut root);
    Ok(Program {
        source: source.to_owned(),
        root,
    })
}

/// Parses and evaluates in one go; for the raw expressions of `http`, `*-parse` and `compose-output`.
pub fn evaluate(source: &str, env: &Env<'_>) -> Result<Value, ExprError> {
    Ok(parse(source)?.eval(env)?)
}

impl Program {
    /// The text that was parsed.
    pub fn source(&self) -> &str {
        &self.source
    }

    pub(super) fn root(&self) -> &Node {
        &self.root
    }

    /// Evaluates within the budgets of memory and steps.
    pub fn eval(&self, env: &Env<'_>) -> Result<Value, EvalError> {
        self.run(Machine::new(env, &self.source))
    }

    /// The same with the functions that only templates have: `quote` and so on.
    pub fn eval_in_template(&self, env: &Env<'_>) -> Result<Value, EvalError> {
        self.run(Machine::new(env, &self.source).in_template())
    }

    fn run(&self, machine: Machine<'_>) -> Result<Value, EvalError> {
        machine.run(&self.root).map_err(|fault| EvalError {
            place: Place::of(&self.source, fault.span),
            span: fault.span,
            message: fault.message,
        })
    }
}
