//! Printing Promotions that were just made: names for scripts, or the objects.

use serde_json::Value;

use super::{Failure, args::Format, output};
use crate::kargo::Promotion;

/// Prints them.
pub fn print(made: &[Promotion], format: Format) -> Result<(), Failure> {
    let text = match format {
        Format::Json | Format::Yaml => {
            let items: Vec<Value> = made
                .iter()
                .filter_map(|promotion| serde_json::to_value(promotion).ok())
                .collect();
            output::document(&output::list(items), format)?
        }
        Format::Table | Format::Wide | Format::Name => made
            .iter()
            .map(|promotion| format!("promotion/{}\n", promotion.name()))
            .collect(),
    };
    output::print(&text)
}
