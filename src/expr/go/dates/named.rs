//! `time.Month` and `time.Weekday`: numbers that print as names.

use std::sync::Arc;

use super::super::super::value::{Object, Value};
use super::{DAYS, MONTHS};

#[derive(Debug)]
struct Named {
    go_type: &'static str,
    number: i64,
    name: &'static str,
}

/// `Time.Month`, 1 being January.
pub(in super::super::super) fn month(number: i8) -> Value {
    let name = usize::try_from(number - 1)
        .ok()
        .and_then(|at| MONTHS.get(at));
    named("time.Month", i64::from(number), name)
}

/// `Time.Weekday`, 0 being Sunday.
pub(in super::super::super) fn weekday(day: jiff::civil::Weekday) -> Value {
    let name = usize::try_from(day.to_monday_zero_offset()).ok();
    let name = name.and_then(|at| DAYS.get(at));
    named("time.Weekday", i64::from(day.to_sunday_zero_offset()), name)
}

fn named(go_type: &'static str, number: i64, name: Option<&&'static str>) -> Value {
    Value::Object(Arc::new(Named {
        go_type,
        number,
        name: name.copied().unwrap_or_default(),
    }))
}

impl Object for Named {
    fn type_name(&self) -> &str {
        self.go_type
    }

    fn call(&self, method: &str, arguments: &[Value]) -> Option<Result<Value, String>> {
        (method == "String" && arguments.is_empty()).then(|| Ok(Value::from(self.name)))
    }

    fn marshal(&self) -> Value {
        Value::Int(self.number)
    }
}
