//! Which hashes have fields with a time: an index for active expiry.
//!
//! A key stands in the index of its database exactly while it holds a hash some of whose fields have a time,
//! with a time before which none of them comes. `Db::put`, `Db::remove` and the hash writers keep it so;
//! who moves whole databases moves the index with [`FieldTimes::swap`] and [`FieldTimes::take`].
//! It costs a hash with such fields an entry of its name, and everything else nothing.

use std::convert::Infallible;

use super::{Db, Key, Shard};
use crate::exec::Now;
use crate::memory::{Expiry, Heap, NewValue, Table};

pub type NameTable = Table<Infallible>;

/// Buckets of the index, and of a hash, that are looked at in one step.
const STEP_BUCKETS: usize = 16;

#[derive(Debug)]
pub struct FieldTimes {
    databases: Vec<NameTable>,
    cursors: Vec<u64>,
    /// The database that the next slice begins with.
    next: usize,
}

impl FieldTimes {
    pub(super) fn new(databases: usize) -> Self {
        Self {
            databases: (0..databases).map(|_| Table::new()).collect(),
            cursors: vec![0; databases],
            next: 0,
        }
    }

    /// Keys in the index of a database.
    pub fn len(&self, db: u16) -> usize {
        self.databases[db as usize].len()
    }

    pub fn is_empty(&self) -> bool {
        self.databases.iter().all(NameTable::is_empty)
    }

    /// Puts a key in with that time, or takes it out.
    pub(super) fn note(&mut self, heap: &mut Heap, db: u16, key: Key<'_>, due_ms: Option<u64>) {
        let table = &mut self.databases[db as usize];
        match due_ms {
            Some(at) => {
                table.put(heap, key.hash, key.bytes, 0, NewValue::Bytes(b""), Expiry::At(at));
            }
            None => {
                table.remove(heap, key.hash, key.bytes);
            }
        }
    }

    /// Two databases are exchanged.
    pub fn swap(&mut self, one: u16, other: u16) {
        self.databases.swap(one as usize, other as usize);
        self.cursors.swap(one as usize, other as usize);
    }

    /// A database is emptied: its index is the caller's to clear.
    pub fn take(&mut self, db: u16) -> NameTable {
        self.cursors[db as usize] = 0;
        std::mem::take(&mut self.databases[db as usize])
    }

    /// The tables, for walks over all tables of the heap.
    pub fn tables(&mut self) -> impl Iterator<Item = &mut NameTable> {
        self.databases.iter_mut()
    }

    /// Names of hashes with due fields among the next buckets of a database's index; `true` at its end.
    fn find_due(&mut self, heap: &Heap, db: usize, now_ms: u64, found: &mut Vec<Box<[u8]>>) -> bool {
        let cursor = self.databases[db].walk_expiring(heap, self.cursors[db], STEP_BUCKETS, |entry| {
            if entry.expire_at_ms().is_some_and(|at| at <= now_ms) {
                found.push(entry.key().into());
            }
        });
        self.cursors[db] = cursor;
        cursor == 0
    }
}

impl Shard {
    /// Removes fields whose time has come, and keys that end empty, with effects and events: one slice of
    /// the active-expiry cycle. `budget` counts steps of a few dozen fields each. `true`: there is more to
    /// do at once. Looks at every index in turn, from where the last slice ended.
    pub fn expire_fields(&mut self, now: Now, budget: usize) -> bool {
        if self.field_times.is_empty() {
            return false;
        }
        let mut names = Vec::new();
        let mut steps = 0;
        let databases = self.databases.len();
        for _ in 0..databases {
            let db = self.field_times.next;
            while !self.field_times.databases[db].is_empty() {
                if steps >= budget {
                    return true;
                }
                steps += 1;
                let end = self.field_times.find_due(&self.heap, db, now.ms(), &mut names);
                for name in names.drain(..) {
                    let mut db = Db {
                        shard: self,
                        index: db as u16,
                        now,
                        no_touch: true,
                    };
                    steps += db.expire_fields_of(&name, STEP_BUCKETS, budget.saturating_sub(steps));
                }
                if end {
                    break;
                }
            }
            self.field_times.next = (db + 1) % databases;
        }
        false
    }
}
