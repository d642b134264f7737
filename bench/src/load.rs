//! The lean load generator: one thread, one epoll, one `recv` and one `send` a batch.
//!
//! redis-benchmark costs more CPU a request than a fast server does, so it measures itself. This one fills a
//! prebuilt buffer, sends it, and counts replies without decoding them. Closed loop: a connection sends its
//! next batch when the last one is answered. It knows nothing of processes, sides or rows.

mod connection;
pub mod lanes;
pub mod replies;
pub mod template;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};

use connection::Connection;
use replies::Tally;
use template::{FollowUp, Random, Request, Template};

/// Nothing answered for this long means that the server hangs, or that replies were counted wrong.
const STALL: Duration = Duration::from_secs(10);
const READ_BYTES: usize = 256 * 1024;
const EVENTS_MAX: usize = 512;

/// When a load stops sending. It always waits for what it has sent.
#[derive(Clone, Copy, Debug)]
pub enum Stop {
    After(Duration),
    /// Counts both legs of an exchange. With one seed, both sides of a contest get the very same requests.
    /// On a machine that is busy with other things the time may pass first.
    Requests {
        count: u64,
        within: Duration,
    },
}

impl Stop {
    /// The requests that may be sent, and for how long.
    fn budget(self, legs: u64) -> (u64, Duration) {
        match self {
            Self::After(time) => (u64::MAX, time),
            Self::Requests { count, within } => (count / legs, within),
        }
    }
}

/// What to send.
pub struct Plan<'a> {
    pub requests: &'a [Request],
    /// Sent after the answers to a batch of `requests`, with the integer each was answered.
    pub follow_up: Option<&'a Request>,
    pub connections: usize,
    pub depth: usize,
    pub first_serial: u64,
    pub seed: u64,
    /// One request at a time beside the load, each one timed.
    pub probe: Option<&'a Request>,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    pub replies: u64,
    pub elapsed: Duration,
    pub tally: Tally,
    pub probe: Latencies,
}

/// The probe's latencies in nanoseconds.
#[derive(Debug, Default)]
pub struct Latencies {
    sorted: Vec<u64>,
}

impl Latencies {
    pub fn new(mut nanoseconds: Vec<u64>) -> Self {
        nanoseconds.sort_unstable();
        Self { sorted: nanoseconds }
    }

    pub fn count(&self) -> usize {
        self.sorted.len()
    }

    pub fn worst_ms(&self) -> f64 {
        self.sorted.last().map_or(0.0, |&ns| ns as f64 / 1e6)
    }

    pub fn quantile_ms(&self, q: f64) -> f64 {
        let last = self.sorted.len().saturating_sub(1);
        self.sorted
            .get((last as f64 * q) as usize)
            .map_or(0.0, |&ns| ns as f64 / 1e6)
    }

    pub fn over_ms(&self, ms: f64) -> usize {
        // The way from nanoseconds to a fraction and back must end where it began.
        let limit_ns = (ms * 1e6).round() as u64;
        self.sorted.len() - self.sorted.partition_point(|&ns| ns <= limit_ns)
    }
}

/// Connections that are accepted and ready.
pub struct Load {
    epoll: OwnedFd,
    connections: Vec<Connection>,
    template: Template,
    follow_up: Option<FollowUp>,
    random: Random,
    serial: u64,
    tally: Tally,
    read: Box<[u8]>,
    replies: u64,
    /// Requests that may still be sent.
    budget: u64,
    /// Connections with a batch in flight, the probe not counted.
    busy: usize,
    probe: Option<Probe>,
}

struct Probe {
    connection: Connection,
    template: Template,
    sent: Instant,
    latencies: Vec<u64>,
}

impl Load {
    /// Connects, and has every connection answered once, so that accepting them is not measured.
    pub fn connect(address: SocketAddr, plan: &Plan<'_>) -> Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).context("epoll")?;
        let connections = (0..plan.connections)
            .map(|index| Connection::open(address, &epoll, index as u64))
            .collect::<Result<Vec<_>>>()?;
        let probe = match plan.probe {
            Some(request) => Some(Probe {
                connection: Connection::open(address, &epoll, plan.connections as u64)?,
                template: Template::new(std::slice::from_ref(request), 1),
                sent: Instant::now(),
                latencies: Vec::new(),
            }),
            None => None,
        };
        Ok(Self {
            epoll,
            connections,
            template: Template::new(plan.requests, plan.depth),
            follow_up: plan.follow_up.map(|request| FollowUp(request.clone())),
            random: Random::new(plan.seed),
            serial: plan.first_serial,
            tally: Tally::default(),
            read: vec![0; READ_BYTES].into_boxed_slice(),
            replies: 0,
            budget: 0,
            busy: 0,
            probe,
        })
    }

