//! What nodes say, put together: who holds and leads each shard, and who lives where.
//!
//! Of a shard the replica that leads in the highest term says how things are. Without one nothing is changed there.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::{NodeId, Ordinal, ShardId, Term};
use crate::observe::{Membership, Observed, Progress};
use crate::validate::ValidCluster;

/// Entries by which a voter may be behind and still count: what the leader sent a moment ago.
const LAG_MAX: u64 = 256;
/// A voter that is silent for longer does not count, in milliseconds: ten heartbeats.
const SILENT_MS_MAX: u64 = 1500;

pub struct View<'a> {
    pub cluster: &'a ValidCluster,
    pub observed: &'a Observed,
    pub shards: Vec<Shard>,
}

pub struct Shard {
    pub id: ShardId,
    /// None: none that answers.
    pub leader: Option<NodeId>,
    pub term: Term,
    pub membership: Membership,
    /// Voters that have nearly all, as the leader sees it; itself among them.
    pub caught_up: BTreeSet<NodeId>,
}

impl Shard {
    /// Whether a majority of these voters has nearly all.
    pub fn majority_of(&self, voters: &BTreeSet<NodeId>) -> bool {
        self.caught_up.intersection(voters).count() * 2 > voters.len()
    }

    /// The shard is led, no change is on its way, and a majority has nearly all.
    pub fn is_well(&self) -> bool {
        self.leader.is_some() && !self.membership.is_joint() && self.majority_of(&self.membership.target())
    }

    /// All of its voters have nearly all.
    pub fn is_whole(&self) -> bool {
        self.is_well() && self.membership.target().is_subset(&self.caught_up)
    }

    /// Whether the shard could do without the node for a while. A shard of one voter never could: it is down as long
    /// as its node, and that is what one replica means.
    pub fn spares(&self, node: NodeId) -> bool {
        let voters = self.membership.target();
        if !voters.contains(&node) || voters.len() == 1 {
            return true;
        }
        let left = self
            .caught_up
            .intersection(&voters)
            .filter(|voter| **voter != node)
            .count();
        left * 2 > voters.len()
    }
}

impl<'a> View<'a> {
    pub fn of(cluster: &'a ValidCluster, observed: &'a Observed) -> Self {
        let shards = (0..cluster.shards)
            .map(|shard| shard_of(ShardId(shard), observed))
            .collect();
        Self {
            cluster,
            observed,
            shards,
        }
    }

    pub fn id_at(&self, ordinal: Ordinal) -> Option<NodeId> {
        self.observed
            .nodes
            .get(&ordinal)
            .filter(|node| node.cluster.is_some())
            .map(|node| node.id)
    }

    /// Where a node lives, if it answers.
    pub fn home(&self, id: NodeId) -> Option<Ordinal> {
        let lives = |(_, node): &(&Ordinal, &crate::observe::Node)| node.cluster.is_some() && node.id == id;
        self.observed
            .nodes
            .iter()
            .find(lives)
            .map(|(ordinal, _)| *ordinal)
    }

    /// Where it lives, or lived when it last answered.
    pub fn last_home(&self, id: NodeId) -> Option<Ordinal> {
        self.home(id)
            .or_else(|| self.observed.record.homes.get(&id).copied())
    }

    /// A node that is never coming back: wherever it could live somebody else does, or nobody yet. One that only does
    /// not answer is not gone.
    pub fn is_gone(&self, id: NodeId) -> bool {
        let homes = &self.observed.record.homes;
        let lives_not_at = |ordinal: Ordinal| match self.observed.nodes.get(&ordinal) {
            Some(node) => !node.loads && (node.cluster.is_none() || node.id != id),
            // It is silent, and known to be another.
            None => homes.iter().any(|(other, home)| *home == ordinal && *other != id),
        };
        match homes.get(&id) {
            _ if self.home(id).is_some() => false,
            Some(ordinal) => self.observed.nodes.contains_key(ordinal) && lives_not_at(*ordinal),
            None => self.pods() > 0 && (0..self.pods()).map(Ordinal).all(lives_not_at),
        }
    }

    /// How many pods there are to be now.
    pub fn pods(&self) -> u16 {
        self.observed.stateful_set.as_ref().map_or(0, |set| set.replicas)
    }

    /// A node that stays and may be given replicas.
    pub fn takes_replicas(&self, ordinal: Ordinal) -> bool {
        let lives = self
            .observed
            .nodes
            .get(&ordinal)
            .is_some_and(|node| node.cluster.is_some() && !node.loads);
        let stays = self.observed.pods.get(&ordinal).is_some_and(|pod| !pod.ends);
        lives && stays && ordinal.0 < self.cluster.nodes
    }

    pub fn leads(&self, id: NodeId) -> usize {
        self.shards
            .iter()
            .filter(|shard| shard.leader == Some(id))
            .count()
    }

    /// Of how many shards it is a voter.
    pub fn holds(&self, id: NodeId) -> usize {
        self.shards
            .iter()
            .filter(|shard| shard.membership.target().contains(&id))
            .count()
    }

    pub fn zone(&self, id: NodeId) -> &str {
        let pod = self.home(id).and_then(|ordinal| self.observed.pods.get(&ordinal));
        pod.map_or("", |pod| &pod.zone)
    }
}

fn shard_of(id: ShardId, observed: &Observed) -> Shard {
    let replicas = observed
        .nodes
        .values()
        .filter_map(|node| Some((node.id, node.replicas.get(&id)?)))
        .filter(|(_, replica)| replica.membership.has_begun());
    let leading = replicas
        .clone()
        .filter(|(_, replica)| replica.leads)
        .max_by_key(|(_, replica)| replica.term);
    // Somebody follows in a later term: whoever thinks that it leads has not heard of it.
    let newest = replicas
        .clone()
        .map(|(_, replica)| replica.term)
        .max()
        .unwrap_or_default();
    let leading = leading.filter(|(_, replica)| replica.term == newest);
    let best = leading.or_else(|| replicas.max_by_key(|(_, replica)| replica.membership.made_by));
    let membership = best
        .map(|(_, replica)| replica.membership.clone())
        .unwrap_or_default();
    let keeps_up =
        |(_, progress): &(&NodeId, &Progress)| progress.lag <= LAG_MAX && progress.silent_ms <= SILENT_MS_MAX;
    let caught_up: BTreeSet<NodeId> = leading
        .into_iter()
        .flat_map(|(leader, replica)| {
            let others: &BTreeMap<NodeId, Progress> = &replica.members;
            others
                .iter()
                .filter(keeps_up)
                .map(|(node, _)| *node)
                .chain([leader])
        })
        .collect();
    Shard {
        id,
        leader: leading.map(|(leader, _)| leader),
        term: newest,
        membership,
        caught_up,
    }
}
