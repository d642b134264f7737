//! The log stands still: what depends on it waits in order and within bounds, and all else goes on.

use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ruvio_e2e::client::{Client, Received, encode};
use ruvio_e2e::server::Server;
use ruvio_e2e::tracer::freeze;

use super::{ALONE, SPREAD, WRITER, keeping};

/// So long nothing comes of what waits.
const SILENCE: Duration = Duration::from_millis(150);
const DURABILITIES: [&str; 2] = ["everysec", "always"];

fn send(client: &mut Client, lines: &[&str]) -> Result<()> {
    let mut request = Vec::new();
    for line in lines {
        encode(&line.split(' ').collect::<Vec<_>>(), &mut request);
    }
    client.send_raw(&request)
}

fn expect(client: &mut Client, answers: &[&str]) -> Result<()> {
    for wanted in answers {
        assert_eq!(client.reply()?.to_string(), *wanted);
    }
    Ok(())
}

fn is_silent(client: &mut Client) -> Result<bool> {
    Ok(client.receive(SILENCE)? == Received::Nothing)
}

/// Enough for each owner to have some of the connections.
fn clients(server: &Server) -> Result<Vec<Client>> {
    (0..6).map(|_| server.client()).collect()
}

fn order(durability: &str, flags: &[&str]) -> Result<()> {
    let server = keeping(durability, flags)?;
    let mut first = server.client()?;
    for nth in 0..20 {
        first.say(&format!("SET old{nth} {nth}"))?;
    }
    let frozen = freeze(server.pid(), WRITER)?;
    let mut writers = clients(&server)?;
    for (nth, writer) in writers.iter_mut().enumerate() {
        let set = format!("SET new{nth} 1");
        let get = format!("GET new{nth}");
        let lines = [&set, "GET old3", &get, "INCR counter", "GET old4", "NOSUCH", &set];
        send(writer, &lines)?;
    }
    // Reads of what nobody has changed pass at once, on whatever connection but those that are owed something.
    for (nth, reader) in clients(&server)?.iter_mut().enumerate() {
        expect_say(reader, &format!("GET old{nth}"), &format!("\"{nth}\""))?;
        expect_say(reader, "MGET old7 old8 old9", "[\"7\", \"8\", \"9\"]")?;
        expect_say(reader, "EXISTS old1 old2", ":2")?;
        expect_say(reader, "PING", "+PONG")?;
    }
    let mut curious = clients(&server)?;
    let looks = [
        "GET new0",
        "GET counter",
        "MGET old1 new1",
        "DBSIZE",
        "KEYS new*",
        "EXISTS new2",
    ];
    for (reader, look) in curious.iter_mut().zip(looks) {
        send(reader, &[look, "GET old5"])?;
    }
    for client in writers.iter_mut().chain(&mut curious) {
        ensure!(is_silent(client)?, "something uncommitted was shown");
    }
    drop(frozen);
    let mut counts = Vec::new();
    for writer in &mut writers {
        expect(writer, &["+OK", "\"3\"", "\"1\""])?;
        counts.push(writer.reply()?.as_integer().context("a count")?);
        expect(writer, &["\"4\""])?;
        ensure!(writer.reply()?.is_error(), "NOSUCH is no command");
        expect(writer, &["+OK"])?;
    }
    counts.sort_unstable();
    assert_eq!(counts, [1, 2, 3, 4, 5, 6]);
    let shown: Vec<String> = curious
        .iter_mut()
        .map(|reader| Ok(reader.reply()?.to_string()))
        .collect::<Result<_>>()?;
    assert_eq!(shown[0], "\"1\"");
    assert_eq!(shown[1], "\"6\"");
    assert_eq!(shown[2], "[\"1\", \"1\"]");
    assert_eq!(shown[3], ":27");
    assert_eq!(shown[4].matches("new").count(), 6, "{}", shown[4]);
    assert_eq!(shown[5], ":1");
    for reader in &mut curious {
        expect(reader, &["\"5\""])?;
    }
    Ok(())
}

fn expect_say(client: &mut Client, line: &str, wanted: &str) -> Result<()> {
    let answer = client.say(line).with_context(|| line.to_owned())?;
    assert_eq!(answer.to_string(), wanted, "{line}");
    Ok(())
}

#[test]
fn pipelines_keep_their_order_and_other_reads_pass() -> Result<()> {
    for durability in DURABILITIES {
        order(durability, ALONE).context("one owner")?;
        order(durability, SPREAD).context("two owners")?;
    }
    Ok(())
}

