//! The memory of a shard: entries of a key, a value and an expiry in a slab with small refs, indexed by
//! extendible hash tables that grow and shrink one segment at a time.
//!
//! - [`Heap`] is the slab: one reserved range of address space, pages of equal slots, exact accounting.
//! - [`Table`] is an index in a heap. A database is a table, and so is the inside of a big hash, set or
//!   sorted set; all tables of a shard share its heap.
//! - [`Entry`] reads an entry, [`Slot`] changes it in place, [`Handle`] names it in four bytes.
//!
//! Invariants: every ref in a bucket or a spill list is the start of one live slot, held by that cell alone;
//! a table is only ever used with the heap that it was filled in (checked at each call). The hash is a
//! function of the heap's seed, and the order of a table is the order of its hashes: a walk by hash order
//! fills or reads memory in order, and a cursor is a hash, whatever the table did in between.
//!
//! What it does not know: types of values beyond four bits of kind, clocks, eviction, effects.
//! It is the only place in this crate with unsafe code.
#![allow(unsafe_code)]

mod blob;
mod bucket;
mod entry;
mod hash;
mod heap;
mod pages;
mod prefetch;
mod range;
mod resize;
mod slot;
mod sweep;
mod table;
mod walk;

#[cfg(test)]
mod tests;

pub use entry::{Entry, Value};
pub use hash::KeyHash;
pub use heap::{Handle, Heap};
pub use prefetch::prefetch;
pub use range::Populate;
pub use slot::Slot;
pub use table::{Expiry, Found, NewValue, Put, Removed, Seek, Table};

/// Longest expiry that an entry can hold: 48 bits of milliseconds, the year 10889. Later ones are cut to it.
pub const EXPIRE_AT_MS_MAX: u64 = (1 << 48) - 1;
/// Access bits of an entry: what eviction remembers (a coarse clock, a counter), opaque here.
pub const ACCESS_BITS: u32 = 21;
