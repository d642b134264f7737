//! The keyspace of a shard: its databases, and the one way in which commands change them.
//!
//! Invariants: every change goes through [`Db`], which also emits the effect that makes the same change
//! elsewhere, and touches the key for those who listen. A key never holds an empty collection.

pub mod access;
pub mod collection;
mod compaction;
pub mod compare;
mod db;
pub mod events;
pub mod evict;
#[cfg(test)]
mod evict_tests;
mod expiry_cycle;
pub mod field_times;
mod flush;
mod hash_and_set;
pub mod interest;
mod kinds;
pub mod limits;
mod role;
mod strings;
mod transfer;
mod uncommitted;
pub mod weight;

pub use access::AccessPolicy;
pub use collection::Collection;
pub use compaction::Compaction;
pub use db::{Db, Hint, Key};
pub use events::{Classes, Event};
pub use evict::Eviction;
pub use expiry_cycle::ExpiryCycle;
pub use field_times::FieldTimes;
pub use hash_and_set::Finished;
pub use interest::Interest;
pub use kinds::{Type, kind};
pub use limits::Limits;
pub use role::Role;
pub use strings::OpenString;
pub use uncommitted::Uncommitted;

use crate::command::list::ListScratch;
use crate::effect::Effects;
use crate::exec::Now;
use crate::memory::{Heap, Table};
use field_times::NameTable;

/// Databases of a shard that is not told otherwise, as `SELECT` numbers them.
pub const DATABASES: usize = 16;
/// The most that `databases` may say.
pub const DATABASES_MAX: usize = 1 << 14;

pub type KeyTable = Table<Collection>;

/// Counters of a shard that `INFO` adds up.
#[derive(Default, Clone, Copy, Debug)]
pub struct ShardStats {
    pub hits: u64,
    pub misses: u64,
    pub expired: u64,
    pub expired_fields: u64,
    pub evicted: u64,
    /// Changes to keys since the start.
    pub changes: u64,
    pub kept: Kept,
}

/// How many of a shard's changes are how far on their way into the image. None is ahead of the one before it.
#[derive(Default, Clone, Copy, Debug)]
pub struct Kept {
    /// Handed to the log, when that was last looked at; durable since then; in the run of the image that began
    /// last; in the image.
    pub logged: u64,
    pub durable: u64,
    pub begun: u64,
    pub saved: u64,
}

/// One shard: everything that its owner thread alone touches.
pub struct Shard {
    pub heap: Heap,
    /// A database is its table; `SWAPDB` swaps two.
    pub databases: Vec<KeyTable>,
    pub effects: Effects,
    pub uncommitted: Uncommitted,
    pub interest: Interest,
    /// Events of the running command, published when it ends. Filled only for classes in `notify`.
    pub events: Vec<Event>,
    pub notify: Classes,
    pub access: AccessPolicy,
    pub limits: Limits,
    pub expiry_cycle: ExpiryCycle,
    pub eviction: Eviction,
    pub compaction: Compaction,
    pub lists: ListScratch,
    /// Working space for edits of packed collections, kept so that they allocate nothing. Taken while in use.
    pub scratch: Vec<u8>,
    /// Hashes that have fields with a time.
    pub field_times: FieldTimes,
    pub stats: ShardStats,
    /// The last generation given to a collection.
    pub generation: u64,
    /// The last fence given by `IDEM BEGIN`; only grows.
    pub fence: u64,
    /// The latest time this shard has seen, Unix µs.
    pub clock_us: u64,
    /// Large collections whose key is gone, freed a slice at a time.
    pub graveyard: Vec<Box<Collection>>,
    /// Whole tables to be freed a slice at a time.
    pub flushed: Vec<KeyTable>,
    /// Set for each command that was looked up ahead, and only while it runs.
    pub hint: Hint,
    /// Indexes of what was flushed, to be freed likewise.
    flushed_names: Vec<NameTable>,
    random: u64,
    /// Whether commands run on it: `Engine::set_role` changes it.
    pub role: Role,
    /// Commands of clients run on it at once. Else, of those that see the whole keyspace, they wait or go elsewhere.
    pub is_open: bool,
    /// Commands for it that came before are still under way (`Engine::set_detained`).
    pub is_detained: bool,
    /// It follows, and is not further behind its leader than a read of it may be.
    pub is_fresh: bool,
}

