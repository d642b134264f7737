//! `LATENCY`: moments at which something took long, by the name of what it was.

use std::collections::{BTreeMap, VecDeque};

/// Moments kept for each name.
const SAMPLES: usize = 160;

#[derive(Default)]
pub struct LatencyMonitor {
    /// None: off.
    pub threshold_ms: Option<u64>,
    events: BTreeMap<&'static str, Event>,
}

/// Seconds of Unix time, milliseconds.
#[derive(Default)]
pub struct Event {
    /// Oldest first; one a second, the longest of it.
    pub samples: VecDeque<(u64, u64)>,
    pub max_ms: u64,
    pub sum_ms: u64,
    pub count: u64,
}

/// What is watched.
const NAMES: [&str; 4] = ["command", "fast-command", "expire-cycle", "eviction-cycle"];

impl LatencyMonitor {
    pub fn is_long(&self, took_ms: u64) -> bool {
        self.threshold_ms.is_some_and(|threshold| took_ms >= threshold)
    }

    pub fn name_of(text: &[u8]) -> Option<&'static str> {
        NAMES.into_iter().find(|name| name.as_bytes() == text)
    }

    /// Notes what took `took_ms`, if that is long.
    pub fn note(&mut self, name: &'static str, now_seconds: u64, took_ms: u64) {
        if !self.is_long(took_ms) {
            return;
        }
        let event = self.events.entry(name).or_default();
        event.max_ms = event.max_ms.max(took_ms);
        event.sum_ms += took_ms;
        event.count += 1;
        if let Some(last) = event.samples.back_mut()
            && last.0 == now_seconds
        {
            last.1 = last.1.max(took_ms);
            return;
        }
        if event.samples.len() == SAMPLES {
            event.samples.pop_front();
        }
        event.samples.push_back((now_seconds, took_ms));
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&'static str, &Event)> {
        self.events.iter().map(|(name, event)| (*name, event))
    }

    pub fn get(&self, name: &[u8]) -> Option<&Event> {
        self.events
            .iter()
            .find(|(known, _)| known.as_bytes() == name)
            .map(|(_, event)| event)
    }

    /// Forgets one name or all; how many that were.
    pub fn reset(&mut self, name: Option<&[u8]>) -> usize {
        let before = self.events.len();
        match name {
            None => self.events.clear(),
            Some(name) => self.events.retain(|known, _| known.as_bytes() != name),
        }
        before - self.events.len()
    }
}
