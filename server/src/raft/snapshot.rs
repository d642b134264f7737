//! A snapshot is the shard's image as it stands: its sender reads it where it is, its receiver has it in a file.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::image::{Arrivals, Exports};
use crate::wal::{LogId, ShardId};

/// What an image holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    pub at: LogId,
}

#[derive(Clone, Debug)]
pub enum Snapshot {
    /// This node's own image.
    Kept(Held),
    /// Another node's, complete and verified.
    Received(Received),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received {
    pub at: LogId,
    pub file: PathBuf,
}

/// What is to be done before an image is dropped. It may wait for the disk.
pub type Before = Box<dyn FnOnce() -> io::Result<()> + Send>;

/// The images of the node's shards, as far as groups have to do with them.
pub trait Images: Send + Sync {
    /// What the shard's image durably holds. `None` where there is none.
    fn held(&self, shard: ShardId) -> Option<Held>;
    /// Puts a received one in its place.
    fn install(&self, shard: ShardId, received: Received) -> BoxFuture<'_, io::Result<()>>;
    /// Drops it, once `before` was done, while nobody reads the shard's image or log.
    fn forget(&self, shard: ShardId, before: Before) -> BoxFuture<'_, io::Result<()>>;
    /// To send them. `None`: none of them is.
    fn exports(&self) -> Option<Exports>;
    /// Where others' arrive. `None`: none is taken.
    fn arrivals(&self) -> Option<Arc<Arrivals>>;
    /// The disk has room for entries of other leaders. Where it has none they are refused: a log that takes what it cannot write
    /// ends its node.
    fn has_room(&self) -> bool {
        true
    }
    /// What sending one may take of the network and the disk; 0: all that there is.
    fn bytes_per_second_max(&self) -> u64 {
        0
    }
}
