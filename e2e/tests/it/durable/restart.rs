//! The end of a process and the start of the next: what was acknowledged is there, clients are told what is the
//! matter meanwhile, and a directory that is not to be used is refused with the way out.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ruvio_e2e::client::{Client, encode};
use ruvio_e2e::server::{Kind, Server};

const SHARDED: &[&str] = &["--shards", "6", "--owner-threads", "2"];

fn start(durability: &str, more: &[&str]) -> Result<Server> {
    let debug = ["--enable-debug-command", "yes"];
    let flags = [&["--durability", durability][..], &debug, more].concat();
    Server::start(Kind::Ruvio, &flags)
}

/// Sends all of it at once; how many were answered before the end.
fn pour(client: &mut Client, commands: &[Vec<String>]) -> Result<usize> {
    let mut bytes = Vec::new();
    for command in commands {
        encode(
            &command.iter().map(String::as_str).collect::<Vec<_>>(),
            &mut bytes,
        );
    }
    client.send_raw(&bytes)?;
    Ok((0..commands.len())
        .take_while(|_| client.reply().is_ok_and(|answer| answer.to_string() == "+OK"))
        .count())
}

fn sets(count: usize) -> Vec<Vec<String>> {
    let set = |nth| vec!["SET".to_owned(), format!("key{nth}"), format!("value{nth}")];
    (0..count).map(set).collect()
}

#[test]
fn a_signal_ends_it_with_nothing_lost_and_nobody_left_without_an_answer() -> Result<()> {
    for (durability, more) in [("everysec", &[][..]), ("always", &[]), ("always", SHARDED)] {
        for end in ["TERM", "INT", "SHUTDOWN"] {
            let mut server = start(durability, more)?;
            let mut client = server.client()?;
            let mut other = server.client()?;
            let writer = std::thread::spawn(move || -> Result<usize> {
                let mut answered = 0;
                for part in sets(20_000).chunks(100) {
                    let got = pour(&mut client, part).unwrap_or(0);
                    answered += got;
                    if got < part.len() {
                        break;
                    }
                }
                Ok(answered)
            });
            std::thread::sleep(Duration::from_millis(100));
            let status = if end == "SHUTDOWN" {
                other.send(&["SHUTDOWN"])?;
                server.wait()?
            } else {
                server.stop(end)?
            };
            assert!(status.success(), "{durability} {end}: {status}\n{}", server.log());
            let answered = writer.join().expect("no panic")?;
            assert!(answered > 0, "{durability} {end}: nothing was written");
            server.start_again()?;
            let mut client = server.client()?;
            for nth in [0, answered / 2, answered - 1] {
                let value = client.call(&["GET", &format!("key{nth}")])?.to_string();
                assert_eq!(
                    value,
                    format!("\"value{nth}\""),
                    "{durability} {end}: of {answered}"
                );
            }
        }
    }
    Ok(())
}

/// Replies are held for the log, not cut off: what was read before the signal is answered.
#[test]
fn what_was_executed_is_answered_before_the_end() -> Result<()> {
    let mut server = start("always", &[])?;
    let mut client = server.client()?;
    let mut bytes = Vec::new();
    encode(&["SET", "a", "1"], &mut bytes);
    encode(&["SHUTDOWN", "NOSAVE"], &mut bytes);
    encode(&["SET", "a", "2"], &mut bytes);
    client.send_raw(&bytes)?;
    assert_eq!(client.reply()?.to_string(), "+OK");
    assert!(
        client.reply().is_err(),
        "SHUTDOWN does not answer, nor does anything behind it run"
    );
    assert!(server.wait()?.success());
    server.start_again()?;
    assert_eq!(server.client()?.say("GET a")?.to_string(), "\"1\"");
    Ok(())
}

