//! One value that is read, set, and set if it is still what was read. Every value is written once.

use std::collections::HashSet;

use super::history::{Op, Outcome};
use super::wgl::{self, Model, Verdict};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// With what was found.
    Get(Option<u64>),
    Set(u64),
    /// It was the first, nothing changed it since, and it became the second.
    Swap(Option<u64>, u64),
}

struct Register;

impl Model for Register {
    type State = Option<u64>;
    type Action = Action;

    fn initial(&self) -> Option<u64> {
        None
    }

    fn step(&self, state: &Option<u64>, action: &Action, _is_known: bool) -> Option<Option<u64>> {
        match action {
            Action::Get(found) => (found == state).then_some(*state),
            Action::Set(value) => Some(Some(*value)),
            Action::Swap(from, to) => (from == state).then_some(Some(*to)),
        }
    }
}

pub fn check(history: &[Op<Action>]) -> Verdict {
    let found: HashSet<u64> = history
        .iter()
        .filter_map(|op| match op.action {
            Action::Get(value) | Action::Swap(value, _) => value,
            Action::Set(_) => None,
        })
        .collect();
    // A write without outcome whose value nobody ever found explains nothing, and each doubles the search.
    let tells = |op: &&Op<Action>| {
        op.outcome != Outcome::Unknown
            || match op.action {
                Action::Get(_) => false,
                Action::Set(value) | Action::Swap(_, value) => found.contains(&value),
            }
    };
    let telling: Vec<Op<Action>> = history.iter().filter(tells).cloned().collect();
    wgl::check(&Register, &telling)
}

#[cfg(test)]
mod tests {
    use super::super::history::written::{done, refused, unknown};
    use super::Action::{Get, Set, Swap};
    use super::*;

    fn is_right(history: &[Op<Action>]) -> bool {
        match check(history) {
            Verdict::Linearizable => true,
            Verdict::Violation(_) => false,
            Verdict::Undecided => panic!("undecided"),
        }
    }

    #[test]
    fn what_one_machine_could_have_answered_is_right() {
        assert!(is_right(&[]));
        assert!(is_right(&[done(0, 9, Set(1)), done(10, 11, Get(Some(1)))]));
        // While a write is under way both values may be read, the old one first.
        assert!(is_right(&[
            done(0, 9, Set(1)),
            done(1, 2, Get(None)),
            done(3, 4, Get(Some(1)))
        ]));
        assert!(is_right(&[
            done(0, 5, Set(1)),
            done(0, 5, Set(2)),
            done(6, 7, Swap(Some(1), 3)),
            done(8, 9, Get(Some(3))),
        ]));
    }

    #[test]
    fn a_write_without_outcome_is_there_or_not_and_perhaps_later() {
        let before = [done(0, 1, Set(1)), unknown(2, Set(2))];
        let with = |more: &[Op<Action>]| is_right(&[&before, more].concat());
        assert!(with(&[done(5, 6, Get(Some(1)))]));
        assert!(with(&[done(5, 6, Get(Some(2)))]));
        assert!(with(&[done(5, 6, Get(Some(1))), done(90, 91, Get(Some(2)))]));
        // But once, and not before it was sent.
        assert!(!with(&[done(5, 6, Get(Some(2))), done(7, 8, Get(Some(1)))]));
        assert!(!is_right(&[done(0, 1, Get(Some(2))), unknown(2, Set(2))]));
    }

    #[test]
    fn a_lost_write_a_stale_read_and_a_refused_write_that_is_there_are_wrong() {
        assert!(!is_right(&[done(0, 1, Set(1)), done(2, 3, Get(None))]));
        assert!(!is_right(&[
            done(0, 1, Set(1)),
            done(2, 3, Set(2)),
            done(4, 5, Get(Some(1)))
        ]));
        // New, then old again, while the write is under way.
        assert!(!is_right(&[
            done(0, 9, Set(1)),
            done(1, 2, Get(Some(1))),
            done(3, 4, Get(None))
        ]));
        assert!(!is_right(&[refused(0, 1, Set(1)), done(2, 3, Get(Some(1)))]));
        assert!(!is_right(&[done(2, 3, Get(Some(7)))]), "nobody wrote it");
    }

    #[test]
    fn only_one_of_two_swaps_of_the_same_value_succeeds() {
        let both = [
            done(0, 1, Set(1)),
            done(2, 5, Swap(Some(1), 2)),
            done(2, 5, Swap(Some(1), 3)),
        ];
        assert!(!is_right(&both));
        assert!(is_right(&both[..2]));
        // A write came between: the watch should have broken.
        assert!(!is_right(&[
            done(0, 1, Set(1)),
            done(2, 3, Set(9)),
            done(4, 5, Swap(Some(1), 2)),
        ]));
    }

    /// Every order that one machine took is accepted, whatever overlapped; one changed reply is not.
    #[test]
    fn random_histories_of_one_machine_are_right_and_those_with_one_wrong_reply_are_not() {
        let mut rejected = 0;
        for seed in 0..60 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut state = None;
            let mut history = Vec::new();
            for moment in 1..200_u64 {
                let now = moment * 10;
                let action = match rng.u8(0..3) {
                    0 => Get(state),
                    1 => Set(moment),
                    _ => Swap(state, moment),
                };
                let lost = rng.u8(0..20) == 0 && action != Get(state);
                if !(lost && rng.bool()) {
                    state = match action {
                        Get(_) => state,
                        Set(value) | Swap(_, value) => Some(value),
                    };
                }
                let from = now - rng.u64(0..40).min(now);
                history.push(match lost {
                    true => unknown(from, action),
                    false => done(from, now + rng.u64(0..40), action),
                });
            }
            assert!(is_right(&history), "seed {seed}");
            let reads = |op: &Op<Action>| matches!(op.action, Get(_));
            let at = history.iter().rposition(reads).expect("a read");
            let written = history[..at.saturating_sub(30)].iter().rev();
            let old = written.filter_map(|op| match op.action {
                Set(value) if op.is_done() => Some(value),
                _ => None,
            });
            let Some(old) = old.into_iter().next() else {
                continue;
            };
            history[at].action = Get(Some(old));
            rejected += u32::from(!is_right(&history));
        }
        // A value of thirty operations ago can be no answer, since a write came between almost always.
        assert!(rejected > 50, "{rejected} of 60");
    }
}
