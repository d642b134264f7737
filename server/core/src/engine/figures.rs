//! Figures that `INFO` shows and nobody else needs: memory in use, rates by the second, totals.

use super::world::World;
use crate::command::COMMANDS;
use crate::engine::session::{Moved, Session};
use crate::keyspace::Shard;

/// Bytes.
#[derive(Clone, Copy, Default, Debug)]
pub struct MemoryUsage {
    pub used: u64,
    pub peak: u64,
    pub startup: u64,
    /// Of `used`: what is not keys and values.
    pub overhead: u64,
    pub clients: u64,
    /// Taken from the system for keys and values, used or not.
    pub mapped: u64,
    pub resident: u64,
}

impl MemoryUsage {
    pub fn dataset(&self) -> u64 {
        self.used.saturating_sub(self.overhead)
    }
}

/// What the memory of this owner was at certain moments, bytes.
#[derive(Clone, Copy, Default, Debug)]
pub struct MemoryMarks {
    pub startup: u64,
    pub peak: u64,
}

impl World {
    /// Bytes in use by this owner: the heap of its shard, and what its thread took from the allocator.
    pub fn used_memory(&self, shard: &Shard) -> u64 {
        (self.host.memory().allocated + shard.heap.slab_bytes() + self.parked_bytes) as u64
    }

    pub(super) fn mark_startup(&mut self, shard: &Shard) {
        self.memory.startup = self.used_memory(shard);
    }

    pub fn memory_usage(&mut self, shard: &Shard) -> MemoryUsage {
        let used = self.used_memory(shard);
        self.memory.peak = self.memory.peak.max(used);
        let clients: usize = self.sessions.iter().map(session_bytes).sum();
        let index: usize = shard.databases.iter().map(|table| table.index_bytes()).sum();
        let figures = self.host.memory();
        MemoryUsage {
            used,
            peak: self.memory.peak,
            startup: self.memory.startup,
            overhead: self.memory.startup + (clients + index) as u64,
            clients: clients as u64,
            mapped: (figures.allocated + shard.heap.mapped_bytes()) as u64,
            resident: figures.resident as u64,
        }
    }

    /// What has gone over sockets since the start or `CONFIG RESETSTAT`, those that are closed included.
    pub fn moved(&self) -> Moved {
        self.moved_ever().since(self.stats.moved_before)
    }

    fn moved_ever(&self) -> Moved {
        let mut moved = self.moved_by_closed;
        for session in self.sessions.iter() {
            moved += session.traffic.moved;
        }
        moved
    }

    /// `CONFIG RESETSTAT`.
    pub fn reset_stats(&mut self) {
        self.stats = super::world::Stats {
            commands: vec![Default::default(); COMMANDS.len()],
            rates: std::mem::take(&mut self.stats.rates),
            moved_before: self.moved_ever(),
            cycles: self.stats.cycles.reset(),
            ..Default::default()
        };
        self.observer.clear_histograms();
        self.acl_log.refused = Default::default();
        self.memory.peak = 0;
    }

    /// Takes note of the totals now and then, so that rates can be told. `true` if it was time to.
    pub(super) fn sample(&mut self, now_ms: u64, shard: &Shard) -> bool {
        let is_due = self.stats.rates.is_due(now_ms);
        if is_due {
            let moved = self.moved();
            let stats = &mut self.stats;
            let syncs = self.host.log().map_or(0, |log| log.syncs);
            let totals = [
                stats.commands_processed,
                moved.bytes_in,
                moved.bytes_out,
                stats.cycles.count,
                syncs,
            ];
            stats.rates.note(now_ms, totals);
            stats.cycles.sample();
            self.memory.peak = self.memory.peak.max(self.used_memory(shard));
        }
        is_due
    }

    /// Time that commands took, microseconds.
    pub fn command_us(&self) -> u64 {
        self.stats.commands.iter().map(|stats| stats.usec).sum()
    }
}

fn session_bytes(session: &Session) -> usize {
    let traffic = &session.traffic;
    size_of::<Session>()
        + traffic.query_buffer
        + traffic.query_buffer_free
        + traffic.output_pending
        + session.queued_bytes()
        + session.identity.size()
}

/// Between samples, milliseconds.
const SAMPLE_MS: u64 = 100;
const SAMPLES: usize = 16;

/// Averages over the last samples: commands, bytes in, bytes out, cycles, syncs of the log, each by the second.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    last_ms: u64,
    totals: [u64; RATES],
    samples: [[u64; RATES]; SAMPLES],
    next: usize,
}

const RATES: usize = 5;

