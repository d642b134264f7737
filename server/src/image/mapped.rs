//! The beginning of a file as memory, for reading: rows are read in the order of hashes, a few bytes each,
//! and a system call for each would cost more than all else together.
//!
//! A mapping needs unsafe code: its bytes are borrowed as a slice, so they must not change, and the file must
//! not become shorter while it is mapped. Both hold of what a log has committed: it is written once, and its
//! segment is kept while it is read (the scan pins it). What may still be written lies behind the mapping.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};

pub struct Mapped {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: memory that is only read, and unmapped by whoever owns it.
unsafe impl Send for Mapped {}

impl Mapped {
    /// The first `len` bytes of a file, which has as many and does not change in them.
    pub fn new(file: &File, len: usize) -> io::Result<Self> {
        if len == 0 || file.metadata()?.len() < len as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // SAFETY: a new mapping at a place of the system's choosing touches no memory that is in use.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                len,
                ProtFlags::READ,
                MapFlags::SHARED,
                file,
                0,
            )?
        };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let mapped = Self { start, len };
        // SAFETY: the mapping was just made; the advice changes nothing that is read.
        // Without it, reading is slower.
        let _ = unsafe { madvise(start.as_ptr().cast(), len, Advice::WillNeed) };
        Ok(mapped)
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: mapped for as long as `self` lives, and not changed: see the module.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` and borrowed by nobody any more.
        // A mapping that stays costs address space alone.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}
