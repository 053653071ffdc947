//! A value as people and programs read it, whatever it is: here even NaN has a form.

use serde_json::{Map as Entries, Number, Value as Json, json};

use super::go::{dates, json as go_json, numbers, print};
use super::value::Value;

/// What kind of value it is, in one word: `int`, `float`, `string`, `bool`, `list`, `map`, `nil`, `time`, `duration`.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Nil => "nil",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int",
        Value::Float(_) => "float",
        Value::Str(_) | Value::Zone(_) => "string",
        Value::Bytes(_) | Value::List(_) => "list",
        Value::Map(_) | Value::Record(_) => "map",
        Value::Time(_) => "time",
        Value::Duration(_) => "duration",
        Value::Object(object) => kind(&object.marshal()),
    }
}

/// As JSON. Durations are nanoseconds and times RFC 3339, as Go writes them; what JSON has no number for is the text
/// `NaN`, `+Inf` or `-Inf`; bytes are a list of numbers; keys that are no text are printed.
pub fn json(value: &Value) -> Json {
    match value {
        Value::Nil => Json::Null,
        Value::Bool(flag) => Json::Bool(*flag),
        Value::Int(number) | Value::Duration(number) => Json::from(*number),
        Value::Float(number) => float(*number),
        Value::Str(text) => Json::from(&**text),
        Value::Bytes(bytes) => json!(&**bytes),
        Value::List(list) => list.items().iter().map(json).collect(),
        Value::Map(map) => {
            let entries = map.entries().iter();
            let pairs = entries.map(|(key, value)| (print::plain(&key.to_value()), json(value)));
            Json::Object(pairs.collect())
        }
        Value::Record(record) => {
            let fields = record.fields.iter();
            let pairs: Entries<String, Json> = fields
                .map(|field| (field.name.to_owned(), json(&field.value)))
                .collect();
            Json::Object(pairs)
        }
        Value::Time(time) => Json::from(dates::rfc3339(time)),
        Value::Zone(zone) => Json::from(dates::zone_name(zone)),
        Value::Object(object) => json(&object.marshal()),
    }
}

fn float(number: f64) -> Json {
    // Go writes a whole one without a fraction; only this one would lose something by that.
    if number == 0.0 && number.is_sign_negative() {
        return Number::from_f64(number).map_or(Json::Null, Json::Number);
    }
    go_json::number(number).map_or_else(|| Json::from(numbers::print_float(number)), Json::Number)
}

/// As text: a string as it is, lists and maps as indented JSON, anything else as Go prints it.
pub fn text(value: &Value) -> String {
    match value {
        Value::Nil => "nil".to_owned(),
        Value::Bytes(_) | Value::List(_) | Value::Map(_) | Value::Record(_) => {
            let shown = json(value);
            serde_json::to_string_pretty(&shown).unwrap_or_else(|_| shown.to_string())
        }
        Value::Time(time) => dates::rfc3339(time),
        Value::Object(object) => text(&object.marshal()),
        other => print::plain(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{Env, evaluate};

    #[test]
    fn every_kind_of_value_has_a_word_and_two_forms() {
        for (source, word, as_json, as_text) in [
            ("nil", "nil", "null", "nil"),
            ("1", "int", "1", "1"),
            ("1.0", "float", "1", "1"),
            ("1e21", "float", "1e+21", "1e+21"),
            ("0.1", "float", "0.1", "0.1"),
            ("0 / 0", "float", "\"NaN\"", "NaN"),
            ("1 / 0", "float", "\"+Inf\"", "+Inf"),
            ("-1 / 0", "float", "\"-Inf\"", "-Inf"),
            ("-0.0", "float", "-0.0", "-0"),
            ("'a\\nb'", "string", "\"a\\nb\"", "a\nb"),
            ("true", "bool", "true", "true"),
            ("[1, 0 / 0]", "list", "[1,\"NaN\"]", "[\n  1,\n  \"NaN\"\n]"),
            ("{'<': 1}", "map", "{\"<\":1}", "{\n  \"<\": 1\n}"),
            ("duration('90s')", "duration", "90000000000", "1m30s"),
            (
                "date('2026-01-02T03:04:05.5Z')",
                "time",
                "\"2026-01-02T03:04:05.5Z\"",
                "2026-01-02T03:04:05.5Z",
            ),
            ("timezone('UTC')", "string", "\"UTC\"", "UTC"),
            ("b'ab'", "list", "[97,98]", "[\n  97,\n  98\n]"),
            (
                "groupBy([1, 1], #)",
                "map",
                "{\"1\":[1,1]}",
                "{\n  \"1\": [\n    1,\n    1\n  ]\n}",
            ),
        ] {
            let value = evaluate(source, &Env::new()).unwrap();
            assert_eq!(kind(&value), word, "{source}");
            assert_eq!(json(&value).to_string(), as_json, "{source}");
            assert_eq!(text(&value), as_text, "{source}");
        }
    }
}
