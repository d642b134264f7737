//! Until when a leader may answer: reckoned from the moment at which those were asked of whom a majority answered.
//!
//! The library's times stand still while the machine sleeps, and others elect a new leader meanwhile. Leases are of a clock that
//! goes on, so what was asked before a sleep counts for none.
//!
//! Invariant: a thread that is kept from running between two looks at clocks makes a lease shorter, never longer.

use std::time::Duration;

use openraft::Instant as _;
use openraft::alias::InstantOf;

use super::types::C;
use crate::replica;

/// The library's.
type Instant = InstantOf<C>;

/// How long a leader may answer without having heard from a majority: less than a follower waits before it votes
/// for another, by more than clocks drift apart in that time.
#[derive(Clone, Copy, Debug)]
pub struct Lease(pub Duration);

/// Shorter sleeps are within the margin of the lease.
const SLEEP_MIN: Duration = Duration::from_millis(10);

/// Both clocks, read one after the other: what happens in between makes the second later.
#[derive(Clone, Copy)]
pub(super) struct Clocks {
    going_on: replica::Instant,
    standing: Instant,
}

impl Clocks {
    pub fn read() -> Self {
        let going_on = replica::Instant::now();
        Self {
            going_on,
            standing: Instant::now(),
        }
    }
}

/// What is known of the machine's sleep.
pub(super) struct Sleep {
    start: Clocks,
    /// How far the clocks were apart at the most.
    apart: Duration,
    woke: Option<Instant>,
}

impl Sleep {
    pub fn new(start: Clocks) -> Self {
        Self {
            start,
            apart: Duration::ZERO,
            woke: None,
        }
    }

    /// When the lease ends that begins with what was asked then. `None`: it was asked before the machine slept.
    pub fn lease_end(&mut self, now: Clocks, asked: Instant, lease: Lease) -> Option<replica::Instant> {
        let going_on = Duration::from_nanos(now.going_on.0.saturating_sub(self.start.going_on.0));
        let standing = now.standing - self.start.standing;
        let apart = going_on.saturating_sub(standing);
        if apart > self.apart + SLEEP_MIN {
            self.woke = Some(now.standing);
        }
        self.apart = self.apart.max(apart);
        if self.woke.is_some_and(|woke| asked <= woke) {
            return None;
        }
        let ago = now.standing - asked;
        Some(now.going_on.before(ago).after(lease.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Lease = Lease(Duration::from_millis(500));

    /// A sleep, and clocks so many milliseconds after its start.
    struct Time {
        start: Clocks,
        sleep: Sleep,
    }

    impl Time {
        fn new() -> Self {
            let start = Clocks {
                going_on: replica::Instant(7_000_000_000),
                standing: Instant::now(),
            };
            Self {
                start,
                sleep: Sleep::new(start),
            }
        }

        fn at(&self, going_on_ms: u64, standing_ms: u64) -> Clocks {
            Clocks {
                going_on: self.start.going_on.after(Duration::from_millis(going_on_ms)),
                standing: self.start.standing + Duration::from_millis(standing_ms),
            }
        }

        /// The end of the lease, in milliseconds after the start.
        fn end_ms(&mut self, going_on_ms: u64, standing_ms: u64, asked_ms: u64) -> Option<i64> {
            let now = self.at(going_on_ms, standing_ms);
            let asked = self.at(0, asked_ms).standing;
            let end = self.sleep.lease_end(now, asked, LEASE)?;
            Some((end.0 as i64 - self.start.going_on.0 as i64) / 1_000_000)
        }
    }

    #[test]
    fn a_lease_begins_when_others_were_asked() {
        let mut time = Time::new();
        assert_eq!(time.end_ms(1000, 1000, 950), Some(1450));
        assert_eq!(time.end_ms(9000, 9000, 8000), Some(8500), "it is over");
    }

    #[test]
    fn who_stands_still_between_two_looks_has_the_shorter_lease() {
        let mut time = Time::new();
        // Four seconds between the clocks.
        assert_eq!(time.end_ms(1000, 5000, 950), Some(-2550), "it is over for long");
        assert_eq!(time.end_ms(5001, 5001, 5000), Some(5500));
    }

    #[test]
    fn what_was_asked_before_a_sleep_is_worth_nothing() {
        let mut time = Time::new();
        assert_eq!(time.end_ms(1000, 1000, 900), Some(1400));
        // Ten seconds of sleep; then the answer comes.
        assert_eq!(time.end_ms(11_010, 1010, 990), None);
        assert_eq!(time.end_ms(11_050, 1050, 1000), None, "also when it comes later");
        assert_eq!(time.end_ms(11_100, 1100, 1060), Some(11_560));
    }
}
