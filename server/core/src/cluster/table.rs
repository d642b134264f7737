//! The table of nodes and shards.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::digest::Digest;
use super::node::write_id;
use super::{Node, NodeId, Row};
use crate::text::crc16::SLOTS;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Table {
    /// The node that reads this.
    pub me: NodeId,
    pub nodes: BTreeMap<NodeId, Node>,
    /// By shard.
    pub rows: Vec<Row>,
    /// Nodes that are of the cluster no longer: their ids are never given again, and nothing is heard of them.
    pub removed: BTreeSet<NodeId>,
}

/// The id of a shard as clients see it: 40 hexadecimal digits.
pub(crate) struct ShardName(pub(crate) u16);

impl fmt::Display for ShardName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_id(f, self.0.into(), 0x7368_6172_6400_0000)
    }
}

impl Table {
    /// A cluster of that many shards, of which nothing is known yet.
    pub fn new(me: NodeId, shards: u16) -> Self {
        Self {
            me,
            nodes: BTreeMap::new(),
            rows: vec![Row::default(); usize::from(shards)],
            removed: BTreeSet::new(),
        }
    }

    pub fn row(&self, shard: u16) -> Option<&Row> {
        self.rows.get(usize::from(shard))
    }

    /// The node that leads the shard, if that is known.
    pub fn leader(&self, shard: u16) -> Option<&Node> {
        self.nodes.get(&self.row(shard)?.leader?)
    }

    pub fn leads(&self, node: NodeId, shard: u16) -> bool {
        self.row(shard).is_some_and(|row| row.leader == Some(node))
    }

    /// Takes over a row, if it is later than the one that is here. `true`: it was.
    pub fn merge_row(&mut self, shard: u16, row: Row) -> bool {
        let here = self.rows.get_mut(usize::from(shard));
        here.is_some_and(|here| here.merge(row))
    }

    /// Takes over a node's description likewise.
    pub fn merge_node(&mut self, node: Node) -> bool {
        if self.removed.contains(&node.id) {
            return false;
        }
        match self.nodes.get_mut(&node.id) {
            Some(here) => here.merge(node),
            None => {
                self.nodes.insert(node.id, node);
                true
            }
        }
    }

    /// A node is of the cluster no longer, for good. `true`: that is news.
    pub fn remove_node(&mut self, node: NodeId) -> bool {
        self.nodes.remove(&node);
        self.removed.insert(node)
    }

    /// All that another node knows. `true`: something of it was news.
    pub fn merge(&mut self, other: &Self) -> bool {
        let mut is_news = false;
        for node in &other.removed {
            is_news |= self.remove_node(*node);
        }
        for node in other.nodes.values() {
            is_news |= self.merge_node(node.clone());
        }
        for (shard, row) in (0..).zip(&other.rows) {
            is_news |= self.merge_row(shard, row.clone());
        }
        is_news
    }

    /// The same, by the node whose table this is. Others may know a later description of it than its own, where its clock was set
    /// back between two starts: then its own holds all the same, and is made the latest.
    pub fn learn(&mut self, other: &Self) -> bool {
        let own = self.nodes.get(&self.me).cloned();
        let is_news = self.merge(other);
        if let (Some(own), Some(here)) = (own, self.nodes.get_mut(&self.me))
            && *here != own
        {
            let version = here.version.saturating_add(1);
            *here = Node { version, ..own };
        }
        is_news
    }

    /// Equal on nodes that know the same of all nodes and shards.
    pub fn digest(&self) -> u64 {
        let mut digest = Digest::default();
        for node in self.nodes.values() {
            digest.number(node.id.0);
            digest.number(node.version);
            digest.number(node.is_draining.into());
            digest.text(&node.name);
            digest.text(&node.host);
            for port in [
                node.port,
                node.routed_port,
                node.tls_port,
                node.routed_tls_port,
                node.peer_port,
                node.admin_port,
            ] {
                digest.number(port.into());
            }
        }
        digest.number(self.removed.len() as u64);
        self.removed.iter().for_each(|node| digest.number(node.0));
        for row in &self.rows {
            digest.number(row.term);
            digest.number(row.membership);
            // One more than the number, so that none is not node zero.
            digest.number(row.leader.map_or(0, |leader| leader.0.wrapping_add(1)));
            for replicas in [&row.voters, &row.learners] {
                digest.number(replicas.len() as u64);
                replicas.iter().for_each(|node| digest.number(node.0));
            }
        }
        digest.finish()
    }

    pub fn shards(&self) -> u16 {
        self.rows.len() as u16
    }

    /// The first and the last slot of a shard.
    pub fn slots_of(&self, shard: u16) -> (u16, u16) {
        let shards = u32::from(self.shards()).max(1);
        let start = |shard: u32| (shard * u32::from(SLOTS)).div_ceil(shards);
        let end = start(u32::from(shard) + 1).saturating_sub(1);
        (start(shard.into()) as u16, end as u16)
    }

    /// The shards that the node leads, in order.
    pub fn led_by(&self, node: NodeId) -> impl Iterator<Item = u16> {
        (0..self.shards()).filter(move |shard| self.leads(node, *shard))
    }
}
