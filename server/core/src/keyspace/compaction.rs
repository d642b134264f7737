//! Compaction: pages that deletions left nearly empty are emptied and given back.
//!
//! A walk goes over all tables of the shard's heap, the inner tables of large collections included, a
//! segment at a time; it begins when enough of the pages in use is unused. A slice is well under a tenth of a
//! millisecond, and slices have pauses between them, so a busy owner gives it a few percent of its time.
//! Where a walk gained little (what is left is spread too evenly), the next one waits.
//!
//! Between two slices anything may happen to the tables: a place that the walk remembers is a position of
//! the hash, so at worst it looks at something twice or leaves it to the next walk.

use super::{DATABASES, Shard};
use crate::exec::Now;

/// Pages worth a walk: at least so many bytes unused, and at least a quarter of what is in use.
const UNUSED_BYTES_MIN: usize = 8 << 20;
const UNUSED_PART: usize = 4;
/// A walk that gave back less than this part of what was unused has found the rest not worth another.
const GAIN_PART: usize = 8;
const REST_MS: u64 = 60_000;
/// Between two slices.
const PAUSE_MS: u64 = 1;
/// Cells of an inner table that a slice looks at.
const INNER_CELLS: usize = 512;

/// A place in the segment that the walk is in: what is next among its objects.
#[derive(Clone, Copy, Debug)]
struct Inside {
    position: u64,
    cell: u32,
    cursor: u64,
}

#[derive(Default, Debug)]
pub struct Compaction {
    running: bool,
    /// When the next slice, or the next look whether a walk is worth it, is due. Unix milliseconds.
    due_ms: u64,
    /// Databases, and behind them the indexes of field times.
    table: usize,
    position: u64,
    inside: Option<Inside>,
    unused_before: usize,
}

impl Compaction {
    pub fn is_running(&self) -> bool {
        self.running
    }

    /// When its next slice is due, if a walk is under way. Unix milliseconds.
    pub fn due_ms(&self) -> Option<u64> {
        self.running.then_some(self.due_ms)
    }

    /// Looks at once whether a walk is worth it, however little the last one gained.
    pub fn hurry(&mut self) {
        self.due_ms = 0;
    }

    fn next_table(&mut self) {
        self.table += 1;
        self.position = 0;
    }
}

impl Shard {
    /// A slice of compaction, if one is due and worth it.
    pub fn compact_slice(&mut self, now: Now) {
        if now.ms() < self.compaction.due_ms {
            return;
        }
        if !self.compaction.running {
            // What is still being freed would be moved for nothing.
            if !self.is_sparse() || self.is_freeing() {
                return;
            }
            self.compaction = Compaction {
                running: true,
                unused_before: self.heap.unused_bytes(),
                ..Compaction::default()
            };
        }
        self.compaction.due_ms = now.ms() + PAUSE_MS;
        match self.compaction.inside {
            Some(inside) => self.compaction.inside = self.compact_inside(inside),
            None => self.compact_next(),
        }
        if self.compaction.table == 2 * DATABASES {
            let (before, after) = (self.compaction.unused_before, self.heap.unused_bytes());
            // More than before: deletions went on meanwhile, and the walk tells nothing of the next.
            let rests = after <= before && (before - after) * GAIN_PART < before;
            self.compaction = Compaction {
                due_ms: now.ms() + if rests { REST_MS } else { PAUSE_MS },
                ..Compaction::default()
            };
        }
    }

    fn is_sparse(&self) -> bool {
        let unused = self.heap.unused_bytes();
        unused >= UNUSED_BYTES_MIN && unused * UNUSED_PART >= unused + self.heap.slab_bytes()
    }

    /// Compacts the next segment of the table that the walk is in.
    fn compact_next(&mut self) {
        // Empty tables are passed by at once.
        while self.compaction.table < 2 * DATABASES && self.is_empty_table(self.compaction.table) {
            self.compaction.next_table();
        }
        let (heap, nth, position) = (&mut self.heap, self.compaction.table, self.compaction.position);
        let next = if let Some(table) = self.databases.get_mut(nth) {
            self.compaction.inside = Some(Inside {
                position,
                cell: 0,
                cursor: 0,
            });
            table.compact_slice(heap, position, 1, &mut |_, _, _| {})
        } else if let Some(names) = self.field_times.tables().nth(nth - DATABASES) {
            names.compact_slice(heap, position, 1, &mut |_, _, _| {})
        } else {
            return;
        };
        self.compaction.position = next;
        // The last segment's objects still have to be seen to, which `compact_inside` does before.
        if next == 0 && self.compaction.inside.is_none() {
            self.compaction.next_table();
        }
    }

    fn is_empty_table(&mut self, nth: usize) -> bool {
        match self.databases.get(nth) {
            Some(table) => table.is_empty(),
            None => self.field_times.len((nth - DATABASES) as u16) == 0,
        }
    }

