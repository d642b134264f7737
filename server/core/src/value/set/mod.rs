//! Sets, in three forms: integers only, packed and sorted (`intset`); members packed one after the other
//! (`listpack`); an inner table ([`SetTable`]). A set moves on from one form to the next as Valkey's does,
//! and never back.

pub mod ints;
mod members;
mod view;
mod writer;

pub use members::Members;
pub use view::SetView;
pub use writer::SetWriter;

use std::convert::Infallible;

use crate::keyspace::weight::table_bytes;
use crate::keyspace::{Collection, kind};
use crate::memory::{Entry, Expiry, Heap, NewValue, Table, Value};

/// A set as an inner table: members are its keys, values are empty.
#[derive(Debug)]
pub struct SetTable {
    generation: u64,
    members: Table<Infallible>,
}

impl SetTable {
    pub fn new(generation: u64) -> Self {
        Self {
            generation,
            members: Table::new(),
        }
    }

    /// Bytes taken, about; see [`table_bytes`].
    pub fn bytes(&self, heap: &Heap, samples: usize) -> usize {
        size_of::<Self>() + table_bytes(&self.members, heap, samples)
    }

    /// The same members as a set of its own, of that generation.
    pub fn duplicate(&self, generation: u64, heap: &mut Heap) -> Self {
        let mut copy = Self::new(generation);
        let mut members: Vec<Box<[u8]>> = Vec::with_capacity(self.len());
        self.members
            .for_each(heap, |entry| members.push(entry.key().into()));
        copy.members.reserve(heap, members.len());
        for member in members {
            let hash = heap.hash(&member);
            copy.members
                .put(heap, hash, &member, 0, NewValue::Bytes(b""), Expiry::Clear);
        }
        copy
    }

    pub fn generation(&self) -> u64 {
        self.generation
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// A slice of compaction, see [`Table::compact_slice`].
    pub fn compact_slice(&mut self, heap: &mut Heap, cursor: u64, budget: usize) -> u64 {
        self.members
            .compact_slice(heap, cursor, budget, &mut |_, _, _| {})
    }

    /// Frees up to about `budget` members; `true` once nothing is left.
    pub fn free_slice(&mut self, heap: &mut Heap, budget: usize) -> bool {
        self.members
            .clear_slice(heap, budget, &mut |never, _| match *never {})
    }
}

/// What `OBJECT ENCODING` says of a set.
pub fn encoding(entry: &Entry<'_, Collection>) -> &'static str {
    match entry.value() {
        Value::Boxed(_) => "hashtable",
        Value::Bytes(_) if entry.kind() == kind::SET_INTS => "intset",
        Value::Bytes(_) => "listpack",
    }
}

/// A number below `bound` from a uniform one, each equally likely but for one part in 2^64 / `bound`.
#[inline]
pub fn below(random: u64, bound: usize) -> Option<usize> {
    (bound > 0).then(|| ((u128::from(random) * bound as u128) >> 64) as usize)
}
