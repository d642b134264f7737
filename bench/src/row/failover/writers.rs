//! Clients that write without a pause while leaders come and go, and that know what was acknowledged.
//!
//! Invariant: each write has a key of its own, so a write that was acknowledged can be looked for at the end,
//! and one with an unknown outcome is never taken for another.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};

use crate::client::{Client, Reply};

/// A client gives up on an answer after this.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Between a refusal and the next attempt.
const PAUSE: Duration = Duration::from_millis(2);
const CHECK_KEYS: usize = 500;

/// A write that was acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    pub at: Instant,
    pub by: SocketAddr,
    pub took: Duration,
}

/// What the writers saw since they were last asked.
#[derive(Debug, Default)]
pub struct Seen {
    /// In the order of their times.
    pub acks: Vec<Ack>,
    /// Error replies, by their first word. A redirection is none.
    pub refused: BTreeMap<String, usize>,
    /// Connections that ended or could not be made.
    pub dropped: usize,
}

impl Seen {
    pub fn errors(&self) -> usize {
        self.refused.values().sum::<usize>() + self.dropped
    }

    /// The longest time in which nobody was acknowledged anything.
    pub fn longest_gap(&self) -> Duration {
        let gaps = self.acks.windows(2).map(|pair| pair[1].at - pair[0].at);
        gaps.max().unwrap_or(Duration::MAX)
    }

    pub fn slowest(&self) -> Duration {
        self.acks
            .iter()
            .map(|ack| ack.took)
            .max()
            .unwrap_or(Duration::MAX)
    }

    /// Adds the troubles; each ack has been looked at by then.
    pub fn add(&mut self, other: Self) {
        self.dropped += other.dropped;
        for (word, count) in other.refused {
            *self.refused.entry(word).or_default() += count;
        }
    }
}

struct Shared {
    stop: AtomicBool,
    seen: Mutex<Seen>,
}

pub struct Writers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Vec<u64>>>,
    prefixes: Vec<String>,
}

impl Writers {
    /// `name` tells these from the writers before.
    pub fn start(addresses: &[SocketAddr], tag: &str, name: &str, count: usize) -> Self {
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            seen: Mutex::default(),
        });
        let prefixes: Vec<String> = (0..count).map(|n| format!("{tag}{name}-{n}-")).collect();
        let threads = prefixes.iter().enumerate().map(|(number, prefix)| {
            let writer = Writer {
                shared: Arc::clone(&shared),
                addresses: addresses.to_vec(),
                at: addresses[number % addresses.len()],
                client: None,
                prefix: prefix.clone(),
            };
            std::thread::spawn(move || writer.run())
        });
        let threads = threads.collect();
        Self {
            shared,
            threads,
            prefixes,
        }
    }

    pub fn take(&self) -> Seen {
        let mut seen = std::mem::take(&mut *lock(&self.shared.seen));
        seen.acks.sort_by_key(|ack| ack.at);
        seen
    }

    /// Ends them; how many writes were acknowledged, and how many of those are not there, asked where they should be.
    pub fn finish(mut self, leader: SocketAddr) -> Result<(usize, usize)> {
        self.shared.stop.store(true, Ordering::Relaxed);
        let mut client = Client::connect(leader)?;
        let (mut all, mut lost) = (0, 0);
        for (thread, prefix) in std::mem::take(&mut self.threads).into_iter().zip(&self.prefixes) {
            let serials = thread.join().map_err(|_| anyhow!("a writer panicked"))?;
            all += serials.len();
            for some in serials.chunks(CHECK_KEYS) {
                lost += missing(&mut client, prefix, some)?;
            }
        }
        Ok((all, lost))
    }
}

impl Drop for Writers {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().ok();
        }
    }
}

fn missing(client: &mut Client, prefix: &str, serials: &[u64]) -> Result<usize> {
    let keys: Vec<String> = serials.iter().map(|serial| format!("{prefix}{serial}")).collect();
    let mut request = vec!["MGET"];
    request.extend(keys.iter().map(String::as_str));
    let reply = client.call(&request)?;
    ensure!(reply.elements().len() == keys.len(), "MGET answered {reply:?}");
    let is_missing = |(serial, value): &(&u64, &Reply)| value.text() != Some(&value_of(**serial));
    Ok(serials.iter().zip(reply.elements()).filter(is_missing).count())
}

fn value_of(serial: u64) -> String {
    format!("{serial:016}")
}

fn lock(seen: &Mutex<Seen>) -> std::sync::MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Writer {
    shared: Arc<Shared>,
    addresses: Vec<SocketAddr>,
    at: SocketAddr,
    client: Option<Client>,
    prefix: String,
}

impl Writer {
    /// The serial numbers that were acknowledged.
    fn run(mut self) -> Vec<u64> {
        let mut acknowledged = Vec::new();
        let mut serial = 0;
        while !self.shared.stop.load(Ordering::Relaxed) {
            let sent = Instant::now();
            match self.write(serial) {
                Ok(Reply::Status(_)) => {
                    acknowledged.push(serial);
                    let at = Instant::now();
                    let (by, took) = (self.at, at - sent);
                    lock(&self.shared.seen).acks.push(Ack { at, by, took });
                }
                // Nothing was done: the same write, elsewhere.
                Ok(Reply::Error(text)) if text.starts_with("MOVED ") => {
                    self.go_where(&text);
                    continue;
                }
                Ok(reply) => {
                    self.refused(&reply);
                    self.go_on();
                }
                Err(_) => {
                    lock(&self.shared.seen).dropped += 1;
                    self.go_on();
                }
            }
            serial += 1;
        }
        acknowledged
    }

    fn write(&mut self, serial: u64) -> Result<Reply> {
        let client = match self.client.as_mut() {
            Some(client) => client,
            None => self.client.insert(Client::connect_within(self.at, TIMEOUT)?),
        };
        client.ask(&["SET", &format!("{}{serial}", self.prefix), &value_of(serial)])
    }

    fn refused(&self, reply: &Reply) {
        let word = match reply {
            Reply::Error(text) => text.split(' ').next().unwrap_or_default().to_owned(),
            other => format!("{other:?}"),
        };
        *lock(&self.shared.seen).refused.entry(word).or_default() += 1;
    }

    /// `MOVED slot address`.
    fn go_where(&mut self, moved: &str) {
        match moved.split(' ').nth(2).and_then(|address| address.parse().ok()) {
            Some(address) if address != self.at => {
                self.at = address;
                self.client = None;
            }
            _ => std::thread::sleep(PAUSE),
        }
    }

    /// To the next node, after a moment.
    fn go_on(&mut self) {
        std::thread::sleep(PAUSE);
        let here = self.addresses.iter().position(|&address| address == self.at);
        self.at = self.addresses[here.map_or(0, |here| (here + 1) % self.addresses.len())];
        self.client = None;
    }
}
