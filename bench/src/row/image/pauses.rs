//! Pauses of commands: a probe beside a light load, with a run of the image and the purge behind it under way, and
//! without. One of both is always on its way, so each pause is met; the sides take turns.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::{Overwrites, TAKEN_BYTES, keeping, lines_or_failure, log_bytes, rest, take_in};
use crate::contest::{Pair, Settings, fill, median};
use crate::load::template::words;
use crate::load::{Latencies, Stop};
use crate::report::{Line, Target};
use crate::server::Server;
use crate::workload::fill_strings;

const KEYS: u64 = 1_000_000;
/// What the run that is looked at takes in: below the length at which one begins by itself.
const TAIL_BYTES: u64 = 200 << 20;
/// Long enough for the run, and the purge of four segments.
const TIME: Duration = Duration::from_secs(3);
const CAUSED_MS_MAX: f64 = 1.0;
/// Upper ends of the histogram's columns, ms.
const COLUMNS_MS: [f64; 7] = [0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0];

pub(super) fn lines(settings: &Settings) -> Vec<Line> {
    lines_or_failure("pauses with a run of the image", measure(settings))
}

fn measure(settings: &Settings) -> Result<Vec<Line>> {
    let server = Server::start(&keeping(settings), settings.cores)?;
    server.client()?.call(&["SET", "probe", "here"])?;
    fill(&server, &fill_strings(KEYS, 16))?;
    take_in(&server)?;
    let mut overwrites = Overwrites::new(KEYS, 16);
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..settings.rounds {
        without.push(probe(&mut overwrites, &server)?);
        overwrites.write_until(&server, TAIL_BYTES)?;
        rest(&server)?;
        server.client()?.call(&["BGREWRITEAOF"])?;
        with.push(probe(&mut overwrites, &server)?);
        ensure!(
            log_bytes(&server)? <= TAKEN_BYTES,
            "the run was not over within {TIME:?}"
        );
        rest(&server)?;
    }
    Ok(report(&without, &with))
}

/// A load that leaves the core time for the image, and the latencies of a command that waits for nothing.
fn probe(overwrites: &mut Overwrites, server: &Server) -> Result<Latencies> {
    overwrites.workload.probe = Some(words("GET probe"));
    let outcome = overwrites.send(server, 1, 4, Stop::After(TIME));
    overwrites.workload.probe = None;
    Ok(outcome?.probe)
}

fn report(without: &[Latencies], with: &[Latencies]) -> Vec<Line> {
    let side = |sides: &[Latencies], of: &dyn Fn(&Latencies) -> f64| median(sides.iter().map(of).collect());
    let pair = |of: &dyn Fn(&Latencies) -> f64| Pair {
        reference: side(without, of),
        subject: side(with, of),
    };
    let mut lines: Vec<Line> = [
        ("median", 0.5),
        ("p99", 0.99),
        ("p99.9", 0.999),
        ("p99.99", 0.9999),
    ]
    .into_iter()
    .map(|(name, quantile)| {
        let what = format!("a GET beside writes, {name}: without a run, with one");
        Line::new(&what, "ms", pair(&|l| l.quantile_ms(quantile)), None)
    })
    .collect();
    let worst = pair(&Latencies::worst_ms);
    let what = "the same, the slowest";
    lines.push(Line::new(what, "ms", worst, None).note(format!(
        "without: {}; with: {}",
        histogram(without),
        histogram(with)
    )));
    let caused = Pair {
        reference: 0.0,
        subject: (worst.subject - worst.reference).max(0.0),
    };
    let what = "the slowest with a run, above the slowest without one";
    lines.push(Line::new(what, "ms", caused, Some(Target::AtMost(CAUSED_MS_MAX))));
    lines
}

/// How many took at most so long, column by column.
fn histogram(sides: &[Latencies]) -> String {
    let over = |ms| sides.iter().map(|side| side.over_ms(ms)).sum::<usize>();
    let mut left: usize = sides.iter().map(Latencies::count).sum();
    let mut columns = Vec::new();
    for ms in COLUMNS_MS {
        columns.push(format!("≤ {ms} ms {}", left - over(ms)));
        left = over(ms);
    }
    columns.push(format!("more {left}"));
    columns.join(", ")
}
