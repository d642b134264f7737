//! What whoever logs an owner's changes needs of it: their effects a turn at a time, and which replies have to
//! wait for them.

use super::Engine;
use crate::effect::apply::ApplyError;
use crate::effect::{DecodeError, Decoder};
use crate::exec::Now;
use crate::keyspace::{Shard, compare};

/// Why an entry could not be applied.
#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    #[error(transparent)]
    Decode(#[from] DecodeError),
    #[error(transparent)]
    Apply(#[from] ApplyError),
}

/// What a reply depends on: the changes of some shards up to a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wait {
    /// Zero: nothing.
    pub turn: u64,
    /// A bit for each place of a shard, modulo 64: where two share a bit a reply may wait longer than it must.
    pub places: u64,
}

impl Wait {
    pub const NOTHING: Self = Self { turn: 0, places: 0 };

    /// All changes of this owner up to a turn.
    pub fn for_all(turn: u64) -> Self {
        let places = if turn == 0 { 0 } else { u64::MAX };
        Self { turn, places }
    }

    /// The bit of a place.
    pub fn bit(place: usize) -> u64 {
        1 << (place % 64)
    }

    #[inline]
    pub fn is_nothing(self) -> bool {
        self.turn == 0
    }

    /// Both.
    #[inline]
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            turn: self.turn.max(other.turn),
            places: self.places | other.places,
        }
    }
}

/// What became of a turn in one shard, encoded.
pub struct Taken {
    pub parts: Vec<Vec<u8>>,
    pub last: Vec<u8>,
}

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

    /// Makes the changes of an entry of the shard at that place, which its leader decided.
    pub fn apply_entry(&mut self, place: usize, payload: &[u8], now: Now) -> Result<(), EntryError> {
        self.select_place(place);
        for decoded in Decoder::new(payload) {
            let (db, effect) = decoded?;
            self.apply_effect(db, &effect)?;
        }
        self.note_applied(place, now);
        Ok(())
    }

    /// What the shard at that place holds, as one number, and how many keys. See `compare::digest`.
    pub fn digest_at(&self, place: usize) -> ([u8; 20], u64) {
        compare::digest(self.shard_at(place))
    }

    /// Keys of the shard at that place, and what its keyspace takes of memory: what it counted, no walk.
    pub fn size_at(&self, place: usize) -> (u64, u64) {
        let shard = self.shard_at(place);
        let databases = shard.databases.iter();
        let (keys, index) = databases.fold((0, 0), |(keys, bytes), table| {
            (keys + table.len() as u64, bytes + table.index_bytes())
        });
        (keys, (shard.heap.slab_bytes() + index) as u64)
    }

    /// Changes from here on belong to the turn of that number; numbers start above zero and only grow.
    pub fn begin_logged_turn(&mut self, turn: u64) {
        self.shards_mut().for_each(|shard| shard.uncommitted.begin(turn));
    }

    /// What must be committed before the replies since the last call may go out.
    pub fn take_wait(&self) -> Wait {
        let selected = self.bench.selected();
        let mut wait = at_place(selected, self.shard.uncommitted.take_wait());
        if self.bench.has_others() {
            for (place, shard) in self.bench.others_by_place() {
                wait = wait.and(at_place(place, shard.uncommitted.take_wait()));
            }
        }
        wait
    }

    /// The places of shards with effects that were not taken, as in a `Wait`.
    pub fn places_with_effects(&self) -> u64 {
        let others = self.bench.others_by_place();
        let all = others.chain([(self.bench.selected(), &*self.shard)]);
        all.filter(|(_, shard)| !shard.effects.is_empty())
            .fold(0, |places, (place, _)| places | Wait::bit(place))
    }

    /// There are effects that were not taken.
    pub fn has_effects(&self) -> bool {
        self.shards().any(|shard| !shard.effects.is_empty())
    }

    /// Bytes of effects that were not taken.
    pub fn effects_len(&self) -> usize {
        self.shards().map(|shard| shard.effects.len()).sum()
    }

    /// The same of the shard at one place.
    pub fn has_effects_at(&self, place: usize) -> bool {
        !self.shard_at(place).effects.is_empty()
    }

    /// The effects of the shard at a place of this owner, encoded as one entry, in exchange for an empty
    /// buffer; `None` where there are none. A large one has parts before its last, which count together with it.
    pub fn take_effects(&mut self, place: usize, buffer: impl FnOnce() -> Vec<u8>) -> Option<Taken> {
        self.select_place(place);
        let effects = &mut self.shard.effects;
        (!effects.is_empty()).then(|| Taken {
            parts: effects.take_ended_parts(),
            last: effects.take(buffer()),
        })
    }
}

fn at_place(place: usize, turn: u64) -> Wait {
    let places = if turn == 0 { 0 } else { Wait::bit(place) };
    Wait { turn, places }
}
