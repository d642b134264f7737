//! A small Kubernetes with a small Ruvio in it, for decisions to be tried on. It does what it is told as the real ones
//! do, keeps what both keep when things die, and complains of what must never be asked of it.

use std::collections::{BTreeMap, BTreeSet};

use crate::build::samples;
use crate::names::{Bytes, ClusterId, LogId, LogIndex, NodeId, Ordinal, ShardId, Term};
use crate::observe::{self, Membership, Observed, Progress, Record, StatefulSet, Volume};
use crate::plan::{ObjectRef, Plan, Step, Wanted, plan, pods};
use crate::validate::ValidCluster;

#[derive(Clone, PartialEq, Debug)]
pub struct World {
    pub cluster: ValidCluster,
    pub revision: u32,
    pub set: Option<StatefulSet>,
    pub pods: BTreeMap<Ordinal, Pod>,
    pub volumes: BTreeMap<Ordinal, Disk>,
    pub shards: Vec<Shard>,
    pub record: Record,
    pub has_token: bool,
    pub complaints: Vec<String>,
    pub foundings: u32,
    next_node: u64,
    next_uid: u64,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Pod {
    pub uid: u64,
    pub revision: u32,
    pub up: bool,
    /// Held down by a fault.
    pub dead: bool,
    pub drains: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Disk {
    pub size: Bytes,
    /// The identity that is on it.
    pub node: Option<NodeId>,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Shard {
    pub begun: u32,
    pub membership: Membership,
    pub leader: Option<NodeId>,
    pub term: u64,
    pub index: u64,
    /// Members that lack entries.
    pub behind: BTreeSet<NodeId>,
}

impl World {
    pub fn new(spec: serde_json::Value) -> Self {
        let cluster = samples::cluster(spec);
        let shards = vec![Shard::default(); cluster.shards.into()];
        Self {
            cluster,
            revision: 1,
            set: None,
            pods: BTreeMap::new(),
            volumes: BTreeMap::new(),
            shards,
            record: Record::default(),
            has_token: false,
            complaints: Vec::new(),
            foundings: 0,
            next_node: 10_000,
            next_uid: 0,
        }
    }

    /// One that has come to rest.
    pub fn settled(spec: serde_json::Value) -> Self {
        let mut world = Self::new(spec);
        world.settle();
        world
    }

    pub fn size(&self) -> Bytes {
        self.cluster
            .volume
            .as_ref()
            .map_or(Bytes(0), |volume| volume.size)
    }

    pub fn wanted(&self) -> Wanted {
        let changed = match self.set {
            Some(_) => Vec::new(),
            None => vec![ObjectRef {
                kind: "StatefulSet",
                name: self.cluster.name.clone(),
            }],
        };
        Wanted {
            changed,
            revision: self.revision.to_string(),
            config_revision: String::new(),
        }
    }

    pub fn plan(&self) -> Plan {
        plan(&self.cluster, &self.observe(), &self.wanted())
    }

    pub fn node_at(&self, ordinal: Ordinal) -> Option<NodeId> {
        self.volumes.get(&ordinal).and_then(|disk| disk.node)
    }

    pub fn is_up(&self, node: NodeId) -> bool {
        self.pods
            .iter()
            .any(|(ordinal, pod)| pod.up && self.node_at(*ordinal) == Some(node))
    }

    fn drains(&self, node: NodeId) -> bool {
        self.pods
            .iter()
            .any(|(ordinal, pod)| pod.drains && self.node_at(*ordinal) == Some(node))
    }

    /// Up, with all entries.
    pub fn serves(&self, shard: &Shard, node: NodeId) -> bool {
        self.is_up(node) && !shard.behind.contains(&node)
    }

    pub fn has_majority(&self, shard: &Shard) -> bool {
        let holds = |set: &BTreeSet<NodeId>| {
            set.iter().filter(|node| self.serves(shard, **node)).count() * 2 > set.len()
        };
        shard.membership.voters.iter().all(holds)
    }

    pub fn observe(&self) -> Observed {
        let is_behind = |node| self.shards.iter().any(|shard| shard.behind.contains(&node));
        let seen = |(ordinal, pod): (&Ordinal, &Pod)| {
            let behind = self.node_at(*ordinal).is_some_and(is_behind);
            let pod = observe::Pod {
                uid: pod.uid.to_string(),
                ready: pod.up && !pod.drains && !behind,
                revision: pod.revision.to_string(),
                ..observe::Pod::default()
            };
            (*ordinal, pod)
        };
        let disk = |(ordinal, disk): (&Ordinal, &Disk)| {
            (
                *ordinal,
                Volume {
                    size: disk.size,
                    capacity: disk.size,
                },
            )
        };
        let up = self.pods.iter().filter(|(_, pod)| pod.up);
        Observed {
            stateful_set: self.set.clone(),
            pods: self.pods.iter().map(seen).collect(),
            volumes: self.volumes.iter().map(disk).collect(),
            nodes: up
                .map(|(ordinal, pod)| (*ordinal, self.node(*ordinal, pod)))
                .collect(),
            has_token: self.has_token,
            record: self.record.clone(),
            ..Observed::default()
        }
    }

    fn node(&self, ordinal: Ordinal, pod: &Pod) -> observe::Node {
        let Some(id) = self.node_at(ordinal) else {
            return observe::Node::default();
        };
        let held = self
            .shards
            .iter()
            .zip(0..)
            .filter(|(shard, _)| shard.membership.holds(id));
        observe::Node {
            id,
            cluster: Some(Self::cluster_id()),
            drains: pod.drains,
            replicas: held
                .map(|(shard, number)| (ShardId(number), self.replica(shard, id)))
                .collect(),
            ..observe::Node::default()
        }
    }

    fn replica(&self, shard: &Shard, id: NodeId) -> observe::Replica {
        let leads = shard.leader == Some(id);
        let members = shard
            .membership
            .voters
            .iter()
            .flatten()
            .chain(&shard.membership.learners);
        let progress = |node: &NodeId| {
            let lag = if self.serves(shard, *node) { 0 } else { 10_000 };
            (*node, Progress { lag, silent_ms: 0 })
        };
        observe::Replica {
            leads,
            term: Term(shard.term),
            leader: shard.leader,
            membership: shard.membership.clone(),
            members: members
                .filter(|node| leads && **node != id)
                .map(progress)
                .collect(),
            ..observe::Replica::default()
        }
    }

    /// What happens by itself in a while: pods are made, start and catch up, leaders are elected, the record is kept.
    pub fn tick(&mut self) {
        self.make_pods();
        for pod in self.pods.values_mut() {
            pod.up = !pod.dead;
        }
        self.elect();
        for at in 0..self.shards.len() {
            if self.has_majority(&self.shards[at]) {
                let up: BTreeSet<NodeId> = self.shards[at]
                    .behind
                    .iter()
                    .copied()
                    .filter(|node| self.is_up(*node))
                    .collect();
                self.shards[at].behind.retain(|node| !up.contains(node));
            }
        }
        self.note();
    }

    fn make_pods(&mut self) {
        let replicas = self.set.as_ref().map_or(0, |set| set.replicas);
        self.pods.retain(|ordinal, _| ordinal.0 < replicas);
        for ordinal in (0..replicas).map(Ordinal) {
            let size = self.set.as_ref().and_then(|set| set.storage).unwrap_or_default();
            self.volumes.entry(ordinal).or_insert(Disk { size, node: None });
            if !self.pods.contains_key(&ordinal) {
                self.next_uid += 1;
                let pod = Pod {
                    uid: self.next_uid,
                    revision: self.revision,
                    up: false,
                    dead: false,
                    drains: false,
                };
                self.pods.insert(ordinal, pod);
            }
        }
    }

    /// Every shard without a leader that is up gets one, if a majority is up to date.
    pub fn elect(&mut self) {
        for at in 0..self.shards.len() {
            let shard = &self.shards[at];
            if shard.leader.is_some_and(|leader| self.is_up(leader)) && self.has_majority(shard) {
                continue;
            }
            let mut able: Vec<NodeId> = shard
                .membership
                .target()
                .into_iter()
                .filter(|node| self.serves(shard, *node))
                .collect();
            able.sort_by_key(|node| (self.drains(*node), *node));
            let leader = able.first().copied().filter(|_| self.has_majority(shard));
            let shard = &mut self.shards[at];
            shard.leader = leader;
            shard.term += u64::from(leader.is_some());
        }
    }

    /// What the status keeps.
    fn note(&mut self) {
        if self.cluster.paused && self.record.cluster.is_none() {
            return;
        }
        let up: Vec<Ordinal> = self
            .pods
            .iter()
            .filter(|(_, pod)| pod.up)
            .map(|(ordinal, _)| *ordinal)
            .collect();
        for ordinal in up {
            if let Some(node) = self.node_at(ordinal) {
                self.record.homes.retain(|_, home| *home != ordinal);
                self.record.homes.insert(node, ordinal);
            }
        }
        let replicas = self.set.as_ref().map_or(0, |set| set.replicas);
        if replicas > 0 {
            self.record.nodes = replicas;
            self.record.homes.retain(|_, home| home.0 < replicas);
        }
    }

    /// A pod's process dies; with its disk if that is lost as well.
    pub fn lose(&mut self, ordinal: Ordinal, with_disk: bool) {
        let node = self.node_at(ordinal);
        if let Some(pod) = self.pods.get_mut(&ordinal) {
            (pod.up, pod.dead, pod.drains) = (false, true, false);
        }
        if with_disk && let Some(disk) = self.volumes.get_mut(&ordinal) {
            disk.node = None;
        }
        // The others go on without it, where they can.
        for at in 0..self.shards.len() {
            if let Some(node) = node.filter(|node| self.shards[at].membership.holds(*node))
                && self.has_majority(&self.shards[at])
            {
                self.shards[at].behind.insert(node);
            }
        }
        self.elect();
    }

    pub fn revive(&mut self) {
        for pod in self.pods.values_mut() {
            pod.dead = false;
        }
    }

    /// Plans and obeys until nothing is left to do.
    pub fn settle(&mut self) -> Vec<String> {
        let mut said = Vec::new();
        for _ in 0..600 {
            self.tick();
            let steps = self.plan().steps;
            if steps.is_empty() {
                return said;
            }
            for step in &steps {
                said.push(step.to_string());
                self.obey(step);
            }
        }
        panic!(
            "it does not come to rest: {:#?}\n{:#?}",
            &said[said.len() - 20..],
            self.plan()
        );
    }

    pub fn complain(&mut self, what: impl Into<String>) {
        self.complaints.push(what.into());
    }

    pub fn obey(&mut self, step: &Step) {
        super::obey::obey(self, step);
    }

    pub(super) fn make_set(&mut self) {
        let replicas = pods(&self.cluster, &self.observe());
        let storage = Some(self.size());
        self.set = Some(StatefulSet {
            uid: "s".into(),
            replicas,
            image: self.cluster.image.clone(),
            storage,
        });
    }

    pub(super) fn draw_node(&mut self) -> NodeId {
        self.next_node += 1;
        NodeId(self.next_node)
    }

    pub(super) fn cluster_id() -> ClusterId {
        ClusterId([7; 16])
    }
}

impl Shard {
    pub(super) fn commit(&mut self, voters: Vec<BTreeSet<NodeId>>, learners: BTreeSet<NodeId>) {
        self.index += 1;
        let made_by = LogId {
            term: Term(self.term),
            node: self.leader.unwrap_or_default(),
            index: LogIndex(self.index),
        };
        self.membership = Membership {
            made_by,
            voters,
            learners,
        };
        let membership = &self.membership;
        self.behind.retain(|node| membership.holds(*node));
    }
}
