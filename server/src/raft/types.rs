//! What the groups agree on: the types that the consensus library is built over, and the way of a proposal's
//! outcome back to its owner.
//!
//! Invariant: a proposal gets exactly one outcome, also when the group ends before it has one.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use openraft::alias::LogIdOf;
use openraft::errors::{ClientWriteError, ForwardReason};
use openraft::impls::{BasicNode, BoxedErrorSource, InlineBatch, Vote, leader_id_adv};
use openraft::raft::ClientWriteResult;
use openraft::raft::responder::Responder;

use super::wire;
use crate::wal::LogIndex;

/// An entry's effects, encoded once by the owner. The groups never look inside.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Batch(pub Bytes);

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Its size alone: what clients write is in no log of ours.
impl fmt::Display for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

/// Who holds a shard.
pub type Membership = openraft::Membership<u64, BasicNode>;

/// The types of every group. Written out, because the library's macro takes no generic responder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct C;

impl openraft::RaftTypeConfig for C {
    type D = Batch;
    type R = ();
    type NodeId = u64;
    type Node = BasicNode;
    type Term = u64;
    type LeaderId = leader_id_adv::LeaderId<u64, u64>;
    type Vote = Vote<Self::LeaderId>;
    type Payload = openraft::EntryPayload<Batch, u64, BasicNode>;
    type Entry = openraft::Entry<Self::LeaderId, Self::Payload>;
    type Responder<T>
        = Release<T>
    where
        T: Send + 'static;
    type Batch<T>
        = InlineBatch<T>
    where
        T: Send + 'static;
    type AsyncRuntime = openraft_rt_tokio::TokioRuntime;
    type ErrorSource = BoxedErrorSource;
}

/// Why a proposal was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    NotLeader,
    LeaseExpired,
    /// The leadership is on its way to another node.
    Transfer,
    /// Of a change of membership: it does not fit the one that is in force.
    Membership,
}

/// A proposal's outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Every later leader has it.
    Committed(LogIndex),
    /// It is in no log, and never will be.
    Refused(Refusal),
    /// It was in this node's log and is there no longer, or the group has ended: nobody here can tell.
    Unknown,
}

/// Takes the outcomes of one owner's proposals. Called by the group's task: it must not wait, and has room for
/// as many as the owner lets be in flight.
pub trait Outcomes: Send + Sync {
    fn settle(&self, proposal: u64, end: End);
}

/// Goes with a proposal through the library and settles it, when it is dropped at the latest.
pub struct Release<T> {
    proposal: u64,
    outcomes: Option<Arc<dyn Outcomes>>,
    read: fn(&T) -> End,
}

impl Release<ClientWriteResult<C>> {
    /// `proposal` is the owner's own number for it.
    pub fn new(proposal: u64, outcomes: Arc<dyn Outcomes>) -> Self {
        Self {
            proposal,
            outcomes: Some(outcomes),
            read: end_of,
        }
    }
}

impl<T> Release<T> {
    /// The first outcome counts.
    fn settle(&mut self, end: End) {
        if let Some(outcomes) = self.outcomes.take() {
            outcomes.settle(self.proposal, end);
        }
    }
}

impl<T: Send + 'static> Responder<C, T> for Release<T> {
    /// A reply needs no more than this, and a slow apply does not delay it.
    fn on_commit(&mut self, id: LogIdOf<C>) {
        self.settle(End::Committed(wire::wal_id(&id).index));
    }

    fn on_complete(mut self, result: T) {
        let end = (self.read)(&result);
        self.settle(end);
    }
}

impl<T> Drop for Release<T> {
    fn drop(&mut self) {
        self.settle(End::Unknown);
    }
}

fn end_of(result: &ClientWriteResult<C>) -> End {
    match result {
        Ok(done) => End::Committed(wire::wal_id(&done.log_id).index),
        // Made before anything is appended.
        Err(ClientWriteError::ForwardToLeader(forward)) => End::Refused(match forward.reason {
            ForwardReason::NotLeader => Refusal::NotLeader,
            ForwardReason::LeadershipTransfer => Refusal::Transfer,
            ForwardReason::LeaseExpired => Refusal::LeaseExpired,
        }),
        Err(ClientWriteError::ChangeMembershipError(_) | ClientWriteError::PreconditionFailed(_)) => {
            End::Refused(Refusal::Membership)
        }
        Err(ClientWriteError::LogEntryDiscarded(_)) => End::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use openraft::errors::ForwardToLeader;
    use openraft::raft::ClientWriteResponse;
    use openraft::vote::RaftLeaderId;

    use super::*;

    #[derive(Default)]
    struct Seen(Mutex<Vec<(u64, End)>>);

    impl Outcomes for Seen {
        fn settle(&self, proposal: u64, end: End) {
            self.0
                .lock()
                .expect("no test panics in here")
                .push((proposal, end));
        }
    }

    fn release() -> (Arc<Seen>, Release<ClientWriteResult<C>>) {
        let seen = Arc::new(Seen::default());
        (Arc::clone(&seen), Release::new(7, seen))
    }

    fn seen(seen: &Seen) -> Vec<(u64, End)> {
        seen.0.lock().expect("no test panics in here").clone()
    }

    fn id(index: u64) -> LogIdOf<C> {
        LogIdOf::<C>::new(leader_id_adv::LeaderId::new(2, 1), index)
    }

    #[test]
    fn the_first_outcome_is_the_only_one() {
        let (outcomes, mut release) = release();
        Responder::<C, _>::on_commit(&mut release, id(9));
        let done = ClientWriteResponse {
            log_id: id(9),
            data: (),
            membership: None,
        };
        Responder::<C, _>::on_complete(release, Ok(done));
        // The library counts from 0.
        assert_eq!(seen(&outcomes), [(7, End::Committed(LogIndex(10)))]);
    }

    #[test]
    fn a_group_that_ends_leaves_its_proposals_unknown() {
        let (outcomes, release) = release();
        drop(release);
        assert_eq!(seen(&outcomes), [(7, End::Unknown)]);
    }

    #[test]
    fn what_was_never_appended_is_refused_and_what_was_lost_is_unknown() {
        let forward = |reason| {
            let mut forward = ForwardToLeader::empty();
            forward.reason = reason;
            forward
        };
        let ends = [
            (
                ClientWriteError::ForwardToLeader(forward(ForwardReason::LeaseExpired)),
                End::Refused(Refusal::LeaseExpired),
            ),
            (
                ClientWriteError::ForwardToLeader(forward(ForwardReason::LeadershipTransfer)),
                End::Refused(Refusal::Transfer),
            ),
            (
                ClientWriteError::LogEntryDiscarded(forward(ForwardReason::NotLeader)),
                End::Unknown,
            ),
        ];
        for (error, end) in ends {
            let (outcomes, release) = release();
            Responder::<C, _>::on_complete(release, Err(error));
            assert_eq!(seen(&outcomes), [(7, end)]);
        }
    }

    #[test]
    fn a_batch_shows_its_size_and_not_what_is_in_it() {
        let batch = Batch(Bytes::from_static(b"secret"));
        assert_eq!(format!("{batch} {batch:?}"), "6 bytes 6 bytes");
    }
}
