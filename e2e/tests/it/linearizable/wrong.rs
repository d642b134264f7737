//! Servers that are wrong, in which the clients have to find it.

use ruvio_e2e::cluster::faults::{Fault, Step, Tally};
use ruvio_e2e::cluster::{Cluster, Kind, Plan};
use ruvio_e2e::load::{Load, Report, Time};
use std::time::Duration;

const SEED: u64 = 1;

fn found(nodes: usize, faults: &[Fault]) -> Report {
    let plan = Plan {
        kind: Kind::Apart,
        nodes,
        shards: 2,
        durability: "memory",
        disk_bytes: None,
    };
    let mut cluster = Cluster::start(&plan).expect("a cluster");
    let load = Load::start(&cluster.doors(), super::CLIENTS, SEED, Time::Ours);
    let step = Step {
        quiet: Duration::from_millis(1500),
        faults: faults.to_vec(),
        lasts: Duration::from_millis(50),
    };
    let mut tally = Tally::default();
    cluster.suffer(&step, SEED, &mut tally).expect("a fault");
    cluster.wait_until_served().expect("served again");
    std::thread::sleep(Duration::from_millis(1500));
    let report = load.finish();
    for violation in &report.violations {
        let _ = std::fs::remove_file(&violation.saved);
    }
    report
}

/// Each kind of object has noticed.
fn each_complains(report: &Report, kinds: &[&str]) {
    for kind in kinds {
        let of_kind = |key: &str| key.split(':').next() == Some(kind);
        assert!(
            report.violations.iter().any(|violation| of_kind(&violation.key)),
            "no {kind} was found wrong:\n{report}"
        );
    }
}

#[test]
fn a_node_that_forgets_what_it_acknowledged_is_found() {
    let report = found(1, &[Fault::Kill(0)]);
    each_complains(&report, &["register", "counter", "list", "pair", "idem"]);
}

#[test]
fn two_nodes_that_both_believe_to_lead_are_found() {
    let report = found(2, &[]);
    each_complains(&report, &["register", "counter", "list", "pair", "idem", "limit"]);
}
