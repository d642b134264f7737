//! A fixed window: so many in a period that begins with the first call.

use super::{Call, Record, Retry, Span, Verdict};
use crate::exec::Now;

/// `count` in `per_ms` milliseconds. Neither is zero nor above [`super::NUMBER_MAX`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quota {
    pub count: u64,
    pub per_ms: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    pub(super) quota: Quota,
    pub(super) start_us: u64,
    pub(super) used: u64,
}

pub(super) fn charge(
    quota: Quota,
    stored: Option<Window>,
    call: Call,
    now: Now,
) -> (Verdict, Option<Record>) {
    let fresh = Window {
        quota,
        start_us: now.us,
        used: 0,
    };
    // Another quota takes over the window's beginning and what was used of it.
    let window = stored
        .map(|window| Window { quota, ..window })
        .filter(|window| window.left_us(now) > 0)
        .unwrap_or(fresh);
    // Both are at most 2^53.
    let wanted = window.used + call.cost;
    if wanted > quota.count {
        let retry = if call.cost > quota.count {
            Retry::Never
        } else {
            Retry::After(window.left(now))
        };
        return (window.verdict(now, retry), None);
    }
    if call.peek || call.cost == 0 {
        return (window.verdict(now, Retry::Passed), None);
    }
    let charged = Window {
        used: wanted,
        ..window
    };
    (charged.verdict(now, Retry::Passed), Some(Record::Window(charged)))
}

impl Window {
    pub(super) fn end_us(&self) -> u128 {
        u128::from(self.start_us) + u128::from(self.quota.per_ms) * 1000
    }

    fn left_us(&self, now: Now) -> u128 {
        self.end_us().saturating_sub(u128::from(now.us))
    }

    fn left(&self, now: Now) -> Span {
        Span {
            ticks: self.left_us(now),
            ticks_per_us: 1,
        }
    }

    fn verdict(&self, now: Now, retry: Retry) -> Verdict {
        Verdict {
            limit: self.quota.count,
            remaining: self.quota.count.saturating_sub(self.used),
            retry,
            reset: if self.used == 0 {
                Span::ZERO
            } else {
                self.left(now)
            },
        }
    }

    pub(super) fn refund(&self, cost: u64, now: Now) -> (Verdict, Option<Record>) {
        let mut window = *self;
        window.used = if self.left_us(now) == 0 {
            0
        } else {
            self.used.saturating_sub(cost)
        };
        let left = (window.used > 0).then_some(Record::Window(window));
        (window.verdict(now, Retry::Passed), left)
    }
}
