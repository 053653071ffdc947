//! How Go writes and reads plain values; Kargo's users see these forms, so ours must be the same.

pub(super) mod dates;
pub(super) mod durations;
pub(super) mod json;
pub(super) mod numbers;
pub(super) mod pattern;
pub(super) mod print;
pub(super) mod yaml;
