//! The slab of a shard: slots of fixed sizes in pages, refs of four bytes, exact accounting.
//!
//! A class is a slot size: entries have 128 of them (steps of 8, 16 and 32 bytes), segments of tables have
//! their own, so that a ref to an entry slot never meets the bytes of a segment. Each class allocates from
//! the page at the head of its list; pages that just got room again go to the head, so fuller pages fill first.
//!
//! The heap owns bytes only. What an entry points to is freed by its table, but for blobs that are left when
//! the heap goes.

use std::num::NonZeroU32;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use super::blob::Blob;
use super::bucket::{BUCKET_UNITS, Bucket};
use super::entry::{At, Header, SLOT_BYTES_MAX};
use super::hash::KeyHash;
use super::pages::{CLASS_FREE, List, NO_SLOT, NONE, PAGE_UNITS, Page, Pages, UNIT_BYTES};
use super::prefetch::prefetch;
use super::range::Populate;
use super::resize::Item;

/// Sizes of segments in buckets: small ones for small tables, and between the larger ones steps of a
/// quarter, so that a table is always between 0.6 and 0.8 full. All but divide a page without rest.
pub(super) const SEGMENT_BUCKETS: [u8; 14] = [1, 2, 3, 4, 6, 8, 12, 16, 21, 25, 32, 42, 51, 64];
pub(super) const SEGMENT_BUCKETS_MAX: u8 = 64;

const ENTRY_CLASSES: usize = 128;
const CLASSES: usize = ENTRY_CLASSES + SEGMENT_BUCKETS.len();

/// The size of each class in units.
const CLASS_UNITS: [u16; CLASSES] = {
    let mut units = [0; CLASSES];
    let mut class = 0;
    while class < CLASSES {
        units[class] = match class {
            0..64 => class + 1,
            64..96 => 64 + 2 * (class - 63),
            96..ENTRY_CLASSES => 128 + 4 * (class - 95),
            _ => SEGMENT_BUCKETS[class - ENTRY_CLASSES] as usize * BUCKET_UNITS as usize,
        } as u16;
        class += 1;
    }
    units
};

const _: () = assert!(CLASS_UNITS[ENTRY_CLASSES - 1] as usize * UNIT_BYTES == SLOT_BYTES_MAX);
const _: () = assert!(CLASSES < CLASS_FREE as usize);

/// The class of an entry of that many bytes.
#[inline]
pub(super) fn class_of(bytes: usize) -> u8 {
    debug_assert!((1..=SLOT_BYTES_MAX).contains(&bytes), "fits a slot");
    (match bytes {
        0..=512 => bytes.div_ceil(8) - 1,
        513..=1024 => 64 + (bytes - 512).div_ceil(16) - 1,
        _ => 96 + (bytes - 1024).div_ceil(32) - 1,
    }) as u8
}

fn segment_class(buckets: u8) -> u8 {
    let nth = SEGMENT_BUCKETS
        .iter()
        .position(|&own| own == buckets)
        .expect("one of the sizes");
    (ENTRY_CLASSES + nth) as u8
}

#[derive(Clone, Copy)]
struct Class {
    partial: u32,
    leaving: u32,
    pages: u32,
    live: u32,
}

/// A name of an entry that fits four bytes: valid until the entry is removed or moves (by a change of its
/// size or expiry, or by compaction, which reports it). Using a stale one is a bug but harmless: it reads
/// nothing, or some live entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Handle(pub(super) NonZeroU32);

impl Handle {
    pub(super) fn of(r: u32) -> Handle {
        Handle(NonZeroU32::new(r).expect("a ref in a cell is not zero"))
    }
}

/// The slab of one shard. See the module.
pub struct Heap {
    pages: Pages,
    base: NonNull<u8>,
    id: u32,
    key_hash: KeyHash,
    classes: [Class; CLASSES],
    slab_bytes: usize,
    outside_bytes: usize,
    pub(super) access_on_put: u32,
    pub(super) refresh_on_put: bool,
    /// Working space of splits and merges, kept so that they allocate nothing.
    pub(super) items: Vec<Item>,
    #[cfg(test)]
    pub(super) squeeze: Option<fn(u64) -> u64>,
}

