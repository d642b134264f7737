//! A server's life: growth to many keys, the deletion of nine in ten, and what memory comes back.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::{By, settled};
use crate::client::Client;
use crate::contest::{Pair, Settings, all_of, ensure_complete, refuse_errors};
use crate::load::template::{Source, words};
use crate::load::{Load, Outcome, Plan};
use crate::report::{Line, Target};
use crate::server::usage::{Cpu, Memory};
use crate::server::{Kind, Model, Server};
use crate::workload::{Fill, fill_strings, key, request};

/// How long memory may take to come back after the deletion.
const RETURN_TIME: Duration = Duration::from_secs(20);
/// Deleting 90 % of the keys should give back nearly 90 % of the growth.
const RETURNED_SHARE: f64 = 0.8;
const SLOW_MS: f64 = 1.0;
const MIB: f64 = (1 << 20) as f64;
/// What the server's slow log keeps, microseconds.
const LOGGED_US: &str = "100";

pub(super) fn lines(settings: &Settings) -> Vec<Line> {
    match (
        life(settings, &settings.reference),
        life(settings, &settings.subject),
    ) {
        (Ok(reference), Ok(subject)) => life_lines(settings.keys_max, &Pair { reference, subject }),
        (reference, subject) => [reference.err(), subject.err()]
            .iter()
            .flatten()
            .map(|error| Line::failed("growth and deletion", error))
            .collect(),
    }
}

/// A server's growth to many keys and the deletion of nine in ten.
struct Life {
    /// Growth, deletion.
    phases: [Phase; 2],
    start: Memory,
    peak: Memory,
    left: Memory,
}

struct Phase {
    outcome: Outcome,
    /// The slowest command by the server's own log, ms; None if none was slow enough to be logged.
    slowest_ms: Option<f64>,
    slow_commands: usize,
    /// How long the server was ready and others had its core: a pause that is not its own.
    waited_ms: f64,
}

fn life(settings: &Settings, model: &Model) -> Result<Life> {
    let server = Server::start(model, settings.cores)?;
    server.client()?.call(&["SET", "probe", "here"])?;
    let start = settled(&server)?;
    let keys = settings.keys_max;
    let growth = run_phase(&server, fill_strings(keys, 16)).context("growth")?;
    let peak = settled(&server)?;
    let deletes = Fill {
        requests: vec![request("DEL", [key(Source::SerialButTenths)])],
        count: keys / 10 * 9,
    };
    let deletion = run_phase(&server, deletes).context("deletion")?;
    let left = after_return(&server)?;
    Ok(Life {
        phases: [growth, deletion],
        start,
        peak,
        left,
    })
}

/// A moderate load (what is timed is the server, not a queue), with a probe and the slow log.
fn run_phase(server: &Server, step: Fill) -> Result<Phase> {
    let mut client = server.client()?;
    log_slow_commands(server.kind, &mut client)?;
    let probe = words("GET probe");
    let plan = Plan {
        requests: &step.requests,
        follow_up: None,
        connections: 1,
        depth: 16,
        first_serial: 0,
        seed: 1,
        probe: Some(&probe),
    };
    let before = server.cpu()?;
    let outcome = Load::connect(server.address, &plan)?.run(all_of(&step))?;
    let Cpu { waited_ns, .. } = server.cpu()? - before;
    refuse_errors(&outcome)?;
    ensure_complete(&outcome, &step)?;
    let log = client.call(&["SLOWLOG", "GET", "-1"])?;
    let slow: Vec<f64> = log
        .elements()
        .iter()
        .filter_map(|entry| entry.elements().get(2)?.integer())
        .map(|microseconds| microseconds as f64 / 1e3)
        .collect();
    let slow_commands = slow.iter().filter(|&&ms| ms > SLOW_MS).count();
    Ok(Phase {
        outcome,
        slowest_ms: slow.into_iter().max_by(f64::total_cmp),
        slow_commands,
        waited_ms: waited_ns as f64 / 1e6,
    })
}