impl Shard {
    /// `seed` seeds the hash of the keys and is part of the shard's state; `random` is fresh entropy.
    pub fn new(seed: u64, random: u64) -> Self {
        Self::with_databases(seed, random, DATABASES)
    }

    /// The same with another number of databases, at least one.
    pub fn with_databases(seed: u64, random: u64, databases: usize) -> Self {
        Self {
            heap: Heap::new(seed),
            databases: (0..databases).map(|_| Table::new()).collect(),
            effects: Effects::default(),
            uncommitted: Uncommitted::default(),
            interest: Interest::default(),
            events: Vec::new(),
            notify: Classes::default(),
            access: AccessPolicy::default(),
            limits: Limits::default(),
            expiry_cycle: ExpiryCycle::new(databases),
            eviction: Eviction::default(),
            compaction: Compaction::default(),
            lists: ListScratch::default(),
            scratch: Vec::new(),
            field_times: FieldTimes::new(databases),
            stats: ShardStats::default(),
            generation: 0,
            fence: 0,
            clock_us: 0,
            graveyard: Vec::new(),
            flushed: Vec::new(),
            hint: Hint::NONE,
            flushed_names: Vec::new(),
            random: random | 1,
            role: Role::default(),
            is_open: true,
            is_detained: false,
            is_fresh: false,
        }
    }

    /// A random number (splitmix64, Steele et al. 2014). Its outcome reaches effects only as a result.
    #[inline]
    pub fn random(&mut self) -> u64 {
        Self::mix(&mut self.random)
    }

    /// The generator by itself, for a series of numbers drawn while the shard is borrowed.
    #[inline]
    pub fn mix(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// The time as this shard sees it: never earlier than what it has seen before.
    #[inline]
    pub fn advance(&mut self, now: Now) -> Now {
        self.clock_us = self.clock_us.max(now.us);
        let now = Now { us: self.clock_us };
        // An overwritten key counts as used: by LRU it is young again, by LFU it keeps its count.
        self.heap
            .set_access_on_put(self.access.fresh(now.ms()), !self.access.lfu);
        now
    }

    /// The latest time that it has seen.
    pub fn now(&self) -> Now {
        Now { us: self.clock_us }
    }

    pub fn next_generation(&mut self) -> u64 {
        self.generation += 1;
        self.generation
    }

    /// The next fence: higher than every one before it, whatever becomes of the keys.
    pub fn next_fence(&mut self) -> u64 {
        self.fence += 1;
        self.fence
    }

    /// Takes a large collection whose key is gone: small ones are freed now, large ones later in slices.
    pub fn bury(&mut self, mut collection: Box<Collection>) {
        if !collection.free_slice(&mut self.heap, FREE_AT_ONCE) {
            self.graveyard.push(collection);
        }
    }

    /// Something deleted has not been freed yet.
    pub fn is_freeing(&self) -> bool {
        !(self.graveyard.is_empty() && self.flushed.is_empty() && self.flushed_names.is_empty())
    }

    /// Frees a slice of what was deleted; `true` while there is more to do.
    pub fn free_slice(&mut self, budget: usize) -> bool {
        if let Some(collection) = self.graveyard.last_mut() {
            if collection.free_slice(&mut self.heap, budget) {
                self.graveyard.pop();
            }
        } else if let Some(table) = self.flushed.last_mut() {
            let graveyard = &mut self.graveyard;
            let done = table.clear_slice(&mut self.heap, budget, &mut |boxed, heap| {
                let mut boxed = boxed;
                if !boxed.free_slice(heap, FREE_AT_ONCE) {
                    graveyard.push(boxed);
                }
            });
            if done {
                self.flushed.pop();
            }
        } else if let Some(names) = self.flushed_names.last_mut()
            && names.clear_slice(&mut self.heap, budget, &mut |never, _| match *never {})
        {
            self.flushed_names.pop();
        }
        self.is_freeing()
    }
}

/// Elements that a deletion frees on the spot: well under a tenth of a millisecond.
const FREE_AT_ONCE: usize = 64;
