//! The API server inside the process, as its clients meet it. One test per behaviour that a real
//! cluster has and that something above relies on.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

mod driver;
mod lists;
mod objects;
mod people;
mod rules;
mod runtime;
mod sockets;
mod stores;
mod upkeep;
mod watches;
