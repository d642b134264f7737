//! One node of a replicated cluster is away for long, or has no room: the others go on, nothing grows without bound, and it
//! catches up.

mod full;
mod paused;

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use ruvio_e2e::cluster::growth::Growth;
use ruvio_e2e::cluster::{Cluster, Kind, Plan};
use ruvio_e2e::load::bulk::Bulk;

const NODES: usize = 3;
const CLIENTS: usize = 4;
/// Anything takes longer only where something is wrong.
const LIMIT: Duration = Duration::from_secs(120);
/// Some write is acknowledged within this, whoever is away: clients that meet who stands still wait for a while, and no longer.
const SILENCE_MAX: Duration = Duration::from_secs(10);

fn plan(disk_bytes: Option<u64>) -> Plan {
    Plan {
        kind: Kind::Replicated,
        nodes: NODES,
        shards: 6,
        durability: "everysec",
        disk_bytes,
    }
}

fn seconds(variable: &str, otherwise: u64) -> Duration {
    let told = std::env::var(variable)
        .ok()
        .map(|text| text.parse().expect("a number of seconds"));
    Duration::from_secs(told.unwrap_or(otherwise))
}

/// Shards that the node leads, as the others know it.
fn led_by(cluster: &Cluster, node: usize) -> Result<usize> {
    let id = cluster.nodes[node].id;
    Ok(cluster
        .shards()?
        .iter()
        .filter(|shard| shard.leader == Some(id))
        .count())
}

/// Waits until it is so; how long that took. What cannot be told yet is not so yet.
fn wait(
    what: &str,
    limit: Duration,
    cluster: &Cluster,
    mut is_so: impl FnMut() -> Result<bool>,
) -> Result<Duration> {
    let start = Instant::now();
    loop {
        let why = match is_so() {
            Ok(true) => return Ok(start.elapsed()),
            Ok(false) => String::new(),
            Err(error) => format!("{error:#}\n"),
        };
        let said = || cluster.last_words();
        ensure!(
            start.elapsed() < limit,
            "not within {limit:?}: {what}\n{why}{}",
            said()
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// What comes of the clients' writes in that time, and the most that nodes take.
fn watch(cluster: &Cluster, bulk: &Bulk, lasts: Duration) -> Result<(String, Growth)> {
    let (before, from_bytes, start) = (bulk.counts(), bulk.bytes(), Instant::now());
    bulk.silence();
    let mut growth = Growth::default();
    while start.elapsed() < lasts {
        growth.look(cluster);
        std::thread::sleep(Duration::from_millis(200));
    }
    let (asked, silence) = (bulk.counts().since(before), bulk.silence());
    let written_mib = (bulk.bytes() - from_bytes) >> 20;
    let told = format!(
        "in {lasts:?} {} writes, {written_mib} MiB, {} refused, {} unknown, none acknowledged for {silence:?} at the most; {growth}",
        asked.done, asked.refused, asked.unknown
    );
    ensure!(silence < SILENCE_MAX, "{told}\n{}", cluster.last_words());
    Ok((told, growth))
}
