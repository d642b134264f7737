//! A reserved range of address space: mapped once, backed by memory only where it was touched.
//!
//! The range never moves and is unmapped when its last holder goes, so that a [`Populate`] job that a
//! helper thread still holds never touches an address that belongs to somebody else.

use std::ptr::NonNull;
use std::sync::Arc;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// The unit in which huge pages come, and a step of [`Populate::run`].
pub(super) const STEP_BYTES: usize = 2 << 20;

pub(super) struct Range {
    mapped: NonNull<u8>,
    mapped_bytes: usize,
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a range is plain memory; who may touch which part is decided by its single `Heap`, and a `Populate`
// only asks the kernel to back addresses, which changes no byte.
unsafe impl Send for Range {}
// SAFETY: as above: no method of a shared range reads or writes its memory.
unsafe impl Sync for Range {}

impl Range {
    /// Reserves `bytes` (a multiple of [`STEP_BYTES`]), aligned for huge pages.
    pub(super) fn reserve(bytes: usize) -> Range {
        let mapped_bytes = bytes + STEP_BYTES;
        // SAFETY: an anonymous private mapping at an address of the kernel's choice overlaps nothing of ours.
        let mapped = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                mapped_bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        };
        let mapped = match mapped {
            Ok(address) => NonNull::new(address.cast::<u8>()).expect("the kernel maps nothing at zero"),
            Err(error) => panic!("cannot reserve {mapped_bytes} bytes of address space for a shard: {error}"),
        };
        let ahead = mapped.align_offset(STEP_BYTES);
        // SAFETY: `ahead` is below STEP_BYTES, by which the mapping is longer than `bytes`.
        let base = unsafe { mapped.add(ahead) };
        Range {
            mapped,
            mapped_bytes,
            base,
            bytes,
        }
    }

    pub(super) fn base(&self) -> NonNull<u8> {
        self.base
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Gives the memory behind a part back to the kernel; it reads as zeros afterwards. False if refused.
    ///
    /// # Safety
    /// Nothing in the part may be in use.
    pub(super) unsafe fn release(&self, from: usize, bytes: usize) -> bool {
        assert!(from + bytes <= self.bytes, "a part of the range");
        // SAFETY: inside the mapping (asserted), and unused by the caller's word.
        unsafe { madvise(self.base.as_ptr().add(from).cast(), bytes, Advice::LinuxDontNeed).is_ok() }
    }

    /// Says whether the kernel may use a huge page for the step at `from`.
    pub(super) fn advise_huge(&self, from: usize, huge: bool) {
        self.advise(
            from,
            STEP_BYTES,
            if huge {
                Advice::LinuxHugepage
            } else {
                Advice::LinuxNoHugepage
            },
        );
    }

    fn advise(&self, from: usize, bytes: usize, advice: Advice) -> bool {
        assert!(from + bytes <= self.bytes, "a part of the range");
        assert!(
            matches!(
                advice,
                Advice::LinuxHugepage | Advice::LinuxNoHugepage | Advice::LinuxPopulateWrite
            ),
            "keeps every byte"
        );
        // SAFETY: inside the mapping (asserted); these pieces of advice change no content.
        unsafe { madvise(self.base.as_ptr().add(from).cast(), bytes, advice).is_ok() }
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours alone, and no reference into it outlives its heap.
        let unmapped = unsafe { munmap(self.mapped.as_ptr().cast(), self.mapped_bytes) };
        debug_assert!(unmapped.is_ok(), "the mapping was ours");
    }
}

/// A job for a helper thread: have the kernel back the memory that the slab will need next, so that the
/// owner thread takes no page faults (a huge page's first touch costs up to milliseconds).
pub struct Populate {
    range: Arc<Range>,
    huge_from: usize,
    from: usize,
    to: usize,
}

impl Populate {
    pub(super) fn new(range: Arc<Range>, huge_from: usize, from: usize, to: usize) -> Populate {
        Populate {
            range,
            huge_from,
            from,
            to,
        }
    }

    /// Bytes that the job will back.
    pub fn bytes(&self) -> usize {
        self.to - self.from
    }

    /// Does the work, a huge page at a time; blocks for about 0.3 ms a step. `rest` is called after each: a
    /// helper that shares its core with the owner must not hold it for the whole job. A kernel that refuses
    /// costs speed only: the owner then faults pages in by itself.
    pub fn run(self, mut rest: impl FnMut()) {
        self.range
            .advise(self.huge_from, self.to - self.huge_from, Advice::LinuxHugepage);
        for at in (self.from..self.to).step_by(STEP_BYTES) {
            if !self
                .range
                .advise(at, STEP_BYTES.min(self.to - at), Advice::LinuxPopulateWrite)
            {
                return;
            }
            rest();
        }
    }
}
