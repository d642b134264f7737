//! Two servers, the same requests, turn by turn.
//!
//! Machines drift: other work, clock rates, neighbours. So the sides alternate (A B A B …) within one run, each
//! figure is a median over the rounds, and only ratios are judged. The first run of the reference finds how many
//! requests fill the time; every later run of either side sends exactly those (same seed, same order).

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::cores::Cores;
use crate::load::{Load, Outcome, Plan, Stop};
use crate::server::usage::Cpu;
use crate::server::{Model, Server};
use crate::workload::{Fill, Workload};

const SEED: u64 = 0x0052_7576_696F;
/// A run may take so many times the time that it should; then it ends with fewer requests.
const PATIENCE: u32 = 8;
const FILL_TIME: Duration = Duration::from_secs(300);
const FILL_CONNECTIONS: usize = 4;
const FILL_DEPTH: usize = 50;

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    pub reference: Model,
    pub subject: Model,
    pub cores: Cores,
    pub rounds: usize,
    pub time: Duration,
    /// The largest keyspace of P7 and P9.
    pub keys_max: u64,
    /// How often P6 kills a leader.
    pub kills: usize,
    /// How long P6 loads a cluster in which nothing happens.
    pub steady: Duration,
}

/// One measured run of one side.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figure {
    pub requests_per_second: f64,
    /// On-CPU time of the server, microseconds a request.
    pub cpu_us: f64,
    /// Share of the time that the server was on its core: near 1 means that the server was the limit.
    pub busy: f64,
    /// Share of the time that it was ready but others had its core.
    pub waited: f64,
    /// The load's own on-CPU time, microseconds a request.
    pub load_us: f64,
    /// Share of the time that the load was ready but others had its core.
    pub load_waited: f64,
    /// The 99th percentile of the probe's latencies, if there was a probe.
    pub probe_p99_ms: f64,
}

impl Figure {
    pub fn new(requests: u64, elapsed: Duration, server: Cpu, load: Cpu) -> Self {
        let (requests, ns) = (requests.max(1) as f64, elapsed.as_nanos().max(1) as f64);
        Self {
            requests_per_second: requests * 1e9 / ns,
            cpu_us: server.ran_ns as f64 / requests / 1e3,
            busy: server.ran_ns as f64 / ns,
            waited: server.waited_ns as f64 / ns,
            load_us: load.ran_ns as f64 / requests / 1e3,
            load_waited: load.waited_ns as f64 / ns,
            probe_p99_ms: 0.0,
        }
    }

    /// Field by field.
    pub fn median(figures: &[Self]) -> Self {
        let of = |field: fn(&Self) -> f64| median(figures.iter().map(field).collect());
        Self {
            requests_per_second: of(|f| f.requests_per_second),
            cpu_us: of(|f| f.cpu_us),
            busy: of(|f| f.busy),
            waited: of(|f| f.waited),
            load_us: of(|f| f.load_us),
            load_waited: of(|f| f.load_waited),
            probe_p99_ms: of(|f| f.probe_p99_ms),
        }
    }
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}

/// The reference's figure and the subject's.
#[derive(Clone, Copy, Debug)]
pub struct Pair<T> {
    pub reference: T,
    pub subject: T,
}

/// How the load comes: connections and pipeline depth.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub connections: usize,
    pub depth: usize,
}

pub struct Contest {
    pub reference: Server,
    pub subject: Server,
    rounds: usize,
    time: Duration,
}

impl Contest {
    pub fn start(settings: &Settings) -> Result<Self> {
        Ok(Self {
            reference: Server::start(&settings.reference, settings.cores)?,
            subject: Server::start(&settings.subject, settings.cores)?,
            rounds: settings.rounds,
            time: settings.time,
        })
    }

    /// The lean load on both sides; medians.
    pub fn lean(&self, workloads: Pair<&Workload>, shape: Shape) -> Result<Pair<Figure>> {
        let sides = [
            (&self.reference, workloads.reference),
            (&self.subject, workloads.subject),
        ];
        let mut figures = [Vec::new(), Vec::new()];
        let mut stop = Stop::After(self.time);
        for round in 0..self.rounds {
            for ((server, workload), figures) in sides.iter().zip(&mut figures) {
                if round == 0 || workload.grows {
                    prepare(server, workload)?;
                }
                let (figure, requests) = measure(server, workload, shape, stop)
                    .with_context(|| format!("{} on {:?}", workload.name, server.kind))?;
                if let Stop::After(_) = stop {
                    stop = Stop::Requests {
                        count: requests,
                        within: self.time * PATIENCE,
                    };
                }
                figures.push(figure);
            }
        }
        let [reference, subject] = figures.map(|figures| Figure::median(&figures));
        Ok(Pair { reference, subject })
    }
}

/// Empties the server and fills it.
pub fn prepare(server: &Server, workload: &Workload) -> Result<()> {
    server.client()?.call(&["FLUSHALL", "SYNC"])?;
    for step in &workload.fill {
        fill(server, step)?;
    }
    Ok(())
}

/// Runs all of the fill's requests.
pub fn fill(server: &Server, step: &Fill) -> Result<Outcome> {
    let plan = Plan {
        requests: &step.requests,
        follow_up: None,
        connections: FILL_CONNECTIONS,
        depth: FILL_DEPTH,
        first_serial: 0,
        seed: SEED,
        probe: None,
    };
    let outcome = Load::connect(server.address, &plan)?.run(all_of(step))?;
    refuse_errors(&outcome)?;
    ensure_complete(&outcome, step)?;
    Ok(outcome)
}

/// One run of one side; also answers how many requests it was.
pub fn measure(server: &Server, workload: &Workload, shape: Shape, stop: Stop) -> Result<(Figure, u64)> {
    let plan = Plan {
        requests: &workload.requests,
        follow_up: workload.follow_up.as_ref(),
        connections: shape.connections,
        depth: shape.depth,
        first_serial: 0,
        seed: SEED,
        probe: workload.probe.as_ref(),
    };
    let load = Load::connect(server.address, &plan)?;
    let (server_before, load_before) = (server.cpu()?, Cpu::of_this_thread()?);
    let outcome = load.run(stop)?;
    let (server_cpu, load_cpu) = (
        server.cpu()? - server_before,
        Cpu::of_this_thread()? - load_before,
    );
    refuse_errors(&outcome)?;
    if outcome.tally.nulls > 0 {
        bail!(
            "{} of {} replies were null: the fill is not there",
            outcome.tally.nulls,
            outcome.replies
        );
    }
    let figure = Figure {
        probe_p99_ms: outcome.probe.quantile_ms(0.99),
        ..Figure::new(outcome.replies, outcome.elapsed, server_cpu, load_cpu)
    };
    Ok((figure, outcome.replies))
}

/// All of a fill, or an error: a keyspace half full would flatter.
pub fn all_of(step: &Fill) -> Stop {
    Stop::Requests {
        count: step.count,
        within: FILL_TIME,
    }
}

pub fn ensure_complete(outcome: &Outcome, step: &Fill) -> Result<()> {
    ensure!(
        outcome.replies >= step.count,
        "only {} of {} requests within {FILL_TIME:?}",
        outcome.replies,
        step.count
    );
    Ok(())
}

pub fn refuse_errors(outcome: &Outcome) -> Result<()> {
    match &outcome.tally.first_error {
        Some(error) => bail!(
            "{} of {} replies were errors: {error}",
            outcome.tally.errors,
            outcome.replies
        ),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(vec![]), 0.0);
    }
}
