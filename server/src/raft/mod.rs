//! Replication: a Raft group for each shard, over the node's one log.
//!
//! `types` says what the groups agree on, and how a proposal's outcome comes back; `wire` is what they send each
//! other.
//!
//! It knows nothing of commands, connections and keyspaces: what it replicates are bytes. Nobody else in the
//! server knows the consensus library.

mod types;
pub mod wire;

pub use types::{Batch, C, End, Membership, Outcomes, Refusal, Release};
