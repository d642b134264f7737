//! A table: an extendible hash index of entries in a heap.
//!
//! The order of a table is the order of hashes. The top 48 bits of a hash are its *position*: the
//! directory takes the top `depth` bits to a segment, and the segment of `n` buckets divides its range of
//! positions evenly, so the home bucket is monotone in the hash whatever depth and `n` are. Hence a cursor is
//! a position, and a split or merge never puts an entry on the other side of one.
//!
//! Invariants: an entry stands within [`REACH`] buckets of its home (cyclic in the segment), or in the spill
//! when neither growing nor splitting would have made room for it (equal hashes). A segment that has spilled
//! entries in its range says so. `len`, `expiring` and `buckets` are exact.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::ptr::NonNull;

use super::bucket::{BUCKET_UNITS, REACH, tag_of};
use super::entry::{Entry, FLAG_BOXED, FLAG_EXPIRY, FLAG_LONG_KEY, FLAG_OUTSIDE, Header, key_is_inline};
use super::heap::{Handle, Heap};
use super::slot::Slot;

/// What the spill counts per entry in [`Heap::live_bytes`]: a B-tree's share, an estimate for a rare case.
const SPILL_ENTRY_BYTES: usize = 24;

/// A place of the directory: the segment for a range of positions.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C, align(8))]
pub(super) struct Segment {
    /// First bucket; zero where nothing was ever put.
    pub(super) r: u32,
    /// Bits of the position that all of the segment's entries share.
    pub(super) depth: u8,
    pub(super) buckets: u8,
    pub(super) spilled: bool,
}

impl Segment {
    #[inline]
    pub(super) fn home(self, hash: u64) -> u32 {
        let within = (hash & !0xFFFF) << self.depth;
        ((u128::from(within) * u128::from(self.buckets)) >> 64) as u32
    }

    #[inline]
    pub(super) fn bucket(self, index: u32) -> u32 {
        self.r + index * BUCKET_UNITS
    }

    /// The bucket `step` after `home`, cyclic.
    #[inline]
    pub(super) fn after(self, home: u32, step: u32) -> u32 {
        let index = home + step;
        self.bucket(if index >= u32::from(self.buckets) {
            index - u32::from(self.buckets)
        } else {
            index
        })
    }

    #[inline]
    pub(super) fn reach(self) -> u32 {
        REACH.min(u32::from(self.buckets))
    }
}

/// Where the ref of an entry is kept.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Cell { home: u32, bucket: u32, cell: usize },
    Spilled { hash: u64 },
}

/// What to store.
#[derive(Debug)]
pub enum NewValue<'v, B> {
    Bytes(&'v [u8]),
    Boxed(Box<B>),
}

/// What a put does to the expiry of an entry. `At` is in milliseconds, see [`super::EXPIRE_AT_MS_MAX`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expiry {
    /// As it was; none for a new entry.
    Keep,
    Clear,
    At(u64),
}

/// What a put did.
#[derive(Debug)]
pub struct Put<B> {
    /// There was an entry of this key.
    pub replaced: bool,
    /// The object that it held.
    pub old_box: Option<Box<B>>,
    /// Names the entry until it moves.
    pub handle: Handle,
}

/// What was removed.
#[derive(Debug)]
pub struct Removed<B> {
    pub kind: u8,
    pub had_expiry: bool,
    pub old_box: Option<Box<B>>,
}

/// What [`Table::seek`] found.
pub enum Seek {
    Absent,
    /// It is there, but its time is up.
    Expired,
    Here(Found),
}

/// Where an entry stands, for [`Table::slot_at`]. Good until its table or heap changes.
#[derive(Clone, Copy)]
pub struct Found {
    place: Place,
    r: u32,
}

/// An index of entries in a [`Heap`]. An empty one allocates nothing.
///
/// Every call takes the heap that the first put was made with, and panics with another. A table that is
/// dropped with entries leaves them in the heap until that goes, and leaks their boxed objects: empty it
/// with [`Table::clear_slice`] first.
#[derive(Debug)]
pub struct Table<B> {
    /// One segment without a directory while `depth` is zero.
    pub(super) root: Segment,
    pub(super) directory: Box<[Segment]>,
    pub(super) spill: BTreeSet<(u64, u32)>,
    pub(super) heap_id: u32,
    pub(super) len: u32,
    pub(super) expiring: u32,
    /// Of all segments together.
    pub(super) buckets: u32,
    pub(super) segments: u32,
    /// Segments whose depth is the directory's: without any, it can be halved.
    pub(super) deepest: u32,
    /// No directory place below this one has a segment.
    pub(super) first_used: u32,
    pub(super) depth: u8,
    owned: PhantomData<Box<B>>,
}

