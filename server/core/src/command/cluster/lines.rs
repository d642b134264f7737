//! `CLUSTER INFO` and `CLUSTER NODES`: the cluster as lines of text.

use std::fmt::Write;

use super::{Outcome, known_node, table};
use crate::cluster::{Node, NodeId, Table};
use crate::command::Args;
use crate::error::Error;
use crate::exec::Exec;
use crate::text::crc16::SLOTS;

pub(super) fn info(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    let table = table(x)?;
    let size = |shard: u16| {
        let (first, last) = table.slots_of(shard);
        usize::from(last - first) + 1
    };
    let (mut assigned, mut failed) = (0, 0);
    for shard in 0..table.shards() {
        let Some(leader) = table.leader(shard) else {
            continue;
        };
        assigned += size(shard);
        failed += if leader.is_alive || leader.id == table.me {
            0
        } else {
            size(shard)
        };
    }
    let is_dead = |node: &&Node| !node.is_alive && node.id != table.me;
    let leads = |node: &&Node| table.led_by(node.id).next().is_some();
    let nodes = || table.nodes.values();
    let is_ok = assigned == usize::from(SLOTS) && failed == 0;
    let terms = table.rows.iter().map(|row| row.term).max().unwrap_or(0);
    let figures: [(&str, u64); 24] = [
        ("cluster_slots_assigned", assigned as u64),
        ("cluster_slots_ok", (assigned - failed) as u64),
        ("cluster_slots_pfail", 0),
        ("cluster_slots_fail", failed as u64),
        ("cluster_nodes_pfail", 0),
        ("cluster_nodes_fail", nodes().filter(is_dead).count() as u64),
        ("cluster_voting_nodes_pfail", 0),
        (
            "cluster_voting_nodes_fail",
            nodes().filter(leads).filter(is_dead).count() as u64,
        ),
        ("cluster_known_nodes", table.nodes.len() as u64),
        ("cluster_size", nodes().filter(leads).count() as u64),
        ("cluster_current_epoch", terms),
        ("cluster_my_epoch", epoch_of(&table, table.me)),
        // Nodes talk by other means than the bus of Redis Cluster, whose messages these would count.
        ("cluster_stats_messages_sent", 0),
        ("cluster_stats_messages_received", 0),
        ("cluster_stats_bytes_sent", 0),
        ("cluster_stats_bytes_received", 0),
        ("cluster_stats_pubsub_bytes_sent", 0),
        ("cluster_stats_pubsub_bytes_received", 0),
        ("cluster_stats_module_bytes_sent", 0),
        ("cluster_stats_module_bytes_received", 0),
        ("total_cluster_links_buffer_limit_exceeded", 0),
        ("ruvio_shards", table.shards().into()),
        ("ruvio_shards_led", table.led_by(table.me).count() as u64),
        ("ruvio_node", table.me.0),
    ];
    let mut text = format!("cluster_state:{}\r\n", if is_ok { "ok" } else { "fail" });
    for (name, value) in figures {
        let _ = write!(text, "{name}:{value}\r\n");
    }
    x.reply.verbatim(b"txt", text.as_bytes());
    Ok(())
}

pub(super) fn nodes(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    let table = table(x)?;
    let is_tls = is_tls(x);
    let mut text = String::new();
    for node in table.nodes.values() {
        text.push_str(&line(&table, node, is_tls));
        text.push('\n');
    }
    x.reply.verbatim(b"txt", text.as_bytes());
    Ok(())
}

pub(super) fn replicas(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let table = table(x)?;
    let id = known_node(&table, args.get(2))?;
    let led: Vec<u16> = table.led_by(id).collect();
    if led.is_empty() {
        return Err(Error::new("ERR The specified node is not a master").into());
    }
    let is_tls = is_tls(x);
    let follows = |node: &&Node| {
        let has = |shard: &u16| table.row(*shard).is_some_and(|row| row.has_replica(node.id));
        node.id != id && led.iter().any(has)
    };
    let lines: Vec<String> = table
        .nodes
        .values()
        .filter(follows)
        .map(|node| line(&table, node, is_tls))
        .collect();
    x.reply.array(lines.len());
    lines.iter().for_each(|line| x.reply.bulk_str(line));
    Ok(())
}

pub(super) fn is_tls(x: &Exec<'_>) -> bool {
    let session = x.world.sessions.get(x.caller.client);
    session.is_some_and(|session| session.entrance.is_tls)
}

/// `<id> <host:port@peer-port> <flags> <primary> <ping> <pong> <epoch> <link> <slots …>`.
fn line(table: &Table, node: &Node, is_tls: bool) -> String {
    let is_me = node.id == table.me;
    let follows = followed_by(table, node.id);
    let mut flags = Vec::new();
    if is_me {
        flags.push("myself");
    }
    flags.push(if follows.is_some() { "slave" } else { "master" });
    if !node.is_alive && !is_me {
        flags.push("fail");
    }
    let primary = follows.map_or("-".to_string(), |primary| primary.to_string());
    let link = if node.is_alive || is_me {
        "connected"
    } else {
        "disconnected"
    };
    let mut line = format!(
        "{} {}:{}@{} {} {primary} 0 0 {} {link}",
        node.id,
        node.host,
        node.port_for(is_tls),
        node.peer_port,
        flags.join(","),
        epoch_of(table, node.id),
    );
    for (first, last) in ranges(table, node.id) {
        let _ = match first == last {
            true => write!(line, " {first}"),
            false => write!(line, " {first}-{last}"),
        };
    }
    line
}

/// The slots that the node leads, in as few ranges as may be.
fn ranges(table: &Table, node: NodeId) -> Vec<(u16, u16)> {
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    for (first, last) in table.led_by(node).map(|shard| table.slots_of(shard)) {
        match ranges.last_mut() {
            Some((_, end)) if *end + 1 == first => *end = last,
            _ => ranges.push((first, last)),
        }
    }
    ranges
}

/// Whom a node follows that leads nothing: the leader of the first shard of which it has a copy.
fn followed_by(table: &Table, node: NodeId) -> Option<NodeId> {
    if table.led_by(node).next().is_some() {
        return None;
    }
    table.rows.iter().find(|row| row.has_replica(node))?.leader
}

/// The latest term of the shards that the node leads, or has copies of.
fn epoch_of(table: &Table, node: NodeId) -> u64 {
    let led = table.rows.iter().filter(|row| row.leader == Some(node));
    let followed = table.rows.iter().filter(|row| row.has_replica(node));
    let latest = led.map(|row| row.term).max();
    latest.or(followed.map(|row| row.term).max()).unwrap_or(0)
}
