//! A small list as its entry's bytes: `generation 8, base 8, count 2, weight 2` (little endian), then 16
//! bytes of position an element if the count's top bit is set (`base` is then unused), then the elements.
//!
//! It is read where it stands; to change it, it is loaded into a [`List`] that the shard keeps for that,
//! and stored again.

use std::collections::VecDeque;

use super::chunk::{Backwards, Chunk, Forwards};
use super::position::Positions;
use super::{List, Sink};
use crate::effect::ListPosition;

const BASE_AT: usize = 8;
const COUNT_AT: usize = 16;
const WEIGHT_AT: usize = 18;
const HEAD_BYTES: usize = 20;
const POSITION_BYTES: usize = 16;
const EXPLICIT: u16 = 1 << 15;

/// Bytes of a packed list at the most: an edit moves all of them, and the entry stays in the slab.
const PACKED_MAX: usize = 1024;
/// A boxed list becomes packed below this, well under the other limit, so that it does not go to and fro.
const PACKED_AGAIN: usize = 256;

/// A packed list's bytes, read where they stand.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a>(&'a [u8]);

impl<'a> Packed<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn u64_at(self, at: usize) -> u64 {
        self.0
            .get(at..)
            .and_then(|bytes| bytes.first_chunk::<8>())
            .map_or(0, |b| u64::from_le_bytes(*b))
    }

    #[inline]
    fn u16_at(self, at: usize) -> u16 {
        self.0
            .get(at..)
            .and_then(|bytes| bytes.first_chunk::<2>())
            .map_or(0, |b| u16::from_le_bytes(*b))
    }

    #[inline]
    pub fn len(self) -> usize {
        usize::from(self.u16_at(COUNT_AT) & !EXPLICIT)
    }

    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    fn explicit(self) -> bool {
        self.u16_at(COUNT_AT) & EXPLICIT != 0
    }

    fn elements(self) -> &'a [u8] {
        let positions = if self.explicit() {
            self.len() * POSITION_BYTES
        } else {
            0
        };
        self.0.get(HEAD_BYTES + positions..).unwrap_or(&[])
    }

    pub(super) fn position(self, index: usize) -> ListPosition {
        if self.explicit() {
            let at = HEAD_BYTES + index * POSITION_BYTES;
            ListPosition {
                whole: self.u64_at(at),
                fraction: self.u64_at(at + 8),
            }
        } else {
            ListPosition {
                whole: self.u64_at(BASE_AT) + index as u64,
                fraction: 0,
            }
        }
    }

    pub(super) fn forwards(self) -> Forwards<'a> {
        Forwards::over(self.elements())
    }

    pub(super) fn backwards(self) -> Backwards<'a> {
        Backwards::over(self.elements())
    }

    /// Loads the list for a change.
    pub fn load(self, list: &mut List) {
        let count = self.len();
        let positions = if self.explicit() {
            let each: VecDeque<ListPosition> = (0..count).map(|index| self.position(index)).collect();
            Positions::Each(Box::new(each))
        } else {
            Positions::From(self.u64_at(BASE_AT))
        };
        list.generation = self.u64_at(0);
        list.quicklist = false;
        if count == 0 {
            list.clear();
            return;
        }
        let place = match list.chunks.end(false) {
            Some(place) => place,
            None => list.chunks.push(Chunk::new(list.spare.take(), 0, true), true),
        };
        let (elements, weight) = (self.elements(), usize::from(self.u16_at(WEIGHT_AT)));
        list.chunks.edit(place, |chunk| {
            chunk.load(elements, count as u32, weight, positions)
        });
    }
}

impl List {
    /// Forgets everything but one buffer.
    pub fn clear(&mut self) {
        while let Some(place) = self.chunks.end(true) {
            self.drop_chunk(place);
        }
        self.quicklist = false;
    }

    /// Whether the list belongs into its entry; `packed` says whether it is there now.
    pub fn fits_packed(&self, packed: bool) -> bool {
        if self.quicklist || self.chunks.chunks() > 1 {
            return false;
        }
        let limit = if packed { PACKED_MAX } else { PACKED_AGAIN };
        self.packed_bytes() <= limit
    }

    fn packed_bytes(&self) -> usize {
        let Some(place) = self.chunks.end(false) else {
            return HEAD_BYTES;
        };
        let chunk = self.chunks.get(place);
        let positions = match chunk.positions() {
            Positions::From(_) => 0,
            Positions::Each(each) => each.len() * POSITION_BYTES,
        };
        HEAD_BYTES + positions + chunk.used()
    }

    /// The packed form, in `out`. Only of a list that [`List::fits_packed`].
    pub fn store(&self, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&self.generation.to_le_bytes());
        let Some(place) = self.chunks.end(false) else {
            out.resize(HEAD_BYTES, 0);
            return;
        };
        let chunk = self.chunks.get(place);
        let (base, mark) = match chunk.positions() {
            Positions::From(base) => (*base, 0),
            Positions::Each(_) => (0, EXPLICIT),
        };
        out.extend_from_slice(&base.to_le_bytes());
        out.extend_from_slice(&(chunk.len() as u16 | mark).to_le_bytes());
        out.extend_from_slice(&(chunk.bare_weight() as u16).to_le_bytes());
        if let Positions::Each(each) = chunk.positions() {
            for position in each.iter() {
                out.extend_from_slice(&position.whole.to_le_bytes());
                out.extend_from_slice(&position.fraction.to_le_bytes());
            }
        }
        out.extend_from_slice(chunk.bytes());
    }
}

/// Tells nobody.
pub struct Silent;

impl Sink for Silent {
    fn on(&self) -> bool {
        false
    }
    fn put(&mut self, _: ListPosition, _: &[u8], _: bool) {}
    fn delete(&mut self, _: ListPosition) {}
}
