//! The disk of one node is full, to the last page.

use anyhow::{Result, ensure};
use ruvio_e2e::cluster::Cluster;
use ruvio_e2e::load::bulk::Bulk;

use super::{CLIENTS, LIMIT, led_by, plan, seconds, wait, watch};

/// Of each node: what the log takes before the image takes it in, and the image, and some.
const DISK_BYTES: u64 = 768 << 20;
const VALUE_BYTES: usize = 64 << 10;
const RSS_BYTES_MAX: u64 = 700 << 20;
const FULL: usize = 1;

/// For ten seconds; a minute in `make soak`, in which clients write more than a node without room could put anywhere.
#[test]
fn a_full_disk_on_one_node_stops_nobody_and_it_catches_up() -> Result<()> {
    let mut cluster = Cluster::start(&plan(Some(DISK_BYTES)))?;
    let bulk = Bulk::start(&cluster.doors(), CLIENTS, VALUE_BYTES);
    let lasts = seconds("RUVIO_AWAY_SECONDS", 10);
    wait("something is written", LIMIT, &cluster, || {
        Ok(bulk.bytes() > 4 << 20)
    })?;
    ensure!(
        led_by(&cluster, FULL)? > 0,
        "it leads nothing that it could give away"
    );
    cluster.nodes[FULL].fill_disk()?;
    let noticed = wait("it says that its disk is full", LIMIT, &cluster, || {
        Ok(std::fs::read_to_string(cluster.nodes[FULL].log())?.contains("the disk is full"))
    })?;
    let given = wait("it leads nothing", LIMIT, &cluster, || {
        Ok(led_by(&cluster, FULL)? == 0)
    })?;
    let (told, growth) = watch(&cluster, &bulk, lasts)?;
    println!("full: noticed after {noticed:?}, leads nothing {given:?} later; {told}");
    ensure!(
        cluster.nodes[FULL].is_there(),
        "it ended: {}",
        cluster.nodes[FULL].last_words()
    );
    ensure!(growth.rss_bytes < RSS_BYTES_MAX, "{growth}");
    cluster.nodes[FULL].empty_disk()?;
    let leads = wait("it leads again", LIMIT, &cluster, || {
        Ok(led_by(&cluster, FULL)? > 0)
    })?;
    bulk.finish()?;
    let keys = cluster.compare_replicas()?;
    println!("room again: it leads after {leads:?}, and all replicas hold the same {keys} keys");
    cluster.heal()
}
