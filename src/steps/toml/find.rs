//! From a key to the value that it names.

use toml_edit::{Array, ArrayOfTables, Item, TableLike, Value};

use super::TomlError;

/// What a part of a key leads to.
#[derive(Clone, Copy)]
enum Place<'d> {
    Table(&'d dyn TableLike, &'static str),
    Tables(&'d ArrayOfTables),
    List(&'d Array),
    Scalar(&'d Value),
}

fn of_item(item: &Item) -> Option<Place<'_>> {
    match item {
        Item::None => None,
        Item::Value(value) => Some(of_value(value)),
        Item::Table(table) => Some(Place::Table(table, "Table")),
        Item::ArrayOfTables(tables) => Some(Place::Tables(tables)),
    }
}

fn of_value(value: &Value) -> Place<'_> {
    match value {
        Value::Array(list) => Place::List(list),
        Value::InlineTable(table) => Place::Table(table, "InlineTable"),
        scalar => Place::Scalar(scalar),
    }
}

/// Digits; not more than a place can have.
fn index(part: &str) -> Option<usize> {
    part.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| part.parse().ok())?
}

impl<'d> Place<'d> {
    fn below(self, part: &str) -> Result<Self, String> {
        match self {
            Self::Table(table, _) => table.get(part).and_then(of_item).ok_or_else(|| {
                let names: Vec<&str> = table.iter().map(|(name, _)| name).collect();
                match similar::get_close_matches(part, &names, 3, 0.6).as_slice() {
                    [] => format!("there is no {part}"),
                    near => format!("there is no {part}, but {}", near.join(", ")),
                }
            }),
            Self::Tables(tables) => match index(part) {
                Some(at) => match tables.get(at) {
                    Some(table) => Ok(Self::Table(table, "ArrayTable")),
                    None => Err(short(tables.len(), part)),
                },
                None => only(tables, part),
            },
            Self::List(list) => match index(part) {
                Some(at) => list
                    .get(at)
                    .map(of_value)
                    .ok_or_else(|| short(list.len(), part)),
                None => Err(format!("{part} is no place in a list: give digits")),
            },
            Self::Scalar(value) => Err(format!(
                "there is nothing below a value, which is {}",
                value.type_name()
            )),
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Table(_, kind) => kind,
            Self::Tables(_) => "ArrayTable",
            Self::List(_) => "Array",
            Self::Scalar(_) => "a scalar",
        }
    }
}

fn short(length: usize, part: &str) -> String {
    format!("the list has {length} items, so none at {part}")
}

/// `[[a]]` with `[a.b]` below it: Kargo calls that `a.b` and takes the last one; here it has to be the only one.
fn only<'d>(tables: &'d ArrayOfTables, part: &str) -> Result<Place<'d>, String> {
    let mut found = tables
        .iter()
        .filter_map(|table| table.get(part))
        .filter(|item| item.is_table() || item.is_array_of_tables());
    match (found.next().and_then(of_item), found.next()) {
        (Some(place), None) => Ok(place),
        (Some(_), Some(_)) => Err(format!(
            "several tables of the list have {part}: put the number of one before it, from 0"
        )),
        (None, _) => Err(format!(
            "{part} is no place in a list of tables: give digits, from 0"
        )),
    }
}

/// The scalar at `parts`.
pub fn scalar<'d>(root: &'d Item, key: &str, parts: &[String]) -> Result<&'d Value, TomlError> {
    let absent = |why: String| TomlError::Absent {
        key: key.to_owned(),
        why,
    };
    let mut place = of_item(root).ok_or_else(|| absent("the file is empty".into()))?;
    for part in parts {
        place = place.below(part).map_err(absent)?;
    }
    match place {
        Place::Scalar(value) => Ok(value),
        other => Err(TomlError::NotScalar {
            key: key.to_owned(),
            kind: other.kind(),
        }),
    }
}
