//! The layout of an entry in its slot, and the view of it that callers read.
//!
//! ```text
//! header 6 bytes: kind 4 | flags 4 | key length 8 | value length 11 | access 21   (low bit first)
//! expiry 6 bytes  (only with the flag): milliseconds
//! key             its bytes, or a pointer to a blob with the flag LONG_KEY
//! value           its bytes, or a pointer: to a blob with OUTSIDE, to a boxed object with BOXED
//! ```
//! OUTSIDE and BOXED together mark a free slot, so that a ref to one is recognised.

use std::marker::PhantomData;
use std::ptr::NonNull;

use super::blob::Blob;

pub(super) const FLAG_EXPIRY: u8 = 1;
pub(super) const FLAG_OUTSIDE: u8 = 2;
pub(super) const FLAG_BOXED: u8 = 4;
pub(super) const FLAG_LONG_KEY: u8 = 8;
/// With either, the value is a pointer.
const FLAGS_POINTER: u8 = FLAG_OUTSIDE | FLAG_BOXED;
/// With both, the slot is free.
const FLAGS_FREE: u8 = FLAGS_POINTER;

const HEADER_BYTES: usize = 6;
const EXPIRY_BYTES: usize = 6;
const POINTER_BYTES: usize = 8;
/// Largest slot; what is longer has its value outside.
pub(super) const SLOT_BYTES_MAX: usize = 2048;
const INLINE_KEY_MAX: usize = 255;
const LOW_48: u64 = (1 << 48) - 1;

/// The first 48 bits of an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Header(u64);

impl Header {
    /// What a free slot starts with.
    pub(super) const FREE: Header = Header((FLAGS_FREE as u64) << 4);

    pub(super) fn new(kind: u8, flags: u8, key_len: usize, access: u32) -> Header {
        debug_assert!(kind < 16 && flags < 16, "four bits each");
        let header = Header(u64::from(kind & 15) | (u64::from(flags & 15) << 4)).with_access(access);
        if flags & FLAG_LONG_KEY != 0 {
            return header;
        }
        debug_assert!(key_len <= INLINE_KEY_MAX, "longer keys are outside");
        Header(header.0 | ((key_len as u64 & 0xFF) << 8))
    }

    #[inline]
    pub(super) fn kind(self) -> u8 {
        self.0 as u8 & 15
    }
    #[inline]
    pub(super) fn flags(self) -> u8 {
        (self.0 >> 4) as u8 & 15
    }
    #[inline]
    pub(super) fn has(self, flag: u8) -> bool {
        self.flags() & flag != 0
    }
    #[inline]
    pub(super) fn is_free(self) -> bool {
        self.flags() & FLAGS_FREE == FLAGS_FREE
    }
    #[inline]
    pub(super) fn access(self) -> u32 {
        (self.0 >> 27) as u32 & ((1 << super::ACCESS_BITS) - 1)
    }
    #[inline]
    fn value_len(self) -> usize {
        (self.0 >> 16) as usize & 0x7FF
    }
    #[inline]
    pub(super) fn with_kind(self, kind: u8) -> Header {
        debug_assert!(kind < 16, "four bits");
        Header(self.0 & !15 | u64::from(kind & 15))
    }
    #[inline]
    pub(super) fn with_flag(self, flag: u8, on: bool) -> Header {
        let bit = u64::from(flag) << 4;
        Header(if on { self.0 | bit } else { self.0 & !bit })
    }
    #[inline]
    pub(super) fn with_value_len(self, len: usize) -> Header {
        debug_assert!(len <= 0x7FF, "longer values are outside");
        Header(self.0 & !(0x7FF << 16) | ((len as u64 & 0x7FF) << 16))
    }
    #[inline]
    pub(super) fn with_access(self, access: u32) -> Header {
        let mask = (1 << super::ACCESS_BITS) - 1;
        Header(self.0 & !(mask << 27) | ((u64::from(access) & mask) << 27))
    }

    #[inline]
    pub(super) fn key_at(self) -> usize {
        HEADER_BYTES + if self.has(FLAG_EXPIRY) { EXPIRY_BYTES } else { 0 }
    }
    #[inline]
    fn key_bytes(self) -> usize {
        if self.has(FLAG_LONG_KEY) {
            POINTER_BYTES
        } else {
            (self.0 >> 8) as usize & 0xFF
        }
    }
    #[inline]
    pub(super) fn value_at(self) -> usize {
        self.key_at() + self.key_bytes()
    }
    /// Bytes that the value takes in the slot.
    #[inline]
    pub(super) fn value_bytes(self) -> usize {
        if self.has(FLAGS_POINTER) {
            POINTER_BYTES
        } else {
            self.value_len()
        }
    }
    #[inline]
    pub(super) fn slot_bytes(self) -> usize {
        self.value_at() + self.value_bytes()
    }
    /// Whether a value of `len` bytes stays in the slot. Room for an expiry is always counted, so that setting
    /// one never moves a value outside.
    #[inline]
    pub(super) fn fits_inline(self, len: usize) -> bool {
        HEADER_BYTES + EXPIRY_BYTES + self.key_bytes() + len <= SLOT_BYTES_MAX
    }
}

