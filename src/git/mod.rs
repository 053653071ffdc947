//! Git without checkouts: objects through git2, network through the user's `git` command.
//!
//! Objects: [`id`], `path`, `objects`, `tree`, `commit`, `tag`, `rebase`, `diff`.
//! Network: [`command`], [`url`], [`credentials`], [`transport`], [`mirror`], [`counters`], and [`land`], the one queue per branch.
//! Nothing here knows Kubernetes or promotions beyond an opaque uid and step alias.

pub mod branch;
pub mod command;
pub mod commit;
pub mod counters;
pub mod credentials;
pub mod diff;
pub mod id;
pub mod land;
pub mod mirror;
pub mod objects;
pub mod path;
pub mod rebase;
mod redact;
pub mod tag;
pub mod transport;
pub mod tree;
pub mod url;