// SAFETY: a heap owns its memory; its raw pointers lead into its own range only.
unsafe impl Send for Heap {}
// SAFETY: through a shared heap nothing can be written.
unsafe impl Sync for Heap {}

/// Address space that a heap reserves unless told otherwise: all that refs can name.
const RESERVE_BYTES: usize = UNIT_BYTES << 32;

impl Heap {
    /// An empty heap. `seed` decides the hashes, hence the order of every table: it is part of a shard's
    /// state, and replicas that share it read and write each other's rows in order.
    ///
    /// # Panics
    /// When the kernel refuses the address space.
    pub fn new(seed: u64) -> Heap {
        Heap::with_reserve(seed, RESERVE_BYTES)
    }

    /// As [`Heap::new`], with room for `bytes` (2 MiB to 32 GiB). Only what is used costs memory.
    pub fn with_reserve(seed: u64, bytes: usize) -> Heap {
        static NEXT_ID: AtomicU32 = AtomicU32::new(1);
        let pages = Pages::reserve(bytes);
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        assert!(id != 0, "ids of heaps do not come round");
        Heap {
            base: pages.base(),
            pages,
            id,
            key_hash: KeyHash::new(seed),
            classes: [Class {
                partial: NONE,
                leaving: NONE,
                pages: 0,
                live: 0,
            }; CLASSES],
            slab_bytes: 0,
            outside_bytes: 0,
            access_on_put: 0,
            refresh_on_put: false,
            items: Vec::new(),
            #[cfg(test)]
            squeeze: None,
        }
    }

    pub fn seed(&self) -> u64 {
        self.key_hash.seed()
    }

    #[inline]
    pub(super) fn id(&self) -> u32 {
        self.id
    }

    /// The hash of a key, the same on every machine for the same seed.
    #[inline]
    pub fn hash(&self, key: &[u8]) -> u64 {
        let hash = self.key_hash.of(key);
        #[cfg(test)]
        if let Some(squeeze) = self.squeeze {
            return squeeze(hash);
        }
        hash
    }

    /// Bytes of live slots (entries and segments), and of all that this module took from the global allocator
    /// (long values and keys, directories). Boxed objects count by their owner.
    pub fn live_bytes(&self) -> usize {
        self.slab_bytes + self.outside_bytes
    }

    /// The part of [`Heap::live_bytes`] that the global allocator does not know of.
    pub fn slab_bytes(&self) -> usize {
        self.slab_bytes
    }

    /// Pages in use and pages kept for reuse: what the slab takes of resident memory, at most.
    pub fn mapped_bytes(&self) -> usize {
        self.pages.backed_bytes()
    }

    /// Bytes of pages in use that hold nothing: what compaction could give back, at most.
    pub fn unused_bytes(&self) -> usize {
        self.pages.in_use_bytes().saturating_sub(self.slab_bytes)
    }

    /// What is left of the reserved range, in whole pages. A shard must refuse writes before it reaches
    /// zero: a put that finds no page panics, with its tables intact.
    pub fn room_bytes(&self) -> usize {
        self.pages.room_bytes()
    }

    /// A job for a helper thread when memory should be backed ahead of need; cheap to ask once a turn.
    pub fn populate_ahead(&mut self) -> Option<Populate> {
        self.pages.populate_ahead()
    }

    /// The access bits that [`super::Table::put`] gives to new entries, and whether it gives them to entries
    /// that it overwrites as well (a clock) or leaves theirs (a counter).
    pub fn set_access_on_put(&mut self, access: u32, refresh: bool) {
        self.access_on_put = access;
        self.refresh_on_put = refresh;
    }

    /// The key of a handle's entry.
    pub fn key_of(&self, handle: Handle) -> &[u8] {
        // SAFETY: a live entry, which cannot change while the heap is borrowed.
        self.checked(handle).map_or(&[], |at| unsafe { at.key() })
    }

    /// The value of a handle's entry; empty for a boxed object.
    pub fn bytes_of(&self, handle: Handle) -> &[u8] {
        // SAFETY: a live entry, which cannot change while the heap is borrowed.
        self.checked(handle).map_or(&[], |at| unsafe { at.bytes() })
    }

