//! Everything said to Kubernetes: connect, find, watch, act, identity, lease.
//!
//! The only folder besides `local` that holds a `kube::Client`. The same code serves a real cluster and the local
//! one: they differ in how [`connect()`] makes the client.

pub mod access;
pub mod act;
pub mod answer;
pub mod apply;
pub mod connect;
pub mod error;
pub mod find;
pub mod lease;
pub mod limit;
pub mod people;
pub mod port;
pub mod template;
pub mod watch;

pub use connect::{Connection, Setting, Target, connect};
pub use error::{Error, Kind};