    /// Compacts a slice of the next object in the segment; `None` behind the last one.
    fn compact_inside(&mut self, inside: Inside) -> Option<Inside> {
        let Inside {
            position,
            cell,
            cursor,
        } = inside;
        let mut seen = 0;
        let mut at = (cell, cursor);
        while seen < INNER_CELLS {
            let table = &mut self.databases[self.compaction.table];
            let Some((found, object, heap)) = table.boxed_from(&mut self.heap, position, at.0) else {
                if self.compaction.position == 0 {
                    self.compaction.next_table();
                }
                return None;
            };
            // A cursor of an object that is gone means nothing to the next.
            let cursor = if found == at.0 { at.1 } else { 0 };
            seen += INNER_CELLS.min(object.len() + 1);
            at = match object.compact_slice(heap, cursor, INNER_CELLS) {
                0 => (found + 1, 0),
                next => (found, next),
            };
        }
        Some(Inside {
            position,
            cell: at.0,
            cursor: at.1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Db, kind};
    use super::*;
    use crate::keyspace::Collection;
    use crate::memory::{Expiry, NewValue};
    use crate::value::sorted_set::SortedSet;

    const KEYS: usize = 200_000;
    const MEMBERS: usize = 100_000;

    fn at(shard: &mut Shard) -> Db<'_> {
        Db {
            shard,
            index: 3,
            now: Now::from_ms(1000),
            no_touch: false,
        }
    }

    fn member(nth: usize) -> Vec<u8> {
        format!("member of the set:{nth}").into_bytes()
    }

    /// Keys and a sorted set, of both of of which nine tenths are removed again.
    fn sparse() -> Shard {
        let mut shard = Shard::new(11, 12);
        let mut ranks = SortedSet::new(2);
        for nth in 0..MEMBERS {
            ranks.put(&mut shard.heap, &member(nth), (nth % 100) as f64);
        }
        for nth in 0..KEYS {
            let name = format!("a key:{nth}");
            let mut db = at(&mut shard);
            let key = db.key(name.as_bytes());
            db.put_string(key, b"sixteen bytes of", Expiry::Clear);
        }
        for nth in (0..KEYS).filter(|nth| nth % 10 != 0) {
            let name = format!("a key:{nth}");
            let mut db = at(&mut shard);
            let key = db.key(name.as_bytes());
            db.delete(key);
        }
        for nth in (0..MEMBERS).filter(|nth| nth % 10 != 0) {
            ranks.remove(&mut shard.heap, &member(nth));
        }
        let mut db = at(&mut shard);
        let key = db.key(b"ranks");
        let boxed = NewValue::Boxed(Box::new(Collection::SortedSet(ranks)));
        db.put(key, kind::SORTED_SET, boxed, Expiry::Clear);
        shard
    }

    #[test]
    fn what_deletions_left_comes_back_and_everything_is_where_it_was() {
        let mut shard = sparse();
        let before = shard.heap.unused_bytes();
        assert!(before > UNUSED_BYTES_MIN, "{before} bytes are unused");
        let mut now_ms = 5000;
        shard.compact_slice(Now::from_ms(now_ms));
        assert!(shard.compaction.is_running());
        while let Some(due_ms) = shard.compaction.due_ms() {
            now_ms = due_ms.max(now_ms);
            shard.compact_slice(Now::from_ms(now_ms));
            assert!(now_ms < 60_000, "a walk ends");
        }
        let after = shard.heap.unused_bytes();
        assert!(after * 5 < before, "{before} bytes unused before, {after} after");

        for nth in (0..KEYS).step_by(10) {
            let name = format!("a key:{nth}");
            let mut db = at(&mut shard);
            let key = db.key(name.as_bytes());
            assert_eq!(
                db.string(key).expect("a string"),
                Some(b"sixteen bytes of".as_slice())
            );
        }
        let mut db = at(&mut shard);
        let key = db.key(b"ranks");
        let mut slot = db.find_edit(key).expect("there");
        let (object, heap) = slot.boxed().expect("a large one");
        let Collection::SortedSet(ranks) = object else {
            panic!("a sorted set")
        };
        let mut order: Vec<(u64, Vec<u8>)> = (0..MEMBERS)
            .step_by(10)
            .map(|nth| ((nth % 100) as u64, member(nth)))
            .collect();
        order.sort();
        for (rank, (score, member)) in order.iter().enumerate() {
            assert_eq!(ranks.rank(heap, member), Some((rank, *score as f64)));
        }
    }

    #[test]
    fn a_walk_that_began_too_early_is_followed_by_another() {
        let mut shard = Shard::new(11, 12);
        let name = |nth: usize| format!("a key:{nth}").into_bytes();
        for nth in 0..KEYS {
            let mut db = at(&mut shard);
            let name = name(nth);
            let key = db.key(&name);
            db.put_string(key, b"sixteen bytes of and thirty-two of", Expiry::Clear);
        }
        let (mut now_ms, mut begun) = (5000, false);
        for nth in (0..KEYS).filter(|nth| nth % 10 != 0) {
            let mut db = at(&mut shard);
            let name = name(nth);
            let key = db.key(&name);
            db.delete(key);
            if nth % 100 == 1 {
                now_ms += 1;
                shard.compact_slice(Now::from_ms(now_ms));
                begun |= shard.compaction.is_running();
            }
        }
        assert!(begun, "the first walk began with eight mebibytes");
        for _ in 0..20_000 {
            now_ms += 1;
            shard.compact_slice(Now::from_ms(now_ms));
        }
        assert!(
            !shard.is_sparse(),
            "{} bytes are unused",
            shard.heap.unused_bytes()
        );
    }

    #[test]
    fn a_dense_heap_is_left_alone() {
        let mut shard = Shard::new(11, 12);
        for nth in 0..KEYS {
            let name = format!("a key:{nth}");
            let mut db = at(&mut shard);
            let key = db.key(name.as_bytes());
            db.put_string(key, b"sixteen bytes of", Expiry::Clear);
        }
        shard.compact_slice(Now::from_ms(5000));
        assert!(!shard.compaction.is_running());
    }
}
