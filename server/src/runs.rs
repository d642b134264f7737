//! Runs of the image as others see them: wanted, begun, ended. Owners ask for one and the keeper makes it.
//!
//! Invariant: a run reads how far the log is durable after it is counted as begun. So a run that was not yet begun
//! takes in all that was durable before.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use ruvio_core::engine::ImageRuns;

pub struct Runs {
    begun: AtomicU64,
    ended: AtomicU64,
    succeeded: AtomicU64,
    /// The greatest number that somebody waits for.
    wanted: AtomicU64,
    urgent: AtomicBool,
    start: Instant,
    /// When the last one began, and how long the last one that ended took. Seconds.
    began_at: AtomicU64,
    took: AtomicU64,
}

/// A run that is under way; dropped, it has failed.
pub struct Run<'a>(&'a Runs);

impl Default for Runs {
    fn default() -> Self {
        Self {
            begun: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            succeeded: AtomicU64::new(0),
            wanted: AtomicU64::new(0),
            urgent: AtomicBool::new(false),
            start: Instant::now(),
            began_at: AtomicU64::new(0),
            took: AtomicU64::new(0),
        }
    }
}

impl Runs {
    /// Asks for a run that begins after this: its number.
    pub fn want(&self, urgent: bool) -> u64 {
        let number = self.begun.load(Ordering::SeqCst) + 1;
        if urgent {
            self.urgent.store(true, Ordering::SeqCst);
        }
        self.wanted.fetch_max(number, Ordering::SeqCst);
        number
    }

    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::SeqCst) > self.begun.load(Ordering::SeqCst)
    }

    /// Somebody has waited for a run since this was last asked.
    pub fn take_urgent(&self) -> bool {
        self.urgent.swap(false, Ordering::SeqCst)
    }

    /// There is one keeper, so one run at a time.
    pub fn begin(&self) -> Run<'_> {
        self.began_at
            .store(self.start.elapsed().as_secs(), Ordering::Relaxed);
        self.begun.fetch_add(1, Ordering::SeqCst);
        Run(self)
    }

    pub fn figures(&self) -> ImageRuns {
        // What ended had begun, and what succeeded ended: in this order the figures agree.
        let succeeded = self.succeeded.load(Ordering::SeqCst);
        let ended = self.ended.load(Ordering::SeqCst);
        ImageRuns {
            succeeded,
            ended,
            begun: self.begun.load(Ordering::SeqCst),
            took_seconds: self.took.load(Ordering::Relaxed),
            runs_seconds: self.running_seconds(),
        }
    }

    fn running_seconds(&self) -> u64 {
        let now = self.start.elapsed().as_secs();
        now.saturating_sub(self.began_at.load(Ordering::Relaxed))
    }
}

impl Run<'_> {
    pub fn succeed(self) {
        let number = self.0.begun.load(Ordering::SeqCst);
        self.0.succeeded.store(number, Ordering::SeqCst);
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        let runs = self.0;
        runs.took.store(runs.running_seconds(), Ordering::Relaxed);
        let number = runs.begun.load(Ordering::SeqCst);
        runs.ended.store(number, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_while_one_is_under_way_waits_for_the_next() {
        let runs = Runs::default();
        assert_eq!(runs.want(false), 1);
        assert!(runs.is_wanted());
        let first = runs.begin();
        assert!(!runs.is_wanted());
        assert_eq!(runs.want(true), 2);
        first.succeed();
        let figures = runs.figures();
        assert_eq!((figures.ended, figures.succeeded), (1, 1));
        assert!(runs.is_wanted() && runs.take_urgent() && !runs.take_urgent());
        drop(runs.begin());
        let figures = runs.figures();
        assert_eq!((figures.begun, figures.ended, figures.succeeded), (2, 2, 1));
    }
}
