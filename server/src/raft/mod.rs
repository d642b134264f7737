//! Replication: a Raft group for each shard, over the node's one log.
//!
//! `types` says what the groups agree on, and how a proposal's outcome comes back; `wire` is what they send each
//! other; `store` is a shard's part of the log.
//!
//! `group` takes a shard's proposals and tells its owner when it leads, and `lease` until when; `machine` hands over what is committed, and
//! `snapshot` is the image as groups see it: `peers` sends it, `service` takes it.
//!
//! `node` puts all of it together and runs it: `identity` says who calls, `peers` is the way to other nodes and
//! `service` what they ask of this one; `members` changes who holds a shard and who leads it, `placement` says who should.
//!
//! It knows nothing of commands, connections and keyspaces: what it replicates are bytes. Nobody else in the
//! server knows the consensus library.

mod current;
mod dismissal;
mod group;
mod identity;
mod lease;
mod machine;
mod members;
mod node;
mod peers;
pub mod placement;
mod recovery;
mod service;
mod snapshot;
mod spread;
mod store;
#[cfg(test)]
mod tests;
mod topology;
mod types;
pub mod wire;

pub use group::{Group, Shard};
pub use identity::{Me, Roster, Token};
pub use lease::Lease;
pub use machine::Machine;
pub use members::{ChangeError, TransferError};
pub use node::{InitializeRefused, Node, OnFatal, Replica, Role, Settings, ShardStatus, StartError, Timing};
pub use peers::Peers;
pub use recovery::RecoverError;
pub use service::{Neighbours, Refusal as NeighbourRefusal};
pub use snapshot::{Before, Held, Images, Received, Snapshot};
pub use store::{OpenError, Store, open};
pub use topology::{Exchange, Tables};
pub use types::{Batch, C, End, Membership, Outcomes, Refusal, Release};
