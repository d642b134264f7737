//! The promises of `plan` over random histories: nodes and disks die, specs change, leaders fall, the operator ends
//! between any two steps, each step is done twice. Whatever happened, when it is over the cluster comes to rest as the
//! spec says, and then there is nothing more to do.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;

use super::obey;
use super::world::World;
use crate::build::samples;
use crate::names::{Bytes, Ordinal};
use crate::plan::Step;

#[derive(Clone, Debug)]
enum Event {
    /// Time passes.
    Tick,
    /// A plan of which so many steps are done; the last of them half, where it can be.
    Plan {
        steps: usize,
        half: bool,
    },
    PodDies(u16),
    /// Only where every shard can do without: what a majority has lost nobody can bring back.
    DiskDies(u16),
    PodsReturn,
    LeadersFall,
    Nodes(u16),
    Replicas(u16),
    NewImage,
    Grow,
    Pause(bool),
    Hibernate(bool),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => Just(Event::Tick),
        12 => (0usize..6, any::<bool>()).prop_map(|(steps, half)| Event::Plan { steps, half }),
        2 => (0u16..7).prop_map(Event::PodDies),
        2 => (0u16..7).prop_map(Event::DiskDies),
        3 => Just(Event::PodsReturn),
        1 => Just(Event::LeadersFall),
        2 => (1u16..7).prop_map(Event::Nodes),
        1 => prop_oneof![Just(1u16), Just(3), Just(5)].prop_map(Event::Replicas),
        1 => Just(Event::NewImage),
        1 => Just(Event::Grow),
        1 => any::<bool>().prop_map(Event::Pause),
        1 => any::<bool>().prop_map(Event::Hibernate),
    ]
}

/// What users ask for; volumes only grow, and a node holds one replica of a shard.
#[derive(Clone, Debug)]
struct Spec {
    nodes: u16,
    shards: u16,
    replicas: u16,
    gibibytes: u16,
    paused: bool,
    hibernated: bool,
}

impl Spec {
    fn tell(&self, world: &mut World) {
        world.cluster = samples::cluster(json!({
            "nodes": self.nodes.max(self.replicas),
            "shards": self.shards,
            "replicationFactor": self.replicas,
            "storage": { "size": format!("{}Gi", self.gibibytes) },
            "paused": self.paused,
            "hibernated": self.hibernated,
        }));
    }
}

fn happen(world: &mut World, spec: &mut Spec, event: &Event) {
    match event {
        Event::Tick => world.tick(),
        Event::Plan { steps, half } => {
            let told = world.cluster.clone();
            let planned = world.plan().steps;
            assert!(!spec.paused || planned.is_empty(), "paused, and yet {planned:?}");
            let done = (*steps).min(planned.len());
            for (at, step) in planned[..done].iter().enumerate() {
                match (step, *half && at + 1 == done) {
                    (Step::ChangeReplicas { .. }, true) => obey::change(world, step, true),
                    _ => twice(world, step),
                }
            }
            assert_eq!(world.cluster, told, "the spec is the user's");
        }
        Event::PodDies(ordinal) => world.lose(Ordinal(*ordinal), false),
        Event::DiskDies(ordinal) if can_lose(world, Ordinal(*ordinal)) => world.lose(Ordinal(*ordinal), true),
        Event::DiskDies(_) => {}
        Event::PodsReturn => world.revive(),
        Event::LeadersFall => {
            world.shards.iter_mut().for_each(|shard| shard.leader = None);
            world.elect();
        }
        Event::Nodes(nodes) => spec.nodes = *nodes,
        Event::Replicas(replicas) => spec.replicas = *replicas,
        Event::NewImage => world.revision += 1,
        Event::Grow => spec.gibibytes += 1,
        Event::Pause(paused) => spec.paused = *paused,
        Event::Hibernate(hibernated) => spec.hibernated = *hibernated,
    }
    spec.tell(world);
}

/// Once and again is the same as once.
fn twice(world: &mut World, step: &Step) {
    world.obey(step);
    let once = world.clone();
    world.obey(step);
    assert_eq!(*world, once, "done twice: {step}");
}

