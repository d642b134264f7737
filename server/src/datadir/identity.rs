//! Who a data directory is: a short text with a checksum, so that people can read it.

use crate::wal::{ClusterId, NodeId};

/// The version of the directory's layout.
pub const FORMAT: u32 = 1;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity {
    pub cluster: ClusterId,
    pub node: NodeId,
    /// Drawn when the directory was made: a node that lost its volume is another one.
    pub incarnation: u64,
    /// Which shard has a key depends on it, so it stays as it was when the directory was made.
    pub shards: u16,
    pub format: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    Damaged,
    /// Of a later version, whose further lines are not known.
    Newer(u32),
}

impl Identity {
    pub fn new(cluster: ClusterId, node: NodeId, incarnation: u64, shards: u16) -> Self {
        Self {
            cluster,
            node,
            incarnation,
            shards,
            format: FORMAT,
        }
    }

    pub fn to_text(&self) -> String {
        let facts = format!(
            "format {}\ncluster {}\nnode {}\nincarnation {:016x}\nshards {}\n",
            self.format, self.cluster, self.node.0, self.incarnation, self.shards
        );
        format!("{facts}checksum {:08x}\n", crc32c::crc32c(facts.as_bytes()))
    }

    pub fn parse(text: &[u8]) -> Result<Self, Fault> {
        let text = std::str::from_utf8(text).map_err(|_| Fault::Damaged)?;
        let value = |name: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
                .ok_or(Fault::Damaged)
        };
        let format: u32 = value("format")?.parse().map_err(|_| Fault::Damaged)?;
        let (facts, checksum) = text.split_at(text.find("checksum ").ok_or(Fault::Damaged)?);
        if checksum != format!("checksum {:08x}\n", crc32c::crc32c(facts.as_bytes())) {
            return Err(Fault::Damaged);
        }
        if format > FORMAT {
            return Err(Fault::Newer(format));
        }
        Ok(Self {
            cluster: ClusterId::parse(value("cluster")?).ok_or(Fault::Damaged)?,
            node: NodeId(value("node")?.parse().map_err(|_| Fault::Damaged)?),
            incarnation: u64::from_str_radix(value("incarnation")?, 16).map_err(|_| Fault::Damaged)?,
            shards: value("shards")?.parse().map_err(|_| Fault::Damaged)?,
            format,
        })
    }
}
