//! Blocks from the global allocator for what does not fit a slot: long values and long keys.
//!
//! A blob is one pointer, kept in the entry; its length and capacity stand before its bytes.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error, realloc};
use std::ptr::NonNull;

#[repr(C)]
struct Head {
    len: usize,
    cap: usize,
}

const HEAD_BYTES: usize = size_of::<Head>();

/// The owner of a block is the entry that stores the pointer; copies of a `Blob` are only for passing it.
#[derive(Clone, Copy)]
pub(super) struct Blob(NonNull<Head>);

fn layout(cap: usize) -> Layout {
    cap.checked_add(HEAD_BYTES)
        .and_then(|bytes| Layout::from_size_align(bytes, align_of::<Head>()).ok())
        .unwrap_or_else(|| panic!("a value of {cap} bytes exceeds the address space"))
}

impl Blob {
    /// A block holding `bytes`, with room for `cap` of them in all.
    pub(super) fn new(bytes: &[u8], cap: usize) -> Blob {
        let cap = cap.max(bytes.len());
        let layout = layout(cap);
        // SAFETY: the layout is never empty, it has a head.
        let block = unsafe { alloc(layout) };
        let Some(head) = NonNull::new(block.cast::<Head>()) else {
            handle_alloc_error(layout)
        };
        // SAFETY: freshly allocated for a head and at least `bytes.len()` bytes; cannot overlap `bytes`.
        unsafe {
            head.write(Head {
                len: bytes.len(),
                cap,
            });
            head.add(1)
                .cast::<u8>()
                .copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len());
        }
        Blob(head)
    }

    pub(super) fn from_raw(head: NonNull<u8>) -> Blob {
        Blob(head.cast())
    }

    pub(super) fn into_raw(self) -> NonNull<u8> {
        self.0.cast()
    }

    /// # Safety
    /// The block is live.
    unsafe fn head<'a>(self) -> &'a Head {
        // SAFETY: live by the caller's word, hence initialised by `new`.
        unsafe { self.0.as_ref() }
    }

    /// What the block takes from the allocator, its head included.
    ///
    /// # Safety
    /// The block is live.
    pub(super) unsafe fn allocated_bytes(self) -> usize {
        // SAFETY: passed on.
        unsafe { self.head().cap + HEAD_BYTES }
    }

    /// # Safety
    /// The block is live, and neither freed nor changed for `'a`.
    pub(super) unsafe fn bytes<'a>(self) -> &'a [u8] {
        // SAFETY: `len` bytes after the head are initialised; shared access by the caller's word.
        unsafe { std::slice::from_raw_parts(self.0.add(1).cast::<u8>().as_ptr(), self.head().len) }
    }

    /// # Safety
    /// The block is live, and this is the only access to it for `'a`.
    pub(super) unsafe fn bytes_mut<'a>(self) -> &'a mut [u8] {
        // SAFETY: `len` bytes after the head are initialised; exclusive access by the caller's word.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(1).cast::<u8>().as_ptr(), self.head().len) }
    }

    /// Changes the length; new bytes are zero. A growth beyond the capacity takes slack, so that appending is
    /// amortised; a block that became much too large is cut down.
    ///
    /// # Safety
    /// The block is live and this is the only access to it. The returned blob replaces this one.
    pub(super) unsafe fn resize(self, len: usize) -> Blob {
        // SAFETY: live by the caller's word.
        let (old_len, old_cap) = unsafe { (self.head().len, self.head().cap) };
        let cap = if len > old_cap {
            with_slack(len)
        } else if len < old_cap / 4 {
            len
        } else {
            old_cap
        };
        let mut head = self.0;
        if cap != old_cap {
            // SAFETY: the block was allocated with `layout(old_cap)`; the new size is not zero and was
            // checked against the limits by `layout`.
            let block = unsafe { realloc(head.cast().as_ptr(), layout(old_cap), layout(cap).size()) };
            head = NonNull::new(block.cast()).unwrap_or_else(|| handle_alloc_error(layout(cap)));
        }
        // SAFETY: the block holds a head and `cap >= len` bytes, exclusively ours.
        unsafe {
            if len > old_len {
                head.add(1)
                    .cast::<u8>()
                    .add(old_len)
                    .write_bytes(0, len - old_len);
            }
            head.write(Head { len, cap });
        }
        Blob(head)
    }

    /// Overwrites the contents where they fit without wasting more than half. False: nothing was done.
    ///
    /// # Safety
    /// The block is live and this is the only access to it.
    pub(super) unsafe fn assign(self, bytes: &[u8]) -> bool {
        // SAFETY: live by the caller's word.
        let cap = unsafe { self.head().cap };
        if bytes.len() > cap || bytes.len() < cap / 2 {
            return false;
        }
        // SAFETY: exclusive by the caller's word, so `bytes` cannot point into it; they fit.
        unsafe {
            self.0
                .add(1)
                .cast::<u8>()
                .copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len());
            (*self.0.as_ptr()).len = bytes.len();
        }
        true
    }

    /// # Safety
    /// The block is live and nobody uses it afterwards.
    pub(super) unsafe fn free(self) {
        // SAFETY: allocated with this very layout; live by the caller's word.
        unsafe { dealloc(self.0.cast().as_ptr(), layout(self.head().cap)) };
    }
}

/// Room to take for `len` bytes that are likely to grow: half as much again, at most a mebibyte more.
pub(super) fn with_slack(len: usize) -> usize {
    len.saturating_add((len / 2).min(1 << 20))
}
