//! A shard whose majority is lost for good: one survivor is made its only voter, by an entry that is put behind all that it
//! has. Nobody else agreed to it, so it is done only where somebody said that the others are lost, and looked first.
//!
//! The group is ended, the entry and a vote of a higher term are written into its log, and another group is built over it:
//! that one finds itself the only voter, is elected by itself, and commits all that the log holds, also what nobody
//! knew to be committed.
//!
//! Invariant: nothing that the survivor has is given up.
//! Invariant: it is not done while a majority may be alive: a node that is said to be lost must not answer, and any other
//! member must, and have no more than the survivor.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::join_all;
use openraft::EntryPayload;
use openraft::alias::EntryOf;
use openraft::impls::BasicNode;
use openraft::storage::RaftLogStorage;

use super::node::{Bench, Change, ShardStatus, Unmade};
use super::peers::Peers;
use super::types::{C, Membership};
use super::wire;
use crate::wal::{self, LogId, NodeId, ShardId};

/// A node that answers does so within this.
const ANSWER_MAX: Duration = Duration::from_secs(3);

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RecoverError {
    #[error("this node is among those that are said to be lost")]
    SelfLost,
    #[error("this node does not hold shard {}", .0.0)]
    NoReplica(ShardId),
    #[error("shard {} has its majority without the nodes that are lost: there is nothing to recover", .0.0)]
    HasMajority(ShardId),
    #[error("node {} still leads shard {}: look again in a few seconds", .1.0, .0.0)]
    IsLed(ShardId, NodeId),
    #[error(
        "node {} answers, so it is not lost: leave it running, and the shards have a majority as soon as enough of their \
         nodes are back", .0.0
    )]
    Answers(NodeId),
    #[error(
        "node {} holds shard {} as well, and does not answer: start it, or say that it is lost too", .0.0, .1.0
    )]
    Silent(NodeId, ShardId),
    #[error("node {} has more of shard {} than this node: recover there", .0.0, .1.0)]
    HasMore(NodeId, ShardId),
    #[error("shard {} was not recovered: {why}", .shard.0)]
    Failed { shard: ShardId, why: String },
}

/// Those of a node's shards that have no majority without the nodes that are lost. `asked`: these, if any are named.
pub(super) fn without_majority(
    all: Vec<ShardStatus>,
    me: NodeId,
    asked: &[ShardId],
    lost: &BTreeSet<NodeId>,
) -> Result<Vec<ShardStatus>, RecoverError> {
    if lost.contains(&me) {
        return Err(RecoverError::SelfLost);
    }
    if let Some(none) = asked
        .iter()
        .find(|shard| !all.iter().any(|one| one.shard == **shard))
    {
        return Err(RecoverError::NoReplica(*none));
    }
    let mut found = Vec::new();
    for status in all {
        let is_asked = asked.contains(&status.shard);
        if !is_asked && !asked.is_empty() {
            continue;
        }
        if !status.addresses.contains_key(&me) {
            match is_asked {
                true => return Err(RecoverError::NoReplica(status.shard)),
                false => continue,
            }
        }
        let has_majority = |set: &Vec<NodeId>| {
            let left = set.iter().filter(|node| !lost.contains(node)).count();
            left * 2 > set.len()
        };
        match status.voters.iter().all(has_majority) {
            true if is_asked => return Err(RecoverError::HasMajority(status.shard)),
            true => {}
            false => found.push(status),
        }
    }
    Ok(found)
}

/// Whether the members of these shards are what they are said to be.
pub(super) async fn check(
    peers: &Peers,
    me: NodeId,
    shards: &[ShardStatus],
    lost: &BTreeSet<NodeId>,
) -> Result<(), RecoverError> {
    let members = shards.iter().flat_map(|status| &status.addresses);
    let members: BTreeMap<NodeId, &String> = members.map(|(node, at)| (*node, at)).collect();
    let asked = members.iter().filter(|(node, _)| lost.contains(node));
    let asked = asked.map(|(node, address)| async {
        let answer = tokio::time::timeout(ANSWER_MAX, peers.greet(*node, address)).await;
        matches!(answer, Ok(Ok(()))).then_some(*node)
    });
    if let Some(alive) = join_all(asked).await.into_iter().flatten().next() {
        return Err(RecoverError::Answers(alive));
    }
    // For a moment after the others are gone; a leader that nobody asks for anything does not notice that.
    if let Some(led) = shards.iter().find(|status| !status.lease_left.is_zero()) {
        return Err(RecoverError::IsLed(led.shard, me));
    }
    for status in shards {
        let others = status.addresses.iter();
        for (node, address) in others.filter(|(node, _)| **node != me && !lost.contains(node)) {
            let last = peers.last_log(*node, address, status.shard, status.vote);
            let last = tokio::time::timeout(ANSWER_MAX, last).await;
            match last {
                Ok(Ok(last)) if last > status.last_log => {
                    return Err(RecoverError::HasMore(*node, status.shard));
                }
                Ok(Ok(_)) => {}
                _ => return Err(RecoverError::Silent(*node, status.shard)),
            }
        }
    }
    Ok(())
}

/// Makes this node the only voter, if the shard is still as it was seen.
pub(super) fn make_only_voter(me: NodeId, seen: ShardStatus) -> Change {
    Box::new(move |bench| Box::pin(write(bench, me, seen)))
}

async fn write(mut bench: Bench, me: NodeId, seen: ShardStatus) -> Result<(), Unmade> {
    let refused = |why: &str| Err(Unmade::Refused(why.to_owned()));
    let broken = |why: std::io::Error| Unmade::Broken(why.to_string());
    let state = bench.store.get_log_state().await.map_err(broken)?;
    let last = state.last_log_id.as_ref().map(wire::wal_id).unwrap_or_default();
    let vote = bench.store.vote();
    if last != seen.last_log || vote != seen.vote {
        return refused("it has changed since it was looked at: look again");
    }
    let Some(address) = seen.addresses.get(&me).cloned() else {
        return refused("this node is no member of it");
    };
    let term = vote.term.0.max(last.term.0) + 1;
    // First, so that nobody else is voted for in a term in which this node wrote something.
    let vote = wal::Vote {
        term: wal::Term(term),
        node: me,
        committed: false,
    };
    bench
        .store
        .save_vote(&wire::library_vote(vote))
        .await
        .map_err(broken)?;
    let nodes: BTreeMap<u64, BasicNode> = [(me.0, BasicNode { addr: address })].into();
    let membership = Membership::new(vec![[me.0].into()], nodes);
    let membership = membership.map_err(|why| Unmade::Refused(why.to_string()))?;
    let id = wire::library_id(LogId::new(term, me.0, last.index.0 + 1));
    let entry = EntryOf::<C> {
        log_id: id.ok_or_else(|| Unmade::Refused("it has no room for an entry".to_owned()))?,
        payload: EntryPayload::Membership(membership),
    };
    bench.store.add(entry).await.map_err(broken)?;
    tracing::warn!(
        shard = seen.shard.0, term, behind = %last,
        "the shard's majority is lost: this node is made its only voter"
    );
    Ok(())
}
