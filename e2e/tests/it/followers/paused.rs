//! One node stands still while clients write much.

use std::time::Instant;

use anyhow::{Result, ensure};
use ruvio_e2e::cluster::Cluster;
use ruvio_e2e::load::bulk::Bulk;

use super::{CLIENTS, LIMIT, led_by, plan, seconds, wait, watch};

const VALUE_BYTES: usize = 64 << 10;
/// The window that the image takes in at a time, as it grows meanwhile, and segments ahead and behind.
const LOG_BYTES_MAX: u64 = 1 << 30;
const RSS_BYTES_MAX: u64 = 700 << 20;
const PAUSED: usize = 2;

/// For ten seconds; a minute in `make soak`.
#[test]
fn a_follower_that_stands_still_costs_the_others_nothing_and_catches_up() -> Result<()> {
    let lasts = seconds("RUVIO_AWAY_SECONDS", 10);
    let mut cluster = Cluster::start(&plan(None))?;
    let bulk = Bulk::start(&cluster.doors(), CLIENTS, VALUE_BYTES);
    wait("something is written", LIMIT, &cluster, || {
        Ok(bulk.bytes() > 4 << 20)
    })?;
    cluster.nodes[PAUSED].pause()?;
    wait("others lead all", LIMIT, &cluster, || {
        Ok(led_by(&cluster, PAUSED)? == 0)
    })?;
    let (told, growth) = watch(&cluster, &bulk, lasts)?;
    println!("paused: {told}");
    ensure!(growth.rss_bytes < RSS_BYTES_MAX, "{growth}");
    ensure!(growth.log_bytes < LOG_BYTES_MAX, "{growth}");
    cluster.nodes[PAUSED].resume()?;
    let resumed = Instant::now();
    let leads = wait("it leads again", LIMIT, &cluster, || {
        Ok(led_by(&cluster, PAUSED)? > 0)
    })?;
    bulk.finish()?;
    let keys = cluster.compare_replicas()?;
    println!(
        "it leads again after {leads:?}; after {:?} all replicas hold the same {keys} keys",
        resumed.elapsed()
    );
    cluster.heal()
}
