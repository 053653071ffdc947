//! The rows of one kind: kept sorted and filtered as news comes, with a cursor that follows its object.
//!
//! Order and filter are given with each call, since they look at other tables too (a Freight's alias). A change of
//! a few rows costs two binary searches each; a page of a list is merged in one sort of nearly sorted rows.

use std::{
    cmp::Ordering,
    collections::{HashMap, HashSet},
};

use super::message::{Change, Key, Row};

/// From how many rows on a change is merged by one sort.
const BATCH: usize = 32;

/// Which rows are shown, and in which order. The order must be total: equal only for the same object.
pub trait Shape<R> {
    /// Whether the row is shown.
    fn keeps(&self, row: &R) -> bool;
    /// Which comes first.
    fn compare(&self, a: &R, b: &R) -> Ordering;
    /// Whether the row is one of those that the table counts apart, filtered or not.
    fn tallies(&self, _row: &R) -> bool {
        false
    }
}

/// See the module.
#[derive(Debug)]
pub struct Table<R> {
    slots: Vec<Option<Slot<R>>>,
    free: Vec<usize>,
    by_key: HashMap<Key, usize>,
    /// Slots of the rows shown.
    order: Vec<usize>,
    /// Which list the rows were last seen in.
    list: u64,
    listing: bool,
    complete: bool,
    cursor: Option<Key>,
    at: usize,
    offset: usize,
    /// How many rows are tallied.
    tally: usize,
}

#[derive(Debug)]
struct Slot<R> {
    row: R,
    list: u64,
    tallied: bool,
}

impl<R> Default for Table<R> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            by_key: HashMap::new(),
            order: Vec::new(),
            list: 0,
            listing: false,
            complete: false,
            cursor: None,
            at: 0,
            offset: 0,
            tally: 0,
        }
    }
}

impl<R: Row> Table<R> {
    /// Takes in news.
    pub fn apply(&mut self, change: Change<R>, shape: &impl Shape<R>) {
        match change {
            Change::Page(rows) => {
                if !self.listing {
                    self.listing = true;
                    self.list += 1;
                }
                self.put_all(rows, shape);
            }
            Change::ListDone => {
                if !self.listing {
                    self.list += 1;
                }
                self.listing = false;
                self.complete = true;
                self.sweep(shape);
            }
            Change::Upsert(rows) => self.put_all(rows, shape),
            Change::Delete(key) => self.remove(&key, shape),
        }
        self.settle(shape);
    }

    /// Filters and sorts anew.
    pub fn reshape(&mut self, shape: &impl Shape<R>) {
        let kept = |(index, slot): (usize, &Option<Slot<R>>)| {
            slot.as_ref()
                .is_some_and(|slot| shape.keeps(&slot.row))
                .then_some(index)
        };
        let mut order: Vec<usize> = self.slots.iter().enumerate().filter_map(kept).collect();
        self.sort(&mut order, shape);
        self.order = order;
        for slot in self.slots.iter_mut().flatten() {
            slot.tallied = shape.tallies(&slot.row);
        }
        self.tally = self
            .slots
            .iter()
            .flatten()
            .filter(|slot| slot.tallied)
            .count();
        self.settle(shape);
    }

    fn sort(&self, order: &mut [usize], shape: &impl Shape<R>) {
        order.sort_by(|a, b| match (self.row_in(*a), self.row_in(*b)) {
            (Some(a), Some(b)) => shape.compare(a, b),
            (a, b) => b.is_some().cmp(&a.is_some()),
        });
    }

    fn put_all(&mut self, rows: Vec<R>, shape: &impl Shape<R>) {
        if rows.len() < BATCH {
            for row in rows {
                self.put(row, shape);
            }
            return;
        }
        let mut replaced = HashSet::new();
        let mut fresh = Vec::new();
        for row in rows {
            let keeps = shape.keeps(&row);
            let (index, was_there) = self.store(row, shape);
            if was_there {
                replaced.insert(index);
            }
            if keeps {
                fresh.push(index);
            }
        }
        fresh.sort_unstable();
        fresh.dedup();
        if !replaced.is_empty() {
            self.order.retain(|index| !replaced.contains(index));
        }
        self.merge(fresh, shape);
    }

    /// Puts many slots into the order at once: a search for each, and one pass over what is there.
    fn merge(&mut self, mut fresh: Vec<usize>, shape: &impl Shape<R>) {
        self.sort(&mut fresh, shape);
        let mut merged = Vec::with_capacity(self.order.len() + fresh.len());
        let mut taken = 0;
        for index in fresh {
            let place = self
                .place(index, shape)
                .unwrap_or_else(|place| place)
                .max(taken);
            merged.extend_from_slice(self.order.get(taken..place).unwrap_or_default());
            merged.push(index);
            taken = place;
        }
        merged.extend_from_slice(self.order.get(taken..).unwrap_or_default());
        self.order = merged;
    }

    fn put(&mut self, row: R, shape: &impl Shape<R>) {
        if let Some(index) = self.by_key.get(&row.key()).copied() {
            self.hide(index, shape);
        }
        let keeps = shape.keeps(&row);
        let (index, _) = self.store(row, shape);
        if keeps {
            let place = self.place(index, shape).unwrap_or_else(|place| place);
            self.order.insert(place, index);
        }
    }

