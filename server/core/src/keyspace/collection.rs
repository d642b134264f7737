//! Collections too large to be packed into their entry: what the boxed values of a table are.

use crate::memory::Heap;

/// A large collection. Small ones are packed bytes in the entry (see `value/`).
pub enum Collection {}

impl Collection {
    /// The generation: unique per shard for each collection ever created, the prefix of its image rows.
    pub fn generation(&self) -> u64 {
        match *self {}
    }

    /// Frees up to `budget` elements from the heap; `true` when nothing is left. A collection must be
    /// emptied through this before it is dropped.
    pub fn free_slice(&mut self, _heap: &mut Heap, _budget: usize) -> bool {
        match *self {}
    }

    pub fn len(&self) -> usize {
        match *self {}
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The first eight bytes of a packed collection are its generation (little endian).
pub const GENERATION_BYTES: usize = 8;

pub fn packed_generation(bytes: &[u8]) -> u64 {
    bytes.first_chunk::<8>().map_or(0, |b| u64::from_le_bytes(*b))
}
