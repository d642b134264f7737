//! Limits against a slow model in fractions, written from the rules alone: a bucket has a level that grows at
//! its rate up to its burst, a window has a beginning and a sum.

use proptest::prelude::*;

use super::*;

/// A fraction in lowest terms with a positive denominator.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Fraction(i128, i128);

impl Fraction {
    fn new(num: i128, den: i128) -> Self {
        let (mut a, mut b) = (num.abs(), den.abs());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let sign = if den < 0 { -1 } else { 1 };
        Self(sign * num / a.max(1), sign * den / a.max(1))
    }

    fn whole(value: impl Into<i128>) -> Self {
        Self(value.into(), 1)
    }

    fn plus(self, other: Self) -> Self {
        Self::new(self.0 * other.1 + other.0 * self.1, self.1 * other.1)
    }

    fn minus(self, other: Self) -> Self {
        self.plus(Self(-other.0, other.1))
    }

    fn times(self, num: i128, den: i128) -> Self {
        let (left, right) = (Self::new(self.0, den), Self::new(num, self.1));
        Self(left.0 * right.0, left.1 * right.1)
    }

    fn is_below(self, other: Self) -> bool {
        self.minus(other).0 < 0
    }

    fn floor(self) -> i128 {
        self.0.div_euclid(self.1)
    }

    fn ceil(self) -> i128 {
        -(-self.0).div_euclid(self.1)
    }

    fn ceil_ms(self) -> i64 {
        self.times(1, 1000).ceil() as i64
    }
}

/// Allowed, remaining, retry and reset in milliseconds.
type Answer = (bool, u64, i64, i64);

fn answer(verdict: &Verdict) -> Answer {
    let retry = match verdict.retry {
        Retry::Passed => 0,
        Retry::After(span) => span.ms(),
        Retry::Never => -1,
    };
    (verdict.is_allowed(), verdict.remaining, retry, verdict.reset.ms())
}

#[derive(Default)]
struct ModelBucket {
    /// The rate, the level, and when that was.
    state: Option<(Rate, Fraction, u64)>,
}

impl ModelBucket {
    fn call(&mut self, rate: Rate, call: Call, now_us: u64) -> Answer {
        let (count, per_us) = (i128::from(rate.count), i128::from(rate.per_ms) * 1000);
        let full = Fraction::whole(rate.burst);
        let level = match self.state {
            None => full,
            Some((old, level, at_us)) => {
                let (old_count, old_per) = (i128::from(old.count), i128::from(old.per_ms) * 1000);
                let grown = level.plus(Fraction::whole(now_us - at_us).times(old_count, old_per));
                let old_full = Fraction::whole(old.burst);
                if old_full.is_below(grown) {
                    full
                } else if old == rate {
                    grown
                } else {
                    // The moment at which it is full stays, to the next whole part that the new rate counts.
                    let wait_us = old_full.minus(grown).times(old_per, old_count);
                    let wait_us = Fraction::new(wait_us.times(count, 1).ceil(), count);
                    full.minus(wait_us.times(count, per_us))
                }
            }
        };
        let wait_ms = |missing: Fraction| missing.times(per_us, count).ceil_ms();
        let told = |level: Fraction, retry| {
            let remaining = level.floor().max(0) as u64;
            (retry == 0, remaining, retry, wait_ms(full.minus(level)))
        };
        let cost = Fraction::whole(call.cost);
        if level.is_below(cost) {
            let never = call.cost > rate.burst;
            return told(level, if never { -1 } else { wait_ms(cost.minus(level)) });
        }
        if call.peek || call.cost == 0 {
            return told(level, 0);
        }
        let left = level.minus(cost);
        self.state = Some((rate, left, now_us));
        told(left, 0)
    }
}

#[derive(Default)]
struct ModelWindow {
    start_us: u64,
    used: u64,
}

impl ModelWindow {
    fn call(&mut self, quota: Quota, call: Call, now_us: u64) -> Answer {
        let length_us = quota.per_ms * 1000;
        let is_over = self.used == 0 || now_us - self.start_us >= length_us;
        let (start_us, used) = if is_over {
            (now_us, 0)
        } else {
            (self.start_us, self.used)
        };
        let left_ms = (start_us + length_us - now_us).div_ceil(1000) as i64;
        let told = |used: u64, retry| {
            let reset = if used == 0 { 0 } else { left_ms };
            (retry == 0, quota.count.saturating_sub(used), retry, reset)
        };
        if call.cost > quota.count {
            return told(used, -1);
        }
        if used + call.cost > quota.count {
            return told(used, left_ms);
        }
        if call.peek || call.cost == 0 {
            return told(used, 0);
        }
        *self = Self {
            start_us,
            used: used + call.cost,
        };
        told(self.used, 0)
    }
}

/// A record as it lives at a key: through its bytes, and gone when its time has come.
#[derive(Default)]
struct Kept(Option<Vec<u8>>);

