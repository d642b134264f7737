//! Members gathered aside: each once, in the order in which they came, their bytes in one buffer.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

#[derive(Default)]
pub struct Members {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    index: HashTable<u32>,
    hasher: FixedState,
}

impl Members {
    /// `seed` comes from the shard's random numbers: members that collide cannot be prepared.
    pub fn with_seed(seed: u64) -> Self {
        Self {
            hasher: FixedState::with_seed(seed),
            ..Self::default()
        }
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn get(&self, nth: usize) -> &[u8] {
        span(&self.bytes, &self.ends, nth)
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|nth| self.get(nth))
    }

    /// `false` if it was there.
    pub fn insert(&mut self, member: &[u8]) -> bool {
        let hash = self.hasher.hash_one(member);
        let (bytes, ends) = (&self.bytes, &self.ends);
        if self
            .index
            .find(hash, |nth| span(bytes, ends, *nth as usize) == member)
            .is_some()
        {
            return false;
        }
        let hasher = &self.hasher;
        let nth = self.ends.len() as u32;
        self.index
            .insert_unique(hash, nth, |nth| hasher.hash_one(span(bytes, ends, *nth as usize)));
        self.push(member);
        true
    }

    /// Appends a member that is known to be new and will not be looked for.
    pub fn push(&mut self, member: &[u8]) {
        self.bytes.extend_from_slice(member);
        self.ends.push(self.bytes.len());
    }
}

fn span<'a>(bytes: &'a [u8], ends: &[usize], nth: usize) -> &'a [u8] {
    let start = if nth == 0 { 0 } else { ends[nth - 1] };
    &bytes[start..ends[nth]]
}
