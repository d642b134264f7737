//! A window of the log on its way to rows: `gather` reads `entries` and notes where each row was told last,
//! `record` is such a note, `partition` drops the notes that later ones have overtaken, `emit` writes the
//! rows in order.
//!
//! Only hashes and places are held, no values: a window of a gibibyte takes some ten mebibytes.
//!
//! Invariant: what is written for a window, on top of what was there, is the shard at the window's end; rows
//! that have come and gone within it are not written at all.

mod emit;
mod entries;
mod error;
mod gather;
mod partition;
mod record;
#[cfg(test)]
mod tests;

pub use emit::{Counts, Sink, emit};
pub use entries::{Entries, Entry, Failure};
pub use error::WindowError;
pub use gather::{Gathered, Reach, gather, gather_within};
