//! P9: what a request costs when there are more keys, and when there are more connections.
//!
//! All keyspaces are held at once, each by its own server, and every round visits all of them: a ratio between
//! two sizes would otherwise compare two moments of the machine.

use anyhow::{Context, Result};

use crate::contest::{Contest, Figure, Pair, Settings, Shape, fill, measure};
use crate::load::Stop;
use crate::report::{Line, Report, Target, contest_lines};
use crate::row::throughput::lean_lines;
use crate::server::{Model, Server};
use crate::workload::{KEYS, Workload, fill_strings, get};

/// Growth of the keyspace and what it may cost, as a factor on the smallest.
const GROWTH: [(u64, f64); 2] = [(10, 1.1), (50, 1.25)];
const CONNECTIONS: [(usize, Option<f64>); 3] = [(50, None), (500, Some(0.85)), (5000, Some(0.85))];

pub(super) fn run(settings: &Settings) -> Result<Report> {
    let mut lines = match keys(settings) {
        Ok(lines) => lines,
        Err(error) => vec![Line::failed("more keys", &error)],
    };
    lines.extend(connections(settings)?);
    Ok(Report {
        row: "p9",
        title: "CPU a request with more keys and more connections",
        lines,
    })
}

/// A server that holds so many keys, and what its rounds cost.
struct Holder {
    server: Server,
    workload: Workload,
    figures: Vec<Figure>,
}

impl Holder {
    fn start(model: &Model, settings: &Settings, keys: u64) -> Result<Self> {
        let server = Server::start(model, settings.cores)?;
        fill(&server, &fill_strings(keys, 16))?;
        Ok(Self {
            server,
            workload: get(keys, 16),
            figures: Vec::new(),
        })
    }
}

fn keys(settings: &Settings) -> Result<Vec<Line>> {
    let smallest = (settings.keys_max / 50).max(1000);
    let counts: Vec<u64> = [1]
        .into_iter()
        .chain(GROWTH.map(|(factor, _)| factor))
        .map(|f| smallest * f)
        .collect();
    let mut holders = Vec::new();
    for &count in &counts {
        holders.push(Holder::start(&settings.reference, settings, count).context("reference")?);
        holders.push(Holder::start(&settings.subject, settings, count).context("subject")?);
    }
    let mut lines = Vec::new();
    for depth in [16, 1] {
        let shape = Shape {
            connections: 50,
            depth,
        };
        for holder in &mut holders {
            holder.figures.clear();
        }
        for _ in 0..settings.rounds {
            for holder in &mut holders {
                let (figure, _) = measure(
                    &holder.server,
                    &holder.workload,
                    shape,
                    Stop::After(settings.time),
                )?;
                holder.figures.push(figure);
            }
        }
        let pairs: Vec<Pair<Figure>> = holders
            .chunks(2)
            .map(|pair| Pair {
                reference: Figure::median(&pair[0].figures),
                subject: Figure::median(&pair[1].figures),
            })
            .collect();
        for (count, pair) in counts.iter().zip(&pairs) {
            let [_, cpu] = contest_lines(&format!("GET, P={depth}, {count} keys"), *pair, None, None);
            lines.push(cpu);
        }
        for ((factor, most), pair) in GROWTH.iter().zip(&pairs[1..]) {
            let growth = Pair {
                reference: pair.reference.cpu_us / pairs[0].reference.cpu_us,
                subject: pair.subject.cpu_us / pairs[0].subject.cpu_us,
            };
            let what = format!("GET, P={depth}, {factor}× the keys");
            lines.push(Line::new(&what, "× the CPU", growth, Some(Target::AtMost(*most))));
        }
    }
    Ok(lines)
}

fn connections(settings: &Settings) -> Result<Vec<Line>> {
    let contest = Contest::start(settings)?;
    let mut lines = Vec::new();
    for (connections, most) in CONNECTIONS {
        let shape = Shape {
            connections,
            depth: 1,
        };
        let what = format!("GET, P=1, {connections} connections");
        lines.extend(lean_lines(
            &contest,
            &get(KEYS, 16),
            &what,
            shape,
            (None, most.map(Target::RatioAtMost)),
        ));
    }
    Ok(lines)
}