/// What one client's change gives another waits for the log as the reply does.
#[test]
fn nobody_is_handed_what_the_log_has_not() -> Result<()> {
    for (durability, flags) in [("everysec", ALONE), ("always", SPREAD)] {
        let server = keeping(durability, flags)?;
        let (mut waiter, mut subscriber, mut pusher) = (server.client()?, server.client()?, server.client()?);
        expect_say(&mut pusher, "CONFIG SET notify-keyspace-events KEA", "+OK")?;
        subscriber.say("SUBSCRIBE __keyevent@0__:rpush")?;
        send(&mut waiter, &["BLPOP queue 0"])?;
        ensure!(is_silent(&mut waiter)?);
        let frozen = freeze(server.pid(), WRITER)?;
        send(&mut pusher, &["RPUSH queue job"])?;
        for client in [&mut waiter, &mut subscriber, &mut pusher] {
            ensure!(
                is_silent(client)?,
                "{durability}: something uncommitted was handed out"
            );
        }
        drop(frozen);
        expect(&mut waiter, &["[\"queue\", \"job\"]"])?;
        expect(
            &mut subscriber,
            &["[\"message\", \"__keyevent@0__:rpush\", \"queue\"]"],
        )?;
        expect(&mut pusher, &[":1"])?;
    }
    Ok(())
}

/// Writes until the server takes nothing more for a while; how many commands went out whole.
fn flood(server: &Server, command: &[u8], count: usize) -> Result<usize> {
    let mut stream = TcpStream::connect(server.addr())?;
    stream.set_write_timeout(Some(Duration::from_millis(400)))?;
    for sent in 0..count {
        let mut rest = command;
        while !rest.is_empty() {
            match stream.write(rest) {
                Ok(wrote) => rest = &rest[wrote..],
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return Ok(sent);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(count)
}

#[test]
fn a_log_that_stands_still_bounds_what_is_taken() -> Result<()> {
    const VALUE: usize = 100 << 10;
    /// Far more than may be taken.
    const COMMANDS: usize = 2000;
    const CLIENTS: usize = 8;
    for flags in [ALONE, SPREAD] {
        let server = keeping("always", flags)?;
        server.client()?.say("SET old 1")?;
        let before = server.rss_bytes()?;
        let frozen = freeze(server.pid(), WRITER)?;
        let taken: usize = std::thread::scope(|scope| {
            let flooding: Vec<_> = (0..CLIENTS)
                .map(|name| {
                    let mut command = Vec::new();
                    encode(
                        &[b"SET".as_slice(), &[b'0' + name as u8], &vec![b'v'; VALUE]],
                        &mut command,
                    );
                    let server = &server;
                    scope.spawn(move || flood(server, &command, COMMANDS))
                })
                .collect();
            let taken = flooding
                .into_iter()
                .map(|thread| thread.join().expect("no panic"));
            taken.sum::<Result<usize>>()
        })?;
        let (taken_mib, all_mib) = ((taken * VALUE) >> 20, (CLIENTS * COMMANDS * VALUE) >> 20);
        let grown_mib = server.rss_bytes()?.saturating_sub(before) >> 20;
        println!("{flags:?}: {taken_mib} of {all_mib} MiB taken, {grown_mib} MiB more memory");
        ensure!(taken_mib < all_mib / 4, "{taken_mib} of {all_mib} MiB were taken");
        ensure!(grown_mib < 256, "{grown_mib} MiB more for {taken_mib} MiB");
        drop(frozen);
        expect_say(&mut server.client()?, "SET after 1", "+OK")?;
    }
    Ok(())
}

#[test]
fn replies_that_wait_are_bounded_and_all_arrive() -> Result<()> {
    const VALUE: usize = 1 << 20;
    const LOOKS: usize = 60;
    let server = keeping("everysec", ALONE)?;
    let mut writer = server.client()?;
    expect_say(&mut writer, "SET small 1", "+OK")?;
    let mut readers = clients(&server)?;
    let before = server.rss_bytes()?;
    let frozen = freeze(server.pid(), WRITER)?;
    writer.send(&[b"SET".as_slice(), b"large", &vec![b'v'; VALUE]])?;
    // It has to be executed before the looks.
    std::thread::sleep(SILENCE);
    for reader in &mut readers {
        for _ in 0..LOOKS {
            reader.send(&["GET", "large"])?;
        }
        reader.send(&["GET", "small"])?;
    }
    std::thread::sleep(4 * SILENCE);
    let grown_mib = server.rss_bytes()?.saturating_sub(before) >> 20;
    println!("{grown_mib} MiB for {} replies of 1 MiB", readers.len() * LOOKS);
    ensure!(grown_mib < 200, "{grown_mib} MiB more");
    drop(frozen);
    expect(&mut writer, &["+OK"])?;
    for reader in &mut readers {
        for _ in 0..LOOKS {
            assert_eq!(reader.reply()?.text().map(<[u8]>::len), Some(VALUE));
        }
        expect(reader, &["\"1\""])?;
    }
    Ok(())
}
