//! Clients that write much: large values over few keys, each key written by one client. What was acknowledged last is there
//! afterwards, or a write without outcome, which may have taken place at any time.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::Counts;
use crate::cluster::seeker::{Answer, Seeker};
use crate::resp::Value;

const KEYS: usize = 24;

struct Shared {
    begun: Instant,
    is_over: AtomicBool,
    done: AtomicU64,
    refused: AtomicU64,
    unknown: AtomicU64,
    /// When a write was last acknowledged, and the longest time without, in milliseconds, since somebody asked.
    done_ms: AtomicU64,
    silent_ms: AtomicU64,
}

/// What one client knows of its keys: the number of the last write, of the last that was acknowledged, and of those without
/// outcome.
#[derive(Clone, Default)]
struct Known {
    sent: u64,
    done: u64,
    unknown: Vec<u64>,
}

pub struct Bulk {
    shared: Arc<Shared>,
    value_bytes: usize,
    clients: Vec<JoinHandle<(Seeker, Vec<Known>)>>,
}

fn key(client: usize, number: usize) -> String {
    format!("bulk:{client}:{number}")
}

impl Bulk {
    pub fn start(doors: &[SocketAddr], clients: usize, value_bytes: usize) -> Bulk {
        let shared = Arc::new(Shared {
            begun: Instant::now(),
            is_over: AtomicBool::new(false),
            done: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            unknown: AtomicU64::new(0),
            done_ms: AtomicU64::new(0),
            silent_ms: AtomicU64::new(0),
        });
        let client = |client| {
            let (shared, seeker) = (Arc::clone(&shared), Seeker::new(doors.to_vec(), client as u64));
            std::thread::spawn(move || shared.write(client, seeker, value_bytes))
        };
        Bulk {
            clients: (0..clients).map(client).collect(),
            shared: Arc::clone(&shared),
            value_bytes,
        }
    }

    pub fn counts(&self) -> Counts {
        Counts {
            done: self.shared.done.load(Ordering::Relaxed),
            refused: self.shared.refused.load(Ordering::Relaxed),
            unknown: self.shared.unknown.load(Ordering::Relaxed),
        }
    }

    /// Bytes of values that were acknowledged.
    pub fn bytes(&self) -> u64 {
        self.counts().done * self.value_bytes as u64
    }

    /// The longest time in which nothing was acknowledged, since the last call.
    pub fn silence(&self) -> Duration {
        let since = self
            .shared
            .now_ms()
            .saturating_sub(self.shared.done_ms.load(Ordering::Relaxed));
        Duration::from_millis(self.shared.silent_ms.swap(0, Ordering::Relaxed).max(since))
    }

    /// Ends the clients, and looks whether all that was acknowledged is there.
    pub fn finish(self) -> Result<()> {
        self.shared.is_over.store(true, Ordering::Relaxed);
        for (client, thread) in self.clients.into_iter().enumerate() {
            let (mut seeker, known) = thread.join().expect("a client of the test does not panic");
            for (number, known) in known.into_iter().enumerate() {
                let key = key(client, number);
                let found = found(&mut seeker, &key)?;
                let Known { done, unknown, .. } = known;
                let may_be = found == done || unknown.contains(&found);
                ensure!(
                    may_be,
                    "{key} is at {found}, and not at {done} or one of {unknown:?}"
                );
            }
        }
        Ok(())
    }
}

impl Shared {
    fn now_ms(&self) -> u64 {
        self.begun.elapsed().as_millis() as u64
    }

    fn write(&self, client: usize, mut seeker: Seeker, value_bytes: usize) -> (Seeker, Vec<Known>) {
        let mut known = vec![Known::default(); KEYS];
        let mut rng = fastrand::Rng::with_seed(client as u64);
        let padding: String = std::iter::repeat_with(|| rng.alphanumeric())
            .take(value_bytes)
            .collect();
        while !self.is_over.load(Ordering::Relaxed) {
            let number = rng.usize(..KEYS);
            let (key, known) = (key(client, number), &mut known[number]);
            known.sent += 1;
            let value = format!("{} {padding}", known.sent);
            match seeker.call(&key, &["SET", &key, &value]) {
                Answer::Value(Value::Simple(_)) => {
                    known.done = known.sent;
                    self.note_done();
                }
                Answer::Refused => drop(self.refused.fetch_add(1, Ordering::Relaxed)),
                Answer::Unknown => {
                    known.unknown.push(known.sent);
                    self.unknown.fetch_add(1, Ordering::Relaxed);
                }
                Answer::Value(other) => panic!("SET {key} was answered {other}"),
            }
        }
        (seeker, known)
    }

    fn note_done(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
        let now = self.now_ms();
        let before = self.done_ms.fetch_max(now, Ordering::Relaxed);
        self.silent_ms
            .fetch_max(now.saturating_sub(before), Ordering::Relaxed);
    }
}

/// The number of the write that is there; 0: none is.
fn found(seeker: &mut Seeker, key: &str) -> Result<u64> {
    for _ in 0..20 {
        match seeker.call(key, &["GET", key]) {
            Answer::Value(Value::NullBulk) => return Ok(0),
            Answer::Value(Value::Bulk(text)) => {
                let text = String::from_utf8(text)?;
                return Ok(text.split(' ').next().context("a number")?.parse()?);
            }
            _ => {}
        }
    }
    anyhow::bail!("nobody answers GET {key}")
}
