//! Commands whose changes do not fit into one record of the log: they are there whole after a start, or not at all.

use anyhow::Result;
use ruvio_e2e::client::Client;
use ruvio_e2e::server::{Kind, Server};

const ONE: &[&str] = &["--durability", "always", "--enable-debug-command", "yes"];
const TWO: &[&str] = &[
    "--durability",
    "everysec",
    "--enable-debug-command",
    "yes",
    "--shards",
    "6",
    "--owner-threads",
    "2",
];
const MIB: usize = 1 << 20;
/// Parts are of sixteen.
const ELEMENTS: usize = 40;

fn say(client: &mut Client, line: &str) -> Result<String> {
    Ok(client.say(line)?.to_string())
}

/// Forty mebibytes by several commands, once more by `COPY`, and as many by `EXEC`, which tells of two keys.
fn write(client: &mut Client) -> Result<()> {
    let element = "e".repeat(MIB);
    for nth in 0..ELEMENTS {
        client.call(&["HSET", "{k}hash", &nth.to_string(), &element])?;
    }
    assert_eq!(say(client, "COPY {k}hash {k}copy")?, ":1");
    say(client, "MULTI")?;
    for nth in 0..ELEMENTS {
        client.call(&["RPUSH", "{k}list", &format!("{nth}{element}")])?;
        say(client, &format!("INCR {{k}}count{}", nth % 2))?;
    }
    say(client, "EXEC")?;
    Ok(())
}

fn digest(client: &mut Client) -> Result<String> {
    let mut told = String::new();
    for line in [
        "DBSIZE",
        "HLEN {k}copy",
        "HSTRLEN {k}copy 39",
        "LLEN {k}list",
        "GET {k}count0",
        "DEBUG DIGEST",
    ] {
        told.push_str(&format!("{line} {}\n", say(client, line)?));
    }
    Ok(told)
}

#[test]
fn what_is_larger_than_a_record_is_there_after_a_kill() -> Result<()> {
    for flags in [ONE, TWO] {
        let mut server = Server::start(Kind::Ruvio, flags)?;
        let mut client = server.client()?;
        write(&mut client)?;
        let before = digest(&mut client)?;
        assert!(before.contains("HLEN {k}copy :40\n"), "{before}");
        server.kill(None)?;
        // From the log alone.
        server.start_again()?;
        let mut client = server.client()?;
        assert_eq!(digest(&mut client)?, before);
        // From the image, with more of the same behind it.
        assert_eq!(say(&mut client, "SAVE")?, "+OK");
        assert_eq!(say(&mut client, "COPY {k}hash {k}third")?, ":1");
        let before = digest(&mut client)?;
        server.kill(None)?;
        server.start_again()?;
        assert_eq!(digest(&mut server.client()?)?, before);
    }
    Ok(())
}
