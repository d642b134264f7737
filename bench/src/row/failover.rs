//! P6: a leader that is killed, one that hands over, what was acknowledged meanwhile, and what an idle cluster costs.

mod writers;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::cluster::{NODES, Node, Ruvio, wait_for};
use crate::contest::{Pair, Settings};
use crate::load::Latencies;
use crate::report::{Line, Report, Target};
use crate::row::replicated::{load, load_average};
use crate::server::usage::Cpu;
use writers::{Seen, Writers};

const WRITERS: usize = 8;
const SHARDS: usize = 6;
/// Of the load that nothing disturbs.
const CONNECTIONS: usize = 50;
const FAILOVER_MS: f64 = 1500.0;
const HAND_OVER_MS: f64 = 50.0;
/// Shards, and what each node of an idle cluster may use of a core, in percent.
const IDLE: [(usize, f64); 2] = [(6, 1.5), (64, 8.0)];
const IDLE_TIME: Duration = Duration::from_secs(10);
/// Until what a start causes is over.
const SETTLE: Duration = Duration::from_secs(5);
/// Load before and after an event.
const AROUND: Duration = Duration::from_millis(300);
const FAILOVER_MAX: Duration = Duration::from_secs(30);

pub(super) fn run(settings: &Settings) -> Result<Report> {
    let load_before = load_average();
    let mut lines = Vec::new();
    for (shards, percent) in IDLE {
        lines.push(
            idle(settings, shards, percent)
                .unwrap_or_else(|error| Line::failed(&format!("idle, {shards} shards"), &error)),
        );
    }
    let mut cluster = Ruvio::start(&settings.subject.binary, SHARDS, settings.cores)?;
    for routed in [false, true] {
        lines.extend(hand_overs(&cluster, settings.kills, routed)?);
    }
    lines.push(steady(&cluster, settings.steady)?);
    lines.extend(kills(&mut cluster, settings.kills)?);
    let loads = pair(load_before, load_average());
    let line = Line::new(
        "load average of the machine before and after",
        "threads",
        loads,
        None,
    );
    lines.push(line.note("more than 1 before: the machine was not quiet"));
    Ok(Report {
        row: "p6",
        title: "failover, hand-over and idle cost of three nodes, every write durable on two; the first column of figures is what the line names",
        lines,
    })
}

fn pair(reference: f64, subject: f64) -> Pair<f64> {
    Pair { reference, subject }
}

/// CPU of the busiest node.
fn idle(settings: &Settings, shards: usize, percent: f64) -> Result<Line> {
    let cluster = Ruvio::start(&settings.subject.binary, shards, settings.cores)?;
    std::thread::sleep(SETTLE);
    let cpu = || cluster.nodes.iter().map(Node::cpu).collect::<Result<Vec<Cpu>>>();
    let (before, began) = (cpu()?, Instant::now());
    std::thread::sleep(IDLE_TIME);
    let (after, elapsed) = (cpu()?, began.elapsed().as_nanos() as f64);
    let used = before
        .iter()
        .zip(&after)
        .map(|(&before, &after)| (after - before).ran_ns as f64 / elapsed * 100.0);
    let most = used.clone().fold(0.0, f64::max);
    let least = used.fold(f64::MAX, f64::min);
    let what = format!("idle, {shards} shards: CPU of the busiest node (of the least busy)");
    Ok(Line::new(
        &what,
        "% of a core",
        pair(least, most),
        Some(Target::AtMost(percent)),
    ))
}

/// Leaderships that change though nothing happens but load.
fn steady(cluster: &Ruvio, time: Duration) -> Result<Line> {
    let before = cluster.terms()?;
    let outcome = load(&cluster.shards(0)?, CONNECTIONS, 0, time)?;
    let changes = cluster.terms()? - before;
    let per_second = outcome.writes() as f64 / outcome.elapsed.as_secs_f64();
    let what = format!(
        "{} s of full load, {CONNECTIONS} connections: elections",
        time.as_secs()
    );
    let line = Line::new(&what, "", pair(0.0, changes as f64), Some(Target::AtMost(0.0)));
    Ok(line.note(format!("{per_second:.0} writes/s")))
}

/// Durations of events, as lines.
fn quantiles(times: Vec<Duration>) -> Latencies {
    Latencies::new(times.into_iter().map(|time| time.as_nanos() as u64).collect())
}

/// Of few: the p99 of less than a hundred is the worst.
fn at(times: &Latencies, q: f64) -> f64 {
    let last = times.count().saturating_sub(1) as f64;
    times.quantile_ms(if last > 0.0 { (last * q).ceil() / last } else { q })
}

fn told(seen: &Seen) -> String {
    let refused: Vec<String> = seen
        .refused
        .iter()
        .map(|(word, count)| format!("{count} {word}"))
        .collect();
    format!(
        "{} connections ended; refused: {}",
        seen.dropped,
        match refused.len() {
            0 => "none".to_owned(),
            _ => refused.join(", "),
        }
    )
}

/// Where all writers are to begin.
fn addresses(cluster: &Ruvio, routed: bool) -> Vec<SocketAddr> {
    let of = |index| match routed {
        true => cluster.routed_address(index),
        false => cluster.cluster_address(index),
    };
    (0..NODES).map(of).collect()
}