impl Rates {
    fn is_due(&self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.last_ms) >= SAMPLE_MS
    }

    fn note(&mut self, now_ms: u64, totals: [u64; RATES]) {
        let passed_ms = now_ms.saturating_sub(self.last_ms).max(1);
        // The first sample has nothing to be compared with.
        if self.last_ms > 0 {
            self.samples[self.next] =
                std::array::from_fn(|at| totals[at].saturating_sub(self.totals[at]) * 1000 / passed_ms);
            self.next = (self.next + 1) % SAMPLES;
        }
        self.last_ms = now_ms;
        self.totals = totals;
    }

    fn average(&self, at: usize) -> u64 {
        self.samples.iter().map(|sample| sample[at]).sum::<u64>() / SAMPLES as u64
    }

    pub fn commands(&self) -> u64 {
        self.average(0)
    }

    pub fn bytes_in(&self) -> u64 {
        self.average(1)
    }

    pub fn bytes_out(&self) -> u64 {
        self.average(2)
    }

    pub fn cycles(&self) -> u64 {
        self.average(3)
    }

    pub fn syncs(&self) -> u64 {
        self.average(4)
    }
}

/// The owner's loop: turns, and rounds of background work (ten a second). Times in microseconds.
#[derive(Clone, Debug, Default)]
pub struct Cycles {
    pub count: u64,
    pub usec: u64,
    pub usec_max: u64,
    /// Of `usec`: background work.
    pub background_usec: u64,
    pub commands_max: u64,
    /// When the turn began, and the number of commands before it.
    began: (u64, u64),
    /// `count` and `usec` at the last sample, and the average cycle of the last samples.
    sampled: (u64, u64),
    samples: [u64; SAMPLES],
    next: usize,
}

impl Cycles {
    pub(super) fn begin(&mut self, now_us: u64, commands: u64) {
        self.began = (now_us, commands);
    }

    pub(super) fn end(&mut self, now_us: u64, commands: u64) {
        self.count += 1;
        let took_us = now_us.saturating_sub(self.began.0);
        self.usec += took_us;
        self.usec_max = self.usec_max.max(took_us);
        self.commands_max = self.commands_max.max(commands.saturating_sub(self.began.1));
    }

    /// A slice of background work is done; the slices of one round count as one cycle.
    pub(super) fn note_background(&mut self, took_us: u64, is_round: bool) {
        self.count += u64::from(is_round);
        self.usec += took_us;
        self.usec_max = self.usec_max.max(took_us);
        self.background_usec += took_us;
    }

    fn sample(&mut self) {
        let (count, usec) = self.sampled;
        let cycles = self.count.saturating_sub(count);
        if let Some(average) = self.usec.saturating_sub(usec).checked_div(cycles) {
            self.samples[self.next] = average;
            self.next = (self.next + 1) % SAMPLES;
        }
        self.sampled = (self.count, self.usec);
    }

    /// The average cycle of the last samples.
    pub fn usec_recent(&self) -> u64 {
        self.samples.iter().sum::<u64>() / SAMPLES as u64
    }

    /// Anew, in the midst of a turn.
    fn reset(&self) -> Self {
        Self {
            began: (self.began.0, 0),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_the_average_of_the_last_samples() {
        let mut rates = Rates::default();
        for step in 0..=SAMPLES as u64 {
            assert!(rates.is_due(1000 + step * 100));
            rates.note(1000 + step * 100, [step * 50, 0, step * 10, step, step * 2]);
        }
        assert_eq!(
            (
                rates.commands(),
                rates.bytes_in(),
                rates.bytes_out(),
                rates.cycles(),
                rates.syncs()
            ),
            (500, 0, 100, 10, 20)
        );
        assert!(!rates.is_due(1000 + SAMPLES as u64 * 100 + 99));
    }

    #[test]
    fn a_cycle_is_a_turn_or_a_round_of_background_work() {
        let mut cycles = Cycles::default();
        for turn in 0..SAMPLES as u64 {
            cycles.begin(turn * 1000, turn * 5);
            cycles.end(turn * 1000 + 60, turn * 5 + 5);
            cycles.note_background(10, false);
            cycles.note_background(10, true);
            cycles.sample();
        }
        let turns = SAMPLES as u64;
        assert_eq!((cycles.count, cycles.usec), (2 * turns, 80 * turns));
        assert_eq!((cycles.usec_recent(), cycles.usec_max), (40, 60));
        assert_eq!((cycles.background_usec, cycles.commands_max), (20 * turns, 5));
        let anew = cycles.reset();
        assert_eq!((anew.count, anew.usec_recent(), anew.commands_max), (0, 0, 0));
    }
}
