//! Pure decisions on Kargo objects: nothing here reads a clock, a file or a network, and only `kargo` is imported.
//!
//! Whether Freight may go to a Stage is `availability`, whose turn it is `queue`, whether an answer counts `approval`,
//! what a person may do `permissions`, why something waits `why`, what a server makes of a write `admission`.

pub mod admission;
pub mod approval;
pub mod auto_promotion;
pub mod availability;
pub mod durations;
pub mod freight_diff;
pub mod freight_name;
pub mod names;
pub mod permissions;
pub mod pipeline;
pub mod queue;
pub mod retry;
pub mod rows;
pub mod template;
pub mod who;
pub mod why;
