//! `ruvio-bench`: the rows that Ruvio promises to win, measured beside Valkey in one run.
//!
//! Reading order: `row` (what is promised), `contest` (how two sides are compared), `workload` (what is asked),
//! `load` (the generator), `server` (processes and their costs), `cluster` (three of them), `report` (tables).

mod client;
mod cluster;
mod contest;
mod cores;
mod load;
mod priority;
mod redis_benchmark;
mod report;
mod row;
mod server;
mod workload;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use contest::Settings;
use cores::{Cores, pin_to};
use priority::Priority;
use report::{Heading, machine};
use row::Row;
use server::{Kept, Kind, Model, Server, binary};

/// Measures Ruvio beside Valkey, both in the same run, and writes the tables.
#[derive(Parser)]
struct Arguments {
    row: Row,
    /// What is measured against Valkey. `valkey` runs it against itself: every ratio should be near 1.
    #[arg(long, value_enum, default_value = "ruvio")]
    subject: Subject,
    /// Another build of Ruvio, which then stands in Valkey's place: what a change gains.
    #[arg(long)]
    before: Option<PathBuf>,
    /// Alternating rounds; figures are medians over them.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=99))]
    rounds: u64,
    /// Seconds that one run of the reference takes.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Largest keyspace of P7 and P9.
    #[arg(long, default_value_t = 5_000_000, value_parser = clap::value_parser!(u64).range(50_000..=99_999_999))]
    keys_max: u64,
    /// How often P6 kills a leader, and as often one hands over.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1000))]
    kills: u64,
    /// Seconds of full load in which P6 looks for elections that nothing caused.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    steady: u64,
    /// Where the tables go.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/results"))]
    out: PathBuf,
    /// Priority of servers and load; below 0 (needs privileges) keeps other work on the machine out of the figures.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(-20..=19))]
    nice: i32,
    /// Fail when a target is missed.
    #[arg(long)]
    strict: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Subject {
    Ruvio,
    Valkey,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let settings = settings(&arguments)?;
    allow_many_sockets()?;
    let _priority = Priority::set(arguments.nice)?;
    server::remove_leftovers();
    let heading = heading(&settings)?;
    pin_to(settings.cores.load)?;
    if settings.cores.shared() {
        eprintln!("warning: one core for server and load; the figures say little");
    }
    let mut missed = 0;
    for row in arguments.row.parts() {
        let report = row.run(&settings)?;
        println!("{}", report.markdown(&heading, &settings));
        missed += report.missed();
        if row != Row::Quick {
            report.write(&arguments.out, &heading, &settings)?;
        }
    }
    println!("{missed} targets missed");
    if arguments.strict && missed > 0 {
        bail!("{missed} targets missed");
    }
    Ok(())
}

fn settings(arguments: &Arguments) -> Result<Settings> {
    let valkey = || -> Result<Model> {
        Ok(Model {
            kind: Kind::Valkey,
            binary: binary::valkey()?,
            kept: Kept::Memory,
        })
    };
    let reference = match &arguments.before {
        None => valkey()?,
        Some(before) => Model {
            kind: Kind::Ruvio,
            binary: before.clone(),
            kept: Kept::Memory,
        },
    };
    let subject = match arguments.subject {
        Subject::Valkey => valkey()?,
        Subject::Ruvio => Model {
            kind: Kind::Ruvio,
            binary: binary::ruvio()?,
            kept: Kept::Memory,
        },
    };
    let (rounds, seconds) = match arguments.row {
        Row::Quick => (1, arguments.seconds.min(1.0)),
        _ => (arguments.rounds as usize, arguments.seconds),
    };
    if !(0.05..=60.0).contains(&seconds) {
        bail!("--seconds is between 0.05 and 60");
    }
    let time = Duration::from_secs_f64(seconds);
    let cores = Cores::choose()?;
    Ok(Settings {
        reference,
        subject,
        cores,
        rounds,
        time,
        keys_max: arguments.keys_max,
        kills: arguments.kills as usize,
        steady: Duration::from_secs(arguments.steady),
    })
}

/// Asks both servers for their versions; so a side that does not start fails before anything is measured.
fn heading(settings: &Settings) -> Result<Heading> {
    let name = |model: &Model| -> Result<String> {
        Ok(format!(
            "{:?} {}",
            model.kind,
            Server::start(model, settings.cores)?.version()?
        ))
    };
    Ok(Heading {
        reference: name(&settings.reference)?,
        subject: name(&settings.subject)?,
        machine: machine(),
    })
}

/// Thousands of connections need as many descriptors; servers inherit the limit.
fn allow_many_sockets() -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    )
    .context("raising the limit of open files")
}
