//! Eviction: which key goes when memory is short (`maxmemory-policy`).
//!
//! Approximated: each time some keys of every database are sampled into a small pool of the best candidates
//! so far, and the best of the pool goes. The pool outlives the call, so that good candidates that were
//! sampled earlier are not forgotten. How much memory is in use, and how long to go on, is the engine's
//! affair.

use super::access::idle_seconds;
use super::{AccessPolicy, Classes, Collection, Db, Shard, kind};
use crate::effect::Effect;
use crate::exec::Now;
use crate::memory::Entry;
use crate::value::idem;

/// `maxmemory-policy`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Policy {
    #[default]
    NoEviction,
    AllKeysLru,
    AllKeysLfu,
    AllKeysRandom,
    VolatileLru,
    VolatileLfu,
    VolatileRandom,
    VolatileTtl,
}

impl Policy {
    /// As `CONFIG` names them.
    pub const NAMES: [(Self, &'static str); 8] = [
        (Self::VolatileLru, "volatile-lru"),
        (Self::VolatileLfu, "volatile-lfu"),
        (Self::VolatileRandom, "volatile-random"),
        (Self::VolatileTtl, "volatile-ttl"),
        (Self::AllKeysLru, "allkeys-lru"),
        (Self::AllKeysLfu, "allkeys-lfu"),
        (Self::AllKeysRandom, "allkeys-random"),
        (Self::NoEviction, "noeviction"),
    ];

    pub fn is_lfu(self) -> bool {
        matches!(self, Self::AllKeysLfu | Self::VolatileLfu)
    }

    /// Only keys with an expiry may go.
    fn is_volatile(self) -> bool {
        matches!(
            self,
            Self::VolatileLru | Self::VolatileLfu | Self::VolatileRandom | Self::VolatileTtl
        )
    }

    fn is_random(self) -> bool {
        matches!(self, Self::AllKeysRandom | Self::VolatileRandom)
    }

    /// How much it deserves to go: the greater the sooner.
    fn rank(self, entry: &Entry<'_, Collection>, access: AccessPolicy, now: Now) -> u64 {
        match self {
            Self::AllKeysLfu | Self::VolatileLfu => {
                u64::from(255 - access.frequency(entry.access(), now.ms()).min(255))
            }
            Self::VolatileTtl => u64::MAX - entry.expire_at_ms().unwrap_or(u64::MAX),
            // Counted back from the end of time, so that ranks of different moments compare.
            _ => u64::MAX - now.ms() / 1000 + u64::from(idle_seconds(entry.access(), now.ms())),
        }
    }
}

/// Candidates kept between calls.
const POOL: usize = 16;
/// Random choices that are tried before a keyspace counts as one in which nothing may go.
const RANDOM_TRIES: usize = 64;

struct Candidate {
    rank: u64,
    db: u16,
    key: Box<[u8]>,
}

/// The options of eviction, and its memory.
pub struct Eviction {
    /// `maxmemory`, bytes; 0 for no limit.
    pub limit_bytes: usize,
    policy: Policy,
    /// `maxmemory-samples`.
    pub samples: usize,
    /// Whether an `IDEM` record must stay, since somebody is at work under it.
    pub must_stay: fn(record: &[u8], now: Now) -> bool,
    /// Ascending: the last is the best candidate.
    pool: Vec<Candidate>,
    /// Where random eviction goes on, so that every database has its turn.
    next_db: usize,
}

impl Default for Eviction {
    fn default() -> Self {
        Self {
            limit_bytes: 0,
            policy: Policy::default(),
            samples: 5,
            must_stay: idem::is_running,
            pool: Vec::with_capacity(POOL),
            next_db: 0,
        }
    }
}

impl Eviction {
    #[inline]
    pub fn is_on(&self) -> bool {
        self.limit_bytes > 0
    }

    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// An `IDEM` record is a promise: it stays under the policies for all keys, and while work goes on.
    fn may_go(&self, entry: &Entry<'_, Collection>, now: Now) -> bool {
        entry.kind() != kind::IDEM || self.policy.is_volatile() && !(self.must_stay)(entry.bytes(), now)
    }

