//! The smoke row for CI: both sides run, both answer right, within a minute. No target is judged: a shared
//! runner proves nothing about speed.

use anyhow::{Result, ensure};

use crate::contest::{Contest, Pair, Settings, Shape};
use crate::report::{Report, contest_lines};
use crate::server::Server;
use crate::workload::{KEYS, get, set};

pub(super) fn run(settings: &Settings) -> Result<Report> {
    let contest = Contest::start(settings)?;
    for server in [&contest.reference, &contest.subject] {
        check_answers(server)?;
    }
    let mut lines = Vec::new();
    for workload in [get(KEYS, 16), set(KEYS, 16)] {
        let pair = contest.lean(
            Pair {
                reference: &workload,
                subject: &workload,
            },
            Shape {
                connections: 50,
                depth: 16,
            },
        )?;
        lines.extend(contest_lines(&workload.name, pair, None, None));
        for server in [&contest.reference, &contest.subject] {
            check_keyspace(server)?;
        }
    }
    Ok(Report {
        row: "quick",
        title: "smoke run of P1, nothing judged",
        lines,
    })
}

fn check_answers(server: &Server) -> Result<()> {
    let mut client = server.client()?;
    let set = client.call(&["SET", "smoke", "value"])?;
    let got = client.call(&["GET", "smoke"])?;
    ensure!(
        set.text() == Some("OK"),
        "{:?}: SET answered {set:?}",
        server.kind
    );
    ensure!(
        got.text() == Some("value"),
        "{:?}: GET answered {got:?}",
        server.kind
    );
    let deleted = client.call(&["DEL", "smoke"])?;
    ensure!(
        deleted.integer() == Some(1),
        "{:?}: DEL answered {deleted:?}",
        server.kind
    );
    Ok(())
}

/// After a load the keyspace is exactly what its requests say.
fn check_keyspace(server: &Server) -> Result<()> {
    let mut client = server.client()?;
    let size = client.call(&["DBSIZE"])?;
    ensure!(
        size.integer() == Some(KEYS as i64),
        "{:?}: DBSIZE answered {size:?}",
        server.kind
    );
    let last = client.call(&["GET", "key:000000099999"])?;
    ensure!(
        last.text() == Some("vvvvvvvvvvvvvvvv"),
        "{:?}: GET answered {last:?}",
        server.kind
    );
    Ok(())
}