/// Valkey renamed the slow log's options in 8.1.
fn log_slow_commands(kind: Kind, client: &mut Client) -> Result<()> {
    let (threshold, length) = match kind {
        Kind::Valkey => (
            "commandlog-execution-slower-than",
            "commandlog-slow-execution-max-len",
        ),
        Kind::Ruvio => ("slowlog-log-slower-than", "slowlog-max-len"),
    };
    client.call(&["CONFIG", "SET", threshold, LOGGED_US, length, "100000"])?;
    client.call(&["SLOWLOG", "RESET"])?;
    Ok(())
}

/// Memory once it no longer falls.
fn after_return(server: &Server) -> Result<Memory> {
    let deadline = Instant::now() + RETURN_TIME;
    let mut least = server.memory()?;
    let mut unchanged = 0;
    while unchanged < 4 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_secs(1));
        let now = server.memory()?;
        unchanged = if now.rss_bytes + (1 << 20) < least.rss_bytes {
            0
        } else {
            unchanged + 1
        };
        if now.rss_bytes < least.rss_bytes {
            least = now;
        }
    }
    Ok(least)
}

fn life_lines(keys: u64, life: &Pair<Life>) -> Vec<Line> {
    let growth = format!("growth to {} M keys", keys as f64 / 1e6);
    let [grown, deleted] = [0, 1].map(|index| Pair {
        reference: &life.reference.phases[index],
        subject: &life.subject.phases[index],
    });
    let mut lines = phase_lines(&growth, &grown);
    lines.extend(phase_lines("deletion of 90 %", &deleted));
    lines.extend(By::BOTH.map(|by| returned_line(by, life)));
    lines
}

fn phase_lines(name: &str, phases: &Pair<&Phase>) -> Vec<Line> {
    let line = |what: &str, unit, figure: fn(&Phase) -> f64, target| {
        let figures = Pair {
            reference: figure(phases.reference),
            subject: figure(phases.subject),
        };
        Line::new(&format!("{name}: {what}"), unit, figures, target)
    };
    let over = |count: fn(&Phase) -> usize| {
        format!(
            "over {SLOW_MS} ms: {}/{}",
            count(phases.reference),
            count(phases.subject)
        )
    };
    let slowest = |phase: &Phase| phase.slowest_ms.unwrap_or(0.0);
    vec![
        line(
            "slowest command by SLOWLOG",
            "ms",
            slowest,
            Some(Target::AtMost(SLOW_MS)),
        )
        .note(over(|phase| phase.slow_commands) + "; 0: none above 0.1 ms"),
        line(
            "worst of a probe",
            "ms",
            |phase| phase.outcome.probe.worst_ms(),
            None,
        )
        .note(over(|phase| phase.outcome.probe.over_ms(SLOW_MS)) + "; scheduling of both cores included"),
        line(
            "p99.9 of a probe",
            "ms",
            |phase| phase.outcome.probe.quantile_ms(0.999),
            None,
        ),
        line(
            "server waited for its core",
            "ms in all",
            |phase| phase.waited_ms,
            None,
        ),
    ]
}

fn returned_line(by: By, life: &Pair<Life>) -> Line {
    let share = |life: &Life| {
        let (start, peak, left) = (by.bytes(&life.start), by.bytes(&life.peak), by.bytes(&life.left));
        (peak - left) / (peak - start).max(1.0)
    };
    let fall = |life: &Life| {
        format!(
            "{:.0} → {:.0} MiB",
            by.bytes(&life.peak) / MIB,
            by.bytes(&life.left) / MIB
        )
    };
    let figures = Pair {
        reference: share(&life.reference),
        subject: share(&life.subject),
    };
    let what = format!("growth given back after deleting 90 %, by {}", by.name());
    Line::new(&what, "share", figures, Some(Target::AtLeast(RETURNED_SHARE))).note(format!(
        "{}; {}",
        fall(&life.reference),
        fall(&life.subject)
    ))
}
