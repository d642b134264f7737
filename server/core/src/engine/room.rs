//! `maxmemory`: makes room before commands that need it, and a slice at a time in between.

use super::Engine;
use crate::exec::Now;

/// Keys that one command, and one tick, evict at most. The rest is left to those that follow.
const KEYS_BY_COMMAND: usize = 128;
const KEYS_BY_TICK: usize = 256;
/// Elements of what was deleted before that are freed between two evictions.
const FREED_BETWEEN: usize = 1000;

impl Engine {
    /// What counts against `maxmemory`: all that this thread took from the allocator, and the slab.
    pub fn used_bytes(&self) -> usize {
        self.world.host.allocated() + self.slab_bytes()
    }

    /// Before a command that may need memory. Sets `world.out_of_memory` if there is nothing to be had.
    #[inline]
    pub(super) fn make_room_for_command(&mut self, now: Now) {
        if self.shard.eviction.is_on() && !self.world.pause.holds_keys() {
            self.make_room(now, KEYS_BY_COMMAND);
        } else {
            self.world.out_of_memory = false;
        }
    }

    /// A slice of eviction; `true` when there is more to do at once.
    pub(super) fn make_room_in_tick(&mut self, now: Now) -> bool {
        self.shard.eviction.is_on() && !self.world.pause.holds_keys() && self.make_room(now, KEYS_BY_TICK)
    }

    /// `true` if more memory than allowed is still in use but there is more that can go.
    #[inline(never)]
    fn make_room(&mut self, now: Now, keys: usize) -> bool {
        self.world.out_of_memory = false;
        // Owners share what the node may use.
        let limit = self.shard.eviction.limit_bytes / usize::from(self.world.topology.owners);
        for _ in 0..keys {
            if self.used_bytes() <= limit {
                return false;
            }
            // What is already gone comes first.
            let was_freeing = self.shard.is_freeing();
            self.shard.free_slice(FREED_BETWEEN);
            if !was_freeing && !self.shard.evict_one(now) {
                self.world.out_of_memory = true;
                return false;
            }
        }
        self.used_bytes() > limit
    }
}
