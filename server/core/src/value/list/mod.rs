//! Lists: a deque of chunks with a position for every element.
//!
//! A small list is packed into its entry (see [`packed`]); a larger one is a boxed [`List`]. What
//! `OBJECT ENCODING` says is kept apart from that: a list is a `listpack` or a `quicklist` by Valkey's rules.
//!
//! Invariants: no chunk is empty; positions ascend through the whole list; a `listpack` has one chunk at the
//! most. Changes go to a [`Sink`] in the order in which a follower has to make them. Nothing here knows of
//! keys, conditions or replies.

mod chunk;
mod deque;
mod edit;
mod element;
mod limits;
mod packed;
mod position;
mod view;

#[cfg(test)]
mod tests;

pub use limits::Fill;
pub use packed::{Packed, Silent};
pub use view::{Values, View};

use crate::effect::ListPosition;
use chunk::Chunk;
use deque::{Deque, Place};

/// Who is told of the changes to a list's rows.
pub trait Sink {
    /// Whether anyone listens: costly telling is left out otherwise.
    fn on(&self) -> bool;
    fn put(&mut self, position: ListPosition, value: &[u8], created: bool);
    fn delete(&mut self, position: ListPosition);
}

/// A list outside its entry.
#[derive(Clone, Debug, Default)]
pub struct List {
    generation: u64,
    chunks: Deque,
    /// What `OBJECT ENCODING` calls it.
    quicklist: bool,
    /// The buffer of a chunk that was emptied, for the next one.
    spare: Option<Vec<u8>>,
}

/// Buffers above this are not kept for the next chunk.
const SPARE_MAX: usize = 64 * 1024;

impl List {
    pub fn new(generation: u64) -> Self {
        Self {
            generation,
            ..Self::default()
        }
    }

    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// A copy with another generation.
    pub fn duplicate(&self, generation: u64) -> Self {
        let mut copy = self.clone();
        copy.spare = None;
        copy.generation = generation;
        copy
    }

    pub fn set_generation(&mut self, generation: u64) {
        self.generation = generation;
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.chunks.len()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn encoding(&self) -> &'static str {
        if self.quicklist { "quicklist" } else { "listpack" }
    }

