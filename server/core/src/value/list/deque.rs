//! The chunks of a list, in order, in blocks: seeking by element number counts blocks and then chunks from
//! the nearer end, and a chunk put in or taken out of the middle moves at most one block.
//!
//! Invariants: no block is empty; `len` of a block is the sum of its chunks' and of the deque its blocks'.

use std::collections::VecDeque;

use super::chunk::Chunk;
use crate::effect::ListPosition;

/// Chunks a block holds before it is halved.
const BLOCK_MAX: usize = 64;

#[derive(Clone, Debug, Default)]
struct Block {
    chunks: VecDeque<Chunk>,
    len: usize,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Deque {
    blocks: VecDeque<Block>,
    /// Elements.
    len: usize,
    chunks: usize,
    /// An emptied block, kept so that a queue that moves through memory allocates nothing.
    spare: Option<Block>,
}

/// Where a chunk stands. Valid until chunks come or go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    block: usize,
    chunk: usize,
}

impl Deque {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn chunks(&self) -> usize {
        self.chunks
    }

    #[inline]
    pub(super) fn end(&self, back: bool) -> Option<Place> {
        if !back {
            return (!self.blocks.is_empty()).then_some(Place { block: 0, chunk: 0 });
        }
        let last = self.blocks.back()?;
        Some(Place {
            block: self.blocks.len() - 1,
            chunk: last.chunks.len() - 1,
        })
    }

    #[inline]
    pub(super) fn get(&self, place: Place) -> &Chunk {
        &self.blocks[place.block].chunks[place.chunk]
    }

    /// Changes a chunk and keeps the counts. A chunk that it leaves empty must be removed.
    #[inline]
    pub(super) fn edit<R>(&mut self, place: Place, change: impl FnOnce(&mut Chunk) -> R) -> R {
        let block = &mut self.blocks[place.block];
        let chunk = &mut block.chunks[place.chunk];
        let before = chunk.len();
        let result = change(chunk);
        let after = chunk.len();
        block.len = block.len + after - before;
        self.len = self.len + after - before;
        result
    }

    pub(super) fn next(&self, place: Place) -> Option<Place> {
        if place.chunk + 1 < self.blocks[place.block].chunks.len() {
            Some(Place {
                chunk: place.chunk + 1,
                ..place
            })
        } else {
            (place.block + 1 < self.blocks.len()).then_some(Place {
                block: place.block + 1,
                chunk: 0,
            })
        }
    }

    pub(super) fn previous(&self, place: Place) -> Option<Place> {
        if place.chunk > 0 {
            return Some(Place {
                chunk: place.chunk - 1,
                ..place
            });
        }
        let block = place.block.checked_sub(1)?;
        Some(Place {
            block,
            chunk: self.blocks[block].chunks.len() - 1,
        })
    }

    /// The chunk of the `index`th element and its number there.
    pub(super) fn locate(&self, index: usize) -> Option<(Place, usize)> {
        if index >= self.len {
            return None;
        }
        let (block, mut rest) = seek(&self.blocks, self.len, index, |block| block.len);
        let (chunk, offset) = {
            let block = &self.blocks[block];
            let (chunk, offset) = seek(&block.chunks, block.len, rest, Chunk::len);
            rest = offset;
            (chunk, rest)
        };
        Some((Place { block, chunk }, offset))
    }

    /// The last chunk that begins at or before the position; the first one if there is none.
    pub(super) fn locate_position(&self, position: ListPosition) -> Option<Place> {
        self.end(false)?;
        let first = |block: &Block| {
            block
                .chunks
                .front()
                .is_some_and(|chunk| chunk.first() <= position)
        };
        let block = self.blocks.partition_point(first).saturating_sub(1);
        let chunk = self.blocks[block]
            .chunks
            .partition_point(|chunk| chunk.first() <= position)
            .saturating_sub(1);
        Some(Place { block, chunk })
    }

    pub(super) fn push(&mut self, chunk: Chunk, back: bool) -> Place {
        let full = |block: Option<&Block>| block.is_none_or(|block| block.chunks.len() >= BLOCK_MAX);
        self.len += chunk.len();
        self.chunks += 1;
        if back {
            if full(self.blocks.back()) {
                let block = self.spare.take().unwrap_or_default();
                self.blocks.push_back(block);
            }
            if let Some(block) = self.blocks.back_mut() {
                block.len += chunk.len();
                block.chunks.push_back(chunk);
            }
        } else {
            if full(self.blocks.front()) {
                let block = self.spare.take().unwrap_or_default();
                self.blocks.push_front(block);
            }
            if let Some(block) = self.blocks.front_mut() {
                block.len += chunk.len();
                block.chunks.push_front(chunk);
            }
        }
        self.end(back).unwrap_or(Place { block: 0, chunk: 0 })
    }

    /// Puts a chunk behind the one at `place`.
    pub(super) fn insert_after(&mut self, mut place: Place, chunk: Chunk) -> Place {
        if self.blocks[place.block].chunks.len() >= BLOCK_MAX {
            let block = &mut self.blocks[place.block];
            let rest = block.chunks.split_off(BLOCK_MAX / 2);
            let len = rest.iter().map(Chunk::len).sum();
            block.len -= len;
            self.blocks.insert(place.block + 1, Block { chunks: rest, len });
            if place.chunk >= BLOCK_MAX / 2 {
                place = Place {
                    block: place.block + 1,
                    chunk: place.chunk - BLOCK_MAX / 2,
                };
            }
        }
        self.len += chunk.len();
        self.chunks += 1;
        let block = &mut self.blocks[place.block];
        block.len += chunk.len();
        block.chunks.insert(place.chunk + 1, chunk);
        Place {
            chunk: place.chunk + 1,
            ..place
        }
    }

    pub(super) fn remove(&mut self, place: Place) -> Option<Chunk> {
        let block = self.blocks.get_mut(place.block)?;
        let chunk = block.chunks.remove(place.chunk)?;
        block.len -= chunk.len();
        self.len -= chunk.len();
        self.chunks -= 1;
        if block.chunks.is_empty() {
            self.spare = self.blocks.remove(place.block);
        }
        Some(chunk)
    }

    /// Bytes taken from the allocator.
    pub(super) fn allocated(&self) -> usize {
        let of_block = |block: &Block| {
            block.chunks.capacity() * size_of::<Chunk>()
                + block.chunks.iter().map(Chunk::allocated).sum::<usize>()
        };
        self.blocks.capacity() * size_of::<Block>() + self.blocks.iter().map(of_block).sum::<usize>()
    }
}

/// The part that holds the `index`th of `len` elements and its number there, counted from the nearer end.
#[inline]
fn seek<T>(parts: &VecDeque<T>, len: usize, index: usize, part_len: impl Fn(&T) -> usize) -> (usize, usize) {
    if index < len / 2 {
        let mut rest = index;
        let mut at = 0;
        loop {
            let here = part_len(&parts[at]);
            if rest < here {
                return (at, rest);
            }
            rest -= here;
            at += 1;
        }
    }
    let mut start = len;
    let mut at = parts.len();
    loop {
        at -= 1;
        start -= part_len(&parts[at]);
        if start <= index {
            return (at, index - start);
        }
    }
}