    /// Drives the load until `stop`, then until all that was sent is answered.
    pub fn run(mut self, stop: Stop) -> Result<Outcome> {
        let started = Instant::now();
        let legs = if self.follow_up.is_some() { 2 } else { 1 };
        let (budget, time) = stop.budget(legs);
        self.budget = budget;
        for index in 0..self.connections.len() {
            self.begin(index)?;
        }
        self.send_probe()?;
        let mut events = Vec::with_capacity(EVENTS_MAX);
        let mut progress = (started, 0);
        while self.busy > 0 {
            self.wait(&mut events)?;
            let now = Instant::now();
            if now - started >= time {
                self.budget = 0;
            }
            for event in events.drain(..) {
                self.serve(event.data.u64() as usize, event.flags)?;
            }
            if self.replies > progress.1 {
                progress = (now, self.replies);
            } else if now - progress.0 > STALL {
                bail!(
                    "no reply for {STALL:?}: {} replies so far, {} connections wait",
                    self.replies,
                    self.busy
                );
            }
        }
        let elapsed = started.elapsed();
        let mut sorted = self.probe.map(|probe| probe.latencies).unwrap_or_default();
        sorted.sort_unstable();
        Ok(Outcome {
            replies: self.replies,
            elapsed,
            tally: self.tally,
            probe: Latencies { sorted },
        })
    }

    fn wait(&self, events: &mut Vec<epoll::Event>) -> Result<()> {
        let second = Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        };
        match epoll::wait(&self.epoll, spare_capacity(events), Some(&second)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error).context("epoll_wait"),
        }
    }

    fn serve(&mut self, index: usize, flags: epoll::EventFlags) -> Result<()> {
        if index == self.connections.len() {
            return self.serve_probe(flags);
        }
        let connection = &mut self.connections[index];
        if flags.contains(epoll::EventFlags::OUT) {
            connection.flush(&self.epoll)?;
        }
        if !flags.intersects(epoll::EventFlags::IN | epoll::EventFlags::HUP | epoll::EventFlags::ERR) {
            return Ok(());
        }
        self.tally.second_integers = connection.captured.take();
        let complete = connection.receive(&mut self.read, &mut self.tally)?;
        connection.captured = self.tally.second_integers.take();
        self.replies += complete as u64;
        if complete == 0 || !connection.is_idle() {
            return Ok(());
        }
        self.busy -= 1;
        match connection.captured.take() {
            Some(captured) => self.follow_up(index, &captured),
            None => self.begin(index),
        }
    }

    /// Sends the next batch, unless all is sent.
    fn begin(&mut self, index: usize) -> Result<()> {
        let requests = (self.template.depth() as u64).min(self.budget) as usize;
        if requests == 0 {
            return Ok(());
        }
        self.budget -= requests as u64;
        let connection = &mut self.connections[index];
        connection.first_serial = self.serial;
        connection.captured = self.follow_up.as_ref().map(|_| Vec::with_capacity(requests));
        self.template.fill(&mut self.random, &mut self.serial);
        self.busy += 1;
        connection.send(self.template.batch(requests), requests, &self.epoll)
    }

    fn follow_up(&mut self, index: usize, captured: &[u64]) -> Result<()> {
        let connection = &mut self.connections[index];
        let Some(follow_up) = self.follow_up.as_ref().filter(|_| !captured.is_empty()) else {
            bail!("no answer to follow up: {:?}", self.tally.first_error);
        };
        let mut batch = Vec::new();
        for (serial, &answer) in (connection.first_serial..).zip(captured) {
            follow_up.append(&mut batch, serial, answer);
        }
        // The second leg belongs to the exchange that the budget has paid for; it is a request all the same.
        self.busy += 1;
        connection.send(&batch, captured.len(), &self.epoll)
    }

    fn send_probe(&mut self) -> Result<()> {
        let Some(probe) = self.probe.as_mut() else {
            return Ok(());
        };
        probe.template.fill(&mut self.random, &mut 0);
        probe.sent = Instant::now();
        probe.connection.send(probe.template.batch(1), 1, &self.epoll)
    }

    fn serve_probe(&mut self, flags: epoll::EventFlags) -> Result<()> {
        let Some(probe) = self.probe.as_mut() else {
            return Ok(());
        };
        if flags.contains(epoll::EventFlags::OUT) {
            probe.connection.flush(&self.epoll)?;
        }
        if probe.connection.receive(&mut self.read, &mut self.tally)? > 0 {
            probe.latencies.push(probe.sent.elapsed().as_nanos() as u64);
            return self.send_probe();
        }
        Ok(())
    }
}
