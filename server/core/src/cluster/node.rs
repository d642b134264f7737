//! A node and how clients see its id.

use std::fmt;

use super::digest::mix;

/// Never given twice in the life of a cluster.
///
/// Clients are shown 40 hexadecimal digits, as a node id of Redis has: 24 that are made from the number, so that
/// tools that show the first few tell nodes apart, then the number itself in 16.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct NodeId(pub u64);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_id(f, self.0, 0x006E_6F64_6500_0000)
    }
}

/// `salt` keeps the made part of ids of different things apart.
pub(super) fn write_id(f: &mut fmt::Formatter<'_>, number: u64, salt: u64) -> fmt::Result {
    let made = mix(number ^ salt);
    write!(f, "{made:016x}{:08x}{number:016x}", mix(made) as u32)
}

impl NodeId {
    /// The id of which these are the 40 digits.
    pub fn parse(digits: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(digits).ok()?;
        let id = Self(u64::from_str_radix(text.get(24..)?, 16).ok()?);
        (id.to_string() == text).then_some(id)
    }
}

/// What others have to know of a node to reach it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Node {
    pub id: NodeId,
    /// Of two descriptions the later one holds: only the node itself raises it. Unix milliseconds of its making.
    pub version: u64,
    pub name: String,
    /// An address or a DNS name, as clients are to be told.
    pub host: String,
    /// The cluster port.
    pub port: u16,
    pub routed_port: u16,
    /// Zero: there is none.
    pub tls_port: u16,
    pub routed_tls_port: u16,
    pub peer_port: u16,
    pub admin_port: u16,
    /// It gives its leaderships away and takes none.
    pub is_draining: bool,
    /// This node hears of it: everybody's own opinion, and no part of what nodes tell each other.
    pub is_alive: bool,
}

impl Node {
    /// Where a client of the cluster port is sent.
    pub fn port_for(&self, is_tls: bool) -> u16 {
        if self.port == 0 || is_tls && self.tls_port != 0 {
            self.tls_port
        } else {
            self.port
        }
    }

    /// Takes over another description of the same node if that is the later one. Whether it is alive stays what
    /// it is here.
    pub(super) fn merge(&mut self, other: Self) -> bool {
        let other = Self {
            is_alive: self.is_alive,
            ..other
        };
        // Ids and versions are compared first; the rest only settles what should not happen.
        let is_later = other > *self;
        if is_later {
            *self = other;
        }
        is_later
    }
}
