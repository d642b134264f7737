//! The pages of a heap: which are in use, which are free, and when free ones go back to the kernel.
//!
//! A page is 16 KiB. Descriptions of pages stand at the start of the range itself, so they never move and
//! cost memory only where there are pages; that also makes zero an invalid ref. The free page of the lowest
//! address is reused first, so that the upper end of the range drains. Freed pages are kept for reuse
//! up to a limit; beyond it, their 2 MiB chunk gives back all that is free in it.

use std::ptr::NonNull;
use std::sync::Arc;

use super::range::{Populate, Range, STEP_BYTES};

pub(super) const PAGE_BYTES: usize = 16 << 10;
/// A ref counts units of eight bytes from the start of the range.
pub(super) const UNIT_BYTES: usize = 8;
pub(super) const PAGE_UNITS: u32 = (PAGE_BYTES / UNIT_BYTES) as u32;
pub(super) const NONE: u32 = u32::MAX;
/// No free slot in the list of a page.
pub(super) const NO_SLOT: u16 = u16::MAX;
pub(super) const CLASS_FREE: u8 = u8::MAX;

const CHUNK_PAGES: u32 = (STEP_BYTES / PAGE_BYTES) as u32;
/// Data below this takes no huge pages and nothing ahead: both would cost a small cache memory it never uses.
const HUGE_FROM_BYTES: usize = 32 << 20;
/// What is backed ahead: a thirty-second part of the data, within these bounds.
const AHEAD_BYTES_MIN: usize = STEP_BYTES / 2;
const AHEAD_BYTES_MAX: usize = 8 << 20;
const KEPT_PAGES_MIN: u32 = 64;

/// Which list of its class a page is on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum List {
    /// Full pages are on no list.
    None = 0,
    /// Has room, is allocated from.
    Partial = 1,
    /// Has room but is being emptied by compaction.
    Leaving = 2,
}

/// What is known of a page. All zero is a valid value: the memory of descriptions starts as zeros.
#[repr(C)]
pub(super) struct Page {
    pub(super) class: u8,
    list: u8,
    /// Bits of a free page: its memory is still backed.
    pub(super) dirty: u8,
    spare: u8,
    pub(super) live: u16,
    /// Units handed out from the front so far.
    pub(super) bump: u16,
    /// First free slot below `bump`, in units from the start of the page.
    pub(super) free: u16,
    spare_too: u16,
    pub(super) prev: u32,
    pub(super) next: u32,
}

impl Page {
    #[inline]
    pub(super) fn list(&self) -> List {
        match self.list {
            0 => List::None,
            1 => List::Partial,
            _ => List::Leaving,
        }
    }

    pub(super) fn set_list(&mut self, list: List) {
        self.list = list as u8;
    }
}

#[derive(Default, Clone, Copy)]
struct Chunk {
    free: u8,
    /// Parts were given back, and the chunk is kept from being made a huge page again meanwhile.
    parted: bool,
}

pub(super) struct Pages {
    range: Arc<Range>,
    table: NonNull<Page>,
    first: u32,
    /// One past the highest page ever used.
    end: u32,
    max: u32,
    in_use: u32,
    free: u32,
    dirty: u32,
    free_bits: Vec<u64>,
    /// No word of `free_bits` below this one has a bit set.
    free_from: usize,
    chunks: Vec<Chunk>,
    populated: usize,
}

impl Pages {
    pub(super) fn reserve(bytes: usize) -> Pages {
        let bytes = bytes
            .clamp(STEP_BYTES, UNIT_BYTES << 32)
            .next_multiple_of(STEP_BYTES);
        let range = Arc::new(Range::reserve(bytes));
        let max = (bytes / PAGE_BYTES) as u32;
        let first = (max as usize * size_of::<Page>()).div_ceil(PAGE_BYTES) as u32;
        Pages {
            table: range.base().cast(),
            range,
            first,
            end: first,
            max,
            in_use: 0,
            free: 0,
            dirty: 0,
            free_bits: Vec::new(),
            free_from: 0,
            chunks: Vec::new(),
            populated: 0,
        }
    }

    pub(super) fn base(&self) -> NonNull<u8> {
        self.range.base()
    }

    /// Whether a page number was ever handed out.
    #[inline]
    pub(super) fn knows(&self, page: u32) -> bool {
        page >= self.first && page < self.end
    }

    /// All page numbers handed out so far, free ones included.
    pub(super) fn numbers(&self) -> std::ops::Range<u32> {
        self.first..self.end
    }

    #[inline]
    pub(super) fn page(&self, page: u32) -> &Page {
        assert!(page < self.end, "a page in use");
        // SAFETY: below `end <= max`, so within the descriptions at the start of the range, which are zeros
        // or were written through `page_mut`.
        unsafe { self.table.add(page as usize).as_ref() }
    }

    #[inline]
    pub(super) fn page_mut(&mut self, page: u32) -> &mut Page {
        assert!(page < self.end, "a page in use");
        // SAFETY: as in `page`; `&mut self` makes it the only access.
        unsafe { self.table.add(page as usize).as_mut() }
    }

    pub(super) fn backed_bytes(&self) -> usize {
        (self.in_use + self.dirty) as usize * PAGE_BYTES
    }

    pub(super) fn in_use_bytes(&self) -> usize {
        self.in_use as usize * PAGE_BYTES
    }

    pub(super) fn room_bytes(&self) -> usize {
        (self.max - self.end + self.free) as usize * PAGE_BYTES
    }

