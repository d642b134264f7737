//! Commands with keys of several shards, across kills and power cuts: each shard has all of its part or nothing, a
//! transaction is there as a whole, and what was acknowledged is there everywhere.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use fastrand::Rng;
use ruvio_e2e::client::{Client, Received, encode};
use ruvio_e2e::resp::Value;
use ruvio_e2e::server::Server;
use ruvio_e2e::tracer::freeze;

use super::kill::seed;
use super::{SPREAD, WRITER, keeping};

/// As `SPREAD` says.
const SHARDS: usize = 4;
const KEYS_A_SHARD: usize = 3;
const WRITERS: usize = 3;
const ROUNDS: usize = 10;
/// Commands that are under way together, at most.
const DEPTH: u64 = 6;

/// The hash slot of a key, by the CRC-16 of XMODEM.
fn slot(key: &str) -> usize {
    let crc = key.bytes().fold(0u16, |crc, byte| {
        (0..8).fold(crc ^ u16::from(byte) << 8, |crc, _| {
            crc << 1 ^ if crc & 0x8000 != 0 { 0x1021 } else { 0 }
        })
    });
    usize::from(crc % 16384)
}

/// Keys of this name by shard.
fn keys_of(name: &str) -> Vec<Vec<String>> {
    let mut shards = vec![Vec::new(); SHARDS];
    for number in 0.. {
        let key = format!("{name}:{number}");
        let shard = &mut shards[slot(&key) * SHARDS / 16384];
        if shard.len() < KEYS_A_SHARD {
            shard.push(key);
        }
        if shards.iter().all(|keys| keys.len() == KEYS_A_SHARD) {
            break;
        }
    }
    shards
}

/// Writes the same number to all its keys, over and over; every fifth time it deletes them instead.
struct Writer {
    /// By shard; a transaction has keys of one slot.
    keys: Vec<Vec<String>>,
    is_transaction: bool,
    sent: u64,
    acknowledged: u64,
}

fn deletes(number: u64) -> bool {
    number.is_multiple_of(5)
}

impl Writer {
    fn new(name: usize, is_transaction: bool) -> Self {
        let keys = if is_transaction {
            vec![(0..8).map(|number| format!("{{whole{name}}}:{number}")).collect()]
        } else {
            keys_of(&format!("part{name}"))
        };
        Self {
            keys,
            is_transaction,
            sent: 0,
            acknowledged: 0,
        }
    }

    fn add(&mut self, request: &mut Vec<u8>) {
        self.sent += 1;
        let number = self.sent.to_string();
        let keys = self.keys.iter().flatten();
        let all = |verb: &str, with_value: bool| {
            let mut words = vec![verb.to_owned()];
            for key in keys.clone() {
                words.push(key.clone());
                words.extend(with_value.then(|| number.clone()));
            }
            words
        };
        match (self.is_transaction, deletes(self.sent)) {
            (false, false) => encode(&all("MSET", true), request),
            (false, true) => encode(&all("DEL", false), request),
            (true, deletes) => {
                encode(&["MULTI"], request);
                for key in keys.clone() {
                    match deletes {
                        true => encode(&["DEL", key], request),
                        false => encode(&["SET", key, &number], request),
                    }
                }
                encode(&["EXEC"], request);
            }
        }
    }

    fn run(&mut self, addr: SocketAddr, stop: &AtomicBool, mut rng: Rng) -> Result<()> {
        let mut client = Client::connect(addr)?;
        let answers = if self.is_transaction {
            self.keys[0].len() + 2
        } else {
            1
        };
        while !stop.load(Ordering::Relaxed) {
            let mut request = Vec::new();
            let count = rng.u64(1..=DEPTH);
            (0..count).for_each(|_| self.add(&mut request));
            if client.send_raw(&request).is_err() {
                return Ok(());
            }
            for _ in 0..count {
                for _ in 0..answers {
                    match client.receive(Duration::from_secs(20)) {
                        Ok(Received::Reply(answer)) => ensure!(!answer.is_error(), "{answer}"),
                        Ok(Received::Nothing) => bail!("no answer"),
                        Ok(Received::Closed) | Err(_) => return Ok(()),
                    }
                }
                self.acknowledged += 1;
            }
        }
        Ok(())
    }

