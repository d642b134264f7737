//! Waiting for what was written to be durable, and making the keyspace anew from what is kept.

use std::time::{Duration, Instant};

use anyhow::Result;
use ruvio_e2e::client::Client;
use ruvio_e2e::server::{Kind, Server};

const ONE: &[&str] = &["--durability", "everysec", "--enable-debug-command", "yes"];
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
/// Connections, so many that both owners have some of them.
const CLIENTS: usize = 8;
const ROUNDS: usize = 6;

fn say(client: &mut Client, command: &str) -> Result<String> {
    Ok(client.say(command)?.to_string())
}

/// By itself the log is synced once a second; who waits does not wait for that.
#[test]
fn who_waits_for_the_disk_hastens_it() -> Result<()> {
    for flags in [ONE, TWO] {
        let server = Server::start(Kind::Ruvio, flags)?;
        let mut clients = (0..CLIENTS)
            .map(|_| server.client())
            .collect::<Result<Vec<_>>>()?;
        let began = Instant::now();
        for round in 0..ROUNDS {
            for (number, client) in clients.iter_mut().enumerate() {
                let syncs = server.info("persistence", "log_fsyncs")?.parse::<u64>()?;
                assert_eq!(say(client, &format!("SET key{number} {round}"))?, "+OK");
                assert_eq!(say(client, "WAITAOF 1 0 10000")?, "[:1, :0]");
                let after = server.info("persistence", "log_fsyncs")?.parse::<u64>()?;
                assert!(after > syncs, "nothing was synced");
                assert_eq!(say(client, "SET more 1")?, "+OK");
                assert_eq!(say(client, "SAVE")?, "+OK");
            }
        }
        let each = began.elapsed() / (2 * CLIENTS * ROUNDS) as u32;
        assert!(each < Duration::from_millis(300), "{each:?} each");
        let saves: usize = server.info("persistence", "rdb_saves")?.parse()?;
        assert!(saves >= CLIENTS * ROUNDS, "{saves} runs");
        assert_eq!(server.info("persistence", "rdb_changes_since_last_save")?, "0");
        // Of several that wait at once each is answered.
        for client in &mut clients {
            client.send(&["WAITAOF", "1", "0", "0"])?;
        }
        for client in &mut clients {
            assert_eq!(client.reply()?.to_string(), "[:1, :0]");
        }
        // One that hangs up while it waits leaves nothing behind.
        clients[0].send(&["WAITAOF", "1", "3", "0"])?;
        std::thread::sleep(Duration::from_millis(50));
        clients.remove(0);
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(server.info("clients", "blocked_clients")?, "0");
    }
    Ok(())
}

#[test]
fn the_keyspace_is_made_anew_and_connections_stay_what_they_are() -> Result<()> {
    for flags in [ONE, TWO] {
        let server = Server::start(Kind::Ruvio, flags)?;
        let mut clients = (0..CLIENTS)
            .map(|_| server.client())
            .collect::<Result<Vec<_>>>()?;
        let mut listener = server.client()?;
        let mut blocked = server.client()?;
        say(&mut listener, "SUBSCRIBE news")?;
        blocked.send(&["BLPOP", "awaited", "0"])?;
        for (number, client) in clients.iter_mut().enumerate() {
            say(client, &format!("SET string{number} value EX 1000"))?;
            say(client, &format!("RPUSH list{number} a b c"))?;
            say(client, &format!("HSET hash{number} f v"))?;
            say(client, &format!("ZADD zset{number} 1.5 m"))?;
            say(client, &format!("CLIENT SETNAME name{number}"))?;
        }
        say(&mut clients[0], "DEBUG POPULATE 5000")?;
        for client in &mut clients[..3] {
            for command in ["DEBUG RELOAD", "DEBUG LOADAOF", "DEBUG RELOAD NOSAVE"] {
                assert_eq!(say(client, command)?, "+OK", "{command}");
            }
        }
        assert_eq!(
            say(&mut clients[0], "DEBUG RELOAD FOO")?,
            "-ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options."
        );
        let deadline = Instant::now() + Duration::from_secs(5);
        while server.info("persistence", "loading")? != "0" {
            assert!(Instant::now() < deadline);
        }
        assert_eq!(
            say(&mut clients[0], "DBSIZE")?,
            format!(":{}", 5000 + 4 * CLIENTS)
        );
        for (number, client) in clients.iter_mut().enumerate() {
            assert_eq!(say(client, &format!("GET string{number}"))?, "\"value\"");
            assert_eq!(
                say(client, &format!("LRANGE list{number} 0 -1"))?,
                "[\"a\", \"b\", \"c\"]"
            );
            assert_eq!(say(client, &format!("ZSCORE zset{number} m"))?, "\"1.5\"");
            assert_eq!(say(client, "CLIENT GETNAME")?, format!("\"name{number}\""));
        }
        assert_eq!(say(&mut clients[0], "RPUSH awaited x")?, ":1");
        assert_eq!(blocked.reply()?.to_string(), "[\"awaited\", \"x\"]");
        say(&mut clients[1], "PUBLISH news hello")?;
        assert!(listener.reply()?.to_string().contains("hello"));
        assert_eq!(say(&mut clients[2], "SAVE")?, "+OK");
    }
    Ok(())
}
