//! What is there: pods, volumes, and what each node says of itself. Only data: who fills it in talks to Kubernetes and
//! to nodes, who reads it decides.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::{Bytes, ClusterId, LogId, LogIndex, NodeId, Ordinal, ShardId, Term};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    pub stateful_set: Option<StatefulSet>,
    pub pods: BTreeMap<Ordinal, Pod>,
    pub volumes: BTreeMap<Ordinal, Volume>,
    /// Of those that answer.
    pub nodes: BTreeMap<Ordinal, Node>,
    /// Keys and values of the Secrets that the spec names; those that are there.
    pub secrets: BTreeMap<String, BTreeMap<String, Vec<u8>>>,
    /// The Secret with the cluster's token is there.
    pub has_token: bool,
    /// Whether volumes of the class may grow. None: not known.
    pub class_expands: Option<bool>,
    /// Of the RuvioCluster's status: what the operator itself has written down.
    pub record: Record,
}

/// What has to outlive the operator and cannot be seen elsewhere.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    pub cluster: Option<ClusterId>,
    /// With how many nodes it was begun.
    pub first_nodes: u16,
    /// All first nodes are members: an empty one is a new one.
    pub begun: bool,
    /// How many nodes there were when pods last ran.
    pub nodes: u16,
    /// Where each node was seen last.
    pub homes: BTreeMap<NodeId, Ordinal>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct StatefulSet {
    pub uid: String,
    pub replicas: u16,
    pub image: String,
    /// Of its volume claims.
    pub storage: Option<Bytes>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pod {
    pub uid: String,
    pub ready: bool,
    /// It is being deleted.
    pub ends: bool,
    /// `build::revision` of when it was made.
    pub revision: String,
    pub zone: String,
    /// Why the scheduler has no place for it.
    pub unschedulable: Option<String>,
    /// Why its container does not run.
    pub trouble: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Volume {
    /// Asked for.
    pub size: Bytes,
    /// There.
    pub capacity: Bytes,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// 0: it belongs to no cluster yet.
    pub id: NodeId,
    pub cluster: Option<ClusterId>,
    /// It reads its data, and cannot say yet what it holds.
    pub loads: bool,
    pub drains: bool,
    pub release: String,
    pub config_revision: String,
    pub replicas: BTreeMap<ShardId, Replica>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replica {
    pub leads: bool,
    pub term: Term,
    /// Whom it follows.
    pub leader: Option<NodeId>,
    pub applied: LogIndex,
    pub membership: Membership,
    /// Of a leader: of each other member, how many entries it lacks and for how long it has been silent.
    pub members: BTreeMap<NodeId, Progress>,
    pub trouble: String,
}

/// Who holds a shard, and the entry that made it so.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Membership {
    pub made_by: LogId,
    /// Two sets while a change is on its way.
    pub voters: Vec<BTreeSet<NodeId>>,
    pub learners: BTreeSet<NodeId>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    pub lag: u64,
    pub silent_ms: u64,
}

impl Membership {
    /// Those of the last set: of a change on its way, whom it comes to.
    pub fn target(&self) -> BTreeSet<NodeId> {
        self.voters.last().cloned().unwrap_or_default()
    }

    pub fn is_joint(&self) -> bool {
        self.voters.len() > 1
    }

    pub fn has_begun(&self) -> bool {
        self.voters.iter().any(|set| !set.is_empty())
    }

    pub fn holds(&self, node: NodeId) -> bool {
        self.learners.contains(&node) || self.voters.iter().any(|set| set.contains(&node))
    }
}
