//! The cluster's table: what groups know of their leaders goes into it, and nodes exchange it, when it changes and
//! each second.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use openraft::ServerState;
use openraft::async_runtime::watch::WatchReceiver;
use openraft::metrics::RaftServerMetrics;
use ruvio_core::cluster::{NodeId, Row, Table};
use ruvio_proto::metadata;
use ruvio_proto::peer::v1 as peer;

use super::current::Current;
use super::group::Shard;
use super::peers::Peers;
use super::service::{Neighbours, Refusal};
use super::types::C;
use super::wire;
use crate::wal::{self, ShardId};

/// The cluster's table, kept by whoever shows it to owners.
pub trait Tables: Send + Sync {
    fn table(&self) -> Arc<Table>;
    /// Takes in what a group of this node says of its shard.
    fn take_row(&self, shard: ShardId, row: Row);
    /// Nodes are of the cluster no longer: they are remembered so, and refused. Waits for the disk.
    fn remove(&self, nodes: &[wal::NodeId]) -> std::io::Result<()>;
    /// Another node says that this one is of the cluster no longer.
    fn note_removed(&self, by: wal::NodeId);
    /// Takes in what another node knows, but for nodes that were removed.
    fn take_table(&self, table: &Table);
    /// Whether a node answers.
    fn note_heard(&self, node: u64, is_heard: bool);
    /// Whether this node gives its leaderships away and takes none.
    fn set_draining(&self, is_draining: bool);
    /// This node's disk has no room: as if it were told to drain, until it has.
    fn set_full(&self, is_full: bool);
    /// Done when there is another table than at the time of the call.
    fn changed(&self) -> tokio::sync::futures::Notified<'_>;
}

/// Answers what peers ask of the table.
pub struct Exchange(Arc<dyn Tables>);

impl Exchange {
    pub fn new(tables: Arc<dyn Tables>) -> Self {
        Self(tables)
    }
}

impl Neighbours for Exchange {
    fn topology(
        &self,
        _: wal::NodeId,
        request: peer::TopologyRequest,
    ) -> BoxFuture<'_, Result<peer::TopologyResponse, Refusal>> {
        Box::pin(async move {
            let shards = self.0.table().shards();
            let theirs = wire::table_from_wire(request.nodes, request.shards, shards);
            take(&self.0, theirs.map_err(|why| why.to_string())?).await?;
            let table = self.0.table();
            let digest = table.digest();
            let (nodes, shards) = match digest == request.digest {
                true => Default::default(),
                false => wire::rows_to_wire(&table),
            };
            Ok(peer::TopologyResponse {
                digest,
                nodes,
                shards,
            })
        })
    }
}

/// Between two exchanges without news.
const EXCHANGE: Duration = Duration::from_secs(1);
/// News are not told more often.
const PAUSE: Duration = Duration::from_millis(10);

/// Exchanges the table with all members of all shards, for as long as the node runs.
pub(super) async fn exchange(groups: Vec<Current>, peers: Arc<Peers>, tables: Arc<dyn Tables>) {
    loop {
        let changed = tables.changed();
        let table = tables.table();
        let (nodes, shards) = wire::rows_to_wire(&table);
        let request = peer::TopologyRequest {
            digest: table.digest(),
            nodes,
            shards,
        };
        let ask = |(node, address): (u64, String)| ask(&peers, &tables, node, address, request.clone());
        join_all(members_of(&groups).into_iter().map(ask)).await;
        tokio::time::sleep(PAUSE).await;
        // Whatever comes of it, it is time.
        let _ = tokio::time::timeout(EXCHANGE, changed).await;
    }
}

/// All members but this node, and where they are.
fn members_of(groups: &[Current]) -> BTreeMap<u64, String> {
    let mut members = BTreeMap::new();
    for group in groups {
        let metrics = group.raft().server_metrics();
        let metrics = metrics.borrow_watched();
        let others = metrics
            .membership_config
            .nodes()
            .filter(|(node, _)| **node != metrics.id);
        members.extend(others.map(|(node, at)| (*node, at.addr.clone())));
    }
    members
}

async fn ask(
    peers: &Peers,
    tables: &Arc<dyn Tables>,
    node: u64,
    address: String,
    request: peer::TopologyRequest,
) {
    let answer = peers.topology(wal::NodeId(node), &address, request).await;
    tables.note_heard(node, answer.is_ok());
    let answer = match answer {
        Ok(answer) => answer,
        Err(refused) if refused.metadata().get(metadata::REMOVED).is_some() => {
            return tables.note_removed(wal::NodeId(node));
        }
        Err(_) => return,
    };
    let shards = tables.table().shards();
    match wire::table_from_wire(answer.nodes, answer.shards, shards) {
        Ok(theirs) => {
            if let Err(why) = take(tables, theirs).await {
                tracing::warn!(node, why, "what a node knows is not taken in");
            }
        }
        Err(why) => tracing::warn!(node, %why, "a node sends no table"),
    }
}

/// Who was removed comes first: nothing else of such a node is taken in.
async fn take(tables: &Arc<dyn Tables>, theirs: Table) -> Result<(), Refusal> {
    let known = tables.table();
    let news = theirs.removed.difference(&known.removed);
    let news: Vec<_> = news
        .filter(|node| **node != known.me)
        .map(|node| wal::NodeId(node.0))
        .collect();
    if !news.is_empty() {
        let remove = {
            let tables = Arc::clone(tables);
            move || tables.remove(&news)
        };
        let removed = tokio::task::spawn_blocking(remove).await;
        let removed = removed.map_err(|panic| panic.to_string())?;
        removed.map_err(|why| format!("who was removed cannot be remembered: {why}"))?;
    }
    let mut theirs = theirs;
    theirs.removed.clear();
    tables.take_table(&theirs);
    Ok(())
}

/// Tells what the shard's group knows, whenever it knows better, for as long as the node runs.
pub(super) async fn watch(mut current: Current, shard: ShardId, tables: Arc<dyn Tables>) {
    loop {
        watch_group(&current.raft(), shard, &tables).await;
        if !current.replaced().await {
            return;
        }
    }
}

/// Until it ends.
async fn watch_group(raft: &Shard, shard: ShardId, tables: &Arc<dyn Tables>) {
    let mut metrics = raft.server_metrics();
    loop {
        let row = row_of(&metrics.borrow_watched());
        let is_led = row.leader.is_some();
        if is_led {
            tables.take_row(shard, row.clone());
        }
        let changed = metrics.changed();
        let changed = match is_led {
            true => changed.await,
            // Who led last is a better hint than nobody, for as long as an election takes.
            false => match tokio::time::timeout(ELECTION_MAX, changed).await {
                Ok(changed) => changed,
                Err(_) => {
                    tables.take_row(shard, row);
                    metrics.changed().await
                }
            },
        };
        if changed.is_err() {
            return;
        }
    }
}

/// After this a shard is said to be led by nobody.
const ELECTION_MAX: Duration = Duration::from_secs(2);

fn row_of(metrics: &RaftServerMetrics<C>) -> Row {
    // A node that was restarted is still named by its own vote, and leads only when it is elected anew.
    let is_restarted = metrics.current_leader == Some(metrics.id) && metrics.state != ServerState::Leader;
    let membership = &metrics.membership_config;
    Row {
        term: metrics.vote.leader_id.term,
        membership: membership.log_id().as_ref().map_or(0, |id| wire::index(id.index)),
        leader: metrics.current_leader.filter(|_| !is_restarted).map(NodeId),
        voters: membership.voter_ids().map(NodeId).collect(),
        learners: membership.membership().learner_ids().map(NodeId).collect(),
    }
}
