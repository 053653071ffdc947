//! What the steps that run Helm share: charts as files, and their dependencies.

pub mod chart;
pub mod dependencies;

/// One value in a flag whose values Helm separates by commas.
pub fn listed(value: &str) -> String {
    if value.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", value.replace('"', "\"\""))
    } else {
        value.to_owned()
    }
}
