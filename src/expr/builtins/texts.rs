//! Functions on text.

use super::super::value::Value;
use super::{Call, Trouble};

type Given = Result<Value, Trouble>;

/// Longest text that one repetition may make, as in the original.
const MOST_REPEATS: i64 = 1_000_000;

pub(super) fn trim(call: &mut Call<'_, '_>) -> Given {
    let text = call.text(0)?;
    if call.given(1).is_none() {
        return Ok(Value::from(text.trim()));
    }
    let set = call.text(1)?;
    Ok(Value::from(text.trim_matches(|c| set.contains(c))))
}

fn affix<'c>(call: &Call<'c, '_>) -> Result<&'c str, Trouble> {
    match call.given(1) {
        Some(_) => call.text(1),
        None => Ok(" "),
    }
}

pub(super) fn trim_prefix(call: &mut Call<'_, '_>) -> Given {
    let text = call.text(0)?;
    let prefix = affix(call)?;
    Ok(Value::from(text.strip_prefix(prefix).unwrap_or(text)))
}

pub(super) fn trim_suffix(call: &mut Call<'_, '_>) -> Given {
    let text = call.text(0)?;
    let suffix = affix(call)?;
    Ok(Value::from(text.strip_suffix(suffix).unwrap_or(text)))
}

pub(super) fn upper(call: &mut Call<'_, '_>) -> Given {
    let text = call.text(0)?;
    Ok(Value::from(
        text.chars().map(upper_char).collect::<String>(),
    ))
}

/// Go maps character by character: what has no single counterpart stays, as `ß` does.
fn upper_char(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(single), None) => single,
        _ => title_char(c).unwrap_or(c),
    }
}

/// Greek letters with an iota below: their capitals are single characters with the iota beside.
fn title_char(c: char) -> Option<char> {
    let distance = match u32::from(c) {
        0x1f80..=0x1f87 | 0x1f90..=0x1f97 | 0x1fa0..=0x1fa7 => 8,
        0x1fb3 | 0x1fc3 | 0x1ff3 => 9,
        _ => return None,
    };
    char::from_u32(u32::from(c) + distance)
}

pub(super) fn lower(call: &mut Call<'_, '_>) -> Given {
    let text = call.text(0)?;
    let lower = |c: char| c.to_lowercase().next().unwrap_or(c);
    Ok(Value::from(text.chars().map(lower).collect::<String>()))
}

pub(super) fn split(call: &mut Call<'_, '_>) -> Given {
    pieces(call, false)
}

pub(super) fn split_after(call: &mut Call<'_, '_>) -> Given {
    pieces(call, true)
}

/// At most `limit` pieces, the last being the rest; an empty separator splits into characters.
fn pieces(call: &mut Call<'_, '_>, keep: bool) -> Given {
    let text = call.text(0)?;
    let separator = call.text(1)?;
    let limit = match call.given(2) {
        Some(_) => call.whole(2)?,
        None => -1,
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut parts: Vec<Value> = Vec::new();
    let mut rest = text;
    while parts.len() + 1 < limit && !(separator.is_empty() && rest.is_empty()) {
        let found = if separator.is_empty() {
            rest.chars().next().map(|c| (c.len_utf8(), c.len_utf8()))
        } else {
            rest.find(separator).map(|start| {
                (
                    if keep { start + separator.len() } else { start },
                    start + separator.len(),
                )
            })
        };
        let Some((piece_end, next)) = found else {
            break;
        };
        if !call.budget.can_grow(parts.len()) {
            return Err("memory budget exceeded".into());
        }
        parts.push(Value::from(rest.get(..piece_end).unwrap_or_default()));
        rest = rest.get(next..).unwrap_or_default();
    }
    if limit > 0 && !(separator.is_empty() && rest.is_empty()) {
        parts.push(Value::from(rest));
    }
    Ok(call.budget.list(parts)?)
}

pub(super) fn replace(call: &mut Call<'_, '_>) -> Given {
    let text = call.text(0)?;
    let (old, new) = (call.text(1)?, call.text(2)?);
    let count = match call.given(3) {
        Some(_) => usize::try_from(call.whole(3)?).unwrap_or(usize::MAX),
        None => usize::MAX,
    };
    let found = text.matches(old).take(count).count();
    call.budget.spend((text.len() + found) as u64)?;
    call.budget.grow(found.saturating_mul(new.len()) / 8)?;
    Ok(Value::from(text.replacen(old, new, count)))
}

pub(super) fn repeat(call: &mut Call<'_, '_>) -> Given {
    let text = call.text(0)?;
    let times = call.whole(1)?;
    if times > MOST_REPEATS {
        return Err("memory budget exceeded".into());
    }
    let times = usize::try_from(times).map_err(|_| {
        format!("invalid argument for repeat (expected positive integer, got {times})")
    })?;
    call.budget.grow(text.len().saturating_mul(times))?;
    Ok(Value::from(text.repeat(times)))
}

pub(super) fn join(call: &mut Call<'_, '_>) -> Given {
    let glue = match call.given(1) {
        Some(_) => call.text(1)?,
        None => "",
    };
    let Value::List(list) = call.argument(0) else {
        return Err(call.invalid(call.argument(0)));
    };
    let mut texts = Vec::with_capacity(list.items().len());
    let mut size = 0_usize;
    for item in list.items() {
        let Value::Str(text) = item else {
            return Err(format!("cannot join {}: only strings", item.type_name()).into());
        };
        size = size.saturating_add(text.len()).saturating_add(glue.len());
        texts.push(&**text);
    }
    call.budget.grow(size / 8)?;
    Ok(Value::from(texts.join(glue)))
}

/// In bytes, -1 if absent.
fn position(at: Option<usize>) -> Value {
    Value::Int(at.and_then(|at| i64::try_from(at).ok()).unwrap_or(-1))
}

pub(super) fn index_of(call: &mut Call<'_, '_>) -> Given {
    Ok(position(call.text(0)?.find(call.text(1)?)))
}

pub(super) fn last_index_of(call: &mut Call<'_, '_>) -> Given {
    Ok(position(call.text(0)?.rfind(call.text(1)?)))
}

pub(super) fn has_prefix(call: &mut Call<'_, '_>) -> Given {
    Ok(Value::Bool(call.text(0)?.starts_with(call.text(1)?)))
}

pub(super) fn has_suffix(call: &mut Call<'_, '_>) -> Given {
    Ok(Value::Bool(call.text(0)?.ends_with(call.text(1)?)))
}
