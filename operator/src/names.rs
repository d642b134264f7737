//! Numbers and names that are easily taken for each other, each a type.

use std::fmt;

macro_rules! number {
    ($(#[$about:meta])* $name:ident($of:ty)) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub $of);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number! {
    /// A pod's place in its StatefulSet. It stays; who lives there may change.
    Ordinal(u16)
}
number! {
    /// A node of a cluster: it is on the node's volume and never given again.
    NodeId(u64)
}
number! { ShardId(u16) }
number! { Term(u64) }
number! { LogIndex(u64) }
number! { Bytes(u64) }

/// The entry of a log that made something.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct LogId {
    pub term: Term,
    pub node: NodeId,
    pub index: LogIndex,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ClusterId(pub [u8; 16]);

impl ClusterId {
    pub fn parse(hex: &str) -> Option<Self> {
        if hex.len() != 32 || !hex.is_ascii() {
            return None;
        }
        let mut bytes = [0; 16];
        for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
            *byte = u8::from_str_radix(&hex[at..at + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_id_is_read_as_it_is_shown() {
        let id = ClusterId(std::array::from_fn(|at| at as u8 * 17));
        assert_eq!(ClusterId::parse(&id.to_string()), Some(id));
        assert_eq!(ClusterId::parse("12"), None);
        assert_eq!(ClusterId::parse(&"é".repeat(16)), None);
    }
}
