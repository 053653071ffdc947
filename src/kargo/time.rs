//! Points in time as Kargo writes them: RFC 3339, UTC, whole seconds.

use std::fmt;

use jiff::Timestamp as Instant;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in time. Reads any RFC 3339 text (nanoseconds, offsets); writes whole seconds in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(pub Instant);

impl Timestamp {
    /// This moment, to the nanosecond.
    pub fn now() -> Self {
        Self(Instant::now())
    }

    /// Seconds since 1970, negative before.
    pub fn as_second(&self) -> i64 {
        self.0.as_second()
    }

    /// Time that passed from `self` to `later`; zero where clocks run the other way.
    pub fn until(&self, later: Self) -> std::time::Duration {
        std::time::Duration::try_from(later.0.duration_since(self.0)).unwrap_or_default()
    }

    /// This much later; the end of time where that overflows.
    pub fn plus(&self, span: std::time::Duration) -> Self {
        Self(self.0.checked_add(span).unwrap_or(Instant::MAX))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = Instant::from_second(self.0.as_second()).unwrap_or(self.0);
        write!(f, "{whole}")
    }
}

impl std::str::FromStr for Timestamp {
    type Err = jiff::Error;
    fn from_str(text: &str) -> Result<Self, jiff::Error> {
        text.parse().map(Self)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_fractions_and_offsets_and_writes_whole_seconds() {
        let read: Timestamp =
            serde_json::from_str("\"2026-08-21T12:00:00.123456789+05:30\"").unwrap();
        assert_eq!(
            serde_json::to_string(&read).unwrap(),
            "\"2026-08-21T06:30:00Z\""
        );
    }

    #[test]
    fn time_never_runs_backwards() {
        let (a, b) = (
            "2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap(),
            "2026-01-01T00:01:30Z".parse().unwrap(),
        );
        assert_eq!(a.until(b).as_secs(), 90);
        assert_eq!(b.until(a).as_secs(), 0);
    }
}
