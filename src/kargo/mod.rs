//! Kargo's resources and ours as Rust types, with their names, labels and annotations.
