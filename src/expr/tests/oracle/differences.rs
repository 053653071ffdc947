//! Where we differ from the original engine, and why ours is right.

/// In `language.json`.
pub(super) const LANGUAGE: &[(&str, &str)] = &[];

/// In `generated.json`.
pub(super) const GENERATED: &[(&str, &str)] = &[];
