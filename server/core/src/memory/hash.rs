//! The hash of keys, members and fields: a function of a seed alone, the same on every machine, so that what
//! is stored in its order fills a table in order.

use std::hash::Hasher;

use foldhash::SharedSeed;
use foldhash::quality::FoldHasher;

/// See the module.
#[derive(Clone)]
pub struct KeyHash {
    seed: u64,
    shared_seed: SharedSeed,
}

impl KeyHash {
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            shared_seed: SharedSeed::from_u64(seed),
        }
    }

    #[inline]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    #[inline]
    pub fn of(&self, key: &[u8]) -> u64 {
        let mut hasher = FoldHasher::with_seed(self.seed, &self.shared_seed);
        hasher.write(key);
        hasher.finish()
    }
}
