//! The log as a window is read from it.

use super::super::At;

/// Why the log could not be read, or rows could not be written.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// An entry of a shard.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    pub at: At,
    /// Where the payload begins, for [`Entries::bytes`].
    pub place: u32,
    /// Its effects; none in an entry of the consensus layer's own.
    pub payload: &'a [u8],
}

/// The committed entries of one shard after the index that the image holds, in order and without a gap, and
/// once more any of them by its place: rows are sorted by hash, so they are read where they stand.
///
/// Places are of four bytes: where an entry would begin beyond, the entries end, and the next run goes on.
pub trait Entries {
    fn next(&mut self) -> Result<Option<Entry<'_>>, Failure>;

    /// Memory that holds all of the entry that the place is in, and how far into it the place is. Of entries
    /// that `next` has yielded. A run asks for rows some ahead of when it reads them.
    fn bytes(&self, place: u32) -> (&[u8], usize);
}