    /// Takes a page for `class`, empty. None: the range is full.
    pub(super) fn take(&mut self, class: u8) -> Option<u32> {
        let page = self.take_free().or_else(|| self.take_next())?;
        self.in_use += 1;
        *self.page_mut(page) = Page {
            class,
            list: List::None as u8,
            dirty: 0,
            spare: 0,
            live: 0,
            bump: 0,
            free: NO_SLOT,
            spare_too: 0,
            prev: NONE,
            next: NONE,
        };
        Some(page)
    }

    fn take_free(&mut self) -> Option<u32> {
        if self.free == 0 {
            return None;
        }
        while self.free_bits[self.free_from] == 0 {
            self.free_from += 1;
        }
        let word = &mut self.free_bits[self.free_from];
        let page = (self.free_from as u32) * 64 + word.trailing_zeros();
        *word &= *word - 1;
        self.free -= 1;
        self.dirty -= u32::from(self.page(page).dirty);
        let chunk = &mut self.chunks[(page / CHUNK_PAGES) as usize];
        chunk.free -= 1;
        if chunk.free == 0 && chunk.parted {
            chunk.parted = false;
            self.range
                .advise_huge(page as usize * PAGE_BYTES / STEP_BYTES * STEP_BYTES, true);
        }
        Some(page)
    }

    fn take_next(&mut self) -> Option<u32> {
        if self.end == self.max {
            return None;
        }
        let page = self.end;
        self.end += 1;
        self.free_bits.resize(self.end as usize / 64 + 1, 0);
        self.chunks
            .resize((page / CHUNK_PAGES) as usize + 1, Chunk::default());
        Some(page)
    }

    /// Takes back an empty page.
    pub(super) fn give_back(&mut self, page: u32) {
        let known = self.page_mut(page);
        debug_assert!(
            known.class != CLASS_FREE && known.live == 0,
            "an empty page in use"
        );
        known.class = CLASS_FREE;
        known.dirty = 1;
        self.in_use -= 1;
        self.free += 1;
        self.dirty += 1;
        let word = page as usize / 64;
        self.free_bits[word] |= 1 << (page % 64);
        self.free_from = self.free_from.min(word);
        self.chunks[(page / CHUNK_PAGES) as usize].free += 1;
        if self.dirty > KEPT_PAGES_MIN.max(self.in_use / 16) {
            self.release_chunk(page / CHUNK_PAGES);
        }
    }

    /// The pages of a chunk, as far as they were ever used.
    fn pages_of(&self, chunk: u32) -> std::ops::Range<u32> {
        (chunk * CHUNK_PAGES).max(self.first)..((chunk + 1) * CHUNK_PAGES).min(self.end)
    }

    /// Gives the backing of a chunk's free pages to the kernel, runs of them at a time.
    fn release_chunk(&mut self, chunk: u32) {
        if self.populated > 0 && !self.chunks[chunk as usize].parted {
            // Otherwise the kernel would in time fill the holes again to make a huge page, and the owner's first
            // touch of a released one would wait until two mebibytes are zeroed.
            self.chunks[chunk as usize].parted = true;
            self.range.advise_huge(chunk as usize * STEP_BYTES, false);
        }
        let std::ops::Range { start, end } = self.pages_of(chunk);
        let mut page = start;
        while page < end {
            let run = (page..end)
                .take_while(|&p| {
                    let known = self.page(p);
                    known.class == CLASS_FREE && known.dirty == 1
                })
                .count() as u32;
            if run > 0 {
                // SAFETY: free pages hold nothing that anyone refers to.
                let released = unsafe {
                    self.range
                        .release(page as usize * PAGE_BYTES, run as usize * PAGE_BYTES)
                };
                if released {
                    (page..page + run).for_each(|p| self.page_mut(p).dirty = 0);
                    self.dirty -= run;
                }
            }
            page += run + 1;
        }
        self.trim();
    }

    /// Forgets chunks at the end of the range that are free and released: they then count as never used, and the
    /// helper backs them again before they are needed.
    fn trim(&mut self) {
        while self.end > self.first {
            let chunk = (self.end - 1) / CHUNK_PAGES;
            let pages = self.pages_of(chunk);
            let count = pages.len() as u32;
            let clean = |page: u32| self.page(page).dirty == 0;
            if u32::from(self.chunks[chunk as usize].free) < count || !pages.clone().all(clean) {
                return;
            }
            pages
                .clone()
                .for_each(|page| self.free_bits[page as usize / 64] &= !(1 << (page % 64)));
            self.chunks.truncate(chunk as usize);
            self.free -= count;
            self.end = pages.start;
            self.populated = self
                .populated
                .min((self.end as usize * PAGE_BYTES).next_multiple_of(STEP_BYTES));
        }
    }

    /// What a helper thread should have backed by now, if anything.
    pub(super) fn populate_ahead(&mut self) -> Option<Populate> {
        let cursor = self.end as usize * PAGE_BYTES;
        let data = (self.end - self.first) as usize * PAGE_BYTES;
        let ahead = (data / 32).clamp(AHEAD_BYTES_MIN, AHEAD_BYTES_MAX);
        if data < HUGE_FROM_BYTES || self.populated >= cursor + ahead / 2 {
            return None;
        }
        let from = self.populated.max(cursor.next_multiple_of(STEP_BYTES));
        let to = ((cursor + ahead) / STEP_BYTES * STEP_BYTES)
            .max(from + STEP_BYTES)
            .min(self.range.bytes());
        if from >= to {
            return None;
        }
        // The first job also lets the kernel make huge pages of what is there already.
        let huge_from = if self.populated == 0 {
            self.first as usize * PAGE_BYTES
        } else {
            from
        };
        self.populated = to;
        Some(Populate::new(self.range.clone(), huge_from, from, to))
    }
}
