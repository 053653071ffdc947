//! `toml-parse`: takes outputs from a TOML file.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::tz::TimeZone;
use serde_json::Value;
use toml_edit::{Datetime, Item, Offset, TableLike, Value as TomlValue};

use super::{parse, schema::Shape, toml};
use crate::{
    engine::step::{Class, Outcome, Step, StepCx, StepError},
    expr,
    kargo::StepKind,
};

/// See the module.
pub struct TomlParse;

#[async_trait]
impl Step for TomlParse {
    fn kind(&self) -> StepKind {
        "toml-parse".into()
    }

    fn class(&self) -> Class {
        Class::Workspace
    }

    fn shape(&self) -> Shape {
        parse::shape()
    }

    async fn run(&self, cx: StepCx<'_>, config: &Value) -> Result<Outcome, StepError> {
        parse::run(cx, config, "TOML", read).await
    }
}

/// A text as Go decodes it; dates without an offset, which Go keeps as structs of its own, are texts here.
pub fn read(text: &str) -> Result<expr::Value, String> {
    let document = toml::read(text).map_err(|error| error.to_string())?;
    Ok(of_table(document.as_table()))
}

fn of_table(table: &dyn TableLike) -> expr::Value {
    expr::Value::map(
        table
            .iter()
            .map(|(key, item)| (key.to_owned(), of_item(item))),
    )
}

fn of_item(item: &Item) -> expr::Value {
    match item {
        Item::None => expr::Value::Nil,
        Item::Value(value) => of_value(value),
        Item::Table(table) => of_table(table),
        Item::ArrayOfTables(tables) => {
            expr::Value::list(tables.iter().map(|table| of_table(table)).collect())
        }
    }
}

fn of_value(value: &TomlValue) -> expr::Value {
    match value {
        TomlValue::String(text) => expr::Value::from(text.value().as_str()),
        TomlValue::Integer(number) => expr::Value::Int(*number.value()),
        TomlValue::Float(number) => expr::Value::Float(*number.value()),
        TomlValue::Boolean(flag) => expr::Value::Bool(*flag.value()),
        TomlValue::Datetime(date) => of_date(date.value()),
        TomlValue::Array(list) => expr::Value::list(list.iter().map(of_value).collect()),
        TomlValue::InlineTable(table) => of_table(table),
    }
}

/// A moment where there is an offset.
fn of_date(date: &Datetime) -> expr::Value {
    let text = date.to_string();
    let zone = date.offset.and_then(|offset| match offset {
        Offset::Z => Some(TimeZone::UTC),
        Offset::Custom { minutes } => jiff::tz::Offset::from_seconds(i32::from(minutes) * 60)
            .ok()
            .map(TimeZone::fixed),
    });
    let moment = text.parse::<jiff::Timestamp>();
    match (zone, moment) {
        (Some(zone), Ok(moment)) => expr::Value::Time(Arc::new(moment.to_zoned(zone))),
        _ => expr::Value::from(text),
    }
}
