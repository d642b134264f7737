//! The large form: an inner table from members to scores, and the tree that keeps them in order.
//!
//! Invariants: table and tree hold the same members with the same scores; the tree's handles name the
//! table's entries. An entry's value is always eight bytes, so entries never move but by compaction.

use std::convert::Infallible;

use hashbrown::HashMap;

use super::Pairs;
use super::tree::{Names, Tree};
use crate::keyspace::weight::table_bytes;
use crate::memory::{Expiry, Handle, Heap, NewValue, Table};

impl Names<Handle> for Heap {
    #[inline]
    fn name(&self, handle: Handle) -> &[u8] {
        self.key_of(handle)
    }
}

/// A large sorted set. Its members live in the heap of its shard, which every call takes.
pub struct SortedSet {
    generation: u64,
    members: Table<Infallible>,
    order: Tree<Handle>,
}

fn score_of(bytes: &[u8]) -> f64 {
    bytes
        .first_chunk::<8>()
        .map_or(0.0, |bytes| f64::from_le_bytes(*bytes))
}

impl SortedSet {
    pub fn new(generation: u64) -> Self {
        Self {
            generation,
            members: Table::new(),
            order: Tree::default(),
        }
    }

    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The same members as a set of its own, of that generation.
    pub fn duplicate(&self, generation: u64, heap: &mut Heap) -> Self {
        let mut pairs = Pairs::default();
        self.order.visit(0, usize::MAX, false, &mut |score, handle| {
            pairs.push(heap.key_of(handle), score);
            true
        });
        let mut copy = Self::new(generation);
        pairs
            .iter()
            .for_each(|(member, score)| copy.put(heap, member, score));
        copy
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub fn score(&self, heap: &Heap, member: &[u8]) -> Option<f64> {
        let entry = self.members.get(heap, heap.hash(member), member)?;
        Some(score_of(entry.bytes()))
    }

    /// Asks `decide` for the member's new score, given its old one if it is there; `None` leaves all as it
    /// is. A member that is not there is added.
    pub fn update(
        &mut self,
        heap: &mut Heap,
        member: &[u8],
        decide: impl FnOnce(Option<f64>) -> Option<f64>,
    ) {
        let hash = heap.hash(member);
        if let Some(mut slot) = self.members.get_mut(heap, hash, member) {
            let value = slot.bytes_mut();
            let old = score_of(value);
            if let Some(score) = decide(Some(old)).map(super::without_sign_of_zero) {
                value.copy_from_slice(&score.to_le_bytes());
                self.order.change_score(old, score, member, heap);
            }
            return;
        }
        if let Some(score) = decide(None).map(super::without_sign_of_zero) {
            let value = score.to_le_bytes();
            let put = self
                .members
                .put(heap, hash, member, 0, NewValue::Bytes(&value), Expiry::Clear);
            self.order.insert(score, put.handle, heap);
        }
    }

    /// Gives the member that score, adding it if it is not there.
    pub fn put(&mut self, heap: &mut Heap, member: &[u8], score: f64) {
        self.update(heap, member, |_| Some(score));
    }

    pub fn remove(&mut self, heap: &mut Heap, member: &[u8]) -> Option<f64> {
        let hash = heap.hash(member);
        let score = score_of(self.members.get(heap, hash, member)?.bytes());
        self.order.remove(score, member, heap);
        self.members.remove(heap, hash, member);
        Some(score)
    }

    /// Removes the member at `rank`, whose bytes are left in `member`.
    pub fn remove_at(&mut self, heap: &mut Heap, rank: usize, member: &mut Vec<u8>) -> Option<f64> {
        let item = self.order.remove_at(rank)?;
        member.clear();
        member.extend_from_slice(heap.key_of(item.handle));
        self.members.remove(heap, heap.hash(member), member);
        Some(item.score)
    }

    pub fn rank(&self, heap: &Heap, member: &[u8]) -> Option<(usize, f64)> {
        let score = self.score(heap, member)?;
        Some((self.order.rank(score, member, heap), score))
    }

    pub(super) fn order(&self) -> &Tree<Handle> {
        &self.order
    }

    /// Visits members in the order of the table, from a cursor that starts and ends at zero; see
    /// [`Table::scan`] for what it guarantees.
    pub fn scan(&self, heap: &Heap, cursor: u64, visit: &mut dyn FnMut(&[u8], f64)) -> u64 {
        self.members.scan(heap, cursor, &mut |entry| {
            visit(entry.key(), score_of(entry.bytes()))
        })
    }

    /// Frees up to about `budget` members; `true` when nothing is left.
    pub fn free_slice(&mut self, heap: &mut Heap, budget: usize) -> bool {
        let mut dropped = 0;
        while dropped < budget {
            match self.order.drop_some() {
                0 => break,
                some => dropped += some,
            }
        }
        self.members
            .clear_slice(heap, budget, &mut |never, _| match *never {})
    }

    /// A slice of compaction, see [`Table::compact_slice`]; the order learns where members went.
    pub fn compact_slice(&mut self, heap: &mut Heap, cursor: u64, budget: usize) -> u64 {
        let mut moves = Vec::new();
        let next = self
            .members
            .compact_slice(heap, cursor, budget, &mut |old, new, entry| {
                moves.push((old, new, score_of(entry.bytes())));
            });
        if moves.is_empty() {
            return next;
        }
        let mut names = Moved {
            heap,
            pending: moves.iter().map(|(old, new, _)| (*old, *new)).collect(),
        };
        // In the order in which they were made, so that a handle that was used again means the later one.
        for (old, new, score) in moves {
            self.order.rename(score, heap.key_of(new), old, new, &names);
            names.pending.remove(&old);
        }
        next
    }

    /// Bytes taken, about; see [`table_bytes`].
    pub fn bytes(&self, heap: &Heap, samples: usize) -> usize {
        size_of::<Self>() + table_bytes(&self.members, heap, samples) + self.order.allocated_bytes()
    }

    /// Bytes beside the members' entries: the table's index and the order.
    pub fn index_bytes(&self) -> usize {
        size_of::<Self>() + self.members.index_bytes() + self.order.allocated_bytes()
    }
}

/// Names of members of which some moved and are still under their old handles in the order.
struct Moved<'a> {
    heap: &'a Heap,
    pending: HashMap<Handle, Handle, foldhash::fast::RandomState>,
}

impl Names<Handle> for Moved<'_> {
    fn name(&self, handle: Handle) -> &[u8] {
        self.heap
            .key_of(self.pending.get(&handle).copied().unwrap_or(handle))
    }
}
