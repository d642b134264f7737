//! Calls fail that make room ahead of the log, on a thread of their own: what the disk cannot do ends the process or
//! closes it to writes, and what it only does not know is done in another way.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use ruvio_e2e::client::{Client, Received};
use ruvio_e2e::server::Server;
use ruvio_e2e::tracer::{Call, fail_calls_with};

use super::{ALONE, SPREAD, keeping, last_words};

const FILLER: &str = "log-filler";
const EXIT_IO: i32 = 74;
const EIO: i32 = 5;
const ENOSPC: i32 = 28;
const EOPNOTSUPP: i32 = 95;

const VALUE: usize = 64 << 10;
/// More than what is there ahead, the reserve included.
const WRITES: usize = (64 << 20) / VALUE;

#[derive(PartialEq, Eq, Debug)]
enum Stop {
    Refused,
    Closed,
    Never,
}

/// Writes until it is refused, cut off, or was enough; how many were acknowledged.
fn write_on(client: &mut Client) -> Result<(usize, Stop)> {
    let value = vec![b'v'; VALUE];
    for nth in 0..WRITES {
        if client
            .send(&[b"SET".as_slice(), format!("key{nth}").as_bytes(), &value])
            .is_err()
        {
            return Ok((nth, Stop::Closed));
        }
        match client.receive(Duration::from_secs(10)) {
            Ok(Received::Reply(answer)) if answer.to_string().starts_with("-MISCONF ") => {
                return Ok((nth, Stop::Refused));
            }
            Ok(Received::Reply(answer)) => ensure!(answer.to_string() == "+OK", "{answer}"),
            Ok(Received::Closed) | Err(_) => return Ok((nth, Stop::Closed)),
            Ok(Received::Nothing) => bail!("neither an answer nor an end"),
        }
    }
    Ok((WRITES, Stop::Never))
}

fn begin(durability: &str, flags: &[&str], call: Call, error: i32) -> Result<(Server, usize, Stop)> {
    let server = keeping(durability, flags)?;
    let mut client = server.client()?;
    assert_eq!(client.say("SET before 1")?.to_string(), "+OK");
    fail_calls_with(server.pid(), FILLER, call, error)?;
    let (acknowledged, stop) = write_on(&mut client)?;
    ensure!(!server.log().contains("panicked"), "{}", server.log());
    Ok((server, acknowledged, stop))
}

fn check(server: &mut Server, acknowledged: usize) -> Result<()> {
    server.start_again()?;
    let mut client = server.client()?;
    assert_eq!(client.say("GET before")?.to_string(), "\"1\"");
    for nth in 0..acknowledged {
        let len = client.say(&format!("STRLEN key{nth}"))?.as_integer();
        ensure!(len == Some(VALUE as i64), "key{nth} of {acknowledged}: {len:?}");
    }
    assert_eq!(client.say("SET after 1")?.to_string(), "+OK");
    Ok(())
}

#[test]
fn what_fails_ahead_of_the_log_ends_the_process() -> Result<()> {
    for (durability, flags, call, error, words) in [
        ("always", ALONE, Call::Write, EIO, "cannot write"),
        ("everysec", SPREAD, Call::Write, EIO, "cannot write"),
        // There was room: whoever says otherwise now has lost what was set aside.
        ("everysec", ALONE, Call::Write, ENOSPC, "cannot write"),
        ("always", SPREAD, Call::Sync, EIO, "cannot sync"),
        ("everysec", ALONE, Call::Sync, EIO, "cannot sync"),
        ("everysec", ALONE, Call::Allocate, EIO, "cannot extend"),
    ] {
        let (mut server, acknowledged, stop) = begin(durability, flags, call, error)?;
        assert_eq!(stop, Stop::Closed, "{durability} {call:?}");
        let status = server.wait()?;
        assert_eq!(status.code(), Some(EXIT_IO), "{}", server.log());
        let said = last_words(&server);
        let code = format!("(os error {error})");
        ensure!(said.contains(words) && said.contains(&code), "{call:?}: {said}");
        check(&mut server, acknowledged)?;
    }
    Ok(())
}

#[test]
fn without_room_ahead_writes_are_refused_and_reads_go_on() -> Result<()> {
    for durability in ["always", "everysec"] {
        let (mut server, acknowledged, stop) = begin(durability, ALONE, Call::Allocate, ENOSPC)?;
        assert_eq!(stop, Stop::Refused, "{durability}: after {acknowledged}");
        let mut client = server.client()?;
        assert_eq!(client.say("GET before")?.to_string(), "\"1\"");
        ensure!(client.say("SET before 2")?.to_string().starts_with("-MISCONF "));
        server.kill(None)?;
        check(&mut server, acknowledged)?;
        assert_eq!(server.client()?.say("GET before")?.to_string(), "\"1\"");
    }
    Ok(())
}

#[test]
fn a_file_system_that_sets_no_room_aside_is_written_to() -> Result<()> {
    let (mut server, acknowledged, stop) = begin("everysec", ALONE, Call::Allocate, EOPNOTSUPP)?;
    assert_eq!(stop, Stop::Never, "{}", server.log());
    server.kill(None)?;
    check(&mut server, acknowledged)
}
