//! What a bootstrap asks for, checked before anything is done.

use std::collections::BTreeSet;

use ruvio_proto::admin::v1::{BootstrapNode, BootstrapRequest};

use super::refused::Refused;
use crate::wal::{ClusterId, NodeId};

/// No request has more nodes.
const NODES_MAX: usize = 1024;
/// Of an address.
const ADDRESS_BYTES_MAX: usize = 300;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Founder {
    pub node: NodeId,
    pub peer_address: String,
    pub admin_address: String,
}

/// A cluster's beginning, as one of its first nodes is told of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Founding {
    pub cluster: ClusterId,
    pub callee: NodeId,
    pub shards: u16,
    pub replication_factor: usize,
    /// By node: every node places the shards in the same way.
    pub nodes: Vec<Founder>,
    pub join_only: bool,
}

impl Founding {
    /// `shards`: what the node is set up for.
    pub fn read(request: BootstrapRequest, shards: u16) -> Result<Self, Refused> {
        let invalid = |why: &str| Err(Refused::Invalid(why.to_owned()));
        let cluster = <[u8; 16]>::try_from(&*request.cluster_id).unwrap_or_default();
        if cluster == [0; 16] {
            return invalid("cluster_id has to be 16 bytes, drawn at random");
        }
        if request.shards != u32::from(shards) {
            return Err(Refused::Precondition(format!(
                "this node is set up for {}, not for {}: start it with --shards {}",
                count(u32::from(shards), "shard"),
                request.shards,
                request.shards
            )));
        }
        if request.nodes.is_empty() || request.nodes.len() > NODES_MAX {
            return Err(Refused::Invalid(format!(
                "a cluster begins with 1 to {NODES_MAX} nodes, not with {}",
                request.nodes.len()
            )));
        }
        let mut nodes = request
            .nodes
            .into_iter()
            .map(founder)
            .collect::<Result<Vec<_>, _>>()?;
        nodes.sort_by_key(|founder| founder.node.0);
        if nodes.windows(2).any(|two| two[0].node == two[1].node) {
            return invalid("two nodes have the same id: each has its own");
        }
        let addresses: BTreeSet<&str> = nodes.iter().map(|node| &*node.peer_address).collect();
        if addresses.len() < nodes.len() {
            return invalid("two nodes have the same peer address: each has its own");
        }
        if !nodes.iter().any(|founder| founder.node.0 == request.callee) {
            return Err(Refused::Invalid(format!(
                "the callee, node {}, is not among the nodes",
                request.callee
            )));
        }
        let replication_factor = request.replication_factor as usize;
        if !matches!(replication_factor, 1 | 3 | 5) {
            return Err(Refused::Invalid(format!(
                "a shard has 1, 3 or 5 replicas, not {replication_factor}"
            )));
        }
        // Who joins is told of itself alone.
        if replication_factor > nodes.len() && !request.join_only {
            return Err(Refused::Invalid(format!(
                "{replication_factor} replicas of a shard need as many nodes, and there {} {}",
                if nodes.len() == 1 { "is" } else { "are" },
                nodes.len()
            )));
        }
        Ok(Self {
            cluster: ClusterId(cluster),
            callee: NodeId(request.callee),
            shards,
            replication_factor,
            nodes,
            join_only: request.join_only,
        })
    }
}

fn founder(node: BootstrapNode) -> Result<Founder, Refused> {
    if node.node == 0 {
        return Err(Refused::Invalid(
            "0 is no node's id: they begin with 1".to_owned(),
        ));
    }
    for address in [&node.peer_address, &node.admin_address] {
        check_address(address)?;
    }
    Ok(Founder {
        node: NodeId(node.node),
        peer_address: node.peer_address,
        admin_address: node.admin_address,
    })
}

/// A host and a port. Whether the name leads anywhere shows later, and may change.
pub(super) fn check_address(address: &str) -> Result<(), Refused> {
    let parts = address.rsplit_once(':');
    let is_one = parts.is_some_and(|(host, port)| {
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host);
        let is_host = !bare.is_empty()
            && bare
                .bytes()
                .all(|b| b.is_ascii_graphic() && b != b'/' && b != b'@');
        // A colon in a host that is in no brackets would be taken for the port's.
        is_host
            && (bare.len() < host.len() || !host.contains(':'))
            && port.parse::<u16>().is_ok_and(|port| port > 0)
    });
    if is_one && address.len() <= ADDRESS_BYTES_MAX {
        return Ok(());
    }
    let shown: String = address.chars().take(60).collect();
    Err(Refused::Invalid(format!(
        "'{}' is no address: write host:port, or [host]:port for IPv6",
        shown.escape_default()
    )))
}

pub(super) fn count(number: u32, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}
