//! What watches commands: the command logs, the latency monitor, histograms of times, and `MONITOR`.
//!
//! Invariant: a command that is under every threshold, and that nobody monitors, costs a comparison and the
//! count in its histogram. A command that was timed in a row (see `stopwatch`) counts with its share of the
//! row; while a threshold is so low that a share would not do, every command is looked at by itself.

mod command_log;
mod histogram;
mod latency;
mod monitor;
mod secrets;

pub use command_log::{CommandLog, LogEntry, LogKind};
pub use histogram::Histogram;
pub use latency::{Event, LatencyMonitor};
pub use secrets::{REDACTED, is_secret};

use super::session::ClientId;
use super::stopwatch::{LARGE_REPLY, LARGE_REQUEST};
use super::world::World;
use crate::command::spec::Flags;
use crate::command::{Args, COMMANDS, Entry};
use crate::exec::Now;
use crate::options::{Id, Options};

/// Thresholds below this make every command be timed by itself. Microseconds.
const FINE_US: u64 = 1000;

/// What of a client's command is being run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Portion {
    #[default]
    Whole,
    /// All of it, or the first part: it was shown where it came from.
    First,
    /// A further part, which is no call of its own.
    Rest,
}

#[derive(Default)]
pub struct Observer {
    logs: [CommandLog; 3],
    pub latency: LatencyMonitor,
    /// By command id; empty while `latency-tracking` is off.
    pub histograms: Vec<Histogram>,
    pub monitors: Vec<ClientId>,
    /// A command that took this long is looked at. Microseconds.
    threshold_us: Option<u64>,
    /// No command may be taken together with others.
    looks_at_each: bool,
    pub(super) portion: Portion,
}

impl Observer {
    pub fn configure(&mut self, options: &Options) {
        for (kind, threshold, len_max) in [
            (LogKind::Slow, Id::SlowlogLogSlowerThan, Id::SlowlogMaxLen),
            (
                LogKind::LargeRequest,
                Id::CommandlogRequestLargerThan,
                Id::CommandlogLargeRequestMaxLen,
            ),
            (
                LogKind::LargeReply,
                Id::CommandlogReplyLargerThan,
                Id::CommandlogLargeReplyMaxLen,
            ),
        ] {
            let log = self.log_mut(kind);
            log.threshold = u64::try_from(options.number(threshold)).ok();
            log.len_max = options.count(len_max);
            log.cut();
        }
        let slow = self.log(LogKind::Slow).threshold;
        let latency_ms = options.number(Id::LatencyMonitorThreshold) as u64;
        self.latency.threshold_ms = Some(latency_ms).filter(|threshold| *threshold > 0);
        let latency_us = self.latency.threshold_ms.map(|ms| ms.saturating_mul(1000));
        self.threshold_us = [slow, latency_us].into_iter().flatten().min();
        let is_below = |threshold: Option<u64>, bound: u64| threshold.is_some_and(|it| it < bound);
        self.looks_at_each = is_below(self.threshold_us, FINE_US)
            || is_below(self.log(LogKind::LargeRequest).threshold, LARGE_REQUEST as u64)
            || is_below(self.log(LogKind::LargeReply).threshold, LARGE_REPLY as u64);
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

    pub fn log(&self, kind: LogKind) -> &CommandLog {
        &self.logs[kind as usize]
    }

    pub fn log_mut(&mut self, kind: LogKind) -> &mut CommandLog {
        &mut self.logs[kind as usize]
    }

    /// No command may share the time of others.
    #[inline]
    pub(super) fn looks_at_each(&self) -> bool {
        self.looks_at_each
    }

    #[inline]
    pub(super) fn count(&mut self, command: u16, bucket: usize, calls: u64) {
        if let Some(histogram) = self.histograms.get_mut(command as usize) {
            histogram.add_to(bucket, calls);
        }
    }

    #[inline]
    fn is_remarkable(&self, took_us: u64, request_bytes: usize, reply_bytes: usize) -> bool {
        let is_over = |kind, bytes: usize| {
            let threshold = self.log(kind).threshold;
            threshold.is_some_and(|threshold| bytes as u64 >= threshold)
        };
        self.threshold_us.is_some_and(|threshold| took_us >= threshold)
            || is_over(LogKind::LargeRequest, request_bytes)
            || is_over(LogKind::LargeReply, reply_bytes)
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
        reply_bytes: usize,
    ) {
        self.observer.count(entry.id, Histogram::bucket(took_us), 1);
        let request_bytes = args.request_len();
        if self.observer.is_remarkable(took_us, request_bytes, reply_bytes) {
            let sizes = [took_us, request_bytes as u64, reply_bytes as u64];
            self.note_remarkable(entry, args, client, now, sizes);
        }
    }

    /// Background work that began at `began_us` by the host's clock is done: gives the time of now.
    pub(super) fn note_event(&mut self, name: &'static str, now: Now, began_us: u64) -> u64 {
        let ended_us = self.host.clock_us();
        let took_ms = ended_us.saturating_sub(began_us) / 1000;
        self.keep_latency(name, now.ms() / 1000, took_ms);
        ended_us
    }

    /// `values` are those of the logs: its time, and the sizes of its request and its reply.
    #[cold]
    fn note_remarkable(
        &mut self,
        entry: &'static Entry,
        args: Args<'_>,
        client: ClientId,
        now: Now,
        values: [u64; 3],
    ) {
        let took_us = values[LogKind::Slow as usize];
        let event = if entry.flags.has(Flags::FAST) {
            "fast-command"
        } else {
            "command"
        };
        self.keep_latency(event, now.ms() / 1000, took_us / 1000);
        if entry.flags.has(Flags::SKIP_COMMANDLOG) {
            return;
        }
        for kind in LogKind::ALL {
            let value = values[kind as usize];
            if self.observer.log(kind).wants(value) {
                let session = self.sessions.get(client);
                let found = LogEntry {
                    id: 0,
                    at_seconds: now.ms() / 1000,
                    value,
                    words: command_log::shorten(entry, args),
                    addr: session.map_or(Vec::new(), |session| session.addr.clone().into_bytes()),
                    name: session.map_or(Vec::new(), |session| session.identity.name.clone()),
                };
                self.keep_log_entry(client, kind, found);
            }
        }
    }
}
