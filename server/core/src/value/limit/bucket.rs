//! A token bucket, kept as the one moment at which it is full again (the theoretical arrival time of GCRA, the
//! cell rate algorithm of ITU-T I.371).
//!
//! A bucket of `count` tokens per period is counted in ticks of 1/`count` microsecond: a token then takes
//! exactly as many ticks to come back as the period has microseconds, however fast the rate.

use super::{Call, Record, Retry, Span, Verdict};
use crate::exec::Now;

/// `count` tokens come back in `per_ms` milliseconds; the bucket holds `burst`. None is zero, none above
/// [`super::NUMBER_MAX`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rate {
    pub count: u64,
    pub per_ms: u64,
    pub burst: u64,
}

/// Beyond every moment that a charge can reach: 2^117 for now, 2^116 for the tokens.
pub(super) const FULL_AT_MAX: u128 = 1 << 118;

impl Rate {
    /// Ticks for one token.
    fn token(self) -> u128 {
        u128::from(self.per_ms) * 1000
    }

    /// Ticks from empty to full.
    fn capacity(self) -> u128 {
        u128::from(self.burst) * self.token()
    }

    fn now(self, now: Now) -> u128 {
        u128::from(now.us) * u128::from(self.count)
    }

    fn span(self, ticks: u128) -> Span {
        Span {
            ticks,
            ticks_per_us: self.count,
        }
    }

    /// With so many ticks missing. `retry` is the caller's.
    fn verdict(self, missing: u128, retry: Retry) -> Verdict {
        Verdict {
            limit: self.burst,
            // At most the burst.
            remaining: (self.capacity().saturating_sub(missing) / self.token()) as u64,
            retry,
            reset: self.span(missing),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bucket {
    pub(super) rate: Rate,
    /// Ticks of the rate since the Unix epoch.
    pub(super) full_at: u128,
}

pub(super) fn charge(rate: Rate, stored: Option<Bucket>, call: Call, now: Now) -> (Verdict, Option<Record>) {
    let missing = stored.map_or(0, |bucket| bucket.missing(rate, now));
    let wanted = missing + u128::from(call.cost) * rate.token();
    if wanted > rate.capacity() {
        let retry = if call.cost > rate.burst {
            Retry::Never
        } else {
            Retry::After(rate.span(wanted - rate.capacity()))
        };
        return (rate.verdict(missing, retry), None);
    }
    if call.peek || call.cost == 0 {
        return (rate.verdict(missing, Retry::Passed), None);
    }
    let full_at = rate.now(now) + wanted;
    let bucket = Bucket { rate, full_at };
    (rate.verdict(wanted, Retry::Passed), Some(Record::Bucket(bucket)))
}

impl Bucket {
    /// How many of `rate`'s ticks the bucket lacks. Another rate takes over the moment at which it would be
    /// full, rounded up to its own ticks.
    fn missing(&self, rate: Rate, now: Now) -> u128 {
        let (old, new) = (u128::from(self.rate.count), u128::from(rate.count));
        let full_at = if old == new {
            self.full_at
        } else {
            // Twice the last microsecond of a clock is as good as never, and keeps the product in range.
            let whole = (self.full_at / old).min(1 << 65);
            whole * new + (self.full_at % old * new).div_ceil(old)
        };
        full_at.saturating_sub(rate.now(now))
    }

    pub(super) fn full_at_ms(&self) -> u128 {
        self.full_at.div_ceil(u128::from(self.rate.count) * 1000)
    }

    pub(super) fn refund(&self, cost: u64, now: Now) -> (Verdict, Option<Record>) {
        let rate = self.rate;
        let missing = self
            .missing(rate, now)
            .saturating_sub(u128::from(cost) * rate.token());
        let full_at = rate.now(now) + missing;
        let left = (missing > 0).then_some(Record::Bucket(Self { rate, full_at }));
        (rate.verdict(missing, Retry::Passed), left)
    }
}
