//! What a shard's group on this node says of itself.

use std::collections::BTreeMap;
use std::time::Duration;

use openraft::alias::LogIdOf;
use openraft::async_runtime::watch::WatchReceiver;
use openraft::{Instant as _, ServerState};

use crate::raft::group::Shard;
use crate::raft::types::C;
use crate::raft::wire;
use crate::replica::{self, Epoch, Port, Stint};
use crate::wal::{self, LogId, NodeId, ShardId};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    Leader,
    Follower,
    Candidate,
    /// It gets entries and does not vote, or is no member.
    Learner,
}

/// All ids are ours; the default one is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShardStatus {
    pub shard: ShardId,
    pub role: Role,
    pub term: u64,
    pub vote: wal::Vote,
    pub leader: Option<NodeId>,
    /// What the owner executes under.
    pub leads: Option<(Epoch, Stint)>,
    pub last_log: LogId,
    pub committed: LogId,
    /// Given to the owner.
    pub given: LogId,
    /// The index up to which the owner's keyspace has everything.
    pub applied: u64,
    pub purged: LogId,
    /// The entry that made the membership.
    pub membership: LogId,
    /// One set; two while a change is on its way.
    pub voters: Vec<Vec<NodeId>>,
    pub learners: Vec<NodeId>,
    pub addresses: BTreeMap<NodeId, String>,
    /// On the leader: how far each other node has the log.
    pub replication: BTreeMap<NodeId, LogId>,
    /// For how long it may still lead.
    pub lease_left: Duration,
    /// Of the owner's keyspace, as of its last look.
    pub keys: u64,
    pub memory_bytes: u64,
    /// On the leader: since when a majority was not heard of.
    pub quorum_silent: Option<Duration>,
}

fn ours(id: Option<LogIdOf<C>>) -> LogId {
    id.as_ref().map(wire::wal_id).unwrap_or_default()
}

fn lease_left(port: &Port) -> Duration {
    let (now, end) = (replica::Instant::now(), port.lease_end());
    let left = end.0.saturating_sub(now.0);
    Duration::from_nanos(if port.leads().is_some() { left } else { 0 })
}

pub(super) fn of(shard: ShardId, raft: &Shard, port: &Port) -> ShardStatus {
    let metrics = raft.metrics();
    let data = raft.data_metrics();
    let last_log = data.borrow_watched().last_log;
    let seen = metrics.borrow_watched();
    let stored = &seen.membership_config;
    let membership = stored.membership();
    let nodes = |ids: Vec<u64>| ids.into_iter().map(NodeId).collect();
    let joint = membership.get_joint_config().iter();
    let replication = seen.replication.iter().flatten();
    ShardStatus {
        shard,
        role: match seen.state {
            ServerState::Leader => Role::Leader,
            ServerState::Follower => Role::Follower,
            ServerState::Candidate => Role::Candidate,
            ServerState::Learner | ServerState::Shutdown => Role::Learner,
        },
        term: seen.current_term,
        vote: wire::wal_vote(&seen.vote),
        leader: seen.current_leader.map(NodeId),
        leads: port.leads(),
        last_log: ours(last_log),
        committed: ours(seen.local_committed),
        given: port.given(),
        applied: port.applied(),
        purged: ours(seen.purged),
        membership: ours(*stored.log_id()),
        voters: joint.map(|set| nodes(set.iter().copied().collect())).collect(),
        learners: nodes(membership.learner_ids().collect()),
        addresses: membership
            .nodes()
            .map(|(node, at)| (NodeId(*node), at.addr.clone()))
            .collect(),
        replication: replication
            .map(|(node, matched)| (NodeId(*node), ours(*matched)))
            .collect(),
        lease_left: lease_left(port),
        keys: port.size().0,
        memory_bytes: port.size().1,
        quorum_silent: seen.last_quorum_acked.map(|acked| acked.into_inner().elapsed()),
    }
}
