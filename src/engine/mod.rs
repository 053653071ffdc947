//! Running promotions: supervisor, runner, journal, replay, keeper, workspace.

pub mod step;
pub mod workspace;
