//! Connections that only look: what they were shown must be there after the crash, or something later.
//!
//! They follow the keys `m0`, which only grow.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use fastrand::Rng;

use crate::client::{Client, Received};
use crate::resp::Value;

/// What was seen: by key, the greatest value, and how many changes were told of on top of the first value.
#[derive(Default)]
pub struct Observer {
    keys: Vec<String>,
    first: HashMap<String, i64>,
    seen: HashMap<String, i64>,
    told: HashMap<String, i64>,
}

const GLANCE: Duration = Duration::from_millis(20);

impl Observer {
    pub fn new(keys: Vec<String>) -> Self {
        Self {
            keys,
            ..Self::default()
        }
    }

    /// Reads now and then one key, now all of them, until the connection ends.
    pub fn read(&mut self, addr: SocketAddr, stop: &AtomicBool, seed: u64) -> Result<()> {
        let mut rng = Rng::with_seed(seed);
        let Ok(mut client) = Client::connect(addr) else {
            return Ok(());
        };
        while !stop.load(Ordering::Relaxed) {
            let all = rng.u8(..4) == 0;
            let keys = match rng.choice(self.keys.iter()) {
                Some(key) if !all => vec![key.clone()],
                _ => self.keys.clone(),
            };
            let mut words = vec![if all { "MGET" } else { "GET" }.to_owned()];
            words.extend(keys.iter().cloned());
            if client.send(&words).is_err() {
                return Ok(());
            }
            // The answer may wait for the log: the crash ends that.
            let Some(answer) = self.next(&mut client, stop)? else {
                return Ok(());
            };
            let values = match answer {
                Value::Array(values) => values,
                one => vec![one],
            };
            for (key, value) in keys.iter().zip(&values) {
                note(&mut self.seen, key, value)?;
            }
        }
        Ok(())
    }

    /// `None`: no more will come.
    fn next(&self, client: &mut Client, stop: &AtomicBool) -> Result<Option<Value>> {
        loop {
            match client.receive(GLANCE) {
                Ok(Received::Reply(value)) if value.is_error() => bail!("a look was answered {value}"),
                Ok(Received::Reply(value)) => return Ok(Some(value)),
                Ok(Received::Nothing) if !stop.load(Ordering::Relaxed) => {}
                _ => return Ok(None),
            }
        }
    }

    /// Subscribes to changes of the keys, before anybody writes.
    pub fn subscribe(&mut self, addr: SocketAddr) -> Result<Client> {
        let mut client = Client::connect(addr)?;
        for key in self.keys.clone() {
            let value = client.call(&["GET", &key])?;
            note(&mut self.first, &key, &value)?;
        }
        client.say("SUBSCRIBE __keyevent@0__:incrby")?;
        Ok(client)
    }

    /// Counts changes that are told, until the connection ends.
    pub fn listen(&mut self, mut client: Client, stop: &AtomicBool) -> Result<()> {
        while let Some(message) = self.next(&mut client, stop)? {
            let Value::Array(parts) = &message else {
                bail!("an event was expected, not {message}");
            };
            let key = parts.get(2).and_then(Value::text).context("an event has a key")?;
            let key = String::from_utf8_lossy(key).into_owned();
            *self.told.entry(key).or_default() += 1;
        }
        Ok(())
    }

    /// Whether all of it is there; how much there was.
    pub fn check(&self, client: &mut Client) -> Result<u64> {
        for key in &self.keys {
            let answer = client.call(&["GET", key])?;
            let value = number(&answer)?;
            let seen = self.seen.get(key).copied().unwrap_or(0);
            ensure!(
                value >= seen,
                "a reader saw {key} at {seen}; after the crash it is {value}"
            );
            if let (Some(first), Some(told)) = (self.first.get(key), self.told.get(key)) {
                ensure!(
                    value >= first + told,
                    "{told} changes of {key} were told on top of {first}; after the crash it is {value}"
                );
            }
        }
        Ok((self.seen.len() + self.told.len()) as u64)
    }
}

fn number(value: &Value) -> Result<i64> {
    match value.text() {
        None => Ok(0),
        Some(text) => Ok(std::str::from_utf8(text)?.parse()?),
    }
}

fn note(values: &mut HashMap<String, i64>, key: &str, value: &Value) -> Result<()> {
    let value = number(value)?;
    let before = values.insert(key.to_owned(), value).unwrap_or(0);
    ensure!(
        value >= before,
        "{key} fell from {before} to {value} while it was watched"
    );
    Ok(())
}