    #[inline]
    fn checked(&self, handle: Handle) -> Option<At> {
        let live = self.is_live(handle.0.get());
        debug_assert!(live, "a stale handle was used");
        // SAFETY: a live entry's slot.
        live.then(|| unsafe { At::new(self.address(handle.0.get())) })
    }

    /// Whether `r` is the start of a slot that holds an entry now.
    #[inline]
    fn is_live(&self, r: u32) -> bool {
        let page = r / PAGE_UNITS;
        if !self.pages.knows(page) {
            return false;
        }
        let page = self.pages.page(page);
        if usize::from(page.class) >= ENTRY_CLASSES {
            return false;
        }
        let offset = r % PAGE_UNITS;
        let units = u32::from(CLASS_UNITS[usize::from(page.class)]);
        if offset >= u32::from(page.bump) || !offset.is_multiple_of(units) {
            return false;
        }
        // SAFETY: a slot of an entry class below `bump` was handed out once, so its header was written; all
        // slots of the page start at multiples of its size since the page was taken for this class.
        !unsafe { At::new(self.address(r)) }.header().is_free()
    }

    #[inline]
    fn address(&self, r: u32) -> NonNull<u8> {
        // SAFETY: 2^32 units are the largest range; callers pass refs of this heap's slots.
        unsafe { self.base.add(r as usize * UNIT_BYTES) }
    }

    /// The entry of a ref that stands in a cell of a table of this heap.
    #[inline]
    pub(super) fn at(&self, r: u32) -> At {
        debug_assert!(self.is_live(r), "a cell holds the ref of a live entry");
        // SAFETY: refs in cells are live entries (invariant of the module).
        unsafe { At::new(self.address(r)) }
    }

    #[inline]
    pub(super) fn key_at(&self, r: u32) -> &[u8] {
        // SAFETY: live, and unchanged while the heap is borrowed.
        unsafe { self.at(r).key() }
    }

    #[inline]
    pub(super) fn bucket(&self, r: u32) -> &Bucket {
        debug_assert!(self.is_bucket(r), "a bucket of a segment");
        // SAFETY: tables pass `segment + index * BUCKET_UNITS` of a segment they hold: 64 aligned bytes that
        // were initialised when the segment was made.
        unsafe { self.address(r).cast::<Bucket>().as_ref() }
    }

    #[inline]
    pub(super) fn bucket_mut(&mut self, r: u32) -> &mut Bucket {
        debug_assert!(self.is_bucket(r), "a bucket of a segment");
        // SAFETY: as in `bucket`; exclusive through `&mut self`.
        unsafe { self.address(r).cast::<Bucket>().as_mut() }
    }

    fn is_bucket(&self, r: u32) -> bool {
        let page = r / PAGE_UNITS;
        self.pages.knows(page)
            && (ENTRY_CLASSES..CLASSES).contains(&usize::from(self.pages.page(page).class))
            && r.is_multiple_of(BUCKET_UNITS)
            && r % PAGE_UNITS < u32::from(self.pages.page(page).bump)
    }

    #[inline]
    pub(super) fn prefetch(&self, r: u32) {
        prefetch(self.base.as_ptr().wrapping_add(r as usize * UNIT_BYTES));
    }

    /// A slot for an entry whose header this is, with the header written.
    pub(super) fn allocate_entry(&mut self, header: Header) -> u32 {
        let Some(r) = self.allocate(class_of(header.slot_bytes())) else {
            panic!(
                "the memory range of a shard is full: {} bytes in use",
                self.live_bytes()
            );
        };
        // SAFETY: a fresh slot, large enough for what the header describes.
        unsafe { At::new(self.address(r)).set_header(header) };
        r
    }

    /// A segment of empty buckets. None: the range is full.
    pub(super) fn allocate_segment(&mut self, buckets: u8) -> Option<u32> {
        let r = self.allocate(segment_class(buckets))?;
        let first = self.address(r).cast::<Bucket>();
        for nth in 0..usize::from(buckets) {
            // SAFETY: the slot has room for that many buckets; slots of segment classes are aligned to 64
            // because their sizes are multiples of it and pages are aligned.
            unsafe { first.add(nth).write(Bucket::EMPTY) };
        }
        Some(r)
    }

