//! Dates, durations and time zones.

use jiff::tz::TimeZone;

use super::super::go::{dates, durations};
use super::super::value::Value;
use super::{Call, Trouble};

type Given = Result<Value, Trouble>;

pub(super) fn now(call: &mut Call<'_, '_>) -> Given {
    let zone = match call.arguments {
        [] => None,
        [Value::Zone(zone)] => Some(zone.clone()),
        _ => {
            return Err(format!(
                "invalid number of arguments (expected 0, got {})",
                call.arguments.len()
            )
            .into());
        }
    };
    let now = call.env.now().ok_or("the time is not known here")?;
    Ok(Value::Time(match zone {
        Some(zone) => now.with_time_zone(zone).into(),
        None => now.clone().into(),
    }))
}

pub(super) fn duration(call: &mut Call<'_, '_>) -> Given {
    Ok(Value::Duration(durations::parse(call.text(0)?)?))
}

pub(super) fn timezone(call: &mut Call<'_, '_>) -> Given {
    Ok(Value::Zone(dates::zone(call.text(0)?)?))
}

/// `date([zone,] text [, layout [, zone name]])`.
pub(super) fn date(call: &mut Call<'_, '_>) -> Given {
    let (zone, arguments) = match call.arguments {
        [Value::Zone(zone), rest @ ..] => (zone.clone(), rest),
        all => (TimeZone::UTC, all),
    };
    let mut texts = Vec::with_capacity(arguments.len());
    for argument in arguments {
        match argument {
            Value::Str(text) => texts.push(&**text),
            Value::Nil => return Err("interface {} is nil, not string".into()),
            other => {
                return Err(format!("interface {{}} is {}, not string", other.type_name()).into());
            }
        }
    }
    let time = match texts.as_slice() {
        [text] => dates::USUAL_LAYOUTS
            .iter()
            .find_map(|layout| dates::parse(text, layout, &zone).ok())
            .ok_or_else(|| format!("invalid date {text}"))?,
        [text, layout] => dates::parse(text, layout, &zone)?,
        [text, layout, zone_name] => dates::parse(text, layout, &dates::zone(zone_name)?)?,
        _ => {
            return Err(format!(
                "invalid number of arguments (expected at most 3, got {})",
                texts.len()
            )
            .into());
        }
    };
    Ok(Value::Time(time.into()))
}
