//! What whoever logs an owner's changes needs of it: their effects a turn at a time, and which replies have to
//! wait for them.

use super::Engine;
use crate::keyspace::Shard;

impl Engine {
    fn shards(&self) -> impl Iterator<Item = &Shard> {
        std::iter::once(&*self.shard).chain(self.bench.others())
    }

    pub(super) fn shards_mut(&mut self) -> impl Iterator<Item = &mut Shard> {
        std::iter::once(&mut *self.shard).chain(self.bench.others_mut())
    }

    /// From now on changes yield effects, which `take_effects` has to take.
    pub fn log_changes(&mut self) {
        self.world.logs_changes = true;
        for shard in self.shards_mut() {
            shard.effects.switch(shard.role.leads());
            shard.uncommitted.switch_on();
        }
    }

    /// Changes from here on belong to the turn of that number; numbers start above zero and only grow.
    pub fn begin_logged_turn(&mut self, turn: u64) {
        self.shards_mut().for_each(|shard| shard.uncommitted.begin(turn));
    }

    /// The turn that must be committed before the replies since the last call may go out; zero: none.
    pub fn take_wait(&self) -> u64 {
        let waits = self.shards().map(|shard| shard.uncommitted.take_wait());
        waits.max().unwrap_or(0)
    }

    /// There are effects that were not taken.
    pub fn has_effects(&self) -> bool {
        self.shards().any(|shard| !shard.effects.is_empty())
    }

    /// Bytes of effects that were not taken.
    pub fn effects_len(&self) -> usize {
        self.shards().map(|shard| shard.effects.bytes().len()).sum()
    }

    /// The effects of the shard at a place of this owner, encoded as one entry, in exchange for an empty
    /// buffer; `None` where there are none.
    pub fn take_effects(&mut self, place: usize, buffer: impl FnOnce() -> Vec<u8>) -> Option<Vec<u8>> {
        self.select_place(place);
        let effects = &mut self.shard.effects;
        (!effects.is_empty()).then(|| effects.take(buffer()))
    }
}