    fn allocate(&mut self, class: u8) -> Option<u32> {
        let units = CLASS_UNITS[usize::from(class)];
        let mut number = self.classes[usize::from(class)].partial;
        if number == NONE {
            number = self.page_with_room(class)?;
        }
        let base = self.base;
        let page = self.pages.page_mut(number);
        let offset = if page.free == NO_SLOT {
            let fresh = page.bump;
            page.bump += units;
            fresh
        } else {
            let reused = page.free;
            // SAFETY: a free slot of this page, in which `free` wrote the next one's offset.
            page.free = unsafe {
                let slot =
                    base.add((number * PAGE_UNITS) as usize * UNIT_BYTES + usize::from(reused) * UNIT_BYTES);
                slot.add(4).cast::<u16>().read()
            };
            reused
        };
        page.live += 1;
        if page.free == NO_SLOT && u32::from(page.bump) + u32::from(units) > PAGE_UNITS {
            self.unlink(number);
        }
        self.classes[usize::from(class)].live += 1;
        self.slab_bytes += usize::from(units) * UNIT_BYTES;
        Some(number * PAGE_UNITS + u32::from(offset))
    }

    #[cold]
    fn page_with_room(&mut self, class: u8) -> Option<u32> {
        let leaving = self.classes[usize::from(class)].leaving;
        let number = if leaving == NONE {
            let taken = self.pages.take(class)?;
            self.classes[usize::from(class)].pages += 1;
            taken
        } else {
            self.unlink(leaving);
            leaving
        };
        self.link(number, List::Partial);
        Some(number)
    }

    /// Frees a slot. What its entry pointed to must be gone already.
    pub(super) fn free(&mut self, r: u32) {
        let number = r / PAGE_UNITS;
        let offset = (r % PAGE_UNITS) as u16;
        let slot = self.address(r);
        let page = self.pages.page_mut(number);
        let class = usize::from(page.class);
        debug_assert!(
            class < CLASSES && offset.is_multiple_of(CLASS_UNITS[class]),
            "the start of a slot"
        );
        debug_assert!(offset < page.bump && page.live > 0, "a slot that was handed out");
        // SAFETY: the slot is ours again and has eight bytes: the mark of a free slot in the first, the next
        // free slot's offset in the fifth and sixth.
        unsafe {
            At::new(slot).set_header(Header::FREE);
            slot.add(4).cast::<u16>().write(page.free);
        }
        page.free = offset;
        page.live -= 1;
        let (live, list) = (page.live, page.list());
        self.classes[class].live -= 1;
        self.slab_bytes -= usize::from(CLASS_UNITS[class]) * UNIT_BYTES;
        if live == 0 {
            if list != List::None {
                self.unlink(number);
            }
            self.classes[class].pages -= 1;
            self.pages.give_back(number);
        } else if list == List::None {
            self.link(number, List::Partial);
        }
    }

    fn head_of(&mut self, class: u8, list: List) -> &mut u32 {
        let class = &mut self.classes[usize::from(class)];
        match list {
            List::Leaving => &mut class.leaving,
            List::Partial | List::None => &mut class.partial,
        }
    }

    fn link(&mut self, number: u32, list: List) {
        let class = self.pages.page(number).class;
        let next = std::mem::replace(self.head_of(class, list), number);
        if next != NONE {
            self.pages.page_mut(next).prev = number;
        }
        let page = self.pages.page_mut(number);
        debug_assert!(page.list() == List::None, "on one list at most");
        page.set_list(list);
        (page.prev, page.next) = (NONE, next);
    }

    fn unlink(&mut self, number: u32) {
        let page = self.pages.page_mut(number);
        let (class, list, prev, next) = (page.class, page.list(), page.prev, page.next);
        debug_assert!(list != List::None, "on a list");
        page.set_list(List::None);
        if prev == NONE {
            *self.head_of(class, list) = next;
        } else {
            self.pages.page_mut(prev).next = next;
        }
        if next != NONE {
            self.pages.page_mut(next).prev = prev;
        }
    }

