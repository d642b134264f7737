//! The cluster as clients read it to find their way: `CLUSTER SLOTS`, `CLUSTER SHARDS`, `CLUSTER LINKS`, and who
//! this node is.

use super::lines::is_tls;
use super::{Outcome, table};
use crate::cluster::{Node, NodeId, Row, ShardName, Table};
use crate::command::Args;
use crate::exec::Exec;
use crate::resp::Reply;

pub(super) fn myid(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    let me = table(x)?.me;
    x.reply.bulk_str(&me.to_string());
    Ok(())
}

/// The first shard that this node leads, or of which it has a copy.
pub(super) fn myshardid(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    let table = table(x)?;
    let has = |row: &Row| row.has_replica(table.me);
    let followed = table.rows.iter().position(has).unwrap_or(0) as u16;
    let shard = table.led_by(table.me).next().unwrap_or(followed);
    x.reply.bulk_str(&ShardName(shard).to_string());
    Ok(())
}

/// A shard a row: its leader, then those who follow and can be reached.
pub(super) fn slots(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    let (table, is_tls) = (table(x)?, is_tls(x));
    let led: Vec<(u16, &Node)> = (0..table.shards())
        .filter_map(|shard| Some((shard, table.leader(shard)?)))
        .collect();
    x.reply.array(led.len());
    for (shard, leader) in led {
        let (first, last) = table.slots_of(shard);
        let followers: Vec<&Node> = known(&table, table.rows[usize::from(shard)].followers())
            .filter(|node| is_up(&table, node))
            .collect();
        x.reply.array(3 + followers.len());
        x.reply.integer(first.into());
        x.reply.integer(last.into());
        for node in std::iter::once(leader).chain(followers) {
            x.reply.array(4);
            x.reply.bulk_str(&node.host);
            x.reply.integer(node.port_for(is_tls).into());
            x.reply.bulk_str(&node.id.to_string());
            x.reply.map(0);
        }
    }
    Ok(())
}

pub(super) fn shards(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    let table = table(x)?;
    x.reply.array(table.rows.len());
    for (shard, row) in (0..).zip(&table.rows) {
        let (first, last) = table.slots_of(shard);
        x.reply.map(3);
        x.reply.bulk(b"slots");
        x.reply.array(2);
        x.reply.integer(first.into());
        x.reply.integer(last.into());
        x.reply.bulk(b"nodes");
        let nodes: Vec<&Node> = known(&table, row.leader.into_iter().chain(row.followers())).collect();
        x.reply.array(nodes.len());
        for node in nodes {
            describe(x.reply, &table, node, row.leader == Some(node.id));
        }
        x.reply.bulk(b"id");
        x.reply.bulk_str(&ShardName(shard).to_string());
    }
    Ok(())
}

/// An IP address, as opposed to a name: no name has a colon, or ends in a number.
fn is_address(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or_default();
    host.contains(':') || !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit())
}

fn describe(reply: &mut Reply, table: &Table, node: &Node, leads: bool) {
    let is_name = !is_address(&node.host);
    let has_tls = node.tls_port != 0;
    reply.map(7 + usize::from(has_tls) + usize::from(is_name));
    let mut text = |name: &[u8], value: &str| {
        reply.bulk(name);
        reply.bulk_str(value);
    };
    text(b"id", &node.id.to_string());
    reply.bulk(b"port");
    reply.integer(node.port.into());
    if has_tls {
        reply.bulk(b"tls-port");
        reply.integer(node.tls_port.into());
    }
    let mut text = |name: &[u8], value: &str| {
        reply.bulk(name);
        reply.bulk_str(value);
    };
    text(b"ip", &node.host);
    text(b"endpoint", &node.host);
    if is_name {
        text(b"hostname", &node.host);
    }
    text(b"role", if leads { "master" } else { "replica" });
    reply.bulk(b"replication-offset");
    reply.integer(0);
    reply.bulk(b"health");
    reply.bulk(if is_up(table, node) { b"online" } else { b"failed" });
}

/// Connections between nodes are not those of Redis Cluster: each node that is heard of is there and back once, without buffers.
pub(super) fn links(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    let table = table(x)?;
    let others = table
        .nodes
        .values()
        .filter(|node| node.id != table.me && node.is_alive);
    let others: Vec<NodeId> = others.map(|node| node.id).collect();
    x.reply.array(others.len() * 2);
    for id in others {
        for direction in ["to", "from"] {
            x.reply.map(6);
            x.reply.bulk(b"direction");
            x.reply.bulk_str(direction);
            x.reply.bulk(b"node");
            x.reply.bulk_str(&id.to_string());
            x.reply.bulk(b"create-time");
            x.reply.integer(0);
            x.reply.bulk(b"events");
            x.reply.bulk(b"r");
            x.reply.bulk(b"send-buffer-allocated");
            x.reply.integer(0);
            x.reply.bulk(b"send-buffer-used");
            x.reply.integer(0);
        }
    }
    Ok(())
}

fn known(table: &Table, ids: impl Iterator<Item = NodeId>) -> impl Iterator<Item = &Node> {
    ids.filter_map(|id| table.nodes.get(&id))
}

fn is_up(table: &Table, node: &Node) -> bool {
    node.is_alive || node.id == table.me
}
