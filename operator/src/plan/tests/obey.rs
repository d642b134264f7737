//! What the world does when a step is asked of it, and what must never be asked: the invariants, at the place where
//! breaking one would do harm.

use std::collections::BTreeSet;

use super::world::World;
use crate::names::{NodeId, Ordinal};
use crate::plan::Step;

pub fn obey(world: &mut World, step: &Step) {
    if world.cluster.paused {
        world.complain(format!("paused, and told to {step}"));
    }
    match step {
        Step::MakeToken => world.has_token = true,
        Step::Apply(_) => world.make_set(),
        Step::Grow { ordinal, to } => {
            if let Some(disk) = world.volumes.get_mut(ordinal) {
                disk.size = disk.size.max(*to);
            }
        }
        Step::MakeStatefulSetAnew { .. } => {
            let size = world.size();
            if let Some(set) = &mut world.set {
                set.storage = Some(size);
            }
        }
        Step::Scale { from, to } => scale(world, *from, *to),
        Step::WriteFounding { first_nodes } => {
            if world.record.cluster.is_none() {
                world.record.cluster = Some(World::cluster_id());
                world.record.first_nodes = *first_nodes;
                world.foundings += 1;
            }
        }
        Step::WriteAdoption { cluster } => {
            world.record.cluster = Some(*cluster);
            world.record.begun = true;
        }
        Step::Enlist { ordinal, node, .. } => {
            if world.record.begun {
                world.complain("enlisted after the beginning");
            }
            identify(world, *ordinal, *node);
        }
        Step::WriteBegun => world.record.begun = true,
        Step::Begin {
            node, first_nodes, ..
        } => begin(world, *node, *first_nodes),
        Step::Join { ordinal } => {
            let up = world.pods.get(ordinal).is_some_and(|pod| pod.up);
            if up && world.node_at(*ordinal).is_none() {
                let node = world.draw_node();
                identify(world, *ordinal, node);
            }
        }
        Step::ApplyConfig { .. } => {}
        Step::Drain { ordinal } => drain(world, *ordinal),
        Step::Undrain { ordinal } => {
            if let Some(pod) = world.pods.get_mut(ordinal) {
                pod.drains = false;
            }
        }
        Step::TransferLeader { shard, from, to } => {
            let at = usize::from(shard.0);
            let known = &world.shards[at];
            let may = known.leader == Some(*from)
                && world.serves(known, *to)
                && known.membership.target().contains(to);
            if may {
                world.shards[at].leader = Some(*to);
                world.shards[at].term += 1;
            }
        }
        Step::ChangeReplicas { .. } => change(world, step, false),
        Step::Evict { ordinal, uid } => evict(world, *ordinal, uid),
    }
}

fn identify(world: &mut World, ordinal: Ordinal, node: NodeId) {
    let up = world.pods.get(&ordinal).is_some_and(|pod| pod.up);
    if let Some(disk) = world
        .volumes
        .get_mut(&ordinal)
        .filter(|disk| up && disk.node.is_none())
    {
        disk.node = Some(node);
    }
}

fn scale(world: &mut World, from: u16, to: u16) {
    let Some(set) = world.set.as_mut().filter(|set| set.replicas == from) else {
        return;
    };
    set.replicas = to;
    if to == 0 {
        for ordinal in (0..from).map(Ordinal) {
            world.lose(ordinal, false);
        }
    }
    for ordinal in (to..from).map(Ordinal).filter(|_| to > 0) {
        if from - to > 1 {
            world.complain(format!("scaled from {from} to {to} at once"));
        }
        let node = world.node_at(ordinal);
        if node.is_some_and(|node| world.shards.iter().any(|shard| shard.membership.holds(node))) {
            world.complain(format!("pod {ordinal} is removed and holds shards"));
        }
    }
    world.pods.retain(|ordinal, _| ordinal.0 < to);
}

/// A shard is begun by its first voter, on the nodes that the placement says.
fn begin(world: &mut World, node: NodeId, first_nodes: u16) {
    if !world.record.begun {
        world.complain("told to begin before it was written down");
    }
    if !world.is_up(node) {
        return;
    }
    let replicas = usize::from(world.cluster.replicas);
    let first_nodes = usize::from(first_nodes);
    for at in 0..world.shards.len() {
        let place = |part: usize| NodeId(((at + part) % first_nodes) as u64 + 1);
        if place(0) != node || world.shards[at].membership.has_begun() {
            continue;
        }
        let shard = &mut world.shards[at];
        shard.begun += 1;
        shard.term = 1;
        shard.leader = Some(node);
        let voters = (0..replicas).map(place).collect();
        shard.commit(vec![voters], BTreeSet::new());
        if world.shards[at].begun > 1 {
            world.complain(format!("shard {at} was begun twice"));
        }
    }
    world.elect();
}

