//! P5: three replicas, each write durable before it is answered, beside Valkey with WAIT and beside etcd.
//!
//! All clusters stand at once and take turns; one that is not asked costs what an idle one costs.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::cluster::{Etcd, Node, Ruvio, Shard, Valkey, sync_times};
use crate::contest::{Pair, Settings, median};
use crate::load::lanes::{self, Lane, Outcome, Plan};
use crate::report::{Line, Report, Target};
use crate::server::usage::Cpu;
use crate::workload::KEYS;

const CONNECTIONS: [usize; 2] = [50, 1];
const SYNCS: usize = 2000;
/// Shards of the two clusters of Ruvio: one leader, and what `make cluster` makes.
const SHARDS: [usize; 2] = [1, 6];
const OVER_VALKEY: f64 = 1.2;
const OVER_ETCD: f64 = 5.0;

/// One turn, or the medians of many.
#[derive(Clone, Debug, Default)]
struct Figure {
    per_second: f64,
    p50_ms: f64,
    p99_ms: f64,
    /// CPU µs a write: of the node that leads (of the first shard), and the mean of the two others.
    leader_us: f64,
    follower_us: f64,
    /// Share of the time that a thread of the servers was ready and had no core.
    waited: f64,
}

impl Figure {
    /// `cpu` of the leader first.
    fn new(outcome: &Outcome, cpu: &[Cpu]) -> Self {
        let writes = outcome.writes().max(1) as f64;
        let us = |cpu: &Cpu| cpu.ran_ns as f64 / 1e3 / writes;
        let waited: u64 = cpu.iter().map(|cpu| cpu.waited_ns).sum();
        Self {
            per_second: writes / outcome.elapsed.as_secs_f64(),
            p50_ms: outcome.latencies.quantile_ms(0.5),
            p99_ms: outcome.latencies.quantile_ms(0.99),
            leader_us: us(&cpu[0]),
            follower_us: cpu[1..].iter().map(us).sum::<f64>() / (cpu.len() - 1) as f64,
            waited: waited as f64 / outcome.elapsed.as_nanos() as f64,
        }
    }

    fn median(figures: &[Self]) -> Self {
        let of = |field: fn(&Self) -> f64| median(figures.iter().map(field).collect());
        Self {
            per_second: of(|f| f.per_second),
            p50_ms: of(|f| f.p50_ms),
            p99_ms: of(|f| f.p99_ms),
            leader_us: of(|f| f.leader_us),
            follower_us: of(|f| f.follower_us),
            waited: of(|f| f.waited),
        }
    }

    fn all_us(&self) -> f64 {
        self.leader_us + 2.0 * self.follower_us
    }
}

struct Clusters {
    valkey: Valkey,
    ruvio: [Ruvio; 2],
    etcd: Option<Etcd>,
}

/// The medians of one number of connections.
struct Medians {
    valkey: Figure,
    ruvio: [Figure; 2],
    etcd: Option<Figure>,
}

pub(super) fn run(settings: &Settings) -> Result<Report> {
    let load_before = load_average();
    let cores = settings.cores;
    let start = |shards| Ruvio::start(&settings.subject.binary, shards, cores);
    let clusters = Clusters {
        valkey: Valkey::start(&settings.reference.binary, cores)?,
        ruvio: [start(SHARDS[0])?, start(SHARDS[1])?],
        etcd: Etcd::is_installed().then(|| Etcd::start(cores)).transpose()?,
    };
    let mut lines = Vec::new();
    for connections in CONNECTIONS {
        let terms = clusters.terms()?;
        let medians = clusters.measure(settings, connections)?;
        lines.extend(lines_of(&medians, connections));
        let what = format!("{connections} connections: changes of leaders meanwhile");
        let changes = Pair {
            reference: 0.0,
            subject: (clusters.terms()? - terms) as f64,
        };
        lines.push(Line::new(&what, "", changes, Some(Target::AtMost(0.0))));
        if connections == 1 {
            lines.extend(beside_the_disk(&medians)?);
        }
    }
    if clusters.etcd.is_none() {
        let absent = anyhow::anyhow!("etcd is not installed (Debian's package etcd-server)");
        lines.push(Line::failed("SET beside etcd", &absent));
    }
    let loads = Pair {
        reference: load_before,
        subject: load_average(),
    };
    let line = Line::new(
        "load average of the machine before and after",
        "threads",
        loads,
        None,
    );
    lines.push(line.note("more than 1 before: the machine was not quiet"));
    Ok(Report {
        row: "p5",
        title: "three replicas, SET of 16 bytes to 16 bytes durable on two; Valkey: SET and WAIT 1 0, its log always",
        lines,
    })
}

impl Clusters {
    fn terms(&self) -> Result<u64> {
        Ok(self.ruvio[0].terms()? + self.ruvio[1].terms()?)
    }

    fn measure(&self, settings: &Settings, connections: usize) -> Result<Medians> {
        let (mut valkey, mut etcd) = (Vec::new(), Vec::new());
        let mut ruvio = [Vec::new(), Vec::new()];
        for round in 0..settings.rounds as u64 {
            let time = settings.time;
            valkey.push(self.valkey_turn(connections, round, time).context("Valkey")?);
            for (cluster, figures) in self.ruvio.iter().zip(&mut ruvio) {
                figures.push(ruvio_turn(cluster, connections, round, time).context("Ruvio")?);
            }
            if let Some(cluster) = &self.etcd {
                etcd.push(etcd_turn(cluster, connections, time).context("etcd")?);
            }
        }
        Ok(Medians {
            valkey: Figure::median(&valkey),
            ruvio: ruvio.map(|figures| Figure::median(&figures)),
            etcd: (!etcd.is_empty()).then(|| Figure::median(&etcd)),
        })
    }

