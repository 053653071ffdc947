//! Pure decisions on Kargo objects; nothing here reads a clock, a file or a network.

pub mod rows;
