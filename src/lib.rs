//! tidewaiter meets Kargo Promotions: it shows them, lets people answer them, and runs them.
//!
//! Where to look:
//!
//! | folder | what it is for |
//! | --- | --- |
//! | [`kargo`] | Kargo's resources and our own, as Rust types; names, labels and annotations |
//! | [`rules`] | pure decisions on those types: queue order, availability, admission, quorum, why something waits |
//! | [`cluster`] | everything said to Kubernetes: connect, watch, act, identity, lease |
//! | [`local`] | the API server inside the process: routes, store, watches, patches, socket |
//! | [`git`] | objects (git2) and network (the `git` command): mirrors, trees, rebase, commit, landing |
//! | [`expr`] | the expression language of `${{ }}` |
//! | [`engine`] | running promotions: supervisor, runner, journal, replay, keeper, workspace |
//! | [`steps`] | one file per `uses`, and the registry |
//! | [`console`] | the terminal: app, screens, dialogs, widgets, keymap, theme |
//! | [`cli`] | one file per verb, and how results are printed |
//!
//! Arrows point down only: `kargo` ← `rules` ← {`cluster`, `engine`, `console`}; `git` and `expr` know
//! nothing of Kubernetes. `tests/architecture.rs` fails on a wrong arrow.
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        missing_docs
    )
)]

pub mod cli;
pub mod cluster;
pub mod config;
pub mod console;
pub mod engine;
pub mod expr;
pub mod git;
pub mod kargo;
pub mod local;
pub mod rules;
pub mod steps;
pub mod telemetry;
