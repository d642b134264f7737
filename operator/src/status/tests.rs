//! What a status says of clusters in all kinds of states.

use serde_json::json;

use super::*;
use crate::api::{Condition, Reason};
use crate::build::samples;
use crate::names::{ClusterId, LogId, ShardId};
use crate::observe::{Membership, Node, Pod, Progress, Record, Replica, StatefulSet};
use crate::plan::{Wanted, plan};

const THEN: &str = "2026-01-01T00:00:00Z";
const NOW: &str = "2026-01-02T00:00:00Z";

fn cluster(spec: serde_json::Value) -> ValidCluster {
    samples::cluster(spec)
}

/// Three nodes, one shard, led by the first.
fn healthy(cluster: &ValidCluster) -> Observed {
    let id = ClusterId([1; 16]);
    let voters: BTreeSet<NodeId> = (1..=3).map(NodeId).collect();
    let replica = |node: u64| Replica {
        leads: node == 1,
        leader: Some(NodeId(1)),
        membership: Membership {
            made_by: LogId::default(),
            voters: vec![voters.clone()],
            ..Membership::default()
        },
        members: [2, 3]
            .map(|other| {
                (
                    NodeId(other),
                    Progress {
                        lag: 17,
                        silent_ms: 5,
                    },
                )
            })
            .into(),
        ..Replica::default()
    };
    let node = |ordinal: u16| Node {
        id: NodeId(u64::from(ordinal) + 1),
        cluster: Some(id),
        release: "1.0.0".into(),
        config_revision: build::config_revision(cluster),
        replicas: [(ShardId(0), replica(u64::from(ordinal) + 1))].into(),
        ..Node::default()
    };
    let pod = Pod {
        ready: true,
        revision: build::revision(cluster),
        ..Pod::default()
    };
    Observed {
        stateful_set: Some(StatefulSet {
            uid: "s".into(),
            replicas: 3,
            image: String::new(),
            storage: cluster.volume.as_ref().map(|v| v.size),
        }),
        pods: (0..3).map(|ordinal| (Ordinal(ordinal), pod.clone())).collect(),
        nodes: (0..3).map(|ordinal| (Ordinal(ordinal), node(ordinal))).collect(),
        has_token: true,
        record: Record {
            cluster: Some(id),
            first_nodes: 3,
            begun: true,
            nodes: 3,
            ..Record::default()
        },
        ..Observed::default()
    }
}

fn told(cluster: &ValidCluster, observed: &Observed, before: &RuvioClusterStatus) -> RuvioClusterStatus {
    let wanted = Wanted {
        revision: build::revision(cluster),
        config_revision: build::config_revision(cluster),
        ..Wanted::default()
    };
    status(cluster, observed, &plan(cluster, observed, &wanted), before, NOW)
}

fn condition<'a>(status: &'a RuvioClusterStatus, kind: &str) -> &'a Condition {
    status
        .conditions
        .iter()
        .find(|condition| condition.kind == kind)
        .expect("it is there")
}

fn short(status: &RuvioClusterStatus) -> Vec<String> {
    status
        .conditions
        .iter()
        .map(|condition| format!("{} {} {}", condition.kind, condition.status, condition.reason))
        .collect()
}

#[test]
fn a_healthy_cluster_is_told_and_told_the_same_again() {
    let cluster = cluster(json!({ "shards": 1 }));
    let first = told(&cluster, &healthy(&cluster), &RuvioClusterStatus::default());
    assert_eq!(
        short(&first),
        [
            "Ready True AllReady",
            "Progressing False Settled",
            "Degraded False Whole",
            "QuorumAvailable True MajorityHeld",
            "StorageReady True VolumesReady",
            "ConfigApplied True Applied",
            "TlsReady False NotAsked",
            "Paused False NotAsked",
        ]
    );
    assert_eq!(
        (first.ready_nodes, first.nodes_total, first.leader_spread),
        (3, 3, Some(1))
    );
    assert_eq!(
        first.selector,
        "app.kubernetes.io/name=ruvio,app.kubernetes.io/instance=orders"
    );
    assert_eq!(first.shards[0].voters, [1, 2, 3]);
    // Entries come and go; nothing is written for that.
    let mut later = healthy(&cluster);
    for node in later.nodes.values_mut() {
        for replica in node.replicas.values_mut() {
            replica.members.values_mut().for_each(|progress| {
                *progress = Progress {
                    lag: 250,
                    silent_ms: 90,
                }
            });
        }
    }
    assert_eq!(told(&cluster, &later, &first), first);
}

