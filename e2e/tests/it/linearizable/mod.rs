//! Clients never see what one machine would not have shown them, whatever is done to the nodes.
//!
//! Each proof is worth what its checker finds: the last tests run the same clients against servers that are wrong, and
//! have to complain.

mod wrong;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ruvio_e2e::cluster::faults::{Field, Tally, schedule};
use ruvio_e2e::cluster::growth::Growth;
use ruvio_e2e::cluster::{Cluster, Kind, Plan};
use ruvio_e2e::load::{Load, Report, Time};

const CLIENTS: u32 = 10;
/// What a node may take at the most under this load, of memory and of disk for its log. It is the same after ten faults and a
/// thousand, which is what it is for.
const RSS_BYTES_MAX: u64 = 512 << 20;
const LOG_BYTES_MAX: u64 = 512 << 20;
/// Of a node's own disk, where it has one: enough unless it is filled.
const DISK_BYTES: u64 = 512 << 20;

fn from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number")),
    )
}

/// So many faults for the cluster while clients are at work, and what these saw.
fn run(plan: &Plan, seed: u64, faults: usize, time: Time) -> Result<Report> {
    let mut cluster = Cluster::start(plan)?;
    let has_network = cluster.network.is_some();
    if plan.nodes > 1 && !has_network {
        eprintln!("no namespaces here: no link is cut");
    }
    let load = Load::start(&cluster.doors(), CLIENTS, seed, time);
    let (mut tally, mut growth) = (Tally::default(), Growth::default());
    let field = Field {
        nodes: plan.nodes,
        has_network,
        shards: if plan.kind == Kind::Replicated {
            plan.shards
        } else {
            0
        },
        has_disks: plan.disk_bytes.is_some(),
        has_clocks: time == Time::Stepped,
    };
    let steps = schedule(seed, faults, field);
    for (at, step) in steps.iter().enumerate() {
        let before = load.counts();
        let suffered = cluster.suffer(step, seed ^ at as u64, &mut tally);
        suffered.with_context(|| format!("step {at} of seed {seed}: {step:?}"))?;
        tally.add(step, load.counts().since(before));
        growth.look(&cluster);
        if load.violations() > 0 {
            break;
        }
    }
    cluster.wait_until_served()?;
    std::thread::sleep(Duration::from_millis(500));
    let report = load.finish();
    // Who ended by itself is an error, also if it is not missed.
    cluster.heal()?;
    growth.look(&cluster);
    eprintln!(
        "seed {seed}, {} faults:\n{}{report}{growth}",
        tally.total(),
        tally.table()
    );
    if !report.is_clean() {
        eprintln!("what the nodes said:\n{}", cluster.last_words());
    }
    if plan.kind == Kind::Replicated {
        let keys = cluster.compare_replicas()?;
        eprintln!("all replicas hold the same {keys} keys");
        ensure!(keys > 0, "nothing was kept");
    }
    ensure!(growth.rss_bytes < RSS_BYTES_MAX, "{growth}");
    ensure!(growth.log_bytes < LOG_BYTES_MAX, "{growth}");
    Ok(report)
}

/// A seed that is always the same, and one that never is; or the one that is asked for.
fn seeds() -> Vec<u64> {
    match from_environment("RUVIO_FAULT_SEED") {
        Some(seed) => vec![seed],
        None => vec![1, fastrand::u64(..1 << 32)],
    }
}

fn hold(plan: &Plan, faults: usize, time: Time) {
    let faults = from_environment("RUVIO_FAULTS").map_or(faults, |faults| faults as usize);
    for seed in seeds() {
        eprintln!("{plan:?}: RUVIO_FAULT_SEED={seed}");
        let report = run(plan, seed, faults, time).unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
        assert!(report.is_clean(), "seed {seed}:\n{report}");
        assert!(report.asked.done > 1000, "hardly anything was done:\n{report}");
    }
}

#[test]
fn one_node_that_is_killed_and_stopped_and_started_again() {
    let plan = Plan {
        kind: Kind::Apart,
        nodes: 1,
        shards: 2,
        durability: "always",
        disk_bytes: None,
    };
    hold(&plan, 6, Time::Ours);
}

/// Three nodes, or as many as are asked for.
fn replicated(durability: &'static str, disk_bytes: Option<u64>) -> Plan {
    Plan {
        kind: Kind::Replicated,
        nodes: from_environment("RUVIO_FAULT_NODES").map_or(3, |nodes| nodes as usize),
        shards: 6,
        durability,
        disk_bytes,
    }
}

#[test]
fn replicated_nodes_that_are_killed_stopped_and_cut_off_from_each_other() {
    hold(&replicated("always", None), 12, Time::Ours);
}

/// What is only in the memory of the operating system outlives the end of any process.
#[test]
fn replicated_nodes_that_sync_each_second_and_whose_clocks_jump_and_disks_fill_up() {
    hold(&replicated("everysec", Some(DISK_BYTES)), 12, Time::Stepped);
}
