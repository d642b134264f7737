//! Whole databases: emptied, or exchanged with another.
//!
//! An emptied database costs nothing at once: its table is put aside and freed in slices.

use super::Shard;
use crate::effect::Effect;

/// Keys that a flush frees on the spot.
const FREE_AT_ONCE: usize = 1000;

impl Shard {
    /// Empties a database, with its effect, and tells those who listen to its keys.
    pub fn flush(&mut self, db: u16) {
        let keys = self.databases[db as usize].len();
        if keys == 0 {
            return;
        }
        let (heap, databases) = (&self.heap, &self.databases);
        self.interest.touch_all(&[db], |db, key| {
            databases[db as usize].get(heap, heap.hash(key), key).is_some()
        });
        self.discard(db);
        self.stats.changes += keys as u64;
        self.uncommitted.note_whole();
        if self.effects.on() {
            self.effects.push(db, &Effect::Flush);
        }
    }

    /// Empties a database without effect or touch.
    pub fn discard(&mut self, db: u16) {
        let table = std::mem::take(&mut self.databases[db as usize]);
        if !table.is_empty() {
            self.flushed.push(table);
            self.flushed_names.push(self.field_times.take(db));
            self.free_slice(FREE_AT_ONCE);
        }
    }

    /// Exchanges two databases, with the effect, and tells those who listen to keys that are in either.
    pub fn swap(&mut self, one: u16, other: u16) {
        self.stats.changes += 1;
        if one == other {
            return;
        }
        let (heap, databases) = (&self.heap, &self.databases);
        self.interest.touch_all(&[one, other], |_, key| {
            let is_in = |db: u16| databases[db as usize].get(heap, heap.hash(key), key).is_some();
            is_in(one) || is_in(other)
        });
        self.exchange(one, other);
        self.uncommitted.note_whole();
        if self.effects.on() {
            self.effects.push(one, &Effect::Swap { with: other });
        }
    }

    /// Exchanges two databases without effect or touch.
    pub fn exchange(&mut self, one: u16, other: u16) {
        self.databases.swap(one as usize, other as usize);
        self.expiry_cycle.swap(one, other);
        self.field_times.swap(one, other);
    }
}
