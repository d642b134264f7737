//! Random commands of all families, with images made and the log purged in between: what a start makes of the image and
//! the log is what was in memory, through many lives of one directory.
//!
//! `RUVIO_LIVES` says how many, `RUVIO_CRASH_SEED` plays the same commands again.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};
use fastrand::Rng;
use ruvio_e2e::client::{Client, encode};
use ruvio_e2e::differential::{Command, Compare, equal, reading, steps};
use ruvio_e2e::resp::Value;
use ruvio_e2e::server::{Kind, Server};

const LIVES: usize = 8;
/// Commands between two images, and how often that is in a life.
const STEPS: usize = 250;
const PARTS: usize = 6;
const BATCH: usize = 32;

/// Of each key, by database and name: what shows all of it, and the answers.
type Keyspace = BTreeMap<(&'static str, Vec<u8>), Vec<(Command, Value)>>;

fn look(client: &mut Client) -> Result<Keyspace> {
    let mut found = Keyspace::new();
    for database in ["0", "1"] {
        client.call(&["SELECT", database])?;
        let Value::Array(keys) = client.say("KEYS *")? else {
            anyhow::bail!("KEYS answers an array");
        };
        for key in keys.iter().filter_map(Value::text) {
            let Value::Simple(kind) = client.call(&[b"TYPE".as_slice(), key])? else {
                continue;
            };
            let mut answers = Vec::new();
            for command in reading(&kind, key) {
                let answer = client.call(&command.args)?;
                answers.push((command, answer));
            }
            // It may have expired between two looks.
            if kind != b"none" {
                found.insert((database, key.to_vec()), answers);
            }
        }
    }
    Ok(found)
}

/// Whether one of its times, of the key or a field, is over by now or will be at any moment.
fn runs_out(answers: &[(Command, Value)]) -> bool {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let soon = since.as_millis() as i64 + 1000;
    let is_soon = |value: &Value| value.as_integer().is_some_and(|at| at > 1_000_000 && at < soon);
    answers
        .iter()
        .filter(|(command, _)| matches!(command.compare, Compare::Near))
        .any(|(_, answer)| match answer {
            Value::Array(times) => times.iter().any(is_soon),
            time => is_soon(time),
        })
}

fn compare(before: &Keyspace, after: &Keyspace) -> Result<usize> {
    let lasting = |keyspace: &Keyspace| {
        let keys = keyspace.iter().filter(|(_, answers)| !runs_out(answers));
        keys.map(|(key, _)| key.clone()).collect::<Vec<_>>()
    };
    let (first, second) = (lasting(before), lasting(after));
    for (database, key) in first.iter().chain(&second) {
        let name = String::from_utf8_lossy(key);
        let place = (*database, key.clone());
        let (old, new) = (before.get(&place), after.get(&place));
        let (Some(old), Some(new)) = (old, new) else {
            anyhow::bail!("{name} in {database} was {old:?} and is {new:?}");
        };
        for ((command, old), (_, new)) in old.iter().zip(new) {
            // Times are absolute: they are what they were.
            let how = match &command.compare {
                Compare::Near => &Compare::Exact,
                other => other,
            };
            ensure!(equal(how, old, new), "{}: was {old}, is {new}", command.to_line());
        }
        ensure!(
            old.len() == new.len(),
            "{name} in {database} was {old:?} and is {new:?}"
        );
    }
    Ok(first.len())
}

fn play(client: &mut Client, rng: &mut Rng) -> Result<()> {
    let commands: Vec<Command> = steps(STEPS, rng).into_iter().flat_map(|step| step.0).collect();
    for batch in commands.chunks(BATCH) {
        let mut request = Vec::new();
        batch
            .iter()
            .for_each(|command| encode(&command.args, &mut request));
        client.send_raw(&request)?;
        for _ in batch {
            client.reply()?;
        }
    }
    Ok(())
}

fn test(durability: &str, flags: &[&str]) -> Result<()> {
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .map(|text| text.parse::<u64>().expect("a number"))
    };
    let seed = number("RUVIO_CRASH_SEED").unwrap_or_else(|| fastrand::u64(..));
    let lives = number("RUVIO_LIVES").map_or(LIVES, |lives| lives as usize);
    let mut rng = Rng::with_seed(seed);
    let all = [&["--durability", durability], flags].concat();
    let mut server = Server::start(Kind::Ruvio, &all)?;
    let mut compared = 0;
    for life in 0..lives {
        let mut client = server.client()?;
        for _ in 0..PARTS {
            play(&mut client, &mut rng)?;
            if rng.bool() {
                // Made while the next commands run.
                client.say("BGSAVE")?;
            }
        }
        // Whatever a transaction was left open for.
        let mut client = server.client()?;
        let before = look(&mut client)?;
        let end = *rng.choice(["KILL", "KILL", "TERM"].iter()).unwrap_or(&"KILL");
        server.stop(end)?;
        server.start_again()?;
        let after = look(&mut server.client()?)?;
        compared += compare(&before, &after).map_err(|error| {
            error.context(format!(
                "{durability} {flags:?}, life {life}, {end}, RUVIO_CRASH_SEED={seed}"
            ))
        })?;
    }
    println!("{durability} {flags:?}: {compared} keys in {lives} lives");
    ensure!(compared > lives, "nothing was tested");
    Ok(())
}

#[test]
fn a_start_makes_what_was_in_memory() -> Result<()> {
    test("everysec", &["--owner-threads", "1"])
}

#[test]
fn a_start_makes_what_was_in_memory_spread() -> Result<()> {
    test("always", &["--shards", "4", "--owner-threads", "2"])
}