#[test]
fn a_dead_leader_is_told_and_the_time_is_that_of_the_change() {
    let cluster = cluster(json!({ "shards": 1 }));
    let mut before = told(&cluster, &healthy(&cluster), &RuvioClusterStatus::default());
    before
        .conditions
        .iter_mut()
        .for_each(|condition| condition.last_transition_time = THEN.into());
    let mut observed = healthy(&cluster);
    observed.nodes.remove(&Ordinal(0));
    observed.pods.get_mut(&Ordinal(0)).expect("a pod").ready = false;
    let status = told(&cluster, &observed, &before);
    let ready = condition(&status, "Ready");
    assert_eq!(
        (ready.status.as_str(), ready.reason.as_str()),
        ("False", "ShardsWithoutLeader")
    );
    assert_eq!(ready.message, "shards 0 have no leader that answers");
    assert_eq!(ready.last_transition_time, NOW);
    assert_eq!(condition(&status, "TlsReady").last_transition_time, THEN);
    assert_eq!(condition(&status, "QuorumAvailable").reason, "MajorityLost");
    assert_eq!(status.nodes[0].id, 1, "who lived there is kept");
    assert_eq!(status.ready_nodes, 2);
}

#[test]
fn paused_and_asleep_are_told() {
    let paused = cluster(json!({ "shards": 1, "paused": true }));
    let status = told(&paused, &healthy(&paused), &RuvioClusterStatus::default());
    assert_eq!(condition(&status, "Paused").status, "True");
    assert_eq!(
        condition(&status, "Ready").status,
        "True",
        "what runs is not worse for it"
    );
    let awake = cluster(json!({ "shards": 1 }));
    let before = told(&awake, &healthy(&awake), &RuvioClusterStatus::default());
    let asleep = cluster(json!({ "shards": 1, "hibernated": true }));
    let mut observed = healthy(&asleep);
    (observed.nodes, observed.pods) = Default::default();
    observed.stateful_set.as_mut().expect("a set").replicas = 0;
    let status = told(&asleep, &observed, &before);
    assert_eq!(condition(&status, "Ready").reason, "Hibernated");
    assert_eq!(condition(&status, "QuorumAvailable").status, "Unknown");
    assert_eq!(
        status.nodes.iter().map(|node| node.id).collect::<Vec<_>>(),
        [1, 2, 3]
    );
}

#[test]
fn a_spec_that_cannot_be_done_leaves_the_rest_as_it_was() {
    let cluster = cluster(json!({ "shards": 1 }));
    let before = told(&cluster, &healthy(&cluster), &RuvioClusterStatus::default());
    let fault = Invalid {
        reason: Reason::UnknownOption,
        says: "config has x: remove it".into(),
    };
    let status = invalid(&fault, 7, &before, NOW);
    assert_eq!(condition(&status, "Progressing").reason, "UnknownOption");
    assert_eq!(condition(&status, "Ready").status, "True");
    assert_eq!(status.observed_generation, Some(7));
    assert_eq!((status.nodes, status.shards), (before.nodes, before.shards));
    let new = invalid(&fault, 1, &RuvioClusterStatus::default(), NOW);
    assert_eq!(condition(&new, "Ready").message, "config has x: remove it");
}