    /// Puts a row into its slot and says which, and whether there was one before. Does not touch the order.
    fn store(&mut self, row: R, shape: &impl Shape<R>) -> (usize, bool) {
        let key = row.key();
        let tallied = shape.tallies(&row);
        let slot = Some(Slot {
            row,
            list: self.list,
            tallied,
        });
        self.tally += usize::from(tallied);
        if let Some(index) = self.by_key.get(&key).copied() {
            self.clear(index);
            if let Some(place) = self.slots.get_mut(index) {
                *place = slot;
            }
            return (index, true);
        }
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                self.slots.push(None);
                self.slots.len() - 1
            }
        };
        if let Some(place) = self.slots.get_mut(index) {
            *place = slot;
        }
        self.by_key.insert(key, index);
        (index, false)
    }

    fn remove(&mut self, key: &Key, shape: &impl Shape<R>) {
        if let Some(index) = self.by_key.remove(key) {
            self.hide(index, shape);
            self.clear(index);
            self.free.push(index);
        }
    }

    /// Empties a slot.
    fn clear(&mut self, index: usize) {
        if let Some(slot) = self.slots.get_mut(index).and_then(Option::take) {
            self.tally = self.tally.saturating_sub(usize::from(slot.tallied));
        }
    }

    /// Takes a slot out of the order.
    fn hide(&mut self, index: usize, shape: &impl Shape<R>) {
        if let Some(place) = self.find(index, shape) {
            self.order.remove(place);
        }
    }

    fn find(&self, index: usize, shape: &impl Shape<R>) -> Option<usize> {
        let place = self
            .place(index, shape)
            .ok()
            .filter(|place| self.order.get(*place) == Some(&index));
        // What the order looks at elsewhere may have changed since the row was put in.
        place.or_else(|| self.order.iter().position(|other| *other == index))
    }

    fn place(&self, index: usize, shape: &impl Shape<R>) -> Result<usize, usize> {
        let Some(row) = self.row_in(index) else {
            return Err(self.order.len());
        };
        self.order
            .binary_search_by(|other| match self.row_in(*other) {
                Some(other) => shape.compare(other, row),
                None => Ordering::Greater,
            })
    }

    fn sweep(&mut self, shape: &impl Shape<R>) {
        let list = self.list;
        let gone: Vec<Key> = self
            .slots
            .iter()
            .flatten()
            .filter(|slot| slot.list != list)
            .map(|slot| slot.row.key())
            .collect();
        if gone.len() < BATCH {
            for key in &gone {
                self.remove(key, shape);
            }
            return;
        }
        for key in &gone {
            if let Some(index) = self.by_key.remove(key) {
                self.clear(index);
                self.free.push(index);
            }
        }
        let slots = &self.slots;
        self.order
            .retain(|index| slots.get(*index).is_some_and(Option::is_some));
    }

    /// Finds the cursor's object again, or takes the row that is now in its place.
    fn settle(&mut self, shape: &impl Shape<R>) {
        let found = self
            .cursor
            .as_ref()
            .and_then(|key| self.by_key.get(key))
            .copied();
        match found.and_then(|index| self.find(index, shape)) {
            Some(place) => self.at = place,
            None => self.at = self.at.min(self.order.len().saturating_sub(1)),
        }
        // Until the first list is complete the cursor stays at the top unless somebody moved it.
        if self.complete || self.cursor.is_some() {
            self.cursor = self.nth(self.at).map(Row::key);
        }
    }

    fn row_in(&self, index: usize) -> Option<&R> {
        self.slots
            .get(index)
            .and_then(Option::as_ref)
            .map(|slot| &slot.row)
    }

    /// The row shown at `place`.
    pub fn nth(&self, place: usize) -> Option<&R> {
        self.order.get(place).and_then(|index| self.row_in(*index))
    }

    /// The row of an object, shown or not.
    pub fn get(&self, key: &Key) -> Option<&R> {
        self.by_key.get(key).and_then(|index| self.row_in(*index))
    }

    /// All rows, shown or not, in no order.
    pub fn all(&self) -> impl Iterator<Item = &R> {
        self.slots.iter().flatten().map(|slot| &slot.row)
    }

    /// How many rows are shown.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// How many rows are counted apart, shown or not.
    pub fn tally(&self) -> usize {
        self.tally
    }

    /// How many rows there are, shown or not.
    pub fn total(&self) -> usize {
        self.by_key.len()
    }

    /// The row under the cursor.
    pub fn current(&self) -> Option<&R> {
        self.nth(self.at)
    }

    /// Where the cursor is among the rows shown.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The first row in the window.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Puts the cursor on the row at `place`, or the last one.
    pub fn go(&mut self, place: usize) {
        self.at = place.min(self.order.len().saturating_sub(1));
        self.cursor = self.nth(self.at).map(Row::key);
    }

    /// Scrolls as little as needed so that the cursor is among the `height` rows in the window.
    pub fn fit(&mut self, height: usize) {
        let last = self.order.len().saturating_sub(height);
        let low = (self.at + 1).saturating_sub(height);
        self.offset = self.offset.clamp(low, self.at.max(low)).min(last);
    }
}

#[cfg(test)]
mod tests;