impl Kept {
    fn call(&mut self, rule: Rule, call: Call, now: Now) -> Verdict {
        let stored = self.stored(now);
        let (verdict, record) = rule.charge(stored, call, now).expect("one form");
        if let Some(record) = record {
            self.0 = Some(record.encode().bytes().to_vec());
        }
        verdict
    }

    fn stored(&mut self, now: Now) -> Option<Record> {
        let stored = self.0.as_deref().and_then(Record::decode);
        assert_eq!(stored.is_some(), self.0.is_some(), "what was kept is read");
        stored.filter(|record| record.expire_at_ms() > now.ms())
    }
}

fn steps() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        0..3u64,
        0..2_000u64,
        0..3_000_000u64,
        0..100_000_000_000u64
    ]
}

fn calls() -> impl Strategy<Value = Call> {
    (
        prop_oneof![3 => 0..4u64, 1 => 0..30u64],
        prop::bool::weighted(0.2),
    )
        .prop_map(|(cost, peek)| Call { cost, peek })
}

fn rates() -> impl Strategy<Value = Rate> {
    let count = prop_oneof![Just(1), 1..8u64, Just(10_000_000), 1..1000u64];
    let per_ms = prop_oneof![Just(1), Just(1000), Just(86_400_000), 1..5000u64];
    (count, per_ms, 1..20u64).prop_map(|(count, per_ms, burst)| Rate { count, per_ms, burst })
}

const START_US: u64 = 1_700_000_000_000_123;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn a_bucket_is_the_model_to_the_millisecond(
        rates in prop::collection::vec(rates(), 1..3),
        calls in prop::collection::vec((steps(), calls(), 0..8usize), 1..40),
    ) {
        let (mut kept, mut model, mut now) = (Kept::default(), ModelBucket::default(), Now { us: START_US });
        for (step_us, call, which) in calls {
            now.us += step_us;
            let rate = rates[which % rates.len()];
            let verdict = kept.call(Rule::Rate(rate), call, now);
            prop_assert_eq!(answer(&verdict), model.call(rate, call, now.us), "{:?} at {:?}", call, now);
            prop_assert_eq!(verdict.limit, rate.burst);
        }
    }

    #[test]
    fn a_window_is_the_model_to_the_millisecond(
        quotas in prop::collection::vec((1..20u64, prop_oneof![Just(1), 1..5000u64]), 1..3),
        calls in prop::collection::vec((steps(), calls(), 0..8usize), 1..40),
    ) {
        let (mut kept, mut model, mut now) = (Kept::default(), ModelWindow::default(), Now { us: START_US });
        for (step_us, call, which) in calls {
            now.us += step_us;
            let (count, per_ms) = quotas[which % quotas.len()];
            let quota = Quota { count, per_ms };
            // The key of a window that grew may have gone by its old time: the model forgets with it.
            if kept.stored(now).is_none() {
                model.used = 0;
            }
            let verdict = kept.call(Rule::Window(quota), call, now);
            prop_assert_eq!(answer(&verdict), model.call(quota, call, now.us), "{:?} at {:?}", call, now);
        }
    }

    /// What passes in any stretch of time is at most what the rate brings, and one burst.
    #[test]
    fn no_more_than_rate_and_burst_pass(
        rate in rates(),
        calls in prop::collection::vec((steps(), calls()), 1..60),
    ) {
        let (mut kept, mut now, mut passed) = (Kept::default(), Now { us: START_US }, 0u128);
        for (step_us, call) in calls {
            now.us += step_us;
            if kept.call(Rule::Rate(rate), call, now).is_allowed() && !call.peek {
                passed += u128::from(call.cost);
            }
            let brought = u128::from(now.us - START_US) * u128::from(rate.count);
            let most = brought / (u128::from(rate.per_ms) * 1000) + u128::from(rate.burst);
            prop_assert!(passed <= most, "{passed} passed of {most}");
        }
    }

    #[test]
    fn a_refund_undoes_a_charge(rate in rates(), costs in prop::collection::vec(1..4u64, 1..10)) {
        let now = Now { us: START_US };
        let mut kept = Kept::default();
        for cost in costs {
            let before = kept.stored(now);
            if kept.call(Rule::Rate(rate), Call { cost, peek: false }, now).is_allowed() {
                let after = kept.stored(now).expect("charged");
                let (verdict, left) = after.refund(cost, now);
                prop_assert_eq!(left, before);
                prop_assert!(verdict.is_allowed());
            }
        }
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(0u8..3, 30..46)) {
        if let Some(record) = Record::decode(&bytes) {
            let again = record.encode();
            prop_assert_eq!(again.bytes(), &bytes[..]);
        }
    }
}

const ONE: Call = Call { cost: 1, peek: false };

fn at_ms(ms: u64) -> Now {
    Now {
        us: START_US + ms * 1000,
    }
}

