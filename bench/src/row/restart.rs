//! P8: a start with what was kept. Each side ends in its own way (Valkey saves its RDB, Ruvio is told to stop and
//! takes its log into the image), and is started again on the same directory until it answers.

use anyhow::{Result, ensure};

use crate::contest::{Pair, Settings, fill, median};
use crate::report::{Line, Report, Target};
use crate::server::{Kept, Kind, Server};
use crate::workload::fill_strings;

pub(super) fn run(settings: &Settings) -> Result<Report> {
    let mut settings = settings.clone();
    // Valkey would also write and load an append-only file; its RDB alone is the faster start.
    settings.subject.kept = Kept::EverySecond;
    let keys = settings.keys_max;
    let step = fill_strings(keys, 16);
    let mut sides = Vec::new();
    for model in [&settings.reference, &settings.subject] {
        let mut server = Server::start(model, settings.cores)?;
        fill(&server, &step)?;
        if server.kind == Kind::Valkey {
            server.client()?.call(&["SAVE"])?;
        }
        let mut times = Vec::new();
        for _ in 0..settings.rounds {
            let took = server.restart(model, settings.cores)?;
            let mut client = server.client()?;
            let held = client.call(&["DBSIZE"])?;
            ensure!(
                held.integer() == i64::try_from(keys).ok(),
                "{:?} came back with {held:?} keys of {keys}",
                server.kind
            );
            times.push(took.as_secs_f64() * 1e3);
        }
        sides.push(median(times));
    }
    let what = format!("restart with {keys} keys of 16 B until it answers");
    let figures = Pair {
        reference: sides[0],
        subject: sides[1],
    };
    Ok(Report {
        row: "p8",
        title: "a start with what was kept",
        lines: vec![Line::new(&what, "ms", figures, Some(Target::RatioAtMost(0.6)))],
    })
}
