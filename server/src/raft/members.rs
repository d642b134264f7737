//! Who holds a shard, and who leads it: the steps of a change.
//!
//! Invariant: a node votes only after it has caught up, so a change never leaves a shard with fewer voters that have
//! its entries than it had.
//! Invariant: a change is made to the membership that its author saw, or not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use openraft::alias::LogIdOf;
use openraft::async_runtime::watch::WatchReceiver;
use openraft::errors::{ClientWriteError, Fatal, RaftError};
use openraft::impls::BasicNode;
use openraft::raft::Precondition;
use openraft::{ChangeMembers, RaftMetrics, ServerState};
use tokio::time::Instant;

use super::group::Shard;
use super::types::C;
use super::wire;
use crate::replica::{Epoch, Port};
use crate::wal::{LogId, NodeId};

/// Entries that a learner may be behind when it becomes a voter: what the rest of the change takes is longer.
pub(super) const LAG_MAX: u64 = 256;
/// A learner that takes in nothing for so long does not catch up. A snapshot counts as nothing until it is there.
const STANDSTILL_MAX: Duration = Duration::from_secs(300);
/// What was executed is committed within this, or the leadership stays.
const DRAIN_MAX: Duration = Duration::from_millis(300);
/// The other one leads within this.
const TRANSFER_MAX: Duration = Duration::from_millis(700);

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ChangeError {
    #[error("this node has no replica of the shard")]
    NoReplica,
    #[error("this node does not lead the shard{}", of(.leader))]
    NotLeader { leader: Option<NodeId> },
    #[error("the membership was changed meanwhile: it is that of entry {is}")]
    Stale { is: LogId },
    #[error("nobody would be left to vote")]
    NoVoters,
    #[error("node {} leads the shard: transfer its leadership first", .0.0)]
    LeaderLeaves(NodeId),
    #[error("node {} does not catch up; it stays a learner", .0.0)]
    NotCaughtUp(NodeId),
    #[error("it was refused: {0}")]
    Refused(String),
    /// It may be done, or be done yet.
    #[error("the outcome is not known: {0}")]
    Unknown(String),
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TransferError {
    #[error("this node has no replica of the shard")]
    NoReplica,
    #[error("this node does not lead the shard{}", of(.leader))]
    NotLeader { leader: Option<NodeId> },
    #[error("node {} does not vote on the shard", .0.0)]
    NoVoter(NodeId),
    #[error("node {} is behind, or what was executed is not committed", .0.0)]
    Busy(NodeId),
    #[error("node {} did not take over", .0.0)]
    NotTaken(NodeId),
    #[error("the group has ended")]
    Ended,
}

fn of(leader: &Option<NodeId>) -> String {
    leader.map_or_else(String::new, |leader| format!("; node {} does", leader.0))
}

/// What a change begins with, and what it is to come to.
struct Plan {
    membership: Option<LogIdOf<C>>,
    learners: BTreeMap<u64, BasicNode>,
    voters: BTreeSet<u64>,
}

fn plan(
    metrics: &RaftMetrics<C>,
    add: &[(NodeId, String)],
    remove: &[NodeId],
    if_membership: Option<LogId>,
) -> Result<Plan, ChangeError> {
    if metrics.state != ServerState::Leader {
        let leader = metrics.current_leader.map(NodeId);
        return Err(ChangeError::NotLeader { leader });
    }
    let stored = &metrics.membership_config;
    let is = stored.log_id().as_ref().map(wire::wal_id).unwrap_or_default();
    if if_membership.is_some_and(|wanted| wanted != is) {
        return Err(ChangeError::Stale { is });
    }
    let mut voters: BTreeSet<u64> = stored.membership().voter_ids().collect();
    voters.retain(|voter| !remove.contains(&NodeId(*voter)));
    voters.extend(add.iter().map(|(node, _)| node.0));
    if voters.is_empty() {
        return Err(ChangeError::NoVoters);
    }
    if !voters.contains(&metrics.id) {
        return Err(ChangeError::LeaderLeaves(NodeId(metrics.id)));
    }
    let is_new = |(node, _): &&(NodeId, String)| stored.membership().get_node(&node.0).is_none();
    let learner = |(node, address): &(NodeId, String)| (node.0, BasicNode::new(address));
    Ok(Plan {
        membership: *stored.log_id(),
        learners: add.iter().filter(is_new).map(learner).collect(),
        voters,
    })
}

fn at(last_membership_log_id: Option<LogIdOf<C>>) -> [Precondition<C>; 1] {
    [Precondition::LastMembershipLogId {
        last_membership_log_id,
    }]
}

fn failed(raft: &Shard, error: RaftError<C, ClientWriteError<C>>) -> ChangeError {
    match error {
        RaftError::Fatal(fatal) => ChangeError::Unknown(fatal.to_string()),
        RaftError::APIError(ClientWriteError::ForwardToLeader(forward)) => ChangeError::NotLeader {
            leader: forward.leader_id.map(NodeId),
        },
        RaftError::APIError(ClientWriteError::PreconditionFailed(_)) => {
            let metrics = raft.metrics();
            let metrics = metrics.borrow_watched();
            let is = metrics.membership_config.log_id().as_ref();
            ChangeError::Stale {
                is: is.map(wire::wal_id).unwrap_or_default(),
            }
        }
        RaftError::APIError(ClientWriteError::LogEntryDiscarded(lost)) => {
            ChangeError::Unknown(lost.to_string())
        }
        RaftError::APIError(other) => ChangeError::Refused(other.to_string()),
    }
}

/// New nodes learn; when they have caught up, one joint change makes the voters what they are to be. The entry of the
/// new membership. Where it stops half-way the new nodes stay learners, and it can be asked for again.
pub(super) async fn change(
    raft: &Shard,
    add: &[(NodeId, String)],
    remove: &[NodeId],
    if_membership: Option<LogId>,
) -> Result<LogId, ChangeError> {
    let metrics = raft.metrics().borrow_watched().clone();
    let plan = plan(&metrics, add, remove, if_membership)?;
    let mut membership = plan.membership;
    if !plan.learners.is_empty() {
        let nodes = ChangeMembers::AddNodes(plan.learners);
        let done = raft.change_membership_if(nodes, true, at(membership)).await;
        membership = Some(done.map_err(|error| failed(raft, error))?.log_id);
    }
    for (node, _) in add {
        catch_up(raft, *node, membership).await?;
    }
    let voters = ChangeMembers::ReplaceAllVoters(plan.voters);
    let done = raft.change_membership_if(voters, false, at(membership)).await;
    let done = done.map_err(|error| failed(raft, error))?;
    Ok(wire::wal_id(&done.log_id))
}

/// Waits until a learner has nearly all that its leader has, and the entry by which it is a member: then nobody can tell it
/// any longer that it is none.
async fn catch_up(raft: &Shard, node: NodeId, member_by: Option<LogIdOf<C>>) -> Result<(), ChangeError> {
    let mut metrics = raft.metrics();
    let (mut most, mut since) = (None, Instant::now());
    loop {
        {
            let seen = metrics.borrow_watched();
            if seen.state != ServerState::Leader {
                let leader = seen.current_leader.map(NodeId);
                return Err(ChangeError::NotLeader { leader });
            }
            let matched = match &seen.replication {
                _ if seen.id == node.0 => return Ok(()),
                Some(replication) => replication.get(&node.0).copied().flatten().map(|id| id.index),
                None => None,
            };
            let wanted = seen.last_log_index.unwrap_or(0).saturating_sub(LAG_MAX);
            let wanted = wanted.max(member_by.map_or(0, |id| id.index));
            if matched.is_some_and(|matched| matched >= wanted) {
                return Ok(());
            }
            if matched > most {
                (most, since) = (matched, Instant::now());
            }
        }
        if since.elapsed() > STANDSTILL_MAX {
            return Err(ChangeError::NotCaughtUp(node));
        }
        if let Ok(Err(_)) = tokio::time::timeout(Duration::from_secs(1), metrics.changed()).await {
            return Err(ChangeError::Unknown(Fatal::<C>::Stopped.to_string()));
        }
    }
}

/// While it lasts the owner executes nothing.
struct Rest<'a> {
    port: &'a Port,
    /// What was given away meanwhile.
    given_away: Option<Epoch>,
}

