//! Setting values by key.

use std::{collections::BTreeMap, ops::Range};

use super::{TomlError, find::scalar, key, read, write};
use crate::steps::updates::Update;

/// Sets every value; of several for one place the last counts. An error means that nothing was done.
pub fn set(text: &str, updates: &[Update]) -> Result<String, TomlError> {
    let document = read(text)?;
    let mut changes: BTreeMap<usize, (Range<usize>, String)> = BTreeMap::new();
    for update in updates {
        let key = &update.key;
        let parts = key::split(key)?;
        let old = scalar(document.as_item(), key, &parts)?;
        // Every value of a file that was read has its place.
        let unplaced = || TomlError::Unproved(key.clone());
        let bytes = old.span().ok_or_else(unplaced)?;
        let there = text.get(bytes.clone()).ok_or_else(unplaced)?;
        let new = write::replacing(&update.value, old, there).map_err(|why| TomlError::Value {
            key: key.clone(),
            why,
        })?;
        if write::reads_as(old, &update.value) {
            changes.remove(&bytes.start);
        } else {
            changes.insert(bytes.start, (bytes, new));
        }
    }
    if changes.is_empty() {
        return Ok(text.to_owned());
    }
    let after = splice(text, changes.into_values());
    prove(&after, updates)?;
    Ok(after)
}

fn splice(text: &str, changes: impl Iterator<Item = (Range<usize>, String)>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (bytes, new) in changes {
        out.push_str(text.get(done..bytes.start).unwrap_or(""));
        out.push_str(&new);
        done = bytes.end;
    }
    out.push_str(text.get(done..).unwrap_or(""));
    out
}

/// Whether each place reads as the last value given for it.
fn prove(after: &str, updates: &[Update]) -> Result<(), TomlError> {
    let unproved = |update: &Update| TomlError::Unproved(update.key.clone());
    let Some(first) = updates.first() else {
        return Ok(());
    };
    let document = read(after).map_err(|_| unproved(first))?;
    let mut last = BTreeMap::new();
    for update in updates {
        let found = scalar(document.as_item(), &update.key, &key::split(&update.key)?)
            .map_err(|_| unproved(update))?;
        let place = found.span().map_or(0, |span| span.start);
        last.insert(
            place,
            write::reads_as(found, &update.value)
                .then_some(update)
                .ok_or(update),
        );
    }
    match last.into_values().find_map(Result::err) {
        Some(update) => Err(unproved(update)),
        None => Ok(()),
    }
}
