//! Reading a sorted set, packed or large.

use super::SortedSet;
use super::small;
use crate::keyspace::Collection;
use crate::keyspace::collection::packed_generation;
use crate::memory::{Entry, Heap, Slot, Value};

#[derive(Clone, Copy)]
pub enum View<'a> {
    Packed(&'a [u8]),
    Large(&'a SortedSet, &'a Heap),
}

impl<'a> View<'a> {
    /// Of an entry that holds a sorted set.
    pub fn new(entry: Entry<'a, Collection>, heap: &'a Heap) -> Self {
        match entry.value() {
            Value::Bytes(bytes) => Self::Packed(bytes),
            Value::Boxed(Collection::SortedSet(set)) => Self::Large(set, heap),
            Value::Boxed(_) => Self::Packed(&[]),
        }
    }

    /// As [`View::new`], of a slot.
    pub fn of(slot: &'a mut Slot<'_, Collection>) -> Self {
        if slot.entry().boxed().is_none() {
            return Self::Packed(slot.bytes_mut());
        }
        match slot.boxed() {
            Some((Collection::SortedSet(set), heap)) => Self::Large(set, heap),
            _ => Self::Packed(&[]),
        }
    }

    /// The name that `OBJECT ENCODING` shows.
    pub fn encoding(self) -> &'static str {
        match self {
            Self::Packed(_) => "listpack",
            Self::Large(..) => "skiplist",
        }
    }

    pub fn is_packed(self) -> bool {
        matches!(self, Self::Packed(_))
    }

    pub fn len(self) -> usize {
        match self {
            Self::Packed(bytes) => small::len(bytes),
            Self::Large(set, _) => set.len(),
        }
    }

    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    pub fn score(self, member: &[u8]) -> Option<f64> {
        match self {
            Self::Packed(bytes) => small::find(bytes, member).map(|element| element.score),
            Self::Large(set, heap) => set.score(heap, member),
        }
    }

    /// The member's place in ascending order, and its score.
    pub fn rank(self, member: &[u8]) -> Option<(usize, f64)> {
        match self {
            Self::Packed(bytes) => small::elements(bytes)
                .enumerate()
                .find(|(_, element)| element.member == member)
                .map(|(rank, element)| (rank, element.score)),
            Self::Large(set, heap) => set.rank(heap, member),
        }
    }

    /// How many members `before` holds for, which must be a first part of the order.
    pub fn partition(self, mut before: impl FnMut(f64, &[u8]) -> bool) -> usize {
        match self {
            Self::Packed(bytes) => small::elements(bytes)
                .take_while(|element| before(element.score, element.member))
                .count(),
            Self::Large(set, heap) => set
                .order()
                .partition(|score, handle| before(score, heap.key_of(handle))),
        }
    }

    /// As [`View::partition`] where the score alone decides: the members are not read.
    pub fn partition_by_score(self, mut before: impl FnMut(f64) -> bool) -> usize {
        match self {
            Self::Packed(bytes) => small::elements(bytes)
                .take_while(|element| before(element.score))
                .count(),
            Self::Large(set, _) => set.order().partition(|score, _| before(score)),
        }
    }

    /// Shows `count` members from `rank` on (counted and going from the last one backwards if `reverse`),
    /// until `show` says false.
    pub fn visit(
        self,
        rank: usize,
        count: usize,
        reverse: bool,
        mut show: impl FnMut(&'a [u8], f64) -> bool,
    ) {
        match self {
            Self::Packed(bytes) if !reverse => {
                small::elements(bytes)
                    .skip(rank)
                    .take(count)
                    .all(|element| show(element.member, element.score));
            }
            Self::Packed(bytes) => {
                let end = small::len(bytes).saturating_sub(rank);
                let start = end.saturating_sub(count);
                if end - start <= 1 {
                    // The usual pop of the last one, without a list.
                    small::elements(bytes)
                        .take(end)
                        .skip(start)
                        .all(|one| show(one.member, one.score));
                    return;
                }
                let part: Vec<_> = small::elements(bytes).take(end).skip(start).collect();
                part.iter()
                    .rev()
                    .all(|element| show(element.member, element.score));
            }
            Self::Large(set, heap) => {
                set.order().visit(rank, count, reverse, &mut |score, handle| {
                    show(heap.key_of(handle), score)
                });
            }
        }
    }

    /// Shows all members in order.
    pub fn for_each(self, mut show: impl FnMut(&'a [u8], f64)) {
        self.visit(0, usize::MAX, false, |member, score| {
            show(member, score);
            true
        });
    }

    pub fn generation(self) -> u64 {
        match self {
            Self::Packed(bytes) => packed_generation(bytes),
            Self::Large(set, _) => set.generation(),
        }
    }
}
