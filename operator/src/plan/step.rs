//! What the operator may do. Each step can be done again, and be cut short: the next plan is made from what is there
//! then, so nothing has to be remembered between two of them.

use std::fmt;

use crate::names::{Bytes, ClusterId, LogId, NodeId, Ordinal, ShardId};
use crate::validate::text;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRef {
    pub kind: &'static str,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Draws the cluster's token and makes its Secret, unless there is one.
    MakeToken,
    /// Makes the object what `build` says.
    Apply(ObjectRef),
    /// Asks for a larger volume.
    Grow {
        ordinal: Ordinal,
        to: Bytes,
    },
    /// Deletes the StatefulSet of this uid without its pods and makes it anew: what changed in it is fixed.
    MakeStatefulSetAnew {
        uid: String,
    },
    Scale {
        from: u16,
        to: u16,
    },
    /// Draws a cluster id and writes it down, if nobody has.
    WriteFounding {
        first_nodes: u16,
    },
    /// Writes down the cluster whose data is there.
    WriteAdoption {
        cluster: ClusterId,
    },
    /// An empty node becomes a member; no shard begins.
    Enlist {
        ordinal: Ordinal,
        node: NodeId,
        first_nodes: u16,
    },
    /// Writes down that all first nodes are members, before any is told to begin.
    WriteBegun,
    /// A first node begins the shards that are its to begin.
    Begin {
        ordinal: Ordinal,
        node: NodeId,
        first_nodes: u16,
    },
    /// An empty node becomes a member under an id that is drawn for it.
    Join {
        ordinal: Ordinal,
    },
    ApplyConfig {
        ordinal: Ordinal,
    },
    Drain {
        ordinal: Ordinal,
    },
    Undrain {
        ordinal: Ordinal,
    },
    TransferLeader {
        shard: ShardId,
        from: NodeId,
        to: NodeId,
    },
    /// Told to the leader. Refused where the membership is another by now.
    ChangeReplicas {
        shard: ShardId,
        leader: NodeId,
        add: Option<NodeId>,
        remove: Option<NodeId>,
        if_membership: LogId,
    },
    /// By the eviction API; the pod of this uid only.
    Evict {
        ordinal: Ordinal,
        uid: String,
    },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MakeToken => write!(f, "make the token"),
            Self::Apply(object) => write!(f, "apply {} {}", object.kind, object.name),
            Self::Grow { ordinal, to } => write!(f, "grow the volume of pod {ordinal} to {}", text(*to)),
            Self::MakeStatefulSetAnew { .. } => write!(f, "make the StatefulSet anew, keep its pods"),
            Self::Scale { from, to } => write!(f, "scale from {from} to {to} pods"),
            Self::WriteFounding { first_nodes } => write!(f, "write down a new cluster of {first_nodes}"),
            Self::WriteAdoption { cluster } => write!(f, "write down cluster {cluster}, whose data is there"),
            Self::Enlist { ordinal, node, .. } => write!(f, "pod {ordinal} becomes first node {node}"),
            Self::WriteBegun => write!(f, "write down that the cluster begins"),
            Self::Begin { ordinal, node, .. } => write!(f, "pod {ordinal}, node {node}, begins"),
            Self::Join { ordinal } => write!(f, "pod {ordinal} joins as a new node"),
            Self::ApplyConfig { ordinal } => write!(f, "tell pod {ordinal} its options"),
            Self::Drain { ordinal } => write!(f, "drain pod {ordinal}"),
            Self::Undrain { ordinal } => write!(f, "undrain pod {ordinal}"),
            Self::TransferLeader { shard, from, to } => write!(f, "shard {shard}: lead from {from} to {to}"),
            Self::ChangeReplicas {
                shard, add, remove, ..
            } => {
                write!(f, "shard {shard}:")?;
                if let Some(node) = add {
                    write!(f, " add {node}")?;
                }
                if let Some(node) = remove {
                    write!(f, " remove {node}")?;
                }
                Ok(())
            }
            Self::Evict { ordinal, .. } => write!(f, "evict pod {ordinal}"),
        }
    }
}
