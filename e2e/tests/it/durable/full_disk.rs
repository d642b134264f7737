//! A disk without room: writes are refused before they run, reads go on, and with room it heals by itself.

use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ruvio_e2e::client::Client;
use ruvio_e2e::server::Server;

/// Of the disk. The log sets aside 40 MiB of it, and takes room 4 MiB ahead.
const DISK: u64 = 80 << 20;
const BALLAST: usize = 20 << 20;
const PATIENCE: Duration = Duration::from_secs(20);

fn value(nth: usize) -> String {
    format!("{nth:06}").repeat(4000)
}

/// Writes until a write is refused; the keys that were acknowledged.
fn fill(client: &mut Client) -> Result<usize> {
    for nth in 0..10_000 {
        let answer = client
            .call(&["SET", &format!("key{nth}"), &value(nth)])?
            .to_string();
        if answer != "+OK" {
            assert!(answer.starts_with("-MISCONF "), "{answer}");
            return Ok(nth);
        }
    }
    anyhow::bail!("the disk does not fill up")
}

fn test(durability: &str) -> Result<()> {
    let mut server = Server::start_on_disk(DISK, &["--durability", durability])?;
    let ballast = server.data().join("ballast");
    File::create(&ballast)
        .and_then(|mut file| file.write_all(&vec![1; BALLAST]))
        .with_context(|| format!("write {}", ballast.display()))?;
    let mut client = server.client()?;
    client.say("SET brief 1 PX 1")?;
    let written = fill(&mut client)?;
    assert!(written > 100, "only {written} keys fit");

    let refused = |client: &mut Client, command: &str| -> Result<()> {
        let answer = client.say(command)?.to_string();
        assert!(answer.contains("MISCONF"), "{command}: {answer}");
        Ok(())
    };
    for write in [
        "DEL key0",
        "FLUSHALL",
        "EXPIRE key0 1",
        "RPUSH list a",
        "LIMIT l WINDOW 5 PER 1000",
    ] {
        refused(&mut client, write)?;
    }
    client.say("MULTI")?;
    refused(&mut client, "SET key0 x")?;
    assert!(client.say("EXEC")?.to_string().starts_with("-EXECABORT "));
    for nth in [0, written / 2, written - 1] {
        let answer = client.call(&["GET", &format!("key{nth}")])?.to_string();
        assert_eq!(answer, format!("\"{}\"", value(nth)), "key{nth}");
    }
    assert_eq!(client.say("GET brief")?.to_string(), "$-1");
    assert_eq!(client.say("PING")?.to_string(), "+PONG");

    std::fs::remove_file(&ballast)?;
    let deadline = Instant::now() + PATIENCE;
    while client.say("SET after 1")?.to_string() != "+OK" {
        assert!(
            Instant::now() < deadline,
            "it does not heal; its log:\n{}",
            server.log()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(server.is_running());
    Ok(())
}

#[test]
fn a_full_disk_stops_writes_alone_everysec() -> Result<()> {
    test("everysec")
}

#[test]
fn a_full_disk_stops_writes_alone_always() -> Result<()> {
    test("always")
}
