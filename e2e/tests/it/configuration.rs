//! Configuration files that were written for Valkey start the node.

use anyhow::{Result, bail};
use ruvio_e2e::resp::Value;
use ruvio_e2e::server::{Kind, Server};

/// What a test sets itself: where to listen and where to keep things.
const ELSEWHERE: &[&str] = &["port", "bind", "dir", "logfile", "pidfile"];

fn text(value: &Value) -> Result<String> {
    match value {
        Value::Bulk(bytes) => Ok(String::from_utf8(bytes.clone())?),
        other => bail!("{other}"),
    }
}

/// Every option of a Valkey that was started without a file, a line each.
fn all_options_of_valkey() -> Result<Vec<(String, String)>> {
    let valkey = Server::start(Kind::Valkey, &[])?;
    let Value::Array(words) = valkey.client()?.say("CONFIG GET *")? else {
        bail!("no options");
    };
    let pairs = words
        .chunks_exact(2)
        .map(|pair| Ok((text(&pair[0])?, text(&pair[1])?)))
        .collect::<Result<Vec<_>>>()?;
    Ok(pairs
        .into_iter()
        .filter(|(name, _)| !ELSEWHERE.contains(&name.as_str()))
        .collect())
}

#[test]
fn every_option_of_valkey_is_known_with_the_value_it_has_by_default() -> Result<()> {
    let options = all_options_of_valkey()?;
    assert!(options.len() > 200, "{}", options.len());
    let mut file = String::new();
    for (name, value) in &options {
        let quoted = value.replace('\\', "\\\\").replace('"', "\\\"");
        file.push_str(&format!("{name} \"{quoted}\"\n"));
    }
    let server = Server::start_with_file(&file, &[])?;
    let mut client = server.client()?;
    assert_eq!(client.say("SET k v")?.to_string(), "+OK");
    Ok(())
}

/// As distributions ship it, in what is about keeping data.
const FILE: &str = "\
save 3600 1 300 100
save 60 10000
stop-writes-on-bgsave-error yes
rdbcompression yes
rdbchecksum yes
dbfilename dump.rdb
rdb-del-sync-files no
appendonly no
appendfilename \"appendonly.aof\"
appenddirname \"appendonlydir\"
appendfsync everysec
no-appendfsync-on-rewrite no
auto-aof-rewrite-percentage 100
auto-aof-rewrite-min-size 64mb
aof-load-truncated yes
aof-use-rdb-preamble yes
aof-timestamp-enabled no
aof-rewrite-incremental-fsync yes
rdb-save-incremental-fsync yes
pidfile /no/such/folder/valkey_6379.pid
bind * -::*
";

#[test]
fn who_wanted_snapshots_gets_a_log_and_is_told() -> Result<()> {
    let mut server = Server::start_with_file(FILE, &["--enable-debug-command", "yes"])?;
    let log = server.log();
    assert!(
        log.contains("save 3600 1 300 100 60 10000: no snapshot is made at these points"),
        "{log}"
    );
    assert!(log.contains("cannot write the pidfile"), "{log}");
    let mut client = server.client()?;
    let shown = client.say("CONFIG GET save")?.to_string();
    assert_eq!(shown, "[\"save\", \"3600 1 300 100 60 10000\"]");
    assert_eq!(client.say("SET k v")?.to_string(), "+OK");
    server.kill(None)?;
    server.start_again()?;
    assert_eq!(server.client()?.say("GET k")?.to_string(), "\"v\"");
    Ok(())
}

/// An address of IPv6 does not take the port of IPv4.
#[test]
fn all_addresses_of_both_kinds_are_listened_on() -> Result<()> {
    let server = Server::start(Kind::Ruvio, &["--bind", "* -::*"])?;
    let listener = server.info("server", "listener0")?;
    let port = server.addr().port();
    // Where the machine has them.
    let has_v6 = std::net::TcpListener::bind("[::1]:0").is_ok();
    let second = if has_v6 { ",bind=::" } else { "" };
    assert_eq!(listener, format!("name=tcp,bind=0.0.0.0{second},port={port}"));
    Ok(())
}
