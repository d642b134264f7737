//! An entry that is being changed in place.
//!
//! A slot holds its table and heap exclusively, and knows where the entry's ref stands, so a change of size
//! moves the entry and rewrites that one ref.

use std::ptr::NonNull;

use super::blob::with_slack;
use super::entry::{At, Entry, FLAG_BOXED, FLAG_EXPIRY, FLAG_OUTSIDE, Header, Value};
use super::heap::{Handle, Heap, class_of};
use super::table::{Expiry, NewValue, Place, Table, own};

/// An entry with the right to change it. See the module.
pub struct Slot<'a, B> {
    table: &'a mut Table<B>,
    heap: &'a mut Heap,
    place: Place,
    r: u32,
}

impl<'a, B> Slot<'a, B> {
    pub(super) fn new(table: &'a mut Table<B>, heap: &'a mut Heap, place: Place, r: u32) -> Slot<'a, B> {
        Slot {
            table,
            heap,
            place,
            r,
        }
    }

    #[inline]
    fn at(&self) -> At {
        // `boxed` lends the heap out, and a lent heap may have been exchanged for another.
        self.table.check(self.heap);
        self.heap.at(self.r)
    }

    #[inline]
    pub fn entry(&self) -> Entry<'_, B> {
        // SAFETY: an entry of the table, which the slot holds together with the heap.
        unsafe { Entry::new(self.at()) }
    }

    #[inline]
    pub fn key(&self) -> &[u8] {
        self.entry().key()
    }
    #[inline]
    pub fn kind(&self) -> u8 {
        self.entry().kind()
    }
    #[inline]
    pub fn value(&self) -> Value<'_, B> {
        self.entry().value()
    }
    #[inline]
    pub fn expire_at_ms(&self) -> Option<u64> {
        self.entry().expire_at_ms()
    }
    #[inline]
    pub fn access(&self) -> u32 {
        self.entry().access()
    }

    /// The name of the entry, until a change moves it.
    pub fn handle(&self) -> Handle {
        Handle::of(self.r)
    }

    /// Ends the change but keeps the entry readable for as long as table and heap were borrowed.
    pub fn into_entry(self) -> Entry<'a, B> {
        let at = self.at();
        // SAFETY: the exclusive borrows for 'a are given up for the shared use of the entry.
        unsafe { Entry::new(at) }
    }

    /// The value's bytes, to change in place; empty for a boxed object.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let at = self.at();
        // SAFETY: the slot holds the heap exclusively.
        unsafe { at.bytes_mut() }
    }

    #[inline]
    pub fn set_kind(&mut self, kind: u8) {
        let at = self.at();
        // SAFETY: exclusive; the kind does not touch the layout.
        unsafe { at.set_header(at.header().with_kind(kind)) }
    }

    #[inline]
    pub fn set_access(&mut self, access: u32) {
        let at = self.at();
        // SAFETY: exclusive; access bits do not touch the layout.
        unsafe { at.set_header(at.header().with_access(access)) }
    }

    /// Sets, changes or (`None`) clears the expiry.
    pub fn set_expiry(&mut self, expire_at_ms: Option<u64>) {
        let header = self.at().header();
        let on = expire_at_ms.is_some();
        if header.has(FLAG_EXPIRY) != on {
            self.reshape(header.with_flag(FLAG_EXPIRY, on), header.value_bytes());
            match self.place {
                Place::Cell { bucket, cell, .. } => self.heap.bucket_mut(bucket).set_expiring(cell, on),
                Place::Spilled { .. } => {}
            }
            self.table.expiring = self.table.expiring + u32::from(on) - u32::from(!on);
        }
        if let Some(at_ms) = expire_at_ms {
            // SAFETY: exclusive, and the header has room for an expiry.
            unsafe { self.at().set_expire_at_ms(at_ms) }
        }
    }

    /// Replaces the value by bytes; kind and expiry stay. Returns the object that it held.
    pub fn set_bytes(&mut self, bytes: &[u8]) -> Option<Box<B>> {
        let at = self.at();
        let header = at.header();
        if let Some(blob) = at.value_blob()
            && !header.fits_inline(bytes.len())
            // SAFETY: the entry's own blob, held exclusively.
            && unsafe { blob.assign(bytes) }
        {
            return None;
        }
        let old_blob = at.value_blob();
        let old_object = at.boxed();
        let outside = !header.fits_inline(bytes.len());
        let header = header
            .with_flag(FLAG_BOXED, false)
            .with_flag(FLAG_OUTSIDE, outside)
            .with_value_len(if outside { 0 } else { bytes.len() });
        let at = self.reshape(header, 0);
        if outside {
            let blob = self.heap.new_blob(bytes, bytes.len());
            // SAFETY: exclusive; the header describes a pointer.
            unsafe { at.set_pointer(header.value_at(), blob.into_raw()) };
        } else {
            // SAFETY: exclusive; the header describes a value of these bytes, which lie outside of the heap.
            unsafe { at.write(header.value_at(), bytes) };
        }
        self.free_old_blob(old_blob);
        // SAFETY: the entry gave the object up.
        old_object.map(|object| unsafe { own(object) })
    }

    /// Replaces the value by an object; kind and expiry stay. Returns the object that it held.
    pub fn set_boxed(&mut self, object: Box<B>) -> Option<Box<B>> {
        let at = self.at();
        let old_blob = at.value_blob();
        let old_object = at.boxed();
        let header = at
            .header()
            .with_flag(FLAG_BOXED, true)
            .with_flag(FLAG_OUTSIDE, false)
            .with_value_len(0);
        let at = self.reshape(header, 0);
        // SAFETY: exclusive; the header describes an object's pointer.
        unsafe { at.set_pointer(header.value_at(), NonNull::from(Box::leak(object)).cast()) };
        self.free_old_blob(old_blob);
        // SAFETY: the entry gave the object up.
        old_object.map(|object| unsafe { own(object) })
    }

    fn free_old_blob(&mut self, blob: Option<super::blob::Blob>) {
        if let Some(blob) = blob {
            // SAFETY: the entry refers to its new value now.
            unsafe { self.heap.free_blob(blob) };
        }
    }

    /// Changes the length of the value's bytes: cut, or followed by zeros. Growing step by step is amortised.
    /// An object counts as no bytes and is left alone.
    pub fn resize(&mut self, len: usize) {
        let at = self.at();
        let header = at.header();
        if header.has(FLAG_BOXED) {
            return;
        }
        if let Some(blob) = at.value_blob() {
            // Going back inline only when well below the limit keeps a value at the limit from moving to and fro.
            if len > super::entry::SLOT_BYTES_MAX / 2 || !header.fits_inline(len) {
                // SAFETY: the entry's own blob, held exclusively and replaced at once.
                unsafe {
                    let blob = self.heap.resize_blob(blob, len);
                    at.set_pointer(header.value_at(), blob.into_raw());
                }
                return;
            }
            let header = header.with_flag(FLAG_OUTSIDE, false).with_value_len(len);
            let at = self.reshape(header, 0);
            // SAFETY: exclusive; the header describes `len` bytes, and the blob has at least as many or the
            // rest is zeroed.
            unsafe {
                let old = blob.bytes();
                let kept = old.len().min(len);
                at.write(header.value_at(), &old[..kept]);
                at.zero(header.value_at() + kept, len - kept);
                self.heap.free_blob(blob);
            }
            return;
        }
        let old_len = header.value_bytes();
        if header.fits_inline(len) {
            let header = header.with_value_len(len);
            let at = self.reshape(header, old_len.min(len));
            // SAFETY: exclusive; the header describes `len` bytes.
            unsafe { at.zero(header.value_at() + old_len.min(len), len.saturating_sub(old_len)) };
            return;
        }
        // SAFETY: unchanged while the blob is made from it.
        let blob = self.heap.new_blob(unsafe { at.bytes() }, with_slack(len));
        // SAFETY: just made; its capacity suffices, so it stays where it is.
        let blob = unsafe { self.heap.resize_blob(blob, len) };
        let header = header.with_flag(FLAG_OUTSIDE, true).with_value_len(0);
        let at = self.reshape(header, 0);
        // SAFETY: exclusive; the header describes a pointer.
        unsafe { at.set_pointer(header.value_at(), blob.into_raw()) };
    }

    /// The boxed object, and the heap that its inner tables live in.
    pub fn boxed(&mut self) -> Option<(&mut B, &mut Heap)> {
        let object = self.at().boxed()?;
        // SAFETY: the entry owns the object, and the slot holds the table, hence the object, exclusively;
        // objects are outside of the heap, so the two borrows do not overlap.
        Some((unsafe { object.cast::<B>().as_mut() }, self.heap))
    }

    /// The same for as long as the slot's borrows last.
    pub(super) fn into_boxed(self) -> Option<(&'a mut B, &'a mut Heap)> {
        let object = self.at().boxed()?;
        // SAFETY: as in `boxed`; the slot's own borrows are given up for the two.
        Some((unsafe { object.cast::<B>().as_mut() }, self.heap))
    }

    /// Everything a put does to an entry that exists.
    pub(super) fn assign(&mut self, kind: u8, value: NewValue<'_, B>, expiry: Expiry) -> Option<Box<B>> {
        let at = self.at();
        let mut header = at.header().with_kind(kind);
        if self.heap.refresh_on_put {
            header = header.with_access(self.heap.access_on_put);
        }
        // SAFETY: exclusive; neither kind nor access touch the layout.
        unsafe { at.set_header(header) };
        match expiry {
            Expiry::Keep => {}
            Expiry::Clear => {
                if header.has(FLAG_EXPIRY) {
                    self.set_expiry(None);
                }
            }
            Expiry::At(at_ms) => self.set_expiry(Some(at_ms)),
        }
        match value {
            NewValue::Bytes(bytes) => self.set_bytes(bytes),
            NewValue::Boxed(object) => self.set_boxed(object),
        }
    }

    /// Gives the entry another header, moving key and the first `kept` bytes of its value to where it says;
    /// to another slot if the class changes. The rest of the value is for the caller to write.
    fn reshape(&mut self, header: Header, kept: usize) -> At {
        let old = self.at();
        let before = old.header();
        let moved = before.value_at() - before.key_at() + kept;
        debug_assert!(
            header.value_at() - header.key_at() + kept <= header.slot_bytes(),
            "what is kept fits"
        );
        if class_of(before.slot_bytes()) == class_of(header.slot_bytes()) {
            // SAFETY: exclusive; both ranges lie in the slot, and may overlap.
            unsafe {
                let slot = old.as_ptr();
                slot.add(before.key_at())
                    .copy_to(slot.add(header.key_at()), moved);
                old.set_header(header);
            }
            return old;
        }
        let r = self.heap.allocate_entry(header);
        let new = self.heap.at(r);
        // SAFETY: two different slots; the new one has room for what is kept, and for an expiry if flagged.
        unsafe {
            let from = old.as_ptr().add(before.key_at());
            new.as_ptr()
                .add(header.key_at())
                .copy_from_nonoverlapping(from, moved);
            if let Some(at_ms) = old.expire_at_ms().filter(|_| header.has(FLAG_EXPIRY)) {
                new.set_expire_at_ms(at_ms);
            }
        }
        self.heap.free(self.r);
        match self.place {
            Place::Cell { bucket, cell, .. } => self.heap.bucket_mut(bucket).refs[cell] = r,
            Place::Spilled { hash } => {
                self.table.spill_take(self.heap, hash, self.r);
                self.table.spill_add(self.heap, hash, r);
            }
        }
        self.r = r;
        new
    }
}
