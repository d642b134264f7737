//! The disk fails: the process ends, says why in one sentence, and has acknowledged nothing that it does not have.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use ruvio_e2e::client::{Client, Received};
use ruvio_e2e::tracer::{Call, fail_calls};

use super::{ALONE, SPREAD, WRITER, keeping, last_words};

/// As in sysexits.h: an error of input or output.
const EXIT_IO: i32 = 74;

/// Writes until the connection ends; how many were acknowledged.
fn write_on(client: &mut Client) -> Result<usize> {
    for nth in 0..1_000_000 {
        // A connection that is closed may not take the command either.
        if client.send(&["SET", &format!("key{nth}"), "1"]).is_err() {
            return Ok(nth);
        }
        match client.receive(Duration::from_secs(10)) {
            Ok(Received::Reply(answer)) => ensure!(answer.to_string() == "+OK", "{answer}"),
            Ok(Received::Closed) | Err(_) => return Ok(nth),
            Ok(Received::Nothing) => bail!("neither an answer nor an end"),
        }
    }
    bail!("it does not end")
}

fn test(durability: &str, flags: &[&str], thread: &str, call: Call, words: &str) -> Result<()> {
    let mut server = keeping(durability, flags)?;
    let mut client = server.client()?;
    assert_eq!(client.say("SET before 1")?.to_string(), "+OK");
    fail_calls(server.pid(), thread, call)?;
    let acknowledged = write_on(&mut client)?;
    if durability == "always" && thread == WRITER {
        assert_eq!(acknowledged, 0, "the disk never had it");
    }
    let status = server.wait()?;
    assert_eq!(status.code(), Some(EXIT_IO), "{}", server.log());
    let said = last_words(&server);
    ensure!(said.contains(words) && said.contains("(os error 5)"), "{said}");
    ensure!(!server.log().contains("panicked"), "{}", server.log());
    server.start_again()?;
    let mut client = server.client()?;
    assert_eq!(client.say("GET before")?.to_string(), "\"1\"");
    for nth in 0..acknowledged {
        let value = client.call(&["GET", &format!("key{nth}")])?;
        assert_eq!(value.to_string(), "\"1\"", "key{nth} of {acknowledged}");
    }
    Ok(())
}

#[test]
fn a_failed_sync_ends_the_process() -> Result<()> {
    test("always", ALONE, WRITER, Call::Sync, "cannot sync")?;
    test("always", SPREAD, WRITER, Call::Sync, "cannot sync")?;
    test("everysec", ALONE, WRITER, Call::Sync, "cannot sync")
}

/// What was acknowledged on a disk that syncs nothing, after the durability was changed while the node ran.
fn acknowledged_after(start: &str, change: &[&str], flags: &[&str]) -> Result<usize> {
    let mut server = keeping(start, flags)?;
    let mut clients = (0..4).map(|_| server.client()).collect::<Result<Vec<_>>>()?;
    let answer = clients[0]
        .call(&[&["CONFIG", "SET"], change].concat())?
        .to_string();
    ensure!(answer == "+OK", "{answer}");
    clients[1].say("SET before 1")?;
    clients[1].say("WAITAOF 1 0 0")?;
    fail_calls(server.pid(), WRITER, Call::Sync)?;
    let acknowledged = write_on(&mut clients[2])?;
    assert_eq!(server.wait()?.code(), Some(EXIT_IO), "{}", server.log());
    Ok(acknowledged)
}

#[test]
fn durability_that_is_set_while_it_runs_is_the_one_that_counts() -> Result<()> {
    for flags in [ALONE, SPREAD] {
        for change in [["appendfsync", "always"], ["durability", "always"]] {
            let acknowledged = acknowledged_after("everysec", &change, flags)?;
            assert_eq!(acknowledged, 0, "the disk never had it");
        }
        for change in [["appendfsync", "no"], ["durability", "everysec"]] {
            let acknowledged = acknowledged_after("always", &change, flags)?;
            ensure!(acknowledged > 0, "{change:?}: every write was synced");
        }
    }
    Ok(())
}

#[test]
fn a_failed_write_ends_the_process() -> Result<()> {
    test("always", ALONE, WRITER, Call::Write, "cannot write")?;
    test("everysec", SPREAD, WRITER, Call::Write, "cannot write")
}
