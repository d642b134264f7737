//! A node that holds a shard no longer drops what it has of it: its leader says so until it is told, also to one that was
//! away, and the node looks before it believes.
//!
//! Invariant: only a committed membership is acted on, by a node that it does not name and that knows of no later one.
//! Invariant: nothing but the vote outlives it: a node that is given the shard again begins empty, and never votes
//! twice in a term.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use openraft::alias::{StoredMembershipOf, VoteOf};
use openraft::async_runtime::watch::WatchReceiver;
use openraft::{RaftMetrics, ServerState};
use ruvio_core::cluster::Table;
use ruvio_proto::peer::v1 as peer;
use tokio::runtime::Handle;
use tonic::{Code, Status};

use super::current::Current;
use super::node::{Change, Unmade};
use super::peers::Peers;
use super::service::Seat;
use super::topology::Tables;
use super::types::C;
use super::wire::{self, Wire};
use crate::replica;
use crate::wal::{NodeId, ShardId};

/// Between two rounds. Who does not answer is asked again in the next one.
const ROUND: Duration = Duration::from_secs(2);
/// Who heard of a leader so lately is most likely a member of something that it has yet to be sent.
const HEARD: Duration = Duration::from_millis(1500);

/// Drops all of a shard.
pub(super) fn drop_replica() -> Change {
    Box::new(|bench| {
        Box::pin(async move {
            let broken = |why: std::io::Error| Unmade::Broken(why.to_string());
            let (runtime, store) = (Handle::current(), bench.store.clone());
            let before = Box::new(move || runtime.block_on(store.leave(true)));
            let forgotten = bench.images.forget(bench.port.shard(), before);
            forgotten.await.map_err(broken)?;
            bench.store.leave(false).await.map_err(broken)?;
            // Only now: what is made anew before it is made anew again.
            bench.port.restart();
            Ok(())
        })
    })
}

/// What a leader says to a node that its membership does not name.
struct Notice {
    shard: ShardId,
    vote: VoteOf<C>,
    membership: StoredMembershipOf<C>,
}

/// What this node says as the shard's leader: once the membership is committed, and no change of it is under way.
fn notice(shard: ShardId, seen: &RaftMetrics<C>) -> Option<Notice> {
    let membership = &seen.membership_config;
    let is_committed = membership.log_id().is_some_and(|made| {
        seen.last_applied
            .is_some_and(|applied| applied.index >= made.index)
    });
    let is_settled = membership.membership().get_joint_config().len() == 1;
    (seen.state == ServerState::Leader && is_committed && is_settled).then(|| Notice {
        shard,
        vote: seen.vote,
        membership: (**membership).clone(),
    })
}

impl Notice {
    /// Nodes of the cluster that are no members, and where they are.
    fn strangers(&self, table: &Table) -> Vec<(NodeId, String)> {
        let members = self.membership.membership();
        let others = table
            .nodes
            .values()
            .filter(|node| node.id != table.me && members.get_node(&node.id.0).is_none());
        others
            .map(|node| (NodeId(node.id.0), format!("{}:{}", node.host, node.peer_port)))
            .collect()
    }

    fn to_wire(&self) -> peer::RemoveReplicaRequest {
        peer::RemoveReplicaRequest {
            shard: self.shard.0.into(),
            membership: Some(self.membership.clone().to_wire()),
            vote: Some(self.vote.to_wire()),
        }
    }
}

/// For as long as the node runs: tells all nodes of the table that are not of a shard which this one leads. Each hears of a
/// membership once.
pub(super) async fn dismiss(groups: BTreeMap<ShardId, Current>, peers: Arc<Peers>, tables: Arc<dyn Tables>) {
    let mut told: HashMap<(NodeId, ShardId), StoredMembershipOf<C>> = HashMap::new();
    loop {
        tokio::time::sleep(ROUND).await;
        let table = tables.table();
        let mut to_tell: BTreeMap<(NodeId, String), Vec<Notice>> = BTreeMap::new();
        for (shard, group) in &groups {
            let metrics = group.raft().metrics();
            let Some(found) = notice(*shard, &metrics.borrow_watched()) else {
                continue;
            };
            for (node, address) in found.strangers(&table) {
                if told.get(&(node, *shard)) != Some(&found.membership) {
                    let notice = Notice {
                        membership: found.membership.clone(),
                        ..found
                    };
                    to_tell.entry((node, address)).or_default().push(notice);
                }
            }
        }
        for ((node, address), notices) in to_tell {
            for notice in notices {
                let shard = notice.shard;
                match peers.remove_replica(node, &address, notice.to_wire()).await {
                    Ok(answer) => {
                        if answer.removed {
                            tracing::info!(shard = shard.0, node = node.0, "it holds the shard no longer");
                        }
                        told.insert((node, shard), notice.membership);
                    }
                    // The others would fare no better.
                    Err(status) if is_away(&status) => break,
                    Err(status) => {
                        tracing::debug!(
                            shard = shard.0,
                            node = node.0,
                            why = status.message(),
                            "it keeps a shard"
                        );
                    }
                }
            }
        }
    }
}

fn is_away(status: &Status) -> bool {
    std::error::Error::source(status).is_some() || status.code() == Code::DeadlineExceeded
}

/// A leader says that this node holds the shard no longer. Whether there was anything to drop.
pub(super) async fn heed(
    seat: &Seat,
    me: NodeId,
    vote: VoteOf<C>,
    membership: StoredMembershipOf<C>,
) -> Result<bool, Status> {
    let raft = seat.current.raft();
    let seen = raft.metrics().borrow_watched().clone();
    check(&seen, me, vote, &membership)?;
    if replica::Instant::now() < seat.port.heard().after(HEARD) {
        return Err(Status::unavailable("it has just heard of a leader of the shard"));
    }
    let has_log = seen.last_log_index.is_some() || seat.port.given().index.0 > 0;
    if !has_log && seat.images.held(seat.port.shard()).is_none() {
        return Ok(false);
    }
    let shard = seat.port.shard().0;
    tracing::info!(
        shard,
        "this node holds the shard no longer: what it has of it is dropped"
    );
    seat.editor
        .change(drop_replica())
        .await
        .map(|()| true)
        .map_err(Status::unavailable)
}

fn check(
    seen: &RaftMetrics<C>,
    me: NodeId,
    vote: VoteOf<C>,
    membership: &StoredMembershipOf<C>,
) -> Result<(), Status> {
    let told = membership.membership();
    if told.get_joint_config().len() != 1 || membership.log_id().is_none() {
        return Err(Status::invalid_argument("it is no membership that is committed"));
    }
    if told.get_node(&me.0).is_some() {
        return Err(Status::invalid_argument(format!(
            "node {} is a member by that membership",
            me.0
        )));
    }
    let later = |what: &str| Err(Status::failed_precondition(format!("this node knows {what}")));
    if seen.vote.committed && seen.vote > vote {
        return later("a later leader of the shard");
    }
    if seen.membership_config.log_id() > membership.log_id() {
        return later("a later membership of the shard");
    }
    if seen.state == ServerState::Leader {
        return later("no other leader of the shard than itself");
    }
    Ok(())
}

/// What a leader's notice says.
pub(super) fn read(
    request: peer::RemoveReplicaRequest,
) -> Result<(ShardId, VoteOf<C>, StoredMembershipOf<C>), wire::Malformed> {
    let shard = wire::shard(request.shard)?;
    let vote = wire::snapshot_vote(request.vote)?;
    let membership = request.membership.ok_or(wire::Malformed::Missing("membership"))?;
    Ok((shard, vote, StoredMembershipOf::<C>::from_wire(membership)?))
}
