//! What an owner thread and the consensus layer say to each other about one shard. Neither knows the other:
//! here are no sockets and no Raft.

mod clock;
mod port;
#[cfg(test)]
mod tests;

pub use clock::Instant;
pub use port::{Digest, Epoch, Event, Given, Outcome, Port, Proposal, Refused, Stint};