    fn valkey_turn(&self, connections: usize, seed: u64, time: Duration) -> Result<Figure> {
        let lane = Lane {
            address: self.valkey.primary,
            prefix: "key:".to_owned(),
        };
        let plan = Plan {
            lanes: &vec![lane; connections],
            keys: KEYS,
            wait: true,
            seed,
        };
        turn(&self.valkey.nodes, 0, || lanes::run(&plan, time))
    }
}

fn ruvio_turn(cluster: &Ruvio, connections: usize, seed: u64, time: Duration) -> Result<Figure> {
    let shards = cluster.shards(0)?;
    let leader = shards.first().and_then(|shard| cluster.index_of(shard.leader));
    turn(&cluster.nodes, leader.context("who leads")?, || {
        load(&shards, connections, seed, time)
    })
}

/// Connections that each write to one shard, at its leader.
pub(super) fn load(shards: &[Shard], connections: usize, seed: u64, time: Duration) -> Result<Outcome> {
    let lanes: Vec<Lane> = shards
        .iter()
        .cycle()
        .take(connections)
        .map(|shard| Lane {
            address: shard.leader,
            prefix: shard.tag.clone(),
        })
        .collect();
    let plan = Plan {
        lanes: &lanes,
        keys: KEYS,
        wait: false,
        seed,
    };
    lanes::run(&plan, time)
}

fn etcd_turn(cluster: &Etcd, connections: usize, time: Duration) -> Result<Figure> {
    turn(&cluster.nodes, cluster.leader_index, || {
        cluster.load(connections, KEYS, time)
    })
}

fn turn(nodes: &[Node], leader: usize, load: impl FnOnce() -> Result<Outcome>) -> Result<Figure> {
    let cpu = || nodes.iter().map(Node::cpu).collect::<Result<Vec<Cpu>>>();
    let before = cpu()?;
    let outcome = load()?;
    let mut used: Vec<Cpu> = cpu()?
        .iter()
        .zip(&before)
        .map(|(&after, &before)| after - before)
        .collect();
    used.swap(0, leader);
    Ok(Figure::new(&outcome, &used))
}

fn lines_of(medians: &Medians, connections: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for (shards, figure) in SHARDS.iter().zip(&medians.ruvio) {
        let what = format!("{connections} connections, {shards} shard(s)");
        let rate = (connections > 1).then_some(Target::RatioAtLeast(OVER_VALKEY));
        lines.extend(beside(&what, &medians.valkey, figure, rate));
    }
    let [one, _] = &medians.ruvio;
    let of = |reference: f64, subject: f64| Pair { reference, subject };
    let cpu = |what: &str, pair, target| {
        let what = format!("{connections} connections, 1 shard: CPU {what}");
        Line::new(&what, "µs/write", pair, target)
    };
    let valkey = &medians.valkey;
    lines.push(cpu("of the leader", of(valkey.leader_us, one.leader_us), None));
    lines.push(cpu(
        "of a follower",
        of(valkey.follower_us, one.follower_us),
        None,
    ));
    let own = of(one.leader_us, one.follower_us);
    lines.push(cpu(
        "of a follower beside our leader's",
        own,
        Some(Target::RatioAtMost(1.0)),
    ));
    for (shards, figure) in SHARDS.iter().zip(&medians.ruvio) {
        let Some(etcd) = &medians.etcd else { continue };
        let what = format!("{connections} connections, {shards} shard(s) beside etcd");
        let rate = (connections > 1).then_some(Target::RatioAtLeast(OVER_ETCD));
        lines.extend(beside(&what, etcd, figure, rate));
    }
    lines
}

fn beside(what: &str, reference: &Figure, subject: &Figure, rate: Option<Target>) -> [Line; 4] {
    let of = |field: fn(&Figure) -> f64| Pair {
        reference: field(reference),
        subject: field(subject),
    };
    let waited = format!(
        "servers' threads waited for a core {:.0}/{:.0} % of the time",
        reference.waited * 100.0,
        subject.waited * 100.0
    );
    [
        Line::new(what, "writes/s", of(|f| f.per_second), rate).note(waited),
        Line::new(&format!("{what}, p50"), "ms", of(|f| f.p50_ms), None),
        Line::new(&format!("{what}, p99"), "ms", of(|f| f.p99_ms), None),
        Line::new(
            &format!("{what}, CPU of all nodes"),
            "µs/write",
            of(Figure::all_us),
            None,
        ),
    ]
}

/// What a commit takes beside what the disk takes for one sync; the latter is the reference.
fn beside_the_disk(medians: &Medians) -> Result<Vec<Line>> {
    let times = sync_times(SYNCS)?;
    let at = |q: f64| times[((times.len() - 1) as f64 * q) as usize] as f64 / 1e6;
    let [one, _] = &medians.ruvio;
    let line = |what: &str, sync, commit| {
        let pair = Pair {
            reference: sync,
            subject: commit,
        };
        let what = format!("1 connection, 1 shard: commit beside one sync of 4 KiB, {what}");
        Line::new(&what, "ms", pair, None)
    };
    Ok(vec![
        line("p50", at(0.5), one.p50_ms),
        line("p99", at(0.99), one.p99_ms),
    ])
}

/// Threads that ran or wanted to, over the last minute.
pub(super) fn load_average() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first = text.split_whitespace().next();
    first.and_then(|number| number.parse().ok()).unwrap_or_default()
}
