//! The terminal: a pure function of state to a buffer, and the one loop that changes the state.
//!
//! [`message`] says all that goes in and out. `run` takes messages, `update` changes `state` (commands in `act`,
//! movement in `moves`, news in `feed`), `view` draws it: `screens/` under `dialogs/`, made of `widgets/`. What can be
//! done, with keys and help, is the one table in `commands`; what may be done now, and why not, is `verdict`, which
//! asks `crate::rules`. Called by `cli` alone; knows nothing of cluster, engine or git.

mod act;
mod clock;
pub mod commands;
mod dialogs;
mod feed;
mod index;
pub mod keymap;
mod layout;
pub mod message;
mod moves;
mod prompt;
mod run;
mod screens;
mod sort;
mod state;
mod subject;
mod table;
mod terminal;
mod text;
mod theme;
mod update;
mod verdict;
mod view;
mod watch;
mod widgets;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod tests;

pub use message::{Effect, Message};
pub use run::{ConsoleError, Exit, How, run, run_in_terminal};
pub use state::Context;
pub use terminal::Surface;
pub use theme::Theme;