    /// Whether the slot should move so that its page gets empty. Decides once per page: one that is at most
    /// half full while a quarter of its class is unused is taken out of allocation.
    pub(super) fn should_leave(&mut self, r: u32) -> bool {
        let number = r / PAGE_UNITS;
        let page: &Page = self.pages.page(number);
        let class = self.classes[usize::from(page.class)];
        let capacity = u64::from(PAGE_UNITS / u32::from(CLASS_UNITS[usize::from(page.class)]));
        let slots = u64::from(class.pages) * capacity;
        let unused = slots - u64::from(class.live);
        match page.list() {
            List::None => false,
            List::Leaving => true,
            List::Partial => {
                let sparse = u64::from(page.live) * 2 <= capacity
                    && number != class.partial
                    && unused >= capacity
                    && unused * 4 >= slots;
                if sparse {
                    self.unlink(number);
                    self.link(number, List::Leaving);
                }
                sparse
            }
        }
    }

    /// Moves the bytes of a slot to a new one of its class and frees the old; nothing if no other page has
    /// room. The caller rewrites the one ref.
    pub(super) fn relocate(&mut self, r: u32) -> Option<u32> {
        let class = self.pages.page(r / PAGE_UNITS).class;
        let new = self.allocate(class)?;
        if new / PAGE_UNITS == r / PAGE_UNITS {
            self.free(new);
            return None;
        }
        let bytes = usize::from(CLASS_UNITS[usize::from(class)]) * UNIT_BYTES;
        // SAFETY: two slots of one class in different pages.
        unsafe { self.address(new).copy_from_nonoverlapping(self.address(r), bytes) };
        self.free(r);
        Some(new)
    }

    pub(super) fn new_blob(&mut self, bytes: &[u8], cap: usize) -> Blob {
        let blob = Blob::new(bytes, cap);
        // SAFETY: just made.
        self.outside_bytes += unsafe { blob.allocated_bytes() };
        blob
    }

    /// # Safety
    /// The blob belongs to an entry of this heap, which no longer refers to it.
    pub(super) unsafe fn free_blob(&mut self, blob: Blob) {
        // SAFETY: live until here, unused from here on, by the caller's word.
        unsafe {
            self.outside_bytes -= blob.allocated_bytes();
            blob.free();
        }
    }

    /// # Safety
    /// The blob belongs to an entry of this heap, which gets the returned one instead.
    pub(super) unsafe fn resize_blob(&mut self, blob: Blob, len: usize) -> Blob {
        // SAFETY: live and exclusively ours by the caller's word and `&mut self`.
        unsafe {
            self.outside_bytes -= blob.allocated_bytes();
            let blob = blob.resize(len);
            self.outside_bytes += blob.allocated_bytes();
            blob
        }
    }

    /// Accounts memory that a table itself takes from the global allocator.
    pub(super) fn account(&mut self, before_bytes: usize, after_bytes: usize) {
        self.outside_bytes = self.outside_bytes - before_bytes + after_bytes;
    }
}

impl Drop for Heap {
    /// Frees the blobs of entries that are still there, which only their slots know. Boxed objects cannot be
    /// freed here, their type is their table's.
    fn drop(&mut self) {
        if self.outside_bytes == 0 {
            return;
        }
        for number in self.pages.numbers() {
            let page = self.pages.page(number);
            if usize::from(page.class) >= ENTRY_CLASSES {
                continue;
            }
            for offset in (0..page.bump).step_by(usize::from(CLASS_UNITS[usize::from(page.class)])) {
                // SAFETY: a slot of an entry class below `bump`: its header was written when it was handed out.
                let at = unsafe { At::new(self.address(number * PAGE_UNITS + u32::from(offset))) };
                if at.header().is_free() {
                    continue;
                }
                for blob in [at.key_blob(), at.value_blob()].into_iter().flatten() {
                    // SAFETY: the entry owns it and is never used again, as the heap goes.
                    unsafe { blob.free() };
                }
            }
        }
    }
}
