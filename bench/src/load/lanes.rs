//! A closed loop of SETs in which every connection has an address and a shard of its own, and every write is timed.
//!
//! One thread and one epoll, as the lean load.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};

use super::connection::Connection;
use super::replies::Tally;
use super::template::{Random, write_digits};
use super::{EVENTS_MAX, Latencies, READ_BYTES, STALL};

/// Keys and values have 16 bytes.
const KEY_BYTES: usize = 16;
const WAIT: &[u8] = b"*3\r\n$4\r\nWAIT\r\n$1\r\n1\r\n$1\r\n0\r\n";

/// Where a connection goes, and how its keys begin.
#[derive(Clone, Debug)]
pub struct Lane {
    pub address: SocketAddr,
    pub prefix: String,
}

pub struct Plan<'a> {
    pub lanes: &'a [Lane],
    pub keys: u64,
    /// Each SET is followed by `WAIT 1 0`, and the two are one write.
    pub wait: bool,
    pub seed: u64,
}

/// What came of it.
pub struct Outcome {
    pub elapsed: Duration,
    /// Of each acknowledged write.
    pub latencies: Latencies,
}

impl Outcome {
    pub fn new(nanoseconds: Vec<u64>, elapsed: Duration) -> Self {
        Self {
            elapsed,
            latencies: Latencies::new(nanoseconds),
        }
    }

    pub fn writes(&self) -> u64 {
        self.latencies.count() as u64
    }
}

struct Running {
    connection: Connection,
    request: Vec<u8>,
    digits: std::ops::Range<usize>,
    sent: Instant,
    answered: usize,
}

/// Drives all lanes for a time, then waits for what is under way.
pub fn run(plan: &Plan<'_>, time: Duration) -> Result<Outcome> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).context("epoll")?;
    let mut lanes = Vec::new();
    for (index, lane) in plan.lanes.iter().enumerate() {
        let (request, digits) = request(&lane.prefix, plan.wait);
        lanes.push(Running {
            connection: Connection::open(lane.address, &epoll, index as u64)?,
            request,
            digits,
            sent: Instant::now(),
            answered: 0,
        });
    }
    let replies = if plan.wait { 2 } else { 1 };
    let mut random = Random::new(plan.seed);
    let mut send = |lane: &mut Running| -> Result<()> {
        write_digits(&mut lane.request[lane.digits.clone()], random.below(plan.keys));
        lane.answered = 0;
        lane.sent = Instant::now();
        lane.connection.send(&lane.request, replies, &epoll)
    };
    let (mut latencies, mut tally) = (Vec::new(), Tally::default());
    let (mut events, mut read) = (Vec::with_capacity(EVENTS_MAX), vec![0; READ_BYTES]);
    let second = Timespec {
        tv_sec: 1,
        tv_nsec: 0,
    };
    let began = Instant::now();
    lanes.iter_mut().try_for_each(&mut send)?;
    let (mut busy, mut last) = (lanes.len(), began);
    while busy > 0 {
        match epoll::wait(&epoll, spare_capacity(&mut events), Some(&second)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).context("epoll_wait"),
        }
        ensure!(
            last.elapsed() < STALL,
            "no reply for {STALL:?}, {busy} connections wait"
        );
        for event in events.drain(..) {
            let lane = &mut lanes[event.data.u64() as usize];
            // A copy, for the event is packed.
            let flags = event.flags;
            if flags.contains(epoll::EventFlags::OUT) {
                lane.connection.flush(&epoll)?;
            }
            lane.answered += lane.connection.receive(&mut read, &mut tally)?;
            if lane.answered < replies {
                continue;
            }
            last = Instant::now();
            latencies.push((last - lane.sent).as_nanos() as u64);
            if last - began < time {
                send(lane)?;
            } else {
                lane.answered = 0;
                busy -= 1;
            }
        }
    }
    if let Some(error) = tally.first_error {
        bail!("{} errors, the first: {error}", tally.errors);
    }
    Ok(Outcome::new(latencies, began.elapsed()))
}

/// The request, and where the number of its key stands.
fn request(prefix: &str, wait: bool) -> (Vec<u8>, std::ops::Range<usize>) {
    let digits = KEY_BYTES - prefix.len();
    let mut request = format!("*3\r\n$3\r\nSET\r\n${KEY_BYTES}\r\n{prefix}").into_bytes();
    let at = request.len()..request.len() + digits;
    request.resize(at.end, b'0');
    request.extend_from_slice(b"\r\n$16\r\nvvvvvvvvvvvvvvvv\r\n");
    if wait {
        request.extend_from_slice(WAIT);
    }
    (request, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_is_a_set_of_sixteen_bytes_to_sixteen() {
        let (mut text, digits) = request("{abc}", true);
        assert_eq!(digits.len(), 11);
        write_digits(&mut text[digits], 42);
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "*3\r\n$3\r\nSET\r\n$16\r\n{abc}00000000042\r\n$16\r\nvvvvvvvvvvvvvvvv\r\n\
             *3\r\n$4\r\nWAIT\r\n$1\r\n1\r\n$1\r\n0\r\n"
        );
    }
}
