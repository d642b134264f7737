//! Single decisions that a whole history would hide.

use serde_json::json;

use super::world::World;
use crate::api::Reason;
use crate::build::samples;
use crate::names::{Bytes, ClusterId, LogId, LogIndex, NodeId, Ordinal, ShardId};
use crate::observe::Observed;
use crate::plan::{Plan, Step, plan};

/// What is planned when something of a settled cluster is changed.
fn planned(world: &World, change: impl FnOnce(&mut Observed)) -> Plan {
    let mut observed = world.observe();
    change(&mut observed);
    plan(&world.cluster, &observed, &world.wanted())
}

fn reasons(plan: &Plan) -> Vec<Reason> {
    plan.notes.iter().map(|note| note.reason).collect()
}

fn said(plan: &Plan) -> Vec<String> {
    plan.steps.iter().map(ToString::to_string).collect()
}

#[test]
fn a_settled_cluster_has_nothing_to_do() {
    for spec in [
        json!({}),
        json!({ "nodes": 1, "replicationFactor": 1 }),
        json!({ "nodes": 5, "shards": 9 }),
    ] {
        let world = World::settled(spec);
        assert!(world.plan().is_settled(), "{:?}", world.plan());
    }
}

#[test]
fn a_pod_without_a_place_is_told_in_the_schedulers_words() {
    let world = World::settled(json!({}));
    let plan = planned(&world, |observed| {
        observed.nodes.remove(&Ordinal(1));
        let pod = observed.pods.get_mut(&Ordinal(1)).expect("a pod");
        (pod.ready, pod.unschedulable) = (
            false,
            Some("0/3 nodes are available: 3 Insufficient memory".into()),
        );
    });
    assert_eq!(plan.steps, []);
    assert_eq!(plan.notes[0].reason, Reason::PodUnschedulable);
    assert!(
        plan.notes[0].says.ends_with("3 Insufficient memory"),
        "{:?}",
        plan.notes
    );
}

#[test]
fn volumes_of_two_clusters_are_not_mixed() {
    let world = World::settled(json!({}));
    let plan = planned(&world, |observed| {
        observed.nodes.get_mut(&Ordinal(1)).expect("a node").cluster = Some(ClusterId([9; 16]));
    });
    assert_eq!((said(&plan), reasons(&plan)), (vec![], vec![Reason::ForeignNode]));
}

#[test]
fn a_class_that_cannot_expand_is_told_and_nothing_is_tried() {
    let mut world = World::settled(json!({}));
    world.cluster = samples::cluster(json!({ "storage": { "size": "20Gi" } }));
    let plan = planned(&world, |observed| observed.class_expands = Some(false));
    assert_eq!(
        (said(&plan), reasons(&plan)),
        (vec![], vec![Reason::ClassCannotExpand])
    );
    let plan = planned(&world, |observed| observed.class_expands = Some(true));
    assert_eq!(
        plan.steps[0],
        Step::Grow {
            ordinal: Ordinal(0),
            to: Bytes(20 << 30)
        }
    );
}

#[test]
fn nodes_are_told_their_options_while_they_run() {
    let world = World::settled(json!({}));
    let plan = planned(&world, |observed| {
        observed
            .nodes
            .get_mut(&Ordinal(2))
            .expect("a node")
            .config_revision = "older".into();
    });
    assert_eq!(
        (said(&plan), reasons(&plan)),
        (
            vec!["tell pod 2 its options".into()],
            vec![Reason::ApplyingConfig]
        )
    );
}

/// A deposed leader that does not know it yet says who the voters were; nothing is asked of it.
#[test]
fn who_leads_in_an_older_term_is_not_asked() {
    let world = World::settled(json!({ "shards": 1, "nodes": 4 }));
    let leader = world.shards[0].leader.expect("it is led");
    let stale = |observed: &mut Observed| {
        for node in observed.nodes.values_mut().filter(|node| node.id != leader) {
            for replica in node.replicas.values_mut() {
                (replica.term.0, replica.leader) = (replica.term.0 + 1, None);
            }
        }
        // A voter's place is another's now, which is reason enough to change.
        let other = observed
            .nodes
            .values_mut()
            .find(|node| node.id != leader && !node.replicas.is_empty())
            .expect("a voter");
        (other.id, other.replicas) = (NodeId(77), Default::default());
    };
    let plan = planned(&world, stale);
    assert_eq!(
        (said(&plan), reasons(&plan)),
        (vec![], vec![Reason::ShardsWithoutLeader])
    );
}

#[test]
fn a_change_names_the_membership_that_was_seen() {
    let world = World::settled(json!({ "shards": 1, "nodes": 4 }));
    let made_by = LogId {
        index: LogIndex(41),
        ..world.shards[0].membership.made_by
    };
    let leader = world.shards[0].leader.expect("it is led");
    let lost = world.shards[0]
        .membership
        .target()
        .into_iter()
        .find(|node| *node != leader)
        .expect("a follower");
    let plan = planned(&world, |observed| {
        let home = *observed
            .nodes
            .iter()
            .find(|(_, node)| node.id == lost)
            .expect("it lives")
            .0;
        let node = observed.nodes.get_mut(&home).expect("a node");
        (node.id, node.replicas) = (NodeId(77), Default::default());
        for node in observed.nodes.values_mut() {
            for replica in node.replicas.values_mut() {
                replica.membership.made_by = made_by;
            }
        }
    });
    let Some(Step::ChangeReplicas {
        shard: ShardId(0),
        remove,
        if_membership,
        leader: told,
        ..
    }) = plan.steps.first()
    else {
        panic!("{plan:?}");
    };
    assert_eq!((*remove, *if_membership, *told), (Some(lost), made_by, leader));
}

#[test]
fn zones_come_before_even_loads() {
    let world = World::settled(json!({ "shards": 1, "nodes": 4 }));
    let voters = world.shards[0].membership.target();
    let spare = (0..4)
        .map(Ordinal)
        .find(|ordinal| !voters.contains(&world.node_at(*ordinal).expect("a node")))
        .expect("a spare");
    let plan = planned(&world, |observed| {
        for (ordinal, pod) in &mut observed.pods {
            pod.zone = if *ordinal == spare { "b" } else { "a" }.into();
        }
    });
    let to = world.node_at(spare).expect("a node");
    assert!(
        matches!(plan.steps[..], [Step::ChangeReplicas { add: Some(added), .. }] if added == to),
        "{plan:?}"
    );
}

#[test]
fn a_server_that_stands_alone_is_only_kept_as_it_is_to_be() {
    let mut world = World::new(json!({ "nodes": 1, "replicationFactor": 1, "durability": "memory" }));
    world.has_token = true;
    world.tick();
    assert_eq!(said(&world.plan()), ["apply StatefulSet orders"]);
    world.settle();
    assert!(world.plan().is_settled());
    world.revision += 1;
    assert_eq!(said(&world.plan()), ["evict pod 0"]);
    assert_eq!(world.settle(), ["evict pod 0"]);
    assert!(world.plan().is_settled());
}
