//! The image: each shard's state in RocksDB at an exact log index, made from the log alone.
//!
//! In the order of a run: `policy` says that it is time; core's `image::window` makes rows of the log, in
//! their order, of the log's `tail`; `store` is RocksDB, which takes them as one sorted file a run; `load`
//! makes a shard of what it holds; `priority` keeps all of it out of the way.
//!
//! For other nodes: `export` sends a shard's rows as a stream, `arrival` keeps what comes of one in a file,
//! `install` puts them in the place of the shard's own, of which `families` keeps apart what is old and what is new.
//!
//! Invariant: RocksDB is never read to make rows, and never written to but by whole files. A file holds its
//! log index in its first row, so rows and index are always of one moment.
//! Invariant: once `advance` has returned, the index that it tells is durable, and the log may be purged to it.
//! Invariant: a run ends between two entries, so a transaction is in the image whole or not at all.
//!
//! It is the only place that names RocksDB. It does not know the keyspace's owner, and only `tail` knows the
//! log.

mod arrival;
mod error;
mod export;
mod families;
mod install;
mod load;
mod mapped;
pub mod policy;
pub mod priority;
mod store;
mod tail;
#[cfg(test)]
mod tests;

pub use arrival::{Arrival, ArrivalError, Arrivals};
pub use error::ImageError;
pub use export::{Exports, Outline, PART_BYTES_MAX, Part, Progress, Recipient};
pub use install::{Step, meta_of_stream};
pub use load::Loaded;
pub use store::{Advanced, Image};
pub use tail::Tail;
