//! The table of nodes and shards, as nodes exchange it.

use ruvio_core::cluster::{Node, NodeId, Row, Table};
use ruvio_proto::peer::v1 as peer;

use super::{ADDRESS_BYTES_MAX, MEMBERS_MAX, Malformed, shard};

/// Nodes of one cluster.
pub const NODES_MAX: usize = 1024;

/// All rows of a table.
pub fn rows_to_wire(table: &Table) -> (Vec<peer::TopologyNode>, Vec<peer::TopologyShard>) {
    let shards = (0..)
        .zip(&table.rows)
        .map(|(number, row)| shard_to_wire(number, row));
    let removed = table.removed.iter().map(|node| peer::TopologyNode {
        node: node.0,
        state: peer::NodeState::Removed.into(),
        ..peer::TopologyNode::default()
    });
    let nodes = table.nodes.values().map(node_to_wire).chain(removed);
    (nodes.collect(), shards.collect())
}

fn node_to_wire(node: &Node) -> peer::TopologyNode {
    peer::TopologyNode {
        node: node.id.0,
        incarnation: 0,
        version: node.version,
        peer_address: format!("{}:{}", node.host, node.peer_port),
        admin_address: format!("{}:{}", node.host, node.admin_port),
        client_host: node.host.clone(),
        port: node.port.into(),
        tls_port: node.tls_port.into(),
        routed_port: node.routed_port.into(),
        routed_tls_port: node.routed_tls_port.into(),
        state: match node.is_draining {
            true => peer::NodeState::Draining.into(),
            false => peer::NodeState::Serving.into(),
        },
    }
}

fn shard_to_wire(number: u32, row: &Row) -> peer::TopologyShard {
    let ids = |nodes: &[NodeId]| nodes.iter().map(|node| node.0).collect();
    peer::TopologyShard {
        shard: number,
        term: row.term,
        membership_index: row.membership,
        leader: row.leader.map_or(0, |leader| leader.0),
        voters: ids(&row.voters),
        learners: ids(&row.learners),
    }
}

/// What a peer knows, to be merged into a table of `shards` shards.
pub fn table_from_wire(
    nodes: Vec<peer::TopologyNode>,
    rows: Vec<peer::TopologyShard>,
    shards: u16,
) -> Result<Table, Malformed> {
    if nodes.len() > NODES_MAX {
        return Err(Malformed::TooLarge("the list of nodes"));
    }
    if rows.len() > usize::from(shards) {
        return Err(Malformed::TooLarge("the list of shards"));
    }
    let mut table = Table::new(NodeId(0), shards);
    for node in nodes {
        match node.state == i32::from(peer::NodeState::Removed) {
            true => table.remove_node(NodeId(node.node)),
            false => table.merge_node(node_from_wire(node)?),
        };
    }
    for row in rows {
        let number = shard(row.shard)?.0;
        if number >= shards {
            return Err(Malformed::Shard(row.shard));
        }
        table.merge_row(number, row_from_wire(row)?);
    }
    Ok(table)
}

fn node_from_wire(sent: peer::TopologyNode) -> Result<Node, Malformed> {
    if sent.client_host.len() > ADDRESS_BYTES_MAX {
        return Err(Malformed::TooLarge("the host of a node"));
    }
    Ok(Node {
        id: NodeId(sent.node),
        version: sent.version,
        is_draining: sent.state == i32::from(peer::NodeState::Draining),
        name: String::new(),
        port: port(sent.port)?,
        routed_port: port(sent.routed_port)?,
        tls_port: port(sent.tls_port)?,
        routed_tls_port: port(sent.routed_tls_port)?,
        peer_port: port_of(&sent.peer_address)?,
        admin_port: port_of(&sent.admin_address)?,
        host: sent.client_host,
        is_alive: true,
    })
}

fn row_from_wire(sent: peer::TopologyShard) -> Result<Row, Malformed> {
    if sent.voters.len() > MEMBERS_MAX || sent.learners.len() > MEMBERS_MAX {
        return Err(Malformed::TooLarge("the replicas of a shard"));
    }
    let ids = |nodes: Vec<u64>| nodes.into_iter().map(NodeId).collect();
    Ok(Row {
        term: sent.term,
        membership: sent.membership_index,
        leader: (sent.leader != 0).then_some(NodeId(sent.leader)),
        voters: ids(sent.voters),
        learners: ids(sent.learners),
    })
}

fn port(number: u32) -> Result<u16, Malformed> {
    u16::try_from(number).map_err(|_| Malformed::TooLarge("a port"))
}

fn port_of(address: &str) -> Result<u16, Malformed> {
    let port = address.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    port.ok_or(Malformed::Missing("the port of an address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(NodeId(0), 4);
        table.merge_node(Node {
            id: NodeId(3),
            version: 7,
            is_draining: true,
            host: "a.example".into(),
            port: 6379,
            routed_port: 6380,
            tls_port: 6390,
            routed_tls_port: 6391,
            peer_port: 7379,
            admin_port: 7380,
            is_alive: true,
            ..Node::default()
        });
        table.remove_node(NodeId(7));
        let row = Row {
            term: 9,
            membership: 2,
            leader: Some(NodeId(3)),
            voters: vec![NodeId(1), NodeId(2), NodeId(3)],
            learners: vec![NodeId(4)],
        };
        table.merge_row(2, row);
        table
    }

    #[test]
    fn a_table_arrives_as_it_was_sent() {
        let (nodes, rows) = rows_to_wire(&table());
        assert_eq!(table_from_wire(nodes, rows, 4), Ok(table()));
    }

    #[test]
    fn what_is_no_table_of_this_cluster_is_refused() {
        let (nodes, rows) = rows_to_wire(&table());
        let fewer = table_from_wire(nodes.clone(), rows.clone(), 3);
        assert_eq!(fewer, Err(Malformed::TooLarge("the list of shards")));
        let mut far = rows.clone();
        far[0].shard = 4;
        assert_eq!(table_from_wire(nodes.clone(), far, 4), Err(Malformed::Shard(4)));
        let mut crowded = rows.clone();
        crowded[0].voters = vec![1; MEMBERS_MAX + 1];
        assert!(table_from_wire(nodes.clone(), crowded, 4).is_err());
        let mut nowhere = nodes.clone();
        nowhere[0].peer_address = "a.example".into();
        assert!(table_from_wire(nowhere, rows.clone(), 4).is_err());
        let mut high = nodes;
        high[0].port = 65536;
        assert!(table_from_wire(high, rows, 4).is_err());
    }
}
