//! P3: writes that survive. Both sides sync before they answer, or both each second; and what the log costs
//! beside no log at all.

use anyhow::Result;

use crate::contest::{Contest, Pair, Settings, Shape};
use crate::report::{Line, Report, Target, contest_lines};
use crate::server::{Kept, Model};
use crate::workload::{KEYS, Workload, set};

/// Connections, and the throughput that is promised over Valkey's with `appendfsync always`.
const ALWAYS: [(usize, f64); 3] = [(1, 1.0), (16, 1.3), (50, 1.5)];

pub(super) fn run(settings: &Settings) -> Result<Report> {
    let mut lines = Vec::new();
    let always = kept(settings, Kept::Always, Kept::Always);
    let contest = Contest::start(&always)?;
    let probed = set(KEYS, 16).probed();
    for (connections, rate) in ALWAYS {
        let what = format!("SET 16 B, always, {connections} connections");
        let shape = Shape {
            connections,
            depth: 1,
        };
        lines.extend(probed_lines(&contest, &probed, &what, shape, rate));
    }
    drop(contest);

    let shape = Shape {
        connections: 50,
        depth: 16,
    };
    let plain = set(KEYS, 16);
    let ahead = (Some(Target::RatioAtLeast(1.0)), None);
    let contest = Contest::start(&kept(settings, Kept::EverySecond, Kept::EverySecond))?;
    let what = "SET 16 B, everysec, P=16";
    lines.extend(super::throughput::lean_lines(
        &contest, &plain, what, shape, ahead,
    ));
    drop(contest);

    let mut own = kept(settings, Kept::Memory, Kept::EverySecond);
    own.reference = Model {
        kept: Kept::Memory,
        ..settings.subject.clone()
    };
    let contest = Contest::start(&own)?;
    let what = "SET 16 B, P=16: everysec beside our own memory mode";
    let near = (Some(Target::RatioAtLeast(0.95)), None);
    lines.extend(super::throughput::lean_lines(&contest, &plain, what, shape, near));
    Ok(Report {
        row: "p3",
        title: "SET with a log, 16-byte values; server and log share a core",
        lines,
    })
}

fn kept(settings: &Settings, reference: Kept, subject: Kept) -> Settings {
    let mut settings = settings.clone();
    settings.reference.kept = reference;
    settings.subject.kept = subject;
    settings
}

fn probed_lines(contest: &Contest, workload: &Workload, what: &str, shape: Shape, rate: f64) -> Vec<Line> {
    let pair = contest.lean(
        Pair {
            reference: workload,
            subject: workload,
        },
        shape,
    );
    match pair {
        Err(error) => vec![Line::failed(what, &error)],
        Ok(pair) => {
            let mut lines: Vec<Line> =
                contest_lines(what, pair, Some(Target::RatioAtLeast(rate)), None).into();
            let latency = Pair {
                reference: pair.reference.probe_p99_ms,
                subject: pair.subject.probe_p99_ms,
            };
            let what = format!("{what}, p99 of one more");
            lines.push(Line::new(&what, "ms", latency, Some(Target::RatioAtMost(1.0))));
            lines
        }
    }
}
