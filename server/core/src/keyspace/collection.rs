//! Collections too large to be packed into their entry: what the boxed values of a table are.

use crate::memory::Heap;
use crate::value::hash::HashTable;
use crate::value::list::List;
use crate::value::set::SetTable;
use crate::value::sorted_set::SortedSet;

/// A large collection. Small ones are packed bytes in the entry (see `value/`).
pub enum Collection {
    Hash(HashTable),
    List(List),
    Set(SetTable),
    SortedSet(SortedSet),
}

impl Collection {
    /// The generation: unique per shard for each collection ever created, the prefix of its image rows.
    pub fn generation(&self) -> u64 {
        match self {
            Self::Hash(hash) => hash.generation(),
            Self::List(list) => list.generation(),
            Self::Set(set) => set.generation(),
            Self::SortedSet(set) => set.generation(),
        }
    }

    /// Frees up to `budget` elements from the heap; `true` when nothing is left. A collection must be
    /// emptied through this before it is dropped.
    pub fn free_slice(&mut self, heap: &mut Heap, budget: usize) -> bool {
        match self {
            Self::Hash(hash) => hash.free_slice(heap, budget),
            Self::List(list) => list.free_slice(budget),
            Self::Set(set) => set.free_slice(heap, budget),
            Self::SortedSet(set) => set.free_slice(heap, budget),
        }
    }

    /// A slice of compaction of what it keeps in the heap, see [`crate::memory::Table::compact_slice`]: from a cursor that
    /// starts and ends at zero.
    pub fn compact_slice(&mut self, heap: &mut Heap, cursor: u64, budget: usize) -> u64 {
        match self {
            Self::Hash(hash) => hash.compact_slice(heap, cursor, budget),
            Self::List(_) => 0,
            Self::Set(set) => set.compact_slice(heap, cursor, budget),
            Self::SortedSet(set) => set.compact_slice(heap, cursor, budget),
        }
    }

    /// The same elements as a collection of their own, of that generation.
    pub fn duplicate(&self, generation: u64, heap: &mut Heap) -> Self {
        match self {
            Self::Hash(hash) => Self::Hash(hash.duplicate(generation, heap)),
            Self::List(list) => Self::List(list.duplicate(generation)),
            Self::Set(set) => Self::Set(set.duplicate(generation, heap)),
            Self::SortedSet(set) => Self::SortedSet(set.duplicate(generation, heap)),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Self::Hash(hash) => hash.len(),
            Self::List(list) => list.len(),
            Self::Set(set) => set.len(),
            Self::SortedSet(set) => set.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A time before which none of the fields' times comes, if any field has one.
    #[inline]
    pub fn field_due_ms(&self) -> Option<u64> {
        match self {
            Self::Hash(hash) if hash.has_times() => Some(hash.due_ms()),
            _ => None,
        }
    }
}

/// The first eight bytes of a packed collection are its generation (little endian).
pub const GENERATION_BYTES: usize = 8;

pub fn packed_generation(bytes: &[u8]) -> u64 {
    bytes.first_chunk::<8>().map_or(0, |b| u64::from_le_bytes(*b))
}
