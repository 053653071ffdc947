//! Objects in memory with their recent history, and the file that keeps them.
//!
//! One thread writes. It takes all requests that wait, decides each on the objects as the ones
//! before left them, commits them to the file together, and only then lets readers and watches see
//! them and answers: what anybody saw or was told is on disk.

mod file;
mod objects;
mod state;
mod writer;

pub use file::OpenError;
pub(crate) use file::{Disk, Loaded};
pub(crate) use objects::{Objects, Stored};
pub(crate) use state::{Event, HistoryLimits, State};
pub(crate) use writer::Store;
