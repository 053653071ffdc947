//! What `get` shows, before it is text, so that `-w` can tell what is new in it.

use std::fmt::Write;

use serde_json::Value;

use super::{
    super::output::{self, Table},
    Failure, Format, Get,
};

/// One look at one noun.
#[derive(Debug)]
pub(super) enum Shown {
    /// Rows in columns.
    Table(Table),
    /// `kind/name` lines.
    Names(Vec<String>),
    /// Stored objects.
    Objects(Vec<Value>),
}

impl Shown {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Table(table) => table.is_empty(),
            Self::Names(names) => names.is_empty(),
            Self::Objects(objects) => objects.is_empty(),
        }
    }

    /// The text of a single look: objects as one List, or alone where one was named.
    pub fn render(&self, args: &Get) -> Result<String, Failure> {
        match self {
            Self::Table(table) => Ok(table.render(!args.no_headers)),
            Self::Names(names) => Ok(names.iter().map(|name| format!("{name}\n")).collect()),
            Self::Objects(objects) => match (args.name.is_some(), objects.as_slice()) {
                (true, [only]) => output::document(only, args.output),
                _ => output::document(&output::list(objects.clone()), args.output),
            },
        }
    }

    /// The text of what is in this look and was not in `before`, ages aside: rows, or objects one by one.
    pub fn news(&self, before: Option<&Self>, args: &Get) -> Result<String, Failure> {
        match (self, before) {
            (Self::Table(table), Some(Self::Table(before))) => {
                Ok(table.without(before, "AGE").render(false))
            }
            (Self::Names(names), before) => {
                let known = |name| matches!(before, Some(Self::Names(old)) if old.contains(name));
                let fresh = names.iter().filter(|name| !known(name));
                Ok(fresh.map(|name| format!("{name}\n")).collect())
            }
            (Self::Objects(objects), before) => {
                let known =
                    |value| matches!(before, Some(Self::Objects(old)) if old.contains(value));
                let mut text = String::new();
                for object in objects.iter().filter(|object| !known(object)) {
                    if args.output == Format::Yaml {
                        text.push_str("---\n");
                    }
                    let _ = write!(text, "{}", output::document(object, args.output)?);
                }
                Ok(text)
            }
            (Self::Table(table), _) => Ok(table.render(!args.no_headers)),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::json;

    use super::{
        super::super::args::{Cli, Verb},
        *,
    };

    fn args(more: &[&str]) -> Get {
        let words = ["tidewaiter", "get", "promotions"].iter().chain(more);
        match Cli::try_parse_from(words).unwrap().verb {
            Some(Verb::Get(get)) => get,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_older_row_is_no_news_but_a_changed_one_is() {
        let table = |age: &str, phase: &str| {
            let mut table = Table::new(&["NAME", "AGE", "PHASE"]);
            table.row(vec!["a".into(), age.into(), "x".into()]);
            table.row(vec!["b".into(), age.into(), phase.into()]);
            Shown::Table(table)
        };
        let (first, second) = (table("1s", "Running"), table("100s", "Succeeded"));
        assert_eq!(
            second.news(Some(&first), &args(&[])).unwrap(),
            "b   100s   Succeeded\n"
        );
        assert!(first.news(None, &args(&[])).unwrap().starts_with("NAME"));
    }

    #[test]
    fn changed_objects_come_one_by_one() {
        let before = Shown::Objects(vec![json!({"a": 1}), json!({"b": 1})]);
        let now = Shown::Objects(vec![json!({"a": 1}), json!({"b": 2})]);
        let text = now.news(Some(&before), &args(&["-o", "json"])).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&text).unwrap(),
            json!({"b": 2})
        );
    }
}