/// Whether a key of that length stands in the slot.
#[inline]
pub(super) fn key_is_inline(len: usize) -> bool {
    len <= INLINE_KEY_MAX
}

/// The address of a slot with a live entry. Reading through it is safe as long as nobody changes
/// the entry, which the borrow of the heap under which it was made guarantees to its holders.
#[derive(Clone, Copy)]
pub(super) struct At(NonNull<u8>);

impl At {
    /// # Safety
    /// `slot` is the eight-byte aligned start of a slot that holds a live entry, or in whose first
    /// [`Header::slot_bytes`] bytes the caller is about to write one.
    #[inline]
    pub(super) unsafe fn new(slot: NonNull<u8>) -> At {
        At(slot)
    }

    #[inline]
    pub(super) fn as_ptr(self) -> NonNull<u8> {
        self.0
    }

    #[inline]
    pub(super) fn header(self) -> Header {
        // SAFETY: a slot is aligned to, and at least, eight bytes; live by the type's invariant.
        Header(unsafe { self.0.cast::<u64>().read() } & LOW_48)
    }

    /// # Safety
    /// Exclusive access to the slot; the bytes after the header agree with `header` before anyone reads them.
    #[inline]
    pub(super) unsafe fn set_header(self, header: Header) {
        // SAFETY: as in `header`, exclusive by the caller's word.
        unsafe {
            let rest = self.0.cast::<u64>().read() & !LOW_48;
            self.0.cast::<u64>().write(rest | header.0);
        }
    }

    #[inline]
    pub(super) fn expire_at_ms(self) -> Option<u64> {
        if !self.header().has(FLAG_EXPIRY) {
            return None;
        }
        // SAFETY: the flag says that bytes 6 to 12 are an expiry; the slot then has 16 bytes or more.
        Some(unsafe { self.0.add(HEADER_BYTES - 2).cast::<u64>().read_unaligned() } >> 16)
    }

    /// # Safety
    /// Exclusive access, and the entry's header has FLAG_EXPIRY.
    #[inline]
    pub(super) unsafe fn set_expire_at_ms(self, at_ms: u64) {
        let bytes = at_ms.min(super::EXPIRE_AT_MS_MAX).to_le_bytes();
        // SAFETY: bytes 6 to 12 belong to the expiry by the caller's word.
        unsafe {
            self.0
                .add(HEADER_BYTES)
                .copy_from_nonoverlapping(NonNull::from(&bytes).cast(), EXPIRY_BYTES)
        }
    }

    /// # Safety
    /// The entry is neither freed nor changed for `'a`.
    #[inline]
    pub(super) unsafe fn key<'a>(self) -> &'a [u8] {
        let header = self.header();
        // SAFETY: by the layout the key's bytes, or the pointer to its live blob, stand at `key_at`.
        unsafe {
            if header.has(FLAG_LONG_KEY) {
                return self.pointer_at(header.key_at()).bytes();
            }
            std::slice::from_raw_parts(self.0.add(header.key_at()).as_ptr(), header.key_bytes())
        }
    }

    /// # Safety
    /// A pointer to a live blob stands at `offset`.
    #[inline]
    unsafe fn pointer_at(self, offset: usize) -> Blob {
        // SAFETY: by the caller's word; written by `set_pointer` from a non-null pointer.
        Blob::from_raw(unsafe { self.0.add(offset).cast::<NonNull<u8>>().read_unaligned() })
    }

    /// # Safety
    /// Exclusive access, and eight bytes at `offset` are a pointer's by the header.
    #[inline]
    pub(super) unsafe fn set_pointer(self, offset: usize, pointer: NonNull<u8>) {
        // SAFETY: by the caller's word.
        unsafe { self.0.add(offset).cast::<NonNull<u8>>().write_unaligned(pointer) }
    }

    /// The blob of a long key.
    pub(super) fn key_blob(self) -> Option<Blob> {
        let header = self.header();
        // SAFETY: the flag says that a blob's pointer stands there.
        header
            .has(FLAG_LONG_KEY)
            .then(|| unsafe { self.pointer_at(header.key_at()) })
    }

    /// The blob of a value outside.
    pub(super) fn value_blob(self) -> Option<Blob> {
        let header = self.header();
        // SAFETY: the flag says that a blob's pointer stands there.
        header
            .has(FLAG_OUTSIDE)
            .then(|| unsafe { self.pointer_at(header.value_at()) })
    }

