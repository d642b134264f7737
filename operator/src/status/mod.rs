//! What is told of a cluster: a pure function of what was seen and what is planned. It is written only when it is
//! another than before, so nothing in it may change by itself: no times, no figures that always move.
//!
//! Invariant: `clusterId` and `founding` are passed on as they are. They are written by steps of their own, each by a
//! compare-and-set.

mod conditions;

use std::collections::BTreeSet;

use crate::api::{NodeState, RuvioClusterStatus, ShardState};
use crate::build;
use crate::names::{NodeId, Ordinal};
use crate::observe::Observed;
use crate::plan::{Plan, View};
use crate::validate::{Invalid, ValidCluster};

pub use conditions::{failed, of_invalid};

/// Entries that a follower lacks are told in steps of this many: a figure that moves with each write would have the
/// status written with each.
const LAG_STEP: u64 = 1000;

/// `now`: as RFC 3339 has it.
pub fn status(
    cluster: &ValidCluster,
    observed: &Observed,
    plan: &Plan,
    before: &RuvioClusterStatus,
    now: &str,
) -> RuvioClusterStatus {
    let view = View::of(cluster, observed);
    let nodes = nodes(&view, before);
    let config_revision = build::config_revision(cluster);
    let has_config = |node: &crate::observe::Node| node.config_revision == config_revision;
    let all_have = !observed.nodes.is_empty() && observed.nodes.values().all(has_config);
    RuvioClusterStatus {
        observed_generation: Some(cluster.generation),
        conditions: conditions::conditions(&view, plan, before, now),
        ready_nodes: observed.pods.values().filter(|pod| pod.ready).count() as i32,
        nodes_total: view.pods().into(),
        selector: build::selector_text(cluster),
        leader_spread: spread(&view),
        config_revision: if all_have {
            config_revision
        } else {
            before.config_revision.clone()
        },
        shards: shards(&view),
        nodes,
        cluster_id: before.cluster_id.clone(),
        founding: before.founding.clone(),
    }
}

/// Of a spec that cannot be done all stays as it was, but for the conditions.
pub fn invalid(
    invalid: &Invalid,
    generation: i64,
    before: &RuvioClusterStatus,
    now: &str,
) -> RuvioClusterStatus {
    RuvioClusterStatus {
        observed_generation: Some(generation),
        conditions: of_invalid(invalid, generation, &before.conditions, now),
        ..before.clone()
    }
}

/// By pod. Of one that does not answer its id is kept, so that it is known who lived there; and while no pod runs all
/// are kept, so that it is known who has to wake.
fn nodes(view: &View, before: &RuvioClusterStatus) -> Vec<NodeState> {
    if view.pods() == 0 && view.cluster.hibernated {
        let asleep = |node: &NodeState| NodeState {
            ready: false,
            shards_led: 0,
            ..node.clone()
        };
        return before.nodes.iter().map(asleep).collect();
    }
    let state = |ordinal: u16| {
        let name = build::names::pod(view.cluster, ordinal);
        let known = before.nodes.iter().find(|node| node.name == name).cloned();
        let node = view.observed.nodes.get(&Ordinal(ordinal));
        let id = view.id_at(Ordinal(ordinal));
        let was = known.unwrap_or_default();
        NodeState {
            ready: view
                .observed
                .pods
                .get(&Ordinal(ordinal))
                .is_some_and(|pod| pod.ready),
            id: id.map_or(was.id, |id| id.0 as i64),
            version: node.map_or(was.version, |node| node.release.clone()),
            shards_led: id.map_or(0, |id| view.leads(id) as i32),
            name,
        }
    };
    (0..view.pods()).map(state).collect()
}

fn shards(view: &View) -> Vec<ShardState> {
    let known = view.shards.iter().filter(|shard| shard.membership.has_begun());
    let state = |shard: &crate::plan::Shard| ShardState {
        id: shard.id.0.into(),
        leader: shard.leader.map_or(0, |leader| leader.0 as i64),
        term: shard.term.0 as i64,
        voters: shard
            .membership
            .target()
            .iter()
            .map(|voter| voter.0 as i64)
            .collect(),
        lag: lag(view, shard),
    };
    known.map(state).collect()
}

fn lag(view: &View, shard: &crate::plan::Shard) -> Option<i64> {
    let home = view.home(shard.leader?)?;
    let leading = view.observed.nodes.get(&home)?.replicas.get(&shard.id)?;
    let voters = shard.membership.target();
    let lags = leading
        .members
        .iter()
        .filter(|(node, _)| voters.contains(node))
        .map(|(_, progress)| progress.lag);
    Some((lags.max().unwrap_or(0) / LAG_STEP * LAG_STEP) as i64)
}

fn spread(view: &View) -> Option<i32> {
    let ids: BTreeSet<NodeId> = view
        .observed
        .nodes
        .keys()
        .filter_map(|ordinal| view.id_at(*ordinal))
        .collect();
    let leads = ids.iter().map(|id| view.leads(*id) as i32);
    Some(leads.clone().max()? - leads.min()?)
}

#[cfg(test)]
mod tests;