/// The first shard is moved from node to node.
fn hand_overs(cluster: &Ruvio, count: usize, routed: bool) -> Result<Vec<Line>> {
    let port = if routed { "routed port" } else { "cluster port" };
    let tag = cluster.shards(0)?[0].tag.clone();
    let writers = Writers::start(&addresses(cluster, routed), &tag, &format!("h{routed}"), WRITERS);
    std::thread::sleep(AROUND);
    let (mut calm, mut gaps, mut slowest) = (Vec::new(), Vec::new(), Vec::new());
    let (mut all, mut refusals) = (Seen::default(), Vec::new());
    while gaps.len() < count {
        all.add(writers.take());
        std::thread::sleep(AROUND);
        let seen = writers.take();
        calm.push(seen.longest_gap());
        all.add(seen);

        let leader = cluster
            .index_of(cluster.shards(0)?[0].leader)
            .context("who leads")?;
        let to = (leader + 1) % NODES + 1;
        all.add(writers.take());
        if let Err(error) = cluster.control(&["transfer-leader", "0", "--to", &to.to_string()]) {
            refusals.push(format!("{error:#}"));
            ensure!(refusals.len() <= count, "hand-overs fail: {}", refusals[0]);
            continue;
        }
        std::thread::sleep(AROUND / 2);
        let seen = writers.take();
        gaps.push(seen.longest_gap());
        slowest.push(seen.slowest());
        all.add(seen);
    }
    all.add(writers.take());
    let (written, lost) = writers.finish(cluster.shards(0)?[0].leader)?;
    let (calm, gaps, slowest) = (quantiles(calm), quantiles(gaps), quantiles(slowest));
    let what = format!("hand-over under load, {port}, {count} of them");
    let line = |name: &str, q: f64, target| {
        let pair = pair(at(&calm, q), at(&gaps, q));
        Line::new(
            &format!("{what}: gap of writes (without one), {name}"),
            "ms",
            pair,
            target,
        )
    };
    let errors = Line::new(
        &format!("{what}: errors seen"),
        "",
        pair(0.0, all.errors() as f64),
        routed.then_some(Target::AtMost(0.0)),
    );
    let refused = match refusals.first() {
        Some(first) => format!("; {} hand-overs were refused, the first: {first}", refusals.len()),
        None => String::new(),
    };
    Ok(vec![
        line("p50", 0.5, None),
        line("p99", 0.99, Some(Target::AtMost(HAND_OVER_MS))),
        line("max", 1.0, None).note(format!("slowest write {:.1} ms", slowest.worst_ms())),
        errors.note(format!("{}{refused}", told(&all))),
        lost_line(&what, written, lost),
    ])
}

fn lost_line(what: &str, written: usize, lost: usize) -> Line {
    let line = Line::new(
        &format!("{what}: acknowledged writes lost"),
        "",
        pair(0.0, lost as f64),
        Some(Target::AtMost(0.0)),
    );
    line.note(format!("of {written}"))
}

/// The leader of the first shard is killed, and started again.
fn kills(cluster: &mut Ruvio, count: usize) -> Result<Vec<Line>> {
    let tag = cluster.shards(0)?[0].tag.clone();
    let writers = Writers::start(&addresses(cluster, false), &tag, "k", WRITERS);
    std::thread::sleep(AROUND);
    let (mut times, mut all) = (Vec::new(), Seen::default());
    let mut misses = 0;
    while times.len() < count {
        wait_for("a whole cluster", || Ok(cluster.has_caught_up()?.then_some(())))?;
        std::thread::sleep(AROUND);
        all.add(writers.take());
        let address = cluster.shards(0)?[0].leader;
        let victim = cluster.index_of(address).context("who leads")?;
        std::thread::sleep(Duration::from_millis(20));
        let before = writers.take();
        let led = before.acks.last().is_some_and(|ack| ack.by == address);
        all.add(before);
        if !led {
            // It has just been moved.
            misses += 1;
            ensure!(misses < 10 * count, "the leadership moves all the time");
            continue;
        }
        let killed = Instant::now();
        cluster.nodes[victim].kill();
        let first = first_elsewhere(&writers, address, killed, &mut all)?;
        times.push(first);
        std::thread::sleep(AROUND);
        cluster.nodes[victim].restart()?;
    }
    wait_for("a whole cluster", || Ok(cluster.has_caught_up()?.then_some(())))?;
    all.add(writers.take());
    let (written, lost) = writers.finish(cluster.shards(0)?[0].leader)?;
    let times = quantiles(times);
    let what = format!("kill -9 of the leader under load, {count} of them");
    let line = |name: &str, q: f64, target| {
        let what = format!("{what}: until the first acknowledged write, {name}");
        Line::new(&what, "ms", pair(0.0, at(&times, q)), target)
    };
    Ok(vec![
        line("min", 0.0, None),
        line("p50", 0.5, None),
        line("p99", 0.99, Some(Target::AtMost(FAILOVER_MS))),
        line("max", 1.0, None).note(told(&all)),
        lost_line(&what, written, lost),
    ])
}

/// How long after the kill another node acknowledged the first write. If none does, the longest time: the node that was
/// killed is started again then, and the others go on with it.
fn first_elsewhere(writers: &Writers, dead: SocketAddr, killed: Instant, all: &mut Seen) -> Result<Duration> {
    while killed.elapsed() < FAILOVER_MAX {
        std::thread::sleep(Duration::from_millis(5));
        let seen = writers.take();
        let first = seen
            .acks
            .iter()
            .find(|ack| ack.by != dead && ack.at > killed)
            .map(|ack| ack.at);
        all.add(seen);
        if let Some(first) = first {
            return Ok(first - killed);
        }
    }
    Ok(FAILOVER_MAX)
}