    /// The address of the boxed object.
    #[inline]
    pub(super) fn boxed(self) -> Option<NonNull<u8>> {
        let header = self.header();
        // SAFETY: the flag says that an object's pointer stands there.
        header
            .has(FLAG_BOXED)
            .then(|| unsafe { self.pointer_at(header.value_at()) }.into_raw())
    }

    /// The value's bytes; none for a boxed object.
    ///
    /// # Safety
    /// The entry is neither freed nor changed for `'a`.
    #[inline]
    pub(super) unsafe fn bytes<'a>(self) -> &'a [u8] {
        let header = self.header();
        // SAFETY: by the layout: inline bytes stand at `value_at`, or a pointer to a live blob does.
        unsafe {
            if !header.has(FLAGS_POINTER) {
                return std::slice::from_raw_parts(
                    self.0.add(header.value_at()).as_ptr(),
                    header.value_len(),
                );
            }
            self.value_blob().map_or(&[], |blob| blob.bytes())
        }
    }

    /// As [`At::bytes`], to change them.
    ///
    /// # Safety
    /// Exclusive access to the entry for `'a`.
    pub(super) unsafe fn bytes_mut<'a>(self) -> &'a mut [u8] {
        let header = self.header();
        // SAFETY: as in `bytes`, exclusive by the caller's word.
        unsafe {
            if !header.has(FLAGS_POINTER) {
                let value = self.0.add(header.value_at()).as_ptr();
                return std::slice::from_raw_parts_mut(value, header.value_len());
            }
            self.value_blob().map_or(&mut [], |blob| blob.bytes_mut())
        }
    }

    /// Copies `bytes` into the slot.
    ///
    /// # Safety
    /// Exclusive access; the slot has that many bytes at `offset`, and `bytes` lies elsewhere.
    #[inline]
    pub(super) unsafe fn write(self, offset: usize, bytes: &[u8]) {
        // SAFETY: by the caller's word.
        unsafe {
            self.0
                .add(offset)
                .copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len())
        }
    }

    /// # Safety
    /// Exclusive access; the slot has that many bytes at `offset`.
    pub(super) unsafe fn zero(self, offset: usize, count: usize) {
        // SAFETY: by the caller's word.
        unsafe { self.0.add(offset).write_bytes(0, count) }
    }
}

/// What an entry holds.
#[derive(Debug)]
pub enum Value<'a, B> {
    Bytes(&'a [u8]),
    Boxed(&'a B),
}

/// An entry as it can be read while neither its table nor its heap changes.
pub struct Entry<'a, B> {
    at: At,
    table: PhantomData<&'a B>,
}

impl<B> Clone for Entry<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<B> Copy for Entry<'_, B> {}

impl<'a, B> Entry<'a, B> {
    /// # Safety
    /// The entry belongs to a table of `B` and neither changes for `'a`.
    #[inline]
    pub(super) unsafe fn new(at: At) -> Entry<'a, B> {
        Entry {
            at,
            table: PhantomData,
        }
    }

    #[inline]
    pub fn key(&self) -> &'a [u8] {
        // SAFETY: unchanged for 'a by the invariant of `new`.
        unsafe { self.at.key() }
    }

    /// The four bits that the table's owner tells its values apart by.
    #[inline]
    pub fn kind(&self) -> u8 {
        self.at.header().kind()
    }

    #[inline]
    pub fn value(&self) -> Value<'a, B> {
        match self.at.boxed() {
            // SAFETY: a boxed entry of a table of B holds the address of a B that it owns.
            Some(object) => Value::Boxed(unsafe { object.cast::<B>().as_ref() }),
            // SAFETY: unchanged for 'a.
            None => Value::Bytes(unsafe { self.at.bytes() }),
        }
    }

    /// The value's bytes; empty for a boxed object.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        // SAFETY: unchanged for 'a.
        unsafe { self.at.bytes() }
    }

    #[inline]
    pub fn boxed(&self) -> Option<&'a B> {
        match self.value() {
            Value::Boxed(object) => Some(object),
            Value::Bytes(_) => None,
        }
    }

    #[inline]
    pub fn expire_at_ms(&self) -> Option<u64> {
        self.at.expire_at_ms()
    }

    #[inline]
    pub fn access(&self) -> u32 {
        self.at.header().access()
    }

    /// The bytes that the entry takes, long keys and values outside of it included; the room that is left in
    /// its slot is not. A boxed object counts by its owner.
    pub fn size(&self) -> usize {
        let expiry = self.expire_at_ms().map_or(0, |_| EXPIRY_BYTES);
        let boxed = self.boxed().map_or(0, |_| POINTER_BYTES);
        HEADER_BYTES + expiry + self.key().len() + self.bytes().len() + boxed
    }
}
