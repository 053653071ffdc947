//! Git without checkouts: objects through git2, network through the user's `git` command.
//!
//! Objects: [`id`], `path`, `objects`, `tree`, `commit`, `rebase`, `diff`.
//! Network: `command`, `url`, `credentials`, `transport`, `mirror`, and `land`, the one queue per branch.
//! Nothing here knows Kubernetes or promotions beyond an opaque uid and step alias.

pub mod branch;
pub mod id;
pub mod commit;
pub mod diff;
pub mod objects;
pub mod path;
pub mod rebase;
pub mod tree;
