//! `maxmemory`: makes room before commands that need it, and a slice at a time in between.

use super::{Engine, Obstacle};
use crate::exec::Now;
use crate::options::Id;

/// Keys that are evicted, or freed, between two looks at the clock.
const KEYS_BY_LOOK: usize = 16;
/// Elements of what was deleted before that are freed between two evictions.
const FREED_BETWEEN: usize = 1000;

impl Engine {
    /// What counts against `maxmemory`: all that this thread took from the allocator, and the slab.
    pub fn used_bytes(&self) -> usize {
        self.world.host.allocated() + self.slab_bytes()
    }

    /// Before a command that may need memory. Notes the obstacle if there is nothing to be had.
    #[inline]
    pub(super) fn make_room_for_command(&mut self, now: Now) {
        if self.shard.eviction.is_on() && !self.world.pause.holds_keys() {
            self.make_room(now);
        } else {
            self.note_memory(false);
        }
    }

    /// A slice of eviction; `true` when there is more to do at once.
    pub(super) fn make_room_in_tick(&mut self, now: Now) -> bool {
        self.shard.eviction.is_on() && !self.world.pause.holds_keys() && self.make_room(now)
    }

    /// `true` if more memory than allowed is still in use but there is more that can go: the time is up, and
    /// the rest is left to those that follow.
    #[inline(never)]
    fn make_room(&mut self, now: Now) -> bool {
        self.note_memory(false);
        if self.used_bytes() <= self.limit_bytes() {
            return false;
        }
        let limit_us = time_limit_us(self.world.options.count(Id::MaxMemoryEvictionTenacity));
        let began_us = self.world.host.clock_us();
        loop {
            if !self.make_some_room(now) {
                return false;
            }
            if self.world.host.clock_us().saturating_sub(began_us) > limit_us {
                return true;
            }
        }
    }

    #[inline]
    fn note_memory(&mut self, is_out: bool) {
        self.world.obstacles.set(Obstacle::OutOfMemory, is_out);
    }

    /// Bytes that this owner may use.
    fn limit_bytes(&self) -> usize {
        // Owners share what the node may use.
        self.shard.eviction.limit_bytes / usize::from(self.world.topology.owners)
    }

    fn make_some_room(&mut self, now: Now) -> bool {
        let limit = self.limit_bytes();
        for _ in 0..KEYS_BY_LOOK {
            if self.used_bytes() <= limit {
                return false;
            }
            // What is already gone comes first.
            let was_freeing = self.shard.is_freeing();
            self.shard.free_slice(FREED_BETWEEN);
            if !was_freeing && !self.shard.evict_one(now) {
                self.note_memory(true);
                return false;
            }
        }
        self.used_bytes() > limit
    }
}

/// How long one command, and one slice of background work, may evict (`maxmemory-eviction-tenacity`), with
/// Valkey's steps: up to half a millisecond at 10, then 15 % more each, and without end at 100.
fn time_limit_us(tenacity: usize) -> u64 {
    match tenacity {
        0..=10 => 50 * tenacity as u64,
        11..=99 => (500.0 * 1.15_f64.powi(tenacity as i32 - 10)) as u64,
        _ => u64::MAX,
    }
}