    /// Bytes taken from the allocator.
    pub fn allocated(&self) -> usize {
        size_of::<Self>() + self.chunks.allocated() + self.spare.as_ref().map_or(0, Vec::capacity)
    }

    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let (place, offset) = self.chunks.locate(index)?;
        Some(self.chunks.get(place).get(offset))
    }

    pub fn position(&self, index: usize) -> Option<ListPosition> {
        let (place, offset) = self.chunks.locate(index)?;
        Some(self.chunks.get(place).position(offset))
    }

    /// The first or the last element.
    #[inline]
    pub fn end(&self, back: bool) -> Option<&[u8]> {
        let chunk = self.chunks.get(self.chunks.end(back)?);
        Some(chunk.get(if back { chunk.len() - 1 } else { 0 }))
    }

    /// Before elements are added: decides on the encoding by what they will take, as Valkey does.
    #[inline]
    pub fn before_adding(&mut self, fill: Fill, bytes: usize, count: usize) {
        if !self.quicklist {
            let weight = self
                .chunks
                .end(false)
                .map_or(0, |place| self.chunks.get(place).weight());
            self.quicklist = fill.exceeded(weight.max(EMPTY_LISTPACK) + bytes, self.len() + count);
        }
    }

    /// After elements were removed: one chunk that is small enough is a listpack again.
    #[inline]
    pub fn after_removing(&mut self, fill: Fill) {
        if self.quicklist && self.chunks.chunks() == 1 {
            let Some(place) = self.chunks.end(false) else {
                return;
            };
            let chunk = self.chunks.get(place);
            let alone = stands_alone(chunk, fill);
            self.quicklist = alone || !fill.small_again(chunk.weight(), chunk.len());
        }
    }

    /// Adds an element at an end. `position` follows from its neighbour.
    #[inline]
    pub fn push(&mut self, back: bool, value: &[u8], fill: Fill, sink: &mut impl Sink) {
        let position = match self.chunks.end(back) {
            None => ListPosition::MIDDLE,
            Some(place) => {
                let chunk = self.chunks.get(place);
                position::beside(if back { chunk.last() } else { chunk.first() }, back)
            }
        };
        self.push_at(back, position, value, fill);
        sink.put(position, value, true);
    }

    fn push_at(&mut self, back: bool, position: ListPosition, value: &[u8], fill: Fill) {
        let mut place = self.chunks.end(back);
        if let Some(at) = place
            && self.quicklist
            && !accepts(self.chunks.get(at), value.len(), fill)
        {
            place = None;
        }
        let place = place.unwrap_or_else(|| {
            let chunk = self.fresh_chunk(value.len(), back, fill);
            self.chunks.push(chunk, back)
        });
        self.chunks.edit(place, |chunk| {
            if back {
                chunk.push_back(position, value)
            } else {
                chunk.push_front(position, value)
            }
        });
    }

    /// A new chunk at an end, as large as the one beside it has become.
    fn fresh_chunk(&mut self, len: usize, back: bool, fill: Fill) -> Chunk {
        let beside = self
            .chunks
            .end(back)
            .map_or(0, |place| self.chunks.get(place).used());
        let capacity = beside.min(fill.bytes_typical()).max(element::size_of(len));
        Chunk::new(self.spare.take(), capacity, back)
    }

    /// Removes the element at an end.
    #[inline]
    pub fn pop(&mut self, back: bool, sink: &mut impl Sink) {
        let Some(place) = self.chunks.end(back) else {
            return;
        };
        let chunk = self.chunks.get(place);
        sink.delete(if back { chunk.last() } else { chunk.first() });
        let len = chunk.len();
        if len == 1 {
            self.drop_chunk(place);
        } else {
            self.chunks
                .edit(place, |chunk| chunk.remove(if back { len - 1 } else { 0 }));
        }
    }

    fn drop_chunk(&mut self, place: Place) {
        if let Some(mut chunk) = self.chunks.remove(place)
            && self.spare.is_none()
        {
            chunk.clear();
            let buffer = chunk.into_buffer();
            if buffer.len() <= SPARE_MAX {
                self.spare = Some(buffer);
            }
        }
    }

    /// Removes up to `count` elements from an end.
    pub fn drop_end(&mut self, mut count: usize, back: bool, sink: &mut impl Sink) {
        while count > 0 {
            let Some(place) = self.chunks.end(back) else {
                return;
            };
            let chunk = self.chunks.get(place);
            let (len, here) = (chunk.len(), chunk.len().min(count));
            if sink.on() {
                for index in 0..here {
                    sink.delete(chunk.position(if back { len - 1 - index } else { index }));
                }
            }
            if here == len {
                self.drop_chunk(place);
            } else {
                self.chunks.edit(place, |chunk| chunk.trim(here, back));
            }
            count -= here;
        }
    }

    /// Drops chunks with about `budget` elements; `true` when nothing is left.
    pub fn free_slice(&mut self, budget: usize) -> bool {
        let mut freed = 0;
        while freed < budget {
            let Some(place) = self.chunks.end(true) else {
                return true;
            };
            // A chunk is one block to the allocator: its elements cost nothing by themselves.
            freed += self.chunks.get(place).len() / 16 + 1;
            self.chunks.remove(place);
        }
        self.is_empty()
    }
}

/// What an empty listpack takes.
const EMPTY_LISTPACK: usize = 7;

/// A chunk that is one element too large to share.
fn stands_alone(chunk: &Chunk, fill: Fill) -> bool {
    chunk.len() == 1 && chunk.used() > fill.bytes_typical() && fill.stands_alone(chunk.get(0).len())
}

fn accepts(chunk: &Chunk, len: usize, fill: Fill) -> bool {
    !stands_alone(chunk, fill) && fill.accepts(chunk.weight(), chunk.len(), len)
}
