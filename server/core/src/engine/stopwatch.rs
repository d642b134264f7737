//! How long commands take, without asking the clock at every one of them.
//!
//! A command that may take long is timed by itself. Commands that cannot (a few words, constant cost) run in
//! rows; a row's time is measured as a whole and shared out evenly. Reading the clock costs as much as a
//! small `GET`.

use super::observe::Histogram;
use super::world::{CommandStats, World};
use crate::command::Entry;
use crate::command::spec::Flags;
use crate::exec::Now;

/// Words up to which a command of constant cost is taken to be quick.
const WORDS: usize = 8;
/// A row is measured at least this often.
const ROW: usize = 64;
/// A reply above this many bytes ends a row: copying it took most of the row's time.
pub(super) const LARGE_REPLY: usize = 64 * 1024;

#[derive(Default)]
pub struct Stopwatch {
    /// When the running command, or the row, began. Monotonic microseconds.
    began_us: u64,
    /// When the turn began, or the slice of background work.
    turn_began_us: u64,
    /// The commands of the row so far.
    row: Vec<u16>,
}

impl Stopwatch {
    pub fn start(&mut self, now_us: u64) {
        self.began_us = now_us;
        self.turn_began_us = now_us;
    }
}

/// A request of more bytes is never timed in a row: copying it takes most of the time.
pub(super) const LARGE_REQUEST: usize = 64 * 1024;
/// So many bytes of a quick command's words are below it for sure, with all that RESP writes around them.
pub(super) const QUICK_EXTENT: usize = LARGE_REQUEST - (WORDS + 1) * 24;

/// Whether the command is timed in a row with others.
#[inline]
pub fn is_quick(entry: &Entry, words: usize) -> bool {
    words <= WORDS && entry.quick
}

/// Rows' commands are told apart from others once, when the table is built.
pub fn quick(flags: Flags, complexity: &str) -> bool {
    let timed = Flags::ADMIN | Flags::BLOCKING | Flags::NOSCRIPT | Flags::PUBSUB;
    !flags.any(timed) && (flags.has(Flags::FAST) || complexity == "O(1)")
}

impl World {
    /// A quick command ran: it is counted now and timed with its row.
    #[inline]
    pub(super) fn time_in_row(&mut self, entry: &Entry) {
        self.stopwatch.row.push(entry.id);
        if self.stopwatch.row.len() >= ROW {
            self.settle_time();
        }
    }

    /// Measures the row that is open, if any, and shares its time out.
    pub(super) fn settle_time(&mut self) {
        if self.stopwatch.row.is_empty() {
            return;
        }
        let took_us = self.lap_us();
        let count = self.stopwatch.row.len() as u64;
        let (share, mut odd) = (took_us / count, took_us % count);
        let bucket = Histogram::bucket(share);
        // Rows are mostly of one command.
        for run in self.stopwatch.row.chunk_by(|a, b| a == b) {
            let (id, calls) = (run[0], run.len() as u64);
            let stats: &mut CommandStats = &mut self.stats.commands[id as usize];
            stats.usec += share * calls + odd.min(calls);
            self.observer.count(id, bucket, calls);
            odd = odd.saturating_sub(calls);
        }
        self.stopwatch.row.clear();
    }

    /// The time as it is by now, `turn` being what it was when the turn began.
    pub(super) fn time_since(&self, turn: Now) -> Now {
        let passed_us = self.host.clock_us().saturating_sub(self.stopwatch.turn_began_us);
        Now {
            us: turn.us + passed_us,
        }
    }

    /// Ends the turn's last row; the time of now. A turn without quick commands has no row, and reads the clock
    /// for its end alone.
    pub(super) fn settle_turn(&mut self) -> u64 {
        if self.stopwatch.row.is_empty() {
            return self.host.clock_us();
        }
        self.settle_time();
        self.stopwatch.began_us
    }

    /// The time since the last lap; the next one begins.
    pub(super) fn lap_us(&mut self) -> u64 {
        let now_us = self.host.clock_us();
        let took_us = now_us.saturating_sub(self.stopwatch.began_us);
        self.stopwatch.began_us = now_us;
        took_us
    }
}
