//! What a shard's copy on this node is: the one that executes commands, one that follows it, or none that
//! anybody may look at.
//!
//! Invariant: only a shard that leads changes by itself. One that follows changes by its leader's effects
//! alone, so what is past its time there is hidden and stays until the leader deletes it.

/// Set by the owner thread, by shard.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Role {
    /// It executes commands.
    #[default]
    Leads,
    /// It applies the effects of its leader.
    Follows,
    /// The node has no replica of it, or the keyspace is being made anew: nobody may look.
    Absent,
}

impl Role {
    #[inline]
    pub fn leads(self) -> bool {
        self == Self::Leads
    }
}
