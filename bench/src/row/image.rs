//! The image: what it costs while a node serves. CPU of all its threads, memory, pauses of commands; and the disk
//! that it shares with the log.

mod cost;
mod disk;
mod pauses;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::contest::{Settings, refuse_errors};
use crate::load::{Load, Outcome, Plan, Stop};
use crate::report::{Line, Report};
use crate::server::usage::RunTime;
use crate::server::{Kept, Model, Server};
use crate::workload::{Workload, set};

const MIB: f64 = (1 << 20) as f64;
const MIB_BYTES: u64 = 1 << 20;
/// The log's length at which a run begins by itself where the image is no larger.
const WINDOW_BYTES: u64 = 256 * MIB_BYTES;
/// What a log that the image has taken in may keep: the segment that is written to, and the end of the one before.
const TAKEN_BYTES: u64 = 160 * MIB_BYTES;
/// A run, its merges included, is over by then.
const RUN_TIME: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(5);
/// Nothing works in the background when so little was used in so long.
const REST: Duration = Duration::from_millis(300);
const REST_NS: u64 = 10_000_000;
/// Writes between two looks at the log's length.
const CHUNK: u64 = 250_000;

pub(super) fn run(settings: &Settings) -> Result<Report> {
    let mut lines = cost::lines(settings);
    lines.extend(pauses::lines(settings));
    Ok(Report {
        row: "image",
        title: "the image, 16-byte keys and values; server, log and image share a core",
        lines,
    })
}

pub(super) fn run_disk(settings: &Settings) -> Result<Report> {
    Ok(Report {
        row: "disk",
        title: "what log and image take on the disk; server, log and image share a core",
        lines: disk::lines(settings),
    })
}

/// The subject with a log and an image.
fn keeping(settings: &Settings) -> Model {
    Model {
        kept: Kept::EverySecond,
        ..settings.subject.clone()
    }
}

fn lines_or_failure(what: &str, lines: Result<Vec<Line>>) -> Vec<Line> {
    lines.unwrap_or_else(|error| vec![Line::failed(what, &error)])
}

/// Overwrites of filled keys, drawn at random.
struct Overwrites {
    workload: Workload,
    seed: u64,
}

impl Overwrites {
    fn new(keys: u64, bytes: usize) -> Self {
        Self {
            workload: set(keys, bytes),
            seed: 1,
        }
    }

    /// Other keys each time.
    fn send(&mut self, server: &Server, connections: usize, depth: usize, stop: Stop) -> Result<Outcome> {
        self.seed += 1;
        let plan = Plan {
            requests: &self.workload.requests,
            follow_up: None,
            connections,
            depth,
            first_serial: 0,
            seed: self.seed,
            probe: self.workload.probe.as_ref(),
        };
        let outcome = Load::connect(server.address, &plan)?.run(stop)?;
        refuse_errors(&outcome)?;
        Ok(outcome)
    }

    /// So many writes, as fast as they go.
    fn write(&mut self, server: &Server, count: u64) -> Result<u64> {
        let stop = Stop::Requests {
            count,
            within: RUN_TIME,
        };
        Ok(self.send(server, 50, 16, stop)?.replies)
    }

    /// Writes until the log is of that length; how many.
    fn write_until(&mut self, server: &Server, bytes: u64) -> Result<u64> {
        let mut sent = 0;
        while log_bytes(server)? < bytes {
            sent += self.write(server, CHUNK)?;
        }
        Ok(sent)
    }
}

fn log_bytes(server: &Server) -> Result<u64> {
    let field = server.client()?.info("persistence", "log_bytes")?;
    Ok(field.context("INFO has no log_bytes")?.trim().parse()?)
}

/// Has the image take in the log, and waits until nothing works any more.
fn take_in(server: &Server) -> Result<()> {
    server.client()?.call(&["BGREWRITEAOF"])?;
    wait_until(server, |server| Ok(log_bytes(server)? <= TAKEN_BYTES), |_| Ok(()))?;
    rest(server)
}

/// Waits for something; `meanwhile` is called at each look.
fn wait_until(
    server: &Server,
    done: impl Fn(&Server) -> Result<bool>,
    mut meanwhile: impl FnMut(&Server) -> Result<()>,
) -> Result<()> {
    let began = Instant::now();
    while !done(server)? {
        ensure!(
            began.elapsed() < RUN_TIME,
            "no run of the image within {RUN_TIME:?}"
        );
        meanwhile(server)?;
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// Waits until the image's threads have nothing to do.
fn rest(server: &Server) -> Result<()> {
    let began = Instant::now();
    loop {
        let before = server.run_time()?;
        std::thread::sleep(REST);
        if behind_the_scenes(&before, &server.run_time()?) < REST_NS {
            return Ok(());
        }
        ensure!(began.elapsed() < RUN_TIME, "the image does not come to rest");
    }
}

/// What all threads but those of owners and log used between two looks.
fn behind_the_scenes(before: &RunTime, after: &RunTime) -> u64 {
    let all = after.process_ns.saturating_sub(before.process_ns);
    all.saturating_sub(after.serving_ns.saturating_sub(before.serving_ns))
}
