//! What is known of one shard.

use super::NodeId;

/// Invariant: rows of a shard are ordered, and of two the greater one holds. The term comes first, then the log
/// index of the membership; a term has one leader at most and an index one membership, so the rest decides only
/// between a row that names the leader and one that does not know it yet.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Row {
    pub term: u64,
    /// The log index of the entry that made this membership.
    pub membership: u64,
    pub leader: Option<NodeId>,
    pub voters: Vec<NodeId>,
    pub learners: Vec<NodeId>,
}

impl Row {
    /// Takes over the other row if that holds; says whether it did.
    pub fn merge(&mut self, other: Self) -> bool {
        let holds = other > *self;
        if holds {
            *self = other;
        }
        holds
    }

    /// Those who have a copy: voters, then learners.
    pub fn replicas(&self) -> impl Iterator<Item = NodeId> {
        self.voters.iter().chain(&self.learners).copied()
    }

    /// Those of them that do not lead.
    pub fn followers(&self) -> impl Iterator<Item = NodeId> {
        self.replicas().filter(|node| Some(*node) != self.leader)
    }

    pub fn has_replica(&self, node: NodeId) -> bool {
        self.replicas().any(|replica| replica == node)
    }
}