fn drain(world: &mut World, ordinal: Ordinal) {
    let Some(pod) = world.pods.get_mut(&ordinal).filter(|pod| pod.up) else {
        return;
    };
    pod.drains = true;
    let node = world.node_at(ordinal);
    for at in 0..world.shards.len() {
        let shard = &world.shards[at];
        if shard.leader.is_none() || shard.leader != node {
            continue;
        }
        let to = shard
            .membership
            .target()
            .into_iter()
            .find(|to| Some(*to) != node && world.serves(shard, *to));
        if let Some(to) = to {
            world.shards[at].leader = Some(to);
            world.shards[at].term += 1;
        }
    }
}

/// `half`: the operator, and the leader with it, die between the joint entry and the one after it.
pub fn change(world: &mut World, step: &Step, half: bool) {
    let Step::ChangeReplicas {
        shard,
        leader,
        add,
        remove,
        if_membership,
    } = step
    else {
        return;
    };
    let at = usize::from(shard.0);
    let known = world.shards[at].clone();
    let refused = known.leader != Some(*leader)
        || !world.is_up(*leader)
        || known.membership.made_by != *if_membership
        || !world.has_majority(&known)
        || *remove == Some(*leader);
    if refused {
        return;
    }
    let mut voters: BTreeSet<NodeId> = known.membership.voters.iter().flatten().copied().collect();
    voters.retain(|voter| Some(*voter) != *remove);
    voters.extend(*add);
    let before = known.membership.target();
    let (more, fewer) = (
        voters.difference(&before).count(),
        before.difference(&voters).count(),
    );
    if more > 1 || fewer > 1 {
        world.complain(format!(
            "shard {shard}: voters change from {before:?} to {voters:?}"
        ));
    }
    if add.is_some_and(|add| !world.is_up(add)) {
        // It never catches up: it stays a learner.
        let mut learners = known.membership.learners.clone();
        learners.extend(*add);
        world.shards[at].behind.extend(*add);
        return world.shards[at].commit(known.membership.voters, learners);
    }
    let serving = voters.iter().filter(|node| world.serves(&known, **node)).count();
    if serving * 2 <= voters.len() {
        world.complain(format!(
            "shard {shard}: a change to {voters:?} leaves no majority"
        ));
    }
    let mut homes: Vec<Option<Ordinal>> = voters
        .iter()
        .map(|node| world.record.homes.get(node).copied())
        .collect();
    homes.retain(Option::is_some);
    let count = homes.len();
    homes.sort_unstable();
    homes.dedup();
    if homes.len() < count && remove.is_none() {
        world.complain(format!("shard {shard}: two replicas of one node's place"));
    }
    let sets = if half && known.membership.voters.len() == 1 {
        vec![before, voters]
    } else {
        vec![voters]
    };
    world.shards[at].commit(sets, BTreeSet::new());
}

fn evict(world: &mut World, ordinal: Ordinal, uid: &str) {
    let Some(pod) = world.pods.get(&ordinal).filter(|pod| pod.uid.to_string() == uid) else {
        return;
    };
    let node = world.node_at(ordinal);
    if let Some(node) = node.filter(|_| pod.up) {
        for (at, shard) in world
            .shards
            .iter()
            .enumerate()
            .filter(|(_, shard)| shard.membership.target().contains(&node))
        {
            let voters = shard.membership.target();
            let left = voters
                .iter()
                .filter(|voter| **voter != node && world.serves(shard, **voter))
                .count();
            if voters.len() > 1 && left * 2 <= voters.len() {
                return world.complain(format!(
                    "shard {at} cannot do without {node}, and its pod is evicted"
                ));
            }
            if voters.len() > 1 && shard.leader == Some(node) {
                return world.complain(format!("{node} leads shard {at}, and its pod is evicted"));
            }
        }
    }
    world.lose(ordinal, false);
    world.pods.remove(&ordinal);
}
