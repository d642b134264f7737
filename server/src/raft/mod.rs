//! Replication: a Raft group for each shard, over the node's one log.
//!
//! `types` says what the groups agree on, and how a proposal's outcome comes back; `wire` is what they send each
//! other; `store` is a shard's part of the log.
//!
//! `group` takes a shard's proposals and tells its owner when it leads, `machine` hands over what is committed, and
//! `snapshot` is the image as groups see it.
//!
//! It knows nothing of commands, connections and keyspaces: what it replicates are bytes. Nobody else in the
//! server knows the consensus library.

mod group;
mod machine;
mod snapshot;
mod store;
mod types;
pub mod wire;

pub use group::{Group, Lease, Shard};
pub use machine::Machine;
pub use snapshot::{Held, Images, Received, Snapshot};
pub use store::{OpenError, Store, open};
pub use types::{Batch, C, End, Membership, Outcomes, Refusal, Release};
