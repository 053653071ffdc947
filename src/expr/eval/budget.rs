//! What an evaluation may spend before it is ended.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::value::{Key, List, Map, MapKind, Value};

/// The original's default: elements created by ranges, arrays, maps and the list functions.
const MEMORY: u64 = 1_000_000;
/// Nodes evaluated and elements touched; about a second of work.
const STEPS: u64 = 20_000_000;
/// Elements and eighths of bytes inside one value, shared parts counted each time they are seen.
const WEIGHT: u64 = 4_000_000;
/// Bytes of text made by one evaluation, kept or not.
const TEXT: u64 = 64 << 20;
/// Levels inside one value; more could not be walked on a small stack.
const NESTING: u32 = 200;
/// What is left to spend.
pub(in super::super) struct Budget {
    memory: u64,
    steps: u64,
    text: u64,
}

impl Budget {
    pub fn new() -> Self {
        Self {
            memory: MEMORY,
            steps: STEPS,
            text: TEXT,
        }
    }

    /// Whether so many elements can still be paid for.
    pub fn can_grow(&self, elements: usize) -> bool {
        elements as u64 <= self.memory
    }

    pub fn grow(&mut self, elements: usize) -> Result<(), String> {
        self.memory = self
            .memory
            .checked_sub(elements as u64)
            .ok_or("memory budget exceeded")?;
        Ok(())
    }

    pub fn spend(&mut self, steps: u64) -> Result<(), String> {
        self.steps = self
            .steps
            .checked_sub(steps)
            .ok_or("the expression takes too long (step budget exceeded)")?;
        Ok(())
    }

    /// Pays for looking through a value so many times: cheap for what is small.
    pub fn look_through(&mut self, value: &Value, times: u64) -> Result<(), String> {
        let cost = match value {
            Value::Str(text) => text.len() as u64 / 64,
            Value::Bytes(bytes) => bytes.len() as u64 / 64,
            Value::List(_) | Value::Map(_) => value.measure().weight,
            _ => return Ok(()),
        };
        self.spend(cost.saturating_mul(times))
    }

    /// Takes a new value if it is of a sane size.
    pub fn admit(&mut self, value: Value) -> Result<Value, String> {
        let measure = value.measure();
        if measure.weight > WEIGHT {
            return Err("memory budget exceeded".to_owned());
        }
        if let Value::Str(text) = &value {
            self.text = self
                .text
                .checked_sub(text.len() as u64)
                .ok_or("memory budget exceeded")?;
        }
        if measure.depth > NESTING {
            return Err(format!(
                "the value is nested too deeply ({NESTING} levels at most)"
            ));
        }
        Ok(value)
    }

    /// A new array, paid for.
    pub fn list(&mut self, items: Vec<Value>) -> Result<Value, String> {
        self.grow(items.len())?;
        self.admit(Value::List(Arc::new(List::new(items))))
    }

    /// A new map, paid for.
    pub fn map(&mut self, kind: MapKind, entries: BTreeMap<Key, Value>) -> Result<Value, String> {
        self.grow(entries.len())?;
        self.admit(Value::Map(Arc::new(Map::new(kind, entries))))
    }
}
