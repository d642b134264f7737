//! Clients that others wrote, unmodified, against both ports of a cluster whose leaders change while they write: what
//! was acknowledged is there afterwards, and by the routed port nothing but a node's sudden end is noticed.

mod failover;
mod tools;
mod writer;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use ruvio_e2e::client::Client;
use ruvio_e2e::cluster::{Cluster, Kind, Plan};

const SHARDS: usize = 6;
const CLUSTER: u16 = 6379;
const ROUTED: u16 = 6380;

fn cluster() -> Result<Cluster> {
    let cluster = Cluster::start(&Plan {
        kind: Kind::Replicated,
        nodes: 3,
        shards: SHARDS,
        durability: "everysec",
        disk_bytes: None,
    })?;
    // Elections take long on a busy machine: what is waited for without an error is the subject here, not how long.
    for door in doors(&cluster, ROUTED) {
        Client::connect(door)?.say("CONFIG SET routed-timeout 40000")?;
    }
    Ok(cluster)
}

/// A port of each node, the given one first.
fn doors(cluster: &Cluster, port: u16) -> Vec<SocketAddr> {
    let nodes = cluster.nodes.iter();
    nodes.map(|node| (node.address, port).into()).collect()
}

/// All nodes answer and all shards are led: what is done next meets a whole cluster.
fn wait_until_whole(cluster: &Cluster) -> Result<()> {
    let whole = format!("3 of 3 nodes answer, {SHARDS} of {SHARDS} shards have a leader");
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let told = cluster.administer(&["status"]).unwrap_or_default();
        if told.contains(&whole) {
            return cluster.wait_until_served();
        }
        if Instant::now() > deadline {
            bail!("the cluster is not whole:\n{told}\n{}", cluster.last_words());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}
