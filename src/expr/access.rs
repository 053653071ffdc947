//! Reading parts of values: members, indices, slices, methods.

use super::go::{dates, durations};
use super::ops;
use super::value::{Key, MapKind, Value};

/// `target[key]` and `target.key`. `Err` is the message.
pub(super) fn fetch(target: &Value, key: &Value) -> Result<Value, String> {
    match target {
        Value::Nil => Err(format!("cannot fetch {} from <nil>", named(key))),
        Value::List(list) => {
            let at = index(key, list.items().len())?;
            Ok(list.items().get(at).cloned().unwrap_or(Value::Nil))
        }
        Value::Str(text) => byte(text.as_bytes(), key),
        Value::Bytes(bytes) => byte(bytes, key),
        Value::Map(map) => {
            let key = map_key(map.kind(), key)?;
            Ok(map
                .entries()
                .get(&key)
                .cloned()
                .unwrap_or_else(|| map.missing()))
        }
        Value::Record(record) => match key {
            Value::Str(name) => record
                .get(name)
                .cloned()
                .ok_or_else(|| format!("{} has no field {name}", record.type_name)),
            other => Err(cannot_fetch(target, other)),
        },
        Value::Object(object) => key
            .as_str()
            .and_then(|name| object.field(name))
            .ok_or_else(|| cannot_fetch(target, key)),
        other => Err(cannot_fetch(other, key)),
    }
}

fn cannot_fetch(target: &Value, key: &Value) -> String {
    format!("cannot fetch {} from {}", named(key), target.type_name())
}

fn named(key: &Value) -> String {
    match key {
        Value::Str(text) => text.to_string(),
        Value::Int(number) => number.to_string(),
        other => format!("a {}", other.type_name()),
    }
}

pub(super) fn map_key(kind: MapKind, key: &Value) -> Result<Key, String> {
    match (kind, key) {
        // What is nothing is the zero value of the key's type.
        (MapKind::Named | MapKind::Texts, Value::Nil) => Ok(Key::Str("".into())),
        (MapKind::Keyed, other) => Key::from_value(other)
            .ok_or_else(|| format!("cannot use {} as a map key", other.type_name())),
        (_, Value::Str(text)) => Ok(Key::Str(text.clone())),
        (MapKind::Texts, other) => Err(format!(
            "cannot use {} to get an element from map[string]string",
            other.type_name()
        )),
        (MapKind::Named, other) => Err(format!(
            "cannot use {} to get an element from map[string]interface {{}}",
            other.type_name()
        )),
    }
}

fn index(key: &Value, length: usize) -> Result<usize, String> {
    let Some(asked) = ops::as_int(key) else {
        return Err(format!(
            "cannot use {} as an index of an array",
            key.type_name()
        ));
    };
    let count = i64::try_from(length).unwrap_or(i64::MAX);
    let at = if asked < 0 {
        count.saturating_add(asked)
    } else {
        asked
    };
    match usize::try_from(at) {
        Ok(at) if at < length => Ok(at),
        _ => Err(format!(
            "index out of range: {at} (array length is {length})"
        )),
    }
}

fn byte(bytes: &[u8], key: &Value) -> Result<Value, String> {
    let at = index(key, bytes.len())?;
    Ok(bytes
        .get(at)
        .map_or(Value::Nil, |byte| Value::Int(i64::from(*byte))))
}

