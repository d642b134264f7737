//! What peers send, and what the consensus library works with: each made from the other. No IO.
//!
//! The library counts entries from 0, everything of ours from 1, so that 0 can mean none; `index` is where the
//! one becomes the other.
//!
//! Invariant: no message of a peer causes a panic, here or in the library: what it would not expect (a gap between
//! entries, an append by somebody who was not elected, a membership without a majority) is `Malformed`.
//! Invariant: nothing grows with what a message claims: counts are bounded.

mod append;
mod election;
mod log;
mod membership;
#[cfg(test)]
mod tests;
mod topology;

use openraft::alias::{CommittedLeaderIdOf, LogIdOf, VoteOf};
use openraft::vote::RaftLeaderId;
use ruvio_proto::common::v1 as common;

pub use append::{
    Appended, ENTRIES_MAX, heartbeat_answer_from_wire, heartbeat_answer_to_wire, heartbeat_from_wire,
    heartbeat_to_wire,
};
pub use election::{transfer_from_wire, transfer_to_wire, vote_from_wire, vote_to_wire};
pub use log::{entry_of_log, membership_of_payload, membership_payload};
pub use membership::{ADDRESS_BYTES_MAX, MEMBERS_MAX};
pub use topology::{NODES_MAX, rows_to_wire, table_from_wire};

use super::types::C;
use crate::wal::{self, SHARDS_MAX, ShardId};

/// Why a peer's message is not one of ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Malformed {
    #[error("{0} is missing")]
    Missing(&'static str),
    #[error("{0} is too large")]
    TooLarge(&'static str),
    #[error("an index of 0 is no entry's")]
    Index,
    #[error("the entries do not follow on each other")]
    Gap,
    #[error("it is sent by a leader, and its vote was not granted")]
    NotElected,
    #[error("the membership has voters that are no members, or no voters")]
    Membership,
    #[error("there is no shard {0}")]
    Shard(u32),
    #[error("an answer that does not fit the question")]
    Answer,
    #[error("it does not decode")]
    Encoding,
}

/// The other side's form of something.
pub trait Wire: Sized {
    type Sent;

    fn to_wire(self) -> Self::Sent;
    fn from_wire(sent: Self::Sent) -> Result<Self, Malformed>;
}

/// Something that has to be there.
fn required<T: Wire>(sent: Option<T::Sent>, name: &'static str) -> Result<T, Malformed> {
    T::from_wire(sent.ok_or(Malformed::Missing(name))?)
}

fn optional<T: Wire>(sent: Option<T::Sent>) -> Result<Option<T>, Malformed> {
    sent.map(T::from_wire).transpose()
}

/// The vote of somebody who speaks as a leader.
fn elected(sent: Option<common::Vote>) -> Result<VoteOf<C>, Malformed> {
    let vote: VoteOf<C> = required(sent, "vote")?;
    if vote.committed {
        Ok(vote)
    } else {
        Err(Malformed::NotElected)
    }
}

/// The vote of a snapshot's sender.
pub fn snapshot_vote(sent: Option<common::Vote>) -> Result<VoteOf<C>, Malformed> {
    elected(sent)
}

/// A shard by its number.
pub fn shard(number: u32) -> Result<ShardId, Malformed> {
    u16::try_from(number)
        .ok()
        .filter(|shard| usize::from(*shard) < SHARDS_MAX)
        .map(ShardId)
        .ok_or(Malformed::Shard(number))
}

/// Our index of the library's. The library never comes near its end.
pub fn index(of_library: u64) -> u64 {
    of_library.saturating_add(1)
}

/// The library's index of ours, if it is an entry's.
pub fn library_index(ours: u64) -> Option<u64> {
    ours.checked_sub(1)
}

/// An entry's name as the log knows it.
pub fn wal_id(id: &LogIdOf<C>) -> wal::LogId {
    wal::LogId::new(id.leader_id.term, id.leader_id.node_id, index(id.index))
}

/// An entry's name as the library knows it; none of the log's `LogId::default()`.
pub fn library_id(id: wal::LogId) -> Option<LogIdOf<C>> {
    let leader = leader_id(id.term.0, id.node.0);
    Some(LogIdOf::<C>::new(leader, library_index(id.index.0)?))
}

/// A vote as the log knows it.
pub fn wal_vote(vote: &VoteOf<C>) -> wal::Vote {
    wal::Vote {
        term: wal::Term(vote.leader_id.term),
        node: wal::NodeId(vote.leader_id.node_id),
        committed: vote.committed,
    }
}

pub fn library_vote(vote: wal::Vote) -> VoteOf<C> {
    VoteOf::<C> {
        leader_id: leader_id(vote.term.0, vote.node.0),
        committed: vote.committed,
    }
}

fn leader_id(term: u64, node_id: u64) -> CommittedLeaderIdOf<C> {
    CommittedLeaderIdOf::<C>::new(term, node_id)
}

impl Wire for LogIdOf<C> {
    type Sent = common::LogId;

    fn to_wire(self) -> common::LogId {
        common::LogId {
            term: self.leader_id.term,
            node: self.leader_id.node_id,
            index: index(self.index),
        }
    }

    fn from_wire(sent: common::LogId) -> Result<Self, Malformed> {
        library_id(wal::LogId::new(sent.term, sent.node, sent.index)).ok_or(Malformed::Index)
    }
}

impl Wire for VoteOf<C> {
    type Sent = common::Vote;

    fn to_wire(self) -> common::Vote {
        common::Vote {
            term: self.leader_id.term,
            node: self.leader_id.node_id,
            committed: self.committed,
        }
    }

    fn from_wire(sent: common::Vote) -> Result<Self, Malformed> {
        Ok(Self {
            leader_id: leader_id(sent.term, sent.node),
            committed: sent.committed,
        })
    }
}
