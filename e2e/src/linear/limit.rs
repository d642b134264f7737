//! `LIMIT` from outside: how many calls were let through in how long.

use super::history::{Op, line};

/// One call that was answered, and whether it was let through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub is_allowed: bool,
}

/// What a bucket promises: so many at once, and so many in a time from then on.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    pub burst: u64,
    pub rate: u64,
    pub per_us: u64,
}

/// Clocks are read once a turn, in microseconds that the owners of a shard agree on to so much.
const GRANULE_US: u64 = 2_000;

/// In no stretch of time more than the bucket holds and gets in that time, whatever became of the calls without an answer.
pub fn check(history: &[Op<Call>], bound: Bound) -> Result<(), String> {
    let mut passed: Vec<&Op<Call>> = history
        .iter()
        .filter(|op| op.is_done() && op.action.is_allowed)
        .collect();
    passed.sort_by_key(|op| (op.invoked_us, op.returned_us));
    for (at, first) in passed.iter().enumerate() {
        let mut returned: Vec<u64> = passed[at..].iter().map(|op| op.returned_us).collect();
        returned.sort_unstable();
        for (count, until) in (1_u64..).zip(&returned) {
            // All these were executed between the first's call and this moment.
            let time_us = until - first.invoked_us + GRANULE_US;
            let refilled = u128::from(time_us) * u128::from(bound.rate) / u128::from(bound.per_us);
            if u128::from(count) > u128::from(bound.burst) + refilled {
                return Err(format!(
                    "{count} let through in {time_us} us, where {bound:?} lets {} through, from\n  {}",
                    u128::from(bound.burst) + refilled,
                    line(first)
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::history::written::{done, unknown};
    use super::*;

    const BOUND: Bound = Bound {
        burst: 3,
        rate: 10,
        per_us: 1_000_000,
    };

    fn at(moments_ms: &[u64]) -> Vec<Op<Call>> {
        let call = |ms: &u64| done(ms * 1000, ms * 1000 + 10, Call { is_allowed: true });
        moments_ms.iter().map(call).collect()
    }

    #[test]
    fn a_burst_and_the_rate_pass_and_no_more() {
        assert!(check(&at(&[0, 1, 2, 100, 200, 300]), BOUND).is_ok());
        assert!(check(&at(&[0, 1, 2, 3]), BOUND).is_err());
        assert!(check(&at(&[0, 1, 2, 100, 120]), BOUND).is_err());
        // A second burst where the bucket was filled only in part.
        assert!(check(&at(&[0, 1, 2, 1000, 1001, 1002]), BOUND).is_ok());
        assert!(check(&at(&[0, 1, 2, 150, 151, 152]), BOUND).is_err());
    }

    #[test]
    fn what_was_denied_or_is_unknown_counts_for_nothing() {
        let mut history = at(&[0, 1, 2]);
        history.push(done(3000, 3010, Call { is_allowed: false }));
        history.push(unknown(3000, Call { is_allowed: true }));
        assert!(check(&history, BOUND).is_ok());
    }
}