/// `target[from:to]`; out of range is cut, as in the original. Text is cut by bytes.
pub(super) fn slice(
    target: &Value,
    from: Option<&Value>,
    to: Option<&Value>,
) -> Result<Value, String> {
    let length = match target {
        Value::List(list) => list.items().len(),
        Value::Str(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        other => return Err(format!("cannot slice {}", other.type_name())),
    };
    let to = bound(to, length, length)?;
    let from = bound(from, 0, length)?.min(to);
    Ok(match target {
        Value::List(list) => Value::list(list.items().get(from..to).unwrap_or_default().to_vec()),
        Value::Str(text) => {
            let bytes = text.as_bytes().get(from..to).unwrap_or_default();
            Value::from(String::from_utf8_lossy(bytes).into_owned())
        }
        Value::Bytes(bytes) => Value::Bytes(bytes.get(from..to).unwrap_or_default().into()),
        _ => Value::Nil,
    })
}

fn bound(asked: Option<&Value>, otherwise: usize, length: usize) -> Result<usize, String> {
    let Some(asked) = asked else {
        return Ok(otherwise);
    };
    let Some(number) = ops::as_int(asked) else {
        return Err(format!("non-integer slice index {}", asked.type_name()));
    };
    let count = i64::try_from(length).unwrap_or(i64::MAX);
    let at = if number < 0 {
        count.saturating_add(number)
    } else {
        number
    };
    Ok(usize::try_from(at.clamp(0, count)).unwrap_or(0))
}

/// `target.name(arguments)`. `Err` is the message.
pub(super) fn method(target: &Value, name: &str, arguments: &[Value]) -> Result<Value, String> {
    let answer = match (target, arguments) {
        (Value::Nil, _) => return Err(format!("cannot fetch {name} from <nil>")),
        (Value::Object(object), _) => object.call(name, arguments).transpose()?,
        (Value::Time(time), _) => time_method(time, name, arguments)?,
        (Value::Duration(length), []) => duration_method(*length, name),
        (Value::Duration(length), [Value::Duration(unit)]) => {
            durations::rounded(*length, *unit, name)
        }
        (Value::Zone(zone), []) if name == "String" => Some(dates::zone_name(zone).into()),
        _ => None,
    };
    answer.ok_or_else(|| format!("type {} has no method {name}", target.type_name()))
}

fn duration_method(length: i64, name: &str) -> Option<Value> {
    let float = ops::to_float(length);
    Some(match name {
        "Hours" => Value::Float(float / 3.6e12),
        "Minutes" => Value::Float(float / 6e10),
        "Seconds" => Value::Float(float / 1e9),
        "Milliseconds" => Value::Int(length / 1_000_000),
        "Microseconds" => Value::Int(length / 1_000),
        "Nanoseconds" => Value::Int(length),
        "Abs" => Value::Duration(length.saturating_abs()),
        "String" => durations::print(length).into(),
        _ => return None,
    })
}

/// `time.Time{}` in seconds since 1970.
const ZERO_TIME: i64 = -62_135_596_800;

fn time_method(
    time: &jiff::Zoned,
    name: &str,
    arguments: &[Value],
) -> Result<Option<Value>, String> {
    let beyond = || "the time is beyond the calendar".to_owned();
    Ok(Some(match (name, arguments) {
        ("Format", [Value::Str(layout)]) => dates::format(time, layout).into(),
        ("String", []) => dates::print(time).into(),
        ("Year", []) => Value::Int(i64::from(time.year())),
        ("Month", []) => dates::month(time.month()),
        ("Day", []) => Value::Int(i64::from(time.day())),
        ("Hour", []) => Value::Int(i64::from(time.hour())),
        ("Minute", []) => Value::Int(i64::from(time.minute())),
        ("Second", []) => Value::Int(i64::from(time.second())),
        ("Nanosecond", []) => Value::Int(i64::from(time.subsec_nanosecond())),
        ("YearDay", []) => Value::Int(i64::from(time.day_of_year())),
        ("Weekday", []) => dates::weekday(time.weekday()),
        ("ISOWeek", []) => Value::Int(i64::from(time.date().iso_week_date().year())),
        ("Unix", []) => Value::Int(time.timestamp().as_second()),
        ("UnixMilli", []) => Value::Int(time.timestamp().as_millisecond()),
        ("UnixMicro", []) => Value::Int(time.timestamp().as_microsecond()),
        ("UnixNano", []) => {
            Value::Int(i64::try_from(time.timestamp().as_nanosecond()).map_err(|_| beyond())?)
        }
        ("IsZero", []) => Value::Bool(time.timestamp().as_second() == ZERO_TIME),
        ("IsDST", []) => {
            let there = time.time_zone().to_offset_info(time.timestamp());
            Value::Bool(there.dst().is_dst())
        }
        ("Location", []) => Value::Zone(time.time_zone().clone()),
        ("Zone", []) => dates::format(time, "MST").into(),
        ("Local", []) => Value::Time(time.with_time_zone(jiff::tz::TimeZone::system()).into()),
        ("UTC", []) => Value::Time(time.with_time_zone(jiff::tz::TimeZone::UTC).into()),
        ("In", [Value::Zone(zone)]) => Value::Time(time.with_time_zone(zone.clone()).into()),
        ("Add", [Value::Duration(length)]) => {
            Value::Time(dates::shifted(time, *length).ok_or_else(beyond)?.into())
        }
        ("Truncate", [Value::Duration(length)]) => {
            let there = dates::rounded(time, *length, false);
            Value::Time(there.ok_or_else(beyond)?.into())
        }
        ("Round", [Value::Duration(length)]) => {
            let there = dates::rounded(time, *length, true);
            Value::Time(there.ok_or_else(beyond)?.into())
        }
        ("Compare", [Value::Time(other)]) => {
            Value::Int(time.timestamp().cmp(&other.timestamp()) as i64)
        }
        ("Sub", [Value::Time(other)]) => Value::Duration(dates::difference(time, other)),
        ("Before", [Value::Time(other)]) => Value::Bool(*time < **other),
        ("After", [Value::Time(other)]) => Value::Bool(*time > **other),
        ("Equal", [Value::Time(other)]) => Value::Bool(*time == **other),
        ("AddDate", [Value::Int(years), Value::Int(months), Value::Int(days)]) => {
            let there = dates::add_date(time, *years, *months, *days);
            Value::Time(there.ok_or_else(beyond)?.into())
        }
        _ => return Ok(None),
    }))
}
