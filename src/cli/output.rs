//! Printing: aligned columns, and objects as a Kubernetes List in JSON or YAML.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::{Failure, args::Format, failure::Exit};

/// A table; cells of a row line up with the titles.
#[derive(Debug, Default)]
pub struct Table {
    titles: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these column titles.
    pub fn new(titles: &[&'static str]) -> Self {
        Self {
            titles: titles.to_vec(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; empty cells are printed as a dash, control characters visibly.
    pub fn row(&mut self, cells: Vec<String>) {
        let cell = |text: String| {
            if text.is_empty() {
                "-".to_owned()
            } else {
                visible(&text)
            }
        };
        self.rows.push(cells.into_iter().map(cell).collect());
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows that `other` has not, the column `aside` not compared.
    pub fn without(&self, other: &Self, aside: &str) -> Self {
        let aside = self.titles.iter().position(|title| *title == aside);
        let same = |a: &Vec<String>, b: &Vec<String>| {
            a.len() == b.len()
                && (a.iter().zip(b).enumerate())
                    .all(|(column, (a, b))| a == b || Some(column) == aside)
        };
        let fresh = |row: &&Vec<String>| !other.rows.iter().any(|old| same(row, old));
        Self {
            titles: self.titles.clone(),
            rows: self.rows.iter().filter(fresh).cloned().collect(),
        }
    }

    /// The lines, three spaces between columns as in kubectl.
    pub fn render(&self, headers: bool) -> String {
        let titles: Vec<String> = self
            .titles
            .iter()
            .map(|title| (*title).to_owned())
            .collect();
        let lines: Vec<&Vec<String>> = headers
            .then_some(&titles)
            .into_iter()
            .chain(&self.rows)
            .collect();
        let columns = self.titles.len();
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                lines
                    .iter()
                    .filter_map(|line| line.get(column))
                    .map(|cell| cell.width())
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let mut text = String::new();
        for line in lines {
            let mut out = String::new();
            for (cell, width) in line.iter().zip(&widths) {
                out.push_str(cell);
                out.push_str(&" ".repeat(width + 3 - cell.width()));
            }
            text.push_str(out.trim_end());
            text.push('\n');
        }
        text
    }
}

/// Control characters (escape sequences, newlines, tabs) as something that a terminal only shows.
pub fn visible(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\r' | '\t' => ' ',
            c if c.is_control() => char::REPLACEMENT_CHARACTER,
            c => c,
        })
        .collect()
}

/// The same for text of several lines, which keeps its lines and tabs.
pub fn visible_lines(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_control() && c != '\n' && c != '\t' {
                char::REPLACEMENT_CHARACTER
            } else {
                c
            }
        })
        .collect()
}

/// Writes to stdout; a reader that has gone (`| head`) is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(Exit::Failed, format!("cannot print: {error}")))
        }
        _ => Ok(()),
    }
}

/// `value` in JSON or YAML.
pub fn document<T: Serialize>(value: &T, format: Format) -> Result<String, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new(Exit::Failed, format!("cannot print the objects: {error}"))
    };
    if format == Format::Yaml {
        serde_saphyr::to_string(value).map_err(|error| failed(&error))
    } else {
        serde_json::to_string_pretty(value)
            .map(|text| text + "\n")
            .map_err(|error| failed(&error))
    }
}

/// Objects as the List that kubectl prints.
pub fn list(items: Vec<Value>) -> Value {
    json!({ "apiVersion": "v1", "kind": "List", "metadata": { "resourceVersion": "" }, "items": items })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_whatever_is_in_them() {
        let mut table = Table::new(&["NAME", "WHY"]);
        table.row(vec!["a".into(), "\u{1b}[31mred\nline".into()]);
        table.row(vec!["日本".into(), String::new()]);
        assert_eq!(
            table.render(true),
            "NAME   WHY\na      \u{fffd}[31mred line\n日本   -\n"
        );
        assert_eq!(
            table.render(false),
            "a      \u{fffd}[31mred line\n日本   -\n"
        );
    }
}
