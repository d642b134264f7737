//! Figures that `INFO` shows and nobody else needs: memory in use, rates by the second, totals.

use super::world::World;
use crate::command::COMMANDS;
use crate::engine::session::Session;
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

    /// Received from and sent to clients since the start, those that are gone included.
    pub fn bytes_moved(&self) -> (u64, u64) {
        let mut moved = self.stats.bytes_of_closed;
        for session in self.sessions.iter() {
            moved.0 += session.traffic.bytes_in;
            moved.1 += session.traffic.bytes_out;
        }
        moved
    }

    /// `CONFIG RESETSTAT`.
    pub fn reset_stats(&mut self) {
        self.stats = super::world::Stats {
            commands: vec![Default::default(); COMMANDS.len()],
            rates: std::mem::take(&mut self.stats.rates),
            ..Default::default()
        };
        self.observer.clear_histograms();
        self.acl_log.refused = Default::default();
        self.memory.peak = 0;
    }

    /// Takes note of the totals now and then, so that rates can be told.
    pub(super) fn sample(&mut self, now_ms: u64, shard: &Shard) {
        if self.stats.rates.is_due(now_ms) {
            let (bytes_in, bytes_out) = self.bytes_moved();
            self.stats
                .rates
                .note(now_ms, [self.stats.commands_processed, bytes_in, bytes_out]);
            self.memory.peak = self.memory.peak.max(self.used_memory(shard));
        }
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

/// Averages over the last samples: commands, bytes in, bytes out, each by the second.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    last_ms: u64,
    totals: [u64; 3],
    samples: [[u64; 3]; SAMPLES],
    next: usize,
}

impl Rates {
    fn is_due(&self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.last_ms) >= SAMPLE_MS
    }

    fn note(&mut self, now_ms: u64, totals: [u64; 3]) {
        let passed_ms = now_ms.saturating_sub(self.last_ms).max(1);
        // The first sample has nothing to be compared with.
        if self.last_ms > 0 {
            self.samples[self.next] =
                [0, 1, 2].map(|at| totals[at].saturating_sub(self.totals[at]) * 1000 / passed_ms);
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_the_average_of_the_last_samples() {
        let mut rates = Rates::default();
        for step in 0..=SAMPLES as u64 {
            assert!(rates.is_due(1000 + step * 100));
            rates.note(1000 + step * 100, [step * 50, 0, step * 10]);
        }
        assert_eq!(
            (rates.commands(), rates.bytes_in(), rates.bytes_out()),
            (500, 0, 100)
        );
        assert!(!rates.is_due(1000 + SAMPLES as u64 * 100 + 99));
    }
}
