//! Running promotions: supervisor, runner, journal, replay, keeper, workspace.

pub mod journal;
pub mod port;
pub mod step;
pub mod workspace;