impl<'a> Rest<'a> {
    fn begin(port: &'a Port) -> Self {
        port.hold();
        Self {
            port,
            given_away: None,
        }
    }
}

/// Also where the one who asked for it waits no longer.
impl Drop for Rest<'_> {
    fn drop(&mut self) {
        if let Some(epoch) = self.given_away {
            self.port.close(epoch);
        }
        self.port.release();
    }
}

/// Stops executing, lets what is pending commit, and only then hands over: nobody is told of an error. Whether or not the
/// other node takes over then, this one does not go on: its core takes no entry any more, and the word that others
/// may vote in spite of its lease can arrive at any time.
pub(super) async fn transfer(raft: &Shard, port: &Port, to: NodeId) -> Result<(), TransferError> {
    let seen = raft.metrics().borrow_watched().clone();
    if seen.state != ServerState::Leader {
        let leader = seen.current_leader.map(NodeId);
        return Err(TransferError::NotLeader { leader });
    }
    if seen.id == to.0 {
        return Ok(());
    }
    let mut voters = seen.membership_config.membership().voter_ids();
    if !voters.any(|voter| voter == to.0) {
        return Err(TransferError::NoVoter(to));
    }
    let mut rest = Rest::begin(port);
    drain(raft, port, to).await?;
    let (epoch, _) = port.leads().ok_or(TransferError::Busy(to))?;
    rest.given_away = Some(epoch);
    let trigger = raft.trigger();
    let told = trigger.transfer_leader(to.0).await;
    drop(rest);
    told.map_err(|_| TransferError::Ended)?;
    let taken = |metrics: &RaftMetrics<C>| metrics.current_leader == Some(to.0);
    let wait = raft.wait(Some(TRANSFER_MAX));
    match wait.metrics(taken, "it is handed over").await {
        Ok(_) => Ok(()),
        Err(_) => Err(TransferError::NotTaken(to)),
    }
}

/// Until the owner rests, and the other node has all that the log holds.
async fn drain(raft: &Shard, port: &Port, to: NodeId) -> Result<(), TransferError> {
    let start = Instant::now();
    loop {
        let has_all = {
            let metrics = raft.data_metrics();
            let seen = metrics.borrow_watched();
            let matched = seen.replication.as_ref().and_then(|all| all.get(&to.0).copied());
            matched.flatten() == seen.last_log
        };
        if has_all && port.is_drained() {
            return Ok(());
        }
        if start.elapsed() > DRAIN_MAX {
            return Err(TransferError::Busy(to));
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
