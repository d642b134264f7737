//! `SAVE` and its like: what they say is in the image is there, and nothing of it has to be replayed from the log.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use ruvio_e2e::client::Client;
use ruvio_e2e::server::{Kind, Server};

const ONE: &[&str] = &["--durability", "everysec"];
const TWO: &[&str] = &["--durability", "always", "--shards", "6", "--owner-threads", "2"];
const KEYS: usize = 300;
const PATIENCE: Duration = Duration::from_secs(20);

fn fill(client: &mut Client) -> Result<()> {
    for key in 0..KEYS {
        assert_eq!(client.say(&format!("SET key{key} {key}"))?.to_string(), "+OK");
    }
    Ok(())
}

/// A start that finds everything in the image has nothing to replay.
fn assert_image_has_everything(server: &mut Server) -> Result<()> {
    server.start_again()?;
    let log = server.log();
    let replayed: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("the log was replayed"))
        .collect();
    assert!(!replayed.is_empty(), "{log}");
    for line in replayed {
        assert!(line.ends_with("entries=0"), "{line}");
    }
    let mut client = server.client()?;
    assert_eq!(client.say("DBSIZE")?.to_string(), format!(":{KEYS}"));
    assert_eq!(client.say("GET key77")?.to_string(), "\"77\"");
    Ok(())
}

#[test]
fn what_is_saved_is_in_the_image() -> Result<()> {
    for flags in [ONE, TWO] {
        let mut server = Server::start(Kind::Ruvio, flags)?;
        let mut client = server.client()?;
        fill(&mut client)?;
        assert_eq!(
            server.info("persistence", "rdb_changes_since_last_save")?,
            KEYS.to_string()
        );
        assert_eq!(client.say("SAVE")?.to_string(), "+OK");
        assert_eq!(server.info("persistence", "rdb_changes_since_last_save")?, "0");
        assert_eq!(server.info("persistence", "rdb_bgsave_in_progress")?, "0");
        assert_eq!(server.info("persistence", "rdb_last_bgsave_status")?, "ok");
        server.kill(None)?;
        assert_image_has_everything(&mut server)?;
    }
    Ok(())
}

#[test]
fn a_node_that_is_ended_with_save_leaves_nothing_to_replay() -> Result<()> {
    for flags in [ONE, TWO] {
        let mut server = Server::start(Kind::Ruvio, flags)?;
        let mut client = server.client()?;
        fill(&mut client)?;
        client.send(&["SHUTDOWN", "SAVE"])?;
        assert!(client.reply().is_err(), "the connection ends without an answer");
        assert!(server.wait()?.success());
        assert_image_has_everything(&mut server)?;
    }
    Ok(())
}

#[test]
fn a_save_in_the_background_ends_and_tells_when() -> Result<()> {
    let server = Server::start(Kind::Ruvio, TWO)?;
    let mut client = server.client()?;
    let start = client.say("LASTSAVE")?.to_string();
    fill(&mut client)?;
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(client.say("LASTSAVE")?.to_string(), start);
    for (number, command) in ["BGSAVE", "BGSAVE SCHEDULE", "BGREWRITEAOF"].iter().enumerate() {
        assert!(client.say(command)?.to_string().starts_with("+Background"));
        let deadline = Instant::now() + PATIENCE;
        while server.info("persistence", "rdb_saves")?.parse::<usize>()? <= number
            || server.info("persistence", "rdb_changes_since_last_save")? != "0"
        {
            assert!(Instant::now() < deadline, "{command}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    assert_ne!(client.say("LASTSAVE")?.to_string(), start);
    Ok(())
}

/// A run takes in what was there when it began, and not what never ends.
#[test]
fn a_save_ends_while_clients_write() -> Result<()> {
    for flags in [ONE, TWO] {
        let server = Server::start(Kind::Ruvio, flags)?;
        let (mut writer, mut client) = (server.client()?, server.client()?);
        let (enough, written) = (AtomicBool::new(false), AtomicUsize::new(0));
        std::thread::scope(|scope| -> Result<()> {
            let writes = scope.spawn(|| -> Result<()> {
                while !enough.load(Ordering::Relaxed) {
                    let nth = written.fetch_add(1, Ordering::Relaxed);
                    writer.say(&format!("SET busy{} x", nth % 1000))?;
                }
                Ok(())
            });
            let began = Instant::now();
            let mut saves = 0;
            while saves < 5 || written.load(Ordering::Relaxed) < 100 {
                let answer = client.say("SAVE").map(|answer| answer.to_string());
                if !answer.as_ref().is_ok_and(|answer| answer == "+OK") || began.elapsed() > PATIENCE {
                    enough.store(true, Ordering::Relaxed);
                    bail!("{answer:?} after {saves} saves and {:?}", began.elapsed());
                }
                saves += 1;
            }
            enough.store(true, Ordering::Relaxed);
            writes.join().expect("the writer does not panic")
        })?;
    }
    Ok(())
}