#[test]
fn while_it_loads_it_says_so() -> Result<()> {
    for more in [&[][..], SHARDED] {
        let mut server = start("everysec", more)?;
        let mut client = server.client()?;
        for round in 0..40 {
            client.say(&format!("DEBUG POPULATE 5000 round{round}"))?;
        }
        let keys = client.say("DBSIZE")?.to_string();
        server.stop("KILL")?;
        server.launch_again()?;
        let (mut seen, mut percents) = (false, Vec::new());
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            assert!(Instant::now() < deadline, "it does not end loading");
            let Ok(mut client) = server.client() else { continue };
            let Ok(answer) = client.say("PING") else { continue };
            if answer.to_string() == "+PONG" {
                break;
            }
            assert_eq!(
                answer.to_string(),
                "-LOADING Ruvio is loading the dataset in memory"
            );
            // It may be over by now.
            let info = client.say("INFO persistence")?.to_string();
            if info.contains("loading:1") {
                seen = true;
                let percent = info.split("loading_loaded_perc:").nth(1);
                percents.push(percent.context(info.clone())?[..4].to_owned());
                let get = client.say("GET key")?.to_string();
                assert!(get == "$-1" || get.starts_with("-LOADING "), "{get}");
            }
        }
        assert!(seen, "nobody saw it load");
        percents.dedup();
        assert!(percents.len() > 1, "no progress is seen: {percents:?}");
        let mut client = server.client()?;
        assert_eq!(client.say("DBSIZE")?.to_string(), keys);
        assert!(client.say("INFO persistence")?.to_string().contains("loading:0"));
    }
    Ok(())
}

#[test]
fn a_load_can_be_stopped() -> Result<()> {
    let mut server = start("everysec", &[])?;
    let mut client = server.client()?;
    client.say("DEBUG POPULATE 200000")?;
    server.stop("KILL")?;
    server.launch_again()?;
    while server.client().is_err() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let began = Instant::now();
    assert!(server.stop("TERM")?.success(), "{}", server.log());
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    server.start_again()?;
    assert_eq!(server.client()?.say("DBSIZE")?.to_string(), ":200000");
    Ok(())
}

#[test]
fn what_is_refused_says_why_and_how_in_its_exit_code() -> Result<()> {
    let mut server = start("always", &[])?;
    server.client()?.say("SET a 1")?;
    let data = server.data();
    // In use.
    let second = Server::start(
        Kind::Ruvio,
        &[
            "--durability",
            "always",
            "--dir",
            data.to_str().context("a path")?,
        ],
    );
    let why = format!("{:#}", second.err().context("two processes share a directory")?);
    assert!(why.contains("is in use by another process"), "{why}");
    assert!(why.contains("exit status: 78"), "{why}");

    // Damaged before its end.
    server.client()?.say("SET b 1")?;
    server.stop("TERM")?;
    let segment = std::fs::read_dir(data.join("wal"))?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.metadata().is_ok_and(|facts| facts.len() > 4096))
        .find(|path| path.file_name().is_some_and(|name| name != "reserve"))
        .context("a segment")?;
    let mut bytes = std::fs::read(&segment)?;
    // The effect of the first SET: its key, then kind, expiry and value.
    let at = bytes
        .windows(6)
        .position(|six| six == b"\x01a\0\0\x011")
        .context("the key in the log")?;
    bytes[at + 1] ^= 0x20;
    std::fs::write(&segment, &bytes)?;
    server.launch_again()?;
    let status = server.wait()?;
    assert_eq!(status.code(), Some(65), "{}", server.log());
    assert!(server.log().contains("the log is damaged at"), "{}", server.log());
    assert_eq!(std::fs::read(&segment)?, bytes, "a refusal changes nothing");

    // Of other shards.
    let mut server = start("always", SHARDED)?;
    server.client()?.say("SET a 1")?;
    server.stop("TERM")?;
    let data = server.data();
    let other = Server::start(
        Kind::Ruvio,
        &[
            "--durability",
            "always",
            "--dir",
            data.to_str().context("a path")?,
        ],
    );
    let why = format!("{:#}", other.err().context("shards went missing")?);
    assert!(why.contains("shards"), "{why}");
    Ok(())
}
