//! A hash as an inner table: fields are its keys, and a field's time is its entry's expiry.
//!
//! `due_ms` is never later than the earliest time of any field, so a hash in which nothing is due is known
//! by one comparison. It may be early (the field that was due first got a new time): the next full walk over
//! the fields with a time makes it exact.

use std::convert::Infallible;

use crate::keyspace::weight::table_bytes;
use crate::memory::{Expiry, Heap, NewValue, Table};

/// No field has a time.
pub const NEVER: u64 = u64::MAX;

#[derive(Debug)]
pub struct HashTable {
    pub(super) generation: u64,
    pub(super) fields: Table<Infallible>,
    due_ms: u64,
    /// Where the walk for due fields goes on, and the earliest time it has left behind.
    cursor: u64,
    walked_due_ms: u64,
}

/// What a slice of the walk found and removed.
pub struct DueFields {
    pub names: Vec<Box<[u8]>>,
    /// The walk has seen every field, and `due_ms` is exact.
    pub complete: bool,
}

impl HashTable {
    pub fn new(generation: u64) -> Self {
        Self {
            generation,
            fields: Table::new(),
            due_ms: NEVER,
            cursor: 0,
            walked_due_ms: NEVER,
        }
    }

    /// Bytes taken, about; see [`table_bytes`].
    pub fn bytes(&self, heap: &Heap, samples: usize) -> usize {
        size_of::<Self>() + table_bytes(&self.fields, heap, samples)
    }

    /// The same fields as a hash of its own, of that generation.
    pub fn duplicate(&self, generation: u64, heap: &mut Heap) -> Self {
        let mut copy = Self::new(generation);
        let mut rows = Vec::with_capacity(self.len());
        self.fields.for_each(heap, |entry| {
            let owned = |bytes: &[u8]| Box::<[u8]>::from(bytes);
            rows.push((owned(entry.key()), owned(entry.bytes()), entry.expire_at_ms()));
        });
        copy.fields.reserve(heap, rows.len());
        for (name, value, expire_at) in rows {
            let hash = heap.hash(&name);
            let expiry = expire_at.map_or(Expiry::Clear, Expiry::At);
            copy.fields
                .put(heap, hash, &name, 0, NewValue::Bytes(&value), expiry);
            if let Some(at) = expire_at {
                copy.note_time(at);
            }
        }
        copy
    }

    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Fields, including those whose time has come and that were not removed yet.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// No field's time comes before this.
    #[inline]
    pub fn due_ms(&self) -> u64 {
        self.due_ms
    }

    /// Some field has a time.
    pub fn has_times(&self) -> bool {
        self.fields.expiring() > 0
    }

    pub(super) fn note_time(&mut self, at_ms: u64) {
        self.due_ms = self.due_ms.min(at_ms);
        self.walked_due_ms = self.walked_due_ms.min(at_ms);
    }

    /// After a field lost its time: with the last one nothing is due any more.
    pub(super) fn note_untimed(&mut self) {
        if self.fields.expiring() == 0 {
            self.due_ms = NEVER;
            self.walked_due_ms = NEVER;
            self.cursor = 0;
        }
    }

    /// Removes fields whose time has come among the next `buckets` buckets.
    pub(super) fn remove_due(&mut self, heap: &mut Heap, now_ms: u64, buckets: usize) -> DueFields {
        let mut names: Vec<Box<[u8]>> = Vec::new();
        let mut earliest = self.walked_due_ms;
        if self.cursor == 0 {
            earliest = NEVER;
        }
        self.cursor =
            self.fields
                .walk_expiring(heap, self.cursor, buckets, |entry| match entry.expire_at_ms() {
                    Some(at) if at <= now_ms => names.push(entry.key().into()),
                    Some(at) => earliest = earliest.min(at),
                    None => {}
                });
        for name in &names {
            let hash = heap.hash(name);
            self.fields.remove(heap, hash, name);
        }
        self.walked_due_ms = earliest;
        let complete = self.cursor == 0;
        if complete {
            self.due_ms = earliest;
        }
        self.note_untimed();
        DueFields { names, complete }
    }

    /// A slice of compaction, see [`Table::compact_slice`].
    pub fn compact_slice(&mut self, heap: &mut Heap, cursor: u64, budget: usize) -> u64 {
        self.fields.compact_slice(heap, cursor, budget, &mut |_, _, _| {})
    }

    /// Frees up to about `budget` fields; `true` once nothing is left.
    pub fn free_slice(&mut self, heap: &mut Heap, budget: usize) -> bool {
        self.fields
            .clear_slice(heap, budget, &mut |never, _| match *never {})
    }
}
