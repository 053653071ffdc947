//! The expression language of `${{ }}`: our own reading of expr-lang 1.17 as Kargo uses it.
//!
//! | file | what it does |
//! | --- | --- |
//! | [`parse`], `lexer`, `parser`, `ast` | text to a tree, with limits so that no input can exhaust the stack |
//! | `check`, `simplify` | mistakes that show before anything runs, by the types of literals and functions; what needs no running |
//! | [`value`] | what an expression can see and give |
//! | `eval`, `ops`, `access` | running a tree within budgets of memory and steps |
//! | [`reading`] | what an expression mentions and may come to, without evaluating it |
//! | `builtins` | one table of the language's own functions |
//! | [`mod@env`], [`suggest`] | names, functions and hints that a caller supplies; which name was meant |
//! | [`show`] | a value as people and programs read it |
//! | [`template`] | `${{ }}` and `${% %}` inside strings and JSON, and how results get their type |
//! | [`kargo`] | Kargo's functions over plain data: `commitFrom`, `status`, `secret` and so on |
//! | `go` | how Go would write a value: JSON, `%v`, `%q`, YAML, dates |
//!
//! ```
//! use tidewaiter::expr::{Env, Value, template};
//!
//! let env = Env::new().with("tag", Value::from("2.3.1"));
//! let config = serde_json::json!({ "message": "bump to ${{ tag }}", "depth": "${{ 1 + 1 }}" });
//! let got = template::eval_json(&config, &env)?;
//! assert_eq!(got, serde_json::json!({ "message": "bump to 2.3.1", "depth": 2 }));
//! # Ok::<(), template::TemplateError>(())
//! ```
//!
//! What a promotion step sees is put together by [`kargo::Scope`].
//!
//! Pure: it knows nothing of Kubernetes, clocks are passed in, and live look-ups are a trait.
//! `engine` and `steps` call it.

pub mod env;
pub mod error;
pub mod kargo;
pub mod show;
pub mod suggest;
pub mod template;
pub mod value;

mod access;
mod ast;
mod builtins;
mod check;
mod conceal;
mod eval;
mod go;
mod lexer;
mod ops;
mod parser;
mod program;
pub mod reading;
mod simplify;

pub use env::{Env, Host, HostError};
pub use error::{EvalError, ParseError, Place, Span};
pub use go::print::quoted as go_quoted;
pub use program::{ExprError, Program, evaluate, parse};
pub use value::Value;

#[cfg(test)]
mod tests;