#[test]
fn one_a_day_passes_at_the_very_millisecond() {
    let day = Rule::Rate(Rate {
        count: 1,
        per_ms: 86_400_000,
        burst: 1,
    });
    let mut kept = Kept::default();
    assert_eq!(answer(&kept.call(day, ONE, at_ms(0))), (true, 0, 0, 86_400_000));
    assert_eq!(
        answer(&kept.call(day, ONE, at_ms(1))),
        (false, 0, 86_399_999, 86_399_999)
    );
    assert_eq!(answer(&kept.call(day, ONE, at_ms(86_399_999))), (false, 0, 1, 1));
    let almost = Now {
        us: at_ms(86_400_000).us - 1,
    };
    assert_eq!(answer(&kept.call(day, ONE, almost)), (false, 0, 1, 1));
    assert_eq!(
        answer(&kept.call(day, ONE, at_ms(86_400_000))),
        (true, 0, 0, 86_400_000)
    );
}

#[test]
fn ten_million_a_second_are_ten_a_microsecond() {
    let fast = Rule::Rate(Rate {
        count: 10_000_000,
        per_ms: 1000,
        burst: 10_000_000,
    });
    let mut kept = Kept::default();
    let all = Call {
        cost: 10_000_000,
        peek: false,
    };
    assert_eq!(answer(&kept.call(fast, all, at_ms(0))), (true, 0, 0, 1000));
    let next = Now { us: START_US + 1 };
    for left in (0..10).rev() {
        assert_eq!(answer(&kept.call(fast, ONE, next)), (true, left, 0, 1000));
    }
    assert_eq!(answer(&kept.call(fast, ONE, next)), (false, 0, 1, 1000));
    assert_eq!(
        answer(&kept.call(fast, all, at_ms(1000))),
        (false, 9_999_990, 1, 1)
    );
    assert_eq!(answer(&kept.call(fast, all, at_ms(1001))), (true, 0, 0, 1000));
}

/// The largest numbers, at the end of the time that keys can have: nothing overflows, and the record is read
/// back.
#[test]
fn the_largest_numbers_are_in_range() {
    let now = Now::from_ms(EXPIRE_AT_MS_MAX - 1);
    let most = Rate {
        count: NUMBER_MAX,
        per_ms: NUMBER_MAX,
        burst: NUMBER_MAX,
    };
    let one = Rate { count: 1, ..most };
    let all = Call {
        cost: NUMBER_MAX,
        peek: false,
    };
    for (first, second) in [(most, one), (one, most), (most, most), (one, one)] {
        let mut kept = Kept::default();
        let verdict = kept.call(Rule::Rate(first), all, now);
        assert!(verdict.is_allowed());
        assert_eq!(verdict.remaining, 0);
        let again = kept.call(Rule::Rate(second), all, now);
        assert!(!again.is_allowed());
        let record = kept.stored(Now { us: 0 }).expect("kept");
        assert_eq!(record.refund(NUMBER_MAX, now).1, None);
    }
    let quota = Rule::Window(Quota {
        count: NUMBER_MAX,
        per_ms: NUMBER_MAX,
    });
    let mut kept = Kept::default();
    assert!(kept.call(quota, all, now).is_allowed());
    assert_eq!(kept.call(quota, all, now).retry, kept_for(NUMBER_MAX));
}

fn kept_for(per_ms: u64) -> Retry {
    Retry::After(Span {
        ticks: u128::from(per_ms) * 1000,
        ticks_per_us: 1,
    })
}

#[test]
fn strange_records_are_refused() {
    let rate = Rate {
        count: 3,
        per_ms: 5,
        burst: 2,
    };
    let (_, record) = Rule::Rate(rate).charge(None, ONE, at_ms(0)).expect("one form");
    let good = record.expect("charged").encode().bytes().to_vec();
    assert!(Record::decode(&good).is_some());
    for len in 0..good.len() {
        assert_eq!(Record::decode(&good[..len]), None, "{len} bytes");
    }
    // A version, a form, a count of zero, a burst of zero, and a time out of reach.
    for (range, byte) in [(0..1, 2), (1..2, 3), (2..10, 0), (18..26, 0), (41..42, 0x40)] {
        let mut strange = good.clone();
        strange[range.clone()].fill(byte);
        assert_eq!(Record::decode(&strange), None, "{range:?}");
    }
}

#[test]
fn a_record_of_the_other_form_is_told() {
    let rate = Rule::Rate(Rate {
        count: 1,
        per_ms: 1,
        burst: 1,
    });
    let window = Rule::Window(Quota { count: 1, per_ms: 1 });
    for (one, other) in [(rate, window), (window, rate)] {
        let (_, record) = one.charge(None, ONE, at_ms(0)).expect("one form");
        assert_eq!(other.charge(record, ONE, at_ms(0)), Err(OtherForm));
    }
}
