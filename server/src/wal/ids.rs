//! The words of the log as types: what a record belongs to, where it stands, and how safe it is.
//!
//! Invariant: `Written` and `Durable` are made by the log alone; one never turns into the other.

use std::fmt;

/// Shards of a node, at most; what the log restates in each segment is bounded by it.
pub const SHARDS_MAX: usize = 1024;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ShardId(pub u16);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Term(pub u64);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct NodeId(pub u64);

/// Place of an entry in its shard's log. The first entry is 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct LogIndex(pub u64);

impl LogIndex {
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// What names an entry: the leader that made it (a term and a node) and its index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct LogId {
    pub term: Term,
    pub node: NodeId,
    pub index: LogIndex,
}

impl LogId {
    pub fn new(term: u64, node: u64, index: u64) -> Self {
        Self {
            term: Term(term),
            node: NodeId(node),
            index: LogIndex(index),
        }
    }
}

impl fmt::Display for LogId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}/{}", self.term.0, self.node.0, self.index.0)
    }
}

/// A shard's vote: for whom in which term, and whether that leader was seen to be elected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Vote {
    pub term: Term,
    pub node: NodeId,
    pub committed: bool,
}

/// The number of a lane's record, in the order in which they were handed over.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Ticket(pub u64);

/// Given to the operating system: survives the process, not the machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Written<T>(pub T);

/// On stable storage: survives a power cut.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Durable<T>(pub T);

/// Where a record begins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Position {
    pub segment: u64,
    pub offset: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "segment {} ({}), byte {}",
            self.segment,
            super::segment::name(self.segment),
            self.offset
        )
    }
}

/// Which cluster a data directory belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ClusterId(pub [u8; 16]);

impl ClusterId {
    /// From 32 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 32 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let number = u128::from_str_radix(text, 16).ok()?;
        Some(Self(number.to_be_bytes()))
    }
}

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClusterId({self})")
    }
}