impl<B> Default for Table<B> {
    fn default() -> Self {
        Table::new()
    }
}

impl<B> Table<B> {
    pub fn new() -> Table<B> {
        Table {
            root: Segment::default(),
            directory: Box::default(),
            spill: BTreeSet::new(),
            heap_id: 0,
            len: 0,
            expiring: 0,
            buckets: 0,
            segments: 0,
            deepest: 0,
            first_used: 0,
            depth: 0,
            owned: PhantomData,
        }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Entries with an expiry.
    #[inline]
    pub fn expiring(&self) -> usize {
        self.expiring as usize
    }

    /// Bytes of the index itself: segments and directory. The entries are not in it.
    pub fn index_bytes(&self) -> usize {
        self.buckets as usize * 64 + size_of_val(&*self.directory)
    }

    /// Refuses a heap that the table's refs do not belong to.
    #[inline]
    pub(super) fn check(&self, heap: &Heap) {
        assert!(
            self.heap_id == heap.id() || self.heap_id == 0,
            "a table is used with its own heap"
        );
    }

    #[inline]
    pub(super) fn segment_of(&self, hash: u64) -> Segment {
        if self.depth == 0 {
            self.root
        } else {
            self.directory[(hash >> (64 - self.depth)) as usize]
        }
    }

    /// Starts to load the bucket of a hash into the cache.
    #[inline]
    pub fn prefetch(&self, heap: &Heap, hash: u64) {
        let segment = self.segment_of(hash);
        if segment.r != 0 {
            heap.prefetch(segment.bucket(segment.home(hash)));
        }
    }

    /// Starts to load the entry that a hash most likely belongs to; reads its bucket.
    #[inline]
    pub fn prefetch_entry(&self, heap: &Heap, hash: u64) {
        self.check(heap);
        let segment = self.segment_of(hash);
        if segment.r == 0 {
            return;
        }
        let bucket = heap.bucket(segment.bucket(segment.home(hash)));
        for cell in bucket.matches(tag_of(hash)) {
            // An entry of 40 bytes begins in the second half of a line as often as not.
            heap.prefetch(bucket.refs[cell]);
            heap.prefetch(bucket.refs[cell] + 4);
        }
    }

    #[inline]
    pub(super) fn find(&self, heap: &Heap, hash: u64, key: &[u8]) -> Option<(Place, u32)> {
        self.check(heap);
        let segment = self.segment_of(hash);
        if segment.r == 0 {
            return None;
        }
        let tag = tag_of(hash);
        let home = segment.home(hash);
        let home_bucket = segment.bucket(home);
        let first = heap.bucket(home_bucket);
        for cell in first.matches(tag) {
            let r = first.refs[cell];
            if heap.key_at(r) == key {
                return Some((
                    Place::Cell {
                        home: home_bucket,
                        bucket: home_bucket,
                        cell,
                    },
                    r,
                ));
            }
        }
        if first.overflow == 0 && !segment.spilled {
            return None;
        }
        self.find_further(heap, hash, key, segment)
    }

    fn find_further(&self, heap: &Heap, hash: u64, key: &[u8], segment: Segment) -> Option<(Place, u32)> {
        let home = segment.home(hash);
        for step in 1..segment.reach() {
            let bucket = segment.after(home, step);
            let line = heap.bucket(bucket);
            for cell in line.matches(tag_of(hash)) {
                let r = line.refs[cell];
                if heap.key_at(r) == key {
                    return Some((
                        Place::Cell {
                            home: segment.bucket(home),
                            bucket,
                            cell,
                        },
                        r,
                    ));
                }
            }
        }
        if !segment.spilled {
            return None;
        }
        self.spill
            .range((hash, 0)..=(hash, u32::MAX))
            .find(|&&(_, r)| heap.key_at(r) == key)
            .map(|&(_, r)| (Place::Spilled { hash }, r))
    }

    #[inline]
    pub fn get<'a>(&'a self, heap: &'a Heap, hash: u64, key: &[u8]) -> Option<Entry<'a, B>> {
        let (_, r) = self.find(heap, hash, key)?;
        Some(self.entry(heap, r))
    }

    #[inline]
    pub(super) fn entry<'a>(&'a self, heap: &'a Heap, r: u32) -> Entry<'a, B> {
        // SAFETY: the ref stands in this table, whose boxed objects are Bs; both are borrowed for 'a.
        unsafe { Entry::new(heap.at(r)) }
    }

    #[inline]
    pub fn get_mut<'a>(&'a mut self, heap: &'a mut Heap, hash: u64, key: &[u8]) -> Option<Slot<'a, B>> {
        let (place, r) = self.find(heap, hash, key)?;
        Some(Slot::new(self, heap, place, r))
    }

    /// Where the entry of a key is, unless it is past its time: a look-up that borrows nothing, so that the
    /// caller may do something else about an absent or expired one.
    #[inline]
    pub fn seek(&self, heap: &Heap, hash: u64, key: &[u8], now_ms: u64) -> Seek {
        let Some((place, r)) = self.find(heap, hash, key) else {
            return Seek::Absent;
        };
        match self.entry(heap, r).expire_at_ms() {
            Some(at) if at <= now_ms => Seek::Expired,
            _ => Seek::Here(Found { place, r }),
        }
    }

    /// The entry that `seek` found, for changing it. Panics if the table changed in between.
    #[inline]
    pub fn slot_at<'a>(&'a mut self, heap: &'a mut Heap, found: Found) -> Slot<'a, B> {
        self.check(heap);
        let held = match found.place {
            Place::Cell { bucket, cell, .. } => heap.bucket(bucket).refs[cell] == found.r,
            Place::Spilled { hash } => self.spill.contains(&(hash, found.r)),
        };
        assert!(held, "a table does not change between seek and slot_at");
        Slot::new(self, heap, found.place, found.r)
    }

    /// The name of an entry, see [`Handle`].
    pub fn handle(&self, heap: &Heap, hash: u64, key: &[u8]) -> Option<Handle> {
        self.find(heap, hash, key).map(|(_, r)| Handle::of(r))
    }

    /// Inserts or overwrites. An overwrite whose size is of the same class happens in place and allocates
    /// nothing. New entries get the heap's access bits, see [`Heap::set_access_on_put`].
    ///
    /// # Panics
    /// When the heap's reserved range is full (see [`Heap::room_bytes`]); the table is then as before.
    #[inline]
    pub fn put(
        &mut self,
        heap: &mut Heap,
        hash: u64,
        key: &[u8],
        kind: u8,
        value: NewValue<'_, B>,
        expiry: Expiry,
    ) -> Put<B> {
        self.put_seen(heap, hash, key, kind, value, expiry, |_| ()).0
    }

    /// The same; what `see` makes of the entry that is overwritten comes with it.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "those of `put`, and one")]
    pub fn put_seen<T>(
        &mut self,
        heap: &mut Heap,
        hash: u64,
        key: &[u8],
        kind: u8,
        value: NewValue<'_, B>,
        expiry: Expiry,
        see: impl FnOnce(Entry<'_, B>) -> T,
    ) -> (Put<B>, Option<T>) {
        debug_assert_eq!(hash, heap.hash(key), "the hash is the heap's own of this key");
        if let Some((place, r)) = self.find(heap, hash, key) {
            let mut slot = Slot::new(self, heap, place, r);
            let seen = see(slot.entry());
            let old_box = slot.assign(kind, value, expiry);
            let put = Put {
                replaced: true,
                old_box,
                handle: slot.handle(),
            };
            return (put, Some(seen));
        }
        let put = Put {
            replaced: false,
            old_box: None,
            handle: self.insert(heap, hash, key, kind, value, expiry),
        };
        (put, None)
    }

    fn insert(
        &mut self,
        heap: &mut Heap,
        hash: u64,
        key: &[u8],
        kind: u8,
        value: NewValue<'_, B>,
        expiry: Expiry,
    ) -> Handle {
        assert!(
            self.len < u32::MAX,
            "refs of four bytes name fewer entries than this"
        );
        self.heap_id = heap.id();
        let place = self.room_for(heap, hash);
        let r = write_entry(heap, key, kind, value, expiry);
        let expiring = matches!(expiry, Expiry::At(_));
        match place {
            Place::Cell { home, bucket, cell } => {
                heap.bucket_mut(bucket).set(cell, r, tag_of(hash), expiring);
                if bucket != home {
                    heap.bucket_mut(home).overflow += 1;
                }
            }
            Place::Spilled { hash } => self.spill_add(heap, hash, r),
        }
        self.len += 1;
        self.expiring += u32::from(expiring);
        Handle::of(r)
    }

    /// A free cell for a hash, having grown the table if need be.
    #[inline]
    fn room_for(&mut self, heap: &mut Heap, hash: u64) -> Place {
        loop {
            let segment = self.segment_of(hash);
            if segment.r != 0
                && let Some(place) = free_cell(heap, segment, hash)
            {
                return place;
            }
            if !self.make_room(heap, hash) {
                return Place::Spilled { hash };
            }
        }
    }

    pub(super) fn spill_add(&mut self, heap: &mut Heap, hash: u64, r: u32) {
        heap.account(0, SPILL_ENTRY_BYTES);
        self.spill.insert((hash, r));
        self.mark_spilled(hash);
    }

    /// Takes an entry out of the spill.
    pub(super) fn spill_take(&mut self, heap: &mut Heap, hash: u64, r: u32) {
        if self.spill.remove(&(hash, r)) {
            heap.account(SPILL_ENTRY_BYTES, 0);
        }
    }

    /// Removes an entry and frees what it holds, but for a boxed object, which the caller gets.
    pub fn remove(&mut self, heap: &mut Heap, hash: u64, key: &[u8]) -> Option<Removed<B>> {
        let (place, r) = self.find(heap, hash, key)?;
        let mut emptied = false;
        match place {
            Place::Cell { home, bucket, cell } => {
                let line = heap.bucket_mut(bucket);
                line.clear(cell);
                emptied = line.used_count() == 0;
                if bucket != home {
                    heap.bucket_mut(home).overflow -= 1;
                }
            }
            Place::Spilled { hash } => self.spill_take(heap, hash, r),
        }
        let header = heap.at(r).header();
        self.len -= 1;
        self.expiring -= u32::from(header.has(FLAG_EXPIRY));
        let old_box = self.free_entry(heap, r);
        self.give_room_back(heap, hash, emptied);
        Some(Removed {
            kind: header.kind(),
            had_expiry: header.has(FLAG_EXPIRY),
            old_box,
        })
    }

    /// Frees an entry that no cell holds any more.
    pub(super) fn free_entry(&mut self, heap: &mut Heap, r: u32) -> Option<Box<B>> {
        let at = heap.at(r);
        for blob in [at.key_blob(), at.value_blob()].into_iter().flatten() {
            // SAFETY: the entry that owned it goes now.
            unsafe { heap.free_blob(blob) };
        }
        let object = at.boxed();
        heap.free(r);
        // SAFETY: the entry that owned it is gone.
        object.map(|object| unsafe { own(object) })
    }
}

/// Owns the object of an entry again.
///
/// # Safety
/// The address comes from an entry of a table of `B` that no longer refers to it.
pub(super) unsafe fn own<B>(object: NonNull<u8>) -> Box<B> {
    // SAFETY: entries take their objects from a `Box<B>`; nobody else refers to it by the caller's word.
    unsafe { Box::from_raw(object.cast::<B>().as_ptr()) }
}

#[inline]
pub(super) fn free_cell(heap: &Heap, segment: Segment, hash: u64) -> Option<Place> {
    let home = segment.home(hash);
    let home_bucket = segment.bucket(home);
    (0..segment.reach()).find_map(|step| {
        let bucket = segment.after(home, step);
        heap.bucket(bucket).free_cell().map(|cell| Place::Cell {
            home: home_bucket,
            bucket,
            cell,
        })
    })
}

/// Writes a new entry.
fn write_entry<B>(heap: &mut Heap, key: &[u8], kind: u8, value: NewValue<'_, B>, expiry: Expiry) -> u32 {
    let long_key = !key_is_inline(key.len());
    let expiring = matches!(expiry, Expiry::At(_));
    let mut header = Header::new(
        kind,
        if long_key { FLAG_LONG_KEY } else { 0 },
        key.len(),
        heap.access_on_put,
    )
    .with_flag(FLAG_EXPIRY, expiring);
    match value {
        NewValue::Boxed(_) => header = header.with_flag(FLAG_BOXED, true),
        NewValue::Bytes(bytes) if header.fits_inline(bytes.len()) => {
            header = header.with_value_len(bytes.len())
        }
        NewValue::Bytes(_) => header = header.with_flag(FLAG_OUTSIDE, true),
    }
    let r = heap.allocate_entry(header);
    let key_blob = long_key.then(|| heap.new_blob(key, key.len()));
    let value_blob = match value {
        NewValue::Bytes(bytes) if header.has(FLAG_OUTSIDE) => Some(heap.new_blob(bytes, bytes.len())),
        _ => None,
    };
    let at = heap.at(r);
    // SAFETY: a fresh slot with exactly the parts that the header describes, all of which are written here.
    unsafe {
        match key_blob {
            Some(blob) => at.set_pointer(header.key_at(), blob.into_raw()),
            None => at.write(header.key_at(), key),
        }
        if let Expiry::At(at_ms) = expiry {
            at.set_expire_at_ms(at_ms);
        }
        match (value_blob, value) {
            (Some(blob), _) => at.set_pointer(header.value_at(), blob.into_raw()),
            (None, NewValue::Bytes(bytes)) => at.write(header.value_at(), bytes),
            (None, NewValue::Boxed(object)) => {
                at.set_pointer(header.value_at(), NonNull::from(Box::leak(object)).cast());
            }
        }
    }
    r
}
