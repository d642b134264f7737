//! Entries of one shard to one peer: a stream that lasts as long as the leadership, with many appends under way.
//!
//! The library sets no deadline on it. An answer that takes longer than `ANSWER_MAX` while something is under way ends
//! the stream; a stream with nothing under way is in order, however long it is silent.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// A slow disk is no fault of the network; a peer that is silent for so long is gone.
pub(super) const ANSWER_MAX: Duration = Duration::from_secs(1);

/// What is under way in a stream.
#[derive(Default)]
pub(super) struct Pace(Mutex<UnderWay>);

#[derive(Default)]
struct UnderWay {
    count: usize,
    /// Since when the next answer is waited for.
    since: Option<Instant>,
}

impl Pace {
    pub fn sent(&self, now: Instant) {
        let mut under_way = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if under_way.count == 0 {
            under_way.since = Some(now);
        }
        under_way.count += 1;
    }

    pub fn answered(&self, now: Instant) {
        let mut under_way = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.count = under_way.count.saturating_sub(1);
        under_way.since = (under_way.count > 0).then_some(now);
    }

    /// How much longer an answer may take; nothing, if it took too long.
    pub fn left(&self, now: Instant) -> Option<Duration> {
        let since = self.0.lock().unwrap_or_else(PoisonError::into_inner).since;
        let waited = since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        ANSWER_MAX.checked_sub(waited).filter(|left| !left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_under_way_can_take_too_long() {
        let (pace, start) = (Pace::default(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!(pace.left(at(5000)), Some(ANSWER_MAX), "silent and in order");
        pace.sent(at(5000));
        pace.sent(at(5900));
        assert_eq!(pace.left(at(5900)), Some(Duration::from_millis(100)));
        assert_eq!(pace.left(at(6000)), None);
        pace.answered(at(6000));
        assert_eq!(
            pace.left(at(6500)),
            Some(Duration::from_millis(500)),
            "from the last answer on"
        );
        pace.answered(at(6500));
        assert_eq!(pace.left(at(9000)), Some(ANSWER_MAX));
    }
}
