//! Votes, and leaderships that are handed over.

use openraft::alias::VoteOf;
use openraft::raft::{
    TransferLeaderError, TransferLeaderRequest, TransferLeaderResponse, VoteRequest, VoteResponse,
};
use ruvio_proto::peer::v1 as peer;

use super::{Malformed, Wire, elected, optional, required, shard};
use crate::raft::types::C;
use crate::wal::ShardId;

pub fn vote_to_wire(shard: ShardId, request: VoteRequest<C>) -> peer::VoteRequest {
    peer::VoteRequest {
        shard: u32::from(shard.0),
        vote: Some(request.vote.to_wire()),
        last_log_id: request.last_log_id.map(Wire::to_wire),
        leadership_transfer: request.leadership_transfer,
    }
}

pub fn vote_from_wire(sent: peer::VoteRequest) -> Result<(ShardId, VoteRequest<C>), Malformed> {
    let vote: VoteOf<C> = required(sent.vote, "vote")?;
    let mut request = VoteRequest::new(vote, optional(sent.last_log_id)?);
    request.leadership_transfer = sent.leadership_transfer;
    // A candidate that says it was elected already would be followed without an election.
    if vote.committed {
        return Err(Malformed::Answer);
    }
    Ok((shard(sent.shard)?, request))
}

impl Wire for VoteResponse<C> {
    type Sent = peer::VoteResponse;

    fn to_wire(self) -> peer::VoteResponse {
        peer::VoteResponse {
            vote: Some(self.vote.to_wire()),
            granted: self.vote_granted,
            last_log_id: self.last_log_id.map(Wire::to_wire),
        }
    }

    fn from_wire(sent: peer::VoteResponse) -> Result<Self, Malformed> {
        Ok(Self {
            vote: required(sent.vote, "vote")?,
            vote_granted: sent.granted,
            last_log_id: optional(sent.last_log_id)?,
        })
    }
}

pub fn transfer_to_wire(shard: ShardId, request: &TransferLeaderRequest<C>) -> peer::TransferLeaderRequest {
    peer::TransferLeaderRequest {
        shard: u32::from(shard.0),
        from_leader: Some(request.from_leader().to_wire()),
        to_node: *request.to_node_id(),
        last_log_id: request.last_log_id().map(|id| id.to_wire()),
    }
}

pub fn transfer_from_wire(
    sent: peer::TransferLeaderRequest,
) -> Result<(ShardId, TransferLeaderRequest<C>), Malformed> {
    let request = TransferLeaderRequest::new(
        elected(sent.from_leader)?,
        sent.to_node,
        optional(sent.last_log_id)?,
    );
    Ok((shard(sent.shard)?, request))
}

impl Wire for TransferLeaderResponse<C> {
    type Sent = peer::TransferLeaderResponse;

    fn to_wire(self) -> peer::TransferLeaderResponse {
        use peer::transfer_leader_response::Outcome;
        let outcome = match self {
            Ok(()) => Outcome::Accepted(peer::Success {}),
            Err(TransferLeaderError::VoteChanged { expected, actual }) => {
                Outcome::VoteChanged(peer::VoteChanged {
                    expected: Some(expected.to_wire()),
                    actual: Some(actual.to_wire()),
                })
            }
            Err(TransferLeaderError::LogNotFlushed { expected, actual }) => {
                Outcome::LogNotFlushed(peer::LogNotFlushed {
                    expected: expected.map(Wire::to_wire),
                    actual: actual.map(Wire::to_wire),
                })
            }
        };
        peer::TransferLeaderResponse {
            outcome: Some(outcome),
        }
    }

    fn from_wire(sent: peer::TransferLeaderResponse) -> Result<Self, Malformed> {
        use peer::transfer_leader_response::Outcome;
        Ok(match sent.outcome.ok_or(Malformed::Missing("outcome"))? {
            Outcome::Accepted(_) => Ok(()),
            Outcome::VoteChanged(changed) => Err(TransferLeaderError::VoteChanged {
                expected: required(changed.expected, "expected")?,
                actual: required(changed.actual, "actual")?,
            }),
            Outcome::LogNotFlushed(behind) => Err(TransferLeaderError::LogNotFlushed {
                expected: optional(behind.expected)?,
                actual: optional(behind.actual)?,
            }),
        })
    }
}
