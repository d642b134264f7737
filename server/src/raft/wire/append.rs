//! Entries, appends and heartbeats.

use openraft::EntryPayload;
use openraft::alias::{EntryOf, LogIdOf, VoteOf};
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse, StreamAppendError, StreamAppendResult};
use ruvio_proto::peer::v1 as peer;

use super::membership::quorate;
use super::{Malformed, Wire, elected, optional, required, shard};
use crate::raft::types::{Batch, C};
use crate::wal::{self, ShardId};

/// Entries of one append. The library is told to send fewer.
pub const ENTRIES_MAX: usize = 16 << 10;
/// The outcome of one append in a stream.
pub type Appended = StreamAppendResult<C>;

impl Wire for EntryOf<C> {
    type Sent = peer::Entry;

    fn to_wire(self) -> peer::Entry {
        use peer::entry::Payload;
        let payload = match self.payload {
            EntryPayload::Blank => None,
            EntryPayload::Normal(batch) => Some(Payload::Effects(batch.0)),
            EntryPayload::Membership(membership) => Some(Payload::Membership(membership.to_wire())),
        };
        peer::Entry {
            id: Some(self.log_id.to_wire()),
            payload,
        }
    }

    fn from_wire(sent: peer::Entry) -> Result<Self, Malformed> {
        use peer::entry::Payload;
        let payload = match sent.payload {
            None => EntryPayload::Blank,
            Some(Payload::Effects(bytes)) => {
                if bytes.len() > wal::PAYLOAD_MAX {
                    return Err(Malformed::TooLarge("effects"));
                }
                EntryPayload::Normal(Batch(bytes))
            }
            Some(Payload::Membership(membership)) => EntryPayload::Membership(quorate(membership)?),
        };
        Ok(Self {
            log_id: required(sent.id, "id")?,
            payload,
        })
    }
}

impl Wire for AppendEntriesRequest<C> {
    type Sent = peer::AppendRequest;

    fn to_wire(self) -> peer::AppendRequest {
        peer::AppendRequest {
            vote: Some(self.vote.to_wire()),
            previous: self.prev_log_id.map(Wire::to_wire),
            entries: self.entries.into_iter().map(Wire::to_wire).collect(),
            committed: self.leader_commit.map(Wire::to_wire),
        }
    }

    fn from_wire(sent: peer::AppendRequest) -> Result<Self, Malformed> {
        if sent.entries.len() > ENTRIES_MAX {
            return Err(Malformed::TooLarge("entries"));
        }
        let previous: Option<LogIdOf<C>> = optional(sent.previous)?;
        let mut last = previous;
        let mut entries = Vec::with_capacity(sent.entries.len());
        for sent in sent.entries {
            let entry = EntryOf::<C>::from_wire(sent)?;
            let follows = match last {
                Some(last) => {
                    last.index.checked_add(1) == Some(entry.log_id.index)
                        && last.leader_id <= entry.log_id.leader_id
                }
                None => entry.log_id.index == 0,
            };
            if !follows {
                return Err(Malformed::Gap);
            }
            last = Some(entry.log_id);
            entries.push(entry);
        }
        Ok(Self {
            vote: elected(sent.vote)?,
            prev_log_id: previous,
            entries,
            leader_commit: optional(sent.committed)?,
        })
    }
}

impl Wire for Appended {
    type Sent = peer::AppendResponse;

    fn to_wire(self) -> peer::AppendResponse {
        use peer::append_response::Outcome;
        let outcome = match self {
            Ok(last) => Outcome::Matched(peer::Matched {
                log_id: last.map(Wire::to_wire),
            }),
            Err(StreamAppendError::Conflict(at)) => Outcome::Conflict(at.to_wire()),
            Err(StreamAppendError::HigherVote(vote)) => Outcome::HigherVote(vote.to_wire()),
        };
        peer::AppendResponse {
            outcome: Some(outcome),
        }
    }

    fn from_wire(sent: peer::AppendResponse) -> Result<Self, Malformed> {
        use peer::append_response::Outcome;
        Ok(match sent.outcome.ok_or(Malformed::Missing("outcome"))? {
            Outcome::Matched(matched) => Ok(optional(matched.log_id)?),
            Outcome::Conflict(at) => Err(StreamAppendError::Conflict(LogIdOf::<C>::from_wire(at)?)),
            Outcome::HigherVote(vote) => Err(StreamAppendError::HigherVote(VoteOf::<C>::from_wire(vote)?)),
        })
    }
}

/// A shard's heartbeat, as a part of the one message. It carries no entries.
pub fn heartbeat_to_wire(shard: ShardId, request: AppendEntriesRequest<C>) -> peer::ShardHeartbeat {
    peer::ShardHeartbeat {
        shard: u32::from(shard.0),
        vote: Some(request.vote.to_wire()),
        previous: request.prev_log_id.map(Wire::to_wire),
        committed: request.leader_commit.map(Wire::to_wire),
    }
}

pub fn heartbeat_from_wire(
    sent: peer::ShardHeartbeat,
) -> Result<(ShardId, AppendEntriesRequest<C>), Malformed> {
    let request = AppendEntriesRequest {
        vote: elected(sent.vote)?,
        prev_log_id: optional(sent.previous)?,
        entries: Vec::new(),
        leader_commit: optional(sent.committed)?,
    };
    Ok((shard(sent.shard)?, request))
}

/// A shard's part of the answer; without a response, why there is none.
pub fn heartbeat_answer_to_wire(
    shard: ShardId,
    answer: Result<AppendEntriesResponse<C>, String>,
) -> peer::ShardHeartbeatAnswer {
    use peer::shard_heartbeat_answer::Outcome;
    let outcome = match answer {
        // Part of nothing is all of it.
        Ok(AppendEntriesResponse::Success | AppendEntriesResponse::PartialSuccess(_)) => {
            Outcome::Success(peer::Success {})
        }
        Ok(AppendEntriesResponse::Conflict) => Outcome::Conflict(peer::Conflict {}),
        Ok(AppendEntriesResponse::HigherVote(vote)) => Outcome::HigherVote(vote.to_wire()),
        Err(why) => Outcome::Unavailable(why),
    };
    peer::ShardHeartbeatAnswer {
        shard: u32::from(shard.0),
        outcome: Some(outcome),
    }
}

/// `previous` is what the heartbeat said: nothing can conflict with nothing, and the library would not bear it.
#[allow(
    clippy::type_complexity,
    reason = "an answer, or why there is none, or no message of ours"
)]
pub fn heartbeat_answer_from_wire(
    sent: peer::ShardHeartbeatAnswer,
    previous: Option<LogIdOf<C>>,
) -> Result<(ShardId, Result<AppendEntriesResponse<C>, String>), Malformed> {
    use peer::shard_heartbeat_answer::Outcome;
    let answer = match sent.outcome.ok_or(Malformed::Missing("outcome"))? {
        Outcome::Success(_) => Ok(AppendEntriesResponse::Success),
        Outcome::Conflict(_) if previous.is_none() => return Err(Malformed::Answer),
        Outcome::Conflict(_) => Ok(AppendEntriesResponse::Conflict),
        Outcome::HigherVote(vote) => Ok(AppendEntriesResponse::HigherVote(VoteOf::<C>::from_wire(vote)?)),
        Outcome::Unavailable(why) => Err(why),
    };
    Ok((shard(sent.shard)?, answer))
}
