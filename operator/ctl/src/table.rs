//! The cluster as tables that a person reads.

use std::collections::BTreeSet;

use super::cluster::{Cluster, Shard, hex, phase};
use ruvio_proto::admin::v1::StatusResponse;

pub fn render(cluster: &Cluster) -> String {
    let shards = cluster.shards();
    let mut said = vec![headline(cluster, &shards), String::new()];
    said.extend(nodes(cluster, &shards));
    if !shards.is_empty() {
        said.push(String::new());
        said.extend(aligned(&shard_rows(&shards)));
    }
    let troubles = troubles(cluster);
    if !troubles.is_empty() {
        said.push(String::new());
        said.extend(troubles);
    }
    said.join("\n")
}

fn headline(cluster: &Cluster, shards: &[Shard]) -> String {
    let answering = cluster.answers().count();
    let asked = format!("{answering} of {} nodes answer", cluster.asked.len());
    let Some(id) = cluster.id() else {
        return format!("no cluster yet: {asked}, and all are new (ruvioctl bootstrap makes them one)");
    };
    let led = shards.iter().filter(|shard| shard.leader != 0).count();
    format!(
        "cluster {}: {asked}, {led} of {} shards have a leader",
        hex(id),
        shards.len()
    )
}

fn nodes(cluster: &Cluster, shards: &[Shard]) -> Vec<String> {
    let head = ["NODE", "ADMIN", "PHASE", "LEADS", "REPLICAS", "RELEASE", "UPTIME"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (address, status) in cluster.answers() {
        let leads = shards
            .iter()
            .filter(|shard| shard.leader == status.node && status.node != 0);
        // As the shards' leaders know it: who was removed may not have heard of it.
        let holds = |shard: &&Shard| {
            shard
                .voters
                .union(&shard.learners)
                .any(|node| *node == status.node)
        };
        let held = shards.iter().filter(holds).count();
        rows.push(vec![
            name(status),
            address.to_string(),
            phase(status).to_owned(),
            leads.count().to_string(),
            held.to_string(),
            status.release.clone(),
            uptime(status.uptime_ms),
        ]);
    }
    aligned(&rows)
}

fn name(status: &StatusResponse) -> String {
    match status.node {
        0 => "-".to_owned(),
        node => node.to_string(),
    }
}

fn shard_rows(shards: &[Shard]) -> Vec<Vec<String>> {
    let head = [
        "SHARD",
        "LEADER",
        "TERM",
        "VOTERS",
        "LEARNERS",
        "COMMITTED",
        "LAG",
        "KEYS",
        "MEMORY",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for shard in shards {
        let or_none = |set: &BTreeSet<u64>| if set.is_empty() { "-".to_owned() } else { list(set) };
        let behind = shard.lags.iter().max_by_key(|(_, lag)| **lag);
        rows.push(vec![
            shard.number.to_string(),
            match shard.leader {
                0 => "none".to_owned(),
                leader => leader.to_string(),
            },
            shard.term.to_string(),
            or_none(&shard.voters),
            or_none(&shard.learners),
            shard.committed.to_string(),
            match behind {
                None => "-".to_owned(),
                Some((_, 0)) => "0".to_owned(),
                Some((node, lag)) => format!("{lag} (node {node})"),
            },
            shard.keys.map_or("-".to_owned(), |keys| keys.to_string()),
            shard.memory_bytes.map_or("-".to_owned(), size),
        ]);
    }
    rows
}

/// What does not go well, a line each.
fn troubles(cluster: &Cluster) -> Vec<String> {
    let mut said: Vec<String> = cluster
        .asked
        .iter()
        .filter_map(|asked| asked.answer.as_ref().err().cloned())
        .collect();
    for (_, status) in cluster.members() {
        for replica in status
            .replicas
            .iter()
            .filter(|replica| !replica.trouble.is_empty())
        {
            said.push(format!(
                "shard {} on node {}: {}",
                replica.shard, status.node, replica.trouble
            ));
        }
    }
    said
}

pub fn list(nodes: &BTreeSet<u64>) -> String {
    let nodes: Vec<String> = nodes.iter().map(ToString::to_string).collect();
    nodes.join(" ")
}

/// In the largest unit of which there are ten.
fn size(bytes: u64) -> String {
    match bytes {
        b @ 0..10_240 => format!("{b}B"),
        b @ 10_240..10_485_760 => format!("{}K", b >> 10),
        b @ 10_485_760..10_737_418_240 => format!("{}M", b >> 20),
        b => format!("{}G", b >> 30),
    }
}

/// The largest unit that fits, and no smaller ones.
fn uptime(ms: u64) -> String {
    match ms / 1000 {
        s @ 0..120 => format!("{s}s"),
        s @ 120..7200 => format!("{}m", s / 60),
        s @ 7200..172_800 => format!("{}h", s / 3600),
        s => format!("{}d", s / 86_400),
    }
}

fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::super::samples::{cluster, golden, new};
    use super::*;

    #[test]
    fn a_cluster_in_which_not_all_goes_well() {
        let wanted = "\
cluster 0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a: 2 of 3 nodes answer, 2 of 3 shards have a leader

NODE  ADMIN           PHASE    LEADS  REPLICAS  RELEASE  UPTIME
1     127.0.0.1:7481  serving  1      3         0.1.0    59s
2     127.0.0.1:7482  serving  1      2         0.1.0    3h

SHARD  LEADER  TERM  VOTERS  LEARNERS  COMMITTED  LAG          KEYS  MEMORY
0      1       4     1 2 3   -         1042       15 (node 3)  12    21M
1      2       2     1 2     3         7          0            5     900B
2      none    9     1 3     -         0          -            -     -

cannot reach 127.0.0.1:7483: Connection refused
shard 2 on node 1: its keyspace is made anew";
        assert_eq!(render(&golden()), wanted);
    }

    #[test]
    fn new_nodes_are_no_cluster_yet() {
        let wanted = "\
no cluster yet: 1 of 1 nodes answer, and all are new (ruvioctl bootstrap makes them one)

NODE  ADMIN   PHASE  LEADS  REPLICAS  RELEASE  UPTIME
-     a:7380  new    0      0         0.1.0    0s";
        assert_eq!(render(&cluster(vec![("a", Ok(new(6, 0)))])), wanted);
    }
}
