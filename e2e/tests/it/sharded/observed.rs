//! What tells of the server itself tells of the whole of it, whoever is asked.

use std::time::{Duration, Instant};

use anyhow::Result;
use ruvio_e2e::client::{Client, PATIENCE, Received};
use ruvio_e2e::resp::Value;
use ruvio_e2e::server::{Kind, Server};

use super::{CLIENTS, FLAGS, bulk, clients, error, ok, server};

fn fields(client: &mut Client, command: &str) -> Result<Vec<Value>> {
    match client.say(command)? {
        Value::Array(elements) => Ok(elements),
        other => panic!("{command} answers {other}"),
    }
}

/// The value behind a name in a flat list of both.
fn field(fields: &[Value], name: &str) -> Value {
    let at = fields
        .iter()
        .position(|field| field.text() == Some(name.as_bytes()));
    let value = at.and_then(|at| fields.get(at + 1));
    value.unwrap_or_else(|| panic!("no {name}")).clone()
}

#[test]
fn memory_is_that_of_all_shards() -> Result<()> {
    const KEYS: i64 = 300;
    const VALUE: usize = 10_000;
    let server = server()?;
    let mut people = clients(&server)?;
    for key in 0..KEYS {
        assert_eq!(
            people[0].call(&["SET", &key.to_string(), &"v".repeat(VALUE)])?,
            ok()
        );
    }
    let bytes = KEYS * VALUE as i64;
    for client in &mut people {
        let stats = fields(client, "MEMORY STATS")?;
        assert_eq!(field(&stats, "keys.count"), Value::Integer(KEYS));
        let dataset = field(&stats, "dataset.bytes").as_integer();
        assert!(
            dataset.is_some_and(|set| set >= bytes && set < 2 * bytes),
            "{dataset:?}"
        );
        let Value::Array(database) = field(&stats, "db.0") else {
            panic!("a database has several figures")
        };
        let index = field(&database, "overhead.hashtable.main").as_integer();
        assert!(index.is_some_and(|index| index > 4 * KEYS), "{index:?}");
        assert_eq!(client.say("MEMORY PURGE")?, ok());
        let told = client.say("MEMORY DOCTOR")?.to_string();
        assert!(told.contains("Too little memory"), "{told}");
        let told = client.say("MEMORY MALLOC-STATS")?.to_string();
        assert_eq!(told.matches("Resident: ").count(), 1, "{told}");
    }
    people[1].say("HELLO 3")?;
    assert!(matches!(people[1].say("MEMORY STATS")?, Value::Map(fields) if fields.len() > 40));
    Ok(())
}

/// One client of many runs commands on every owner; all see the same log of them, with its address and name.
#[test]
fn the_slow_log_is_one() -> Result<()> {
    const ENTRIES: usize = 40;
    let server = server()?;
    let mut people = clients(&server)?;
    assert_eq!(
        people[0].say("CONFIG SET slowlog-log-slower-than 0 slowlog-max-len 40")?,
        ok()
    );
    assert_eq!(people[1].say("CLIENT SETNAME ann")?, ok());
    for key in 0..100 {
        assert_eq!(people[1].say(&format!("SET key:{key} v"))?, ok());
    }
    assert_eq!(people[2].say("CONFIG SET slowlog-log-slower-than -1")?, ok());
    let expected = people[3].say("SLOWLOG GET -1")?;
    for client in &mut people {
        assert_eq!(client.say("SLOWLOG LEN")?, Value::Integer(ENTRIES as i64));
        assert_eq!(client.say("SLOWLOG GET -1")?, expected);
    }
    let Value::Array(entries) = expected else {
        panic!("an array was expected")
    };
    let mut next_key = 99;
    let mut ids = Vec::new();
    let mut address = None;
    for entry in &entries {
        let Value::Array(entry) = entry else {
            panic!("an entry has fields")
        };
        ids.push(entry[0].as_integer().expect("a number"));
        if entry[3] != Value::Array(vec![bulk("SET"), bulk(format!("key:{next_key}")), bulk("v")]) {
            // CONFIG SET, before it was off everywhere.
            continue;
        }
        next_key -= 1;
        assert_eq!(*address.get_or_insert(entry[4].clone()), entry[4]);
        assert!(entry[4].to_string().starts_with("\"127.0.0.1:"));
        assert_eq!(entry[5], bulk("ann"));
    }
    assert!(next_key < 70, "only {} of the last are there", 99 - next_key);
    assert!(ids.is_sorted_by(|a, b| *a == b + 1), "{ids:?}");
    assert_eq!(people[4].say("SLOWLOG RESET")?, ok());
    for client in &mut people {
        assert_eq!(client.say("SLOWLOG LEN")?, Value::Integer(0));
    }
    Ok(())
}

#[test]
fn slow_moments_are_known_to_all() -> Result<()> {
    let server = server()?;
    let mut people = clients(&server)?;
    assert_eq!(people[0].say("CONFIG SET latency-monitor-threshold 20")?, ok());
    for number in 0..people.len() {
        assert_eq!(people[number].say("DEBUG SLEEP 0.03")?, ok());
        let expected = people[number].say("LATENCY LATEST")?;
        let Value::Array(events) = &expected else {
            panic!("an array was expected")
        };
        let [Value::Array(event)] = &events[..] else {
            panic!("one event was expected, not {expected}")
        };
        assert_eq!(event[0], bulk("command"));
        assert_eq!(event[5], Value::Integer(number as i64 + 1), "{expected}");
        for client in &mut people {
            assert_eq!(client.say("LATENCY LATEST")?, expected);
            assert!(
                client
                    .say("LATENCY GRAPH command")?
                    .to_string()
                    .contains("command - high")
            );
        }
    }
    assert_eq!(people[3].say("LATENCY RESET")?, Value::Integer(1));
    assert_eq!(people[4].say("LATENCY RESET")?, Value::Integer(0));
    Ok(())
}