/// Every shard has more than enough without this disk, and no other disk is being made good for.
fn can_lose(world: &World, ordinal: Ordinal) -> bool {
    let Some(node) = world.node_at(ordinal) else {
        return false;
    };
    // Before the beginning there is nothing that could be lost but the cluster itself.
    let begun = world.shards.iter().all(|shard| shard.membership.has_begun());
    let spares = |set: &BTreeSet<_>, serving: &dyn Fn(crate::names::NodeId) -> bool| {
        set.iter()
            .filter(|voter| **voter != node && serving(**voter))
            .count()
            * 2
            > set.len()
    };
    begun
        && world.shards.iter().all(|shard| {
            let serving = |voter| world.serves(shard, voter);
            shard
                .membership
                .voters
                .iter()
                .all(|set| !set.contains(&node) || spares(set, &serving))
        })
}

fn is_as_wanted(world: &World) -> Result<(), String> {
    let cluster = &world.cluster;
    let check = |holds: bool, what: &str| {
        if holds {
            Ok(())
        } else {
            Err(format!("{what}: {:?} {:?}", world.pods, world.shards))
        }
    };
    check(world.pods.len() == usize::from(cluster.nodes), "pods")?;
    check(
        world.pods.values().all(|pod| pod.up && !pod.drains),
        "a pod is down or drained",
    )?;
    check(
        world.pods.values().all(|pod| pod.revision == world.revision),
        "a pod is old",
    )?;
    let size = world.size();
    check(
        world.volumes.iter().all(|(_, disk)| disk.size == size),
        "a volume is small",
    )?;
    check(size > Bytes(0), "no size")?;
    for shard in &world.shards {
        let voters = shard.membership.target();
        check(
            !shard.membership.is_joint() && shard.membership.learners.is_empty(),
            "a change was left half done",
        )?;
        check(voters.len() == usize::from(cluster.replicas), "replicas")?;
        let homes: BTreeSet<Ordinal> = world
            .pods
            .keys()
            .copied()
            .filter(|ordinal| world.node_at(*ordinal).is_some_and(|node| voters.contains(&node)))
            .collect();
        check(homes.len() == voters.len(), "a voter lives nowhere")?;
        check(
            shard.leader.is_some() && shard.behind.is_empty(),
            "a shard is not led or not whole",
        )?;
        check(shard.begun == 1, "a shard was not begun once")?;
    }
    let held = |ordinal: &Ordinal| {
        let node = world.node_at(*ordinal);
        world
            .shards
            .iter()
            .filter(|shard| node.is_some_and(|node| shard.membership.target().contains(&node)))
            .count()
    };
    let (most, least) = (
        world.pods.keys().map(held).max(),
        world.pods.keys().map(held).min(),
    );
    check(
        most.unwrap_or(0) - least.unwrap_or(0) <= 1,
        "replicas are not spread evenly",
    )
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 3000, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_no_promise_is_broken_and_it_comes_to_rest(
        nodes in 1u16..6,
        shards in 1u16..6,
        replicas in prop_oneof![Just(1u16), Just(3)],
        settled in any::<bool>(),
        events in prop::collection::vec(event(), 0..60),
    ) {
        let mut spec = Spec { nodes, shards, replicas, gibibytes: 10, paused: false, hibernated: false };
        let mut world = World::new(json!({ "shards": shards }));
        spec.tell(&mut world);
        if settled {
            world.settle();
        }
        for event in &events {
            happen(&mut world, &mut spec, event);
            prop_assert_eq!(&world.complaints, &Vec::<String>::new(), "at {:?}", event);
        }
        (spec.paused, spec.hibernated) = (false, false);
        spec.tell(&mut world);
        world.revive();
        world.settle();
        prop_assert_eq!(&world.complaints, &Vec::<String>::new(), "while it came to rest");
        prop_assert_eq!(is_as_wanted(&world), Ok(()));
        prop_assert!(world.foundings <= 1);
        world.tick();
        prop_assert_eq!(world.plan().steps, vec![]);
        prop_assert!(world.plan().is_settled(), "{:?}", world.plan().notes);
    }
}
