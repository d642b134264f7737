//! Replication: a Raft group for each shard, over the node's one log.
//!
//! `types` says what the groups agree on, and how a proposal's outcome comes back.
//!
//! It knows nothing of commands, connections and keyspaces: what it replicates are bytes. Nobody else in the
//! server knows the consensus library.

mod types;

pub use types::{Batch, C, End, Outcomes, Refusal, Release};
