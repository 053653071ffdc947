//! Running promotions: supervisor, runner, journal, replay, keeper, workspace.

pub mod workspace;
