//! How pods become a cluster, once, and how a new node becomes a member of it.
//!
//! What is written down goes ahead of what is told: first the cluster's id, then all first nodes become members, then
//! it is written down that the cluster begins, and only then does any shard. So a node that is empty when that stands
//! there has lost its volume and is a new one, whoever has read it and whatever was cut short.

use std::collections::BTreeSet;

use super::{Plan, Step, View};
use crate::api::Reason;
use crate::names::{ClusterId, NodeId, Ordinal};

/// Whether the cluster has begun, as far as can be told: only then is there anything else to do.
pub fn settle(view: &View, plan: &mut Plan) -> bool {
    if is_foreign(view, plan) {
        return false;
    }
    let record = &view.observed.record;
    match (record.cluster, record.begun) {
        (None, _) => first(view, plan),
        (Some(_), false) => enlist(view, plan),
        (Some(_), true) => return begin(view, plan),
    }
    false
}

/// Nodes of different clusters never meet: somebody mixed up volumes, and has to say which are meant.
fn is_foreign(view: &View, plan: &mut Plan) -> bool {
    let ours = view.observed.record.cluster;
    let clusters: BTreeSet<ClusterId> = view
        .observed
        .nodes
        .values()
        .filter_map(|node| node.cluster)
        .chain(ours)
        .collect();
    if clusters.len() < 2 {
        return false;
    }
    let (one, other) = (
        clusters.first().map(ToString::to_string),
        clusters.last().map(ToString::to_string),
    );
    let says = format!(
        "pods have volumes of several clusters, {} and {}: remove the claims of those that do not belong here",
        one.unwrap_or_default(),
        other.unwrap_or_default()
    );
    plan.note(Reason::ForeignNode, says);
    true
}

fn first(view: &View, plan: &mut Plan) {
    let nodes = &view.observed.nodes;
    if let Some(cluster) = nodes.values().find_map(|node| node.cluster) {
        // The volumes of a RuvioCluster that was deleted and is there again.
        plan.step(Step::WriteAdoption { cluster });
        plan.note(
            Reason::Founding,
            "the volumes hold a cluster, which is taken up again",
        );
        return;
    }
    let all =
        (0..view.cluster.nodes).all(|ordinal| nodes.get(&Ordinal(ordinal)).is_some_and(|node| !node.loads));
    match all {
        true => plan.step(Step::WriteFounding {
            first_nodes: view.cluster.nodes,
        }),
        false => plan.note(
            Reason::WaitingForNodes,
            "a cluster is made when all of its first nodes answer",
        ),
    }
    plan.note(Reason::Founding, "new nodes are made a cluster");
}

fn enlist(view: &View, plan: &mut Plan) {
    plan.note(Reason::Founding, "new nodes are made a cluster");
    let first_nodes = view.observed.record.first_nodes;
    let mut members = 0;
    for ordinal in (0..first_nodes).map(Ordinal) {
        match view.observed.nodes.get(&ordinal) {
            Some(node) if node.cluster.is_some() => members += 1,
            Some(node) if !node.loads => {
                let node = first_id(ordinal);
                plan.step(Step::Enlist {
                    ordinal,
                    node,
                    first_nodes,
                });
            }
            _ => {}
        }
    }
    if members == first_nodes {
        plan.step(Step::WriteBegun);
    }
}

/// Those of the first nodes are their ordinals, from one on.
fn first_id(ordinal: Ordinal) -> NodeId {
    NodeId(u64::from(ordinal.0) + 1)
}

/// Finishes what of the beginning is missing; then new nodes join.
fn begin(view: &View, plan: &mut Plan) -> bool {
    let observed = view.observed;
    let first_nodes = observed.record.first_nodes;
    let unbegun = view.shards.iter().any(|shard| !shard.membership.has_begun());
    if unbegun && first_nodes > 0 {
        // Of who does not answer, or still reads, nobody knows whether it has begun.
        let all_say = (0..first_nodes).all(|ordinal| {
            observed
                .nodes
                .get(&Ordinal(ordinal))
                .is_some_and(|node| !node.loads)
        });
        let answers: Vec<(Ordinal, NodeId)> = (0..first_nodes)
            .map(Ordinal)
            .filter(|ordinal| view.id_at(*ordinal) == Some(first_id(*ordinal)))
            .map(|ordinal| (ordinal, first_id(ordinal)))
            .collect();
        if answers.len() == usize::from(first_nodes) && all_say {
            for (ordinal, node) in answers {
                plan.step(Step::Begin {
                    ordinal,
                    node,
                    first_nodes,
                });
            }
            plan.note(Reason::Founding, "new nodes are made a cluster");
            return false;
        }
        let none_begun = view.shards.iter().all(|shard| !shard.membership.has_begun());
        if all_say && none_begun {
            plan.note(
                Reason::FoundingInterrupted,
                "a first node lost its volume before any shard had begun, so there is no data: delete the RuvioCluster and \
                 its volume claims, and make it again",
            );
            return false;
        }
        plan.note(
            Reason::WaitingForNodes,
            "not all shards are known to have begun: nodes have to answer first",
        );
    }
    let mut joins = false;
    for (ordinal, node) in &observed.nodes {
        if node.cluster.is_none() && !node.loads && ordinal.0 < view.cluster.nodes {
            plan.step(Step::Join { ordinal: *ordinal });
            joins = true;
        }
    }
    if joins {
        plan.note(Reason::Joining, "new nodes are made members");
    }
    true
}