#[test]
fn histograms_count_the_calls_of_all() -> Result<()> {
    let server = server()?;
    let mut people = clients(&server)?;
    for (number, client) in people.iter_mut().enumerate() {
        for key in 0..20 {
            assert_eq!(client.say(&format!("SET {number}:{key} v"))?, ok());
        }
        assert_eq!(client.say("MSET a 1 b 2 c 3 d 4 e 5")?, ok());
    }
    for client in &mut people {
        let histograms = fields(client, "LATENCY HISTOGRAM set")?;
        let Value::Array(set) = field(&histograms, "set") else {
            panic!("a histogram has fields")
        };
        let calls = CLIENTS as i64 * 20;
        assert_eq!(field(&set, "calls"), Value::Integer(calls));
        let Value::Array(bounds) = field(&set, "histogram_usec") else {
            panic!("bounds are a list")
        };
        assert_eq!(bounds.last(), Some(&Value::Integer(calls)));
    }
    // What ran in parts was one call.
    let told = server.info("commandstats", "cmdstat_mset")?;
    assert!(told.starts_with(&format!("calls={CLIENTS},")), "{told}");
    Ok(())
}

/// Whoever monitors is shown each command of each client once, as it was sent.
#[test]
fn monitors_see_what_all_do() -> Result<()> {
    let server = server()?;
    let mut people = clients(&server)?;
    let mut monitors = [server.client()?, server.client()?, server.client()?];
    for monitor in &mut monitors {
        assert_eq!(monitor.say("MONITOR")?, ok());
    }
    for client in &mut people {
        for line in [
            "SET a 1",
            "MGET a b c d e f",
            "DBSIZE",
            "MULTI",
            "SET b 2",
            "EXEC",
            "SELECT 1",
        ] {
            client.say(line)?;
        }
        // Queued commands are shown when they run, and the transaction after them.
        let shown = [
            "\"SET\" \"a\" \"1\"",
            "\"MGET\" \"a\" \"b\" \"c\" \"d\" \"e\" \"f\"",
            "\"DBSIZE\"",
            "\"MULTI\"",
            "\"SET\" \"b\" \"2\"",
            "\"EXEC\"",
            "\"SELECT\" \"1\"",
        ];
        for monitor in &mut monitors {
            for words in shown {
                let Value::Simple(line) = monitor.reply()? else {
                    panic!("a line is a simple string")
                };
                let line = String::from_utf8(line)?;
                assert!(
                    line.ends_with(words) && line.contains(" 127.0.0.1:"),
                    "{line}, not {words}"
                );
            }
        }
    }
    // One stops, and is shown nothing more from any owner.
    let [left, stopped, closed] = monitors;
    drop(closed);
    let (mut left, mut stopped) = (left, stopped);
    assert_eq!(stopped.say("RESET")?, Value::Simple(b"RESET".to_vec()));
    left.reply()?;
    for client in &mut people {
        client.say("PING")?;
        assert!(left.reply()?.to_string().contains("PING"));
    }
    assert_eq!(stopped.receive(Duration::from_millis(5))?, Received::Nothing);
    Ok(())
}

/// A monitor that does not read is closed, and holds up nobody.
#[test]
fn a_monitor_that_falls_behind_is_closed() -> Result<()> {
    let limit = ["--client-output-buffer-limit", "normal 1mb 0 0"];
    let server = Server::start(Kind::Ruvio, &[FLAGS, &limit].concat())?;
    let mut monitor = server.client()?;
    assert_eq!(monitor.say("MONITOR")?, ok());
    let mut people = clients(&server)?;
    let value = "v".repeat(100_000);
    for round in 0..40 {
        for (number, client) in people.iter_mut().enumerate() {
            assert_eq!(client.call(&["SET", &format!("{round}:{number}"), &value])?, ok());
        }
    }
    let deadline = Instant::now() + PATIENCE;
    // Itself and those who wrote.
    while server.info("clients", "connected_clients")? != (CLIENTS + 1).to_string() {
        assert!(Instant::now() < deadline, "the monitor is still there");
    }
    Ok(())
}

#[test]
fn the_log_of_refusals_is_one() -> Result<()> {
    let server = server()?;
    let mut people = clients(&server)?;
    assert_eq!(people[0].say("ACL SETUSER ann on >pw ~a +get")?, ok());
    for (number, client) in people.iter_mut().enumerate().skip(1) {
        assert_eq!(client.say("AUTH ann pw")?, ok());
        assert!(error(&client.say("GET b")?).starts_with("NOPERM "));
        let mut asks = server.client()?;
        let log = asks.say("ACL LOG")?;
        let Value::Array(entries) = &log else {
            panic!("an array was expected")
        };
        // Like refusals are one entry.
        let [Value::Array(entry)] = &entries[..] else {
            panic!("one entry was expected, not {log}")
        };
        assert_eq!(field(entry, "count"), Value::Integer(number as i64));
        assert_eq!(field(entry, "object"), bulk("b"));
        assert!(field(entry, "client-info").to_string().contains("user=ann"));
    }
    let denied = server.info("stats", "acl_access_denied_key")?;
    assert_eq!(denied, (CLIENTS - 1).to_string());
    assert_eq!(server.client()?.say("ACL LOG RESET")?, ok());
    assert_eq!(people[0].say("ACL LOG")?, Value::Array(Vec::new()));
    Ok(())
}
