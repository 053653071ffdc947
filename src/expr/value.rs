//! What an expression can see and give.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::Zoned;
use jiff::tz::TimeZone;

use super::go;

/// A value of the language. Cheap to clone: what is large is shared.
#[derive(Clone, Debug)]
pub enum Value {
    /// `nil`; also what unknown names and missing keys give.
    Nil,
    /// `true` or `false`.
    Bool(bool),
    /// Go's `int`.
    Int(i64),
    /// Go's `float64`.
    Float(f64),
    /// Text.
    Str(Arc<str>),
    /// `b"..."`; marshals as base64, as in Go.
    Bytes(Arc<[u8]>),
    /// An array.
    List(Arc<List>),
    /// A map with sorted keys.
    Map(Arc<Map>),
    /// A Go struct, with Go's field names.
    Record(Arc<Record>),
    /// `date(...)`, `now()`.
    Time(Arc<Zoned>),
    /// `duration(...)`, in nanoseconds.
    Duration(i64),
    /// `timezone(...)`.
    Zone(TimeZone),
    /// Anything with methods that the caller brings.
    Object(Arc<dyn Object>),
}

/// A host's value with methods, such as a parsed semantic version.
pub trait Object: fmt::Debug + Send + Sync {
    /// Go's name of the type, for messages.
    fn type_name(&self) -> &str;
    /// What `type()` gives.
    fn full_name(&self) -> &str {
        self.type_name()
    }
    /// Reads a field; `None` if there is none of that name.
    fn field(&self, _name: &str) -> Option<Value> {
        None
    }
    /// Calls a method; `None` if there is none of that name.
    fn call(&self, method: &str, arguments: &[Value]) -> Option<Result<Value, String>>;
    /// What Go's `json.Marshal` makes of it.
    fn marshal(&self) -> Value;
}

/// An array; knows how deep and heavy it is, so that nothing built by an expression gets out of hand.
#[derive(Debug)]
pub struct List {
    items: Vec<Value>,
    pub(super) measure: Measure,
}

/// Which keys a map has, and what a missing one reads as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKind {
    /// `map[string]any`.
    Named,
    /// `map[string]string`: a missing key reads as `""`. ConfigMaps and Secrets are these.
    Texts,
    /// `map[any]any`: what `groupBy` and `fromPairs` give.
    Keyed,
}

/// A map, sorted by key.
#[derive(Debug)]
pub struct Map {
    entries: BTreeMap<Key, Value>,
    kind: MapKind,
    pub(super) measure: Measure,
}

/// A key of a [`Map`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// `nil`.
    Nil,
    /// A bool.
    Bool(bool),
    /// An int.
    Int(i64),
    /// A float, by total order.
    Float(TotalFloat),
    /// Text.
    Str(Arc<str>),
}

/// A float with a total order, so that it can be a key.
#[derive(Clone, Copy, Debug)]
pub struct TotalFloat(pub f64);

impl PartialEq for TotalFloat {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for TotalFloat {}
impl PartialOrd for TotalFloat {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for TotalFloat {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// A Go struct as expressions see it: fields by Go name, marshalled by JSON name in this order.
#[derive(Debug)]
pub struct Record {
    /// Go's name of the type, such as `v1alpha1.GitCommit`.
    pub type_name: &'static str,
    /// In the order of the Go struct.
    pub fields: Vec<Field>,
}

/// One field of a [`Record`].
#[derive(Debug)]
pub struct Field {
    /// The name that expressions use.
    pub name: &'static str,
    /// The name in JSON.
    pub json: &'static str,
    /// Go's `omitempty`.
    pub omit_empty: bool,
    /// What it holds.
    pub value: Value,
}

impl Record {
    /// The field of that Go name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.fields
            .iter()
            .find(|field| field.name == name)
            .map(|field| &field.value)
    }
}

/// Nesting and size, counted with everything inside, shared parts as often as they are seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measure {
    pub depth: u32,
    pub weight: u64,
}

impl Measure {
    fn around<'v>(values: impl Iterator<Item = &'v Value>) -> Self {
        let mut measure = Self::default();
        for value in values {
            let inner = value.measure();
            measure.depth = measure.depth.max(inner.depth);
            measure.weight = measure.weight.saturating_add(inner.weight);
        }
        Self {
            depth: measure.depth.saturating_add(1),
            weight: measure.weight.saturating_add(1),
        }
    }
}

impl List {
    /// Takes the items as they are.
    pub fn new(items: Vec<Value>) -> Self {
        let measure = Measure::around(items.iter());
        Self { items, measure }
    }

    /// The items in order.
    pub fn items(&self) -> &[Value] {
        &self.items
    }
}

impl Map {
    /// Takes the entries as they are.
    pub fn new(kind: MapKind, entries: BTreeMap<Key, Value>) -> Self {
        let measure = Measure::around(entries.values());
        Self {
            entries,
            kind,
            measure,
        }
    }

    /// The entries, sorted by key.
    pub fn entries(&self) -> &BTreeMap<Key, Value> {
        &self.entries
    }

    /// Which keys it has.
    pub fn kind(&self) -> MapKind {
        self.kind
    }

    /// The value of a text key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.get(&Key::Str(key.into()))
    }

    /// What a missing key reads as.
    pub(super) fn missing(&self) -> Value {
        match self.kind {
            MapKind::Texts => Value::from(""),
            MapKind::Named | MapKind::Keyed => Value::Nil,
        }
    }
}