    /// Whether each shard has one of the writes that may be there, and all of it; how many did not have the last.
    fn check(&mut self, client: &mut Client) -> Result<usize> {
        let mut behind = 0;
        for keys in &self.keys {
            let words: Vec<&str> = std::iter::once("MGET")
                .chain(keys.iter().map(String::as_str))
                .collect();
            let Value::Array(values) = client.call(&words)? else {
                bail!("MGET answers an array");
            };
            ensure!(
                values.iter().all(|value| *value == values[0]),
                "{keys:?} are {values:?}"
            );
            let fits = |number: &u64| match values[0].text() {
                Some(text) => !deletes(*number) && text == number.to_string().as_bytes(),
                None => deletes(*number) || *number == 0,
            };
            let found = (self.acknowledged..=self.sent).find(fits).with_context(|| {
                let (first, last) = (self.acknowledged, self.sent);
                format!("{keys:?} are {values:?}, none of the writes {first} to {last}")
            })?;
            behind += usize::from(found < self.sent);
        }
        Ok(behind)
    }
}

fn test(durability: &str) -> Result<()> {
    let seed = seed();
    let mut rng = Rng::with_seed(seed);
    let all = [&["--durability", durability], SPREAD].concat();
    let mut server = match durability {
        "always" => Server::start_watched(&all)?,
        _ => keeping(durability, SPREAD)?,
    };
    let mut writers: Vec<Writer> = (0..2 * WRITERS)
        .map(|name| Writer::new(name, name < WRITERS))
        .collect();
    let mut behind = 0;
    for round in 0..ROUNDS {
        let stop = AtomicBool::new(false);
        let addr = server.addr();
        std::thread::scope(|scope| -> Result<()> {
            let stop = &stop;
            let threads: Vec<_> = writers
                .iter_mut()
                .map(|writer| {
                    let rng = rng.fork();
                    scope.spawn(move || writer.run(addr, stop, rng))
                })
                .collect();
            std::thread::sleep(Duration::from_millis(rng.u64(20..120)));
            let ended = if durability == "always" {
                server.cut_power(None, &mut rng).map(drop)
            } else {
                let frozen = rng.bool().then(|| freeze(server.pid(), WRITER)).transpose()?;
                std::thread::sleep(Duration::from_millis(rng.u64(..15)));
                server.kill(frozen)
            };
            stop.store(true, Ordering::Relaxed);
            for thread in threads {
                thread.join().expect("a client does not panic")?;
            }
            ended
        })?;
        server.start_again()?;
        let mut client = server.client()?;
        for writer in &mut writers {
            behind += writer
                .check(&mut client)
                .with_context(|| format!("{durability}, round {round}, RUVIO_CRASH_SEED={seed}"))?;
            // From here on all shards have the same again.
            let mut request = Vec::new();
            writer.add(&mut request);
            client.send_raw(&request)?;
            let answers = if writer.is_transaction {
                writer.keys[0].len() + 2
            } else {
                1
            };
            for _ in 0..answers {
                client.reply()?;
            }
            writer.acknowledged = writer.sent;
        }
    }
    let acknowledged: u64 = writers.iter().map(|writer| writer.acknowledged).sum();
    println!("{durability}: {acknowledged} writes of several keys, {behind} parts without the last");
    ensure!(acknowledged > 100 && behind > 0, "nothing was tested");
    Ok(())
}

#[test]
fn each_shard_has_all_of_its_part_or_nothing_everysec() -> Result<()> {
    test("everysec")
}

#[test]
fn each_shard_has_all_of_its_part_or_nothing_always() -> Result<()> {
    test("always")
}
