//! What watches commands: the slow log, the latency monitor, histograms of times, and `MONITOR`.
//!
//! Invariant: a command that is under every threshold, and that nobody monitors, costs a comparison and the
//! count in its histogram. A command that was timed in a row (see `stopwatch`) counts with its share of the
//! row; while a threshold is so low that a share would not do, every command is timed by itself.

mod histogram;
mod latency;
mod monitor;
mod secrets;
mod slowlog;

pub use histogram::Histogram;
pub use latency::{Event, LatencyMonitor};
pub use secrets::{REDACTED, is_secret};
pub use slowlog::{SlowEntry, SlowLog};

use super::session::ClientId;
use super::world::World;
use crate::command::spec::Flags;
use crate::command::{Args, COMMANDS, Entry};
use crate::exec::Now;
use crate::options::{Id, Options};

/// Thresholds below this make every command be timed by itself. Microseconds.
const FINE_US: u64 = 1000;

#[derive(Default)]
pub struct Observer {
    pub slowlog: SlowLog,
    pub latency: LatencyMonitor,
    /// By command id; empty while `latency-tracking` is off.
    pub histograms: Vec<Histogram>,
    pub monitors: Vec<ClientId>,
    /// A command that took this long is looked at. Microseconds.
    threshold_us: Option<u64>,
}

impl Observer {
    pub fn configure(&mut self, options: &Options) {
        self.slowlog.len_max = options.count(Id::SlowlogMaxLen);
        self.slowlog.cut();
        let slow = u64::try_from(options.number(Id::SlowlogLogSlowerThan)).ok();
        self.slowlog.threshold_us = slow;
        let latency_ms = options.number(Id::LatencyMonitorThreshold) as u64;
        self.latency.threshold_ms = Some(latency_ms).filter(|threshold| *threshold > 0);
        let latency_us = self.latency.threshold_ms.map(|ms| ms.saturating_mul(1000));
        self.threshold_us = [slow, latency_us].into_iter().flatten().min();
        let histograms = if options.flag(Id::LatencyTracking) {
            COMMANDS.len()
        } else {
            0
        };
        if self.histograms.len() != histograms {
            self.histograms = vec![Histogram::default(); histograms];
        }
    }

    pub fn clear_histograms(&mut self) {
        self.histograms.fill(Histogram::default());
    }

    /// No command may share the time of others.
    #[inline]
    pub(super) fn times_each(&self) -> bool {
        self.threshold_us.is_some_and(|threshold| threshold < FINE_US)
    }

    #[inline]
    pub(super) fn count(&mut self, command: u16, bucket: usize, calls: u64) {
        if let Some(histogram) = self.histograms.get_mut(command as usize) {
            histogram.add_to(bucket, calls);
        }
    }

    #[inline]
    fn is_slow(&self, took_us: u64) -> bool {
        self.threshold_us.is_some_and(|threshold| took_us >= threshold)
    }
}

impl World {
    /// A command was timed by itself.
    #[inline]
    pub(super) fn observe(
        &mut self,
        entry: &'static Entry,
        args: Args<'_>,
        client: ClientId,
        now: Now,
        took_us: u64,
    ) {
        self.observer.count(entry.id, Histogram::bucket(took_us), 1);
        if self.observer.is_slow(took_us) {
            self.note_slow(entry, args, client, now, took_us);
        }
    }

    /// Background work that began at `began_us` by the host's clock is done: gives the time of now.
    pub(super) fn note_event(&mut self, name: &'static str, now: Now, began_us: u64) -> u64 {
        let ended_us = self.host.clock_us();
        let took_ms = ended_us.saturating_sub(began_us) / 1000;
        self.observer.latency.note(name, now.ms() / 1000, took_ms);
        ended_us
    }

    #[cold]
    fn note_slow(&mut self, entry: &'static Entry, args: Args<'_>, client: ClientId, now: Now, took_us: u64) {
        let event = if entry.flags.has(Flags::FAST) {
            "fast-command"
        } else {
            "command"
        };
        self.observer.latency.note(event, now.ms() / 1000, took_us / 1000);
        if entry.flags.has(Flags::SKIP_COMMANDLOG) {
            return;
        }
        let (addr, name) = self.sessions.get(client).map_or((&b""[..], &b""[..]), |session| {
            (session.addr.as_bytes(), &session.identity.name)
        });
        self.observer
            .slowlog
            .note(entry, args, addr, name, now.ms() / 1000, took_us);
    }
}
