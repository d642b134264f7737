//! A run of a list's elements in one buffer, with room at both ends: pushes and pops there move nothing.
//!
//! Invariants: `start..end` of the buffer are whole elements, `count` of them; `weight` is their sum; there
//! are as many positions. Knows nothing of limits.

use super::element::{self, Span};
use super::position::Positions;
use crate::effect::ListPosition;

#[derive(Clone, Debug)]
pub(super) struct Chunk {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    count: u32,
    weight: usize,
    positions: Positions,
}

/// The least that a buffer takes.
const BUFFER_MIN: usize = 64;
/// What a listpack takes without elements.
const LISTPACK_FRAME: usize = 7;

impl Chunk {
    /// An empty chunk in a buffer to be used again, or a new one of `capacity`, with its room at the side
    /// where it will grow.
    pub(super) fn new(spare: Option<Vec<u8>>, capacity: usize, back: bool) -> Self {
        let mut buffer = spare.unwrap_or_default();
        if buffer.len() < capacity {
            buffer = vec![0; capacity];
        }
        let start = if back { 0 } else { buffer.len() };
        Self {
            buffer,
            start,
            end: start,
            count: 0,
            weight: 0,
            positions: Positions::From(0),
        }
    }

    pub(super) fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.count as usize
    }

    /// Bytes that the same elements take as a listpack.
    #[inline]
    pub(super) fn weight(&self) -> usize {
        self.weight + LISTPACK_FRAME
    }

    /// The same without the listpack's frame.
    pub(super) fn bare_weight(&self) -> usize {
        self.weight
    }

    /// Bytes of the elements.
    #[inline]
    pub(super) fn used(&self) -> usize {
        self.end - self.start
    }

    /// Bytes taken from the allocator.
    pub(super) fn allocated(&self) -> usize {
        self.buffer.capacity() + self.positions.allocated()
    }

    #[inline]
    pub(super) fn position(&self, index: usize) -> ListPosition {
        self.positions.get(index)
    }

    pub(super) fn set_position(&mut self, index: usize, position: ListPosition) {
        self.positions.set(index, position, self.count as usize);
    }

    pub(super) fn positions(&self) -> &Positions {
        &self.positions
    }

    #[inline]
    pub(super) fn first(&self) -> ListPosition {
        self.positions.get(0)
    }

    #[inline]
    pub(super) fn last(&self) -> ListPosition {
        self.positions.get(self.count as usize - 1)
    }

    /// Where the `index`th element stands, from the nearer end.
    #[inline]
    fn seek(&self, index: usize) -> Span {
        let count = self.count as usize;
        debug_assert!(index < count, "an element of the chunk");
        if index <= count / 2 {
            let mut span = element::after(&self.buffer, self.start);
            for _ in 0..index {
                span = element::after(&self.buffer, span.end);
            }
            span
        } else {
            let mut span = element::before(&self.buffer, self.end);
            for _ in index + 1..count {
                span = element::before(&self.buffer, span.start);
            }
            span
        }
    }

    #[inline]
    pub(super) fn get(&self, index: usize) -> &[u8] {
        self.seek(index).of(&self.buffer)
    }

    /// The elements from `index` on, forwards.
    #[inline]
    pub(super) fn iter_from(&self, index: usize) -> Forwards<'_> {
        let at = if index < self.count as usize {
            self.seek(index).start
        } else {
            self.end
        };
        Forwards {
            bytes: &self.buffer[..self.end],
            at,
        }
    }

    /// The elements up to and with `index`, backwards.
    #[inline]
    pub(super) fn iter_back_from(&self, index: usize) -> Backwards<'_> {
        Backwards {
            bytes: &self.buffer,
            start: self.start,
            at: self.seek(index).end,
        }
    }

    #[inline]
    pub(super) fn push_back(&mut self, position: ListPosition, value: &[u8]) {
        let size = element::size_of(value.len());
        self.make_room(size, true);
        element::write(&mut self.buffer[self.end..self.end + size], value);
        self.end += size;
        self.note_insert(self.count as usize, position, value);
    }

    #[inline]
    pub(super) fn push_front(&mut self, position: ListPosition, value: &[u8]) {
        let size = element::size_of(value.len());
        self.make_room(size, false);
        self.start -= size;
        element::write(&mut self.buffer[self.start..self.start + size], value);
        self.note_insert(0, position, value);
    }

    #[inline]
    fn note_insert(&mut self, index: usize, position: ListPosition, value: &[u8]) {
        self.positions.insert(index, position, self.count as usize);
        self.count += 1;
        self.weight += element::weight(value);
    }

    pub(super) fn insert(&mut self, index: usize, position: ListPosition, value: &[u8]) {
        if index == 0 {
            return self.push_front(position, value);
        }
        if index == self.count as usize {
            return self.push_back(position, value);
        }
        let size = element::size_of(value.len());
        self.make_room(size, true);
        let at = self.seek(index).start;
        self.buffer.copy_within(at..self.end, at + size);
        element::write(&mut self.buffer[at..at + size], value);
        self.end += size;
        self.note_insert(index, position, value);
    }

    pub(super) fn remove(&mut self, index: usize) {
        let span = self.seek(index);
        self.weight -= element::weight(span.of(&self.buffer));
        self.positions.remove(index, self.count as usize);
        if span.start == self.start {
            self.start = span.end;
        } else {
            self.buffer.copy_within(span.end..self.end, span.start);
            self.end -= span.end - span.start;
        }
        self.count -= 1;
    }

    /// Removes the first or the last `count` elements.
    pub(super) fn trim(&mut self, count: usize, back: bool) {
        for _ in 0..count {
            self.remove(if back { self.count as usize - 1 } else { 0 });
        }
        self.shrink();
    }

    /// Removes the elements of these ascending numbers in one pass.
    pub(super) fn remove_many(&mut self, indexes: &[usize]) {
        let mut gone = indexes.iter().copied().peekable();
        let (mut from, mut to) = (self.start, self.start);
        for index in 0..self.count as usize {
            let span = element::after(&self.buffer, from);
            from = span.end;
            if gone.next_if_eq(&index).is_some() {
                self.weight -= element::weight(span.of(&self.buffer));
            } else {
                if span.start != to {
                    self.buffer.copy_within(span.start..span.end, to);
                }
                to += span.end - span.start;
            }
        }
        self.end = to;
        self.positions.remove_many(indexes, self.count as usize);
        self.count -= indexes.len() as u32;
        self.shrink();
    }

    /// The number of the element at the position, or of the first one behind it.
    pub(super) fn search(&self, position: ListPosition) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.count as usize);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.position(middle).cmp(&position) {
                std::cmp::Ordering::Equal => return Ok(middle),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    pub(super) fn replace(&mut self, index: usize, value: &[u8]) {
        let size = element::size_of(value.len());
        let old = self.seek(index);
        let old_size = old.end - old.start;
        if size > old_size {
            self.make_room(size - old_size, true);
        }
        let old = self.seek(index);
        self.weight -= element::weight(old.of(&self.buffer));
        self.buffer.copy_within(old.end..self.end, old.start + size);
        element::write(&mut self.buffer[old.start..old.start + size], value);
        self.end = self.end + size - old_size;
        self.weight += element::weight(value);
        self.shrink();
    }

    /// The elements from `index` on as a chunk of their own.
    pub(super) fn split_off(&mut self, index: usize) -> Self {
        let at = if index < self.count as usize {
            self.seek(index).start
        } else {
            self.end
        };
        let bytes = &self.buffer[at..self.end];
        let mut rest = Self::new(None, bytes.len().max(BUFFER_MIN), true);
        rest.buffer[..bytes.len()].copy_from_slice(bytes);
        rest.end = bytes.len();
        rest.count = self.count - index as u32;
        rest.weight = rest.iter_from(0).map(element::weight).sum();
        rest.positions = self.positions.split_off(index);
        self.end = at;
        self.count = index as u32;
        self.weight -= rest.weight;
        self.shrink();
        rest
    }

    /// Appends all elements of the chunk behind this one.
    pub(super) fn append(&mut self, other: &Self) {
        let bytes = &other.buffer[other.start..other.end];
        self.make_room(bytes.len(), true);
        self.buffer[self.end..self.end + bytes.len()].copy_from_slice(bytes);
        self.end += bytes.len();
        self.positions
            .append(self.count as usize, &other.positions, other.count as usize);
        self.count += other.count;
        self.weight += other.weight;
    }

    /// Forgets its elements and keeps its buffer.
    pub(super) fn clear(&mut self) {
        (self.start, self.end, self.count, self.weight) = (0, 0, 0, 0);
        self.positions = Positions::From(0);
    }

    /// Makes sure of `size` free bytes at one side: slides the elements while that pays for itself, takes a
    /// larger buffer otherwise. The other side keeps up to a quarter of the room it had, so that pushes to
    /// both sides do not undo each other.
    #[inline]
    fn make_room(&mut self, size: usize, back: bool) {
        let room = if back {
            self.buffer.len() - self.end
        } else {
            self.start
        };
        if room < size {
            self.relocate(size, back);
        }
    }

    #[cold]
    fn relocate(&mut self, size: usize, back: bool) {
        let used = self.used();
        let other = if back {
            self.start
        } else {
            self.buffer.len() - self.end
        };
        let old_len = self.buffer.len();
        let slides = used + size <= old_len - old_len / 4;
        let len = if slides {
            old_len
        } else {
            let grown = used + used / 2 + BUFFER_MIN;
            grown.min(used + (1 << 20)).max(used + size)
        };
        let kept = other.min((len - used - size) / 4);
        let start = if back { kept } else { len - kept - used };
        if slides {
            self.buffer.copy_within(self.start..self.end, start);
        } else {
            let mut buffer = vec![0; len];
            buffer[start..start + used].copy_from_slice(&self.buffer[self.start..self.end]);
            self.buffer = buffer;
        }
        self.start = start;
        self.end = start + used;
    }

    /// Gives back most of a buffer that became much too large.
    pub(super) fn shrink(&mut self) {
        let used = self.used();
        if self.buffer.len() > 4 * BUFFER_MIN && used < self.buffer.len() / 4 {
            let mut buffer = vec![0; (used * 2).max(BUFFER_MIN)];
            buffer[..used].copy_from_slice(&self.buffer[self.start..self.end]);
            self.buffer = buffer;
            (self.start, self.end) = (0, used);
        }
    }

    /// The elements' bytes, for the packed form.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Takes over elements from the packed form; the chunk is empty.
    pub(super) fn load(&mut self, bytes: &[u8], count: u32, weight: usize, positions: Positions) {
        if self.buffer.len() < bytes.len() {
            self.buffer = vec![0; bytes.len() * 2];
        }
        // In the middle of the room: the next change may be at either end.
        self.start = (self.buffer.len() - bytes.len()) / 2;
        self.end = self.start + bytes.len();
        self.buffer[self.start..self.end].copy_from_slice(bytes);
        (self.count, self.weight, self.positions) = (count, weight, positions);
    }
}

