//! What the log asks of a disk: one folder of files. Behind a trait, so that tests can have a disk that
//! lies, fills up and loses power.
//!
//! Invariant: nothing here retries. A failed sync leaves unknown what is on the disk, and only the caller
//! knows that the answer to that is to end.

mod real;
pub mod simulated;

use std::io::{self, IoSlice};
use std::sync::Arc;

pub use real::Folder;

/// Slices that one write takes, at most (the system's limit).
pub const SLICES_MAX: usize = 1024;

pub trait Disk: Send + Sync {
    /// A new file; one of that name must not exist.
    fn create(&self, name: &str) -> io::Result<Arc<dyn File>>;
    fn open(&self, name: &str) -> io::Result<Arc<dyn File>>;
    /// The names of all files, in no order.
    fn list(&self) -> io::Result<Vec<String>>;
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes names durable: what was created, renamed and removed.
    fn sync_names(&self) -> io::Result<()>;
}

pub trait File: Send + Sync {
    fn len(&self) -> io::Result<u64>;
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Reads until the buffer is full or the file ends; how many bytes that were.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// One write of all slices; how many bytes were taken.
    fn write_at(&self, slices: &[IoSlice<'_>], offset: u64) -> io::Result<usize>;
    /// Makes the contents durable, and the length as far as reading them needs it.
    fn sync(&self) -> io::Result<()>;
    /// Makes all of the file durable, after its length was cut.
    fn sync_all(&self) -> io::Result<()>;
    /// Takes the room for a part of the file that holds nothing yet; it then reads as zeros.
    fn allocate(&self, offset: u64, len: u64) -> io::Result<()>;
    fn truncate(&self, len: u64) -> io::Result<()>;
    /// Forgets what memory holds of the file, so that the next read sees the disk. After a failed sync
    /// memory may show what never reached it.
    fn forget_cached(&self) -> io::Result<()>;
}

/// Whether an error says that the disk, or the user's part of it, is full.
pub fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}
