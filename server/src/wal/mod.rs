//! The write-ahead log: one per node, all shards in it, written by one thread.
//!
//! In the order of a record's life: an owner hands it over (`lane`), `writer` gathers what waits into one
//! write (`batch`, `record`) and syncs, into a file (`segment`) that `ahead` has made ready; `catalog` knows
//! where it stands and `scan` reads it back; a purge frees its segment. `room` says in time that the disk
//! is full. After a crash `recover` reads everything, `tail` judges how it ends, and `log` starts again.
//!
//! An owner is woken when something is safe (`lane`), or has it called (`completions`).
//!
//! It knows nothing of effects, of the image or of consensus: payloads are bytes.
//!
//! Invariant: what was completed as durable is read back after any crash, or the log is refused.

mod ahead;
mod batch;
mod catalog;
mod completions;
mod counters;
pub mod disk;
mod dump;
mod failure;
mod files;
mod ids;
mod lane;
mod log;
mod read;
mod reader;
mod record;
mod recover;
mod room;
mod scan;
mod segment;
mod shared;
mod state;
mod sums;
mod tail;
#[cfg(test)]
mod tests;
mod writer;

pub use completions::{Completions, Done, Ended, Safe};
pub use counters::Counts;
pub use dump::dump;
pub use failure::{Damage, EXIT_CORRUPT, EXIT_IO, EXIT_REFUSED, Fatal, ReadError, RecoverError};
pub use ids::{
    ClusterId, Durable, LogId, LogIndex, NodeId, Position, SHARDS_MAX, ShardId, Term, Ticket, Vote, Written,
};
pub use lane::{Bounds, Lane, Progress, Refused, Wake, Why};
pub use log::{Seating, Settings, StartError, Wal, Watch};
pub use reader::Reader;
pub use record::{Bad, Kind, MEMBERSHIP_MAX, PAYLOAD_MAX};
pub use recover::{Recovery, Torn};
pub use room::{Reserve, Room};
pub use scan::{Entry, Scan};
pub use segment::{BadHeader, HEADER_BYTES, is_segment, name as segment_name};
pub use state::{OutOfOrder, ShardState};
pub use writer::SyncMode;