impl Key {
    /// The key as a value.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Nil => Value::Nil,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(value) => Value::Int(*value),
            Self::Float(value) => Value::Float(value.0),
            Self::Str(value) => Value::Str(value.clone()),
        }
    }

    /// The value as a key; `None` for what Go cannot hash or we do not key by.
    pub fn from_value(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Nil => Self::Nil,
            Value::Bool(value) => Self::Bool(*value),
            Value::Int(value) | Value::Duration(value) => Self::Int(*value),
            Value::Float(value) => Self::Float(TotalFloat(*value)),
            Value::Str(value) => Self::Str(value.clone()),
            _ => return None,
        })
    }
}

impl Value {
    /// An array of `items`.
    pub fn list(items: Vec<Value>) -> Self {
        Self::List(Arc::new(List::new(items)))
    }

    /// A `map[string]any`.
    pub fn map<K: Into<Arc<str>>>(entries: impl IntoIterator<Item = (K, Value)>) -> Self {
        Self::named_map(MapKind::Named, entries)
    }

    /// A `map[string]string`, where a missing key reads as `""`.
    pub fn texts<K: Into<Arc<str>>, V: Into<Value>>(
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        Self::named_map(
            MapKind::Texts,
            entries.into_iter().map(|(key, value)| (key, value.into())),
        )
    }

    fn named_map<K: Into<Arc<str>>>(
        kind: MapKind,
        entries: impl IntoIterator<Item = (K, Value)>,
    ) -> Self {
        let entries = entries
            .into_iter()
            .map(|(key, value)| (Key::Str(key.into()), value))
            .collect();
        Self::Map(Arc::new(Map::new(kind, entries)))
    }

    /// From JSON. Whole numbers become ints, which is friendlier than Go's "all floats":
    /// `string(outputs.pr.id)` of a large number stays readable.
    pub fn from_json(json: &serde_json::Value) -> Self {
        Self::decode(json, &|number| {
            number
                .as_i64()
                .map_or_else(|| Self::Float(as_float(number)), Self::Int)
        })
    }

    /// From JSON as Go decodes into `any`: every number is a float. What `fromJSON` gives.
    pub fn from_json_as_floats(json: &serde_json::Value) -> Self {
        Self::decode(json, &|number| Self::Float(as_float(number)))
    }

    fn decode(json: &serde_json::Value, number: &dyn Fn(&serde_json::Number) -> Value) -> Self {
        match json {
            serde_json::Value::Null => Self::Nil,
            serde_json::Value::Bool(value) => Self::Bool(*value),
            serde_json::Value::Number(value) => number(value),
            serde_json::Value::String(value) => Self::from(value.as_str()),
            serde_json::Value::Array(items) => Self::list(
                items
                    .iter()
                    .map(|item| Self::decode(item, number))
                    .collect(),
            ),
            serde_json::Value::Object(entries) => Self::map(
                entries
                    .iter()
                    .map(|(key, value)| (key.as_str(), Self::decode(value, number))),
            ),
        }
    }

    /// As Go's `json.Marshal` would write it, read back; maps of any keys too. Fails for NaN and infinities.
    pub fn to_json(&self) -> Result<serde_json::Value, String> {
        let text = go::json::any(self)?;
        go::json::read(&text)
    }

    /// Text as it is, anything else as Go's JSON: how a result is spliced into a template.
    pub fn to_text(&self) -> Result<String, String> {
        match self {
            Self::Str(text) => Ok(text.to_string()),
            other => go::json::compact(other),
        }
    }

    /// The text, if it is text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The bool, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// Whether it is `nil`.
    pub fn is_nil(&self) -> bool {
        matches!(self, Self::Nil)
    }

    /// Go's name of the type, for messages.
    pub fn type_name(&self) -> &str {
        match self {
            Self::Nil => "nil",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float64",
            Self::Str(_) => "string",
            Self::Bytes(_) => "[]uint8",
            Self::List(_) => "[]interface {}",
            Self::Map(map) => match map.kind {
                MapKind::Named => "map[string]interface {}",
                MapKind::Texts => "map[string]string",
                MapKind::Keyed => "map[interface {}]interface {}",
            },
            Self::Record(record) => record.type_name,
            Self::Time(_) => "time.Time",
            Self::Duration(_) => "time.Duration",
            Self::Zone(_) => "*time.Location",
            Self::Object(object) => object.type_name(),
        }
    }

    pub(super) fn measure(&self) -> Measure {
        match self {
            Self::List(list) => list.measure,
            Self::Map(map) => map.measure,
            Self::Str(text) => Measure {
                depth: 0,
                weight: 1 + text.len() as u64 / 8,
            },
            Self::Bytes(bytes) => Measure {
                depth: 0,
                weight: 1 + bytes.len() as u64 / 8,
            },
            _ => Measure {
                depth: 0,
                weight: 1,
            },
        }
    }
}

fn as_float(number: &serde_json::Number) -> f64 {
    number.as_f64().unwrap_or(f64::NAN)
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Str(text.into())
    }
}
impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Str(text.into())
    }
}
impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}
impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}
impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

/// Equal as the language's `==` sees it, but numbers count by value inside of maps too.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        super::ops::equal_throughout(self, other)
    }
}