    /// Takes a key into the pool if it deserves to go more than one that is there.
    fn offer(&mut self, rank: u64, db: u16, key: &[u8]) {
        let is_full = self.pool.len() == POOL;
        if is_full && self.pool[0].rank >= rank {
            return;
        }
        if self.pool.iter().any(|known| known.db == db && *known.key == *key) {
            return;
        }
        if is_full {
            self.pool.remove(0);
        }
        let at = self.pool.partition_point(|known| known.rank < rank);
        self.pool.insert(
            at,
            Candidate {
                rank,
                db,
                key: key.into(),
            },
        );
    }
}

impl Shard {
    /// Changes the policy, and with it what the access bits of entries mean.
    pub fn set_eviction_policy(&mut self, policy: Policy) {
        self.eviction.policy = policy;
        self.eviction.pool.clear();
        self.access.lfu = policy.is_lfu();
    }

    /// Removes one key by the policy. `false`: there is none that may go.
    pub fn evict_one(&mut self, now: Now) -> bool {
        let policy = self.eviction.policy;
        if policy == Policy::NoEviction {
            return false;
        }
        let found = if policy.is_random() {
            self.choose_at_random(now)
        } else {
            self.choose_the_best(now)
        };
        let Some((db, name)) = found else {
            return false;
        };
        let mut db = Db {
            shard: self,
            index: db,
            now,
            no_touch: true,
        };
        let key = db.key(&name);
        db.evict(key);
        true
    }

    fn choose_the_best(&mut self, now: Now) -> Option<(u16, Box<[u8]>)> {
        let is_volatile = self.eviction.policy.is_volatile();
        // A sample may bring nothing but what must stay, or keys that are known already.
        for _ in 0..RANDOM_TRIES {
            let mut any = false;
            for db in 0..self.databases.len() {
                any |= self.sample_into_pool(db, now);
            }
            while let Some(best) = self.eviction.pool.pop() {
                let table = &self.databases[best.db as usize];
                let entry = table.get(&self.heap, self.heap.hash(&best.key), &best.key);
                let Some(entry) = entry.filter(|entry| !is_volatile || entry.expire_at_ms().is_some()) else {
                    continue;
                };
                // It may have been used since it was sampled: then the next one may be better.
                let rank = self.eviction.policy.rank(&entry, self.access, now);
                let next = self.eviction.pool.last();
                if rank < best.rank && next.is_some_and(|next| next.rank > rank) {
                    self.eviction.offer(rank, best.db, &best.key);
                } else if self.eviction.may_go(&entry, now) {
                    return Some((best.db, best.key));
                }
            }
            if !any {
                return None;
            }
        }
        None
    }

    /// `true` if the database has keys that the policy looks at.
    fn sample_into_pool(&mut self, db: usize, now: Now) -> bool {
        let policy = self.eviction.policy;
        let keys = if policy.is_volatile() {
            self.databases[db].expiring()
        } else {
            self.databases[db].len()
        };
        if keys == 0 {
            return false;
        }
        for _ in 0..self.eviction.samples.min(keys) {
            let random = self.random();
            let Some(entry) = self.databases[db].sample(&self.heap, random, policy.is_volatile()) else {
                continue;
            };
            if self.eviction.may_go(&entry, now) {
                let rank = policy.rank(&entry, self.access, now);
                self.eviction.offer(rank, db as u16, entry.key());
            }
        }
        true
    }

    fn choose_at_random(&mut self, now: Now) -> Option<(u16, Box<[u8]>)> {
        let is_volatile = self.eviction.policy.is_volatile();
        let databases = self.databases.len();
        for nth in 0..databases {
            let db = (self.eviction.next_db + nth) % databases;
            for _ in 0..RANDOM_TRIES {
                let random = self.random();
                match self.databases[db].sample(&self.heap, random, is_volatile) {
                    None => break,
                    Some(entry) if self.eviction.may_go(&entry, now) => {
                        self.eviction.next_db = (db + 1) % databases;
                        return Some((db as u16, entry.key().into()));
                    }
                    Some(_) => {}
                }
            }
        }
        None
    }
}

impl Db<'_> {
    /// Removes an entry for the sake of its memory.
    fn evict(&mut self, key: super::Key<'_>) {
        let generation = self.generation_of(key);
        self.remove(key);
        self.shard.stats.evicted += 1;
        self.emit(Effect::Delete {
            key: key.bytes,
            generation,
        });
        self.notify(Classes::EVICTED, "evicted", key);
        self.touch(key);
    }
}
