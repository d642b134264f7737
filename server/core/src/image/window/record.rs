//! A note of where in the window a row was told: hashes that stand for the row, and a place.
//!
//! Two rows are taken for the same if 91 bits of hashes with a secret seed agree (64 that also order the
//! rows, 27 of a second hash): with five million rows a window the chance of a mistake is below 10^-14.

use crate::image::Part;

const HASH_BITS: u32 = 27;
const FLAG_BITS: u32 = 32 - HASH_BITS;

/// The last bits of a note: what was told.
mod flag {
    /// The row was absent before what this note tells (and all that it stands for).
    pub(super) const CREATED: u32 = 1;
    /// The row is there afterwards.
    pub(super) const STAYS: u32 = 2;
    /// The whole row was told; without it, a part.
    pub(super) const WHOLE: u32 = 4;
    /// The part is the expiry.
    pub(super) const EXPIRY: u32 = 8;
    /// A later note of the same row tells the expiry.
    pub(super) const EXPIRY_FOLLOWS: u32 = 16;
}

/// The second hash and the flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word(u32);

impl Word {
    pub fn new(hash: u64, part: Part, created: bool, stays: bool) -> Self {
        let part = match part {
            Part::Whole => flag::WHOLE,
            Part::Bytes => 0,
            Part::Expiry => flag::EXPIRY,
        };
        let created = if created { flag::CREATED } else { 0 };
        let stays = if stays { flag::STAYS } else { 0 };
        Self((hash as u32) << FLAG_BITS | part | created | stays)
    }

    pub fn hash(self) -> u32 {
        self.0 >> FLAG_BITS
    }

    pub fn created(self) -> bool {
        self.0 & flag::CREATED != 0
    }

    pub fn stays(self) -> bool {
        self.0 & flag::STAYS != 0
    }

    pub fn whole(self) -> bool {
        self.0 & flag::WHOLE != 0
    }

    pub fn is_expiry(self) -> bool {
        self.0 & flag::EXPIRY != 0
    }

    /// This note or a later one of the row tells the expiry.
    pub fn expiry_is_told(self) -> bool {
        self.0 & (flag::EXPIRY | flag::EXPIRY_FOLLOWS) != 0
    }

    /// Born and gone within what it stands for: there is nothing to write.
    pub fn is_nothing(self) -> bool {
        self.whole() && self.created() && !self.stays()
    }

    fn with(self, bit: u32, on: bool) -> Self {
        Self(if on { self.0 | bit } else { self.0 & !bit })
    }
}

/// A note of any sort of row.
pub trait Record: Copy {
    /// What rows are sorted by; rows that differ may share it.
    type Order: Copy + Ord;

    fn order(&self) -> Self::Order;
    fn word(&self) -> Word;
    fn set_word(&mut self, word: Word);
    fn place(&self) -> u32;
    /// Well mixed, from the order alone.
    fn mixed(&self) -> u64;

    fn same_row(&self, other: &Self) -> bool {
        self.order() == other.order() && self.word().hash() == other.word().hash()
    }

    fn set_created(&mut self, created: bool) {
        self.set_word(self.word().with(flag::CREATED, created));
    }

    fn set_expiry_follows(&mut self) {
        self.set_word(self.word().with(flag::EXPIRY_FOLLOWS, true));
    }
}

/// Of the row of a key.
#[derive(Clone, Copy, Debug)]
pub struct KeyRecord {
    pub hash: u64,
    pub word: Word,
    pub place: u32,
}

/// Of the row of an element.
#[derive(Clone, Copy, Debug)]
pub struct ElementRecord {
    pub generation: u64,
    pub order: u64,
    pub word: Word,
    pub place: u32,
}

const _: () = assert!(size_of::<KeyRecord>() == 16 && size_of::<ElementRecord>() == 24);

impl Record for KeyRecord {
    type Order = u64;

    fn order(&self) -> u64 {
        self.hash
    }
    fn word(&self) -> Word {
        self.word
    }
    fn set_word(&mut self, word: Word) {
        self.word = word;
    }
    fn place(&self) -> u32 {
        self.place
    }
    fn mixed(&self) -> u64 {
        self.hash
    }
}

impl Record for ElementRecord {
    type Order = (u64, u64);

    fn order(&self) -> (u64, u64) {
        (self.generation, self.order)
    }
    fn word(&self) -> Word {
        self.word
    }
    fn set_word(&mut self, word: Word) {
        self.word = word;
    }
    fn place(&self) -> u32 {
        self.place
    }
    /// A list's order is a position, and generations are small: neither is mixed by itself.
    fn mixed(&self) -> u64 {
        let mixed = (self.generation ^ self.order.rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9)
    }
}
