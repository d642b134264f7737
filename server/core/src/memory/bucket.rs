//! A bucket: one cache line of twelve refs with an 8-bit tag each.
//!
//! An entry lives in its home bucket or in one of the next three of the same segment (cyclic); `overflow` of
//! the home bucket counts those that live further on, so that most misses read one line. A tag is never
//! zero where a ref stands, and zero where none does.

pub(super) const CELLS: usize = 12;
/// Buckets in which an entry may live, its home included.
pub(super) const REACH: u32 = 4;
/// A bucket in ref units.
pub(super) const BUCKET_UNITS: u32 = 8;
const ALL: u32 = (1 << CELLS) - 1;

#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub(super) struct Bucket {
    pub(super) refs: [u32; CELLS],
    tags: [u8; CELLS],
    /// Cells whose entry has an expiry: expiry cycles skip the rest without reading entries.
    pub(super) expiring: u16,
    pub(super) overflow: u8,
    spare: u8,
}

const _: () = assert!(size_of::<Bucket>() == 64);

/// The tag of a hash: its low bits, which neither the directory nor the home bucket uses.
#[inline]
pub(super) fn tag_of(hash: u64) -> u8 {
    let low = hash as u8;
    if low == 0 { 1 } else { low }
}

/// The set bits of a 12-bit mask, as cell numbers.
#[derive(Clone, Copy)]
pub(super) struct CellsIn(pub(super) u32);

impl Iterator for CellsIn {
    type Item = usize;
    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let cell = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(cell)
    }
}

impl Bucket {
    pub(super) const EMPTY: Bucket = Bucket {
        refs: [0; CELLS],
        tags: [0; CELLS],
        expiring: 0,
        overflow: 0,
        spare: 0,
    };

    #[cfg(target_arch = "x86_64")]
    #[inline]
    fn mask_of(&self, tag: u8) -> u32 {
        use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_load_si128, _mm_movemask_epi8, _mm_set1_epi8};
        // SAFETY: SSE2 is part of x86-64; the last 16 bytes of a 64-byte aligned line are 16-byte aligned and,
        // all fields being integers without padding, initialised.
        let mask = unsafe {
            let last = std::ptr::from_ref(self).cast::<u8>().add(48);
            let found = _mm_cmpeq_epi8(_mm_load_si128(last.cast()), _mm_set1_epi8(tag.cast_signed()));
            _mm_movemask_epi8(found)
        };
        mask.cast_unsigned() & ALL
    }

    #[cfg(not(target_arch = "x86_64"))]
    #[inline]
    fn mask_of(&self, tag: u8) -> u32 {
        self.tags
            .iter()
            .enumerate()
            .fold(0, |mask, (cell, &own)| mask | (u32::from(own == tag) << cell))
    }

    #[inline]
    pub(super) fn matches(&self, tag: u8) -> CellsIn {
        CellsIn(self.mask_of(tag))
    }

    #[inline]
    pub(super) fn used(&self) -> CellsIn {
        CellsIn(!self.mask_of(0) & ALL)
    }

    #[inline]
    pub(super) fn used_count(&self) -> usize {
        (!self.mask_of(0) & ALL).count_ones() as usize
    }

    #[inline]
    pub(super) fn free_cell(&self) -> Option<usize> {
        CellsIn(self.mask_of(0)).next()
    }

    #[inline]
    pub(super) fn expiring(&self) -> CellsIn {
        CellsIn(u32::from(self.expiring) & ALL)
    }

    #[inline]
    pub(super) fn set(&mut self, cell: usize, r: u32, tag: u8, expiring: bool) {
        debug_assert!(
            r != 0 && tag != 0 && self.refs[cell] == 0,
            "an empty cell takes a ref"
        );
        self.refs[cell] = r;
        self.tags[cell] = tag;
        self.set_expiring(cell, expiring);
    }

    #[inline]
    pub(super) fn set_expiring(&mut self, cell: usize, expiring: bool) {
        self.expiring = self.expiring & !(1 << cell) | (u16::from(expiring) << cell);
    }

    #[inline]
    pub(super) fn clear(&mut self, cell: usize) {
        self.refs[cell] = 0;
        self.tags[cell] = 0;
        self.set_expiring(cell, false);
    }
}