/// Values of a chunk's bytes, first to last.
#[derive(Clone, Debug)]
pub struct Forwards<'c> {
    bytes: &'c [u8],
    at: usize,
}

impl<'c> Forwards<'c> {
    /// Over elements that stand alone, as in the packed form.
    pub(super) fn over(bytes: &'c [u8]) -> Self {
        Self { bytes, at: 0 }
    }
}

impl<'c> Iterator for Forwards<'c> {
    type Item = &'c [u8];

    #[inline]
    fn next(&mut self) -> Option<&'c [u8]> {
        if self.at == self.bytes.len() {
            return None;
        }
        let span = element::after(self.bytes, self.at);
        self.at = span.end;
        Some(span.of(self.bytes))
    }
}

/// Values of a chunk's bytes, last to first.
#[derive(Clone, Debug)]
pub struct Backwards<'c> {
    bytes: &'c [u8],
    start: usize,
    at: usize,
}

impl<'c> Backwards<'c> {
    pub(super) fn over(bytes: &'c [u8]) -> Self {
        Self {
            bytes,
            start: 0,
            at: bytes.len(),
        }
    }

    /// What was passed, first to last.
    pub(super) fn turned(self) -> Forwards<'c> {
        Forwards {
            bytes: self.bytes,
            at: self.at,
        }
    }
}

impl<'c> Iterator for Backwards<'c> {
    type Item = &'c [u8];

    #[inline]
    fn next(&mut self) -> Option<&'c [u8]> {
        if self.at == self.start {
            return None;
        }
        let span = element::before(self.bytes, self.at);
        self.at = span.start;
        Some(span.of(self.bytes))
    }
}
